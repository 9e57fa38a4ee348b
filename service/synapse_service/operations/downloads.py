"""``models.download``, ``models.download.cancel`` and ``models.remove``: what of the catalog is to be installed."""

from __future__ import annotations

from synapse_service.admission.leases import LeaseBook
from synapse_service.catalog.availability import Availability
from synapse_service.catalog.collector import Collector
from synapse_service.catalog.compiled import Catalog, CatalogEntry
from synapse_service.catalog.detached import Detached
from synapse_service.catalog.downloads import Downloads
from synapse_service.catalog.installs import InstalledManifest, Installs, erase_installs
from synapse_service.catalog.refusals import entry_in_use, known_entry
from synapse_service.lanes.records import erase_self_checks
from synapse_service.lanes.registry import LaneRegistry
from synapse_service.server.router import Call, Router
from synapse_wire import params as p
from synapse_wire import results as r


class DownloadOperations:
    """The operations that change what of the catalog is installed."""

    def __init__(
        self,
        *,
        catalog: Catalog,
        availability: Availability,
        downloads: Downloads,
        installs: Installs,
        collector: Collector,
        detached: Detached,
        lanes: LaneRegistry,
        leases: LeaseBook,
    ) -> None:
        self._catalog = catalog
        self._availability = availability
        self._downloads = downloads
        self._installs = installs
        self._collector = collector
        self._detached = detached
        self._lanes = lanes
        self._leases = leases

    def register(self, router: Router) -> None:
        """Serve the operations."""
        router.add("models.download", self.download)
        router.add("models.download.cancel", self.cancel)
        router.add("models.remove", self.remove)

    async def download(self, call: Call, params: p.ModelsDownload) -> r.DownloadStatus:
        """Begin to install a model, or join whoever does."""
        entry = known_entry(self._catalog, params.catalog_id)
        self._availability.selected(entry)
        request_key = params.request_key if (params.request_key or "").strip() else None
        return await self._downloads.start(entry, request_key, call.client_name)

    async def cancel(self, call: Call, params: p.JobRef) -> r.DownloadStatus:
        """End a download for everyone who shares it."""
        return await self._downloads.cancel(params.job_id)

    async def remove(self, call: Call, params: p.CatalogRef) -> r.ModelRemoved:
        """Remove every installed manifest of a model, and the files that nothing else needs."""
        entry = known_entry(self._catalog, params.catalog_id)
        return await self._detached.run(self._remove(entry))

    async def _remove(self, entry: CatalogEntry) -> r.ModelRemoved:
        holders = self.holders(entry)
        if holders:
            raise entry_in_use(entry, holders)

        def erase() -> tuple[list[InstalledManifest], list[str]]:
            erased = erase_installs(entry.id)
            erase_self_checks(entry.id)
            return erased, [sha256 for manifest in erased for sha256 in manifest.blobs]

        # From here on nobody begins to use it, and nobody waits before the transaction is in the queue.
        with self._installs.withdrawn(entry.id):
            erased, collected = await self._collector.remove(erase)
            self._installs.erased(erased)
            self._lanes.catalog.forget(entry)
        return r.ModelRemoved(
            catalog_id=entry.id,
            removed_manifests=[manifest.manifest_digest for manifest in erased],
            freed_bytes=collected.freed_bytes,
        )

    def holders(self, entry: CatalogEntry) -> list[r.Holder]:
        """Who would notice a removal: loaded lanes, those who hold a lane, and a download that is under way."""
        lanes = {lane.lane_id: lane for lane in self._lanes.every()}
        found: list[r.Holder] = []
        for declared in entry.lanes:
            lane = lanes.get(declared.lane_id)
            if lane is not None and lane.state != "unloaded":
                found.append(r.Holder(kind="loaded", model_id=lane.lane_id))
            found.extend(self._leases.holders(declared.lane_id))
        found.extend(r.Holder(kind="job", job_id=job.job_id) for job in self._downloads.live(entry.id))
        return found
