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
"""Texts up to this length together are tokenized on the loop: a hop to a thread and back would take as long."""

_CHARS_OF_A_TEXT = 32
"""What a text costs beside its length, in characters: a batch of short ones takes longer than one long text."""

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
        self._patience = _Patience(clock)

    def deadline(self, call: Call, constraints: p.Constraints) -> float:
        """When the request must have its answer, on the monotonic clock."""
        return call.received_at + (constraints.deadline_ms or self._settings().default_deadline_ms) / 1000

    async def tokenize(
        self, lane: Lane, texts: int, chars: int, deadline: float, work: Callable[[SanitisedTokenizer], T]
    ) -> T:
        """Run ``work``, which tokenizes ``texts`` of ``chars`` characters together; in a thread if that takes a while.

        Raises ``deadline_exceeded`` once the deadline has passed. A thread that has begun runs to its end.
        """
        short = chars + texts * _CHARS_OF_A_TEXT <= _LOOP_CHARS
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

    async def compute(
        self,
        lane: Lane,
        constraints: p.Constraints,
        queued: Sequence[QueuedRow],
        class_: PriorityClass,
        encoding: RowEncoding,
        deadline: float,
    ) -> list[bytes]:
        """Queue the rows and wait for what the lane makes of them, one encoded row each, in order."""
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
        self._patience.begin(lane, ticket, deadline - now)
        try:
            answer = await ticket.done
            lane.punctuality.ended(in_time=True)
            return answer
        finally:
            ticket.done.cancel()
            self._patience.end(ticket)


@dataclass(frozen=True, slots=True)
class _Wait:
    """For which lane, since when on the service's clock, until when on the loop's, and what had compiled before."""

    lane: Lane
    since: float
    until: float
    compiles: int


class _Patience:
    """Ends the waiting of tickets: at their deadlines, and where a lane lets them wait for a worker for too long.

    A lane that is ready may lose its worker while a ticket waits, so each is looked at until :meth:`end`. One timer
    serves all of them and is set again only when it rings: most requests are answered long before that, and a timer
    for each would cost as much as their tokenizing.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._waits: dict[Ticket, _Wait] = {}
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, lane: Lane, ticket: Ticket, seconds: float) -> None:
        """Look after a ticket that may wait for ``seconds``."""
        now = asyncio.get_running_loop().time()
        self._waits[ticket] = _Wait(lane, self._clock.monotonic(), now + seconds, lane.compiles.mark())
        self._look_at(now + min(seconds, LOAD_WAIT_S))

    def end(self, ticket: Ticket) -> None:
        """The ticket was answered, or nobody waits for it."""
        del self._waits[ticket]

    def _look_at(self, when: float) -> None:
        if self._timer is not None:
            if self._timer.when() <= when:
                return
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_at(when, self._look)

    def _look(self) -> None:
        self._timer = None
        now = asyncio.get_running_loop().time()
        next_looks = [now + self._look_after(ticket, wait, now) for ticket, wait in self._waits.items() if ticket.live]
        if next_looks:
            self._look_at(max(min(next_looks), now + _BETWEEN_LOOKS_S))

    def _look_after(self, ticket: Ticket, wait: _Wait, now: float) -> float:
        """End the waiting of one if it is time; returns in how many seconds to look again."""
        lane, left = wait.lane, wait.until - now
        if left <= 0:
            lane.punctuality.ended(in_time=False)
            ticket.fail(_why_late(lane, ticket, wait.compiles))
            return 0.0
        if lane.self_checking or lane.not_ready_since is None:
            return min(left, LOAD_WAIT_S)
        patience = LOAD_WAIT_S - (self._clock.monotonic() - max(lane.not_ready_since, wait.since))
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
