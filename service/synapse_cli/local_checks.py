"""What `synapse doctor` can find out when no service answers: address, folder, lock, space, engines.

Everything here looks and changes nothing; in particular the lock is never tried, because a service that starts at
that moment would find it taken. A running service examines itself, and knows more.
"""

from __future__ import annotations

import os
import shutil
import stat
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from synapse_client import ClientError, EndpointRefused, NoReply
from synapse_wire.endpoint import MAX_SOCKET_PATH_BYTES, Endpoint
from synapse_wire.results import Diagnostic

LOCK_NAME: Final = "service.lock"
LOW_SPACE_BYTES: Final = 2 * 1024**3
"""Below this a usual model no longer fits."""

ENGINES: Final = {"owned-cpu": "openvino", "owned-metal": "mlx"}
"""Which package an engine needs. Whether the machine can run it, only the service knows."""


def examine(endpoint: Endpoint, home: Path | None, failure: ClientError) -> list[Diagnostic]:
    """All local checks; ``failure`` is what came of asking the service."""
    checks = [service_check(failure), address_check(endpoint)]
    if os.name != "nt":
        checks += [folder_check(endpoint.directory), socket_check(Path(endpoint.address))]
    checks += [lock_check(endpoint.directory / LOCK_NAME), disk_check(home or Path.home())]
    checks += [engine_check(engine, package) for engine, package in ENGINES.items()]
    return checks


def service_check(failure: ClientError) -> Diagnostic:
    """Why the service didn't answer. That none runs is normal; that one runs and is silent is not."""
    serious = isinstance(failure, NoReply | EndpointRefused)
    return Diagnostic(
        check="service",
        status="error" if serious else "warning",
        summary=failure.message,
        remedy=failure.remedy,
        facts={"code": failure.code},
    )


def address_check(endpoint: Endpoint) -> Diagnostic:
    """Where the service would listen, and why not in the usual place."""
    length = len(os.fsencode(endpoint.address))
    facts = {"address": endpoint.address, "bytes": length, "limit": MAX_SOCKET_PATH_BYTES}
    if endpoint.notes:
        return Diagnostic(check="address", status="warning", summary="; ".join(endpoint.notes), facts=facts)
    summary = f"{endpoint.address} ({length} of {MAX_SOCKET_PATH_BYTES} bytes)"
    return Diagnostic(check="address", status="ok", summary=summary, facts=facts)


def folder_check(folder: Path) -> Diagnostic:
    """The folder of the socket belongs to this user, and to nobody else."""
    try:
        status = folder.stat()
    except FileNotFoundError:
        return Diagnostic(check="folder", status="ok", summary=f"{folder} doesn't exist yet; the service makes it")
    except OSError as error:
        return Diagnostic(
            check="folder",
            status="error",
            summary=f"{folder} can't be looked into ({error.strerror})",
            remedy="Look at the permissions of the folders above it.",
        )
    mode = stat.S_IMODE(status.st_mode)
    facts = {"mode": f"{mode:04o}", "uid": status.st_uid}
    if not stat.S_ISDIR(status.st_mode):
        problem, remedy = "is not a folder", "Move it away."
    elif status.st_uid != os.getuid():
        problem, remedy = (
            f"belongs to user {status.st_uid}",
            "Move it away, or set SYNAPSE_RUNTIME_DIR to another folder.",
        )
    elif mode & 0o077:
        problem, remedy = f"is open to other users (mode {mode:04o})", f"Run `chmod 700 {folder}`."
    else:
        return Diagnostic(check="folder", status="ok", summary=f"{folder} is private", facts=facts)
    return Diagnostic(check="folder", status="error", summary=f"{folder} {problem}", remedy=remedy, facts=facts)


def socket_check(address: Path) -> Diagnostic:
    """What lies at the address. A left-over socket is harmless, anything else keeps the service from starting."""
    try:
        status = address.lstat()
    except FileNotFoundError:
        return Diagnostic(check="socket", status="ok", summary="nothing is in its place")
    except OSError as error:
        return Diagnostic(check="socket", status="error", summary=f"{address} can't be looked at ({error.strerror})")
    if stat.S_ISSOCK(status.st_mode) and status.st_uid == os.getuid():
        return Diagnostic(check="socket", status="ok", summary="a socket of this user is there")
    return Diagnostic(
        check="socket",
        status="error",
        summary=f"{address} is there and is not a socket of this user",
        remedy="Look at what it is and move it away; the service never deletes it.",
    )


def lock_check(lock_file: Path) -> Diagnostic:
    """Which process says that it is the service, and whether that process exists."""
    try:
        text = lock_file.read_bytes()[:32]
    except FileNotFoundError:
        return Diagnostic(check="lock", status="ok", summary="no service has run here yet")
    except OSError as error:
        return Diagnostic(check="lock", status="warning", summary=f"{lock_file} can't be read ({error.strerror})")
    if not text.strip().isdigit():
        return Diagnostic(check="lock", status="ok", summary="no process holds it")
    pid = int(text)
    name = _process_name(pid)
    facts = {"pid": pid, "process": name}
    if name is None:
        return Diagnostic(check="lock", status="ok", summary=f"left by process {pid}, which has ended", facts=facts)
    return Diagnostic(
        check="lock",
        status="warning",
        summary=f"process {pid} ({name}) took it",
        remedy=f"If that is a service that doesn't react, end process {pid}.",
        facts=facts,
    )


def _process_name(pid: int) -> str | None:
    import psutil

    try:
        return psutil.Process(pid).name()
    except psutil.AccessDenied:
        return "unknown"
    except (psutil.NoSuchProcess, OverflowError):
        return None


def disk_check(folder: Path) -> Diagnostic:
    """Free space where Synapse keeps its files, or would."""
    existing = next((path for path in (folder, *folder.absolute().parents) if path.exists()), Path("/"))
    free = shutil.disk_usage(existing).free
    facts = {"path": str(existing), "free_bytes": free}
    summary = f"{free / 1024**3:.1f} GiB free at {existing}"
    if free < LOW_SPACE_BYTES:
        remedy = "Free some space before loading a model."
        return Diagnostic(check="disk", status="warning", summary=summary, remedy=remedy, facts=facts)
    return Diagnostic(check="disk", status="ok", summary=summary, facts=facts)


def engine_check(engine: str, package: str) -> Diagnostic:
    """Whether the library of an engine is installed."""
    try:
        summary = f"{package} {version(package)} is installed"
    except PackageNotFoundError:
        summary = f"not available: {package} is not installed"
    return Diagnostic(check=f"engine {engine}", status="ok", summary=summary)
