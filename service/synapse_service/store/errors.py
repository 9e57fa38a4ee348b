"""What can go wrong with the database file, in the words of someone who has to mend it."""

from __future__ import annotations

import errno
import os
import sqlite3
from pathlib import Path
from typing import Final, Literal

from synapse_wire.errors import SynapseError

Reason = Literal["storage_full", "io_error", "read_only", "corrupt", "busy", "newer_schema", "closed"]

_MESSAGES: Final[dict[Reason, str]] = {
    "storage_full": "the disk is full; nothing of this change was kept. Free some space and try again",
    "io_error": "the disk reported an error; nothing of this change was acknowledged. Look at the disk, then try again",
    "read_only": "the database or its folder can't be written. Look at its permissions and at how its disk is mounted",
    "corrupt": "the database is damaged; it is rebuilt at the next start, and the damaged file is kept",
    "busy": "another program has held the database for too long. Close what has it open, and try again",
    "newer_schema": "a newer version of Synapse has written the database; install that one, or choose another home",
    "closed": "the database is closed, because the service is stopping. Try again when it is back",
}

_PRIMARY: Final[dict[int, Reason]] = {
    sqlite3.SQLITE_BUSY: "busy",
    sqlite3.SQLITE_LOCKED: "busy",
    sqlite3.SQLITE_INTERRUPT: "closed",  # Only the end of a shutdown's patience interrupts a statement.
    sqlite3.SQLITE_READONLY: "read_only",
    sqlite3.SQLITE_IOERR: "io_error",
    sqlite3.SQLITE_CORRUPT: "corrupt",
    sqlite3.SQLITE_NOTADB: "corrupt",
    sqlite3.SQLITE_FULL: "storage_full",
    sqlite3.SQLITE_CANTOPEN: "io_error",
}

_EXTENDED: Final[dict[int, Reason]] = {
    sqlite3.SQLITE_READONLY_DBMOVED: "io_error",  # The file was deleted or replaced while it was open.
    sqlite3.SQLITE_IOERR_SHMSIZE: "storage_full",  # The index of the write-ahead log could not grow.
}


class StoreError(SynapseError):
    """The database could not do what was asked: ``store_failure`` on the wire. ``path`` is the database file."""

    def __init__(self, reason: Reason, path: Path) -> None:
        details = {"reason": reason, "path": str(path)}
        super().__init__("store_failure", f"{path}: {_MESSAGES[reason]}", details=details)
        self.reason: Reason = reason
        self.path = path

    def __str__(self) -> str:
        return self.message


def store_error(error: BaseException, path: Path) -> StoreError | None:
    """The :class:`StoreError` that stands behind ``error``, or None when it says nothing about the file.

    The cause has to be searched for: after a failed statement SQLite has already rolled back, so Peewee's own
    ``ROLLBACK`` fails with "no transaction is active" and that error hides the one that matters.
    """
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, StoreError):
            return seen
        reason = _reason(seen, path)
        if reason is not None:
            return StoreError(reason, path)
        seen = seen.__cause__ or seen.__context__
    return None


def _reason(error: BaseException, path: Path) -> Reason | None:
    if isinstance(error, sqlite3.Error):
        code = getattr(error, "sqlite_errorcode", None)  # Absent where the Python module itself complains.
        if code is None:
            return None
        if code & 0xFF == sqlite3.SQLITE_CANTOPEN and not os.access(path.parent, os.W_OK):
            return "read_only"
        return _EXTENDED.get(code) or _PRIMARY.get(code & 0xFF)
    if isinstance(error, OSError):
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return "storage_full"
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            return "read_only"
        return "io_error"
    return None
