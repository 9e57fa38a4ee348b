"""The CUDA probe in its own process, against a fake driver library that speaks the real one's ABI."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from synapse_engines import devices
from synapse_engines.devices import CudaRecord, Host, probe_cuda, read_cuda

FAKE = Path(__file__).parent.parent / "fixtures" / "fake_cuda.c"
COMPILER = shutil.which("cc")
PROBE = (sys.executable, "-I", "-m", "synapse_engines.cuda_probe")

pytestmark = pytest.mark.skipif(
    COMPILER is None or sys.platform != "linux", reason="the fake driver is compiled here, for Linux"
)

Driver = Callable[[str], None]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("driver")
    assert COMPILER is not None
    subprocess.run(
        [COMPILER, "-shared", "-fPIC", "-o", str(folder / "libcuda.so.1"), str(FAKE)], check=True, timeout=60
    )
    return folder


@pytest.fixture
def driver(library: Path, monkeypatch: pytest.MonkeyPatch) -> Driver:
    """Let the machine have a driver that reports what the words say."""
    monkeypatch.setenv("LD_LIBRARY_PATH", os.pathsep.join([str(library), os.environ.get("LD_LIBRARY_PATH", "")]))
    return lambda words: monkeypatch.setenv("FAKE_CUDA", words)


@pytest.mark.parametrize(
    ("words", "record"),
    [
        ("driver=12040 device=7.5", CudaRecord(12040, ((7, 5),))),
        ("driver=13000 device=9.0 device=7.0 device=12.1", CudaRecord(13000, ((9, 0), (7, 0), (12, 1)))),
        ("driver=12040", CudaRecord(12040, ())),
        ("noise driver=12040 device=9.0", CudaRecord(12040, ((9, 0),))),
        ("crash_at_exit driver=12040 device=9.0", CudaRecord(12040, ((9, 0),))),
    ],
    ids=["floor", "several", "none", "chatty", "crashes at exit"],
)
def test_what_a_driver_reports_is_read(driver: Driver, words: str, record: CudaRecord) -> None:
    driver(words)
    assert read_cuda(PROBE, 20) == record


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("init=100 driver=12040 device=9.0", "cuInit answered 100"),
        ("init=999", "cuInit answered 999"),
        ("count=3 driver=12040 device=9.0", "cuDeviceGetCount answered 3"),
        ("attribute=1 driver=12040 device=9.0", "cuDeviceGetAttribute answered 1"),
        ("crash driver=12040 device=9.0", "the probe failed"),
    ],
)
def test_a_driver_that_refuses_or_crashes_is_no_evidence(driver: Driver, words: str, complaint: str) -> None:
    driver(words)
    answer = read_cuda(PROBE, 20)
    assert isinstance(answer, str)
    assert complaint in answer


def test_a_driver_that_hangs_is_given_up_and_its_process_is_gone(driver: Driver) -> None:
    driver("hang")
    answer = read_cuda(PROBE, 1.5)
    assert isinstance(answer, str)
    assert "timed out" in answer


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("driver=12040 device=7.5", "worker_missing"),
        ("driver=12030 device=9.0", "device_below_floor"),
        ("driver=12040 device=7.4", "device_below_floor"),
        ("driver=12040", "device_missing"),
        ("crash", "device_missing"),
    ],
)
def test_the_judgement_follows_what_the_process_found(driver: Driver, words: str, reason: str) -> None:
    driver(words)
    host = devices.this_host()
    machine = Host(
        platform="linux",
        machine="x86_64",
        has_module=host.has_module,
        has_distribution=lambda name: False,
        processor_flags=host.processor_flags,
        cuda=host.cuda,
    )
    assert probe_cuda(machine).reason == reason
