"""``embed.result`` and ``job.resume``: reading what a durable job has committed, and taking up one that paused."""

from __future__ import annotations

import msgspec

from synapse_service.aliases.table import AliasTable
from synapse_service.jobs.book import JobBook
from synapse_service.jobs.page_reader import PageReader
from synapse_service.server.router import Call, Router
from synapse_service.store.database import Store
from synapse_service.store.models import TERMINAL_JOB_STATES
from synapse_wire import params as p
from synapse_wire import results as r
from synapse_wire.errors import invalid_state
from synapse_wire.messages import HOLE, Spliced


class EncodedPage(r.Envelope, frozen=True, kw_only=True):
    """``results.EmbedPage`` with a hole for the items as they are stored: already JSON, and never encoded again."""

    job_id: str
    state: str
    page_index: int
    items: msgspec.Raw
    pages_available: int
    next_cursor: int | None


class JobOperations:
    """The contract's operations about jobs."""

    def __init__(self, *, store: Store, book: JobBook, module_generation: int, aliases: AliasTable) -> None:
        self._pages = PageReader(store)
        self._book = book
        self._generation = module_generation
        self._aliases = aliases

    def register(self, router: Router) -> None:
        """Serve the operations."""
        router.add("embed.result", self.result)
        router.add("job.resume", self.resume)

    async def result(self, call: Call, params: p.EmbedResult) -> Spliced:
        """One page, or an empty one when the job has not got that far."""
        cursor = params.cursor or 0
        # Asked first: an end that is known by now has no page after it that the read below could miss.
        ended = self._book.unwritten_end(params.job_id)
        page = await self._pages.read(params.job_id, cursor)
        payload = page.payload if page.payload is not None else b"[]"
        # What a page says of equivalences is what was true when it was committed: its vectors were made under that.
        epoch = self._aliases.epoch if page.table_epoch is None else page.table_epoch
        equivalents = page.equivalent_to
        if equivalents is None:
            equivalents = self._aliases.equivalents(page.binding.fingerprint)
        if params.max_page_bytes is not None and len(payload) > params.max_page_bytes:
            raise invalid_state(
                f"the page has {len(payload)} bytes, more than the {params.max_page_bytes} that are wanted",
                field="max_page_bytes",
                page_bytes=len(payload),
                max_page_bytes=params.max_page_bytes,
            )
        after = cursor + 1 if page.payload is not None else cursor
        state = ended or page.state
        more = after < page.pages or state not in TERMINAL_JOB_STATES
        head = EncodedPage(
            fingerprint=page.binding.fingerprint,
            table_epoch=epoch,
            dims=page.binding.dims,
            provenance=page.binding.provenance,
            module_generation=self._generation,
            equivalent_to=equivalents,
            job_id=page.job_id,
            state=state,
            page_index=cursor,
            items=HOLE,
            pages_available=page.pages,
            next_cursor=after if more else None,
        )
        return Spliced(head, payload)

    async def resume(self, call: Call, params: p.JobRef) -> r.JobStatus:
        """Take up a job that paused for a credential; raises ``invalid_request`` for any other."""
        return await self._book.resume(params.job_id)
