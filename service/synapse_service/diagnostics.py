"""What can be wrong with this installation, one function a finding.

``service.diagnostics`` runs the checks, and the command line's doctor and the tray show what it says. Every check
looks and changes nothing. Texts are for people who may pass them on, so the user's home folder is written ``~`` and
no value of a setting is shown.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from synapse_engines.devices import DeviceEvidence
from synapse_service.catalog.store_marker import StorageUnavailable
from synapse_service.failures import where
from synapse_service.instance import InstanceLock
from synapse_service.logs import Logs, get_logger
from synapse_service.paths import Paths
from synapse_service.settings.store import SettingsStore
from synapse_service.store.opening import Opening
from synapse_wire.endpoint import MAX_SOCKET_PATH_BYTES, Endpoint
from synapse_wire.results import Diagnostic

Check = Callable[[], Diagnostic]

LOW_DATA_BYTES: Final = 100 * 1024**2
"""Below this the database can't be relied upon to be writable much longer."""
LOW_CACHE_BYTES: Final = 2 * 1024**3
"""Below this a usual model no longer fits."""

log = get_logger(__name__)


def run_check(check: Check, home: Path | None = None) -> Diagnostic:
    """Run one check. A check that fails is a finding itself, so that it can't hide the others."""
    try:
        found = check()
    except Exception as error:  # noqa: BLE001 - one broken check must leave the rest of the report standing
        name = getattr(check, "__name__", "check")
        log.error("check_failed", check=name, where=where(error))
        found = Diagnostic(check=name, status="error", summary=f"the check itself failed ({type(error).__name__})")
    return _without_home(found, str(Path.home() if home is None else home))


def standard_checks(
    *,
    paths: Paths,
    lock: InstanceLock,
    models: Callable[[], Path],
    problem: Callable[[], StorageUnavailable | None],
    settings: SettingsStore,
    devices: Callable[[], Sequence[DeviceEvidence]],
    opening: Opening,
    log: Logs,
) -> list[Check]:
    """Every check of a service, in the order in which people read them.

    ``models`` is the folder of the models, ``problem`` why it can't be used.
    """
    return [
        socket_check(paths.endpoint),
        path_length_check(paths.endpoint),
        lock_check(lock),
        folders_check(paths, models),
        disk_check(paths, models),
        models_check(problem, models),
        settings_check(settings),
        engines_check(devices, lambda: settings.current.cpu_lanes),
        database_check(opening),
        log_check(log),
    ]


def socket_check(endpoint: Endpoint) -> Check:
    """The socket is there, and open to its owner alone."""

    def socket() -> Diagnostic:
        if os.name == "nt":
            return Diagnostic(check="socket", status="ok", summary=f"listening at {endpoint.address}")
        try:
            status = Path(endpoint.address).lstat()
        except OSError as error:
            return Diagnostic(
                check="socket",
                status="error",
                summary=f"{endpoint.address} can't be reached ({error.strerror})",
                remedy="Restart the service; something removed its socket",
            )
        mode = stat.S_IMODE(status.st_mode)
        facts = {"address": endpoint.address, "mode": f"{mode:04o}", "uid": status.st_uid}
        if not stat.S_ISSOCK(status.st_mode) or status.st_uid != os.geteuid() or mode & 0o077:
            return Diagnostic(
                check="socket",
                status="error",
                summary=f"{endpoint.address} is not a private socket of this user",
                remedy="Restart the service, and find out what changed it",
                facts=facts,
            )
        return Diagnostic(check="socket", status="ok", summary=f"listening at {endpoint.address}", facts=facts)

    return socket


def path_length_check(endpoint: Endpoint) -> Check:
    """The socket address fits, and was taken from the usual place."""

    def path_length() -> Diagnostic:
        length = len(os.fsencode(endpoint.address))
        facts = {"bytes": length, "limit": MAX_SOCKET_PATH_BYTES, "notes": list(endpoint.notes)}
        status, summary = "ok", f"the socket address takes {length} of {MAX_SOCKET_PATH_BYTES} bytes"
        if endpoint.notes:
            status, summary = "warning", "; ".join(endpoint.notes)
        return Diagnostic(check="path_length", status=status, summary=summary, facts=facts)

    return path_length


def lock_check(lock: InstanceLock) -> Check:
    """This process still holds the lock file that keeps a second service away."""

    def instance_lock() -> Diagnostic:
        facts = {"lock_file": str(lock.path), "pid": os.getpid()}
        if lock.intact:
            summary = f"process {os.getpid()} holds {lock.path}"
            return Diagnostic(check="lock", status="ok", summary=summary, facts=facts)
        return Diagnostic(
            check="lock",
            status="error",
            summary=f"{lock.path} was deleted or replaced while the service ran",
            remedy="Restart the service, and find out what cleans that folder",
            facts=facts,
        )

    return instance_lock


def folders_check(paths: Paths, models: Callable[[], Path]) -> Check:
    """Every folder is the user's own, closed to others and writable."""

    def check_folders() -> Diagnostic:
        folders = {
            "run": paths.endpoint.directory,
            "data": paths.data_dir,
            "cache": models(),
            "log": paths.log_dir,
            "config": paths.config_file.parent,
        }
        problems: list[str] = []
        facts: dict[str, Any] = {}
        for name, folder in folders.items():
            try:
                status = folder.stat()
            except FileNotFoundError:
                facts[name] = {"path": str(folder), "exists": False}
                continue
            mode = stat.S_IMODE(status.st_mode)
            facts[name] = {"path": str(folder), "mode": f"{mode:04o}"}
            if os.name != "nt" and status.st_uid != os.geteuid():
                problems.append(f"{folder} belongs to user {status.st_uid}")
            elif os.name != "nt" and name != "config" and mode & 0o077:
                problems.append(f"{folder} is open to other users (mode {mode:04o}; chmod 700 closes it)")
            elif not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
                problems.append(f"{folder} can't be written")
        if problems:
            return Diagnostic(
                check="folders",
                status="error",
                summary="; ".join(problems),
                remedy="Correct the owner or the mode of the folders named",
                facts=facts,
            )
        return Diagnostic(check="folders", status="ok", summary="all folders are private and writable", facts=facts)

    return check_folders


def disk_check(paths: Paths, models: Callable[[], Path]) -> Check:
    """There is room for the database and for another model."""

    def disk() -> Diagnostic:
        data = shutil.disk_usage(_existing(paths.data_dir)).free
        folder = models()
        cache = shutil.disk_usage(_existing(folder)).free
        facts = {"data_free_bytes": data, "cache_free_bytes": cache}
        if data < LOW_DATA_BYTES:
            return Diagnostic(
                check="disk",
                status="error",
                summary=f"only {data // 1024**2} MiB are free for {paths.data_dir}",
                remedy="Free some space: writes to the database are about to fail",
                facts=facts,
            )
        if cache < LOW_CACHE_BYTES:
            return Diagnostic(
                check="disk",
                status="warning",
                summary=f"only {cache // 1024**2} MiB are free for models in {folder}",
                remedy="Free some space, or move the models with `synapse models storage move`",
                facts=facts,
            )
        summary = f"{cache / 1024**3:.1f} GiB are free for models"
        return Diagnostic(check="disk", status="ok", summary=summary, facts=facts)

    return disk


def models_check(problem: Callable[[], StorageUnavailable | None], models: Callable[[], Path]) -> Check:
    """The folder of the models is there, and is the one that it should be."""

    def check_models() -> Diagnostic:
        found = problem()
        facts = {"path": str(models())}
        if found is None:
            return Diagnostic(check="models", status="ok", summary=f"models are kept in {models()}", facts=facts)
        return Diagnostic(
            check="models",
            status="error",
            summary=found.message,
            remedy="Do that; the service notices within seconds and needs no restart",
            facts=facts | {"reason": found.reason},
        )

    return check_models


def settings_check(settings: SettingsStore) -> Check:
    """Where settings come from, and variables that look like settings and are none."""

    def check_settings() -> Diagnostic:
        by_source: dict[str, list[str]] = {"env": [], "file": []}
        for setting in settings.describe():
            if setting.source in by_source:
                by_source[setting.source].append(setting.name)
        unknown = list(settings.unknown_variables)
        facts = {"from_environment": by_source["env"], "from_file": by_source["file"], "unknown_variables": unknown}
        if unknown:
            return Diagnostic(
                check="settings",
                status="warning",
                summary=f"no setting reads {', '.join(unknown)}",
                remedy="Correct the name of the variable, or unset it",
                facts=facts,
            )
        changed = sum(map(len, by_source.values()))
        return Diagnostic(check="settings", status="ok", summary=f"{changed} settings are not defaults", facts=facts)

    return check_settings


def engines_check(devices: Callable[[], Sequence[DeviceEvidence]], cpu_lanes: Callable[[], bool]) -> Check:
    """What this machine can compute on, and why not on the rest."""

    def engines() -> Diagnostic:
        found = devices()
        facts: dict[str, Any] = {
            device.backend: {**device.facts, "runnable": device.runnable, "reason": device.reason} for device in found
        }
        usable = [device.backend for device in found if device.runnable and (device.backend != "cpu" or cpu_lanes())]
        if usable:
            return Diagnostic(check="engines", status="ok", summary=f"lanes run on {', '.join(usable)}", facts=facts)
        if any(device.runnable for device in found):
            return Diagnostic(
                check="engines",
                status="warning",
                summary="only the processor can compute here, and lanes on it are off",
                remedy="Turn on the setting cpu_lanes",
                facts=facts,
            )
        return Diagnostic(check="engines", status="error", summary="no engine can run on this machine", facts=facts)

    return engines


def database_check(opening: Opening) -> Check:
    """The database file, and how it was found when the service started."""

    def check_database() -> Diagnostic:
        facts: dict[str, Any] = {"path": str(opening.path), "state": opening.state}
        if opening.kept is not None:
            facts["kept"] = str(opening.kept)
        try:
            facts["bytes"] = opening.path.stat().st_size
        except OSError as error:
            return Diagnostic(
                check="database",
                status="error",
                summary=f"{opening.path} can't be read ({error.strerror})",
                remedy="Restart the service; something removed its database",
                facts=facts,
            )
        if opening.problem is not None:
            return Diagnostic(
                check="database",
                status="warning",
                summary=f"at the start of the service: {opening.problem}",
                remedy=(
                    f"It was begun anew, and the old file is kept as {opening.kept}. Download and load your models"
                    " again: files that are still here are not fetched twice"
                    if opening.state == "rebuilt"
                    else "Look whether your latest models and jobs are there, and ask again for those that are not"
                ),
                facts=facts,
            )
        return Diagnostic(check="database", status="ok", summary=f"{opening.path} is in use", facts=facts)

    return check_database


def log_check(logs: Logs) -> Check:
    """The log reaches the disk."""

    def check_log() -> Diagnostic:
        facts = {"file": None if logs.file is None else str(logs.file), "lost_lines": logs.lost_lines}
        if logs.file is None or logs.lost_lines:
            return Diagnostic(
                check="log",
                status="warning",
                summary="log lines don't reach the disk",
                remedy="Check the log folder and the free space; the latest entries are in memory",
                facts=facts,
            )
        return Diagnostic(check="log", status="ok", summary=f"the log is {logs.file}", facts=facts)

    return check_log


def _existing(folder: Path) -> Path:
    return next(path for path in (folder, *folder.parents) if path.exists())


def _without_home(found: Diagnostic, home: str) -> Diagnostic:
    if home in ("", "/"):
        return found

    def shorten(value: Any) -> Any:
        if isinstance(value, str):
            return "~" if value == home else value.replace(home + os.sep, "~" + os.sep)
        if isinstance(value, list):
            return [shorten(item) for item in value]
        if isinstance(value, dict):
            return {key: shorten(item) for key, item in value.items()}
        return value

    changes = {name: shorten(getattr(found, name)) for name in ("summary", "remedy", "facts")}
    return msgspec.structs.replace(found, **changes)
