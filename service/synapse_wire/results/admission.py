"""The result of ``admission.status``."""

from __future__ import annotations

from synapse_wire.results.base import Result


class QueueDepths(Result, frozen=True, kw_only=True):
    interactive: int
    bulk: int


class LaneAdmission(Result, frozen=True, kw_only=True):
    """How a loaded lane is keeping up; times in milliseconds."""

    lane_id: str
    meeting_deadlines: bool
    start_delay_ms: float
    waiters: int
    in_flight: int


class AdmissionStatus(Result, frozen=True, kw_only=True):
    """A snapshot; ``jobs_open`` is minted plus inherited minus completed minus failed, never below zero."""

    queues: QueueDepths
    knob: str
    jobs_minted: int
    jobs_completed: int
    jobs_failed: int
    jobs_inherited: int
    jobs_open: int
    catalog_lanes: int
    certified_lanes: int
    certification_stale: int
    performance_stale: int
    lanes: list[LaneAdmission]
