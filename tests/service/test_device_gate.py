"""Engines whose device isn't here: refused with the reason, before any I/O, whether a lane is new or brought back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from fixtures.certifications import ledger_for
from fixtures.clocks import FakeClock
from fixtures.lanes import StubLoader, ask, make_lane, no_catalog, paper_registration
from synapse_engines.devices import CudaRecord, Device, DeviceEvidence, Host, Reason, probe_cuda
from synapse_service.admission.leases import LeaseBook
from synapse_service.aliases.table import AliasTable
from synapse_service.catalog.detached import Detached
from synapse_service.certify.machine import MachineProfile
from synapse_service.jobs.book import JobBook
from synapse_service.lanes.device_gate import BACKENDS, DeviceGate
from synapse_service.lanes.lane import Lane
from synapse_service.lanes.records import StoredLanes
from synapse_service.lanes.registration import Registration
from synapse_service.lanes.registry import LaneRegistry
from synapse_service.operations.choosing import LaneChoice
from synapse_service.operations.probe import ProbeOperations
from synapse_service.store.database import Store
from synapse_wire.errors import SynapseError
from synapse_wire.params import Constraints, ModelRef

CALL: Any = SimpleNamespace(connection=SimpleNamespace(client=None))


def gate(backend: Device, reason: Reason | None, **facts: str) -> DeviceGate:
    return DeviceGate(lambda asked: DeviceEvidence(backend, reason if asked == backend else None, facts))


def cuda_gate(record: CudaRecord | str) -> DeviceGate:
    host = Host(
        platform="linux",
        machine="x86_64",
        has_module=lambda name: True,
        has_distribution=lambda name: False,
        processor_flags=lambda: None,
        cuda=lambda: record,
    )
    return DeviceGate(lambda backend: probe_cuda(host))


def test_every_engine_of_ours_has_its_kind_of_device() -> None:
    assert BACKENDS == {
        "owned-metal": "metal",
        "ane": "ane",
        "owned-cuda": "cuda",
        "owned-vulkan": "vulkan",
        "owned-cpu": "cpu",
    }


@pytest.mark.parametrize(
    ("engine", "backend", "reason"),
    [
        ("owned-metal", "metal", "not_supported_on_platform"),
        ("ane", "ane", "worker_missing"),
        ("owned-vulkan", "vulkan", "worker_missing"),
        ("owned-cuda", "cuda", "not_supported_on_platform"),
        ("owned-cuda", "cuda", "worker_missing"),
        ("owned-cpu", "cpu", "device_below_floor"),
    ],
)
def test_an_engine_that_can_not_run_here_is_unavailable(engine: str, backend: Device, reason: Reason) -> None:
    error = gate(backend, reason).refusal(engine, "lane")
    assert error is not None
    assert (error.code, error.class_, error.retry_after_ms) == ("backend_unavailable", "permanent", None)
    assert error.details == {
        "catalog_id": None,
        "lane_id": "lane",
        "backends": [{"backend": backend, "reason": reason}],
    }


@pytest.mark.parametrize("engine", BACKENDS)
def test_an_engine_that_can_run_here_is_not_refused(engine: str) -> None:
    assert gate("metal", None).refusal(engine) is None


@pytest.mark.parametrize(
    ("record", "details"),
    [
        ("no driver: libcuda.so.1", {"reason": "device_missing"}),
        ("cuInit answered 100", {"reason": "device_missing"}),
        (CudaRecord(12040, ()), {"reason": "device_missing", "driver_api": 12040}),
        (
            CudaRecord(12030, ((9, 0),)),
            {"reason": "device_below_floor", "driver_api": 12030, "compute_capability": "9.0"},
        ),
        (
            CudaRecord(13000, ((7, 0),)),
            {"reason": "device_below_floor", "driver_api": 13000, "compute_capability": "7.0"},
        ),
    ],
)
async def test_a_machine_without_usable_cuda_says_what_it_found(
    record: CudaRecord | str, details: dict[str, Any]
) -> None:
    with pytest.raises(SynapseError) as refusal:
        await cuda_gate(record).require("owned-cuda")
    error = refusal.value
    assert (error.code, error.class_, error.safe_to_retry_same_request, error.retry_after_ms) == (
        "owned_cuda_unsupported",
        "permanent",
        False,
        None,
    )
    assert error.details == details
    assert "12040" in error.message
    assert "7.5" in error.message


async def test_cuda_at_its_floor_without_a_worker_is_unavailable_not_unsupported() -> None:
    with pytest.raises(SynapseError) as refusal:
        await cuda_gate(CudaRecord(12040, ((7, 5),))).require("owned-cuda")
    assert refusal.value.code == "backend_unavailable"
    assert refusal.value.details == {
        "catalog_id": None,
        "lane_id": None,
        "backends": [{"backend": "cuda", "reason": "worker_missing"}],
    }


# --- lanes that are brought back ---


class Shelf:
    """Registered lanes over a database, and what a process finds whose devices are others."""

    def __init__(self, store: Store) -> None:
        self.clock = FakeClock()
        self.records = StoredLanes(store, self.clock)
        self.leases = LeaseBook(lambda: "lease")
        self.reasons: dict[Device, Reason | None] = {}
        self.loader = StubLoader()
        self.gate = DeviceGate(lambda backend: DeviceEvidence(backend, self.reasons.get(backend)))
        self.aliases = AliasTable(store, self.clock, Detached())
        self.ledger = ledger_for(SimpleNamespace(), "machine")  # type: ignore[arg-type]
        self.jobs = JobBook(
            store,
            self.leases,
            clock=self.clock,
            new_id=lambda: "job-1",
            module_generation=1,
            retention_ms=lambda: 60_000,
            publish=lambda *_: None,
        )
        self.restart()

    def restart(self) -> None:
        self.lanes = LaneRegistry(
            self.records, self._make, catalog=no_catalog(), leases=self.leases, cpu_lanes=lambda: True
        )
        self.not_served = self.lanes.restore(self.records.load_all())

    def _make(self, registration: Registration, quarantined: str | None) -> Lane:
        engine = registration.manifest.engine
        return make_lane(
            self.loader,
            self.clock,
            registration,
            quarantined=quarantined,
            unavailable=self.gate.refusal(engine, registration.model_id),
        )

    async def register(self, engine: str) -> None:
        registration = paper_registration("m", engine=engine)
        lane = self.lanes.new_lane(registration)
        await lane.ensure_ready()
        await self.lanes.register(registration, lane)


@pytest.fixture
async def shelf(quick_dir: Path) -> AsyncIterator[Shelf]:
    store = Store.open(quick_dir / "synapse.db", FakeClock())
    shelf = Shelf(store)
    yield shelf
    await shelf.jobs.close()
    await shelf.lanes.close()
    await store.close()


@pytest.mark.parametrize("engine", ["owned-metal", "owned-cuda", "ane", "owned-cpu"])
async def test_a_lane_whose_device_is_gone_comes_back_and_refuses_without_loading(shelf: Shelf, engine: str) -> None:
    await shelf.register(engine)
    backend = BACKENDS[engine]
    shelf.reasons[backend] = "worker_missing"
    loads, reads = shelf.loader.loads, shelf.loader.reads
    shelf.restart()
    expected = {"catalog_id": None, "lane_id": "m", "backends": [{"backend": backend, "reason": "worker_missing"}]}
    lane = shelf.lanes.get("m")
    choice = LaneChoice(lanes=shelf.lanes, certifications=shelf.ledger, aliases=shelf.aliases)
    probes = ProbeOperations(
        lanes=shelf.lanes,
        jobs=shelf.jobs,
        probes=SimpleNamespace(),  # type: ignore[arg-type]
        ledger=shelf.ledger,
        machine=MachineProfile(system="", os_build="", architecture="", chip="", kernel=""),
        knob=lambda: "performance",
        module_generation=1,
    )
    for _ in range(2):
        with pytest.raises(SynapseError) as chosen:
            choice.choose("m", "embed", msgspec.convert({"model": "m"}, _Asked))
        with pytest.raises(SynapseError) as loaded:
            await lane.ensure_ready()
        with pytest.raises(SynapseError) as probed:
            await probes.start(CALL, ModelRef(model_id="m"))
        for refusal in (chosen, loaded, probed):
            assert (refusal.value.code, refusal.value.details) == ("backend_unavailable", expected)
    with pytest.raises(SynapseError) as queued:
        await ask(lane, [5, 6]).done
    assert queued.value.code == "backend_unavailable"
    assert (shelf.loader.loads, shelf.loader.reads) == (loads, reads)
    assert (lane.state, lane.last_error is not None) == ("unloaded", True)


class _Asked(Constraints, frozen=True, kw_only=True):
    model: str


async def test_a_lane_whose_device_is_back_serves_again(shelf: Shelf) -> None:
    await shelf.register("owned-metal")
    shelf.reasons["metal"] = "device_missing"
    shelf.restart()
    shelf.reasons["metal"] = None
    shelf.restart()
    await shelf.lanes.get("m").ensure_ready()


async def test_a_vanished_cuda_device_is_told_as_such(shelf: Shelf) -> None:
    await shelf.register("owned-cuda")
    shelf.reasons["cuda"] = "device_missing"
    shelf.restart()
    with pytest.raises(SynapseError) as refusal:
        await shelf.lanes.get("m").ensure_ready()
    assert (refusal.value.code, refusal.value.details) == ("owned_cuda_unsupported", {"reason": "device_missing"})
