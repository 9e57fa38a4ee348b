"""The machine that a certification is valid for: what could change a number, and nothing that names its owner.

On Linux the operating system counts as distribution and major version; the kernel's release is recorded beside it
but is not part of the identity, because it changes with every update and no engine of ours depends on it. Nor are the
builds of the engines, which are in every fingerprint already, nor the digest of the machine's own id: it tells two
machines apart in reports, and a container that draws a new one computes the same numbers.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from synapse_service.engine_builds import ENGINE_BUILDS
from synapse_service.lanes.fingerprint import canonical_sha256

_SALT: Final = b"synapse: machine profile\0"
_MACHINE_IDS: Final = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"))


class MachineProfile(msgspec.Struct, frozen=True, kw_only=True):
    """What identifies a machine for certification.

    ``kernel``, ``engine_builds`` and ``platform_uuid_sha256`` are facts on record, not part of ``id``. The last is the
    salted digest of the id that the operating system keeps of the machine, which itself is nowhere kept; None where
    the system has none.
    """

    system: str
    os_build: str
    architecture: str
    chip: str
    kernel: str
    engine_builds: dict[str, str] = msgspec.field(default_factory=dict)
    platform_uuid_sha256: str | None = None

    @property
    def id(self) -> str:
        identity = msgspec.to_builtins(self)
        for fact in ("kernel", "engine_builds", "platform_uuid_sha256"):
            del identity[fact]
        return canonical_sha256(identity)


def this_machine() -> MachineProfile:
    """The machine that we run on."""
    return MachineProfile(
        system=sys.platform,
        os_build=_os_build(),
        architecture=platform.machine(),
        chip=_chip(),
        kernel=platform.release(),
        engine_builds=dict(ENGINE_BUILDS),
        platform_uuid_sha256=uuid_digest(_platform_uuid()),
    )


def uuid_digest(uuid: str | None) -> str | None:
    """The salted digest under which a machine's own id appears, so that no other program's digest of it is the same."""
    if not uuid:
        return None
    return hashlib.sha256(_SALT + uuid.strip().lower().encode()).hexdigest()


def _platform_uuid() -> str | None:
    """The id that the operating system keeps of this machine, in whatever form; None if it doesn't tell."""
    try:
        if sys.platform == "darwin":
            return _ioreg_uuid()
        if sys.platform == "win32":
            import winreg

            with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, r"SOFTWARE\Microsoft\Cryptography") as key:
                return str(winreg.QueryValueEx(key, "MachineGuid")[0])
        return machine_id(_MACHINE_IDS)
    except (OSError, subprocess.SubprocessError):
        return None


def machine_id(paths: Sequence[Path]) -> str | None:
    """The first id that one of these files holds."""
    for path in paths:
        try:
            text = path.read_text(encoding="ascii", errors="replace").strip()
        except OSError:
            continue
        if text and text != "uninitialized":
            return text
    return None


def _ioreg_uuid() -> str | None:
    told = subprocess.run(
        ["/usr/sbin/ioreg", "-rd1", "-c", "IOPlatformExpertDevice"],
        capture_output=True,
        text=True,
        check=True,
        timeout=5,
    ).stdout
    found = re.search(r'"IOPlatformUUID" = "([^"]+)"', told)
    return found[1] if found else None


def _os_build() -> str:
    if sys.platform == "darwin":
        return _sysctl("kern.osversion")
    if sys.platform == "win32":
        return platform.version()
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        return "linux"
    return f"{release.get('ID', 'linux')}-{release.get('VERSION_ID', '0').split('.')[0]}"


def _chip() -> str:
    if sys.platform == "darwin":
        return _sysctl("machdep.cpu.brand_string")
    if sys.platform == "win32":
        return os.environ.get("PROCESSOR_IDENTIFIER", "unknown")
    return chip_name(Path("/proc/cpuinfo"))


def chip_name(cpuinfo: Path) -> str:
    """The processor's name out of the kernel's description of it; ``unknown`` if it has none."""
    try:
        lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return "unknown"
    for line in lines:
        key, _, value = line.partition(":")
        if key.strip() in ("model name", "Model"):
            return value.strip()
    return "unknown"


def _sysctl(name: str) -> str:
    return subprocess.run(
        ["/usr/sbin/sysctl", "-n", name], capture_output=True, text=True, check=True, timeout=5
    ).stdout.strip()
