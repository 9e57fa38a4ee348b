"""Bringing a worker up: what is proven before, what a refusal becomes, and that no process is left over."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from fixtures.expected_warnings import ExpectedWarnings
from fixtures.lanes import until
from fixtures.model_files import tiny_model
from fixtures.workers import scripted_launch
from synapse_engines.worker.protocol import BackendName, LoadSpec, Ready
from synapse_service.catalog.blobs import BlobStore
from synapse_service.certify.observations import Observations
from synapse_service.clock import SystemClock
from synapse_service.lanes.loader import Loader
from synapse_service.lanes.manifest import Manifest
from synapse_service.lanes.model import StoredFile
from synapse_service.lanes.registration import Registration, examine
from synapse_service.store.errors import StoreError
from synapse_service.workers.faults import WorkerCrashed, WorkerRefused
from synapse_service.workers.launch import Launch, worker_launch
from synapse_service.workers.process import WorkerProcess
from synapse_wire.errors import SynapseError
from synapse_wire.params import FileSpec, ModelFiles

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="workers are ended by POSIX signals here")

NAMES = {"config": "config.json", "tokenizer": "tokenizer.json", "model": "model.safetensors"}


class Values:
    """Self-test values in memory. `full` makes the database fail; `gate`, when set, holds writing back."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}
        self.gets: list[tuple[str, str]] = []
        self.puts = 0
        self.full = False
        self.gate: asyncio.Event | None = None

    async def get(self, fingerprint: str, artifact_digest: str) -> str | None:
        self.gets.append((fingerprint, artifact_digest))
        if self.full:
            raise StoreError("io_error", Path("/db"))
        return self.kept.get((fingerprint, artifact_digest))

    async def put(self, fingerprint: str, artifact_digest: str, values: str) -> None:
        self.puts += 1
        if self.gate is not None:
            await self.gate.wait()
        if self.full:
            raise StoreError("storage_full", Path("/db"))
        self.kept[fingerprint, artifact_digest] = values


class Bench:
    """A loader over the tiny model's files; its workers play a script unless told otherwise."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.values = Values()
        self.blobs = BlobStore(folder / "cache")
        self.blobs.prepare()
        self.model = self._register().lane_model("build-1")
        self.fingerprint = self.model.fingerprint
        self.launches = 0
        self.threads = 1
        self.play()
        self.loader = Loader(
            blobs=self.blobs,
            values=self.values,
            launch=self._launch,
            clock=SystemClock(),
            threads=lambda model: self.threads,
            observations=Observations(enabled=False),
        )

    def play(self, **script: Any) -> None:
        self.launch = scripted_launch(self.folder, dims=64, **script)

    def _launch(self, backend: BackendName) -> Launch:
        self.launches += 1
        return self.launch

    def _register(self) -> Registration:
        files, paths = {}, {}
        for role, name in NAMES.items():
            blob = self.blobs.adopt(tiny_model("bert") / name, None)
            files[role] = StoredFile(role, name, blob.sha256, blob.size)
            paths[role] = self.blobs.path(blob.sha256)
        spec = FileSpec(url="file:///x")
        manifest = Manifest(
            model_id="m",
            task="embed",
            engine="owned-cpu",
            source="file",
            files=ModelFiles(model=spec, tokenizer=spec, config=spec),
            max_tokens=64,
        )
        return examine(manifest, files, paths)  # type: ignore[arg-type]

    def blob(self, role: str) -> Path:
        return self.blobs.path(self.model.file(role).sha256)

    async def load(self) -> WorkerProcess:
        worker: WorkerProcess = (await self.loader.load(self.model)).worker
        return worker

    async def refusal(self) -> SynapseError:
        with pytest.raises(SynapseError) as caught:
            await self.load()
        return caught.value


@pytest.fixture
def bench(quick_dir: Path) -> Bench:
    return Bench(quick_dir)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[WorkerProcess]:
    """Every worker that is started during the test."""
    workers: list[WorkerProcess] = []
    start = WorkerProcess.start

    async def record(*args: Any, **options: Any) -> WorkerProcess:
        workers.append(await start(*args, **options))
        return workers[-1]

    monkeypatch.setattr(WorkerProcess, "start", record)
    return workers


# --- files ---


@pytest.mark.parametrize("role", ["config", "tokenizer", "model"])
async def test_a_blob_swapped_for_one_of_equal_size_is_refused_and_put_aside(bench: Bench, role: str) -> None:
    path = bench.blob(role)
    file = bench.model.file(role)
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    error = await bench.refusal()
    assert (error.code, error.class_, error.safe_to_retry_same_request) == ("artifact_invalid", "permanent", False)
    assert error.details is not None
    actual = error.details.pop("actual_sha256")
    assert len(actual) == 64
    assert actual != file.sha256
    assert error.details == {
        "file": NAMES[role],
        "expected_sha256": file.sha256,
        "expected_size": file.size,
        "actual_size": file.size,
        "recovery_op": "model.load",
    }
    assert bench.launches == 0
    assert not path.exists()
    assert (bench.blobs.root / "quarantine" / file.sha256).read_bytes() == data


async def test_a_missing_blob_is_refused_without_an_actual_digest(bench: Bench) -> None:
    file = bench.model.file("model")
    bench.blob("model").unlink()
    error = await bench.refusal()
    assert error.details == {
        "file": "model.safetensors",
        "expected_sha256": file.sha256,
        "actual_sha256": None,
        "expected_size": file.size,
        "actual_size": None,
        "recovery_op": "model.load",
    }


async def test_a_blob_that_can_not_be_read_is_refused_naming_it(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreadable(*_: Any) -> Path:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(bench.blobs, "verify", unreadable)
    error = await bench.refusal()
    assert error.code == "artifact_invalid"
    assert error.details == {"model_id": "m", "file": "config.json", "reason": "unreadable"}


async def test_a_corrupt_blob_that_can_not_be_put_aside_is_refused_all_the_same(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_only(*_: Any) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(bench.blobs, "quarantine", read_only)
    path = bench.blob("model")
    path.write_bytes(bytes([path.read_bytes()[0] ^ 1]) + path.read_bytes()[1:])
    error = await bench.refusal()
    assert (error.code, (error.details or {})["recovery_op"]) == ("artifact_invalid", "model.load")


async def test_the_tokenizer_needs_its_own_file_alone(bench: Bench) -> None:
    bench.blob("model").unlink()
    tokenizer = await bench.loader.load_tokenizer(bench.model)
    assert tokenizer.encode("").ids.tolist() == [2, 3]
    bench.blob("tokenizer").write_bytes(b"{}")
    with pytest.raises(SynapseError) as refusal:
        await bench.loader.load_tokenizer(bench.model)
    assert refusal.value.code == "artifact_invalid"


# --- the worker ---


async def test_a_loaded_worker_comes_with_what_it_said(bench: Bench) -> None:
    loaded = await bench.loader.load(bench.model)
    assert (loaded.dims, loaded.facts) == (64, {"engine": "scripted test double"})
    assert loaded.load_ms > 0
    assert loaded.worker.fault is None
    await loaded.worker.close()


@pytest.mark.parametrize(
    ("refuse", "code", "details"),
    [
        ("artifact", "artifact_invalid", {"model_id": "m", "file": "model.safetensors", "reason": "missing_tensor"}),
        ("self_test", "engine_crashed", {"lane_id": "m", "reason": "self_test"}),
    ],
)
async def test_what_a_worker_refuses_becomes_its_error_and_the_process_ends(
    bench: Bench, started: list[WorkerProcess], refuse: str, code: str, details: dict[str, str]
) -> None:
    bench.play(load={"refuse": refuse})
    error = await bench.refusal()
    assert (error.code, error.details) == (code, details)
    assert not psutil.pid_exists(started[0].pid)


async def test_an_engine_that_is_not_what_was_declared_is_refused_with_both_fingerprints(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def mismatch(*_: Any, **__: Any) -> Ready:
        facts = {"expected": {"precision": "f32"}, "actual": {"precision": "bf16"}}
        raise WorkerRefused("engine_mismatch", "precision is bf16", facts)

    monkeypatch.setattr(WorkerProcess, "load", mismatch)
    error = await bench.refusal()
    assert error.code == "artifact_invalid"
    assert error.details is not None
    actual = error.details["actual_fingerprint"]
    assert error.details == {
        "model_id": "m",
        "expected_fingerprint": bench.fingerprint,
        "actual_fingerprint": actual,
    }
    assert actual.startswith("syn1-")
    assert actual != bench.fingerprint


async def test_a_worker_that_dies_while_loading_is_a_fault_for_the_lane_to_count(
    bench: Bench, started: list[WorkerProcess]
) -> None:
    bench.play(load={"die": "kill"})
    with pytest.raises(WorkerCrashed) as fault:
        await bench.load()
    assert fault.value.signal == 9
    assert not psutil.pid_exists(started[0].pid)


async def test_a_load_that_is_cancelled_ends_its_worker(bench: Bench, started: list[WorkerProcess]) -> None:
    bench.play(load={"delay_s": 30})
    loading = asyncio.create_task(bench.load())
    await until(lambda: started)
    await asyncio.sleep(0.05)
    loading.cancel()
    await asyncio.gather(loading, return_exceptions=True)
    assert not psutil.pid_exists(started[0].pid)


async def test_a_worker_gets_the_threads_that_its_lane_may_use(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    specs: list[LoadSpec] = []

    async def record(_: WorkerProcess, spec: LoadSpec) -> Ready:
        specs.append(spec)
        return Ready(1, 64, {}, 1.0, None)

    monkeypatch.setattr(WorkerProcess, "load", record)
    bench.threads = 3
    loaded = await bench.loader.load(bench.model)
    await loaded.worker.close(0.05)
    (spec,) = specs
    assert (spec.backend, spec.threads, spec.max_tokens, spec.family) == ("openvino", 3, 64, "bert")
    assert loaded.threads == 3
    assert spec.model_path == str(bench.blob("model"))


# --- self-test values ---


def answer_with(monkeypatch: pytest.MonkeyPatch, values: str | None) -> list[LoadSpec]:
    """Lets workers answer a load with self-test values; returns what they were given."""
    specs: list[LoadSpec] = []

    async def load(_: WorkerProcess, spec: LoadSpec) -> Ready:
        specs.append(spec)
        return Ready(1, 64, {}, 1.0, values)

    monkeypatch.setattr(WorkerProcess, "load", load)
    return specs


async def test_values_that_a_worker_computed_are_kept_and_given_to_the_next(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer_with(monkeypatch, "dmFsdWVz")
    await (await bench.load()).close(0.05)
    key = (bench.fingerprint, f"1:{bench.model.model_digest}")
    assert bench.values.kept == {key: "dmFsdWVz"}
    specs = answer_with(monkeypatch, None)
    await (await bench.load()).close(0.05)
    assert specs[0].self_test_values == "dmFsdWVz"
    assert bench.values.puts == 1


async def test_a_database_in_trouble_does_not_keep_a_lane_from_loading(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("self_test_values_not_read", "self_test_values_not_kept")
    specs = answer_with(monkeypatch, "dmFsdWVz")
    bench.values.full = True
    worker = await bench.load()
    assert worker.fault is None
    assert specs[0].self_test_values is None
    await worker.close(0.05)


async def test_a_load_that_is_cancelled_while_values_are_written_ends_its_worker(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, started: list[WorkerProcess]
) -> None:
    answer_with(monkeypatch, "dmFsdWVz")
    bench.values.gate = asyncio.Event()
    loading = asyncio.create_task(bench.load())
    await until(lambda: bench.values.puts)
    loading.cancel()
    await asyncio.gather(loading, return_exceptions=True)
    assert not psutil.pid_exists(started[0].pid)


async def test_the_real_engine_proves_itself_against_the_reference_once(bench: Bench) -> None:
    bench.launch = worker_launch(os.environ)
    worker = await bench.load()
    await worker.close()
    (kept,) = bench.values.kept.values()
    worker = await bench.load()
    await worker.close()
    assert bench.values.puts == 1
    # Values that are wrong are noticed, whoever wrote them.
    bench.values.kept = dict.fromkeys(bench.values.kept, "A" * len(kept.rstrip("=")) + "=" * kept.count("="))
    error = await bench.refusal()
    assert (error.code, error.details) == ("engine_crashed", {"lane_id": "m", "reason": "self_test"})
