"""What the user chose for this application itself: language, theme, motion, text size, which notices to show.

Kept in a small INI file beside the service's configuration, because the service has no use for it. A value that isn't
one of the choices counts as the default, so an edited or older file never stops the application.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final
from urllib.parse import quote

import platformdirs
from PySide6.QtCore import QObject, QSettings, Signal

from synapse_app.i18n import LANGUAGES

THEMES: Final = ("system", "light", "dark")
MOTIONS: Final = ("system", "full", "reduced")
TEXT_PERCENTS: Final = (100, 125, 150, 200)
NOTICES: Final = ("downloads", "self_checks", "quarantine", "pause_ended", "jobs")


def preferences_file(home: Path | None) -> Path:
    """Where the file is; ``home`` is the one folder above everything, if there is one."""
    if home is not None:
        return home / "config" / "tray.ini"
    name = "synapse" if sys.platform.startswith("linux") else "Synapse"
    return platformdirs.user_config_path(name, appauthor=False) / "tray.ini"


class Preferences(QObject):
    """Typed access; ``changed`` carries the name of what changed."""

    changed = Signal(str)

    def __init__(self, file: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._settings = QSettings(str(file), QSettings.Format.IniFormat)

    @property
    def language(self) -> str:
        """A code of :data:`synapse_app.i18n.LANGUAGES`, or empty for the system's language."""
        return self._choice("language", ("", *LANGUAGES))

    @language.setter
    def language(self, value: str) -> None:
        self._set("language", value)

    @property
    def theme(self) -> str:
        return self._choice("theme", THEMES)

    @theme.setter
    def theme(self, value: str) -> None:
        self._set("theme", value)

    @property
    def motion(self) -> str:
        return self._choice("motion", MOTIONS)

    @motion.setter
    def motion(self, value: str) -> None:
        self._set("motion", value)

    @property
    def text_percent(self) -> int:
        return int(self._choice("text_percent", tuple(map(str, TEXT_PERCENTS))))

    @text_percent.setter
    def text_percent(self, value: int) -> None:
        self._set("text_percent", str(value))

    @property
    def first_run_done(self) -> bool:
        return self._choice("first_run_done", ("no", "yes")) == "yes"

    @first_run_done.setter
    def first_run_done(self, value: bool) -> None:
        self._set("first_run_done", "yes" if value else "no")

    def fingerprint(self, lane_id: str) -> str:
        """The fingerprint that was noted for a lane; empty when none was."""
        return str(self._settings.value(f"fingerprints/{quote(lane_id, safe='')}", ""))

    def note_fingerprint(self, lane_id: str, fingerprint: str) -> None:
        self._set(f"fingerprints/{quote(lane_id, safe='')}", fingerprint)

    def notices(self, kind: str) -> bool:
        """Whether notices of ``kind``, one of :data:`NOTICES`, are shown."""
        return self._choice(f"notices/{kind}", ("yes", "no")) == "yes"

    def set_notices(self, kind: str, shown: bool) -> None:
        self._set(f"notices/{kind}", "yes" if shown else "no")

    def _choice(self, name: str, choices: tuple[str, ...]) -> str:
        value = str(self._settings.value(name, choices[0]))
        return value if value in choices else choices[0]

    def _set(self, name: str, value: str) -> None:
        if self._settings.value(name) == value:
            return
        self._settings.setValue(name, value)
        self._settings.sync()
        self.changed.emit(name)
