"""The composition root: the only module that knows every part.

``process`` calls :func:`assemble` once, on the event loop, and runs and ends what comes back. The other modules of this
package put together what belongs to one part of the service.
"""

from __future__ import annotations

import asyncio
import itertools
import uuid
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from synapse_engines.devices import PROBES
from synapse_service.admission.leases import LeaseBook
from synapse_service.aliases.table import AliasTable
from synapse_service.boot.arguments import Arguments
from synapse_service.boot.catalog import CatalogParts, assemble_catalog, register_catalog
from synapse_service.boot.certify import open_ledger
from synapse_service.boot.inference import register_inference
from synapse_service.boot.lanes import LaneParts, assemble_lanes
from synapse_service.boot.models import register_models
from synapse_service.boot.storage import StorageParts, assemble_storage, models_folder, register_storage
from synapse_service.catalog.blobs import BlobStore
from synapse_service.certify.machine import this_machine
from synapse_service.certify.observations import Observations
from synapse_service.clock import SystemClock
from synapse_service.diagnostics import standard_checks
from synapse_service.events import EventHub
from synapse_service.gateway.credentials import Credentials
from synapse_service.gateway.system_keyring import SystemKeyring
from synapse_service.instance import InstanceLock
from synapse_service.jobs.book import JobBook
from synapse_service.jobs.embedding import EmbeddingJobs
from synapse_service.jobs.retention import Retention
from synapse_service.lanes.device_gate import DeviceGate
from synapse_service.logs import Logs
from synapse_service.operations.admission import AdmissionOperations
from synapse_service.operations.extensions import credentials as extension_credentials
from synapse_service.operations.extensions import diagnostics, events, logs, service, settings
from synapse_service.operations.extensions import jobs as extension_jobs
from synapse_service.operations.jobs import JobOperations
from synapse_service.paths import Paths
from synapse_service.server.host import Limits
from synapse_service.server.router import Router
from synapse_service.server.socket_server import SocketServer
from synapse_service.settings.declared import Settings
from synapse_service.settings.store import SettingsStore
from synapse_service.store.database import Store
from synapse_wire import __version__
from synapse_wire.results import Holder


@dataclass(frozen=True, slots=True)
class Parts:
    """What outlives the assembly."""

    server: SocketServer
    lanes: LaneParts
    jobs: JobBook
    catalog: CatalogParts
    storage: StorageParts
    housekeeping: Mapping[str, Callable[[], Coroutine[Any, Any, None]]]
    about: service.AboutService
    register_service: Callable[[Callable[[float], None]], None]


def assemble(
    arguments: Arguments,
    paths: Paths,
    settings_store: SettingsStore,
    database: Store,
    generation: int,
    inherited: int,
    log: Logs,
    lock: InstanceLock,
) -> Parts:
    """Put every part together; nothing is served yet. Blocks. Raises InstanceError, StoreError and PathError.

    ``inherited`` counts the jobs that an earlier process left without an end.
    """
    loop = asyncio.get_running_loop()
    clock = SystemClock()
    evidence = cache(arguments.evidence)

    def current() -> Settings:
        return settings_store.current

    hub = EventHub(clock, loop.call_later)
    numbers = itertools.count(1)
    leases = LeaseBook(lambda: f"{generation}-{next(numbers)}")
    blobs = BlobStore(models_folder(paths, settings_store))
    machine = this_machine()
    ledger = open_ledger(database, machine, current)
    jobs = JobBook(
        database,
        leases,
        clock=clock,
        new_id=_new_id,
        module_generation=generation,
        retention_ms=lambda: current().result_ttl_ms,
        publish=lambda row, terminal: hub.publish("jobs", row, terminal=terminal, key=row.job_id),
        inherited=inherited,
    )
    embedding = EmbeddingJobs(
        store=database,
        book=jobs,
        leases=leases,
        clock=clock,
        new_id=_new_id,
        module_generation=generation,
        # Half as much again as one worker call takes: what is left of a chunk then makes a full call with the next.
        chunk_tokens=lambda: current().bulk_quantum_tokens * 3 // 2,
        ttl_s=lambda: current().result_ttl_ms / 1000,
    )
    credentials = Credentials(
        database,
        arguments.secrets or SystemKeyring("synapse" if paths.home is None else f"synapse {paths.home}"),
        clock,
        default_origin=lambda: current().hf_base_url,
    )
    models = assemble_catalog(
        catalog=arguments.catalog,
        store=database,
        blobs=blobs,
        clock=clock,
        new_id=_new_id,
        module_generation=generation,
        settings=current,
        evidence=evidence,
        self_check=lambda lane: lanes.catalog.self_check(lane),
        lanes=lambda: lane_parts.open_files(),
        counters=jobs.counters,
        hub=hub,
        credentials=credentials,
    )
    devices = DeviceGate(evidence)
    observations = Observations(enabled=current().certify_observation)
    lane_parts = assemble_lanes(
        arguments=arguments,
        store=database,
        models=models,
        leases=leases,
        clock=clock,
        settings=current,
        os_build=machine.os_build,
        devices=devices,
        module_generation=generation,
        observations=observations,
        hub=hub,
        service_paused=lambda: about.announce(terminal=True),
    )
    lanes = lane_parts.lanes
    aliases = AliasTable(database, clock, models.detached)
    aliases.restore()

    def holders() -> list[Holder]:
        running = [Holder(kind="job", job_id=job.job_id) for job in jobs.live()]
        running += [Holder(kind="job", job_id=job.job_id) for job in models.downloads.live()]
        leased = [holder for holder in leases.holders() if holder.kind != "job"]
        return [*running, *leased]

    storage = assemble_storage(
        paths=paths,
        settings=settings_store,
        store=database,
        models=models,
        clock=clock,
        new_id=_new_id,
        lanes=lane_parts.open_files,
        jobs=holders,
        hub=hub,
        usable=lambda: follow(preloads.run(), "load what was kept back"),
    )
    router = Router()
    register_inference(
        router,
        lanes=lanes,
        certifications=ledger,
        leases=leases,
        embedding=embedding,
        settings=current,
        clock=clock,
        module_generation=generation,
        aliases=aliases,
        observations=observations,
    )
    preloads = register_models(
        router,
        lanes=lane_parts,
        models=models,
        jobs=jobs,
        leases=leases,
        ledger=ledger,
        machine=machine,
        devices=devices,
        aliases=aliases,
        settings=current,
        clock=clock,
        module_generation=generation,
    )
    JobOperations(store=database, book=jobs, module_generation=generation, aliases=aliases).register(router)
    AdmissionOperations(lanes=lanes, book=jobs, ledger=ledger, knob=lambda: current().knob).register(router)
    register_catalog(router, hub, models, lanes=lanes, leases=leases, settings=current)
    register_storage(router, storage, models)
    extension_credentials.register(router, credentials, models.detached)
    extension_jobs.register(router, jobs, models.downloads, hub)

    limits = Limits(connections=current().max_connections, in_flight=current().max_in_flight)
    server = SocketServer(router, paths.endpoint, lock, limits, clock, lambda: generation)
    about = service.AboutService(
        hub,
        server,
        clock,
        version=__version__,
        module_generation=lambda: generation,
        socket_path=paths.endpoint.address,
        home=str(paths.home or ""),
        everything=lane_parts.pauses.everything,
    )
    events.register(router, hub)
    settings.register(router, settings_store, hub)
    logs.register(router, log.ring, hub, loop)
    checks = standard_checks(
        paths=paths,
        lock=lock,
        models=lambda: blobs.root,
        problem=lambda: storage.storage.problem,
        settings=settings_store,
        devices=lambda: [evidence(backend) for backend in PROBES],
        opening=database.opening,
        log=log,
    )
    diagnostics.register(router, checks, lambda: generation)
    lane_parts.register(router, hub)
    hub.register_topic("models", lambda: [*lane_parts.summaries(), *models.summaries()])

    def register_service(request_stop: Callable[[float], None]) -> None:
        service.register(
            router,
            about,
            version=__version__,
            module_generation=lambda: generation,
            holders=holders,
            request_stop=request_stop,
        )

    def settings_changed(names: frozenset[str]) -> None:
        if "log_level" in names:
            log.set_level(current().log_level)
        if "cpu_lanes" in names:
            # Hidden lanes that are free are unloaded now, and those at work when they are. Models that the switch kept
            # from being preloaded are loaded now.
            work = preloads.run() if current().cpu_lanes else lane_parts.idle.sweep()
            follow(work, "follow the setting cpu_lanes")

    def follow(work: Coroutine[Any, Any, None], name: str) -> None:
        background.add(task := loop.create_task(work, name=name))
        task.add_done_callback(background.discard)

    background: set[asyncio.Task[None]] = set()
    settings_store.on_change(settings_changed)
    retention = Retention(store=database, book=jobs, clock=clock, settle=[models.downloads.settle])
    housekeeping = {
        "idle lanes": lane_parts.idle.run,
        "retention": retention.run,
        "models folder": storage.storage.watch,
        "preloads": preloads.run,
    }
    return Parts(server, lane_parts, jobs, models, storage, housekeeping, about, register_service)


def _new_id() -> str:
    return uuid.uuid4().hex
