"""The life of the service: starts it, waits for the word to stop, and ends its parts in the right order.

Start: settings, folders and log; the locks; the database with a new generation; lanes as they were
registered; the operations; then the socket, last, so that whoever can connect can be served. Stop is the reverse:
no new work, running requests drain, jobs stop (the next boot reports them), workers end, the database closes.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from synapse_service.boot.arguments import Arguments, parse
from synapse_service.boot.assembly import assemble
from synapse_service.catalog.compiled import CatalogError
from synapse_service.clock import SystemClock
from synapse_service.gateway.system_keyring import SecretBox
from synapse_service.instance import AlreadyRunning, InstanceError, InstanceLock, acquire_lock, lock_data
from synapse_service.lanes.preloads import PreloadError
from synapse_service.lanes.preloads import plan as plan_preloads
from synapse_service.logs import Logs, configure, get_logger
from synapse_service.paths import PathError, Paths, ensure_private_dir, resolve_paths
from synapse_service.settings.store import ConfigError, SettingsStore
from synapse_service.store.database import Store
from synapse_service.store.errors import StoreError

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
        held.callback(lock_data(paths.data_dir).release)
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
        parts = assemble(arguments, paths, settings_store, database, generation, len(orphans), log, lock)
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
        with contextlib.suppress(StoreError):
            await database.note_clock()
        await database.close()
        _log.info("stopped")


def _say(error: Exception, status: int) -> int:
    print(f"synapse-service: {error}", file=sys.stderr)  # noqa: T201 - read by whoever started it by hand
    return status
