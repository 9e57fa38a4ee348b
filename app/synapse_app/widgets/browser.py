"""A list with a card beside or below it for the selected row, or a sentence in their place when there is none.

Pages of rows are made of this: the list takes the arrow keys, Enter and the context menu key act on its row through
the page's buttons, and the card follows the selection.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, TypeVar

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QPushButton, QSplitter, QStackedWidget, QVBoxLayout, QWidget

from synapse_app.theme import SPACE, Theme
from synapse_app.widgets.delegate import Look
from synapse_app.widgets.details import DetailsCard
from synapse_app.widgets.lists import RowsView
from synapse_app.widgets.rows import RowsModel
from synapse_app.widgets.text import Wrapping

T = TypeVar("T")

BESIDE: Final = 700
"""From this width on the card stands beside the list, at plain text size; below it otherwise."""


class Instead(QWidget):
    """What stands in the place of rows: a sentence that says what to do, and perhaps a button that does it."""

    def __init__(self) -> None:
        super().__init__()
        self.text = Wrapping("muted")
        self.button = QPushButton()
        self.button.hide()
        column = QVBoxLayout(self)
        column.setContentsMargins(4 * SPACE, 4 * SPACE, 4 * SPACE, 4 * SPACE)
        column.setSpacing(2 * SPACE)
        column.addStretch(1)
        column.addWidget(self.text)
        column.addWidget(self.button, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addStretch(2)

    def show_text(self, text: str, button: str = "") -> None:
        self.text.setText(text)
        self.button.setText(button)
        self.button.setVisible(bool(button))


class Browser(QStackedWidget, Generic[T]):
    """``selected`` is emitted when another row is, also when none is any more.

    ``key`` names a row, ``spoken`` is what a screen reader says for it, ``look`` how it is painted.
    """

    selected = Signal()

    def __init__(
        self,
        theme: Theme,
        key: Callable[[T], str],
        spoken: Callable[[T], str],
        look: Callable[[Any], Look],
        *actions: QWidget,
    ) -> None:
        super().__init__()
        self._theme = theme
        self._key = key
        self._chosen: str | None = None
        self._showing = False
        self.model: RowsModel[T] = RowsModel(key, spoken, self)
        self.view = RowsView(self.model, theme, look)
        self.card = DetailsCard(*actions)
        self.instead = Instead()
        self._split = QSplitter(Qt.Orientation.Vertical)
        self._split.setChildrenCollapsible(False)
        self._split.addWidget(self.view)
        self._split.addWidget(self.card)
        self.view.setMinimumWidth(200)
        self.card.setMinimumWidth(200)
        self.addWidget(self._split)
        self.addWidget(self.instead)
        self.view.selectionModel().currentChanged.connect(self._current_changed)

    def show_rows(self, rows: Sequence[T]) -> None:
        """Show these rows. What somebody selected stays selected while it is there, else its neighbour is."""
        at = 0 if self._chosen is None else max(0, self.view.currentIndex().row())
        before = self.row
        self._showing = True
        self.model.show(rows)
        self.setCurrentWidget(self._split)
        if rows:
            kept = None if self._chosen is None else self.model.row_of(self._chosen)
            self.view.setCurrentIndex(self.model.index(min(at, len(rows) - 1) if kept is None else kept))
        self._showing = False
        now = self.row
        if (None if before is None else self._key(before)) != (None if now is None else self._key(now)):
            self.selected.emit()

    def show_instead(self, text: str, button: str = "") -> None:
        """Say why there are no rows."""
        self.model.show([])
        self.instead.show_text(text, button)
        self.setCurrentWidget(self.instead)

    def select(self, key: str) -> None:
        """Select the row called ``key`` if it is there."""
        at = self.model.row_of(key)
        if at is not None:
            self.view.setCurrentIndex(self.model.index(at))

    @property
    def row(self) -> T | None:
        """The row that is selected."""
        at = self.view.currentIndex().row()
        return self.model.rows[at] if 0 <= at < len(self.model.rows) else None

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        beside = self.width() >= self._theme.scaled(BESIDE)
        wanted = Qt.Orientation.Horizontal if beside else Qt.Orientation.Vertical
        if self._split.orientation() is not wanted or not any(self._split.sizes()):
            self._split.setOrientation(wanted)
            whole = self.width() if beside else self.height()
            self._split.setSizes([whole * 54 // 100, whole * 46 // 100])

    def _current_changed(self, now: QModelIndex, before: QModelIndex) -> None:
        row = self.row
        if self._showing:
            return
        if row is not None:
            self._chosen = self._key(row)
        self.selected.emit()
