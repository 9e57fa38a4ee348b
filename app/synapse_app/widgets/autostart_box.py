"""The choice to start with the session: a box that does it at once, and a line for why it could not be done."""

from __future__ import annotations

from PySide6.QtWidgets import QCheckBox, QWidget

from synapse_app.autostart import Autostart
from synapse_app.i18n import tr
from synapse_app.widgets.text import Wrapping


class AutostartBox(QCheckBox):
    """See above. ``failure`` is the line, which whoever shows the box places below it."""

    def __init__(self, autostart: Autostart, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._autostart = autostart
        self.failure = Wrapping("bad")
        self.failure.hide()
        self.clicked.connect(self._use)

    def show_choice(self) -> None:
        """Show what is chosen now."""
        self.setChecked(self._autostart.enabled)

    def _use(self, wanted: bool) -> None:
        try:
            if wanted:
                self._autostart.enable()
            else:
                self._autostart.disable()
        except OSError as error:
            self.failure.setText(tr("That could not be changed: {reason}", reason=error.strerror or str(error)))
        self.failure.setVisible(self._autostart.enabled is not wanted)
        self.show_choice()
