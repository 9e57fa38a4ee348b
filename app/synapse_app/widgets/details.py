"""The card below a list: what is known about the row that is selected, and what can be done with it.

A page makes the buttons, decides which of them apply, and gives the facts; the card lays them out, copies what can be
copied, and keeps its widgets from one row to the next, so that a screen reader isn't thrown about by every event.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QGuiApplication, QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from synapse_app.i18n import tr
from synapse_app.theme import SPACE
from synapse_app.widgets.flow import Flow
from synapse_app.widgets.text import Elided, Wrapping

_NAME_CHARS: Final = 20
"""How many characters wide the names of facts become at most; longer ones wrap."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that is known. With ``copies`` a button puts the value on the clipboard, and the value is one line."""

    name: str
    value: str
    copies: bool = False


class DetailsCard(QFrame):
    """``show_facts`` fills it; ``note`` is a sentence above the facts, ``bad`` whether it is a problem."""

    def __init__(self, *actions: QWidget) -> None:
        super().__init__()
        self.setObjectName("card")
        self.title = Elided()
        self.title.setObjectName("heading")
        self.note = Wrapping("muted")
        self.note.hide()
        self._facts = FactsGrid()
        inside = QWidget()
        column = QVBoxLayout(inside)
        column.setContentsMargins(2 * SPACE, SPACE, 2 * SPACE, SPACE)
        column.setSpacing(SPACE)
        column.addWidget(self.title)
        column.addWidget(self.note)
        column.addWidget(self._facts)
        column.addStretch(1)
        self._scroll = QScrollArea()
        self._scroll.setWidgetResizable(True)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._scroll.setWidget(inside)
        self.buttons = QWidget()
        self.buttons.setLayout(Flow(*actions))
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.buttons.setSizePolicy(policy)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, SPACE)
        whole.setSpacing(SPACE // 2)
        whole.addWidget(self._scroll, 1)
        foot = QVBoxLayout()
        foot.setContentsMargins(2 * SPACE, 0, 2 * SPACE, 0)
        foot.addWidget(self.buttons)
        whole.addLayout(foot)

    def sizeHint(self) -> QSize:
        return QSize(320, 12 * self.fontMetrics().height())

    def show_facts(self, title: str, facts: Sequence[Fact], *, note: str = "", bad: bool = False) -> None:
        """Show these, in this order."""
        self.title.show_text(title)
        self._scroll.setAccessibleName(title)
        if self.note.text() != note:
            self.note.setText(note)
        self.note.setVisible(bool(note))
        wanted = "bad" if bad else "muted"
        if self.note.objectName() != wanted:
            self.note.setObjectName(wanted)
            self.note.style().unpolish(self.note)
            self.note.style().polish(self.note)
        self._facts.show_facts(facts)

    def fact(self, name: str) -> str | None:
        """The value shown under ``name``."""
        return self._facts.fact(name)

    def copy_button(self, name: str) -> QPushButton | None:
        """The button that copies the value shown under ``name``."""
        return self._facts.copy_button(name)


class FactsGrid(QWidget):
    """Names and values in two columns."""

    def __init__(self) -> None:
        super().__init__()
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(2 * SPACE)
        self._grid.setVerticalSpacing(SPACE // 2)
        self._grid.setColumnStretch(1, 1)
        self._rows: list[_FactRow] = []

    def show_facts(self, facts: Sequence[Fact]) -> None:
        """Show these, in this order."""
        while len(self._rows) < len(facts):
            self._rows.append(_FactRow(self._grid, len(self._rows)))
        for row, fact in zip(self._rows, [*facts, *([None] * (len(self._rows) - len(facts)))], strict=True):
            row.show_fact(fact)
        self._share()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._share()

    def _share(self) -> None:
        """Give the names what they need, but not the room of the values."""
        metrics = self.fontMetrics()
        names = [row.fact.name for row in self._rows if row.fact is not None]
        widest = max(map(metrics.horizontalAdvance, names), default=0) + 4
        room = min(widest, _NAME_CHARS * metrics.averageCharWidth(), max(60, self.width() * 2 // 5))
        for row in self._rows:
            row.name.setFixedWidth(room)

    def fact(self, name: str) -> str | None:
        """The value shown under ``name``."""
        shown = [row.fact for row in self._rows if row.fact is not None]
        return next((fact.value for fact in shown if fact.name == name), None)

    def copy_button(self, name: str) -> QPushButton | None:
        """The button that copies the value shown under ``name``."""
        return next((row.copy for row in self._rows if row.fact is not None and row.fact.name == name), None)


class _FactRow:
    """One line of the grid; its widgets stay while other facts are shown in it."""

    def __init__(self, grid: QGridLayout, at: int) -> None:
        self.fact: Fact | None = None
        self.name = Wrapping("muted")
        self._value = Wrapping()
        self._line = Elided(Qt.TextElideMode.ElideMiddle)
        self.copy = QPushButton()
        self.copy.setObjectName("small")
        self.copy.clicked.connect(self._copied)
        top = Qt.AlignmentFlag.AlignTop
        grid.addWidget(self.name, at, 0, top)
        grid.addWidget(self._value, at, 1, top)
        grid.addWidget(self._line, at, 1, Qt.AlignmentFlag.AlignVCenter)
        grid.addWidget(self.copy, at, 2, top)
        for widget in (self.name, self._value, self._line, self.copy):
            widget.hide()

    def show_fact(self, fact: Fact | None) -> None:
        if fact == self.fact:
            return  # also so that "Copied" stays for as long as it is true
        self.fact = fact
        one_line = fact is not None and fact.copies
        self.name.setVisible(fact is not None)
        self._value.setVisible(fact is not None and not one_line)
        self._line.setVisible(one_line)
        self.copy.setVisible(one_line)
        if fact is None:
            return
        self.name.setText(fact.name)
        self.name.setContentsMargins(0, SPACE // 2 if one_line else 0, 0, 0)  # in the middle of the button's line
        self._value.setText(fact.value)
        self._value.setAccessibleName(f"{fact.name}: {fact.value}")
        self._line.show_text(fact.value)
        self._line.setAccessibleName(f"{fact.name}: {fact.value}")
        self.copy.setText(tr("Copy"))
        self.copy.setAccessibleName(tr("Copy: {what}", what=fact.name))

    def _copied(self) -> None:
        if self.fact is not None:
            QGuiApplication.clipboard().setText(self.fact.value)
            self.copy.setText(tr("Copied"))
