"""The folders of the service: where each kind of file lives, and that no other user can reach them.

The only module that knows. ``boot`` resolves the folders once and hands them on; nothing is created until
:func:`ensure_private_dir` is asked to. With ``SYNAPSE_HOME`` (or ``--home``) everything lives under one folder,
otherwise each kind goes where the operating system keeps such files.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from synapse_wire.endpoint import Endpoint, resolve_endpoint

PRIVATE_MODE = 0o700


class PathError(Exception):
    """A folder that can't be used. ``problem`` says why, ``remedy`` what the user can do about it."""

    def __init__(self, path: Path, problem: str, remedy: str) -> None:
        super().__init__(path, problem, remedy)
        self.path = path
        self.problem = problem
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.path} {self.problem}. {self.remedy}"


@dataclass(frozen=True, slots=True)
class Paths:
    """Every place the service reads or writes. ``home`` is the one folder above all of them, if there is one.

    ``cache_dir`` is the usual folder of the models, in place of which the setting ``storage_dir`` puts another one.
    """

    home: Path | None
    config_file: Path
    data_dir: Path
    cache_dir: Path
    log_dir: Path
    endpoint: Endpoint

    @property
    def database(self) -> Path:
        return self.data_dir / "synapse.db"

    @property
    def lock_file(self) -> Path:
        return self.endpoint.directory / "service.lock"


def resolve_paths(environ: Mapping[str, str], home: Path | None = None) -> Paths:
    """Where everything lives. ``home`` wins over ``SYNAPSE_HOME``; both expand ``~`` and need not exist."""
    if home is None and (value := environ.get("SYNAPSE_HOME")):
        home = Path(value)
    if home is not None:
        home = home.expanduser().absolute()
        return Paths(
            home=home,
            config_file=home / "config" / "config.toml",
            data_dir=home / "data",
            cache_dir=home / "cache",
            log_dir=home / "log",
            endpoint=resolve_endpoint(environ, home=home),
        )
    dirs = platformdirs.PlatformDirs("synapse" if sys.platform.startswith("linux") else "Synapse", appauthor=False)
    return Paths(
        home=None,
        config_file=dirs.user_config_path / "config.toml",
        data_dir=dirs.user_data_path,
        cache_dir=dirs.user_cache_path,
        log_dir=dirs.user_log_path,
        endpoint=resolve_endpoint(environ),
    )


def neural_engine_lock(environ: Mapping[str, str]) -> Path:
    """The lock that every program on this machine takes before it computes on the Neural Engine.

    One place for all users, whatever home a service has; on a disk of this machine, where locks work.
    """
    name = "synapse-neural-engine.lock"
    if sys.platform == "darwin":
        return Path("/Users/Shared") / name
    if sys.platform == "win32":
        return Path(environ.get("PROGRAMDATA") or "C:/ProgramData") / name
    return Path("/var/tmp") / name


def ensure_private_dir(path: Path) -> None:
    """Create ``path`` and its missing parents with mode 0700, and make sure that it is the user's alone.

    Raises :class:`PathError` if it can't be created, isn't a folder, belongs to another user, is a link that another
    user made, can be entered or replaced by other users, or has a name that no message can carry. Nothing that exists
    is changed: a folder that was open to others may already hold what they put there, so its owner decides.
    """
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise PathError(path, "has a name that is not UTF-8 text", "Choose another folder") from None
    try:
        _create(path)
        link, status, above = path.lstat(), path.stat(), path.resolve().parent.stat()
    except OSError as error:
        reason = error.strerror or str(error)
        raise PathError(path, f"can't be created or read ({reason})", "Check the folders above it") from error
    if not stat.S_ISDIR(status.st_mode):
        raise PathError(path, "is not a folder", "Move that file away")
    if os.name == "nt":  # The profile folders of Windows already carry an access list of their own.
        return
    user = os.geteuid()
    if link.st_uid != user:
        kind = "is a link that belongs" if stat.S_ISLNK(link.st_mode) else "belongs"
        raise PathError(path, f"{kind} to another user (uid {link.st_uid})", "Choose another folder")
    if status.st_uid != user:
        raise PathError(path, f"leads to a folder of another user (uid {status.st_uid})", "Choose another folder")
    if status.st_mode & 0o077:
        mode = stat.S_IMODE(status.st_mode)
        raise PathError(path, f"is open to other users (mode {mode:04o})", f"Run: chmod 700 '{path}'")
    if above.st_mode & stat.S_IWOTH and not above.st_mode & stat.S_ISVTX:
        parent = path.resolve().parent
        raise PathError(path, f"can be replaced by other users, who may write to {parent}", "Choose another folder")


def _create(path: Path) -> None:
    # Path.mkdir(parents=True) gives the parents the default mode; these hold private files too.
    missing = []
    folder = path
    while not os.path.lexists(folder):
        missing.append(folder)
        folder = folder.parent
    for folder in reversed(missing):
        folder.mkdir(PRIVATE_MODE, exist_ok=True)
