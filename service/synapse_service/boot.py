"""The composition root: starts the service, knows every part, and ends them in the right order.

Start: settings, folders and log; the instance lock; the database with a new generation; lanes as they were
registered; the operations; then the socket, last, so that whoever can connect can be served. Stop is the reverse:
no new work, running requests drain, jobs stop (the next boot reports them), workers end, the database closes.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import signal
import sys
import uuid
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final

from synapse_engines.devices import PROBES
from synapse_service.admission.leases import LeaseBook
from synapse_service.aliases.table import AliasTable
from synapse_service.boot_arguments import Arguments, parse
from synapse_service.boot_catalog import CatalogParts, assemble_catalog, register_catalog
from synapse_service.boot_certify import open_ledger
from synapse_service.boot_inference import register_inference
from synapse_service.boot_lanes import LaneParts, assemble_lanes
from synapse_service.boot_models import register_models
from synapse_service.boot_storage import StorageParts, assemble_storage, models_folder, register_storage
from synapse_service.catalog.blobs import BlobStore
from synapse_service.catalog.compiled import CatalogError
from synapse_service.certify.machine import this_machine
from synapse_service.certify.observations import Observations
from synapse_service.clock import SystemClock
from synapse_service.config import ConfigError, Settings, SettingsStore
from synapse_service.diagnostics import standard_checks
from synapse_service.events import EventHub
from synapse_service.gateway.credentials import Credentials
from synapse_service.gateway.system_keyring import SecretBox, SystemKeyring
from synapse_service.instance import AlreadyRunning, InstanceError, InstanceLock, acquire_lock
from synapse_service.jobs.book import JobBook
from synapse_service.jobs.embedding import EmbeddingJobs
from synapse_service.jobs.retention import Retention
from synapse_service.lanes.device_gate import DeviceGate
from synapse_service.lanes.preloads import PreloadError
from synapse_service.lanes.preloads import plan as plan_preloads
from synapse_service.logs import Logs, configure, get_logger
from synapse_service.operations.admission import AdmissionOperations
from synapse_service.operations.extensions import credentials as extension_credentials
from synapse_service.operations.extensions import diagnostics, events, logs, service, settings
from synapse_service.operations.extensions import jobs as extension_jobs
from synapse_service.operations.jobs import JobOperations
from synapse_service.paths import PathError, Paths, ensure_private_dir, resolve_paths
from synapse_service.server.connection import Limits
from synapse_service.server.router import Router
from synapse_service.server.socket_server import SocketServer
from synapse_service.store.database import Store
from synapse_service.store.errors import StoreError
from synapse_wire import __version__
from synapse_wire.results import Holder

DEFAULT_DRAIN_S: Final = 10.0
"""How long running requests may take when the operating system asks the service to stop."""

EXIT_FAILED: Final = 1
EXIT_ALREADY_RUNNING: Final = 3

_log = get_logger(__name__)


def run(argv: Sequence[str] | None = None, secrets: SecretBox | None = None) -> None:
    """Entry point of ``synapse-service``. Only tests give ``secrets``: a place other than the user's keyring."""
    try:
        arguments = replace(parse(argv), secrets=secrets)
    except (CatalogError, OSError) as error:
        sys.exit(_say(error, EXIT_FAILED))
    sys.exit(main(arguments))


def main(arguments: Arguments) -> int:
    """Serve until told to stop; returns the exit status."""
    with contextlib.ExitStack() as held:
        return _main(arguments, held)


def _main(arguments: Arguments, held: contextlib.ExitStack) -> int:
    try:
        paths = resolve_paths(arguments.environ, arguments.home)
        settings_store = SettingsStore.load(paths.config_file, arguments.environ)
        configured = settings_store.current
        reserved = arguments.catalog.reserved_ids
        plan_preloads(configured.preload, cpu_lanes=configured.cpu_lanes, reserved_ids=reserved)
        for folder in (paths.data_dir, paths.log_dir):
            ensure_private_dir(folder)
        lock = acquire_lock(paths.endpoint, paths.lock_file)
        held.callback(lock.release)
    except AlreadyRunning as error:
        return _say(error, EXIT_ALREADY_RUNNING)
    except (ConfigError, PreloadError, PathError, InstanceError) as error:
        return _say(error, EXIT_FAILED)
    log = configure(paths.log_dir, configured.log_level, sys.stderr.isatty())
    held.callback(log.close)
    try:
        database = Store.open(paths.database, SystemClock())
        asyncio.run(serve(arguments, paths, settings_store, database, log, lock))
    except (StoreError, InstanceError, PathError) as error:
        _log.error("start_failed", reason=str(error))
        return _say(error, EXIT_FAILED)
    return 0


async def serve(
    arguments: Arguments,
    paths: Paths,
    settings_store: SettingsStore,
    database: Store,
    log: Logs,
    lock: InstanceLock,
) -> None:
    """Put the parts together, serve, and take them apart again."""
    loop = asyncio.get_running_loop()
    generation = database.bump_generation()
    orphans = database.fail_orphaned_jobs(generation, keep_ms=settings_store.current.result_ttl_ms)
    if orphans:
        _log.info("jobs_ended_by_restart", jobs=len(orphans))
    try:
        parts = _assemble(arguments, paths, settings_store, database, generation, len(orphans), log, lock)
    except BaseException:
        await database.close()
        raise
    stop = asyncio.Event()
    drain_s = DEFAULT_DRAIN_S

    def request_stop(seconds: float) -> None:
        nonlocal drain_s
        drain_s = seconds
        stop.set()

    parts.register_service(request_stop)
    for number in (signal.SIGTERM, signal.SIGINT):
        # Windows has no signal handlers on its loop; there the pipe and `synapse stop` remain.
        with contextlib.suppress(NotImplementedError):
            loop.add_signal_handler(number, request_stop, DEFAULT_DRAIN_S)
    housekeeping = [asyncio.create_task(work(), name=name) for name, work in parts.housekeeping.items()]
    try:
        await parts.server.start()
        _log.info("ready", address=paths.endpoint.address, module_generation=generation)
        await stop.wait()
        _log.info("stopping", drain_s=drain_s)
        parts.server.begin_stop()
        parts.about.announce(terminal=True)
        await parts.server.stop(drain_s)
    finally:
        for task in housekeeping:
            task.cancel()
        await parts.catalog.downloads.close()
        await parts.jobs.close()
        await parts.catalog.detached.close()
        await parts.lanes.close()
        await parts.storage.close()
        await database.close()
        _log.info("stopped")


@dataclass(frozen=True, slots=True)
class _Parts:
    """What outlives the assembly."""

    server: SocketServer
    lanes: LaneParts
    jobs: JobBook
    catalog: CatalogParts
    storage: StorageParts
    housekeeping: Mapping[str, Callable[[], Coroutine[Any, Any, None]]]
    about: service.AboutService
    register_service: Callable[[Callable[[float], None]], None]


def _assemble(
    arguments: Arguments,
    paths: Paths,
    settings_store: SettingsStore,
    database: Store,
    generation: int,
    inherited: int,
    log: Logs,
    lock: InstanceLock,
) -> _Parts:
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
        chunk_tokens=lambda: current().bulk_quantum_tokens,
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
            background.add(task := loop.create_task(work, name="follow the setting cpu_lanes"))
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
    return _Parts(server, lane_parts, jobs, models, storage, housekeeping, about, register_service)


def _new_id() -> str:
    return uuid.uuid4().hex


def _say(error: Exception, status: int) -> int:
    print(f"synapse-service: {error}", file=sys.stderr)  # noqa: T201 - read by whoever started it by hand
    return status


if __name__ == "__main__":
    run()
