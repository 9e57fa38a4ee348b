"""What this machine can run, and why not: one record of evidence for each kind of device.

Called by the service, which shows the reasons and refuses lanes by them before it does any I/O. Decisions are pure
functions of a `Host`, so every machine can be tested on any machine. Imports no engine and no array library; what
`this_host` returns reads a file and starts one short-lived process when it is asked about CUDA.
"""

from __future__ import annotations

import ctypes
import importlib.metadata
import importlib.util
import json
import platform
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Device = Literal["metal", "ane", "cuda", "vulkan", "cpu"]
Reason = Literal["not_supported_on_platform", "device_missing", "device_below_floor", "worker_missing"]

CUDA_DRIVER_FLOOR = 12040
"""Lowest driver API version: CUDA 12.4, as 1000 * major + 10 * minor. The MLX builds for CUDA need it."""

CUDA_CAPABILITY_FLOOR = (7, 5)
"""Lowest compute capability. The MLX builds for CUDA hold no code for older devices."""

_X86 = frozenset({"x86_64", "amd64"})
_ARM = frozenset({"arm64", "aarch64"})
_CUDA_PLATFORMS = frozenset({"linux", "win32"})
_CUDA_BUILDS_OF_MLX = ("mlx-cuda-12", "mlx-cuda-13")
_CUDA_PROBE = (sys.executable, "-I", "-m", "synapse_engines.cuda_probe")
_CUDA_PROBE_S = 10.0


@dataclass(frozen=True, slots=True)
class DeviceEvidence:
    """Whether lanes of one kind can run here.

    Attributes:
        backend: the kind of device.
        reason: why not, None if they can.
        facts: what that was judged by, for people to read.
    """

    backend: Device
    reason: Reason | None
    facts: Mapping[str, str] = field(default_factory=dict)

    @property
    def runnable(self) -> bool:
        return self.reason is None


@dataclass(frozen=True, slots=True)
class CudaRecord:
    """What the NVIDIA driver reports.

    Attributes:
        driver_api: version of its API, 1000 * major + 10 * minor.
        capabilities: compute capability of each device that it lists, in its order.
    """

    driver_api: int
    capabilities: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Host:
    """The machine and the installation, as far as the judgements below look at them.

    Attributes:
        platform: as `sys.platform`.
        machine: name of the processor architecture, lower case.
        has_module: whether a Python module is installed, found without importing it.
        has_distribution: whether a Python distribution is installed.
        processor_flags: the processor's feature flags, None where the system does not list them.
        cuda: what the NVIDIA driver reports, or a few words on why it reports nothing usable. May take seconds.
    """

    platform: str
    machine: str
    has_module: Callable[[str], bool]
    has_distribution: Callable[[str], bool]
    processor_flags: Callable[[], frozenset[str] | None]
    cuda: Callable[[], CudaRecord | str]


def probe_metal(host: Host) -> DeviceEvidence:
    """Apple's GPU, computed on by MLX. Every Mac with Apple silicon has one."""
    facts = {"platform": host.platform, "machine": host.machine}
    if not _apple_silicon(host):
        return DeviceEvidence("metal", "not_supported_on_platform", facts)
    return DeviceEvidence("metal", None if host.has_module("mlx.core") else "worker_missing", facts)


def probe_ane(host: Host) -> DeviceEvidence:
    """Apple's Neural Engine. No worker of this build computes on it."""
    facts = {"platform": host.platform, "machine": host.machine}
    return DeviceEvidence("ane", "worker_missing" if _apple_silicon(host) else "not_supported_on_platform", facts)


def probe_cuda(host: Host) -> DeviceEvidence:
    """NVIDIA's GPUs, computed on by MLX. The first device decides, since that is the one that MLX takes."""
    if host.platform not in _CUDA_PLATFORMS or host.machine not in _X86 | _ARM:
        return DeviceEvidence("cuda", "not_supported_on_platform", {"platform": host.platform})
    record = host.cuda()
    if isinstance(record, str):
        return DeviceEvidence("cuda", "device_missing", {"driver": record})
    if not record.capabilities:
        return DeviceEvidence("cuda", "device_missing", {"driver_api": str(record.driver_api), "devices": "0"})
    capability = record.capabilities[0]
    facts = {
        "driver_api": str(record.driver_api),
        "compute_capability": f"{capability[0]}.{capability[1]}",
        "devices": str(len(record.capabilities)),
    }
    if record.driver_api < CUDA_DRIVER_FLOOR or capability < CUDA_CAPABILITY_FLOOR:
        return DeviceEvidence("cuda", "device_below_floor", facts)
    has_worker = host.has_module("mlx.core") and any(map(host.has_distribution, _CUDA_BUILDS_OF_MLX))
    return DeviceEvidence("cuda", None if has_worker else "worker_missing", facts)


def probe_vulkan(_host: Host) -> DeviceEvidence:
    """Vulkan is a name that clients may use and that no worker stands behind."""
    return DeviceEvidence("vulkan", "worker_missing")


def probe_cpu(host: Host) -> DeviceEvidence:
    """The processor, computed on by OpenVINO. On x86 it needs AVX2, without which lanes would be uselessly slow."""
    facts = {"machine": host.machine}
    if host.machine not in _X86 | _ARM:
        return DeviceEvidence("cpu", "not_supported_on_platform", facts)
    if host.machine in _X86:
        flags = host.processor_flags()
        facts["avx2"] = "unknown" if flags is None else "yes" if "avx2" in flags else "no"
        if facts["avx2"] == "no":
            return DeviceEvidence("cpu", "device_below_floor", facts)
    return DeviceEvidence("cpu", None if host.has_module("openvino") else "worker_missing", facts)


PROBES: Mapping[str, Callable[[Host], DeviceEvidence]] = {
    "metal": probe_metal,
    "ane": probe_ane,
    "cuda": probe_cuda,
    "vulkan": probe_vulkan,
    "cpu": probe_cpu,
}
"""The judgement of each kind of device, in the order in which they are shown."""


def _apple_silicon(host: Host) -> bool:
    return host.platform == "darwin" and host.machine == "arm64"


def this_host() -> Host:
    """The machine that this process runs on."""
    return Host(
        platform=sys.platform,
        machine=platform.machine().lower(),
        has_module=module_installed,
        has_distribution=distribution_installed,
        processor_flags=read_processor_flags,
        cuda=lambda: read_cuda(_CUDA_PROBE, _CUDA_PROBE_S),
    )


def module_installed(name: str) -> bool:
    """Whether `name` can be imported. Of a submodule, the parents are imported to find out."""
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def distribution_installed(name: str) -> bool:
    """Whether the distribution `name` is installed."""
    try:
        importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


if sys.platform == "win32":
    _PF_AVX2_INSTRUCTIONS_AVAILABLE = 40

    def read_processor_flags() -> frozenset[str] | None:
        """Of all flags only avx2, which Windows can be asked about."""
        present = ctypes.windll.kernel32.IsProcessorFeaturePresent(_PF_AVX2_INSTRUCTIONS_AVAILABLE)
        return frozenset({"avx2"}) if present else frozenset()

else:

    def read_processor_flags(cpuinfo: Path = Path("/proc/cpuinfo")) -> frozenset[str] | None:
        """The flags of the first processor that Linux lists; None on systems that list none."""
        try:
            with cpuinfo.open(encoding="utf-8", errors="replace") as lines:
                for line in lines:
                    name, _, value = line.partition(":")
                    if name.strip() == "flags":
                        return frozenset(value.split())
        except OSError:
            pass
        return None


def read_cuda(command: tuple[str, ...], timeout_s: float) -> CudaRecord | str:
    """Runs the CUDA probe and returns what it found, or why it found nothing: no driver, a crash, a hang, nonsense."""
    try:
        finished = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout_s, check=True)
        found = json.loads(finished.stdout.rstrip().rpartition(b"\n")[2])
        if "error" in found:
            return str(found["error"])
        return CudaRecord(
            driver_api=int(found["driver_api"]),
            capabilities=tuple((int(major), int(minor)) for major, minor in found["devices"]),
        )
    except (OSError, subprocess.SubprocessError) as error:
        return f"the probe failed: {error}"
    except (ValueError, KeyError, TypeError):
        return "the probe answered nonsense"
