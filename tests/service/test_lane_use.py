"""What a lane remembers of those who used it."""

from __future__ import annotations

import asyncio

import pytest

from fixtures.clocks import FakeClock
from synapse_service.lanes.use import LATENCIES, USERS, LaneUse
from synapse_wire.errors import SynapseError


def answered(use: LaneUse, clock: FakeClock, seconds: float, client: str | None = None) -> None:
    received = clock.monotonic()
    with use.request(received, client):
        clock.advance(seconds)


def test_a_lane_that_nobody_asked_knows_nothing() -> None:
    use = LaneUse(FakeClock())
    assert (use.done, use.refused, use.last_used_ms, use.users) == (0, 0, None, [])
    assert (use.latency_ms(50), use.latency_ms(95)) == (None, None)


def test_percentiles_are_those_of_the_nearest_rank() -> None:
    clock = FakeClock(monotonic=0.0)
    use = LaneUse(clock)
    for milliseconds in range(100, 0, -1):
        answered(use, clock, milliseconds / 1000)
    assert use.latency_ms(50) == pytest.approx(50.0)
    assert use.latency_ms(95) == pytest.approx(95.0)
    assert use.done == 100


def test_only_the_latest_requests_count() -> None:
    clock = FakeClock(monotonic=0.0)
    use = LaneUse(clock)
    answered(use, clock, 1000.0)
    for _ in range(LATENCIES):
        answered(use, clock, 0.002)
    assert use.latency_ms(95) == pytest.approx(2.0)
    assert use.latency_ms(100) == pytest.approx(2.0)


def test_a_typed_error_is_a_refusal_and_a_caller_who_left_is_neither() -> None:
    use = LaneUse(FakeClock())
    with pytest.raises(SynapseError), use.request(0.0, None):
        raise SynapseError("queue_full", "full")
    with pytest.raises(asyncio.CancelledError), use.request(0.0, None):
        raise asyncio.CancelledError
    assert (use.done, use.refused, use.latency_ms(50)) == (0, 1, None)


def test_a_request_that_became_a_job_is_counted_without_its_time() -> None:
    use = LaneUse(FakeClock())
    with use.request(0.0, None) as request:
        request.became_job()
    assert (use.done, use.latency_ms(50)) == (1, None)


def test_the_latest_users_come_first_and_the_oldest_are_forgotten() -> None:
    clock = FakeClock()
    use = LaneUse(clock)
    for number in range(USERS + 2):
        answered(use, clock, 0.0, f"app-{number}")
    answered(use, clock, 0.0, "app-5")
    answered(use, clock, 0.0)
    assert use.users[:2] == ["app-5", f"app-{USERS + 1}"]
    assert len(use.users) == USERS
    assert "app-1" not in use.users
    use.forget_users()
    assert use.users == []


def test_whoever_listens_hears_of_every_change() -> None:
    clock = FakeClock()
    use = LaneUse(clock)
    heard: list[tuple[int, int, int | None]] = []
    use.on_change = lambda: heard.append((use.done, use.refused, use.last_used_ms))
    answered(use, clock, 0.0)
    use.refuse()
    use.worked()
    assert heard == [(1, 0, None), (1, 1, None), (1, 1, clock.wall_ms())]
