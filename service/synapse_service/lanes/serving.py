"""The serving loop of a lane: the queue in front of it, cut into worker calls, and the answers handed out.

Owned by `lane`, which knows how workers come and go; this room knows what waits and what is computed right now. The
loop runs as a task while there is work. What a worker is asked for follows from the lane's task: vectors, or scores.
Everything here runs on the event loop and touches the worker alone.

A score is handed out as a vector is: one row of bytes, see :func:`unpack_scores`.
"""

from __future__ import annotations

import asyncio
import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from synapse_service.admission.pace import Pace
from synapse_service.admission.punctuality import Punctuality
from synapse_service.admission.queue import LaneQueue, Quantum, Row, Ticket
from synapse_service.clock import Clock
from synapse_service.failures import where
from synapse_service.lanes.loader import Loaded
from synapse_service.lanes.model import LaneModel
from synapse_service.lanes.quarantine import Quarantine
from synapse_service.lanes.refusals import crashed, non_finite, refused
from synapse_service.lanes.use import LaneUse
from synapse_service.lanes.worker_faults import WorkerFault, WorkerRefused
from synapse_service.lanes.worker_process import WorkerProcess
from synapse_service.lanes.worker_scores import ScoredRows
from synapse_service.logs import get_logger
from synapse_wire.errors import SynapseError

_STALL_S: Final = 120.0
_STALL_PER_TOKEN_S: Final = 0.12
"""On a CPU lane the silence that counts as a hang grows with the tokens of one call: 1024 tokens double it."""

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Pacing:
    """How the queue is cut: token budgets of a worker call, and the time a bulk call should take."""

    interactive_tokens: int
    bulk_tokens: int
    bulk_seconds: float


class Supervisor(Protocol):
    """What the loop asks of the lane that owns it."""

    lane_id: str
    model: LaneModel
    quarantine: Quarantine
    use: LaneUse
    last_error: SynapseError | None

    async def ensure_ready(self) -> Loaded: ...

    def holds(self, loaded: Loaded) -> bool: ...

    async def worker_lost(self, loaded: Loaded, fault: WorkerFault) -> None: ...

    async def count_fault(self, reason: str) -> None: ...


@dataclass(frozen=True, slots=True)
class _Answer:
    """What a worker made of a quantum: a row of bytes for each of its rows; those not finite mean nothing."""

    rows: Sequence[bytes]
    non_finite: tuple[int, ...]


class Serving:
    """The queue and the loop of one lane. ``last_completed`` is when it last completed work, on the monotonic clock."""

    def __init__(
        self,
        lane: Supervisor,
        *,
        clock: Clock,
        pacing: Callable[[], Pacing],
        queue_capacity: Callable[[], int],
    ) -> None:
        self.queue = LaneQueue(queue_capacity())
        self.pace = Pace()
        self.punctuality = Punctuality()
        self.last_completed: float | None = None
        self._lane = lane
        self._clock = clock
        self._pacing = pacing
        self._queue_capacity = queue_capacity
        self._task: asyncio.Task[None] | None = None
        self._running: tuple[Quantum, float] | None = None

    @property
    def busy(self) -> bool:
        """Work is waiting or being computed."""
        return self._task is not None

    @property
    def in_flight(self) -> int:
        """Requests whose rows are being computed."""
        return 0 if self._running is None else len({id(row.ticket) for row in self._running[0].rows})

    def start_delay_s(self, class_: Literal["interactive", "bulk"]) -> float:
        """Predicted seconds until a newcomer of ``class_`` starts, from measured speed; loading is not counted."""
        delay = self.pace.seconds(self.queue.tokens_ahead(class_))
        if self._running is not None:
            quantum, since = self._running
            delay += max(0.0, self.pace.seconds(quantum.tokens) - (self._clock.monotonic() - since))
        return delay

    def submit(self, ticket: Ticket, rows: list[Row], *, bounded: bool = True) -> None:
        """Queue a ticket; raises ``queue_full``. See :meth:`Lane.submit`."""
        self.queue.capacity = self._queue_capacity()
        self.queue.add(ticket, rows, bounded=bounded)
        ticket.queued_at = self._clock.monotonic() if bounded else None
        if self._task is None:
            self._task = asyncio.create_task(self._serve(), name=f"lane {self._lane.lane_id}")

    def fail_running(self, error: SynapseError) -> None:
        """Answer the requests whose rows are being computed."""
        if self._running is not None:
            quantum, _ = self._running
            self._running = None
            for row in quantum.rows:
                row.ticket.fail(error)

    async def close(self, error: SynapseError) -> None:
        """Answer what waits or runs with ``error``, and end the loop."""
        self.queue.fail_all(error)
        self.fail_running(error)
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _serve(self) -> None:
        lane = self._lane
        try:
            while not self.queue.empty:
                try:
                    loaded = await lane.ensure_ready()
                except SynapseError as error:
                    # Those who waited when a load failed have their answer; who came since gets a load of their own.
                    if error is not lane.last_error:
                        self.queue.fail_all(error)
                    continue
                if not lane.holds(loaded):
                    continue  # It was unloaded again before this task got its turn.
                pacing = self._pacing()
                bulk = min(pacing.bulk_tokens, self.pace.tokens_within(pacing.bulk_seconds, pacing.bulk_tokens))
                quantum = self.queue.next_quantum(pacing.interactive_tokens, bulk)
                if quantum is not None:
                    await self._run(loaded, quantum)
        except Exception as error:  # noqa: BLE001 - the edge of the lane's own task: whoever waits must be answered
            _log.error("lane_failed", lane_id=lane.lane_id, where=where(error))
            message = f"the lane failed; the log tells more about {lane.lane_id}"
            failure = SynapseError("internal_error", message, details={"reference": lane.lane_id})
            self.fail_running(failure)
            self.queue.fail_all(failure)
        finally:
            self._running = None
            self._task = None

    async def _run(self, loaded: Loaded, quantum: Quantum) -> None:
        began = self._clock.monotonic()
        self._running = (quantum, began)
        for row in quantum.rows:
            if row.ticket.queued_at is not None:
                self.punctuality.started(began - row.ticket.queued_at)
                row.ticket.queued_at = None
        try:
            answer = await self._compute(loaded.worker, quantum)
        except WorkerRefused as refusal:
            # The service checked these rows, so a refusal means that lane and worker disagree about the model.
            self.fail_running(refused(self._lane.lane_id, refusal))
            await self._lane.count_fault(refusal.kind)
            return
        except WorkerFault as fault:
            self.fail_running(crashed(self._lane.lane_id, fault))
            await self._lane.worker_lost(loaded, fault)
            return
        self._running = None
        self.last_completed = self._clock.monotonic()
        self.pace.record(quantum.tokens, self.last_completed - began)
        self._lane.use.worked()
        await self._deliver(quantum, answer)

    async def _compute(self, worker: WorkerProcess, quantum: Quantum) -> _Answer:
        lengths = [row.tokens for row in quantum.rows]
        ids = b"".join(row.ids for row in quantum.rows)
        model = self._lane.model
        stall_limit_s = _STALL_S + (_STALL_PER_TOKEN_S * quantum.tokens if model.engine == "owned-cpu" else 0.0)
        if model.task == "rerank":
            scored = await worker.score(lengths, ids, stall_limit_s=stall_limit_s)
            return _Answer(pack_scores(scored), scored.non_finite)
        embedded = await worker.embed(lengths, ids, quantum.encoding, stall_limit_s=stall_limit_s)
        return _Answer(embedded.rows, embedded.non_finite)

    async def _deliver(self, quantum: Quantum, answer: _Answer) -> None:
        broken = set(answer.non_finite)
        for position, row in enumerate(quantum.rows):
            if position in broken:
                row.ticket.fail(non_finite(row.ticket.item_ids[row.index]))
            else:
                row.ticket.deliver(row.index, answer.rows[position])
        if broken:
            await self._lane.count_fault("non_finite")
        else:
            self._lane.quarantine.served()


def pack_scores(scored: ScoredRows) -> list[bytes]:
    """Each row of a scoring worker's answer as bytes: its score, then the logits behind it, little-endian float32."""
    return [
        struct.pack(f"<{1 + len(logits)}f", math.nan if score is None else score, *logits)
        for score, logits in zip(scored.scores, scored.logits, strict=True)
    ]


def unpack_scores(row: bytes) -> tuple[float, ...]:
    """The numbers of a row that a scoring lane handed out: the score, then the logits; each exactly a float32."""
    return struct.unpack(f"<{len(row) // 4}f", row)
