"""The clocks: what the service reads, and what tests move in its place."""

from __future__ import annotations

import time

from fixtures.clocks import FakeClock
from synapse_service.clock import Clock, SystemClock


def test_the_system_clock_gives_seconds_and_whole_milliseconds() -> None:
    clock: Clock = SystemClock()
    before, wall_before = time.monotonic(), int(time.time() * 1000)
    monotonic, wall = clock.monotonic(), clock.wall_ms()
    assert before <= monotonic <= time.monotonic()
    assert wall_before - 1 <= wall <= int(time.time() * 1000) + 1
    assert isinstance(wall, int)


def test_a_jump_of_the_wall_clock_moves_nothing_else() -> None:
    fake = FakeClock(monotonic=5.0, wall_ms=1000)
    clock: Clock = fake
    fake.jump_wall(-400)
    assert (clock.monotonic(), clock.wall_ms()) == (5.0, 600)
    fake.advance(1.5)
    assert (clock.monotonic(), clock.wall_ms()) == (6.5, 2100)


def test_timers_fire_in_order_at_their_moment_unless_cancelled() -> None:
    clock = FakeClock(monotonic=0.0)
    fired: list[tuple[str, float]] = []

    def note(name: str) -> None:
        fired.append((name, clock.monotonic()))
        if name == "first":
            clock.call_later(1, note, "from a timer")

    clock.call_later(2, note, "second")
    clock.call_later(1, note, "first")
    clock.call_later(1, note, "cancelled").cancel()
    clock.call_later(10, note, "too late")
    clock.advance(5)
    assert fired == [("first", 1.0), ("second", 2.0), ("from a timer", 2.0)]
    assert clock.monotonic() == 5.0
