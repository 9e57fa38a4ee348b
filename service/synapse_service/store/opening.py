"""Bringing the database file into a usable state when the service starts.

:func:`open_file` runs once, before anything else looks at the file, and ends in one of these:

=============  =================================================================================================
``created``    there was no file
``opened``     it is whole and has the present schema
``migrated``   it had an older schema; ``kept`` is the copy made before the first step
``recovered``  its write-ahead log had been removed; whole, but the last commits may be missing
``rebuilt``    it was damaged and is now empty; ``kept`` is the damaged file, moved aside
=============  =================================================================================================

or raises a :class:`~synapse_service.store.errors.StoreError`, above all ``newer_schema``, and has not changed the
file. Blobs are not in the database: after a rebuild, registering a model finds them again by their digests.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from synapse_service.clock import Clock
from synapse_service.logs import get_logger
from synapse_service.store.errors import StoreError, store_error
from synapse_service.store.migrations import Migration, migrate
from synapse_service.store.models import connect

_log = get_logger(__name__)

_MAGIC: Final = b"SQLite format 3\x00"
_VERSION_OFFSET: Final = 60
_SIDE_FILES: Final = ("-wal", "-shm")

ALWAYS_CHECKED_BYTES: Final = 64 * 1024 * 1024
"""A file up to this size is checked at each start, which takes less than 50 ms; a larger one when it is suspect."""

PAGE_BYTES: Final = 32 * 1024
"""Size of the pages of the database file."""

OpeningState = Literal["created", "opened", "migrated", "recovered", "rebuilt"]


@dataclass(frozen=True, slots=True)
class Opening:
    """How the file was found and what was done: ``problem`` in words, ``kept`` a file left for the user."""

    state: OpeningState
    path: Path
    problem: str | None = None
    kept: Path | None = None

    @property
    def may_lack_commits(self) -> bool:
        """True when the file may be older than what clients have seen."""
        return self.state in ("recovered", "rebuilt")


def suspect_mark(path: Path) -> Path:
    """The empty file whose presence says that SQLite met damage while the service ran."""
    return _beside(path, ".suspect")


class _Damaged(Exception):
    """The file can't be trusted; the text says what is wrong with it."""


def open_file(path: Path, clock: Clock, migrations: Sequence[Migration]) -> Opening:
    """Check, repair and migrate the file at ``path``, whose folder must exist; raises StoreError."""
    try:
        try:
            return _open(path, migrations)
        except _Damaged as damage:
            kept = _move_aside(path, clock)
            # Loud, because settings of the user are gone: registrations, certifications and pins.
            _log.error("store_rebuilt", path=str(path), kept=str(kept), problem=str(damage))
            _open(path, migrations)
            return Opening("rebuilt", path, str(damage), kept)
    except (sqlite3.Error, OSError) as error:
        failure = store_error(error, path)
        if failure is None:
            raise
        raise failure from error


def _open(path: Path, migrations: Sequence[Migration]) -> Opening:
    found = path.exists()
    log_removed = False
    if found:
        _read_header(path, len(migrations))
        # SQLite removes both side files when it closes; a crash leaves both.
        log_removed = _beside(path, "-shm").exists() and not _beside(path, "-wal").exists()
    else:
        _create(path)
    connection = _connect_checked(path, len(migrations))
    try:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        kept = None
        if version < len(migrations):
            kept = _copy(connection, path, version) if version else None
            migrate(connection, migrations)
            # So that the schema is in the file itself and doesn't depend on the log beside it.
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        else:
            # Whether it can be written is not known until someone tries; BEGIN IMMEDIATE alone doesn't.
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(f"PRAGMA user_version = {version:d}")
            connection.execute("ROLLBACK")
    finally:
        connection.close()
    if log_removed:
        problem = "the write-ahead log beside the database was removed; the latest changes may be missing"
        _log.warning("store_recovered", path=str(path), problem=problem)
        return Opening("recovered", path, problem, kept)
    if kept is not None:
        _log.info("store_migrated", path=str(path), kept=str(kept), version=len(migrations))
        return Opening("migrated", path, None, kept)
    return Opening("opened" if found else "created", path)


def _read_header(path: Path, newest: int) -> None:
    """Look at the file before SQLite does, which would already change it."""
    with path.open("rb") as stream:
        header = stream.read(100)
    if len(header) < 100 or not header.startswith(_MAGIC):
        raise _Damaged("the file is empty" if not header else "the file is no SQLite database")
    if int.from_bytes(header[_VERSION_OFFSET : _VERSION_OFFSET + 4], "big") > newest:
        raise StoreError("newer_schema", path)


def _create(path: Path) -> None:
    """An empty database that only the user can read. It gets its name last: without a page it would look damaged."""
    partial = _beside(path, ".new")
    # A log without a file, too: it would be taken for one of the new file.
    for left in (partial, *(_beside(of, suffix) for of in (partial, path) for suffix in ("-wal", "-shm"))):
        left.unlink(missing_ok=True)
    os.close(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    connection = sqlite3.connect(partial)
    try:
        # These work only before the first page is written, and switching to WAL writes it. Most of the file are result
        # pages of half a megabyte: with pages of 4 KiB, each would cost some four hundred system calls.
        connection.execute(f"PRAGMA page_size = {PAGE_BYTES:d}")
        connection.execute("PRAGMA auto_vacuum = incremental")
        connection.execute("PRAGMA journal_mode = wal")
    except sqlite3.Error:
        partial.unlink()
        raise
    finally:
        connection.close()
    partial.rename(path)


def _connect_checked(path: Path, newest: int) -> sqlite3.Connection:
    """A connection to a file that turned out to be whole and not newer than this program."""
    connection: sqlite3.Connection | None = None
    try:
        connection = connect(path)
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        # The header read before may be older than one that waits in the write-ahead log.
        if version > newest:
            raise StoreError("newer_schema", path)
        if path.stat().st_size <= ALWAYS_CHECKED_BYTES or suspect_mark(path).exists():
            (finding,) = connection.execute("PRAGMA quick_check(1)").fetchone()
            if finding != "ok":
                raise _Damaged(finding.replace("\n", " "))
            suspect_mark(path).unlink(missing_ok=True)
    except BaseException as error:
        if connection is not None:
            connection.close()
        failure = store_error(error, path) if isinstance(error, sqlite3.Error) else None
        if failure is not None and failure.reason == "corrupt":
            raise _Damaged(str(error)) from error
        raise
    return connection


def _copy(connection: sqlite3.Connection, path: Path, version: int) -> Path:
    """Copy the database as it is, log included, beside itself. Raises what SQLite and the system raise."""
    kept = _beside(path, f".v{version}.bak")
    partial = _beside(path, f".v{version}.bak.tmp")
    partial.unlink(missing_ok=True)
    os.close(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    copy = sqlite3.connect(partial)
    try:
        connection.backup(copy)
        copy.execute("PRAGMA journal_mode = delete")  # One file, without a log beside it.
    except BaseException:
        copy.close()
        partial.unlink()
        raise
    copy.close()
    partial.replace(kept)
    return kept


def _move_aside(path: Path, clock: Clock) -> Path:
    kept = _beside(path, f".corrupt-{clock.wall_ms()}")
    path.rename(kept)
    for suffix in _SIDE_FILES:
        side = _beside(path, suffix)
        if side.exists():
            side.rename(_beside(kept, suffix))
    suspect_mark(path).unlink(missing_ok=True)
    return kept


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)
