"""Events: snapshot first, gapless numbers, at most ten a second, and nothing terminal lost on the way."""

from __future__ import annotations

from typing import Any

import pytest

from fixtures.clocks import FakeClock
from synapse_service.events import MAX_WAITING, EventHub, Subscription


class Listener:
    """A sink that records. ``full`` makes it refuse."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.full = False
        self.got: list[dict[str, Any]] = []
        self.times: list[float] = []

    def __call__(self, event: dict[str, Any]) -> bool:
        if self.full:
            return False
        self.got.append(event)
        self.times.append(round(self.clock.monotonic(), 6))
        return True

    @property
    def data(self) -> list[Any]:
        return [event["data"] for event in self.got]

    @property
    def seqs(self) -> list[int]:
        return [event["seq"] for event in self.got]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(monotonic=0.0)


@pytest.fixture
def hub(clock: FakeClock) -> EventHub:
    hub = EventHub(clock, clock.call_later)
    hub.register_topic("jobs", lambda: "all jobs")
    hub.register_topic("lanes", lambda: "all lanes")
    return hub


@pytest.fixture
def listener(clock: FakeClock) -> Listener:
    return Listener(clock)


def test_each_topic_begins_with_a_snapshot_numbered_one(hub: EventHub, clock: FakeClock, listener: Listener) -> None:
    hub.subscribe(["jobs", "lanes"], listener)
    assert listener.got == []  # The reply to the subscription comes first.
    clock.advance(0)
    assert listener.got == [
        {"topic": "jobs", "seq": 1, "kind": "snapshot", "data": "all jobs"},
        {"topic": "lanes", "seq": 1, "kind": "snapshot", "data": "all lanes"},
    ]


def test_a_change_after_a_pause_arrives_at_once(hub: EventHub, clock: FakeClock, listener: Listener) -> None:
    hub.subscribe(["jobs"], listener)
    clock.advance(1)
    hub.publish("jobs", "new")
    assert listener.got[1:] == [{"topic": "jobs", "seq": 2, "kind": "change", "data": "new"}]


def test_the_snapshot_shows_what_changed_before_it_was_sent(clock: FakeClock, listener: Listener) -> None:
    state = ["a"]
    hub = EventHub(clock, clock.call_later)
    hub.register_topic("jobs", lambda: list(state))
    hub.subscribe(["jobs"], listener)
    state.append("b")
    hub.publish("jobs", "b")
    clock.advance(1)
    assert listener.data == [["a", "b"]]


def test_at_most_ten_a_second_a_topic_in_order(hub: EventHub, clock: FakeClock, listener: Listener) -> None:
    hub.subscribe(["jobs"], listener)
    clock.advance(0)
    for number in range(12):
        hub.publish("jobs", number)
    clock.advance(0.95)
    assert listener.data[1:] == [0, 1, 2, 3, 4, 5, 6, 7, 8]
    clock.advance(1)
    assert listener.data[1:] == list(range(12))
    assert listener.seqs == list(range(1, 14))
    gaps = [later - earlier for earlier, later in zip(listener.times, listener.times[1:], strict=False)]
    assert min(gaps) > 0.0999


def test_topics_do_not_share_their_allowance(hub: EventHub, clock: FakeClock, listener: Listener) -> None:
    hub.subscribe(["jobs", "lanes"], listener)
    clock.advance(1)
    hub.publish("jobs", "j")
    hub.publish("lanes", "l")
    assert listener.data[2:] == ["j", "l"]


def test_waiting_changes_of_one_key_become_the_latest(hub: EventHub, clock: FakeClock, listener: Listener) -> None:
    hub.subscribe(["jobs"], listener)
    clock.advance(0)
    for done in range(50):
        hub.publish("jobs", f"a{done}", key="a")
        hub.publish("jobs", f"b{done}", key="b")
    clock.advance(1)
    assert listener.data[1:] == ["a49", "b49"]
    assert listener.seqs == [1, 2, 3]


def test_a_busy_key_does_not_starve(hub: EventHub, clock: FakeClock, listener: Listener) -> None:
    hub.subscribe(["jobs"], listener)
    clock.advance(0)
    for step in range(300):
        hub.publish("jobs", ("busy", step), key="busy")
        hub.publish("jobs", ("other", step % 20), key=f"other{step % 20}")
        clock.advance(0.01)
    assert any(data[0] == "busy" for data in listener.data[1:])


def test_a_terminal_change_is_kept_though_the_same_key_changes_again(
    hub: EventHub, clock: FakeClock, listener: Listener
) -> None:
    hub.subscribe(["jobs"], listener)
    clock.advance(0)
    hub.publish("jobs", "running", key="a")
    hub.publish("jobs", "failed", key="a", terminal=True)
    hub.publish("jobs", "queued again", key="a")
    hub.publish("jobs", "running again", key="a")
    hub.publish("jobs", "done", key="a", terminal=True)
    clock.advance(1)
    assert listener.data[1:] == ["failed", "done"]


def test_a_terminal_change_does_not_overtake(hub: EventHub, clock: FakeClock, listener: Listener) -> None:
    hub.subscribe(["jobs"], listener)
    clock.advance(0)
    hub.publish("jobs", "a runs", key="a")
    hub.publish("jobs", "b runs", key="b")
    hub.publish("jobs", "a done", key="a", terminal=True)
    clock.advance(1)
    assert listener.data[1:] == ["b runs", "a done"]


def test_a_full_sink_loses_events_sees_the_gap_and_gets_a_snapshot(
    hub: EventHub, clock: FakeClock, listener: Listener
) -> None:
    hub.subscribe(["jobs"], listener)
    clock.advance(0)
    listener.full = True
    for number in range(5):
        hub.publish("jobs", number)
    clock.advance(0.1)
    hub.publish("jobs", "while it was full", terminal=True)
    clock.advance(5)
    assert listener.seqs == [1]
    listener.full = False
    clock.advance(1)
    assert listener.got[1]["kind"] == "snapshot"
    assert listener.got[1]["seq"] > 6
    hub.publish("jobs", "later")
    clock.advance(1)
    assert listener.got[2]["seq"] == listener.got[1]["seq"] + 1


def test_a_blocked_sink_is_asked_once_a_second_and_costs_no_memory(hub: EventHub, clock: FakeClock) -> None:
    asked: list[Any] = []

    def refuses(event: dict[str, Any]) -> bool:
        asked.append(event)
        return False

    hub.subscribe(["jobs"], refuses)
    for _ in range(1000):
        hub.publish("jobs", "x")
        clock.advance(0.01)
    assert len(asked) == 10
    assert {event["kind"] for event in asked} == {"snapshot"}


def test_too_many_waiting_changes_become_a_snapshot(hub: EventHub, clock: FakeClock, listener: Listener) -> None:
    hub.subscribe(["jobs"], listener)
    clock.advance(0)
    for number in range(MAX_WAITING + 1):
        hub.publish("jobs", number)
    clock.advance(0.1)
    assert [(event["kind"], event["seq"]) for event in listener.got] == [("snapshot", 1), ("snapshot", MAX_WAITING + 3)]


def test_subscribers_are_numbered_apart(hub: EventHub, clock: FakeClock) -> None:
    early, late = Listener(clock), Listener(clock)
    hub.subscribe(["jobs"], early)
    clock.advance(1)
    hub.publish("jobs", "one")
    hub.subscribe(["jobs"], late)
    clock.advance(1)
    hub.publish("jobs", "two")
    assert (early.seqs, late.seqs) == ([1, 2, 3], [1, 2])


def test_nothing_comes_after_close(hub: EventHub, clock: FakeClock, listener: Listener) -> None:
    subscription = hub.subscribe(["jobs"], listener)
    clock.advance(0)
    hub.publish("jobs", "waits")
    subscription.close()
    subscription.close()
    hub.publish("jobs", "later")
    clock.advance(5)
    assert listener.data == ["all jobs"]


def test_a_sink_may_close_its_subscription(hub: EventHub, clock: FakeClock) -> None:
    calls: list[Any] = []
    subscription: Subscription

    def sink(event: dict[str, Any]) -> bool:
        calls.append(event)
        if len(calls) == 2:
            subscription.close()
        return True

    subscription = hub.subscribe(["jobs"], sink)
    clock.advance(0)
    hub.publish("jobs", 1)
    hub.publish("jobs", 2)
    clock.advance(5)
    assert len(calls) == 2


def test_unknown_topics_are_refused(hub: EventHub, listener: Listener) -> None:
    assert hub.topics == {"jobs", "lanes"}
    with pytest.raises(KeyError, match="models"):
        hub.subscribe(["jobs", "models"], listener)
    with pytest.raises(KeyError, match="models"):
        hub.publish("models", 1)
