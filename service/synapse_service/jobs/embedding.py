"""Durable embedding: accept an over-budget batch, compute it in short turns, and commit page after page.

Rows are computed shortest first in chunks that go through the lane's ordinary bulk queue, so an interactive request
waits for one worker call at most. Two chunks are in the queue at a time, which keeps the worker busy while results are
assembled and a page is written; and at most one page is being written, which bounds memory. A page is acknowledged by
becoming readable, and it becomes readable in the transaction that stores it.

What a crash can cost, by where it strikes: before the acceptance is committed, the request (its client was told
nothing); after it, the rows of pages that were not committed, which the next attempt computes again; never a page.
"""

from __future__ import annotations

import asyncio
import binascii
import contextlib
from collections import deque
from collections.abc import Callable
from typing import Final

from synapse_service.admission.leases import Lease, LeaseBook
from synapse_service.admission.queue import Row, Ticket
from synapse_service.clock import Clock
from synapse_service.jobs import submissions
from synapse_service.jobs.batch import TokenizedBatch, chunks
from synapse_service.jobs.book import JobBook
from synapse_service.jobs.live import LiveJob
from synapse_service.jobs.pages import PAGE_BYTES, Page, PageAssembler, encode_item
from synapse_service.jobs.submissions import Attempt, Binding
from synapse_service.lanes.lane import Lane
from synapse_service.lanes.refusals import quarantined, worker_lost
from synapse_service.store.database import Store
from synapse_service.store.errors import StoreError
from synapse_wire.errors import SynapseError

MAX_LIVE_JOBS: Final = 64
"""Embedding jobs that wait or run at a time; each holds the tokens of its rows in memory."""

_WINDOW: Final = 2
"""Chunks in the lane's queue at a time."""

_LOST_AT_MOST: Final = 3
"""Workers that the rows of one chunk may cost before the job fails."""


class EmbeddingJobs:
    """Accepts and runs durable embedding jobs; one for the service."""

    def __init__(
        self,
        *,
        store: Store,
        book: JobBook,
        leases: LeaseBook,
        clock: Clock,
        new_id: Callable[[], str],
        module_generation: int,
        chunk_tokens: Callable[[], int],
        ttl_s: Callable[[], float],
        page_bytes: int = PAGE_BYTES,
    ) -> None:
        self._store = store
        self._book = book
        self._leases = leases
        self._clock = clock
        self._new_id = new_id
        self._generation = module_generation
        self._chunk_tokens = chunk_tokens
        self._ttl_s = ttl_s
        self._page_bytes = page_bytes
        # One acceptance at a time: between counting the jobs and adding one, nobody else may add one.
        self._door = asyncio.Lock()
        self._accepting: set[asyncio.Task[str]] = set()

    async def submit(
        self, lane: Lane, batch: TokenizedBatch, binding: Binding, client: str | None, request: Lease
    ) -> str:
        """The job that computes ``batch``, once it is on disk. ``request`` is the lease of who asks.

        Raises ``idempotency_conflict``, ``queue_full`` and ``store_failure``; then there is no new job.
        """
        accepting = asyncio.create_task(self._accept(lane, batch, binding, client, request), name="accept a job")
        self._accepting.add(accepting)
        accepting.add_done_callback(self._accepting.discard)
        # A client that hangs up now must not leave an accepted job without anyone who runs it.
        return await asyncio.shield(accepting)

    async def check_key(self, request_key: str, digest: str) -> None:
        """Raises ``idempotency_conflict`` for a key that is bound to other content."""
        now = self._clock.steady_ms()
        conflict = await self._store.read(lambda: submissions.conflict(request_key, digest, now))
        if conflict is not None:
            raise conflict

    async def _accept(
        self, lane: Lane, batch: TokenizedBatch, binding: Binding, client: str | None, request: Lease
    ) -> str:
        with self._leases.holding(lane.lane_id, continues=request) as held:
            async with self._door:
                # An attempt that ended while the disk was full must not be taken for one that still runs.
                await self._book.settle()
                asked = submissions.Request(
                    self._new_id(), self._new_id(), client, self._generation, self._clock.wall_ms()
                )
                now, refusal = self._clock.steady_ms(), self._no_room()
                attempt = await self._store.write(
                    lambda: submissions.accept(binding, asked, now_ms=now, refusal=refusal)
                )
                if not attempt.fresh:
                    self._book.go_on(attempt.job_id)
                    return attempt.job_id
                job = self._book.adopt(
                    "embed.batch",
                    attempt.job_id,
                    lane.lane_id,
                    lambda job: self._run(lane, batch, attempt, job),
                    submission_id=attempt.submission_id,
                    client=client,
                    continues=held,
                )
        job.pages_available = attempt.pages
        job.progress(len(attempt.committed), len(batch))
        return attempt.job_id

    def _no_room(self) -> SynapseError | None:
        live = len(self._book.live("embed.batch"))
        if live < MAX_LIVE_JOBS:
            return None
        return SynapseError(
            "queue_full",
            f"{live} embedding jobs are at work or waiting already; submit again when one has ended",
            details={"class": "bulk", "depth": live},
        )

    async def _run(self, lane: Lane, batch: TokenizedBatch, attempt: Attempt, job: LiveJob) -> None:
        ttl_s = self._ttl_s()
        try:
            async with asyncio.timeout(ttl_s) as job.lifetime:
                pages = PageAssembler(self._page_bytes)
                await _Run(lane, batch, attempt, job, self._store, pages, self._chunk_tokens()).run()
        except TimeoutError as error:
            hours = round(ttl_s / 3600, 1)
            raise SynapseError("deadline_exceeded", f"the job was not done after {hours} hours") from error


class _Run:
    """One attempt at one submission."""

    def __init__(
        self,
        lane: Lane,
        batch: TokenizedBatch,
        attempt: Attempt,
        job: LiveJob,
        store: Store,
        assembler: PageAssembler,
        chunk_tokens: int,
    ) -> None:
        self._lane = lane
        self._batch = batch
        self._attempt = attempt
        self._job = job
        self._store = store
        self._chunk_tokens = chunk_tokens
        self._asked: deque[tuple[list[int], Ticket]] = deque()
        self._assembler = assembler
        self._pages = attempt.pages
        self._done = len(attempt.committed)
        self._commit: asyncio.Task[None] | None = None

    async def run(self) -> None:
        try:
            await self._compute()
            await self._finish()
        except StoreError:
            raise
        except SynapseError:
            # What was computed before the failure is worth keeping: the next attempt starts behind it.
            with contextlib.suppress(StoreError):
                await self._finish()
            raise
        finally:
            for _, ticket in self._asked:
                ticket.done.cancel()
            # Not to be interrupted: whether that page is on disk decides what the counters have to say.
            if self._commit is not None:
                await asyncio.wait([self._commit])
                self._commit.exception()  # Read, because asyncio reports a failure that nobody asked for.

    async def _compute(self) -> None:
        # In a thread, because sorting a hundred thousand items would hold up everybody else.
        pending = deque(await asyncio.to_thread(self._plan))
        paused: SynapseError | None = None
        while pending or self._asked:
            while pending and len(self._asked) < _WINDOW:
                ordinals = pending.popleft()
                try:
                    self._asked.append((ordinals, self._ask(ordinals)))
                except SynapseError as error:
                    if error.code != "lane_paused":
                        raise
                    # What the lane has taken still ends, and is worth waiting for.
                    paused = error
                    pending.clear()
            if self._asked:
                await self._collect(*await self._answered())
        if paused is not None:
            raise paused

    def _plan(self) -> list[list[int]]:
        return chunks(self._batch, self._batch.by_length(self._attempt.committed), self._chunk_tokens)

    def _ask(self, ordinals: list[int]) -> Ticket:
        if self._lane.quarantine.active:
            raise quarantined(self._lane.lane_id, self._lane.quarantine)
        ids = [self._batch.item_ids[ordinal] for ordinal in ordinals]
        ticket = Ticket("bulk", self._attempt.encoding, ids, asyncio.get_running_loop().create_future())
        rows = [
            Row(ticket, index, self._batch.token_ids(ordinal), self._batch.tokens(ordinal))
            for index, ordinal in enumerate(ordinals)
        ]
        self._lane.submit(ticket, rows, bounded=False)
        return ticket

    async def _answered(self) -> tuple[list[int], list[bytes]]:
        """The chunk that was asked for first, and its rows."""
        lost = 0
        while True:
            ordinals, ticket = self._asked[0]
            try:
                rows = await ticket.done
            except SynapseError as error:
                # A lost worker is replaced for the next call; a lane that keeps losing them is quarantined, and its
                # refusal ends the job. So does a model that can't be loaded: it would fail in the same way for ever.
                # Work of others that ends well in between keeps a lane out of quarantine, but not these rows going.
                lost += 1
                if not worker_lost(error) or lost == _LOST_AT_MOST:
                    raise
                self._asked[0] = ordinals, self._ask(ordinals)
            else:
                self._asked.popleft()
                return ordinals, rows

    async def _collect(self, ordinals: list[int], rows: list[bytes]) -> None:
        quoted = self._attempt.encoding == "f32"
        for ordinal, row in zip(ordinals, rows, strict=True):
            vector = b'"' + binascii.b2a_base64(row, newline=False) + b'"' if quoted else row
            page = self._assembler.add(ordinal, encode_item(self._batch, ordinal, vector))
            if page is not None:
                await self._write(page)

    async def _finish(self) -> None:
        """Commit what there is, full page or not."""
        page = self._assembler.flush()
        if page is not None:
            await self._write(page)
        await self._written()

    async def _write(self, page: Page) -> None:
        """Begin to commit a page, once the one before it is on disk."""
        await self._written()
        self._commit = asyncio.create_task(self._commit_page(page), name=f"page of {self._job.job_id}")

    async def _written(self) -> None:
        """Wait for the page that is being committed; raises StoreError if it could not be."""
        if self._commit is not None:
            await asyncio.shield(self._commit)
            self._commit = None

    async def _commit_page(self, page: Page) -> None:
        index, done = self._pages, self._done + len(page.ordinals)
        fingerprint = self._lane.fingerprint
        await self._store.write(
            lambda: submissions.commit_page(
                self._attempt.submission_id, self._job.job_id, index, page, done, fingerprint
            )
        )
        self._pages, self._done = index + 1, done
        self._job.pages_available = self._pages
        self._job.progress(done, len(self._batch))
