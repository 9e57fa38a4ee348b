"""``cache.pin`` and ``cache.gc``: keeping the files of a model, and collecting those that nobody needs."""

from __future__ import annotations

from collections.abc import Iterable

from synapse_service.catalog.collector import Collector, Survey
from synapse_service.catalog.compiled import Catalog, CatalogEntry
from synapse_service.catalog.detached import Detached
from synapse_service.catalog.downloads import Downloads
from synapse_service.catalog.installs import Installs
from synapse_service.catalog.pins import Pins
from synapse_service.catalog.refusals import known_entry, not_installed
from synapse_service.lanes.registry import LaneRegistry
from synapse_service.server.router import Call, Router
from synapse_wire import params as p
from synapse_wire import results as r
from synapse_wire.errors import SynapseError

DEFAULT_OWNER = "user"
"""Whose pin it is when nobody says."""


class CacheOperations:
    """The operations about stored files."""

    def __init__(
        self,
        *,
        pins: Pins,
        catalog: Catalog,
        installs: Installs,
        downloads: Downloads,
        collector: Collector,
        detached: Detached,
        lanes: LaneRegistry,
    ) -> None:
        self._pins = pins
        self._catalog = catalog
        self._installs = installs
        self._downloads = downloads
        self._collector = collector
        self._detached = detached
        self._lanes = lanes

    def register(self, router: Router) -> None:
        """Serve the operations."""
        router.add("cache.pin", self.pin)
        router.add("cache.gc", self.gc)

    async def pin(self, call: Call, params: p.CachePin) -> r.CachePins:
        """Keep the files of a model, or let go of them; the pins of all owners on it afterwards."""
        subject, digests = self._subject(params)
        owner = params.owner if params.owner is not None and params.owner.strip() else DEFAULT_OWNER
        return r.CachePins(pins=await self._pins.put(owner, subject, digests if params.pinned else ()))

    async def gc(self, call: Call, params: p.CacheGc) -> r.CacheCollected:
        """Remove the files that nobody needs, or say which would go."""
        if params.dry_run:
            survey = await self._collector.survey()
            unneeded = {**survey.quarantined, **survey.unneeded}
            return _collected(survey.reclaimable_bytes, unneeded, survey)
        collected, survey = await self._detached.run(self._collector.collect())
        return _collected(collected.freed_bytes, collected.digests, survey)

    def _subject(self, params: p.CachePin) -> tuple[str, list[str]]:
        """The model that is pinned, and the digests of its files."""
        if params.catalog_id is not None:
            entry = known_entry(self._catalog, params.catalog_id)
            if params.pinned and not self._installs.installed(entry):
                raise self._not_installed(entry)
            return entry.id, [file.sha256 for _, file in entry.spec.files.by_role()]
        lane = self._lanes.free_form(params.model_id or "")
        return lane.lane_id, [file.sha256 for file in lane.model.files]

    def _not_installed(self, entry: CatalogEntry) -> SynapseError:
        job = self._downloads.of(entry)
        return not_installed(entry, None, None if job is None else job.job_id)


def _collected(freed_bytes: int, unlinked: Iterable[str], survey: Survey) -> r.CacheCollected:
    kept = sorted(sha256 for sha256 in survey.sizes if sha256 in survey.holders)
    return r.CacheCollected(
        freed_bytes=freed_bytes,
        unlinked=sorted(unlinked),
        kept=[r.KeptBlob(blob=sha256, holders=survey.holders[sha256]) for sha256 in kept],
    )
