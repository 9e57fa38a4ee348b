"""Starting with the session: one file (or registry value), which only the user's own choice makes or removes.

Off until asked for, and never rewritten while it is on: an update that finds it leaves it as it is, edited or not.
A desktop that switches an entry off leaves its file there and says so in it; that counts as off.
"""

from __future__ import annotations

import os
import plistlib
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

BACKGROUND: Final = "--background"
_APP_ID: Final = "org.synapse.Tray"
_RUN_KEY: Final = r"Software\Microsoft\Windows\CurrentVersion\Run"
_RUN_NAME: Final = "Synapse"
_OFF: Final = (("Hidden", "true"), ("X-GNOME-Autostart-enabled", "false"))


def tray_command(home: Path | None = None) -> list[str]:
    """How this application is started again, for the same ``home`` if it has one."""
    return [*_program(), *(() if home is None else ("--home", str(home)))]


def _program() -> list[str]:
    name = "synapse-tray.exe" if sys.platform == "win32" else "synapse-tray"
    program = Path(sys.executable).with_name(name)
    return [str(program)] if program.is_file() else [sys.executable, "-m", "synapse_app.main"]


class Autostart:
    """Whether the application starts with the session. ``command`` without the option that keeps it in the tray."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        platform: str = sys.platform,
        environ: Mapping[str, str] | None = None,
        home: Path | None = None,
    ) -> None:
        self._command = [*command, BACKGROUND]
        self._platform = platform
        self._environ = os.environ if environ is None else environ
        self._home = Path.home() if home is None else home

    @property
    def enabled(self) -> bool:
        if self._platform == "win32":
            return _registered()
        return self.file.is_file() and not (self._platform.startswith("linux") and _switched_off(self.file))

    @property
    def file(self) -> Path:
        """The file that does it, on systems where it is one."""
        if self._platform == "darwin":
            return self._home / "Library" / "LaunchAgents" / f"{_APP_ID}.plist"
        config = self._environ.get("XDG_CONFIG_HOME") or ""
        base = Path(config) if Path(config).is_absolute() else self._home / ".config"
        return base / "autostart" / f"{_APP_ID}.desktop"

    def enable(self) -> None:
        """Make it so. What is there already and is on stays as it is. Raises ``OSError``."""
        if self.enabled:
            return
        if self._platform == "win32":
            _register(windows_value(self._command))
            return
        content = launch_agent(self._command) if self._platform == "darwin" else desktop_entry(self._command).encode()
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_bytes(content)

    def disable(self) -> None:
        """Take it back; harmless when there is nothing. Raises ``OSError``."""
        if self._platform == "win32":
            _unregister()
            return
        self.file.unlink(missing_ok=True)


def desktop_entry(command: Sequence[str]) -> str:
    """The XDG autostart entry."""
    return "\n".join(
        (
            "[Desktop Entry]",
            "Type=Application",
            "Name=Synapse",
            "Comment=Local models for your apps",
            f"Exec={' '.join(map(_exec_quoted, command))}",
            "Icon=synapse",
            "Terminal=false",
            "X-KDE-autostart-after=panel",
            "X-GNOME-Autostart-Delay=5",
            "",
        )
    )


def _switched_off(file: Path) -> bool:
    """Whether a desktop's own settings have switched this entry off, which they do by one of two keys."""
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError:
        return False
    group = ""
    for line in map(str.strip, lines):
        if line.startswith("["):
            group = line
        key, _, value = map(str.strip, line.partition("="))
        if group == "[Desktop Entry]" and (key, value) in _OFF:
            return True
    return False


def _exec_quoted(argument: str) -> str:
    # Two layers: the Exec key's own quoting, and the escapes of a string value, in which a backslash is doubled.
    if argument and all(char.isalnum() or char in "-_./+:@," for char in argument):
        return argument
    inner = "".join("\\" + char if char in '"`$\\' else char for char in argument).replace("%", "%%")
    return '"' + inner.replace("\\", "\\\\") + '"'


def launch_agent(command: Sequence[str]) -> bytes:
    """The macOS launch agent."""
    return plistlib.dumps(
        {
            "Label": _APP_ID,
            "ProgramArguments": list(command),
            "RunAtLoad": True,
            "ProcessType": "Interactive",
            "LimitLoadToSessionType": "Aqua",
        }
    )


def windows_value(command: Sequence[str]) -> str:
    """The value of the Run key."""
    return subprocess.list2cmdline(command)


if sys.platform == "win32":
    import winreg

    def _registered() -> bool:
        try:
            with winreg.OpenKey(winreg.HKEY_CURRENT_USER, _RUN_KEY) as key:
                winreg.QueryValueEx(key, _RUN_NAME)
        except FileNotFoundError:
            return False
        return True

    def _register(value: str) -> None:
        with winreg.CreateKey(winreg.HKEY_CURRENT_USER, _RUN_KEY) as key:
            winreg.SetValueEx(key, _RUN_NAME, 0, winreg.REG_SZ, value)

    def _unregister() -> None:
        try:
            with winreg.OpenKey(winreg.HKEY_CURRENT_USER, _RUN_KEY, 0, winreg.KEY_SET_VALUE) as key:
                winreg.DeleteValue(key, _RUN_NAME)
        except FileNotFoundError:
            pass

else:

    def _registered() -> bool:
        raise OSError("only Windows has a registry")

    def _register(value: str) -> None:
        raise OSError("only Windows has a registry")

    def _unregister() -> None:
        raise OSError("only Windows has a registry")
