"""The measured speed of a lane, and the waits that are predicted from it."""

from __future__ import annotations

import pytest

from synapse_service.admission.pace import Pace


def test_nothing_is_predicted_before_the_first_measurement() -> None:
    pace = Pace()
    assert not pace.known
    assert pace.seconds(1_000_000) == 0.0
    assert pace.tokens_within(0.25, 3072) == 3072


def test_one_measurement_is_the_prediction() -> None:
    pace = Pace()
    pace.record(100, 0.5)
    assert pace.known
    assert pace.seconds(300) == pytest.approx(1.5)
    # Fifty would take all of it, and so every other time a little more.
    assert pace.tokens_within(0.25, 3072) == 40


def test_calls_count_by_their_tokens() -> None:
    pace = Pace()
    for _ in range(20):
        pace.record(10, 0.01)  # a millisecond a token
    pace.record(1800, 0.2)
    assert pace.seconds(1000) == pytest.approx(1000 * 0.4 / 2000)


def test_short_calls_do_not_inflate_the_wait_for_a_batch() -> None:
    pace = Pace()
    pace.record(30_000, 3.0)  # 0.1 ms a token
    for _ in range(100):
        pace.record(12, 0.012)  # 1 ms a token
    assert pace.seconds(8192) < 1.2


def test_an_old_speed_is_forgotten() -> None:
    pace = Pace()
    pace.record(65_536, 65.536)
    for _ in range(40):
        pace.record(16_384, 1.6384)
    assert pace.seconds(1000) == pytest.approx(0.1, rel=0.01)


def test_a_call_that_took_no_measurable_time_predicts_no_wait() -> None:
    pace = Pace()
    pace.record(10, 0.0)
    assert pace.seconds(1000) == 0.0
    assert pace.tokens_within(0.25, 3072) == 3072
