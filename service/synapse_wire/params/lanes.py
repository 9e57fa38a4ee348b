"""Parameters of the operations on lanes, and of pausing: one kind of hardware, or everything."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from synapse_wire.params.base import Label, Name, Params


def _require_words(reason: str) -> None:
    if not reason.strip():
        raise ValueError("a reason for others to read is missing - at `$.reason`")


class LaneRef(Params, frozen=True, kw_only=True):
    """An operation about one lane."""

    lane_id: Name


class LanesKeepWarm(Params, frozen=True, kw_only=True):
    """``lanes.keep_warm``: whether a lane stays loaded when nobody uses it."""

    lane_id: Name
    on: bool


class LanesPause(Params, frozen=True, kw_only=True):
    """``lanes.pause``: give the hardware up for a while, two hours at most."""

    scope: Literal["neural_engine"]
    duration_ms: Annotated[int, Meta(ge=1, le=7_200_000)]
    reason: Label

    def __post_init__(self) -> None:
        _require_words(self.reason)


class ServicePause(Params, frozen=True, kw_only=True):
    """``service.pause``: give all local lanes up, for a week at most or until somebody says otherwise."""

    duration_ms: Annotated[int, Meta(ge=1, le=604_800_000)] | None = None
    until_resumed: bool | None = None
    reason: Label

    def __post_init__(self) -> None:
        _require_words(self.reason)
        if (self.duration_ms is None) == (not self.until_resumed):
            raise ValueError("give exactly one of `duration_ms` and `until_resumed: true` - at `$.duration_ms`")
