"""The part of the composition root that puts the lanes together: what loads them, checks them, and finds them.

``assembly`` calls :func:`assemble_lanes` once, after the catalog.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from synapse_engines.worker.protocol import BackendName
from synapse_service.admission.leases import LeaseBook
from synapse_service.boot.arguments import Arguments
from synapse_service.boot.catalog import CatalogParts
from synapse_service.catalog.compiled import CatalogEntry, CatalogLane
from synapse_service.catalog.roots import LaneFiles
from synapse_service.certify import knobs
from synapse_service.certify.observations import Observations
from synapse_service.clock import Clock
from synapse_service.engine_builds import ENGINE_BUILDS
from synapse_service.events import EventHub
from synapse_service.lanes.catalog_lanes import CatalogLanes, catalog_model
from synapse_service.lanes.device_gate import DeviceGate
from synapse_service.lanes.feed import LaneFeed, summary
from synapse_service.lanes.idle import IdleUnloader
from synapse_service.lanes.keep_warm import KeptWarm
from synapse_service.lanes.lane import Lane
from synapse_service.lanes.lane_rows import LaneRows
from synapse_service.lanes.loader import Loader
from synapse_service.lanes.model import LaneModel
from synapse_service.lanes.neural_engine import GuardedLoader
from synapse_service.lanes.pause import LanePause
from synapse_service.lanes.pauses import Pauses
from synapse_service.lanes.profiles import Profiles
from synapse_service.lanes.quarantine import CoolDown, Quarantine
from synapse_service.lanes.records import StoredLanes, StoredSelfChecks, StoredSelfTests
from synapse_service.lanes.registration import Registration
from synapse_service.lanes.registry import LaneRegistry
from synapse_service.lanes.self_check_runs import LaneSelfCheck, SelfChecks
from synapse_service.lanes.serving import Pacing
from synapse_service.operations import lanes as lane_operations
from synapse_service.operations.extensions.lanes import LaneExtensions
from synapse_service.server.router import Router
from synapse_service.settings.declared import Settings
from synapse_service.store.database import Store
from synapse_service.workers.launch import Launch, worker_launch
from synapse_wire.errors import SynapseError

INTERACTIVE_TOKENS: Final = 3072
"""Tokens of interactive rows that share one worker call."""


@dataclass(frozen=True, slots=True)
class LaneParts:
    """What of the lanes outlives the assembly."""

    lanes: LaneRegistry
    loader: Loader
    idle: IdleUnloader
    extensions: LaneExtensions
    pauses: Pauses

    def summaries(self) -> list[dict[str, object]]:
        """Every lane that exists for clients, as the topic ``models`` shows it."""
        return [summary(lane) for lane in self.lanes.visible()]

    def register(self, router: Router, hub: EventHub) -> None:
        """Serve what is about lanes as such."""
        self.extensions.register(router, hub)
        lane_operations.register(router, self.pauses.neural_engine)

    async def close(self) -> None:
        """End every pause and every worker."""
        self.pauses.close()
        await self.lanes.close()
        self.pauses.engine.close()

    def open_files(self) -> list[LaneFiles]:
        """The files that a worker has open, or may open again for those whom its lane still serves."""
        lanes = self.lanes
        serving = [lane for lane in lanes.every() if lane.state != "unloaded"] + lanes.retiring()
        return [LaneFiles(lane.lane_id, frozenset(file.sha256 for file in lane.model.files)) for lane in serving]


def assemble_lanes(
    *,
    arguments: Arguments,
    store: Store,
    models: CatalogParts,
    leases: LeaseBook,
    clock: Clock,
    settings: Callable[[], Settings],
    os_build: str,
    devices: DeviceGate,
    module_generation: int,
    observations: Observations,
    hub: EventHub,
    service_paused: Callable[[], None],
) -> LaneParts:
    """Put the parts together and bring back what earlier processes knew. Blocks; for boot.

    ``service_paused`` is called when the pause of everything changed its phase.
    """

    def idle_s() -> float:
        return settings().idle_unload_ms / 1000

    call_later = asyncio.get_running_loop().call_later

    def pause_changed(pause: LanePause) -> None:
        for lane in lanes.visible():
            if pause.covers(lane.model):
                feed.changed(lane)
        if pause is pauses.everything:
            service_paused()

    pauses = Pauses(
        arguments.neural_engine_lock, clock, call_later, known=lambda: lanes.visible(), on_change=pause_changed
    )

    def launch(backend: BackendName) -> Launch:
        if backend != "coreml":
            return worker_launch(arguments.environ)
        script, lock = arguments.scripted_predictor, pauses.engine.lock_descriptor
        return worker_launch(
            arguments.environ,
            *(() if script is None else ("--scripted-predictor", str(script))),
            inherited=() if lock is None else (lock,),
        )

    loader = Loader(
        blobs=models.blobs,
        values=StoredSelfTests(store, clock),
        launch=launch,
        clock=clock,
        threads=lambda model: lane_threads(model, settings()),
        observations=observations,
    )
    outcomes = StoredSelfChecks(store, clock)
    profiles = Profiles.read(models.catalog)
    self_checks = SelfChecks(outcomes, leases, os_build, outcomes.load_all(), models.catalog.resource)

    def download_job(entry: CatalogEntry) -> str | None:
        job = models.downloads.of(entry)
        return None if job is None else job.job_id

    keep_warm = KeptWarm(store)
    rows = LaneRows(leases=leases, clock=clock, idle_s=idle_s, keep_warm=keep_warm, pins=models.pins.owners)
    feed = LaneFeed(hub, call_later, rows.row, lambda lane: lanes.find(lane.lane_id) is lane)

    async def keep_quarantine(lane: Lane) -> None:
        await lanes.keep_quarantine(lane)

    guarded = GuardedLoader(loader, pauses.engine, pauses.fence)

    def make_lane(
        model: LaneModel,
        quarantine: Quarantine,
        self_check: LaneSelfCheck | None,
        unavailable: SynapseError | None = None,
    ) -> Lane:
        lane = Lane(
            model,
            loader=guarded,
            clock=clock,
            pacing=lambda: Pacing(
                INTERACTIVE_TOKENS, settings().bulk_quantum_tokens, settings().bulk_quantum_ms / 1000
            ),
            queue_capacity=lambda: settings().queue_capacity,
            on_change=feed.changed,
            on_quarantine=keep_quarantine,
            quarantine=quarantine,
            self_check=self_check,
            unavailable=unavailable,
            fence=pauses.fence,
        )
        feed.follow(lane)
        pauses.cover(lane)
        return lane

    def free_form(registration: Registration, quarantined: str | None) -> Lane:
        manifest = registration.manifest
        model = registration.lane_model(ENGINE_BUILDS[manifest.engine])
        check = (
            None
            if manifest.profile is None
            else self_checks.of_profile(manifest.profile, profiles, model, manifest.digest)
        )
        return make_lane(model, Quarantine(quarantined), check, devices.refusal(model.engine, model.lane_id))

    def of_catalog(entry: CatalogEntry, lane: CatalogLane) -> Lane:
        return make_lane(catalog_model(entry, lane), CoolDown(clock), self_checks.of(entry, lane))

    records = StoredLanes(store, clock)
    lanes = LaneRegistry(
        records,
        free_form,
        catalog=CatalogLanes(
            models.catalog,
            models.availability,
            models.installs,
            of_catalog,
            download_job=download_job,
        ),
        leases=leases,
        cpu_lanes=lambda: settings().cpu_lanes,
    )
    if not_served := lanes.restore(records.load_all()):
        records.let_go(not_served)
        models.pins.restore()

    def install_changed(catalog_id: str) -> None:
        for lane in lanes.catalog.known():
            if lane.model.catalog_id == catalog_id:
                feed.changed(lane)

    models.installs.on_change(install_changed)
    extensions = LaneExtensions(
        lanes=lanes,
        rows=rows,
        feed=feed,
        leases=leases,
        keep_warm=keep_warm,
        module_generation=module_generation,
    )
    idle = IdleUnloader(lanes=lanes, leases=leases, clock=clock, idle_s=idle_s, keep_warm=keep_warm)
    return LaneParts(lanes, loader, idle, extensions, pauses)


def lane_threads(model: LaneModel, settings: Settings) -> int:
    """Threads of a lane that is loaded now: as set, else by the knob, which doesn't concern lanes of the catalog."""
    cores = os.cpu_count() or 1
    if settings.worker_threads:
        return settings.worker_threads
    return knobs.threads(settings.knob, cores) if model.catalog_id is None else cores
