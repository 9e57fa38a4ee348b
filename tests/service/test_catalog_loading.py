"""Lanes of the catalog with real files and real workers: proven files, proven numbers, and nothing but this disk."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from fixtures.catalog import NAMES, SmallCatalog
from fixtures.checked_catalog import CHECKED, CheckedName, checked_catalog
from fixtures.embed_desk import refused
from fixtures.expected_warnings import ExpectedWarnings
from fixtures.lanes import History
from synapse_engines.worker.protocol import BackendName, Ready
from synapse_service.admission.leases import LeaseBook
from synapse_service.catalog.blobs import BlobStore
from synapse_service.catalog.detached import Detached
from synapse_service.catalog.installs import Installs, record_install
from synapse_service.certify.observations import Observations
from synapse_service.clock import SystemClock
from synapse_service.lanes.catalog_lanes import catalog_model
from synapse_service.lanes.lane import Lane
from synapse_service.lanes.loader import Loader
from synapse_service.lanes.quarantine import CoolDown
from synapse_service.lanes.records import StoredSelfChecks, StoredSelfTests
from synapse_service.lanes.self_check_runs import SelfChecks
from synapse_service.lanes.serving import Pacing
from synapse_service.store.database import Store
from synapse_service.workers.faults import WorkerRefused
from synapse_service.workers.launch import Launch, worker_launch
from synapse_service.workers.process import WorkerProcess
from synapse_wire.results import SelfCheckState

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="workers are ended by POSIX signals here")

NAME: CheckedName = "tiny-bert"


class Shelf:
    """One installed entry on a real disk, and lanes of it."""

    def __init__(self, folder: Path, store: Store, small: SmallCatalog, catalog_id: str) -> None:
        self.store = store
        self.clock = SystemClock()
        self.launches = 0
        self.entry = small.entry(catalog_id)
        self.small = small
        self.blobs = BlobStore(folder / "cache")
        self.blobs.prepare()
        for role, body in small.contents[catalog_id].items():
            path = folder / NAMES[role]
            path.write_bytes(body)
            self.blobs.adopt(path, None)
        self.detached = Detached()
        self.installs = Installs(store, self.blobs, self.detached, lambda _: SelfCheckState(state="pending"))
        store.write_sync(lambda: record_install(self.entry, 1))
        self.installs.restore()
        loop = asyncio.get_running_loop()
        self.blobs.on_quarantine(lambda sha256: loop.call_soon_threadsafe(self.installs.invalidate, sha256))
        self.loader = Loader(
            blobs=self.blobs,
            values=StoredSelfTests(store, self.clock),
            launch=self._launch,
            clock=self.clock,
            threads=lambda model: 1,
            observations=Observations(enabled=False),
        )
        self.lane = self.new_lane()

    def _launch(self, backend: BackendName) -> Launch:
        self.launches += 1
        return worker_launch(os.environ)

    def new_lane(self) -> Lane:
        """The lane as a new process finds it."""
        outcomes = StoredSelfChecks(self.store, self.clock)
        checks = SelfChecks(outcomes, LeaseBook(lambda: "lease"), "debian-12", outcomes.load_all(), self.small.resource)
        (declared,) = self.entry.lanes
        return Lane(
            catalog_model(self.entry, declared),
            loader=self.loader,
            clock=self.clock,
            pacing=lambda: Pacing(3072, 3072, 1.0),
            queue_capacity=lambda: 8,
            on_change=lambda lane: None,
            on_quarantine=History().quarantined,
            quarantine=CoolDown(self.clock),
            self_check=checks.of(self.entry, declared),
        )

    @property
    def outcome(self) -> SelfCheckState:
        assert self.lane.self_check is not None
        return self.lane.self_check.outcome

    def blob(self, role: str) -> Path:
        return self.blobs.path(self.small.digests(self.entry.id)[role])

    async def close(self) -> None:
        await self.lane.close()
        await self.detached.close()


OpenShelf = Callable[[SmallCatalog, str], Shelf]


@pytest.fixture
async def open_shelf(quick_dir: Path) -> AsyncIterator[OpenShelf]:
    store = Store.open(quick_dir / "synapse.db", SystemClock())
    shelves: list[Shelf] = []

    def enter(small: SmallCatalog, catalog_id: str) -> Shelf:
        shelves.append(Shelf(quick_dir, store, small, catalog_id))
        return shelves[-1]

    yield enter
    for shelf in shelves:
        await shelf.close()
    await store.close()


# --- numbers ---


@pytest.mark.parametrize("name", CHECKED)
async def test_a_model_of_each_architecture_passes_with_the_figures_of_transformers(
    open_shelf: OpenShelf, name: CheckedName
) -> None:
    shelf = open_shelf(checked_catalog(name), name)
    loaded = await shelf.lane.ensure_ready()
    assert loaded.facts["engine"] == "openvino"
    assert (shelf.outcome.state, shelf.lane.state) == ("passed", "ready")
    evidence: Any = shelf.outcome.evidence
    assert evidence["cases"] == 5
    if name.endswith("-reranker"):
        assert evidence["max_score_error"] < 1e-4
        assert evidence["graded_pairs"] > 0
    else:
        assert evidence["min_cosine"] > 0.999999


@pytest.mark.parametrize(
    ("name", "reason"), [("tiny-bert", "cosine_too_low"), ("tiny-qwen3-reranker", "score_differs")]
)
async def test_a_model_that_gives_other_numbers_fails_and_stays_failed_in_the_next_process(
    open_shelf: OpenShelf, expected_warnings: ExpectedWarnings, name: CheckedName, reason: str
) -> None:
    expected_warnings("self_check_failed")
    shelf = open_shelf(checked_catalog(name, wrong=[name]), name)
    error = await refused(shelf.lane.ensure_ready())
    assert error.details is not None
    assert (error.code, error.details["reason"], error.details["backend"]) == ("self_check_failed", reason, "cpu")
    assert shelf.launches == 1
    shelf.lane = shelf.new_lane()
    assert shelf.outcome.state == "failed"
    again = await refused(shelf.lane.ensure_ready())
    assert (again.details, shelf.launches) == (error.details, 1)


async def test_an_engine_that_is_not_what_was_declared_shows_both_fingerprints(
    open_shelf: OpenShelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def mismatch(*_: Any, **__: Any) -> Ready:
        facts = {"expected": {"precision": "f32"}, "actual": {"precision": "bf16"}}
        raise WorkerRefused("engine_mismatch", "precision is bf16", facts)

    monkeypatch.setattr(WorkerProcess, "load", mismatch)
    shelf = open_shelf(checked_catalog(NAME), NAME)
    error = await refused(shelf.lane.ensure_ready())
    assert error.code == "artifact_invalid"
    assert error.details is not None
    actual = error.details.pop("actual_fingerprint")
    assert error.details == {"model_id": f"{NAME}-cpu", "expected_fingerprint": shelf.entry.lanes[0].fingerprint}
    assert actual.startswith("syn1-")
    assert actual != shelf.entry.lanes[0].fingerprint


# --- files ---


@pytest.mark.parametrize("role", ["config", "model", "tokenizer"])
async def test_a_corrupt_file_names_the_download_and_the_model_is_no_longer_installed(
    open_shelf: OpenShelf, role: str
) -> None:
    shelf = open_shelf(checked_catalog(NAME), NAME)
    assert shelf.installs.install_state(shelf.entry) == "installed"
    path = shelf.blob(role)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    error = await refused(shelf.lane.ensure_ready())
    assert error.code == "artifact_invalid"
    assert error.details is not None
    actual = error.details.pop("actual_sha256")
    assert actual != path.name
    assert error.details == {
        "file": NAMES[role],
        "expected_sha256": path.name,
        "expected_size": len(data),
        "actual_size": len(data),
        "recovery_op": "models.download",
    }
    assert (error.class_, error.safe_to_retry_same_request) == ("permanent", False)
    await asyncio.sleep(0)
    assert shelf.installs.install_state(shelf.entry) == "not_installed"
    assert not path.exists()
    assert (shelf.blobs.root / "quarantine" / path.name).read_bytes() == data
    others = set(NAMES) - {role}
    assert all(shelf.blob(other).exists() for other in others)
    assert shelf.launches == 0


@pytest.mark.parametrize("role", ["config", "model"])
async def test_a_missing_file_is_the_same_without_an_actual_digest(open_shelf: OpenShelf, role: str) -> None:
    shelf = open_shelf(checked_catalog(NAME), NAME)
    path = shelf.blob(role)
    size = path.stat().st_size
    path.unlink()
    error = await refused(shelf.lane.ensure_ready())
    assert error.details == {
        "file": NAMES[role],
        "expected_sha256": path.name,
        "actual_sha256": None,
        "expected_size": size,
        "actual_size": None,
        "recovery_op": "models.download",
    }
    await asyncio.sleep(0)
    assert shelf.installs.install_state(shelf.entry) == "not_installed"


async def test_a_corrupt_tokenizer_is_found_before_anything_is_loaded(open_shelf: OpenShelf) -> None:
    shelf = open_shelf(checked_catalog(NAME), NAME)
    shelf.blob("tokenizer").write_bytes(b"{}")
    error = await refused(shelf.lane.tokenizer())
    assert error.details is not None
    assert (error.code, error.details["recovery_op"]) == ("artifact_invalid", "models.download")
    assert shelf.launches == 0


async def test_the_tokenizer_of_a_lane_that_scores_frames_nothing(open_shelf: OpenShelf) -> None:
    shelf = open_shelf(checked_catalog("tiny-qwen3-reranker"), "tiny-qwen3-reranker")
    tokenizer = await shelf.lane.tokenizer()
    assert tokenizer.encode("").ids.tolist() == []
