"""The part of the composition root that puts the catalog together: the store of files, installs, downloads, collection.

``assembly`` calls :func:`assemble_catalog` once, hands the parts to the operations, and stops them in its own order.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from synapse_engines.devices import Device, DeviceEvidence
from synapse_service.admission.leases import LeaseBook
from synapse_service.catalog.availability import Availability
from synapse_service.catalog.blobs import BlobStore
from synapse_service.catalog.collector import Collector
from synapse_service.catalog.compiled import Catalog, CatalogEntry, CatalogLane
from synapse_service.catalog.credentials import CredentialSource
from synapse_service.catalog.detached import Detached
from synapse_service.catalog.download_files import DownloadFiles
from synapse_service.catalog.download_job import LiveDownload
from synapse_service.catalog.downloads import Downloads
from synapse_service.catalog.http_body import BodyFetcher
from synapse_service.catalog.installs import Installs
from synapse_service.catalog.pins import Pins
from synapse_service.catalog.roots import LaneFiles, Roots
from synapse_service.clock import Clock
from synapse_service.events import EventHub
from synapse_service.jobs.book import Counters
from synapse_service.lanes.registry import LaneRegistry
from synapse_service.operations.cache import CacheOperations
from synapse_service.operations.catalog import CatalogOperations
from synapse_service.operations.downloads import DownloadOperations
from synapse_service.operations.extensions import cache as extension_cache
from synapse_service.operations.extensions import downloads as extension_downloads
from synapse_service.server.router import Router
from synapse_service.settings.declared import Settings
from synapse_service.store.database import Store
from synapse_wire.results import DownloadRow, SelfCheckState


@dataclass(frozen=True, slots=True)
class CatalogParts:
    """What of the catalog outlives the assembly."""

    catalog: Catalog
    availability: Availability
    blobs: BlobStore
    bodies: BodyFetcher
    installs: Installs
    pins: Pins
    collector: Collector
    downloads: Downloads
    detached: Detached

    def summaries(self) -> list[dict[str, object]]:
        """Every model of the catalog as the topic ``models`` shows it."""
        return [self.summary(entry) for entry in self.catalog.entries]

    def summary(self, entry: CatalogEntry) -> dict[str, object]:
        """One model: what is installed of it, and the download that is under way."""
        job = self.downloads.of(entry)
        download: DownloadRow | None = None if job is None else job.row()
        state = self.installs.install_state(entry)
        return {"catalog_id": entry.id, "install_state": state, "download": download}


def assemble_catalog(
    *,
    catalog: Catalog,
    store: Store,
    blobs: BlobStore,
    clock: Clock,
    new_id: Callable[[], str],
    module_generation: int,
    settings: Callable[[], Settings],
    self_check: Callable[[CatalogLane], SelfCheckState],
    evidence: Callable[[Device], DeviceEvidence],
    lanes: Callable[[], Iterable[LaneFiles]],
    counters: Counters,
    hub: EventHub,
    credentials: CredentialSource,
) -> CatalogParts:
    """Put the parts together. Blocks; for boot, on the event loop's thread. No file is looked for yet.

    ``self_check`` says how a lane's check stands, ``lanes`` gives the lanes that may have files open. Events go to the
    topics ``downloads``, ``jobs`` and ``models``.
    """
    detached = Detached()
    bodies = BodyFetcher(
        blobs,
        proxy=lambda: settings().http_proxy,
        ca_file=lambda: settings().ca_file,
        clock=clock,
        credentials=credentials,
    )

    pins = Pins(store)
    installs = Installs(store, blobs, detached, self_check)
    collector = Collector(store, blobs, Roots(blobs.leases, lanes))

    def tell(job: LiveDownload, terminal: bool) -> None:
        hub.publish("downloads", job.row(), terminal=terminal, key=job.job_id)
        hub.publish("jobs", job.job_row(module_generation), terminal=terminal, key=job.job_id)
        hub.publish("models", parts.summary(job.entry), key=job.entry.id)

    def install_changed(catalog_id: str) -> None:
        entry = catalog.entry(catalog_id)
        if entry is not None:
            hub.publish("models", parts.summary(entry), key=catalog_id)

    downloads = Downloads(
        store=store,
        blobs=blobs,
        files=DownloadFiles(blobs, bodies, lambda: settings().hf_base_url),
        installs=installs,
        collector=collector,
        detached=detached,
        counters=counters,
        clock=clock,
        new_id=new_id,
        module_generation=module_generation,
        retention_ms=lambda: settings().result_ttl_ms,
        publish=tell,
    )
    parts = CatalogParts(
        catalog=catalog,
        availability=Availability(catalog, evidence, cpu_lanes=lambda: settings().cpu_lanes),
        blobs=blobs,
        bodies=bodies,
        installs=installs,
        pins=pins,
        collector=collector,
        downloads=downloads,
        detached=detached,
    )
    loop = asyncio.get_running_loop()

    def damaged(sha256: str) -> None:
        if installs.invalidate(sha256):
            pins.forget(sha256)

    def quarantined(sha256: str) -> None:
        # Told by the thread that found the damage, perhaps while the service is ending.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(damaged, sha256)

    installs.restore()
    pins.restore()
    installs.on_change(install_changed)
    blobs.on_quarantine(quarantined)
    return parts


def register_catalog(
    router: Router,
    hub: EventHub,
    parts: CatalogParts,
    *,
    lanes: LaneRegistry,
    leases: LeaseBook,
    settings: Callable[[], Settings],
) -> None:
    """Serve the operations and extensions of the catalog."""
    CatalogOperations(catalog=parts.catalog, availability=parts.availability, installs=parts.installs).register(router)
    DownloadOperations(
        catalog=parts.catalog,
        availability=parts.availability,
        downloads=parts.downloads,
        installs=parts.installs,
        collector=parts.collector,
        detached=parts.detached,
        lanes=lanes,
        leases=leases,
    ).register(router)
    CacheOperations(
        pins=parts.pins,
        catalog=parts.catalog,
        installs=parts.installs,
        downloads=parts.downloads,
        collector=parts.collector,
        detached=parts.detached,
        lanes=lanes,
    ).register(router)
    extension_downloads.register(router, parts.downloads, hub)
    extension_cache.register(router, parts.blobs, parts.collector, lambda: settings().cache_max_bytes)
