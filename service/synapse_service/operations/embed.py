"""``embed.query`` and ``embed.batch``: from texts to vectors under the caller's constraints.

The order of checks: the lane, as ``choosing`` says; lengths and budgets; the queue. Nothing is loaded for a request
that is refused. A deadline counts from the receipt of the request's last byte and holds over queue, load and compute;
for a batch that becomes a job it bounds only the answer that the job was accepted.
"""

from __future__ import annotations

import asyncio
import binascii
from collections.abc import Callable, Sequence
from functools import partial

import msgspec

from synapse_service.admission.decision import too_late
from synapse_service.admission.leases import Lease, LeaseBook
from synapse_service.admission.queue import PriorityClass
from synapse_service.aliases.table import AliasTable
from synapse_service.certify.observations import Observations
from synapse_service.clock import Clock
from synapse_service.jobs.batch import TokenizedBatch
from synapse_service.jobs.embedding import EmbeddingJobs
from synapse_service.jobs.submissions import Binding
from synapse_service.lanes.lane import Lane
from synapse_service.operations.choosing import LaneChoice
from synapse_service.operations.tokenizing import TokenizedItem, tokenize
from synapse_service.operations.waiting import InlineWork, QueuedRow
from synapse_service.server.router import Call, Router
from synapse_service.settings.declared import Settings
from synapse_wire import params as p
from synapse_wire import results as r
from synapse_wire.errors import SynapseError

_SLICE_ITEMS = 256
"""Items of a large batch that are tokenized in one go; between two slices a cancelled request ends."""


class EmbedOperations:
    """The two operations over the lanes of a service."""

    def __init__(
        self,
        *,
        choice: LaneChoice,
        leases: LeaseBook,
        embedding: EmbeddingJobs,
        settings: Callable[[], Settings],
        clock: Clock,
        module_generation: int,
        aliases: AliasTable,
        observations: Observations,
    ) -> None:
        self._choice = choice
        self._leases = leases
        self._embedding = embedding
        self._settings = settings
        self._clock = clock
        self._work = InlineWork(settings, clock)
        self._generation = module_generation
        self._aliases = aliases
        self._observations = observations

    def register(self, router: Router) -> None:
        """Serve the operations."""
        router.add("embed.query", self.query)
        router.add("embed.batch", self.batch)

    async def query(self, call: Call, params: p.EmbedQuery) -> r.Embedded:
        """One text."""
        lane = self._choice.choose(params.model, "embed", params, params.target_fingerprint)
        deadline = self._work.deadline(call, params)
        with self._leases.holding(lane.lane_id), lane.use.request(call.received_at, call.client_name):
            tokenized = await self._tokenize(lane, [p.EmbedItem(id="0", text=params.text)], deadline)
            return await self._inline(params, lane, tokenized, "interactive", deadline)

    async def batch(self, call: Call, params: p.EmbedBatch) -> r.Embedded | r.EmbedDiverted:
        """Several texts: answered inline within the budgets, by a durable job above them."""
        lane = self._choice.choose(params.model, "embed", params)
        deadline = self._work.deadline(call, params)
        settings = self._settings()
        request = lane.use.request(call.received_at, call.client_name)
        with self._leases.holding(lane.lane_id) as lease, request:
            # A line is never shorter than its texts, so most requests need no counting.
            long = call.line_bytes > settings.inline_max_bytes and _text_bytes(params) > settings.inline_max_bytes
            if long or len(params.items) > settings.inline_max_items:
                request.became_job()
                return await self._divert(call, params, lane, deadline, lease)
            tokenized = await self._tokenize(lane, params.items, deadline)
            if sum(item.encoding.real_tokens for item in tokenized) > settings.inline_max_tokens:
                request.became_job()
                return await self._divert(call, params, lane, deadline, lease)
            if params.request_key is not None:
                digest = _packed(tokenized).request_digest(lane.lane_id, _bound_constraints(params))
                await self._embedding.check_key(params.request_key, digest)
            return await self._inline(params, lane, tokenized, "bulk", deadline)

    async def _divert(
        self, call: Call, params: p.EmbedBatch, lane: Lane, deadline: float, lease: Lease
    ) -> r.EmbedDiverted:
        scope = call.connection.scope
        if scope is not None and scope.flow_id is not None:
            raise SynapseError(
                "flow_scope_refused",
                "a batch over the inline budgets becomes a job, which a flow may not start; send smaller batches",
                details={"method": call.method, "flow_id": scope.flow_id},
            )
        batch = TokenizedBatch()
        for start in range(0, len(params.items), _SLICE_ITEMS):
            items = params.items[start : start + _SLICE_ITEMS]
            for item in await self._tokenize(lane, items, deadline):
                _append(batch, item)
        binding = Binding(
            request_key=params.request_key,
            # In a thread, because it takes a while for a hundred thousand items.
            digest=await asyncio.to_thread(batch.request_digest, lane.lane_id, _bound_constraints(params)),
            model_id=lane.lane_id,
            fingerprint=lane.fingerprint,
            dims=lane.model.dims,
            provenance=lane.provenance,
            encoding="f32" if params.vector_encoding == "base64" else "json",
            items_total=len(batch),
        )
        if self._clock.monotonic() >= deadline:
            raise too_late(lane.lane_id)
        # Again, because tokenizing takes a while: a pause refuses new jobs, not only their work.
        lane.require_unpaused()
        job_id = await self._embedding.submit(lane, batch, binding, call.client_name, lease)
        return r.EmbedDiverted(job=r.JobHandle(job_id=job_id))

    async def _inline(
        self,
        params: p.EmbedQuery | p.EmbedBatch,
        lane: Lane,
        tokenized: Sequence[TokenizedItem],
        class_: PriorityClass,
        deadline: float,
    ) -> r.Embedded:
        base64 = params.vector_encoding == "base64"
        queued = [QueuedRow(item.id, item.encoding) for item in tokenized]
        rows = await self._work.compute(lane, params, queued, class_, "f32" if base64 else "json", deadline)
        target = params.target_fingerprint if isinstance(params, p.EmbedQuery) else None
        self._choice.confirm(lane, params.model, params, target)
        return self._result(lane, tokenized, rows, base64)

    async def _tokenize(self, lane: Lane, items: Sequence[p.EmbedItem], deadline: float) -> list[TokenizedItem]:
        length = sum(len(item.text) for item in items)
        work = partial(tokenize, model=lane.model, items=items)
        return await self._work.tokenize(lane, len(items), length, deadline, work)

    def _result(
        self, lane: Lane, tokenized: Sequence[TokenizedItem], rows: Sequence[bytes], base64: bool
    ) -> r.Embedded:
        return r.Embedded(
            fingerprint=lane.fingerprint,
            table_epoch=self._aliases.epoch,
            dims=lane.model.dims,
            provenance=lane.provenance,
            module_generation=self._generation,
            equivalent_to=self._aliases.equivalents(lane.fingerprint),
            vectors=[
                r.EmbedVector(
                    id=item.id,
                    vector=binascii.b2a_base64(row, newline=False).decode("ascii") if base64 else msgspec.Raw(row),
                    content_sha256=item.content_sha256.hex(),
                    submitted_sha256=item.submitted_sha256.hex(),
                )
                for item, row in zip(tokenized, rows, strict=True)
            ],
            real_token_counts=[item.encoding.real_tokens for item in tokenized],
            truncation_disclosures=[item.disclosure for item in tokenized],
            observation=self._observed(tokenized),
        )

    def _observed(self, tokenized: Sequence[TokenizedItem]) -> r.Observation | msgspec.UnsetType:
        if not self._observations.enabled:
            return msgspec.UNSET
        return self._observations.block([item.encoding.ids.tolist() for item in tokenized])


def _text_bytes(params: p.EmbedBatch) -> int:
    return sum(len(item.text.encode()) for item in params.items)


def _bound_constraints(params: p.EmbedBatch) -> dict[str, object]:
    """The constraints that shape a result. How long a caller waits, or how numbers are spelled, doesn't.

    One that is absent, or what it would be if it were absent, is left out.
    """
    bound = {
        "accept_declared": params.accept_declared,
        "allow_equivalent": params.allow_equivalent,
        "required_epoch": params.required_epoch,
        "required_fingerprint": params.required_fingerprint,
    }
    return {name: value for name, value in bound.items() if value is not None and value is not False}


def _packed(tokenized: Sequence[TokenizedItem]) -> TokenizedBatch:
    batch = TokenizedBatch()
    for item in tokenized:
        _append(batch, item)
    return batch


def _append(batch: TokenizedBatch, item: TokenizedItem) -> None:
    batch.append(item.id, item.encoding, item.submitted_tokens, item.submitted_sha256, item.content_sha256)
