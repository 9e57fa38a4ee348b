"""The lanes of the catalog, and which of them a name stands for.

There is a lane for every backend that the catalog declares, installed or not; each loads when it is first asked. For
clients those exist that can run here and whose entry is installed in its present version; see ``availability`` and
``install_states`` for the two facts. Choosing a lane reads no file, and never puts one lane in the place of another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from synapse_service.catalog.availability import Availability, LaneStatus
from synapse_service.catalog.compiled import Catalog, CatalogEntry, CatalogLane
from synapse_service.catalog.install_states import InstallStates
from synapse_service.catalog.refusals import not_installed
from synapse_service.lanes.lane import Lane
from synapse_service.lanes.model import LaneModel, StoredFile
from synapse_service.lanes.refusals import other_fingerprint
from synapse_wire.errors import SynapseError
from synapse_wire.results import SelfCheckState

CatalogLaneFactory = Callable[[CatalogEntry, CatalogLane], Lane]
"""Makes the lane of a declaration, with its self-check."""


@dataclass(frozen=True, slots=True)
class CatalogName:
    """What a name of the catalog means: an entry, and one of its lanes if the name pins it."""

    entry: CatalogEntry
    pinned: LaneStatus | None


def catalog_model(entry: CatalogEntry, lane: CatalogLane) -> LaneModel:
    """What the lane of a declaration serves."""
    numerics = entry.spec.numerics
    return LaneModel(
        lane_id=lane.lane_id,
        catalog_id=entry.id,
        task=entry.spec.task,
        files=tuple(StoredFile(role, file.path, file.sha256, file.size) for role, file in entry.spec.files.by_role()),
        family=numerics.family,
        vocab=numerics.vocab,
        dims=numerics.dims or 0,
        max_tokens=lane.spec.max_tokens,
        overlength="refuse",
        composition=numerics.composition,
        readout=numerics.readout,
        prompts=entry.spec.prompts,
        model_digest=entry.model_digest,
        profile=lane.profile,
        fingerprint=lane.fingerprint,
    )


class CatalogLanes:
    """All lanes of the catalog. ``download_job`` names the live download of an entry's present manifest."""

    def __init__(
        self,
        catalog: Catalog,
        availability: Availability,
        installs: InstallStates,
        make_lane: CatalogLaneFactory,
        *,
        download_job: Callable[[CatalogEntry], str | None],
    ) -> None:
        self._catalog = catalog
        self._availability = availability
        self._installs = installs
        self._make_lane = make_lane
        self._download_job = download_job
        self._lanes = {lane.lane_id: make_lane(entry, lane) for entry in catalog.entries for lane in entry.lanes}

    def every(self) -> list[Lane]:
        """All lanes, those that don't exist for clients too."""
        return list(self._lanes.values())

    def known(self) -> list[Lane]:
        """The lanes that exist for clients."""
        return [self._lanes[lane.lane_id] for entry in self._catalog.entries for lane in self._known(entry)]

    def _known(self, entry: CatalogEntry) -> list[CatalogLane]:
        if self._installs.install_state(entry) != "installed":
            return []
        return [status.lane for status in self._availability.lanes(entry) if status.runnable]

    def find(self, lane_id: str) -> Lane | None:
        """A lane that exists for clients, by its id."""
        status = self._availability.find(lane_id)
        known = status is not None and status.lane in self._known(self._entry(status.lane))
        return self._lanes[lane_id] if known else None

    def declared(self, lane_id: str) -> Lane | None:
        """A lane of this id that the catalog declares on this machine, installed or not."""
        return self._lanes[lane_id] if self._availability.find(lane_id) is not None else None

    def lane_ids(self, catalog_id: str) -> list[str] | None:
        """The ids of the lanes that an entry declares on this machine; None if there is no such entry."""
        entry = self._catalog.entry(catalog_id)
        return None if entry is None else [status.lane.lane_id for status in self._availability.lanes(entry)]

    def _entry(self, lane: CatalogLane) -> CatalogEntry:
        entry = self._catalog.entry(lane.catalog_id)
        assert entry is not None
        return entry

    @property
    def reserved_ids(self) -> frozenset[str]:
        """Ids that no free-form model can have: those of entries, and of a lane on every backend, declared or not."""
        return self._catalog.reserved_ids

    def owns(self, fingerprint: str) -> bool:
        """True for the fingerprint of a declared lane, also of one that can't run here or is hidden."""
        return self._catalog.lane_of_fingerprint(fingerprint) is not None

    def hides(self, lane_id: str) -> bool:
        """True for a lane that doesn't exist for clients because of a setting."""
        return self._catalog.lane(lane_id) is not None and self._availability.find(lane_id) is None

    # --- choosing ---

    def named(self, name: str) -> CatalogName | None:
        """What a catalog id, a lane id or a fingerprint means; None for any other name."""
        entry = self._catalog.entry(name)
        if entry is not None:
            return CatalogName(entry, None)
        status = self._availability.find(name) or self._availability.pinned(name)
        return None if status is None else CatalogName(self._entry(status.lane), status)

    def chosen(self, name: CatalogName, fingerprints: Sequence[str] = ()) -> Lane:
        """The lane that serves a name under the fingerprints that were demanded with it.

        The name pins a lane, or else the first fingerprint does; a name that pins none stands for its first lane that
        can run. Raises, in this order, ``substitution_rejected``, ``backend_unavailable`` and ``model_not_installed``.
        """
        entry, pinned = name.entry, name.pinned
        for wanted in fingerprints:
            if pinned is None:
                status = self._availability.pinned(wanted)
                pinned = status if status is not None and status.lane in entry.lanes else None
            if pinned is None or pinned.lane.fingerprint != wanted:
                raise _substitution(entry, pinned, wanted)
        if pinned is None:
            lane = self._availability.selected(entry)
        elif pinned.runnable:
            lane = pinned.lane
        else:
            raise self._availability.refusal(entry, pinned.lane)
        if self._installs.install_state(entry) != "installed":
            lane_id = None if pinned is None else lane.lane_id
            raise not_installed(entry, lane_id, self._download_job(entry))
        return self._lanes[lane.lane_id]

    # --- self-checks and removal ---

    def self_check(self, lane: CatalogLane) -> SelfCheckState:
        """How the self-check of a declared lane stands."""
        check = self._lanes[lane.lane_id].self_check
        assert check is not None
        return check.outcome

    def forget(self, entry: CatalogEntry) -> None:
        """An entry was removed: its lanes, which nobody holds and none of which is loaded, begin afresh."""
        for lane in entry.lanes:
            self._lanes[lane.lane_id] = self._make_lane(entry, lane)


def _substitution(entry: CatalogEntry, pinned: LaneStatus | None, wanted: str) -> SynapseError:
    if pinned is not None:
        return other_fingerprint(pinned.lane.lane_id, pinned.lane.fingerprint, wanted)
    return SynapseError(
        "substitution_rejected",
        f"no lane of {entry.id} has this fingerprint, and nothing is served in its place",
        details={"required_fingerprint": wanted},
    )
