"""The one decision about a new inline request: it is accepted now, or refused now, and never later for this reason.

What is compared is the predicted wait for the work that is already accepted. A request's own computing time is left
out on purpose: a lane that refused by a pessimistic guess about it would never get to measure a better one.
"""

from __future__ import annotations

from synapse_wire.errors import SynapseError


def admit(lane_id: str, start_delay_s: float, *, max_queue_ms: int, remaining_s: float) -> None:
    """Let a request pass whose wait fits both its bounds.

    Raises ``queue_full`` when it would wait longer than it allows, and ``deadline_exceeded`` when its deadline has
    passed or would pass before it starts.
    """
    if remaining_s <= 0:
        raise too_late(lane_id)
    estimated_ms = round(start_delay_s * 1000)
    if estimated_ms > max_queue_ms:
        raise SynapseError(
            "queue_full",
            f"the work would wait about {estimated_ms} ms, more than the {max_queue_ms} ms that are allowed",
            details={"max_queue_ms": max_queue_ms, "estimated_ms": estimated_ms},
        )
    if start_delay_s > remaining_s:
        raise too_late(lane_id)


def too_late(lane_id: str) -> SynapseError:
    """A deadline that has passed, or will have before the work starts."""
    return SynapseError("deadline_exceeded", f"the deadline passes before {lane_id} can answer")
