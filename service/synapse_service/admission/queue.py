"""The bounded two-class queue in front of a lane, and how it is cut into worker calls.

A *ticket* is one accepted request with its tokenized rows; a *quantum* is the set of rows of one worker call.
Interactive rows go first. Bulk rows are served in rounds: the bulk tickets that wait when a round begins are merged
and ordered by length, so that rows of about one length from several requests share an inference, and whoever comes
later waits for the next round; nobody is overtaken twice. The last quantum of a round is filled up from the next.
Between two quanta interactive work gets in, which is why a bulk quantum is short.

Pure bookkeeping for the event loop: no clock, no I/O. A ticket's result is delivered through its future.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from synapse_wire.errors import SynapseError

PriorityClass = Literal["interactive", "bulk"]
Encoding = Literal["json", "f32"]

_ROUND_TOKENS: Final = 32_768
"""Rows merged in one bulk round; bounds how long a latecomer of the bulk class waits for its round."""


class Ticket:
    """One accepted request. ``done`` resolves to one encoded row per input, in request order.

    ``queued_at`` is the monotonic time at which its lane took a request, until its first row begins; a job's part has
    none, because nobody waits for just that.
    """

    __slots__ = (
        "_missing",
        "class_",
        "done",
        "encoding",
        "item_ids",
        "queued_at",
        "results",
        "started",
    )

    def __init__(
        self,
        class_: PriorityClass,
        encoding: Encoding,
        item_ids: Sequence[str],
        done: asyncio.Future[list[bytes]],
    ) -> None:
        self.class_: PriorityClass = class_
        self.encoding: Encoding = encoding
        self.item_ids = item_ids
        self.done = done
        self.started = False
        self.queued_at: float | None = None
        self.results: list[bytes | None] = [None] * len(item_ids)
        self._missing = len(item_ids)

    @property
    def live(self) -> bool:
        """False once the request has its answer, whatever it was."""
        return not self.done.done()

    def deliver(self, index: int, row: bytes) -> bool:
        """Take the result of one row; True when none is missing any more, which completes the ticket.

        The rows of a dead ticket are counted and dropped.
        """
        if self.live:
            self.results[index] = row
        self._missing -= 1
        if self._missing:
            return False
        if self.live:
            self.done.set_result([result for result in self.results if result is not None])
        return True

    def fail(self, error: SynapseError) -> None:
        """Answer the request with an error, unless it has its answer already."""
        if self.live:
            self.done.set_exception(error)
            # Its request may have been cancelled; asking once keeps asyncio from reporting the error as lost.
            self.done.exception()


@dataclass(frozen=True, slots=True)
class Row:
    """One text to embed: ``ids`` are little-endian int32 token ids, ``tokens`` their number."""

    ticket: Ticket
    index: int
    ids: bytes
    tokens: int


@dataclass(frozen=True, slots=True)
class Quantum:
    """The rows of one worker call, all of one class and one encoding, shortest first."""

    class_: PriorityClass
    encoding: Encoding
    rows: tuple[Row, ...]

    @property
    def tokens(self) -> int:
        return sum(row.tokens for row in self.rows)


class LaneQueue:
    """Waiting work of one lane. ``capacity`` bounds the tickets that wait in each class."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._waiting: dict[PriorityClass, deque[Row]] = {"interactive": deque(), "bulk": deque()}
        self._round: deque[Row] = deque()
        # Tokens of each unanswered ticket that no worker call has taken yet.
        self._open: dict[PriorityClass, dict[Ticket, int]] = {"interactive": {}, "bulk": {}}

    def add(self, ticket: Ticket, rows: Sequence[Row], *, bounded: bool = True) -> None:
        """Accept a ticket's rows, or raise ``queue_full`` and keep nothing; work that isn't ``bounded`` always fits."""
        depth = self.depth(ticket.class_)
        if bounded and depth >= self.capacity:
            raise SynapseError(
                "queue_full",
                f"{depth} {ticket.class_} requests are waiting already; retry when some have been served",
                details={"class": ticket.class_, "depth": depth},
            )
        tickets = self._open[ticket.class_]
        tickets[ticket] = sum(row.tokens for row in rows)
        ticket.done.add_done_callback(lambda _: tickets.pop(ticket, None))
        self._waiting[ticket.class_].extend(rows)

    def depth(self, class_: PriorityClass) -> int:
        """Requests of a class that wait and have not begun."""
        return sum(ticket.live and not ticket.started for ticket in self._open[class_])

    def tokens_ahead(self, class_: PriorityClass) -> int:
        """Tokens that will be computed before a newcomer of ``class_`` starts, the running quantum not counted."""
        classes: tuple[PriorityClass, ...] = ("interactive",) if class_ == "interactive" else ("interactive", "bulk")
        return sum(tokens for each in classes for ticket, tokens in self._open[each].items() if ticket.live)

    @property
    def empty(self) -> bool:
        """True when no row waits whose request still wants an answer."""
        queues = (self._round, *self._waiting.values())
        for rows in queues:
            _drop_dead(rows)
        return not any(queues)

    def next_quantum(self, interactive_tokens: int, bulk_tokens: int) -> Quantum | None:
        """The next worker call: at least one row, and then rows up to the class's token budget."""
        taken: list[Row] = []
        class_: PriorityClass = "interactive"
        self._take(class_, self._waiting[class_], interactive_tokens, taken)
        if not taken:
            class_ = "bulk"
            # What is left of a round is filled up from the next one: a call with few rows costs almost as much.
            self._fill_round()
            while self._take(class_, self._round, bulk_tokens, taken) and not self._round:
                self._fill_round()
        if not taken:
            return None
        taken.sort(key=lambda row: row.tokens)
        return Quantum(class_, taken[0].ticket.encoding, tuple(taken))

    def fail_all(self, error: SynapseError) -> None:
        """Answer everything that waits with ``error``."""
        for rows in (self._round, *self._waiting.values()):
            for row in rows:
                row.ticket.fail(error)
            rows.clear()

    def _fill_round(self) -> None:
        _drop_dead(self._round)
        if self._round:
            return
        waiting = self._waiting["bulk"]
        merged: list[Row] = []
        tokens = 0
        # Whole tickets enter a round, so that one request is never spread over several rounds.
        while waiting and (tokens < _ROUND_TOKENS or waiting[0].ticket is merged[-1].ticket):
            row = waiting.popleft()
            if row.ticket.live:
                merged.append(row)
                tokens += row.tokens
        # By encoding first: rows of two encodings that alternate by length would make a worker call each.
        if merged:
            first = merged[0].ticket.encoding
            self._round.extend(sorted(merged, key=lambda row: (row.ticket.encoding != first, row.tokens)))

    def _take(self, class_: PriorityClass, rows: deque[Row], budget: int, taken: list[Row]) -> bool:
        """Move rows to ``taken`` while they fit and have the encoding of those there; True if it got any."""
        before = len(taken)
        tokens = sum(row.tokens for row in taken)
        _drop_dead(rows)
        while rows:
            row = rows[0]
            if taken and (row.ticket.encoding != taken[0].ticket.encoding or tokens + row.tokens > budget):
                break
            rows.popleft()
            row.ticket.started = True
            self._open[class_][row.ticket] -= row.tokens
            taken.append(row)
            tokens += row.tokens
            _drop_dead(rows)
        return len(taken) > before


def _drop_dead(rows: deque[Row]) -> None:
    while rows and not rows[0].ticket.live:
        rows.popleft()
