"""Every lane of the service: those of the catalog, and those that users registered.

Registrations live in the database and come back at boot without touching their files. Hiding a class of lanes
deletes nothing; the lanes are simply not there until the setting is on again. A lane that is replaced goes on serving
the requests and jobs that hold it, and is closed when the last of them has ended. The ids of the two kinds never meet,
because the catalog reserves its own; a fingerprint that both have means the catalog's lane.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable
from typing import Protocol

from synapse_service.admission.leases import LeaseBook
from synapse_service.engine_builds import ENGINE_BUILDS
from synapse_service.lanes.catalog_lanes import CatalogLanes
from synapse_service.lanes.fingerprint import FINGERPRINT_PREFIX
from synapse_service.lanes.lane import Lane
from synapse_service.lanes.registration import Registration
from synapse_service.logs import get_logger
from synapse_service.store.errors import StoreError
from synapse_wire.errors import SynapseError

_log = get_logger(__name__)


class LaneRecords(Protocol):
    """Where registrations are kept."""

    async def save(
        self, registration: Registration, fingerprint: str, load_ms: float | None, quarantined: str | None
    ) -> None: ...

    async def set_quarantine(self, registration: Registration, reason: str | None) -> None: ...


LaneFactory = Callable[[Registration, str | None], Lane]
"""Makes a lane from a registration and the reason of a quarantine that outlived a restart."""


class LaneRegistry:
    """All lanes by id. ``catalog`` has those of the catalog."""

    def __init__(
        self,
        records: LaneRecords,
        make_lane: LaneFactory,
        *,
        catalog: CatalogLanes,
        leases: LeaseBook,
        cpu_lanes: Callable[[], bool],
    ) -> None:
        self.catalog = catalog
        self._records = records
        self._make_lane = make_lane
        self._leases = leases
        self._cpu_lanes = cpu_lanes
        self._lanes: dict[str, Lane] = {}
        self._registrations: dict[str, Registration] = {}
        self._retiring: dict[Lane, asyncio.Task[None]] = {}

    def restore(self, saved: Iterable[tuple[Registration, str | None, float | None]]) -> list[str]:
        """Bring back what an earlier process registered: (registration, quarantine reason, last load time).

        Returns the ids of those that this release would refuse, which are not brought back: the id belongs to the
        catalog, or the engine isn't ours. Their rows are left in the database.
        """
        refused = []
        for registration, quarantined, load_ms in saved:
            reserved = registration.model_id in self.catalog.reserved_ids
            if reserved or registration.manifest.engine not in ENGINE_BUILDS:
                reason = "reserved_id" if reserved else "engine"
                _log.warning("registration_not_served", model_id=registration.model_id, reason=reason)
                refused.append(registration.model_id)
                continue
            lane = self._make_lane(registration, quarantined)
            lane.load_ms = load_ms
            self._lanes[lane.lane_id] = lane
            self._registrations[lane.lane_id] = registration
        return refused

    def visible(self) -> list[Lane]:
        """The lanes that exist for clients, by id."""
        free_form = [lane for lane in self._lanes.values() if self._free_form_shown(lane)]
        return sorted([*free_form, *self.catalog.known()], key=lambda lane: lane.lane_id)

    def every(self) -> list[Lane]:
        """All lanes, those that don't exist for clients too."""
        return [*self._lanes.values(), *self.catalog.every()]

    def retiring(self) -> list[Lane]:
        """Lanes that have been replaced and still serve those who hold them."""
        return list(self._retiring)

    def find(self, model_id: str) -> Lane | None:
        """A lane that exists for clients, by its id."""
        return self._find_free_form(model_id) or self.catalog.find(model_id)

    def registration(self, model_id: str) -> Registration | None:
        """The registration behind a free-form lane, hidden or not."""
        return self._registrations.get(model_id)

    def hides(self, model_id: str) -> bool:
        """True for the id of a lane that doesn't exist for clients while a setting is off."""
        registered = model_id in self._lanes and self._find_free_form(model_id) is None
        return registered or self.catalog.hides(model_id)

    def shown(self, lane: Lane) -> bool:
        """True for a lane that exists for clients."""
        if lane.model.catalog_id is None:
            return self._free_form_shown(lane)
        return self.catalog.find(lane.lane_id) is lane

    def _find_free_form(self, model_id: str) -> Lane | None:
        lane = self._lanes.get(model_id)
        return lane if lane is not None and self._free_form_shown(lane) else None

    def _free_form_shown(self, lane: Lane) -> bool:
        return lane.model.engine != "owned-cpu" or self._cpu_lanes()

    def get(self, model_id: str) -> Lane:
        """A lane by its id, or the one that a catalog id stands for.

        Raises ``unknown_model``, and of the catalog ``backend_unavailable`` and ``model_not_installed``.
        """
        name = None if model_id.startswith(FINGERPRINT_PREFIX) else self.catalog.named(model_id)
        return self.free_form(model_id) if name is None else self.catalog.chosen(name)

    def free_form(self, model_id: str) -> Lane:
        """The lane of a model that a user registered; raises ``unknown_model`` for every other id."""
        lane = self._find_free_form(model_id)
        if lane is not None:
            return lane
        message = (
            f"{model_id!r} is a CPU lane, and the setting cpu_lanes is off"
            if self.hides(model_id)
            else f"no model {model_id!r} is known; see models.list and models.catalog, or use model.load"
        )
        raise SynapseError("unknown_model", message, details={"model_id": model_id})

    def serving(self, model: str) -> Lane:
        """The lane of a request that names nothing of the catalog: by model id, or by its fingerprint.

        Raises ``unknown_model``, and ``substitution_rejected`` for a fingerprint that no lane has.
        """
        if not model.startswith(FINGERPRINT_PREFIX):
            return self.free_form(model)
        lane = self.with_fingerprint(model)
        if lane is not None:
            return lane
        raise SynapseError(
            "substitution_rejected",
            "no lane has this fingerprint, and nothing is served in its place",
            details={"required_fingerprint": model},
        )

    def with_fingerprint(self, fingerprint: str) -> Lane | None:
        """The lane of a user's model that exists for clients and has this fingerprint."""
        shown = (lane for lane in self._lanes.values() if self._free_form_shown(lane))
        return next((lane for lane in shown if lane.fingerprint == fingerprint), None)

    async def register(self, registration: Registration, fresh: Lane) -> Lane:
        """Make a lane known for good; ``fresh`` is the loaded lane that proved the registration.

        Raises StoreError, and then nothing has changed.
        """
        old = self._lanes.get(registration.model_id)
        if old is not None and old.fingerprint == fresh.fingerprint:
            # Only a probe lifts a quarantine, and this one computes the same numbers in the same way.
            fresh.quarantine = old.quarantine
        await self._records.save(registration, fresh.fingerprint, fresh.load_ms, fresh.quarantine.reason)
        self._lanes[registration.model_id] = fresh
        self._registrations[registration.model_id] = registration
        if old is not None:
            self._retiring[old] = asyncio.create_task(self._retire(old), name=f"retire {old.lane_id}")
        fresh.announce()
        return fresh

    async def _retire(self, lane: Lane) -> None:
        await self._leases.drained(lane.lane_id)
        with contextlib.suppress(SynapseError):  # That its worker can't be ended is in the log.
            await lane.close()
        del self._retiring[lane]

    def new_lane(self, registration: Registration) -> Lane:
        """A lane that nobody knows yet."""
        return self._make_lane(registration, None)

    async def keep_quarantine(self, lane: Lane) -> None:
        """Write down whether a lane is quarantined, so that a restart does not lift it; it holds even if that fails."""
        if self._lanes.get(lane.lane_id) is not lane:
            return  # Replaced meanwhile: the faults were not those of its successor.
        registration = self._registrations[lane.lane_id]
        try:
            await self._records.set_quarantine(registration, lane.quarantine.reason)
        except StoreError as error:
            _log.warning("quarantine_not_kept", lane_id=lane.lane_id, reason=error.reason)

    async def close(self) -> None:
        """End every worker, also of lanes that are being replaced."""
        lanes = [*self.every(), *self._retiring]
        for task in self._retiring.values():
            task.cancel()
        await asyncio.gather(*(lane.close() for lane in lanes), return_exceptions=True)
