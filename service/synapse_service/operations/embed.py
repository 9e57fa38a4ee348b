"""``embed.query`` and ``embed.batch``: from texts to vectors under the caller's constraints.

The order of checks: the model exists; epoch, fingerprint and certification; lengths and budgets; the queue. Nothing
is loaded for a request that is refused. A deadline counts from the receipt of the request's last byte and holds over
queue, load and compute.
"""

from __future__ import annotations

import asyncio
import binascii
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from synapse_engines.tokenizer import Encoding, SanitisedTokenizer
from synapse_service.admission.leases import LeaseBook
from synapse_service.admission.queue import PriorityClass, Row, Ticket
from synapse_service.certify.ledger import CertificationLedger
from synapse_service.clock import Clock
from synapse_service.config import Settings
from synapse_service.lanes.lane import Lane
from synapse_service.lanes.refusals import quarantined
from synapse_service.lanes.registry import LaneRegistry
from synapse_service.router import Call, Router
from synapse_wire import params as p
from synapse_wire import results as r
from synapse_wire.errors import SynapseError, invalid_state

LOAD_WAIT_S = 5.0
"""How long an inline request waits for its lane to load before it is answered ``model_loading``."""

_INLINE_TOKENIZE_CHARS = 4096
"""Texts up to this length are tokenized on the loop: that takes less time than a hop to a thread and back."""


@dataclass(frozen=True, slots=True)
class Tokenized:
    """One item, tokenized and cut to what its lane takes."""

    id: str
    encoding: Encoding
    submitted_tokens: int
    submitted_sha256: str
    content_sha256: str

    @property
    def disclosure(self) -> r.TruncationDisclosure:
        kept = self.encoding.real_tokens
        return r.TruncationDisclosure(
            id=self.id,
            submitted_tokens=self.submitted_tokens,
            effective_tokens=kept,
            truncated=kept < self.submitted_tokens,
        )


class EmbedOperations:
    """The two operations over the lanes of a service."""

    def __init__(
        self,
        *,
        lanes: LaneRegistry,
        certifications: CertificationLedger,
        leases: LeaseBook,
        settings: Callable[[], Settings],
        clock: Clock,
        module_generation: int,
        table_epoch: Callable[[], int],
    ) -> None:
        self._lanes = lanes
        self._certifications = certifications
        self._leases = leases
        self._settings = settings
        self._clock = clock
        self._generation = module_generation
        self._table_epoch = table_epoch

    def register(self, router: Router) -> None:
        """Serve the operations."""
        router.add("embed.query", self.query)
        router.add("embed.batch", self.batch)

    async def query(self, call: Call, params: p.EmbedQuery) -> r.Embedded:
        """One text."""
        lane = self._admissible_lane(params, params.target_fingerprint)
        return await self._inline(call, params, lane, [p.EmbedItem(id="0", text=params.text)], "interactive")

    async def batch(self, call: Call, params: p.EmbedBatch) -> r.Embedded:
        """Several texts, within the inline budgets."""
        lane = self._admissible_lane(params, None)
        settings = self._settings()
        if len(params.items) > settings.inline_max_items:
            raise _over_budget("items", len(params.items), settings.inline_max_items)
        if call.line_bytes > settings.inline_max_bytes:
            text_bytes = sum(len(item.text.encode()) for item in params.items)
            if text_bytes > settings.inline_max_bytes:
                raise _over_budget("bytes", text_bytes, settings.inline_max_bytes)
        return await self._inline(call, params, lane, params.items, "bulk")

    def _admissible_lane(self, params: p.EmbedQuery | p.EmbedBatch, target: str | None) -> Lane:
        lane = self._lanes.serving(params.model)
        epoch = self._table_epoch()
        if params.required_epoch is not None and params.required_epoch != epoch:
            raise SynapseError(
                "migration_required",
                f"the alias table is at epoch {epoch}, not {params.required_epoch}; check your index against it",
                details={"required_epoch": params.required_epoch, "table_epoch": epoch},
            )
        for wanted in (params.required_fingerprint, target):
            if wanted is not None and wanted != lane.fingerprint:
                raise SynapseError(
                    "substitution_rejected",
                    f"{lane.lane_id} has the fingerprint {lane.fingerprint}, and nothing is served in its place",
                    details={"lane_id": lane.lane_id, "required_fingerprint": wanted},
                )
        if lane.quarantine.active:
            raise quarantined(lane.lane_id, lane.quarantine.reason)
        self._certifications.require(lane)
        return lane

    async def _inline(
        self,
        call: Call,
        params: p.EmbedQuery | p.EmbedBatch,
        lane: Lane,
        items: Sequence[p.EmbedItem],
        class_: PriorityClass,
    ) -> r.Embedded:
        settings = self._settings()
        deadline = call.received_at + (params.deadline_ms or settings.default_deadline_ms) / 1000
        with self._leases.holding(lane.lane_id):
            tokenized = await self._tokenize(lane, items, deadline)
            if class_ == "bulk":
                tokens = sum(item.encoding.real_tokens for item in tokenized)
                if tokens > settings.inline_max_tokens:
                    raise _over_budget("tokens", tokens, settings.inline_max_tokens)
            max_queue_ms = settings.default_max_queue_ms if params.max_queue_ms is None else params.max_queue_ms
            base64 = params.vector_encoding == "base64"
            rows = await self._compute(lane, tokenized, class_, base64, deadline, max_queue_ms)
        return self._result(lane, tokenized, rows, base64)

    async def _tokenize(self, lane: Lane, items: Sequence[p.EmbedItem], deadline: float) -> list[Tokenized]:
        short = sum(len(item.text) for item in items) <= _INLINE_TOKENIZE_CHARS
        if short and lane.loaded_tokenizer is not None:
            return _tokenize(lane.loaded_tokenizer, lane, items)
        try:
            async with asyncio.timeout(deadline - self._clock.monotonic()):
                tokenizer = await lane.tokenizer()
                if short:
                    return _tokenize(tokenizer, lane, items)
                return await asyncio.to_thread(_tokenize, tokenizer, lane, items)
        except TimeoutError as error:
            raise _too_late(lane) from error

    async def _compute(
        self,
        lane: Lane,
        tokenized: Sequence[Tokenized],
        class_: PriorityClass,
        base64: bool,
        deadline: float,
        max_queue_ms: int,
    ) -> list[bytes]:
        loop = asyncio.get_running_loop()
        now = self._clock.monotonic()
        if now >= deadline:
            raise _too_late(lane)
        # Again, because the lane may have failed while the texts were tokenized.
        if lane.quarantine.active:
            raise quarantined(lane.lane_id, lane.quarantine.reason)
        estimated_ms = round(lane.start_delay_s(class_) * 1000)
        if estimated_ms > max_queue_ms:
            raise SynapseError(
                "queue_full",
                f"the work would wait about {estimated_ms} ms, more than the {max_queue_ms} ms that are allowed",
                details={"max_queue_ms": max_queue_ms, "estimated_ms": estimated_ms},
            )
        ticket = Ticket(class_, "f32" if base64 else "json", [item.id for item in tokenized], loop.create_future())
        rows = [
            Row(ticket, index, item.encoding.ids.tobytes(), item.encoding.real_tokens)
            for index, item in enumerate(tokenized)
        ]
        expiry = loop.call_later(deadline - now, lambda: ticket.fail(_too_late(lane)))
        patience = _LoadPatience(lane, ticket, self._clock)
        try:
            lane.submit(ticket, rows)
            return await ticket.done
        finally:
            ticket.done.cancel()
            expiry.cancel()
            patience.end()

    def _result(self, lane: Lane, tokenized: Sequence[Tokenized], rows: Sequence[bytes], base64: bool) -> r.Embedded:
        return r.Embedded(
            fingerprint=lane.fingerprint,
            table_epoch=self._table_epoch(),
            dims=lane.registration.dims,
            provenance=lane.provenance,
            module_generation=self._generation,
            equivalent_to=[],
            vectors=[
                r.EmbedVector(
                    id=item.id,
                    vector=binascii.b2a_base64(row, newline=False).decode("ascii") if base64 else msgspec.Raw(row),
                    content_sha256=item.content_sha256,
                    submitted_sha256=item.submitted_sha256,
                )
                for item, row in zip(tokenized, rows, strict=True)
            ],
            real_token_counts=[item.encoding.real_tokens for item in tokenized],
            truncation_disclosures=[item.disclosure for item in tokenized],
        )


def _tokenize(tokenizer: SanitisedTokenizer, lane: Lane, items: Sequence[p.EmbedItem]) -> list[Tokenized]:
    limit = lane.registration.max_tokens
    truncates = lane.registration.manifest.overlength == "truncate"
    encodings = tokenizer.encode_many([item.text for item in items])
    tokenized = []
    for item, full in zip(items, encodings, strict=True):
        digest = content = hashlib.sha256(item.text.encode()).hexdigest()
        encoding = full
        if full.real_tokens > limit:
            if not truncates:
                raise SynapseError(
                    "sequence_too_long",
                    f"item {item.id!r} has {full.real_tokens} tokens and the model takes {limit}; split or trim it",
                    details={"tokens": full.real_tokens, "max_tokens": limit, "item_id": item.id},
                )
            encoding = tokenizer.truncate(full, limit)
            content = hashlib.sha256(tokenizer.kept_text(encoding).encode()).hexdigest()
        tokenized.append(Tokenized(item.id, encoding, full.real_tokens, digest, content))
    return tokenized


class _LoadPatience:
    """Answers a ticket ``model_loading`` when its lane has let it wait for a worker for too long.

    A lane that is ready may lose its worker while the ticket waits, so this goes on until :meth:`end`.
    """

    def __init__(self, lane: Lane, ticket: Ticket, clock: Clock) -> None:
        self._lane = lane
        self._ticket = ticket
        self._clock = clock
        self._since = clock.monotonic()
        self._look_in(LOAD_WAIT_S)

    def end(self) -> None:
        self._timer.cancel()

    def _look_in(self, seconds: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(seconds, self._look)

    def _look(self) -> None:
        since = self._lane.not_ready_since
        waited = 0.0 if since is None else self._clock.monotonic() - max(since, self._since)
        if waited >= LOAD_WAIT_S:
            self._ticket.fail(
                SynapseError("model_loading", f"{self._lane.lane_id} is still loading; try again shortly")
            )
        else:
            self._look_in(LOAD_WAIT_S - waited)


def _too_late(lane: Lane) -> SynapseError:
    return SynapseError("deadline_exceeded", f"the deadline passed before {lane.lane_id} answered")


def _over_budget(what: str, given: int, limit: int) -> SynapseError:
    return invalid_state(
        f"the batch has {given} {what} and at most {limit} are answered inline; send it in smaller batches",
        field="items",
        given=given,
        limit=limit,
    )
