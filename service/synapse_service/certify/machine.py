"""The machine that a certification is valid for: what could change a number, and nothing that names its owner.

On Linux the operating system counts as distribution and major version; the kernel's release is recorded beside it
but is not part of the identity, because it changes with every update and no engine of ours depends on it.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import msgspec

from synapse_service.lanes.fingerprint import canonical_sha256


class MachineProfile(msgspec.Struct, frozen=True, kw_only=True):
    """What identifies a machine for certification. ``kernel`` is a fact on record, not part of ``id``."""

    system: str
    os_build: str
    architecture: str
    chip: str
    kernel: str

    @property
    def id(self) -> str:
        identity = msgspec.to_builtins(self)
        del identity["kernel"]
        return canonical_sha256(identity)


def this_machine() -> MachineProfile:
    """The machine that we run on."""
    return MachineProfile(
        system=sys.platform,
        os_build=_os_build(),
        architecture=platform.machine(),
        chip=_chip(),
        kernel=platform.release(),
    )


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
