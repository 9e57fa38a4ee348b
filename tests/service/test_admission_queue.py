"""The queue in front of a lane: order of classes, rounds of merged bulk work, bounds."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from synapse_service.admission.queue import LaneQueue, PriorityClass, Quantum, Row, Ticket
from synapse_wire.errors import SynapseError


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


class Desk:
    """Makes tickets on a queue; a row is (ticket name, tokens)."""

    def __init__(self, loop: asyncio.AbstractEventLoop, capacity: int = 256) -> None:
        self.loop = loop
        self.queue = LaneQueue(capacity)
        self.tickets: dict[str, Ticket] = {}

    def ask(self, name: str, class_: PriorityClass, *tokens: int, encoding: str = "json") -> Ticket:
        ids = [f"{name}{index}" for index in range(len(tokens))]
        ticket = Ticket(class_, encoding, ids, self.loop.create_future())  # type: ignore[arg-type]
        self.queue.add(ticket, [Row(ticket, i, b"", count) for i, count in enumerate(tokens)])
        self.tickets[name] = ticket
        return ticket

    def quantum(self, budget: int = 100) -> list[str]:
        quantum = self.queue.next_quantum(budget, budget)
        return [] if quantum is None else names(quantum)


def names(quantum: Quantum) -> list[str]:
    return [row.ticket.item_ids[row.index] for row in quantum.rows]


@pytest.fixture
def desk(loop: asyncio.AbstractEventLoop) -> Desk:
    return Desk(loop)


def test_interactive_rows_go_before_bulk_rows_that_came_earlier(desk: Desk) -> None:
    desk.ask("b", "bulk", 10, 10)
    desk.ask("i", "interactive", 50)
    assert desk.quantum() == ["i0"]
    assert desk.quantum() == ["b0", "b1"]
    assert desk.quantum() == []
    assert desk.queue.empty


def test_interactive_work_gets_in_between_two_quanta_of_one_round(desk: Desk) -> None:
    desk.ask("b", "bulk", 60, 60, 60)
    assert desk.quantum() == ["b0"]
    desk.ask("i", "interactive", 5)
    assert desk.quantum() == ["i0"]
    assert desk.quantum() == ["b1"]


def test_rows_of_equal_length_from_several_requests_share_a_quantum(desk: Desk) -> None:
    desk.ask("a", "bulk", 30, 10)
    desk.ask("b", "bulk", 10, 30)
    assert desk.quantum(20) == ["a1", "b0"]
    assert desk.quantum(60) == ["a0", "b1"]


def test_a_latecomer_waits_for_the_next_round_even_with_shorter_rows(desk: Desk) -> None:
    desk.ask("a", "bulk", 40, 90)
    assert desk.quantum(40) == ["a0"]
    desk.ask("late", "bulk", 1)
    assert desk.quantum(90) == ["a1"]
    assert desk.quantum(90) == ["late0"]


def test_what_is_left_of_a_round_is_filled_up_from_the_next(desk: Desk) -> None:
    desk.ask("a", "bulk", 40, 50)
    assert desk.quantum(40) == ["a0"]
    desk.ask("b", "bulk", 30, 60)
    desk.ask("c", "bulk", 20, 70)
    assert desk.quantum() == ["c0", "b0", "a1"]
    assert desk.quantum() == ["b1"]
    assert desk.quantum() == ["c1"]
    assert desk.quantum() == []


def test_a_round_is_not_filled_up_with_another_encoding(desk: Desk) -> None:
    desk.ask("a", "bulk", 40, 50)
    assert desk.quantum(40) == ["a0"]
    desk.ask("b", "bulk", 5, encoding="f32")
    assert desk.quantum() == ["a1"]
    assert desk.quantum() == ["b0"]


def test_a_row_larger_than_the_budget_is_served_alone(desk: Desk) -> None:
    desk.ask("a", "bulk", 500, 2)
    assert desk.quantum(10) == ["a1"]
    assert desk.quantum(10) == ["a0"]


def test_rows_of_different_encodings_are_not_mixed(desk: Desk) -> None:
    desk.ask("a", "bulk", 5, encoding="json")
    desk.ask("b", "bulk", 5, encoding="f32")
    assert desk.quantum() == ["a0"]
    assert desk.quantum() == ["b0"]


def test_encodings_that_alternate_by_length_make_one_call_each(desk: Desk) -> None:
    desk.ask("a", "bulk", 5, 7, 9, encoding="json")
    desk.ask("b", "bulk", 4, 6, 8, encoding="f32")
    assert desk.quantum() == ["a0", "a1", "a2"]
    assert desk.quantum() == ["b0", "b1", "b2"]


def test_a_queue_whose_requests_all_have_their_answers_is_empty(desk: Desk) -> None:
    desk.ask("a", "bulk", 60, 60)
    assert desk.quantum(60) == ["a0"]
    desk.ask("i", "interactive", 5)
    desk.tickets["a"].done.cancel()
    assert not desk.queue.empty
    desk.tickets["i"].done.cancel()
    assert desk.queue.empty


def test_rows_of_an_answered_request_never_reach_the_worker(desk: Desk) -> None:
    desk.ask("a", "bulk", 5, 6)
    desk.ask("b", "bulk", 5)
    desk.tickets["a"].fail(SynapseError("deadline_exceeded", "too late"))
    assert desk.quantum() == ["b0"]
    assert desk.queue.next_quantum(100, 100) is None


def test_a_full_class_refuses_with_its_depth_and_keeps_nothing(loop: asyncio.AbstractEventLoop) -> None:
    desk = Desk(loop, capacity=2)
    desk.ask("a", "bulk", 1)
    desk.ask("b", "bulk", 1)
    with pytest.raises(SynapseError) as refusal:
        desk.ask("c", "bulk", 1)
    assert refusal.value.code == "queue_full"
    assert refusal.value.details == {"class": "bulk", "depth": 2}
    assert refusal.value.retry_after_ms == 250
    desk.ask("i", "interactive", 1)
    assert desk.quantum() == ["i0"]
    assert desk.quantum() == ["a0", "b0"]


def test_started_requests_no_longer_count_as_waiting(loop: asyncio.AbstractEventLoop) -> None:
    desk = Desk(loop, capacity=1)
    desk.ask("a", "bulk", 30, 30)
    assert desk.quantum(30) == ["a0"]
    assert desk.queue.depth("bulk") == 0
    desk.ask("b", "bulk", 1)
    assert desk.queue.depth("bulk") == 1


def test_tokens_ahead_count_what_a_newcomer_waits_for(desk: Desk) -> None:
    desk.ask("i", "interactive", 7)
    desk.ask("b", "bulk", 20, 30)
    assert desk.queue.tokens_ahead("interactive") == 7
    assert desk.queue.tokens_ahead("bulk") == 57
    assert desk.quantum() == ["i0"]
    assert desk.quantum(20) == ["b0"]
    assert desk.queue.tokens_ahead("bulk") == 30


def test_a_ticket_is_done_when_its_last_row_arrives_in_request_order(desk: Desk) -> None:
    ticket = desk.ask("a", "bulk", 1, 2)
    ticket.deliver(1, b"second")
    assert not ticket.done.done()
    ticket.deliver(0, b"first")
    assert ticket.done.result() == [b"first", b"second"]


def test_a_late_row_of_a_failed_ticket_is_dropped(desk: Desk) -> None:
    ticket = desk.ask("a", "interactive", 1)
    ticket.fail(SynapseError("deadline_exceeded", "too late"))
    ticket.deliver(0, b"late")
    assert isinstance(ticket.done.exception(), SynapseError)


def test_fail_all_answers_everything_that_waits(desk: Desk) -> None:
    desk.ask("a", "bulk", 5, 5)
    desk.quantum(5)
    desk.ask("b", "bulk", 5)
    desk.ask("i", "interactive", 5)
    desk.queue.fail_all(SynapseError("engine_crashed", "gone", details={"lane_id": "m", "reason": "crash"}))
    codes = {name: ticket.done.exception() for name, ticket in desk.tickets.items()}
    assert {name: getattr(error, "code", None) for name, error in codes.items()} == dict.fromkeys(
        ("a", "b", "i"), "engine_crashed"
    )
    assert desk.queue.empty
