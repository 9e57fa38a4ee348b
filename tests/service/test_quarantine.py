"""Faults of a worker and the quarantine that follows: every transition of the table."""

from __future__ import annotations

from fixtures.clocks import FakeClock
from synapse_service.lanes.quarantine import COOL_DOWN_S, CoolDown, Quarantine


def test_two_consecutive_faults_quarantine_and_the_second_says_so() -> None:
    lane = Quarantine()
    assert lane.fault("crash") is False
    assert not lane.active
    assert lane.fault("hang") is True
    assert lane.active
    assert lane.reason == "hang"


def test_served_work_between_two_faults_clears_the_first() -> None:
    lane = Quarantine()
    lane.fault("crash")
    lane.served()
    assert lane.fault("crash") is False
    assert not lane.active


def test_served_work_does_not_lift_a_quarantine() -> None:
    lane = Quarantine()
    lane.fault("crash")
    lane.fault("crash")
    lane.served()
    assert lane.active


def test_a_fault_in_quarantine_is_not_a_second_quarantine() -> None:
    lane = Quarantine("crash")
    assert lane.active
    assert lane.fault("crash") is False


def test_release_gives_two_fresh_chances() -> None:
    lane = Quarantine("crash")
    lane.release()
    assert not lane.active
    assert lane.fault("crash") is False
    assert lane.fault("crash") is True


def test_a_lane_that_needs_a_probe_is_not_released_by_time_or_by_an_unload() -> None:
    lane = Quarantine("crash")
    assert lane.retry_after_ms is None
    assert lane.unloaded() is False
    assert lane.active


def cooling(clock: FakeClock) -> CoolDown:
    lane = CoolDown(clock)
    assert lane.fault("crash") is False
    assert lane.fault("hang") is True
    return lane


def test_a_cool_down_ends_by_itself_after_ten_minutes_and_the_faults_are_forgotten() -> None:
    clock = FakeClock()
    lane = cooling(clock)
    assert (lane.reason, lane.retry_after_ms) == ("hang", 600_000)
    clock.advance(COOL_DOWN_S - 0.0004)
    assert lane.active
    assert lane.retry_after_ms == 1
    clock.advance(0.0004)
    assert not lane.active
    assert (lane.strikes, lane.reason) == (0, None)


def test_a_fault_after_a_cool_down_is_the_first_one_though_nobody_looked_meanwhile() -> None:
    clock = FakeClock()
    lane = cooling(clock)
    clock.advance(COOL_DOWN_S)
    assert lane.fault("crash") is False
    assert lane.strikes == 1
    assert lane.fault("crash") is True
    assert lane.retry_after_ms == 600_000


def test_faults_during_a_cool_down_do_not_prolong_it() -> None:
    clock = FakeClock()
    lane = cooling(clock)
    clock.advance(100)
    assert lane.fault("crash") is False
    assert lane.retry_after_ms == 500_000


def test_an_unload_ends_a_cool_down_and_clears_no_single_fault() -> None:
    lane = cooling(FakeClock())
    assert lane.unloaded() is True
    assert (lane.active, lane.strikes) == (False, 0)
    lane.fault("crash")
    assert lane.unloaded() is False
    assert lane.strikes == 1
