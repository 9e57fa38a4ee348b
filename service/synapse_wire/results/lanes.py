"""Results of the operations on lanes, and how a pause stands."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from synapse_wire.results.base import Result
from synapse_wire.results.models import SelfCheckState


class DrainError(Result, frozen=True, kw_only=True):
    """What keeps hardware from being free; ``lane_id`` is null where no lane does, but the global lock."""

    lane_id: str | None
    stage: str
    code: str
    message: str


class PauseStatus(Result, frozen=True, kw_only=True):
    """How a pause stands. Without one the phase is ``running``, and there is no lane and no reason."""

    phase: str
    hardware_free: bool
    lane_ids: list[str]
    paused_until_ms: int | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    drain_error: DrainError | UnsetType = UNSET


class Pause(Result, frozen=True, kw_only=True):
    """The pause that a lane or the service is in; one without ``paused_until_ms`` lasts until it is ended."""

    phase: str
    reason: str
    paused_until_ms: int | UnsetType = UNSET


class LaneRow(Result, frozen=True, kw_only=True):
    """One lane for people to look at; times of day in milliseconds since 1970, counts since the service started."""

    lane_id: str
    model_id: str
    catalog_id: str | UnsetType = UNSET
    task: str
    engine: str
    fingerprint: str
    state: str
    rss_bytes: int | UnsetType = UNSET
    requests_done: int
    requests_refused: int
    in_flight: int
    waiting: int
    p50_ms: float | UnsetType = UNSET
    p95_ms: float | UnsetType = UNSET
    last_used_ms: int | UnsetType = UNSET
    idle_unload_at_ms: int | UnsetType = UNSET
    keep_warm: bool
    quarantine_reason: str | UnsetType = UNSET
    quarantine_until_ms: int | UnsetType = UNSET
    self_check: SelfCheckState
    pause: Pause | UnsetType = UNSET
    pins: list[str]
    users: list[str]


class LanesList(Result, frozen=True, kw_only=True):
    module_generation: int
    lanes: list[LaneRow]
