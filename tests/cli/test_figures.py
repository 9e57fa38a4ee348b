"""How figures read, and how the rate of a piece of work is measured."""

from __future__ import annotations

import pytest

from fixtures.bulk import Pauses
from synapse_cli import figures


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (0, "0 s"),
        (250, "250 ms"),
        (0.4, "0 s"),
        (999.6, "999 ms"),
        (1000, "1 s"),
        (59_999, "59 s"),
        (65_000, "1 min 5 s"),
        (3_600_000, "1 h 0 min"),
        (90_061_000, "1 d 1 h"),
    ],
)
def test_a_duration_has_its_two_largest_units(milliseconds: float, text: str) -> None:
    assert figures.duration(milliseconds) == text


def test_rates_and_counts() -> None:
    assert [figures.rate(value) for value in (0.1234, 9.87, 10.4, 1234.5)] == ["0.123/s", "9.87/s", "10/s", "1,234/s"]
    assert figures.count(1234567) == "1,234,567"
    assert [figures.share(done, 300) for done in (0, 1, 299, 300)] == ["0%", "0%", "99%", "100%"]
    assert figures.share(0, 0) == "0%"
    assert figures.progress(1200, 3000, "texts", (512.0, 3.5)) == "1,200 of 3,000 texts, 512/s, 3 s left"
    assert figures.progress(3, 7) == "3 of 7"


def test_a_rate_is_that_of_the_latest_seconds() -> None:
    time = Pauses()
    pace = figures.Pace(time.clock)
    assert pace.ahead(100) is None
    pace.note(0)
    assert pace.ahead(5000) is None
    time(0.5)
    pace.note(1000)  # What a resumed job had done before comes at once.
    assert pace.ahead(5000) == (2000.0, 2.0)
    for done in range(1050, 1850, 50):
        time(5)
        pace.note(done)
    assert pace.ahead(5000) == (10.0, 320.0)


def test_a_look_at_which_nothing_is_new_says_nothing_about_the_rate() -> None:
    time = Pauses()
    pace = figures.Pace(time.clock)
    pace.note(0)
    time(2)
    pace.note(200)
    for _ in range(5):
        time(1)
        pace.note(200)
    assert pace.ahead(400) == (100.0, 2.0)


def test_at_the_end_nothing_is_left() -> None:
    time = Pauses()
    pace = figures.Pace(time.clock)
    pace.note(0)
    time(1)
    pace.note(10)
    assert pace.ahead(10) is None
