"""Reading pages of results, the latest few out of memory.

Used by ``embed.result``. A page is half a megabyte, and copying it out of the database on another thread costs more
than sending it. A page is kept with all that is said beside it, such as the job's state, and so only for as long as
nothing whatever is written to the database.
"""

from __future__ import annotations

from typing import Final

from synapse_service.jobs import submissions
from synapse_service.jobs.submissions import StoredPage
from synapse_service.store.database import Store

KEPT_BYTES: Final = 8 * 1024 * 1024
"""Of payloads, at most."""


class PageReader:
    """Pages as they are in the database at the moment of asking."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._settled: int | None = None
        self._kept: dict[tuple[str, int], StoredPage] = {}
        self._kept_bytes = 0

    async def read(self, job_id: str, cursor: int) -> StoredPage:
        """As ``submissions.read_page``."""
        settled = self._store.settled
        if settled != self._settled:
            self._settled = settled
            self._kept.clear()
            self._kept_bytes = 0
        where = (job_id, cursor)
        page = self._kept.get(where)
        if page is None:
            page = await self._store.read(lambda: submissions.read_page(job_id, cursor))
            if settled is not None and settled == self._settled == self._store.settled:
                self._keep(where, page)
        return page

    def _keep(self, where: tuple[str, int], page: StoredPage) -> None:
        size = 0 if page.payload is None else len(page.payload)
        if not 0 < size <= KEPT_BYTES or where in self._kept:
            return
        self._kept[where] = page
        self._kept_bytes += size
        while self._kept_bytes > KEPT_BYTES:
            # The one that was kept first: those who read on don't come back to it.
            oldest = self._kept.pop(next(iter(self._kept)))
            self._kept_bytes -= 0 if oldest.payload is None else len(oldest.payload)
