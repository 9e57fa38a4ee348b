"""One setting of the service as a row: its name, an editor that fits its type, where its value comes from, a way back.

The row knows bounds and units, and reports what the user entered; who sends it to the service is the page.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from PySide6.QtCore import QEvent, QLocale, QObject, Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDoubleSpinBox,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from synapse_app import figures
from synapse_app.i18n import tr
from synapse_app.problems import Problem
from synapse_app.theme import SPACE
from synapse_wire import results as r

Label = Callable[[], str]


@dataclass(frozen=True, slots=True)
class Unit:
    """What a number is shown in: how many of the setting's own unit one of these is."""

    factor: int
    name: Label


MINUTES: Final = Unit(60_000, lambda: tr("min", about="minutes, after a number"))
SECONDS: Final = Unit(1000, lambda: tr("s", about="seconds, after a number"))
HOURS: Final = Unit(3_600_000, lambda: tr("h", about="hours, after a number"))
GIGABYTES: Final = Unit(10**9, lambda: tr("GB", about="gigabytes, after a number"))
MEGABYTES: Final = Unit(10**6, lambda: tr("MB", about="megabytes, after a number"))


_WORDS: Final[Mapping[str, Label]] = {
    "performance": lambda: tr("Performance", about="a setting"),
    "balanced": lambda: tr("Balanced", about="a setting"),
    "quiet": lambda: tr("Quiet", about="a setting"),
    "debug": lambda: tr("Everything"),
    "info": lambda: tr("Information and above"),
    "warning": lambda: tr("Warnings and errors"),
    "error": lambda: tr("Errors only"),
}
"""What the values of settings with choices are called; others stand as they are."""


def _worded(value: Any) -> str:
    known = _WORDS.get(str(value))
    return known() if known is not None else str(value)


class SettingRow(QWidget):
    """``edited`` carries a new value, or None for the default, once the user has finished entering it."""

    edited = Signal(object)

    def __init__(
        self, setting: r.Setting, label: Label | None, unit: Unit | None, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setting = setting
        self._label = label
        self._unit = unit
        self.caption = QLabel()
        self.caption.setWordWrap(True)
        self.caption.setTextFormat(Qt.TextFormat.PlainText)
        self.source = QLabel()
        self.source.setObjectName("muted")
        self.source.setTextFormat(Qt.TextFormat.PlainText)
        self.source.setWordWrap(True)
        self.problem = QLabel()
        self.problem.setObjectName("bad")
        self.problem.setTextFormat(Qt.TextFormat.PlainText)
        self.problem.setWordWrap(True)
        self.problem.hide()
        self.reset = QPushButton()
        self.reset.clicked.connect(lambda: self.edited.emit(None))
        self.editor = _editor_of(setting, unit)
        self.editor.edited.connect(self._edited)
        self.caption.setBuddy(self.editor.widget)
        words = QVBoxLayout()
        words.setSpacing(SPACE // 4)
        for line in (self.caption, self.source, self.problem):
            words.addWidget(line)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, SPACE // 2, 0, SPACE // 2)
        row.setSpacing(SPACE)
        row.addLayout(words, 1)
        row.addWidget(self.editor.widget, 0, Qt.AlignmentFlag.AlignVCenter)
        row.addWidget(self.reset, 0, Qt.AlignmentFlag.AlignVCenter)
        self.show_setting(setting)

    def show_setting(self, setting: r.Setting) -> None:
        """Show what the service says now; an entry that is being typed is left alone."""
        self.setting = setting
        self.problem.hide()
        self.editor.show_value(setting.value)
        fixed = setting.source == "env"
        self.editor.widget.setEnabled(not fixed)
        keep = self.reset.sizePolicy()
        keep.setRetainSizeWhenHidden(True)
        self.reset.setSizePolicy(keep)
        self.reset.setVisible(setting.source == "file")
        self.retranslate()

    def show_problem(self, problem: Problem) -> None:
        """Say why the last entry was not taken, and show the value in force again."""
        self.editor.show_value(self.setting.value)
        # A refused value is explained by the service itself: it knows the bound that was broken.
        self.problem.setText(problem.message if problem.code == "invalid_request" else problem.text())
        self.problem.show()

    def retranslate(self) -> None:
        name = self._label() if self._label is not None else self.setting.name
        self.caption.setText(name)
        self.editor.widget.setAccessibleName(name)
        self.editor.widget.setAccessibleDescription(self._source())
        self.editor.retranslate()
        self.source.setText(self._source())
        self.setToolTip(f"{self.setting.name}: {self.setting.description}")
        self.reset.setText(tr("Use default"))
        self.reset.setAccessibleName(tr("Use the default of {setting}", setting=name))

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() is QEvent.Type.LanguageChange:
            self.retranslate()

    def _edited(self, value: object) -> None:
        if value != self.setting.value:
            self.edited.emit(value)

    def _source(self) -> str:
        setting = self.setting
        if setting.source == "env":
            parts = [tr("Fixed by {variable}", variable=f"SYNAPSE_{setting.name.upper()}")]
        elif setting.source == "file":
            parts = [tr("Changed from {default}", default=self._shown(setting.default))]
        else:
            parts = [tr("Default")]
        low, high = setting.bounds.get("min"), setting.bounds.get("max")
        if isinstance(low, int) and isinstance(high, int):
            parts.append(tr("{low} to {high}", low=self._shown(low), high=self._shown(high)))
        if setting.needs_restart:
            parts.append(tr("takes effect when the service starts again"))
        return " · ".join(parts)

    def _shown(self, value: Any) -> str:
        if isinstance(value, bool):
            return tr("on") if value else tr("off")
        if isinstance(value, list):
            return figures.count(len(value))
        if isinstance(value, int):
            if self.setting.name.endswith("_bytes"):
                return figures.size(value)
            if self.setting.name.endswith("_ms"):
                return figures.duration(value)
            return figures.count(value)
        return tr("nothing") if value is None or value == "" else _worded(value)


# --- editors ---


class _Editor(QObject):
    """A widget for one type of value. ``edited`` carries what was entered."""

    edited = Signal(object)
    widget: QWidget

    def show_value(self, value: Any) -> None:
        raise NotImplementedError

    def retranslate(self) -> None:
        """Give the widget its texts; most have none."""


class _Switch(_Editor):
    def __init__(self) -> None:
        super().__init__()
        self.widget = self._box = QCheckBox()
        self._box.clicked.connect(lambda checked: self.edited.emit(checked))

    def show_value(self, value: Any) -> None:
        self._box.setChecked(bool(value))


class _Choice(_Editor):
    def __init__(self, choices: list[str]) -> None:
        super().__init__()
        self.widget = self._box = QComboBox()
        for choice in choices:
            self._box.addItem("", choice)
        self._box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self._box.activated.connect(self._chosen)

    def show_value(self, value: Any) -> None:
        self._box.setCurrentIndex(self._box.findData(str(value)))

    def retranslate(self) -> None:
        for at in range(self._box.count()):
            self._box.setItemText(at, _worded(self._box.itemData(at)))

    def _chosen(self, at: int) -> None:
        self.edited.emit(self._box.itemData(at))


class _Number(_Editor):
    """Whole numbers, shown in a larger unit where the setting has one. Only what the user changes is rounded."""

    def __init__(self, bounds: dict[str, Any], unit: Unit | None) -> None:
        super().__init__()
        self._unit = unit
        self._factor = 1 if unit is None else unit.factor
        self.widget = self._box = QDoubleSpinBox()
        self._box.setDecimals(0 if unit is None else 2)
        self._box.setRange(bounds.get("min", 0) / self._factor, bounds.get("max", 2**53) / self._factor)
        self._box.setGroupSeparatorShown(True)
        self._box.setKeyboardTracking(False)
        self._box.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._box.installEventFilter(self)
        self._shown: Any = None
        self._box.editingFinished.connect(self._finished)

    def show_value(self, value: Any) -> None:
        if self._shown is not None and self._box.hasFocus() and self._box.value() != self._shown / self._factor:
            return
        self._shown = value
        self._box.setValue(value / self._factor)
        self._at_rest = self._box.value()

    def retranslate(self) -> None:
        self._box.setLocale(QLocale())
        self._box.setSuffix("" if self._unit is None else f"\u00a0{self._unit.name()}")

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        # Scrolling the page must not change a number under the pointer.
        if event.type() is QEvent.Type.Wheel and not self._box.hasFocus():
            event.ignore()
            return True
        return False

    def _finished(self) -> None:
        if self._box.value() != self._at_rest:
            self._at_rest = self._box.value()
            self.edited.emit(round(self._box.value() * self._factor))


class _Text(_Editor):
    """Text, or None when it is empty and the setting may be absent."""

    def __init__(self, nullable: bool) -> None:
        super().__init__()
        self._nullable = nullable
        self.widget = self._line = QLineEdit()
        self._line.setMinimumWidth(240)
        self._line.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        # Paths and URLs are left-to-right in every language.
        self._line.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        self._line.editingFinished.connect(self._finished)

    def show_value(self, value: Any) -> None:
        if not (self._line.hasFocus() and self._line.isModified()):
            self._line.setText("" if value is None else str(value))

    def _finished(self) -> None:
        if self._line.isModified():
            self._line.setModified(False)
            text = self._line.text().strip()
            self.edited.emit(text if text or not self._nullable else None)


class _Shown(_Editor):
    """A value that only its file can hold: how many entries it has."""

    def __init__(self) -> None:
        super().__init__()
        self.widget = self._label = QLabel()
        self._value: Any = ()

    def show_value(self, value: Any) -> None:
        self._value = value
        self.retranslate()

    def retranslate(self) -> None:
        self._label.setText(tr("{n} in the configuration file", n=len(self._value)))


def _editor_of(setting: r.Setting, unit: Unit | None) -> _Editor:
    bounds = setting.bounds
    match bounds.get("type"):
        case "boolean":
            return _Switch()
        case "integer":
            return _Number(bounds, unit)
        case "array":
            return _Shown()
        case _ if "choices" in bounds:
            return _Choice([str(choice) for choice in bounds["choices"]])
        case _:
            return _Text(bool(bounds.get("nullable")))
