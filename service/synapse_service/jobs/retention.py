"""Forgetting ended jobs and their pages, a little at a time."""

from __future__ import annotations

import asyncio
from typing import Final

from synapse_service.clock import Clock
from synapse_service.jobs import submissions
from synapse_service.logs import get_logger
from synapse_service.store.database import Store
from synapse_service.store.errors import StoreError

INTERVAL_S: Final = 60.0
PAGES_AT_A_TIME: Final = 8
"""Pages deleted in one transaction: more would hold up whoever wants to commit one."""

_log = get_logger(__name__)


class Retention:
    """Removes what has outlived its retention."""

    def __init__(self, *, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def run(self) -> None:
        """Look again and again, for as long as the service lives."""
        while True:
            try:
                await self.sweep()
            except StoreError as error:
                _log.warning("retention_failed", reason=error.reason)
            await asyncio.sleep(INTERVAL_S)

    async def sweep(self) -> None:
        """Remove what has expired by now."""
        now = self._clock.steady_ms()
        more = True
        while more:
            more = await self._store.write(lambda: submissions.expire(now, PAGES_AT_A_TIME))
