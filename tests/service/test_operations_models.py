"""``model.load``, ``model.status``, ``model.unload`` and ``models.list``: exact answers and refusals."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from fixtures.certifications import ledger_for, measured
from fixtures.clocks import FakeClock
from fixtures.equivalences import PaperAliases
from fixtures.expected_warnings import ExpectedWarnings
from fixtures.lanes import StubLoader, ask, make_lane, paper_registration, uninstalled, until
from fixtures.pauses import SwitchFence
from fixtures.workers import expected_text
from synapse_engines.devices import DeviceEvidence
from synapse_service.admission.leases import LeaseBook
from synapse_service.catalog.compiled import shipped_catalog
from synapse_service.catalog.pins import Pins
from synapse_service.certify.ledger import Certification
from synapse_service.certify.records import StoredCertifications
from synapse_service.jobs.book import JobBook
from synapse_service.jobs.live import LiveJob
from synapse_service.lanes.device_gate import DeviceGate
from synapse_service.lanes.lane import Lane
from synapse_service.lanes.manifest import Manifest
from synapse_service.lanes.records import StoredLanes
from synapse_service.lanes.registration import Registration
from synapse_service.lanes.registry import LaneRegistry
from synapse_service.operations.models import ModelOperations
from synapse_service.server.router import Call
from synapse_service.settings.declared import Settings
from synapse_service.store.database import Store
from synapse_service.workers.faults import WorkerNotGone
from synapse_wire.errors import SynapseError
from synapse_wire.params import ModelLoad, ModelStatus, ModelUnload, NoParams

_CONNECTION: Any = SimpleNamespace(client=SimpleNamespace(name="me"))
CALL = Call("test", 1, _CONNECTION, 0.0, 0)
ROW = [5, 6, 7]


class Desk:
    """The operations over one registered lane ``m``."""

    def __init__(self, store: Store) -> None:
        self.clock = FakeClock()
        self.leases = LeaseBook(lambda: "lease-1")
        self.loader = StubLoader()
        self.fence = SwitchFence()
        self.settings = Settings(cpu_lanes=True)
        self.evidence = DeviceEvidence("cpu", None, {})
        self.asked_about: list[str] = []
        self.loads: list[tuple[Manifest, str | None]] = []
        self.lanes = LaneRegistry(
            StoredLanes(store, self.clock),
            self._make,
            catalog=uninstalled(shipped_catalog()),
            leases=self.leases,
            cpu_lanes=lambda: self.settings.cpu_lanes,
        )
        self.ledger = ledger_for(StoredCertifications(store), "machine")
        self.book = JobBook(
            store,
            self.leases,
            clock=self.clock,
            new_id=lambda: "job-1",
            module_generation=9,
            retention_ms=lambda: 60_000,
            publish=lambda *_: None,
        )
        self.pins = Pins(store)
        self.operations = ModelOperations(
            lanes=self.lanes,
            onboarding=SimpleNamespace(start=self._start),  # type: ignore[arg-type]
            jobs=self.book,
            downloads=SimpleNamespace(find=self._no_download),  # type: ignore[arg-type]
            pins=self.pins,
            leases=self.leases,
            ledger=self.ledger,
            settings=lambda: self.settings,
            devices=DeviceGate(self._evidence),
            module_generation=9,
            aliases=PaperAliases(),
        )

    def _make(self, registration: Registration, quarantined: str | None) -> Lane:
        return make_lane(self.loader, self.clock, registration, quarantined=quarantined, fence=self.fence)

    def _evidence(self, backend: str) -> DeviceEvidence:
        self.asked_about.append(backend)
        return self.evidence

    async def _no_download(self, job_id: str) -> None:
        return None

    async def _start(self, manifest: Manifest, client: str | None) -> Any:
        self.loads.append((manifest, client))
        return SimpleNamespace(job_id="job-7", state="queued")

    async def prepare(self) -> None:
        registration = paper_registration("m")
        lane = self.lanes.new_lane(registration)
        await lane.ensure_ready()
        await self.lanes.register(registration, lane)

    @property
    def lane(self) -> Lane:
        return self.lanes.get("m")

    def row(self) -> dict[str, Any]:
        (row,) = msgspec.to_builtins(self.operations.list(CALL, NoParams()).models)
        return dict(row)

    async def unload(self, model_id: str = "m") -> Any:
        return await self.operations.unload(CALL, ModelUnload(model_id=model_id))

    async def refusal(self, model_id: str = "m") -> SynapseError:
        with pytest.raises(SynapseError) as caught:
            await self.unload(model_id)
        return caught.value


@pytest.fixture
async def desk(quick_dir: Path) -> AsyncIterator[Desk]:
    store = Store.open(quick_dir / "synapse.db", FakeClock())
    desk = Desk(store)
    await desk.prepare()
    yield desk
    await desk.book.close()
    await desk.lanes.close()
    await store.close()


# --- models.list and model.status ---


async def test_the_row_of_a_loaded_lane_that_was_never_probed(desk: Desk) -> None:
    assert desk.row() == {
        "model_id": "m",
        "task": "embed",
        "engine": "owned-cpu",
        "state": "ready",
        "fingerprint": desk.lane.fingerprint,
        "max_tokens": 64,
        "max_tokens_source": "catalog",
        "dtype": "f32",
        "device_class": "cpu",
        "overlength": "refuse",
        "pinned": False,
        "self_check": {"state": "not_applicable"},
        "certified": False,
        "dims": 4,
        "warm_load_cost_hint_ms": 12.5,
        "equivalent_to": [],
    }


async def test_the_list_carries_generation_epoch_and_no_aliases(desk: Desk) -> None:
    listed = desk.operations.list(CALL, NoParams())
    assert (listed.module_generation, listed.table_epoch, listed.aliases) == (9, 0, [])


async def test_the_row_follows_the_lane(desk: Desk, expected_warnings: ExpectedWarnings) -> None:
    await desk.lane.unload()
    assert (desk.row()["state"], desk.row()["max_tokens_source"]) == ("unloaded", "catalog_unloaded")

    desk.loader.hold = asyncio.Event()
    loading = asyncio.create_task(desk.lane.ensure_ready())
    await asyncio.sleep(0)
    assert (desk.row()["state"], desk.row()["max_tokens_source"]) == ("loading", "catalog_unloaded")
    desk.loader.hold.set()
    await loading

    expected_warnings("worker_lost")
    desk.loader.worker.crash()
    await until(lambda: desk.lane.state == "unloaded")
    error = desk.row()["last_error"]
    assert (error["code"], error["class"], error["retry_after_ms"]) == ("engine_crashed", "transient", 250)
    assert error["details"] == {"lane_id": "m", "reason": "crash", "exit": -9}
    assert await ask(desk.lane, ROW).done == [expected_text(ROW)]
    assert "last_error" not in desk.row()

    desk.lane.quarantine.fault("crash")
    desk.lane.quarantine.fault("crash")
    assert desk.row()["state"] == "quarantined"


async def test_a_measured_lane_has_advice_and_a_certified_one_says_so(desk: Desk) -> None:
    outcome = Certification(
        fingerprint=desk.lane.fingerprint,
        model_id="m",
        status="certified",
        blocking_reason=None,
        evidence={},
        performance=measured(),
        fixture_revision=1,
        os_build="x",
        module_generation=9,
        measured_ms=1,
    )
    await desk.ledger.record(outcome)
    assert desk.row()["certified"] is True
    assert desk.row()["recommended_batch"] == {"rows": 64, "token_budget": 8192}


async def test_the_status_of_a_model_is_its_row(desk: Desk) -> None:
    status = await desk.operations.status(CALL, ModelStatus(model_id="m"))
    assert msgspec.to_builtins(status) == desk.row()
    with pytest.raises(SynapseError) as refusal:
        await desk.operations.status(CALL, ModelStatus(model_id="absent"))
    assert (refusal.value.code, refusal.value.details) == ("unknown_model", {"model_id": "absent"})


async def test_a_live_job_is_answered_without_the_database(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Waiting clients ask many times a second."""
    gate = asyncio.Event()

    async def work(job: LiveJob) -> None:
        job.progress(1, 2)
        await gate.wait()

    job = await desk.book.start("probe", "m", work)
    await until(lambda: job.items_done)
    asked: list[str] = []

    async def asked_for(job_id: str) -> None:
        asked.append(job_id)

    monkeypatch.setattr(desk.operations._downloads, "find", asked_for)
    with monkeypatch.context() as broken:
        broken.setattr(Store, "read", None)
        status = await desk.operations.status(CALL, ModelStatus(job_id="job-1"))
    assert (status.state, status.items_done) == ("running", 1)
    assert asked == []
    gate.set()
    await desk.book.ended(job)
    status = await desk.operations.status(CALL, ModelStatus(job_id="job-1"))
    assert (status.state, asked) == ("done", ["job-1"])


async def test_the_status_of_a_job_has_its_kind_and_no_members_of_other_kinds(desk: Desk) -> None:
    gate = asyncio.Event()
    await desk.book.start("model.load", "n", lambda _: gate.wait())  # type: ignore[arg-type,return-value]
    await until(lambda: desk.book.live()[0].state == "running")
    status = await desk.operations.status(CALL, ModelStatus(job_id="job-1"))
    assert msgspec.to_builtins(status) == {
        "job_id": "job-1",
        "kind": "model.load",
        "state": "running",
        "items_total": 0,
        "items_done": 0,
        "module_generation": 9,
    }
    gate.set()


async def test_switching_cpu_lanes_off_hides_the_lane_everywhere(desk: Desk) -> None:
    desk.settings = Settings(cpu_lanes=False)
    assert desk.operations.list(CALL, NoParams()).models == []
    assert (await desk.refusal()).code == "unknown_model"
    desk.settings = Settings(cpu_lanes=True)
    assert desk.row()["model_id"] == "m"


# --- model.unload ---


async def test_unloading_answers_what_was_unloaded_and_may_be_repeated(desk: Desk) -> None:
    for _ in range(2):
        assert msgspec.to_builtins(await desk.unload()) == {
            "module_generation": 9,
            "model_id": "m",
            "fingerprint": desk.lane.fingerprint,
            "state": "unloaded",
            "engine": "owned-cpu",
            "task": "embed",
        }
    assert desk.loader.worker.gone.is_set()
    assert await ask(desk.lane, ROW).done == [expected_text(ROW)]


async def test_a_lane_that_is_held_is_not_unloaded_and_its_holders_are_named(desk: Desk) -> None:
    desk.leases.take("m")
    desk.leases.take("m", "job", "job-5")
    error = await desk.refusal()
    assert (error.code, error.class_, error.safe_to_retry_same_request) == ("model_in_use", "permanent", False)
    assert error.details == {
        "catalog_id": None,
        "holders": [{"kind": "request", "lease_id": "lease-1"}, {"kind": "job", "job_id": "job-5"}],
    }
    assert desk.lane.state == "ready"


async def test_a_lane_that_is_loading_is_not_unloaded(desk: Desk) -> None:
    await desk.lane.unload()
    desk.loader.hold = asyncio.Event()
    loading = asyncio.create_task(desk.lane.ensure_ready())
    await asyncio.sleep(0)
    error = await desk.refusal()
    assert (error.code, error.class_, error.retry_after_ms) == ("model_loading", "transient", 250)
    desk.loader.hold.set()
    await loading


async def test_a_catalog_id_is_no_lane(desk: Desk) -> None:
    error = await desk.refusal("gte-modernbert-base")
    assert (error.code, error.level) == ("invalid_request", "semantic")
    lane_ids = ["gte-modernbert-base-metal", "gte-modernbert-base-cpu"]
    assert error.details == {"catalog_id": "gte-modernbert-base", "lane_ids": lane_ids}


@pytest.mark.parametrize("model_id", ["gte-modernbert-base-vulkan", "absent"])
async def test_a_lane_that_is_not_declared_is_unknown(desk: Desk, model_id: str) -> None:
    error = await desk.refusal(model_id)
    assert (error.code, error.details) == ("unknown_model", {"model_id": model_id})


async def test_a_worker_that_can_not_be_ended_is_reported(
    desk: Desk, expected_warnings: ExpectedWarnings, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected_warnings("worker_not_gone")

    async def stays(grace_s: float = 2.0) -> int:
        raise WorkerNotGone(4711)

    monkeypatch.setattr(desk.loader.worker, "close", stays)
    error = await desk.refusal()
    assert (error.code, error.details) == ("engine_crashed", {"lane_id": "m", "reason": "not_gone"})


async def test_only_a_paused_lane_says_until_when_and_why(desk: Desk) -> None:
    assert not {"paused_until_ms", "pause_reason"} & set(desk.row())
    desk.fence.closed = True
    assert (desk.row()["paused_until_ms"], desk.row()["pause_reason"]) == (1_800_000_000_000, "measuring")
    desk.fence.closed = False
    assert not {"paused_until_ms", "pause_reason"} & set(desk.row())


# --- model.load ---


def request(**changes: Any) -> ModelLoad:
    file = {"url": "file:///models/x", "sha256": "a" * 64}
    members: dict[str, Any] = {
        "model_id": "n",
        "task": "embed",
        "engine": "owned-cpu",
        "source": "file",
        "files": {"model": file, "tokenizer": file, "config": file},
    }
    return msgspec.convert(members | changes, ModelLoad)


async def test_a_load_is_answered_with_its_job(desk: Desk) -> None:
    accepted = await desk.operations.load(CALL, request())
    assert msgspec.to_builtins(accepted) == {"job_id": "job-7", "model_id": "n", "state": "queued"}
    ((manifest, client),) = desk.loads
    assert (manifest.model_id, client) == ("n", "me")
    assert desk.asked_about == ["cpu"]


@pytest.mark.parametrize(
    ("engine", "backend"),
    [("owned-metal", "metal"), ("owned-cuda", "cuda"), ("ane", "ane"), ("owned-vulkan", "vulkan")],
)
async def test_an_engine_that_can_not_run_here_is_refused_before_anything_is_read(
    desk: Desk, engine: str, backend: str
) -> None:
    desk.evidence = DeviceEvidence(backend, "not_supported_on_platform", {})
    with pytest.raises(SynapseError) as refusal:
        await desk.operations.load(CALL, request(engine=engine))
    assert refusal.value.code == "backend_unavailable"
    assert refusal.value.details == {
        "catalog_id": None,
        "lane_id": None,
        "backends": [{"backend": backend, "reason": "not_supported_on_platform"}],
    }
    assert desk.loads == []


async def test_cuda_that_can_not_be_used_is_told_with_what_was_found_before_anything_is_read(desk: Desk) -> None:
    facts = {"driver_api": "12030", "compute_capability": "8.6"}
    desk.evidence = DeviceEvidence("cuda", "device_below_floor", facts)
    with pytest.raises(SynapseError) as refusal:
        await desk.operations.load(CALL, request(engine="owned-cuda"))
    assert (refusal.value.code, refusal.value.level) == ("owned_cuda_unsupported", "semantic")
    found = {"driver_api": 12030, "compute_capability": "8.6", "reason": "device_below_floor"}
    assert (refusal.value.details, desk.loads) == (found, [])


async def test_the_cpu_engine_is_refused_while_cpu_lanes_are_off(desk: Desk) -> None:
    desk.settings = Settings(cpu_lanes=False)
    with pytest.raises(SynapseError) as refusal:
        await desk.operations.load(CALL, request())
    assert (refusal.value.code, refusal.value.level) == ("invalid_request", "semantic")
    assert refusal.value.details == {"field": "engine"}
    assert desk.asked_about == []


async def test_an_id_of_the_catalog_is_refused(desk: Desk) -> None:
    with pytest.raises(SynapseError) as refusal:
        await desk.operations.load(CALL, request(model_id="qwen3-embedding-0.6b-cpu"))
    assert (refusal.value.code, refusal.value.level) == ("invalid_request", "semantic")
    assert refusal.value.details == {"model_id": "qwen3-embedding-0.6b-cpu"}


async def test_a_registered_model_that_somebody_pinned_says_so(desk: Desk) -> None:
    assert desk.row()["pinned"] is False
    await desk.pins.put("me", "m", ["a" * 64])
    assert desk.row()["pinned"] is True
