"""A lane as a row of ``lanes.list`` and of the topic ``lanes``: what it is doing, for people to look at."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import TypeVar

from msgspec import UNSET, UnsetType

from synapse_service.admission.leases import LeaseBook
from synapse_service.clock import Clock
from synapse_service.lanes.lane import Lane
from synapse_wire.results import LaneRow, SelfCheckState

T = TypeVar("T")


class LaneRows:
    """Makes rows; one for the service.

    ``pins`` gives the owners of the pins on a model, ``keep_warm`` holds the ids of lanes that idleness doesn't unload,
    and ``idle_s`` is after how many idle seconds it unloads the others.
    """

    def __init__(
        self,
        *,
        leases: LeaseBook,
        clock: Clock,
        idle_s: Callable[[], float],
        keep_warm: Container[str],
        pins: Callable[[str], Sequence[str]],
    ) -> None:
        self._leases = leases
        self._clock = clock
        self._idle_s = idle_s
        self._keep_warm = keep_warm
        self._pins = pins

    def row(self, lane: Lane) -> LaneRow:
        """The lane as it is now."""
        quarantined = lane.quarantine.active
        remaining_ms = lane.quarantine.retry_after_ms if quarantined else None
        check = lane.self_check
        return LaneRow(
            lane_id=lane.lane_id,
            model_id=lane.lane_id,
            catalog_id=_or_unset(lane.model.catalog_id),
            task=lane.model.task,
            engine=lane.model.engine,
            fingerprint=lane.fingerprint,
            state="quarantined" if quarantined else lane.state,
            rss_bytes=_or_unset(lane.rss_bytes()),
            requests_done=lane.use.done,
            requests_refused=lane.use.refused,
            in_flight=lane.in_flight,
            waiting=lane.queue.depth("interactive") + lane.queue.depth("bulk"),
            p50_ms=_rounded(lane.use.latency_ms(50)),
            p95_ms=_rounded(lane.use.latency_ms(95)),
            last_used_ms=_or_unset(lane.use.last_used_ms),
            idle_unload_at_ms=_or_unset(self._idle_unload_at_ms(lane)),
            keep_warm=lane.lane_id in self._keep_warm,
            quarantine_reason=_or_unset(lane.quarantine.reason if quarantined else None),
            quarantine_until_ms=UNSET if remaining_ms is None else self._clock.wall_ms() + remaining_ms,
            self_check=SelfCheckState(state="not_applicable") if check is None else check.outcome,
            pause=_or_unset(lane.pause),
            pins=list(self._pins(lane.model.catalog_id or lane.lane_id)),
            users=lane.use.users,
        )

    def _idle_unload_at_ms(self, lane: Lane) -> int | None:
        """When idleness will unload the lane; None if it won't, as things are."""
        if lane.state != "ready" or lane.last_completed is None or lane.lane_id in self._keep_warm:
            return None
        if lane.busy or self._leases.holders(lane.lane_id):
            return None
        left_s = max(0.0, lane.last_completed + self._idle_s() - self._clock.monotonic())
        return self._clock.wall_ms() + round(left_s * 1000)


def _or_unset(value: T | None) -> T | UnsetType:
    return UNSET if value is None else value


def _rounded(ms: float | None) -> float | UnsetType:
    return UNSET if ms is None else round(ms, 3)
