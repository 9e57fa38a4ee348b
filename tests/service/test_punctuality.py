"""How a lane has lately kept up, over the requests that it remembers."""

from __future__ import annotations

import pytest

from synapse_service.admission.punctuality import Punctuality


def test_a_lane_that_has_served_nothing_is_punctual() -> None:
    punctuality = Punctuality()
    assert (punctuality.start_delay_ms, punctuality.meeting_deadlines) == (0.0, True)


def test_the_delay_is_the_mean_wait_in_milliseconds() -> None:
    punctuality = Punctuality()
    for waited_s in (0.0, 0.1, 0.2):
        punctuality.started(waited_s)
    assert punctuality.start_delay_ms == pytest.approx(100.0)


def test_one_missed_deadline_shows_until_64_later_requests_have_ended() -> None:
    punctuality = Punctuality()
    punctuality.ended(in_time=False)
    for _ in range(63):
        punctuality.ended(in_time=True)
    assert punctuality.meeting_deadlines is False
    punctuality.ended(in_time=True)
    assert punctuality.meeting_deadlines is True


def test_old_waits_are_forgotten() -> None:
    punctuality = Punctuality()
    punctuality.started(100.0)
    for _ in range(64):
        punctuality.started(0.5)
    assert punctuality.start_delay_ms == pytest.approx(500.0)
