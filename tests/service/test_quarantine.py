"""Faults of a worker and the quarantine that follows: every transition of the table."""

from __future__ import annotations

from synapse_service.lanes.quarantine import Quarantine


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
