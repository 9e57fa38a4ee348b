"""The store: closures that use the models, run one after another on a thread that owns a connection.

One thread writes and one reads. A write runs under ``BEGIN IMMEDIATE``: a transaction that reads first and asks for
the write lock later fails at once when another process wrote in between, whatever the busy timeout. A result is given
to the caller after the commit, so what was acknowledged is on the disk. Reads see one consistent state, can't write,
and should be short: a long one keeps the write-ahead log growing.

``boot`` opens the store and closes it last; a forked child gets a closed one.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Final, Self, TypeVar

import msgspec

from synapse_service.clock import Clock
from synapse_service.store.connection_thread import ConnectionThread
from synapse_service.store.errors import StoreError
from synapse_service.store.migrations import MIGRATIONS
from synapse_service.store.models import DATABASE, TERMINAL_JOB_STATES, Job, State, Submission
from synapse_service.store.opening import Opening, open_file
from synapse_wire.errors import SynapseError

T = TypeVar("T")

CLOSE_TIMEOUT_S: Final = 4.0
"""How long closing waits for queued writes; then what hasn't begun is refused, and a running statement is stopped."""

MERGED_COMMITS: Final = 16
"""Commits after which the write-ahead log is merged into the file. Of pages of results they fill 8 MiB of it."""

_GENERATION: Final = "module_generation"
_AHEAD: Final = "wall_ahead_ms"

_NOTED_FROM_MS: Final = 1000
"""Differences between the two clocks that are worth a write."""


class Store:
    """The database of a running service.

    ``opening`` says in which state the file was found. ``write``, ``read`` and their ``_sync`` forms raise what the
    closure raises, and :class:`~synapse_service.store.errors.StoreError` when the file is the trouble; in both cases
    nothing of the closure's changes is kept. A caller that is cancelled while it waits can't know whether its write
    took place.
    """

    def __init__(self, path: Path, clock: Clock, opening: Opening) -> None:
        self.path = path
        self.opening = opening
        self._clock = clock
        self._noted_ms = 0
        self._unmerged = 0
        self._writer = ConnectionThread("store-writer", path, writable=True, after=self._written)
        self._reader = ConnectionThread("store-reader", path, writable=False)

    @classmethod
    def open(cls, path: Path, clock: Clock) -> Self:
        """Check, repair and migrate the file, whose folder must exist, and start the threads; raises StoreError."""
        return cls(path, clock, open_file(path, clock, MIGRATIONS))

    async def write(self, fn: Callable[[], T]) -> T:
        """Run ``fn`` in a transaction that may write; returns its result once that is on the disk."""
        return await asyncio.wrap_future(self._writer.submit(fn))

    async def read(self, fn: Callable[[], T]) -> T:
        """Run ``fn`` in a transaction that sees one state and can't write."""
        return await asyncio.wrap_future(self._reader.submit(fn))

    @property
    def settled(self) -> int | None:
        """How often was written so far, None while a write waits or runs.

        What was read while this stood at one number is what would be read as long as it stands there.
        """
        return self._writer.settled

    async def give_back(self, pages: int) -> bool:
        """Return up to ``pages`` unused pages of the file to the file system; True when more are left to return."""
        return await asyncio.wrap_future(self._writer.submit(lambda: _vacuum(pages), transaction=False))

    def write_sync(self, fn: Callable[[], T]) -> T:
        """``write`` for code that runs before or outside the event loop."""
        return self._writer.submit(fn).result()

    def read_sync(self, fn: Callable[[], T]) -> T:
        """``read`` for code that runs before or outside the event loop."""
        return self._reader.submit(fn).result()

    async def close(self, timeout_s: float = CLOSE_TIMEOUT_S) -> None:
        """Finish what is queued and close the file. What can't begin within ``timeout_s`` is refused as closed."""
        await asyncio.get_running_loop().run_in_executor(None, self.close_sync, timeout_s)

    def close_sync(self, timeout_s: float = CLOSE_TIMEOUT_S) -> None:
        """``close`` for code that runs outside the event loop. Closing twice is allowed."""
        self._writer.close(timeout_s)
        # The last connection to close merges the write-ahead log into the file and removes it. Reads aren't waited
        # for: nobody is told of anything by them.
        self._reader.close(min(timeout_s, 0.5))

    def bump_generation(self) -> int:
        """Count this start of the service, and return the number: the module generation of everything it answers.

        What is kept until some moment is moved to the clock of this process, see :meth:`note_clock`.

        It never repeats: after a start that may have lost commits, and with them numbers, it jumps to the wall
        clock's seconds, which are far above any number that was counted.
        """

        def step() -> int:
            row = State.get_or_none(State.key == _GENERATION)
            generation = int(row.value) + 1 if row is not None else 1
            if self.opening.may_lack_commits:
                generation = max(generation, self._clock.wall_ms() // 1000)
            _keep(_GENERATION, generation)
            ahead = State.get_or_none(State.key == _AHEAD)
            if ahead is not None and int(ahead.value):
                _keep(_AHEAD, 0)
                for table in (Job, Submission):
                    moved = {table.expires_ms: table.expires_ms + int(ahead.value)}
                    table.update(moved).where(table.expires_ms.is_null(False)).execute()
            return generation

        return self.write_sync(step)

    async def note_clock(self) -> None:
        """Write down how far the wall clock is ahead of the steady one, if that has changed; raises StoreError.

        Moments in the database are of this process's steady clock. Its successor begins at the wall clock: after a
        long sleep of the machine, or a clock that was set, everything would seem to have expired long ago.
        """
        ahead_ms = self._clock.wall_ms() - self._clock.steady_ms()
        if abs(ahead_ms - self._noted_ms) >= _NOTED_FROM_MS:
            await self.write(lambda: _keep(_AHEAD, ahead_ms))
            self._noted_ms = ahead_ms

    def fail_orphaned_jobs(self, generation: int, *, keep_ms: int) -> list[str]:
        """End the jobs of earlier generations, whose work died with their process, as ``module_restarted``.

        Their results stay for ``keep_ms`` from now. Returns their ids, oldest first.
        """
        message = "the service was restarted while the job ran; submit it again"
        error = msgspec.json.encode(SynapseError("module_restarted", message).to_wire()).decode()
        now, expires_ms = self._clock.wall_ms(), self._clock.steady_ms() + keep_ms

        def step() -> list[str]:
            orphaned = (Job.module_generation < generation) & Job.state.not_in(TERMINAL_JOB_STATES)
            rows = Job.select(Job.job_id).where(orphaned).order_by(Job.created_ms, Job.job_id)
            job_ids = [row.job_id for row in rows]
            ended = {Job.state: "failed", Job.error: error, Job.terminal_ms: now, Job.expires_ms: expires_ms}
            submissions = [row.submission_id for row in Job.select(Job.submission).where(orphaned)]
            Job.update(ended).where(orphaned).execute()
            expires = {Submission.expires_ms: expires_ms}
            Submission.update(expires).where(Submission.submission_id.in_(submissions)).execute()
            return job_ids

        return self.write_sync(step)

    def _written(self) -> None:
        """Have the log merged now and then; called on the thread that writes, after each commit.

        Left to itself SQLite does it within the commit that makes the log too long, which then takes ten times as
        long as others. Here it has a turn of its own, when that commit has been acknowledged.
        """
        self._unmerged += 1
        if self._unmerged == MERGED_COMMITS:
            self._unmerged = 0
            with contextlib.suppress(StoreError):  # It was closed, which merges the log too.
                self._writer.submit(_merge_log, transaction=False)


def _keep(key: str, value: int) -> None:
    State.insert(key=key, value=str(value)).on_conflict_replace().execute()


def _merge_log() -> None:
    # Trouble loses nothing, and the next one tries again; a commit that meets the same trouble says so.
    with contextlib.suppress(sqlite3.OperationalError):
        _connection().execute("PRAGMA wal_checkpoint(PASSIVE)")


def _connection() -> sqlite3.Connection:
    connection: sqlite3.Connection = DATABASE.connection()  # type: ignore[no-untyped-call]
    return connection


def _vacuum(pages: int) -> bool:
    connection = _connection()
    (before,) = connection.execute("PRAGMA freelist_count").fetchone()
    # As a script: executed as a statement, Python takes one step of it, which frees one page.
    connection.executescript(f"PRAGMA incremental_vacuum({pages:d})")
    # Pages behind those that are free were moved, which the log has grown by; the file shrinks only now.
    _merge_log()
    (after,) = connection.execute("PRAGMA freelist_count").fetchone()
    return bool(0 < after < before)
