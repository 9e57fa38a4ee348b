"""The programs that an app's author can begin with: the very files of ``examples/``, and the line that runs each."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final


@dataclass(frozen=True, slots=True)
class Sample:
    """One program. ``key`` names its language, ``runs`` is the command that runs it."""

    key: str
    file: str
    runs: str

    def text(self) -> str:
        """The whole program."""
        return _read(self.file)

    def command(self, socket_path: str, model: str, text: str, platform: str = sys.platform) -> str:
        """The line that runs it on this socket, for a POSIX shell, or on Windows for PowerShell."""
        if platform == "win32":
            quoted = [f"'{value.replace(chr(39), chr(39) * 2)}'" for value in (socket_path, model, text)]
            return f"$env:SYNAPSE_SOCKET={quoted[0]}; {self.runs} {self.file} {quoted[1]} {quoted[2]}"
        place, *arguments = (shlex.quote(value) for value in (socket_path, model, text))
        return f"SYNAPSE_SOCKET={place} {self.runs} {self.file} {' '.join(arguments)}"


SAMPLES: Final = (
    Sample("python", "embed.py", "python"),
    Sample("node", "embed.mjs", "node"),
    Sample("shell", "embed.sh", "sh"),
)


def samples_folder() -> Path:
    """Where they are: in an installed package beside this file, in a source tree at its root."""
    installed = Path(__file__).parent / "samples"
    return installed if installed.is_dir() else Path(__file__).parents[2] / "examples"


@cache
def _read(file: str) -> str:
    return (samples_folder() / file).read_text(encoding="utf-8")
