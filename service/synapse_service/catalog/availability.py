"""Which lanes of the catalog exist and run on this machine, and why the others don't.

A catalog id selects its first lane that can run, in the catalog's order; nothing is ever put in the place of a lane
that was selected or named. CPU lanes exist only while the setting ``cpu_lanes`` is on. Every operation that takes a
catalog id asks here before it does any I/O.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from synapse_engines.devices import Device, DeviceEvidence, Reason
from synapse_service.catalog.compiled import Catalog, CatalogEntry, CatalogLane, PinnedFile
from synapse_wire.errors import SynapseError


@dataclass(frozen=True, slots=True)
class LaneStatus:
    """A lane that exists for clients. ``reason`` says why it can't run here, None if it can."""

    lane: CatalogLane
    reason: Reason | None

    @property
    def runnable(self) -> bool:
        return self.reason is None


class Availability:
    """The catalog's lanes on this machine.

    ``evidence`` is asked once about each device that the catalog declares; it may block, so create this before the
    service answers. ``cpu_lanes`` is the setting, read anew each time.
    """

    def __init__(
        self, catalog: Catalog, evidence: Callable[[Device], DeviceEvidence], *, cpu_lanes: Callable[[], bool]
    ) -> None:
        declared = [lane for entry in catalog.entries for lane in entry.lanes]
        reasons = {backend: evidence(backend).reason for backend in {lane.backend for lane in declared}}
        self._catalog = catalog
        self._cpu_lanes = cpu_lanes
        self._statuses = {lane.lane_id: LaneStatus(lane, reasons[lane.backend]) for lane in declared}

    def lanes(self, entry: CatalogEntry) -> tuple[LaneStatus, ...]:
        """The entry's lanes that exist now, in the order of preference."""
        return tuple(self._statuses[lane.lane_id] for lane in entry.lanes if self._exists(lane))

    def _exists(self, lane: CatalogLane) -> bool:
        return lane.backend != "cpu" or self._cpu_lanes()

    def selected(self, entry: CatalogEntry) -> CatalogLane:
        """The lane that the catalog id stands for; raises ``backend_unavailable``."""
        for status in self.lanes(entry):
            if status.runnable:
                return status.lane
        raise self.refusal(entry)

    def runnable(self, entry: CatalogEntry) -> bool:
        """True when one of its lanes can run here."""
        return any(status.runnable for status in self.lanes(entry))

    def find(self, lane_id: str) -> LaneStatus | None:
        """The lane of a lane id, if it exists now."""
        status = self._statuses.get(lane_id)
        return status if status is not None and self._exists(status.lane) else None

    def pinned(self, fingerprint: str) -> LaneStatus | None:
        """The lane that a fingerprint pins, if it exists now."""
        lane = self._catalog.lane_of_fingerprint(fingerprint)
        return self.find(lane.lane_id) if lane is not None else None

    def files(self, entry: CatalogEntry) -> tuple[PinnedFile, ...]:
        """The files that its runnable lanes need, installed or not; none without such a lane."""
        return tuple(file for _, file in entry.spec.files.by_role()) if self.runnable(entry) else ()

    def refusal(self, entry: CatalogEntry, lane: CatalogLane | None = None) -> SynapseError:
        """``backend_unavailable``: for a lane that was named and can't run here, or for an entry without any."""
        statuses = [status for status in self.lanes(entry) if lane is None or status.lane is lane]
        return SynapseError(
            "backend_unavailable",
            self._message(entry, lane, statuses),
            details={
                "catalog_id": entry.id,
                "lane_id": lane.lane_id if lane is not None else None,
                "backends": [{"backend": status.lane.backend, "reason": status.reason} for status in statuses],
            },
        )

    def _message(self, entry: CatalogEntry, lane: CatalogLane | None, statuses: Sequence[LaneStatus]) -> str:
        reasons = ", ".join(f"{status.lane.backend}: {_words(status.reason)}" for status in statuses)
        message = f"{lane.lane_id if lane else entry.id} can't run on this machine ({reasons or 'no backend'})"
        on_processor = self._statuses[entry.lanes[-1].lane_id]
        if not self._exists(on_processor.lane) and on_processor.runnable:
            message += f"; the setting cpu_lanes adds {on_processor.lane.lane_id}, which computes on the processor"
        return message


def _words(reason: Reason | None) -> str:
    return "can run" if reason is None else reason.replace("_", " ")
