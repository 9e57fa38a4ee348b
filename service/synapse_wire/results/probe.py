"""Results of the probe operations."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType

from synapse_wire.results.base import Result
from synapse_wire.results.models import SelfCheckState


class ProbeLane(Result, frozen=True, kw_only=True):
    """One lane's certification and measured performance."""

    model_id: str
    task: str
    engine: str
    device_class: str
    dtype: str
    max_tokens: int
    fingerprint: str
    certification_required: bool
    certification_status: str
    serving_admission: str | None
    serving_admission_reason: str | None
    blocking_reason: str | UnsetType = UNSET
    certification: dict[str, Any] | UnsetType = UNSET
    performance: dict[str, Any] | UnsetType = UNSET
    self_check: SelfCheckState | UnsetType = UNSET


class KnobLanes(Result, frozen=True, kw_only=True):
    """The lane that one position of the knob assigns to each task; None where none is measured."""

    embed: str | None
    rerank: str | None


class KnobPositions(Result, frozen=True, kw_only=True):
    performance: KnobLanes
    balanced: KnobLanes
    quiet: KnobLanes


class ProbeReport(Result, frozen=True, kw_only=True):
    module_generation: int
    machine: dict[str, Any]
    lanes: list[ProbeLane]
    knob: str
    knobs: KnobPositions
