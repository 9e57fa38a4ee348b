"""The part of the composition root about the folder of the models: finding it, and moving it.

``assembly`` calls :func:`assemble_storage` once, after the catalog and before anything looks for a file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from synapse_service.boot.catalog import CatalogParts
from synapse_service.catalog.installs import InstalledManifest
from synapse_service.catalog.roots import LaneFiles
from synapse_service.catalog.storage import Storage
from synapse_service.catalog.storage_moves import StorageMoves
from synapse_service.clock import Clock
from synapse_service.events import EventHub
from synapse_service.operations.extensions import storage as extension_storage
from synapse_service.paths import Paths
from synapse_service.server.router import Router
from synapse_service.settings.store import SettingsStore
from synapse_service.store.database import Store
from synapse_wire.results import Holder, ModelPin


@dataclass(frozen=True, slots=True)
class StorageParts:
    """What outlives the assembly."""

    storage: Storage
    moves: StorageMoves

    async def close(self) -> None:
        """Stop a move, and let other services use the folder."""
        await self.moves.close()
        self.storage.close()


def models_folder(paths: Paths, settings: SettingsStore) -> Path:
    """The folder of the models, as the settings say."""
    chosen = settings.current.storage_dir
    return paths.cache_dir if chosen is None else Path(chosen)


def assemble_storage(
    *,
    paths: Paths,
    settings: SettingsStore,
    store: Store,
    models: CatalogParts,
    clock: Clock,
    new_id: Callable[[], str],
    lanes: Callable[[], list[LaneFiles]],
    jobs: Callable[[], list[Holder]],
    hub: EventHub,
    usable: Callable[[], None],
) -> StorageParts:
    """Open the store, and go on with a move that was interrupted.

    ``lanes`` are those that may have files open, ``jobs`` who else is at work. ``usable`` hears that the folder can be
    used again, after its disk was away or its files were moved.

    Blocks; for boot, on the event loop's thread. Raises ModelsInUse, and PathError for the usual folder.
    """

    def publish(terminal: bool) -> None:
        hub.publish("storage", moves.status(), terminal=terminal, key="storage")
        if terminal and moves.status().state == "ready":
            usable()

    def changed() -> None:
        publish(False)
        moves.resume()
        if moves.status().state == "ready":
            usable()

    def holders() -> list[Holder]:
        found = [Holder(kind="loaded", model_id=lane.lane_id) for lane in lanes()]
        found += jobs()
        for leased in models.blobs.leases.everyone():
            job = Holder(kind="job", job_id=leased.job_id)
            if job not in found:
                found.append(job)
        return found

    def adopted(installs: list[InstalledManifest], pins: list[tuple[str, ModelPin]]) -> None:
        models.installs.replaced(installs)
        models.pins.replaced(pins)

    storage = Storage(
        store=store,
        blobs=models.blobs,
        default=paths.cache_dir,
        new_id=new_id,
        recover=models.collector.recover,
        on_change=changed,
    )
    moves = StorageMoves(
        storage=storage,
        store=store,
        blobs=models.blobs,
        settings=settings,
        clock=clock,
        new_id=new_id,
        holders=holders,
        adopted=adopted,
        publish=publish,
    )
    hub.register_topic("storage", moves.status)
    storage.open()
    moves.resume()
    return StorageParts(storage, moves)


def register_storage(router: Router, parts: StorageParts, models: CatalogParts) -> None:
    """Serve the operations."""
    extension_storage.register(router, parts.storage, parts.moves, models.detached)
