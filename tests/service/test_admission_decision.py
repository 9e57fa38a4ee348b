"""The one decision about a new request: both bounds, and what a refusal says."""

from __future__ import annotations

import pytest

from synapse_service.admission.decision import admit
from synapse_wire.errors import SynapseError


def refusal(start_delay_s: float, *, max_queue_ms: int, remaining_s: float) -> SynapseError:
    with pytest.raises(SynapseError) as caught:
        admit("lane", start_delay_s, max_queue_ms=max_queue_ms, remaining_s=remaining_s)
    return caught.value


@pytest.mark.parametrize(
    ("start_delay_s", "max_queue_ms", "remaining_s"),
    [
        (0.0, 0, 0.001),
        (0.0004, 0, 1.0),  # Less than half a millisecond is no wait.
        (0.25, 250, 1.0),
        (1.0, 5000, 1.0),
        (1e6, 2**53, 1e7),
    ],
)
def test_a_wait_within_both_bounds_passes(start_delay_s: float, max_queue_ms: int, remaining_s: float) -> None:
    admit("lane", start_delay_s, max_queue_ms=max_queue_ms, remaining_s=remaining_s)


@pytest.mark.parametrize(
    ("start_delay_s", "max_queue_ms", "estimated_ms"), [(0.001, 0, 1), (0.2506, 250, 251), (9.0, 5000, 9000)]
)
def test_a_longer_wait_than_is_allowed_is_queue_full_with_both_numbers(
    start_delay_s: float, max_queue_ms: int, estimated_ms: int
) -> None:
    error = refusal(start_delay_s, max_queue_ms=max_queue_ms, remaining_s=100.0)
    assert error.code == "queue_full"
    assert error.details == {"max_queue_ms": max_queue_ms, "estimated_ms": estimated_ms}
    assert (error.class_, error.retry_after_ms, error.safe_to_retry_same_request) == ("transient", 250, True)


@pytest.mark.parametrize(("start_delay_s", "remaining_s"), [(0.0, 0.0), (0.0, -1.0), (0.5, 0.499), (9.0, -1.0)])
def test_a_start_after_the_deadline_is_deadline_exceeded(start_delay_s: float, remaining_s: float) -> None:
    error = refusal(start_delay_s, max_queue_ms=10_000, remaining_s=remaining_s)
    assert (error.code, error.details) == ("deadline_exceeded", None)
    assert (error.class_, error.safe_to_retry_same_request) == ("transient", False)


def test_of_both_reasons_the_one_that_can_be_repeated_is_given_while_there_is_time() -> None:
    assert refusal(2.0, max_queue_ms=1000, remaining_s=1.0).code == "queue_full"
    assert refusal(2.0, max_queue_ms=1000, remaining_s=0.0).code == "deadline_exceeded"
