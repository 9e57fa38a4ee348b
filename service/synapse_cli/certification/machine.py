"""The machine that a record is about: what it is, and a digest that tells it apart without naming it.

A device's own id would make every record of it linkable to its owner, so it never leaves this module. What a record
holds is a digest over a salt of 32 random bytes, which stays in a private file on this machine:

    SHA-256( domain ‖ 0x00 ‖ salt ‖ id )

``domain`` is ``synapse/platform-uuid/v1`` or ``synapse/gpu-uuid/v1``, ``id`` the id's text in lower case, in UTF-8.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import re
import secrets
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from synapse_cli.reporting import CommandError

PLATFORM_DOMAIN: Final = b"synapse/platform-uuid/v1"
GPU_DOMAIN: Final = b"synapse/gpu-uuid/v1"
SALT_BYTES: Final = 32

_TOOL_S: Final = 10.0


@dataclass(frozen=True, slots=True, repr=False)
class Secret:
    """An id that must not be printed, logged or written."""

    value: str

    def digest(self, domain: bytes, salt: bytes) -> str:
        """What may be written in its place, in hex."""
        return hashlib.sha256(domain + b"\0" + salt + self.value.lower().encode()).hexdigest()

    def __repr__(self) -> str:
        return "Secret(...)"


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU, as its driver names it."""

    name: str
    driver: str
    uuid: Secret


@dataclass(frozen=True, slots=True)
class Machine:
    """This machine. ``architecture`` is in lower case, ``uuid`` is None where the system has none to read."""

    system: str
    architecture: str
    chip: str
    uuid: Secret | None
    gpus: tuple[Gpu, ...] = ()


def this_machine() -> Machine:
    """What can be found out without a service. Starts small system programs."""
    return Machine(
        system=sys.platform,
        architecture=platform.machine().lower(),
        chip=_chip(),
        uuid=_platform_uuid(),
        gpus=read_gpus(_output("nvidia-smi", "--query-gpu=name,driver_version,uuid", "--format=csv,noheader")),
    )


def read_gpus(listing: str | None) -> tuple[Gpu, ...]:
    """The GPUs in a driver's list; lines that are none are left out."""
    gpus = []
    for line in (listing or "").splitlines():
        parts = [part.strip() for part in line.split(",")]
        if len(parts) == 3 and parts[2].startswith(("GPU-", "MIG-")):
            gpus.append(Gpu(parts[0], parts[1], Secret(parts[2])))
    return tuple(gpus)


def read_ioreg(listing: str | None) -> Secret | None:
    """The platform's id in what ``ioreg`` prints."""
    found = re.search(r'"IOPlatformUUID"\s*=\s*"([0-9A-Fa-f-]{36})"', listing or "")
    return None if found is None else Secret(found.group(1))


def _platform_uuid() -> Secret | None:
    if sys.platform == "darwin":
        return read_ioreg(_output("/usr/sbin/ioreg", "-rd1", "-c", "IOPlatformExpertDevice"))
    try:
        text = Path("/etc/machine-id").read_text().strip()
    except OSError:
        return None
    return Secret(text) if re.fullmatch(r"[0-9a-f]{32}", text) else None


def _chip() -> str:
    if sys.platform == "darwin":
        return (_output("/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string") or "unknown").strip()
    return platform.processor() or "unknown"


def _output(*command: str) -> str | None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TOOL_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def default_salt_file() -> Path:
    """Where the salt of this user lies."""
    import platformdirs

    return platformdirs.user_data_path("synapse", appauthor=False) / "certification.salt"


def read_salt(file: Path) -> bytes:
    """The salt, made when there is none. Raises CommandError when it can't be kept, or is not what it should be.

    Records of one machine can be told to be of one machine only while the salt stays, so it is never replaced.
    """
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not file.exists():
            _make_salt(file)
        salt = file.read_bytes()
    except OSError as error:
        raise CommandError(
            "salt_unreadable", f"the salt {file} can't be read or made ({error.strerror})", "Give another with --salt."
        ) from error
    if len(salt) != SALT_BYTES:
        raise CommandError(
            "salt_damaged",
            f"the salt {file} has {len(salt)} bytes, not {SALT_BYTES}",
            "Put it back from a copy, or move it away: then later records can't be compared with earlier ones.",
        )
    return salt


def _make_salt(file: Path) -> None:
    """Make it whole or not at all; of two runs that are the first, one does. Raises OSError."""
    temporary = file.with_name(f".{file.name}.{os.getpid()}.tmp")
    try:
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as stream:
            stream.write(secrets.token_bytes(SALT_BYTES))
            stream.flush()
            os.fsync(stream.fileno())
        # Unlike a rename, this never replaces what is there.
        with contextlib.suppress(FileExistsError):
            os.link(temporary, file)
    finally:
        temporary.unlink(missing_ok=True)
