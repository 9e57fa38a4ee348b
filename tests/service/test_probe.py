"""Probes: what is certified and what isn't, what a probe holds, and the three operations about them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fixtures.clocks import FakeClock
from fixtures.expected_warnings import ExpectedWarnings
from fixtures.lanes import StubWorker, ask, paper_registration, until
from fixtures.probe_desk import CALL, MACHINE, PERFECT, ROWS, ProbeDesk
from synapse_engines.worker.protocol import Measured
from synapse_service.certify.comparing import EMBED_GATES
from synapse_service.certify.fixture import embed_fixture
from synapse_service.lanes.idle import IdleUnloader
from synapse_service.store.database import Store
from synapse_service.workers.faults import WorkerCrashed, WorkerNotGone, WorkerRefused
from synapse_wire.errors import SynapseError
from synapse_wire.params import JobRef, ModelRef, ProbeReport
from synapse_wire.results import JobStatus


@pytest.fixture
async def desk(quick_dir: Path) -> AsyncIterator[ProbeDesk]:
    store = Store.open(quick_dir / "synapse.db", FakeClock())
    desk = ProbeDesk(store)
    await desk.prepare()
    yield desk
    await desk.book.close()
    await desk.lanes.close()
    await store.close()


def failure(status: JobStatus) -> dict[str, Any]:
    assert status.state == "failed"
    assert not isinstance(status.error, msgspec.UnsetType)
    return status.error


async def test_a_lane_that_agrees_with_the_reference_is_certified_with_evidence_and_figures(desk: ProbeDesk) -> None:
    assert desk.require() == "probe_required"
    status = await desk.probe()
    rows = len(embed_fixture().texts) + len(embed_fixture().lengths)
    assert (status.kind, status.state) == ("probe", "done")
    assert (status.items_done, status.items_total) == (2 * rows + 1, 2 * rows + 1)
    assert desk.require() == "ok"
    outcome = desk.ledger.outcome(desk.lane.fingerprint)
    assert outcome is not None
    assert (outcome.status, outcome.blocking_reason) == ("certified", None)
    assert outcome.evidence == {"gates": EMBED_GATES.evidence(), "rows": ROWS} | PERFECT
    assert (outcome.os_build, outcome.module_generation, outcome.model_id) == ("debian-12", 9, "m")
    assert (outcome.fixture_revision, outcome.measured_ms) == (embed_fixture().revision, desk.clock.wall_ms())
    assert outcome.performance is not None
    assert outcome.performance.cold_load_ms == 12.5


async def test_the_lane_computes_long_and_short_rows_in_one_call_and_the_reference_the_same_rows(
    desk: ProbeDesk,
) -> None:
    await desk.probe()
    # The tiny lane takes 3072 tokens a call, so the first calls hold many lengths.
    calls = desk.loader.worker.calls
    assert len(set(calls[0])) > 5
    lane_rows = sorted(length for call in calls[:-9] for length in call)
    (reference,) = desk.references.given
    assert sorted(length for call in reference.calls for length in call) == lane_rows
    assert max(lane_rows) == 1024
    assert all(sum(call) <= 512 or len(call) == 1 for call in reference.calls)
    # The last nine calls measure the latency of a single short row.
    assert [len(call) for call in calls[-9:]] == [1] * 9
    assert reference.gone.is_set()


@pytest.mark.parametrize(
    ("measured", "blocking"),
    [
        (Measured(1, 0.9989, 1.0, 1.0), "gate_missed:mean_cosine"),
        (Measured(1, 0.999, 0.99, 0.9), None),
        (Measured(1, 1.0, 0.98, 0.8), "gate_missed:min_cosine,worst_decile_overlap"),
        (Measured(1, float("nan"), 1.0, 1.0), "gate_missed:mean_cosine"),
    ],
)
async def test_every_gate_has_to_be_reached(desk: ProbeDesk, measured: Measured, blocking: str | None) -> None:
    desk.references.prepared.measured = measured
    assert (await desk.probe()).state == "done"  # The probe was carried out, whatever it found.
    assert desk.require() == ("ok" if blocking is None else "not_certified")
    assert desk.report().get("blocking_reason") == blocking


async def test_a_failed_probe_takes_an_earlier_certification_away(desk: ProbeDesk) -> None:
    await desk.probe()
    assert desk.require() == "ok"
    desk.references.prepared = StubWorker()
    desk.references.prepared.measured = Measured(1, 0.5, 0.5, 0.5)
    await desk.probe()
    assert desk.require() == "not_certified"


async def test_a_lane_that_crashes_is_recorded_as_such(desk: ProbeDesk, expected_warnings: ExpectedWarnings) -> None:
    expected_warnings("worker_lost")
    desk.loader.worker.faults.append(WorkerCrashed(-11, ""))
    error = failure(await desk.probe())
    assert (error["code"], error["details"]) == ("engine_crashed", {"lane_id": "m", "reason": "crash", "exit": -11})
    assert desk.require() == "not_certified"
    assert desk.report()["blocking_reason"] == "engine_crashed"
    assert "performance" not in desk.report()


@pytest.mark.parametrize(
    ("fault", "details"),
    [
        (WorkerCrashed(-9, ""), {"lane_id": "m", "reason": "crash", "exit": -9}),
        (WorkerRefused("input", "no", {}), {"lane_id": "m", "reason": "input"}),
    ],
)
async def test_a_reference_that_fails_fails_the_probe_and_says_nothing_about_the_lane(
    desk: ProbeDesk, fault: Exception, details: dict[str, Any]
) -> None:
    await desk.probe()
    desk.references.prepared = StubWorker()
    desk.references.prepared.faults.append(fault)  # type: ignore[arg-type]
    error = failure(await desk.probe())
    assert (error["code"], error["details"]) == ("engine_crashed", details)
    assert "probe it again" in error["message"]
    assert desk.references.prepared.gone.is_set()
    assert desk.lane.quarantine.strikes == 0
    assert desk.require() == "ok"


async def test_a_reference_that_can_not_be_ended_is_told_and_says_nothing_about_the_lane(
    desk: ProbeDesk, expected_warnings: ExpectedWarnings, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected_warnings("worker_not_gone")
    await desk.probe()

    async def stays(grace_s: float = 2.0) -> int:
        raise WorkerNotGone(4711)

    desk.references.prepared = StubWorker()
    monkeypatch.setattr(desk.references.prepared, "close", stays)
    error = failure(await desk.probe())
    assert (error["code"], error["details"]) == ("engine_crashed", {"lane_id": "m", "reason": "not_gone"})
    assert desk.require() == "ok"


async def test_a_pause_ends_the_reference_and_says_nothing_about_the_lane(desk: ProbeDesk) -> None:
    await desk.probe()
    reference = desk.references.prepared = StubWorker()
    reference.gate = asyncio.Event()
    job_id = await desk.start()
    await until(lambda: reference.calls)
    desk.fence.closed = True
    await desk.lane.dismiss()
    assert reference.gone.is_set()
    await until(lambda: not desk.book.live("probe"))
    assert failure(await desk.status(job_id))["code"] == "lane_paused"
    assert desk.require() == "ok"


async def test_a_reference_with_numbers_that_are_not_finite_fails_the_probe(desk: ProbeDesk) -> None:
    desk.references.prepared.non_finite = (1,)
    error = failure(await desk.probe())
    assert (error["code"], error["details"]) == ("engine_crashed", {"item_id": "probe-1", "reason": "non_finite"})


@pytest.mark.parametrize("code", ["queue_full", "overloaded", "store_failure"])
async def test_a_probe_that_never_came_to_computing_leaves_the_last_outcome_alone(desk: ProbeDesk, code: str) -> None:
    await desk.probe()
    desk.references.error = SynapseError(code, "not now")
    assert failure(await desk.probe())["code"] == code
    assert desk.require() == "ok"


# --- quarantine ---


async def test_only_a_passed_probe_lifts_a_quarantine_and_for_good(
    desk: ProbeDesk, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("worker_lost", "lane_quarantined")
    await desk.probe()
    for _ in range(2):
        await desk.lane.ensure_ready()
        desk.loader.worker.faults.append(WorkerCrashed(-9, ""))
        ticket = ask(desk.lane, [5, 6])
        await until(ticket.done.done)
        assert isinstance(ticket.done.exception(), SynapseError)
    await until(lambda: desk.stored_quarantine() == "crash")
    assert desk.report()["blocking_reason"] == "quarantined"
    assert desk.report()["certification_status"] == "certified"  # By evidence alone.

    desk.references.prepared = StubWorker()
    desk.references.prepared.measured = Measured(1, 0.5, 0.5, 0.5)
    await desk.probe()
    assert (desk.lane.quarantine.active, desk.stored_quarantine()) == (True, "crash")

    desk.references.prepared = StubWorker()
    await desk.probe()
    assert (desk.lane.quarantine.active, desk.stored_quarantine()) == (False, None)
    assert desk.require() == "ok"
    assert "blocking_reason" not in desk.report()


# --- what a probe holds ---


async def test_a_running_probe_keeps_its_lane_loaded_and_names_itself_as_the_holder(desk: ProbeDesk) -> None:
    gate = desk.references.prepared.gate = asyncio.Event()
    job_id = await desk.start()
    await until(lambda: desk.references.prepared.calls)
    assert msgspec.to_builtins(desk.leases.holders("m")) == [{"kind": "job", "job_id": job_id}]
    idle = IdleUnloader(lanes=desk.lanes, leases=desk.leases, clock=desk.clock, idle_s=lambda: 900.0)
    desk.clock.advance(10_000)
    await idle.sweep()
    assert desk.lane.state == "ready"
    gate.set()
    await until(lambda: not desk.book.live())
    desk.clock.advance(10_000)
    await idle.sweep()
    assert desk.lane.state == "unloaded"


async def test_a_lane_that_is_not_loaded_is_loaded_by_the_probe(desk: ProbeDesk) -> None:
    await desk.lane.unload()
    assert (await desk.probe()).state == "done"
    assert desk.loader.loads == 2


async def test_stopping_the_service_ends_the_reference_and_records_nothing(desk: ProbeDesk) -> None:
    desk.references.prepared.gate = asyncio.Event()
    await desk.start()
    await until(lambda: desk.references.prepared.calls)
    await desk.book.close()
    assert desk.references.prepared.gone.is_set()
    assert desk.require() == "probe_required"


# --- the operations ---


async def test_a_second_start_joins_the_probe_that_runs(desk: ProbeDesk) -> None:
    gate = desk.references.prepared.gate = asyncio.Event()
    first, second = await asyncio.gather(desk.start(), desk.start())
    assert first == second == await desk.start()
    gate.set()
    await until(lambda: not desk.book.live())
    assert await desk.start() != first
    assert len(desk.references.given) <= 2


async def test_a_start_does_not_join_the_probe_of_a_lane_that_was_replaced(desk: ProbeDesk) -> None:
    gate = desk.references.prepared.gate = asyncio.Event()
    old = await desk.start()
    await until(lambda: desk.references.prepared.calls)
    registration = paper_registration("m", max_tokens=1024, pooling="cls")
    fresh = desk.lanes.new_lane(registration)
    await fresh.ensure_ready()
    await desk.lanes.register(registration, fresh)
    desk.references.prepared = StubWorker()
    assert await desk.start() != old
    gate.set()
    await until(lambda: not desk.book.live())
    assert desk.require() == "ok"


async def test_a_full_queue_does_not_fail_a_probe(desk: ProbeDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk.lane._serving, "_queue_capacity", lambda: 1)
    desk.loader.worker.gate = asyncio.Event()
    waiting = [ask(desk.lane, [5, 6], class_="bulk"), ask(desk.lane, [5, 6])]
    await desk.start()
    await until(lambda: desk.book.live()[0].items_total)
    desk.loader.worker.gate.set()
    for ticket in waiting:
        await ticket.done
    await until(lambda: not desk.book.live())
    assert desk.require() == "ok"


@pytest.mark.parametrize("model_id", ["gte-modernbert-base", "qwen3-embedding-0.6b-metal", "qwen3-reranker-0.6b-cpu"])
async def test_lanes_of_the_catalog_are_not_probed(desk: ProbeDesk, model_id: str) -> None:
    with pytest.raises(SynapseError) as refusal:
        await desk.operations.start(CALL, ModelRef(model_id=model_id))
    assert (refusal.value.code, refusal.value.level) == ("invalid_request", "semantic")
    assert refusal.value.details == {"model_id": model_id}


async def test_an_unknown_lane_is_not_probed(desk: ProbeDesk) -> None:
    with pytest.raises(SynapseError) as refusal:
        await desk.operations.start(CALL, ModelRef(model_id="absent"))
    assert (refusal.value.code, refusal.value.details) == ("unknown_model", {"model_id": "absent"})


async def test_the_status_of_another_kind_of_job_is_refused(desk: ProbeDesk) -> None:
    async def nothing(_: Any) -> None: ...

    job = await desk.book.start("model.load", "m", nothing)
    with pytest.raises(SynapseError) as refusal:
        await desk.operations.status(CALL, JobRef(job_id=job.job_id))
    assert (refusal.value.code, refusal.value.details) == ("invalid_request", {"job_id": job.job_id})


async def test_the_report_of_a_lane_that_was_never_probed(desk: ProbeDesk) -> None:
    report = desk.operations.report(CALL, ProbeReport())
    assert report.module_generation == 9
    assert report.machine == {"machine_id": MACHINE.id, **msgspec.to_builtins(MACHINE)}
    assert msgspec.to_builtins(report.lanes) == [
        {
            "model_id": "m",
            "task": "embed",
            "engine": "owned-cpu",
            "device_class": "cpu",
            "dtype": "f32",
            "max_tokens": 1024,
            "fingerprint": desk.lane.fingerprint,
            "certification_required": True,
            "certification_status": "uncertified",
            "serving_admission": None,
            "serving_admission_reason": None,
            "blocking_reason": "probe_required",
        }
    ]


async def test_the_report_of_a_certified_lane(desk: ProbeDesk) -> None:
    await desk.probe()
    report = desk.report()
    assert "blocking_reason" not in report
    assert report["certification_status"] == "certified"
    assert report["certification"] == {
        "status": "certified",
        "os_build": "debian-12",
        "module_generation": 9,
        "measured_ms": desk.clock.wall_ms(),
        "stale": False,
        "evidence": {"gates": EMBED_GATES.evidence(), "rows": ROWS} | PERFECT,
    }
    performance = report["performance"]
    assert min(performance.pop("cold_load_ms"), performance.pop("tokens_per_second")) > 0
    assert performance.pop("latency_ms") >= 0
    assert performance == {
        "conditions": {"kernel": "6.1", "threads": None},
        "os_build": "debian-12",
        "module_generation": 9,
        "measured_ms": desk.clock.wall_ms(),
        "stale": False,
    }


async def test_the_report_of_one_unknown_lane_is_refused(desk: ProbeDesk) -> None:
    with pytest.raises(SynapseError) as refusal:
        desk.operations.report(CALL, ProbeReport(model_id="absent"))
    assert refusal.value.code == "unknown_model"


async def test_a_paused_lane_is_not_probed(desk: ProbeDesk) -> None:
    await desk.probe()
    desk.fence.closed = True
    with pytest.raises(SynapseError) as caught:
        await desk.start()
    assert caught.value.code == "lane_paused"
    assert [job.kind for job in desk.book.live()] == []
    assert desk.require() == "ok"


async def test_a_probe_that_meets_a_pause_fails_without_an_outcome(desk: ProbeDesk) -> None:
    desk.loader.hold = asyncio.Event()
    job_id = await desk.start()
    await until(lambda: desk.loader.loads)
    desk.fence.closed = True
    desk.loader.hold.set()
    await until(lambda: not desk.book.live())
    assert failure(await desk.book.status(job_id))["code"] == "lane_paused"
    assert desk.require() == "probe_required"
