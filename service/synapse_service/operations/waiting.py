"""What every inline request to a lane does between being tokenized and being answered: it waits, and not too long.

Used by ``embed`` and ``rerank``. A deadline counts from the receipt of the request's last byte and holds over
tokenizing, queue, load and compute. While the lane loads, a request waits for :data:`LOAD_WAIT_S` at most and is then
answered ``model_loading``. While a freshly loaded lane of the catalog checks itself, it waits until its deadline, and
``model_loading`` is the answer then. It waits as long for a lane that compiles, and gets ``shape_compiling``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from synapse_engines.tokenizer import Encoding, SanitisedTokenizer
from synapse_service.admission.decision import admit, too_late
from synapse_service.admission.queue import Encoding as RowEncoding
from synapse_service.admission.queue import PriorityClass, Row, Ticket
from synapse_service.clock import Clock
from synapse_service.lanes.lane import Lane
from synapse_service.lanes.refusals import quarantined, still_compiling
from synapse_service.server.router import Call
from synapse_service.settings.declared import Settings
from synapse_wire import params as p
from synapse_wire.errors import SynapseError

LOAD_WAIT_S = 5.0
"""How long an inline request waits for its lane to load before it is answered ``model_loading``."""

_BETWEEN_LOOKS_S = 0.005
"""How late a deadline may be noticed, so that thousands of them cost no more than two hundred looks a second."""

_LOOP_CHARS = 4096
"""Texts up to this length are tokenized on the loop: that takes less time than a hop to a thread and back."""

T = TypeVar("T")


class QueuedRow(NamedTuple):
    """One row of a request: the caller's id for it, and its tokens."""

    id: str
    encoding: Encoding


class InlineWork:
    """Deadlines, tokenizing and waiting of inline requests."""

    def __init__(self, settings: Callable[[], Settings], clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._patience = Patience(clock)

    def deadline(self, call: Call, constraints: p.Constraints) -> float:
        """When the request must have its answer, on the monotonic clock."""
        return call.received_at + (constraints.deadline_ms or self._settings().default_deadline_ms) / 1000

    async def tokenize(self, lane: Lane, chars: int, deadline: float, work: Callable[[SanitisedTokenizer], T]) -> T:
        """Run ``work``, which tokenizes ``chars`` characters; in a thread if that takes a while.

        Raises ``deadline_exceeded`` once the deadline has passed. A thread that has begun runs to its end.
        """
        short = chars <= _LOOP_CHARS
        if short and lane.loaded_tokenizer is not None:
            return work(lane.loaded_tokenizer)
        try:
            async with asyncio.timeout(deadline - self._clock.monotonic()):
                tokenizer = await lane.tokenizer()
                if short:
                    return work(tokenizer)
                return await asyncio.to_thread(work, tokenizer)
        except TimeoutError as error:
            raise too_late(lane.lane_id) from error

    def submit(
        self,
        lane: Lane,
        constraints: p.Constraints,
        queued: Sequence[QueuedRow],
        class_: PriorityClass,
        encoding: RowEncoding,
        deadline: float,
    ) -> Waiting:
        """Queue the rows. An idle lane is computing them when this returns."""
        now = self._clock.monotonic()
        # Again, because the lane may have failed while the texts were tokenized.
        if lane.quarantine.active:
            raise quarantined(lane.lane_id, lane.quarantine)
        default = self._settings().default_max_queue_ms
        max_queue_ms = default if constraints.max_queue_ms is None else constraints.max_queue_ms
        admit(lane.lane_id, lane.start_delay_s(class_), max_queue_ms=max_queue_ms, remaining_s=deadline - now)
        ticket = Ticket(class_, encoding, [row.id for row in queued], asyncio.get_running_loop().create_future())
        rows = [
            Row(ticket, index, row.encoding.ids.tobytes(), row.encoding.real_tokens) for index, row in enumerate(queued)
        ]
        lane.submit(ticket, rows)
        return self._patience.begin(lane, ticket, deadline - now)


@dataclass(eq=False, slots=True)
class Waiting:
    """A ticket that waits for its lane; a ``with`` block, at whose end nobody waits any more.

    Since when is told by the service's clock, until when by the loop's; ``compiles`` marks what compiled before.
    """

    lane: Lane
    ticket: Ticket
    since: float
    until: float
    compiles: int
    patience: Patience

    def __enter__(self) -> Waiting:
        return self

    def __exit__(self, *_: object) -> None:
        self.ticket.done.cancel()
        self.patience.end(self)

    async def rows(self) -> list[bytes]:
        """What the lane makes of the rows, one encoded row each, in order. Raises why it doesn't."""
        answer = await self.ticket.done
        self.lane.punctuality.ended(in_time=True)
        return answer


class Patience:
    """Ends the waiting of tickets: at their deadlines, and where a lane lets them wait for a worker for too long.

    A lane that is ready may lose its worker while a ticket waits, so each is looked at until :meth:`end`. One timer
    serves all of them and is set again only when it rings: most requests are answered long before that, and a timer
    for each would cost as much as their tokenizing.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._waiting: dict[Waiting, None] = {}
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, lane: Lane, ticket: Ticket, seconds: float) -> Waiting:
        """Look after a ticket that may wait for ``seconds``."""
        now = asyncio.get_running_loop().time()
        waiting = Waiting(lane, ticket, self._clock.monotonic(), now + seconds, lane.compiles.mark(), self)
        self._waiting[waiting] = None
        self._look_at(now + min(seconds, LOAD_WAIT_S))
        return waiting

    def end(self, waiting: Waiting) -> None:
        """The ticket was answered, or nobody waits for it."""
        self._waiting.pop(waiting, None)

    def _look_at(self, when: float) -> None:
        if self._timer is not None:
            if self._timer.when() <= when:
                return
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_at(when, self._look)

    def _look(self) -> None:
        self._timer = None
        now = asyncio.get_running_loop().time()
        next_looks = [now + self._look_after(each, now) for each in self._waiting if each.ticket.live]
        if next_looks:
            self._look_at(max(min(next_looks), now + _BETWEEN_LOOKS_S))

    def _look_after(self, waiting: Waiting, now: float) -> float:
        """End the waiting of one if it is time; returns in how many seconds to look again."""
        lane, ticket, left = waiting.lane, waiting.ticket, waiting.until - now
        if left <= 0:
            lane.punctuality.ended(in_time=False)
            ticket.fail(_why_late(lane, ticket, waiting.compiles))
            return 0.0
        if lane.self_checking or lane.not_ready_since is None:
            return min(left, LOAD_WAIT_S)
        patience = LOAD_WAIT_S - (self._clock.monotonic() - max(lane.not_ready_since, waiting.since))
        if patience <= 0:
            ticket.fail(_still_loading(lane))
        return min(left, patience)


def _still_loading(lane: Lane) -> SynapseError:
    return SynapseError("model_loading", f"{lane.lane_id} is still loading; try again shortly")


def _why_late(lane: Lane, ticket: Ticket, compiles: int) -> SynapseError:
    if lane.self_checking:
        return _still_loading(lane)
    shape = lane.blocked_on_compile(ticket, compiles)
    return too_late(lane.lane_id) if shape is None else still_compiling(lane.lane_id, shape)
