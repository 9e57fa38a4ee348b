"""The application's own choices as controls: language, theme, motion, text size, start with the session, notices."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QSignalBlocker, Qt
from PySide6.QtWidgets import QCheckBox, QComboBox, QFormLayout, QLabel, QPushButton, QWidget

from synapse_app import figures
from synapse_app.autostart import Autostart
from synapse_app.i18n import LANGUAGES, tr
from synapse_app.preferences import MOTIONS, NOTICES, TEXT_PERCENTS, THEMES, Preferences
from synapse_app.theme import SPACE
from synapse_app.widgets.autostart_box import AutostartBox


class OwnSettings(QWidget):
    """Each control changes a preference at once; what that does is the application's business."""

    def __init__(self, preferences: Preferences, autostart: Autostart, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._preferences = preferences
        self._form = QFormLayout(self)
        self._form.setContentsMargins(0, 0, 0, 0)
        self._form.setSpacing(SPACE)
        self._form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.FieldsStayAtSizeHint)
        self._form.setRowWrapPolicy(QFormLayout.RowWrapPolicy.WrapLongRows)
        self._labels: list[tuple[QLabel, QWidget, Callable[[], str]]] = []
        self.language = self._combo(lambda: tr("Language"), ["", *LANGUAGES], self._use_language)
        self.theme = self._combo(lambda: tr("Appearance"), THEMES, self._use_theme)
        self.motion = self._combo(lambda: tr("Motion"), MOTIONS, self._use_motion)
        self.text = self._combo(lambda: tr("Text size"), list(map(str, TEXT_PERCENTS)), self._use_text)
        self.autostart = AutostartBox(autostart)
        self._form.addRow(self.autostart)
        self._form.addRow(self.autostart.failure)
        self.notices = {kind: QCheckBox() for kind in NOTICES}
        for kind, box in self.notices.items():
            box.clicked.connect(lambda shown, kind=kind: preferences.set_notices(kind, shown))
            self._form.addRow(box)
        self.welcome = QPushButton()
        self._form.addRow(self.welcome)
        self.retranslate()
        self.show_choices()

    def show_choices(self) -> None:
        """Show what is chosen now."""
        chosen = {
            self.language: self._preferences.language,
            self.theme: self._preferences.theme,
            self.motion: self._preferences.motion,
            self.text: str(self._preferences.text_percent),
        }
        for box, value in chosen.items():
            with QSignalBlocker(box):
                box.setCurrentIndex(box.findData(value))
        self.autostart.show_choice()
        for kind, notice in self.notices.items():
            notice.setChecked(self._preferences.notices(kind))

    def retranslate(self) -> None:
        for label, box, text in self._labels:
            label.setText(text())
            box.setAccessibleName(text())
        self._texts(self.language, [tr("As the system"), *LANGUAGES.values()])
        self._texts(self.theme, [tr("As the system"), tr("Light"), tr("Dark")])
        self._texts(self.motion, [tr("As the system"), tr("Full"), tr("Reduced")])
        self._texts(self.text, [figures.percent(percent) for percent in TEXT_PERCENTS])
        self.autostart.setText(tr("Start with my session"))
        self.welcome.setText(tr("Show the welcome page again"))
        names = {
            "downloads": tr("Notify me when a download is done or failed"),
            "self_checks": tr("Notify me when a self-check fails"),
            "quarantine": tr("Notify me when a lane goes into quarantine"),
            "pause_ended": tr("Notify me when a pause ends"),
            "jobs": tr("Notify me when a job is done or failed"),
        }
        for kind, box in self.notices.items():
            box.setText(names[kind])

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() is QEvent.Type.LanguageChange:
            self.retranslate()

    def _combo(
        self, text: Callable[[], str], values: list[str] | tuple[str, ...], use: Callable[[str], None]
    ) -> QComboBox:
        box = QComboBox()
        for value in values:
            box.addItem("", value)
        box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        box.setMinimumContentsLength(14)
        box.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        box.activated.connect(lambda at: use(str(box.itemData(at))))
        label = QLabel()
        label.setBuddy(box)
        self._labels.append((label, box, text))
        self._form.addRow(label, box)
        return box

    def _texts(self, box: QComboBox, texts: list[str]) -> None:
        for at, text in enumerate(texts):
            box.setItemText(at, text)
        box.updateGeometry()

    def _use_language(self, value: str) -> None:
        self._preferences.language = value

    def _use_theme(self, value: str) -> None:
        self._preferences.theme = value

    def _use_motion(self, value: str) -> None:
        self._preferences.motion = value

    def _use_text(self, value: str) -> None:
        self._preferences.text_percent = int(value)
