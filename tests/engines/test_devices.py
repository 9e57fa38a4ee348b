"""Every machine's judgement, on any machine: what a host reports decides, and nothing else."""

from __future__ import annotations

import ctypes
import dataclasses
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from synapse_engines.cuda_probe import DriverUnusable, query
from synapse_engines.devices import (
    PROBES,
    CudaRecord,
    DeviceEvidence,
    Host,
    distribution_installed,
    module_installed,
    probe_ane,
    probe_cpu,
    probe_cuda,
    probe_metal,
    probe_vulkan,
    read_cuda,
    read_processor_flags,
    this_host,
)

GOOD_CARD = CudaRecord(12040, ((7, 5),))


def host(
    platform: str = "linux",
    machine: str = "x86_64",
    *,
    modules: tuple[str, ...] = ("openvino", "mlx.core"),
    distributions: tuple[str, ...] = ("mlx-cuda-12",),
    flags: frozenset[str] | None = frozenset({"sse4_2", "avx2"}),
    cuda: CudaRecord | str = GOOD_CARD,
) -> Host:
    return Host(
        platform=platform,
        machine=machine,
        has_module=lambda name: name in modules,
        has_distribution=lambda name: name in distributions,
        processor_flags=lambda: flags,
        cuda=lambda: cuda,
    )


MAC = host("darwin", "arm64", modules=("openvino", "mlx.core"))


@pytest.mark.parametrize(
    ("machine", "reason"),
    [
        (MAC, None),
        (host("darwin", "arm64", modules=()), "worker_missing"),
        (host("darwin", "x86_64"), "not_supported_on_platform"),
        (host("linux", "aarch64"), "not_supported_on_platform"),
        (host("win32", "arm64"), "not_supported_on_platform"),
    ],
)
def test_metal_needs_apple_silicon_and_mlx(machine: Host, reason: str | None) -> None:
    evidence = probe_metal(machine)
    assert (evidence.backend, evidence.reason, evidence.runnable) == ("metal", reason, reason is None)


def test_the_neural_engine_has_no_worker_yet() -> None:
    assert probe_ane(MAC).reason == "worker_missing"
    assert probe_ane(host()).reason == "not_supported_on_platform"


def test_vulkan_is_known_and_never_runnable() -> None:
    assert probe_vulkan(host()) == DeviceEvidence("vulkan", "worker_missing", {})
    assert not probe_vulkan(host()).runnable


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (CudaRecord(12040, ((7, 5),)), None),
        (CudaRecord(13000, ((10, 0),)), None),
        (CudaRecord(12030, ((9, 0),)), "device_below_floor"),
        (CudaRecord(12040, ((7, 4),)), "device_below_floor"),
        (CudaRecord(12040, ((7, 0),)), "device_below_floor"),
        # The first device is the one that would be used.
        (CudaRecord(12040, ((7, 0), (9, 0))), "device_below_floor"),
        (CudaRecord(12040, ((9, 0), (7, 0))), None),
        (CudaRecord(12040, ()), "device_missing"),
        ("no driver", "device_missing"),
    ],
)
def test_cuda_needs_driver_12040_and_capability_7_5(record: CudaRecord | str, reason: str | None) -> None:
    assert probe_cuda(host(cuda=record)).reason == reason


def test_cuda_evidence_says_what_it_was_judged_by() -> None:
    assert probe_cuda(host(cuda=CudaRecord(12030, ((8, 6), (8, 6))))).facts == {
        "driver_api": "12030",
        "compute_capability": "8.6",
        "devices": "2",
    }
    assert probe_cuda(host(cuda="no driver: libcuda.so.1")).facts == {"driver": "no driver: libcuda.so.1"}


@pytest.mark.parametrize(
    ("machine", "reason"),
    [
        (host(distributions=("mlx-cuda-13",)), None),
        (host(distributions=("mlx-cpu",)), "worker_missing"),
        (host(modules=("openvino",)), "worker_missing"),
        (host("win32", "amd64"), None),
        (host("linux", "riscv64"), "not_supported_on_platform"),
        (MAC, "not_supported_on_platform"),
    ],
)
def test_cuda_needs_mlx_built_for_it(machine: Host, reason: str | None) -> None:
    assert probe_cuda(machine).reason == reason


def test_the_driver_is_not_asked_where_there_can_be_none() -> None:
    def asked() -> CudaRecord:
        raise AssertionError("asked")

    assert probe_cuda(dataclasses.replace(MAC, cuda=asked)).reason == "not_supported_on_platform"


@pytest.mark.parametrize(
    ("machine", "reason", "avx2"),
    [
        (host(), None, "yes"),
        (host(machine="amd64", platform="win32"), None, "yes"),
        (host(flags=frozenset({"sse4_2", "avx"})), "device_below_floor", "no"),
        (host(flags=None), None, "unknown"),
        (host(modules=()), "worker_missing", "yes"),
        (host(machine="aarch64", flags=frozenset({"asimd"})), None, None),
        (MAC, None, None),
        (host(machine="riscv64"), "not_supported_on_platform", None),
    ],
)
def test_cpu_needs_a_known_architecture_with_avx2_and_openvino(
    machine: Host, reason: str | None, avx2: str | None
) -> None:
    evidence = probe_cpu(machine)
    assert (evidence.reason, evidence.facts.get("avx2")) == (reason, avx2)


def test_all_kinds_are_reported_in_one_order() -> None:
    assert [probe(host()).backend for probe in PROBES.values()] == ["metal", "ane", "cuda", "vulkan", "cpu"]


# How this machine is read.


def test_flags_are_those_of_the_first_processor(tmp_path: Path) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("processor\t: 0\nvmx flags\t: ept\nflags\t\t: fpu avx avx2\n\nflags\t: other\n")
    assert read_processor_flags(cpuinfo) == {"fpu", "avx", "avx2"}


def test_a_system_that_lists_no_flags_is_unknown(tmp_path: Path) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    assert read_processor_flags(cpuinfo) is None
    cpuinfo.write_text("Features : fp asimd\n")
    assert read_processor_flags(cpuinfo) is None


def test_modules_and_distributions_are_found_by_name() -> None:
    assert module_installed("numpy.linalg")
    assert not module_installed("no_such_module_1.core")
    assert distribution_installed("pytest")
    assert not distribution_installed("no-such-distribution-1")


def test_looking_at_this_machine_imports_no_engine() -> None:
    program = (
        "import sys\n"
        "from synapse_engines.devices import PROBES, this_host\n"
        "[probe(this_host()) for probe in PROBES.values()]\n"
        "print([name for name in ('numpy', 'openvino', 'openvino_telemetry', 'mlx.core') if name in sys.modules])\n"
    )
    finished = subprocess.run((sys.executable, "-c", program), capture_output=True, text=True, timeout=60)
    assert (finished.stdout, finished.stderr) == ("[]\n", "")


@pytest.mark.skipif(sys.platform != "linux", reason="reads what Linux reports")
def test_this_host_is_the_one_we_run_on() -> None:
    machine = this_host()
    assert machine.platform == "linux"
    assert machine.machine == machine.machine.lower() != ""


# The CUDA probe.


class FakeDriver:
    """A CUDA driver library with devices of the given capabilities."""

    def __init__(self, driver_api: int, capabilities: list[tuple[int, int]], init: int = 0, attribute: int = 0) -> None:
        self._driver_api = driver_api
        self._capabilities = capabilities
        self._init = init
        self._attribute = attribute

    def cuInit(self, flags: int) -> int:
        return self._init

    def cuDriverGetVersion(self, out: Any) -> int:
        out.contents.value = self._driver_api
        return 0

    def cuDeviceGetCount(self, out: Any) -> int:
        out.contents.value = len(self._capabilities)
        return 0

    def cuDeviceGet(self, out: Any, index: int) -> int:
        out.contents.value = 100 + index
        return 0

    def cuDeviceGetAttribute(self, out: Any, attribute: int, device: int) -> int:
        out.contents.value = self._capabilities[device - 100][attribute - 75]
        return self._attribute


def test_the_probe_reads_version_and_capabilities_of_all_devices() -> None:
    driver = FakeDriver(12040, [(9, 0), (7, 5)])
    assert query(lambda name: driver) == {"driver_api": 12040, "devices": [[9, 0], [7, 5]]}


@pytest.mark.parametrize(
    ("driver", "complaint"),
    [
        (FakeDriver(12040, [], init=100), "cuInit answered 100"),
        (FakeDriver(12040, [(9, 0)], attribute=1), "cuDeviceGetAttribute answered 1"),
    ],
)
def test_a_driver_that_refuses_a_call_is_unusable(driver: FakeDriver, complaint: str) -> None:
    with pytest.raises(DriverUnusable, match=complaint):
        query(lambda name: driver)


def test_a_machine_without_the_driver_says_so() -> None:
    with pytest.raises(DriverUnusable, match="no driver"):
        query(lambda name: ctypes.CDLL("libno_such_library_1.so"))


def program(text: str) -> tuple[str, ...]:
    return (sys.executable, "-c", text)


def test_what_the_probe_prints_is_read() -> None:
    printed = """print('{"driver_api": 12040, "devices": [[7, 5]]}')"""
    assert read_cuda(program(printed), 20) == GOOD_CARD
    assert read_cuda(program("""print('{"error": "no driver"}')"""), 20) == "no driver"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("import os; os.kill(os.getpid(), 11)", "the probe failed"),
        ("import time; time.sleep(60)", "the probe failed"),
        ("print('[1]')", "nonsense"),
        ("print('hello')", "nonsense"),
        ("""print('{"driver_api": 12040}')""", "nonsense"),
    ],
    ids=["crash", "hang", "list", "text", "half"],
)
def test_a_probe_that_crashes_hangs_or_talks_nonsense_is_no_evidence(text: str, complaint: str) -> None:
    timeout_s = 0.2 if "sleep" in text else 20
    answer = read_cuda(program(text), timeout_s)
    assert isinstance(answer, str)
    assert complaint in answer


def test_a_probe_that_cannot_be_started_is_no_evidence(tmp_path: Path) -> None:
    answer = read_cuda((str(tmp_path / "absent"),), 20)
    assert isinstance(answer, str)
    assert answer.startswith("the probe failed")
