"""Where the service listens: one rule that the service, the client and the command line all use.

Looks at the environment and at folder permissions, and changes nothing. The order is: ``SYNAPSE_RUNTIME_DIR``;
``run`` under ``SYNAPSE_HOME``; the operating system's own place for a user's run-time files; the user's state folder.
A path too long for a socket address is replaced by a short folder under the temporary folder, whose name follows
from the long one, so that every program finds the same place.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

SOCKET_NAME: Final = "service.sock"
SHORT_SOCKET_NAME: Final = "s.sock"
"""For places whose paths are long already: macOS's folder for a program's files, and the stand-in for a long path."""
MAX_SOCKET_PATH_BYTES: Final = 100
"""Longest path used for a socket; macOS takes 103 bytes and Linux 107, both with a terminating zero after them."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where to connect.

    ``address`` is a socket path, or a pipe name on Windows. ``directory`` is the folder that must belong to the user
    with mode 0700. ``notes`` say in plain words why a more usual place was not taken.
    """

    address: str
    directory: Path
    notes: tuple[str, ...] = ()


def resolve_endpoint(
    environ: Mapping[str, str] | None = None,
    *,
    platform: str = sys.platform,
    home: Path | None = None,
    uid: int | None = None,
    temp: Path | None = None,
) -> Endpoint:
    """Where the service of this user listens, or would listen. ``home`` stands for ``SYNAPSE_HOME``."""
    environ = os.environ if environ is None else environ
    notes: list[str] = []
    directory, name = _place(environ, platform, home, uid, notes)
    if platform == "win32":
        owner = environ.get("USERDOMAIN", "") + "\\" + environ.get("USERNAME", "")
        return Endpoint(rf"\\.\pipe\synapse-{_digest(owner + str(directory))}", directory, tuple(notes))
    address = directory / name
    if len(os.fsencode(address)) > MAX_SOCKET_PATH_BYTES:
        user = os.getuid() if uid is None else uid
        base = Path(tempfile.gettempdir()) if temp is None else temp
        short = base / f"synapse-{user}-{_digest(str(directory))}"
        notes.append(f"{address} is too long for a socket address, so {short} is used")
        directory, address = short, short / SHORT_SOCKET_NAME
    return Endpoint(str(address), directory, tuple(notes))


def _place(
    environ: Mapping[str, str], platform: str, home: Path | None, uid: int | None, notes: list[str]
) -> tuple[Path, str]:
    """The folder of the socket and the socket's name in it."""
    if value := environ.get("SYNAPSE_RUNTIME_DIR"):
        return Path(value).expanduser().absolute(), SOCKET_NAME
    if home is None and (value := environ.get("SYNAPSE_HOME")):
        home = Path(value)
    if home is not None:
        return home.expanduser().absolute() / "run", SOCKET_NAME
    user_home = Path(environ.get("USERPROFILE" if platform == "win32" else "HOME") or Path.home())
    if platform == "darwin":
        return user_home / "Library" / "Application Support" / "Synapse" / "run", SHORT_SOCKET_NAME
    if platform == "win32":
        local = Path(environ.get("LOCALAPPDATA") or user_home / "AppData" / "Local")
        return local / "Synapse" / "run", SOCKET_NAME
    if value := environ.get("XDG_RUNTIME_DIR"):
        reason = _why_not_private(Path(value), uid)
        if reason is None:
            return Path(value) / "synapse", SOCKET_NAME
        notes.append(f"XDG_RUNTIME_DIR is not used because {value} {reason}")
    return user_home / ".local" / "state" / "synapse" / "run", SOCKET_NAME


def _why_not_private(path: Path, uid: int | None) -> str | None:
    try:
        status = path.stat()
    except OSError as error:
        return f"can't be used ({error.strerror})"
    if not stat.S_ISDIR(status.st_mode):
        return "is not a folder"
    if status.st_uid != (os.getuid() if uid is None else uid):
        return "belongs to another user"
    if status.st_mode & 0o022:
        return "can be written by other users"
    return None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]
