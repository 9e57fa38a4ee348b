"""How a lane serves: the queue in front of it, cut into worker calls, and the answers handed out.

Owned by `lane`, which knows how workers come and go; this room knows what waits and what is computed right now. What a
worker is asked for follows from the lane's task: vectors, or scores. Everything here runs on the event loop and touches
the worker alone.

==========  =========================  ==========  ===============================================================
now         event                      next        effect
==========  =========================  ==========  ===============================================================
idle        work came, worker ready    computing   a quantum goes to the worker at once, without a task in between
idle        work came, no worker       preparing   a task has the lane load
preparing   worker ready               computing   the next quantum
preparing   load failed                idle        those who waited have their answer
computing   answered                   computing   rows are handed out, then the next quantum; idle if nothing waits
computing   refused, fault, not        preparing   requests are answered; a task has the lane count it
            finite
==========  =========================  ==========  ===============================================================

A score is handed out as a vector is: one row of bytes, see :func:`unpack_scores`.
"""

from __future__ import annotations

import asyncio
import math
import struct
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal, Protocol

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
from synapse_service.logs import get_logger
from synapse_service.workers.faults import WorkerFault, WorkerRefused
from synapse_service.workers.process import EmbeddedRows, WorkerProcess
from synapse_service.workers.scores import ScoredRows
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
    """What serving asks of the lane that owns it."""

    lane_id: str
    model: LaneModel
    quarantine: Quarantine
    use: LaneUse
    last_error: SynapseError | None

    @property
    def ready(self) -> Loaded | None: ...

    async def ready_for_admitted(self) -> Loaded: ...

    async def worker_lost(self, loaded: Loaded, fault: WorkerFault) -> None: ...

    async def count_fault(self, reason: str) -> None: ...


class Serving:
    """The queue of one lane and the call under way.

    ``last_completed`` is when it last completed work, on the monotonic clock.
    """

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
        self._preparing: asyncio.Task[None] | None = None
        self._running: tuple[Quantum, float] | None = None
        self._call: asyncio.Future[EmbeddedRows | ScoredRows] | None = None

    @property
    def busy(self) -> bool:
        """Work is waiting or being computed."""
        return self._call is not None or self._preparing is not None

    @property
    def in_flight(self) -> int:
        """Requests whose rows are being computed."""
        return 0 if self._running is None else len({id(row.ticket) for row in self._running[0].rows})

    def computes(self, ticket: Ticket) -> bool:
        """Whether rows of the ticket are with the worker."""
        return self._running is not None and any(row.ticket is ticket for row in self._running[0].rows)

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
        self._go_on()

    def fail_running(self, error: SynapseError) -> None:
        """Answer the requests whose rows are being computed."""
        if self._running is not None:
            quantum, _ = self._running
            self._running = None
            for row in quantum.rows:
                row.ticket.fail(error)

    async def ended(self) -> None:
        """Wait until nothing is under way."""
        while (work := self._call or self._preparing) is not None:
            await asyncio.wait([work])

    async def close(self, error: SynapseError) -> None:
        """Answer what waits or runs with ``error``, and end."""
        self.queue.fail_all(error)
        self.fail_running(error)
        ending = [work for work in (self._preparing, self._call) if work is not None]
        for work in ending:
            work.cancel()
        await asyncio.gather(*ending, return_exceptions=True)

    def _go_on(self) -> None:
        """Start what comes next, if anything waits and nothing is under way."""
        if self._call is not None or self._preparing is not None:
            return
        try:
            if self.queue.empty:
                return
            loaded = self._lane.ready
            if loaded is None:
                self._prepare(self._have_loaded())
                return
            pacing = self._pacing()
            bulk = min(pacing.bulk_tokens, self.pace.tokens_within(pacing.bulk_seconds, pacing.bulk_tokens))
            quantum = self.queue.next_quantum(pacing.interactive_tokens, bulk)
            if quantum is not None:
                self._start(loaded, quantum)
        except Exception as error:  # noqa: BLE001 - the edge of the lane's own work: whoever waits must be answered
            self._failed(error)

    def _prepare(self, work: Coroutine[Any, Any, None]) -> None:
        self._preparing = asyncio.create_task(self._prepared(work), name=f"lane {self._lane.lane_id}")

    async def _prepared(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Exception as error:  # noqa: BLE001 - as in `_go_on`
            self._failed(error)
        finally:
            self._preparing = None
        self._go_on()

    async def _have_loaded(self) -> None:
        if self.queue.empty:
            return  # Who waited was answered meanwhile.
        try:
            await self._lane.ready_for_admitted()
        except SynapseError as error:
            # Those who waited when a load failed have their answer; who came since gets a load of their own.
            if error is not self._lane.last_error:
                self.queue.fail_all(error)

    def _start(self, loaded: Loaded, quantum: Quantum) -> None:
        began = self._clock.monotonic()
        self._running = (quantum, began)
        for row in quantum.rows:
            if row.ticket.queued_at is not None:
                self.punctuality.started(began - row.ticket.queued_at)
                row.ticket.queued_at = None
        self._call = asyncio.ensure_future(self._compute(loaded.worker, quantum))
        self._call.add_done_callback(partial(self._ended, loaded, quantum, began))

    def _compute(self, worker: WorkerProcess, quantum: Quantum) -> Awaitable[EmbeddedRows | ScoredRows]:
        lengths = [row.tokens for row in quantum.rows]
        ids = b"".join(row.ids for row in quantum.rows)
        model = self._lane.model
        stall_limit_s = _STALL_S + (_STALL_PER_TOKEN_S * quantum.tokens if model.engine == "owned-cpu" else 0.0)
        if model.task == "rerank":
            return worker.score(lengths, ids, stall_limit_s=stall_limit_s)
        return worker.embed(lengths, ids, quantum.encoding, stall_limit_s=stall_limit_s)

    def _ended(
        self, loaded: Loaded, quantum: Quantum, began: float, call: asyncio.Future[EmbeddedRows | ScoredRows]
    ) -> None:
        self._call = None
        if call.cancelled():
            return
        try:
            answer = call.result()
        except WorkerRefused as refusal:
            self._prepare(self._refused(refusal))
        except WorkerFault as fault:
            self._prepare(self._lost(loaded, fault))
        except Exception as error:  # noqa: BLE001 - as in `_go_on`
            self._failed(error)
            self._go_on()
        else:
            self._running = None
            self.last_completed = self._clock.monotonic()
            self.pace.record(quantum.tokens, self.last_completed - began)
            self._lane.use.worked()
            if answer.non_finite:
                self._prepare(self._not_finite(quantum, answer))
            else:
                self._go_on()  # First, so that the worker computes while the rows are handed out.
                if self._deliver(quantum, answer):
                    self._lane.quarantine.served()

    def _deliver(self, quantum: Quantum, answer: EmbeddedRows | ScoredRows) -> bool:
        """Hand out the rows; True when one of them was the last of its request."""
        ended = False
        rows = answer.rows if isinstance(answer, EmbeddedRows) else pack_scores(answer)
        broken = set(answer.non_finite)
        for position, row in enumerate(quantum.rows):
            if position in broken:
                row.ticket.fail(non_finite(row.ticket.item_ids[row.index]))
            elif row.ticket.deliver(row.index, rows[position]):
                ended = True
        return ended

    # Whoever hears of a fault finds it counted: both happen in one step of these.

    async def _refused(self, refusal: WorkerRefused) -> None:
        # The service checked these rows, so a refusal means that lane and worker disagree about the model.
        self.fail_running(refused(self._lane.lane_id, refusal))
        await self._lane.count_fault(refusal.kind)

    async def _lost(self, loaded: Loaded, fault: WorkerFault) -> None:
        # The lane may have heard of it by another way, and then it has answered these requests already.
        self.fail_running(crashed(self._lane.lane_id, fault))
        await self._lane.worker_lost(loaded, fault)

    async def _not_finite(self, quantum: Quantum, answer: EmbeddedRows | ScoredRows) -> None:
        self._deliver(quantum, answer)
        await self._lane.count_fault("non_finite")

    def _failed(self, error: Exception) -> None:
        lane_id = self._lane.lane_id
        _log.error("lane_failed", lane_id=lane_id, where=where(error))
        message = f"the lane failed; the log tells more about {lane_id}"
        failure = SynapseError("internal_error", message, details={"reference": lane_id})
        self.fail_running(failure)
        self.queue.fail_all(failure)


def pack_scores(scored: ScoredRows) -> list[bytes]:
    """Each row of a scoring worker's answer as bytes: its score, then the logits behind it, little-endian float32."""
    return [
        struct.pack(f"<{1 + len(logits)}f", math.nan if score is None else score, *logits)
        for score, logits in zip(scored.scores, scored.logits, strict=True)
    ]


def unpack_scores(row: bytes) -> tuple[float, ...]:
    """The numbers of a row that a scoring lane handed out: the score, then the logits; each exactly a float32."""
    return struct.unpack(f"<{len(row) // 4}f", row)
