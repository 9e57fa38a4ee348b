"""Every lane of the service: found by id or by fingerprint, hidden while its class is switched off, kept for ever.

Registrations live in the database and come back at boot without touching their files. Hiding a class of lanes
deletes nothing; the lanes are simply not there until the setting is on again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Protocol

from synapse_service.lanes.fingerprint import FINGERPRINT_PREFIX
from synapse_service.lanes.lane import Lane
from synapse_service.lanes.registration import Registration
from synapse_wire.errors import SynapseError


class LaneRecords(Protocol):
    """Where registrations are kept."""

    async def save(self, registration: Registration, fingerprint: str, load_ms: float | None) -> None: ...

    async def set_quarantine(self, model_id: str, reason: str | None) -> None: ...


LaneFactory = Callable[[Registration, str | None], Lane]
"""Makes a lane from a registration and the reason of a quarantine that outlived a restart."""


class LaneRegistry:
    """All lanes by id."""

    def __init__(self, records: LaneRecords, make_lane: LaneFactory, *, cpu_lanes: Callable[[], bool]) -> None:
        self._records = records
        self._make_lane = make_lane
        self._cpu_lanes = cpu_lanes
        self._lanes: dict[str, Lane] = {}

    def restore(self, saved: Iterable[tuple[Registration, str | None, float | None]]) -> None:
        """Bring back what an earlier process registered: (registration, quarantine reason, last load time)."""
        for registration, quarantined, load_ms in saved:
            lane = self._make_lane(registration, quarantined)
            lane.load_ms = load_ms
            self._lanes[lane.lane_id] = lane

    def visible(self) -> list[Lane]:
        """The lanes that exist for clients, by id."""
        return sorted((lane for lane in self._lanes.values() if self._shown(lane)), key=lambda lane: lane.lane_id)

    def every(self) -> list[Lane]:
        """All lanes, hidden ones too."""
        return list(self._lanes.values())

    def find(self, model_id: str) -> Lane | None:
        """A lane that exists for clients."""
        lane = self._lanes.get(model_id)
        return lane if lane is not None and self._shown(lane) else None

    def get(self, model_id: str) -> Lane:
        """A lane by model id; raises ``unknown_model``."""
        lane = self.find(model_id)
        if lane is None:
            hidden = model_id in self._lanes
            hint = (
                "it is a CPU lane and the setting cpu_lanes is off" if hidden else "see models.list, or use model.load"
            )
            raise SynapseError(
                "unknown_model", f"no model {model_id!r} is registered; {hint}", details={"model_id": model_id}
            )
        return lane

    def serving(self, model: str) -> Lane:
        """The lane that a request names: by model id, or pinned by its fingerprint."""
        if not model.startswith(FINGERPRINT_PREFIX):
            return self.get(model)
        for lane in self._lanes.values():
            if lane.fingerprint == model and self._shown(lane):
                return lane
        raise SynapseError(
            "substitution_rejected",
            "no lane has this fingerprint, and nothing is served in its place",
            details={"required_fingerprint": model},
        )

    async def register(self, registration: Registration, fresh: Lane) -> Lane:
        """Make a lane known for good; ``fresh`` is the loaded lane that proved the registration."""
        old = self._lanes.get(registration.model_id)
        await self._records.save(registration, fresh.fingerprint, fresh.load_ms)
        self._lanes[registration.model_id] = fresh
        if old is not None and old is not fresh:
            await old.close()
        return fresh

    def new_lane(self, registration: Registration) -> Lane:
        """A lane that nobody knows yet."""
        return self._make_lane(registration, None)

    async def keep_quarantine(self, lane: Lane) -> None:
        """Write a lane's quarantine down, so that a restart does not lift it."""
        await self._records.set_quarantine(lane.lane_id, lane.quarantine.reason)

    async def hide_cpu_lanes(self) -> None:
        """Unload the lanes that a setting has just hidden; their registrations stay."""
        hidden = [lane for lane in self._lanes.values() if not self._shown(lane)]
        await asyncio.gather(*(lane.unload() for lane in hidden))

    async def close(self) -> None:
        """End every worker."""
        await asyncio.gather(*(lane.close() for lane in self._lanes.values()))

    def _shown(self, lane: Lane) -> bool:
        return lane.registration.manifest.engine != "owned-cpu" or self._cpu_lanes()
