"""Housekeeping for jobs: writing down ends that a full disk refused, and forgetting what has expired.

Pages are deleted, and the room that they took is given back to the file system, a little at a time: each piece takes
the store's only writing thread for a few tens of milliseconds, and others commit their pages in between.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from synapse_service.clock import Clock
from synapse_service.jobs import submissions
from synapse_service.jobs.book import JobBook
from synapse_service.logs import get_logger
from synapse_service.store.database import Store
from synapse_service.store.errors import StoreError

INTERVAL_S: Final = 60.0
PAGES_AT_A_TIME: Final = 8
"""Result pages deleted in one transaction."""
FREED_AT_A_TIME: Final = 32
"""Pages of the database file given back in one go: 1 MiB."""

_log = get_logger(__name__)


class Retention:
    """Removes what has outlived its retention. ``settle`` writes down the ends of jobs that are in no book."""

    def __init__(
        self, *, store: Store, book: JobBook, clock: Clock, settle: Sequence[Callable[[], Awaitable[None]]] = ()
    ) -> None:
        self._store = store
        self._book = book
        self._clock = clock
        self._settle = settle

    async def run(self) -> None:
        """Look again and again, for as long as the service lives."""
        while True:
            try:
                await self.sweep()
            except StoreError as error:
                _log.warning("retention_failed", reason=error.reason)
            await asyncio.sleep(INTERVAL_S)

    async def sweep(self) -> None:
        """Remove what has expired by now; raises StoreError."""
        await self._store.note_clock()
        await self._book.settle()
        for settle in self._settle:
            await settle()
        now = self._clock.steady_ms()
        while await self._store.write(lambda: submissions.expire(now, PAGES_AT_A_TIME)):
            pass
        while await self._store.give_back(FREED_AT_A_TIME):
            pass
