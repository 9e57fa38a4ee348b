"""Self-checks at work: when they run, what their outcomes do, how long they may take, and who waits for them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from fixtures.catalog_desk import (
    CASES,
    EMBED,
    EMBED_CPU,
    EMBED_METAL,
    RERANK_CPU,
    CatalogDesk,
    check_embed,
    check_rerank,
)
from fixtures.embed_desk import refused
from fixtures.expected_warnings import ExpectedWarnings
from fixtures.lanes import StubWorker, ask, until
from synapse_service.clock import SystemClock
from synapse_service.lanes.self_check import self_check_key
from synapse_service.operations import waiting
from synapse_service.store.database import Store
from synapse_service.store.errors import StoreError
from synapse_service.store.models import SelfCheck
from synapse_service.workers.faults import WorkerCrashed, WorkerRefused

CHECK_CALL = [len(ids) for ids in CASES.values()]
"""What a worker is asked for by a self-check: all rows in one call."""


@pytest.fixture
async def desk(quick_dir: Path) -> AsyncIterator[CatalogDesk]:
    clock = SystemClock()
    store = Store.open(quick_dir / "synapse.db", clock)
    desk = CatalogDesk(store, clock)
    yield desk
    await desk.close()
    await store.close()


def calls(desk: CatalogDesk, lane_id: str = EMBED_METAL) -> list[list[list[int]]]:
    """The lengths of every call of every worker of a lane."""
    return [worker.calls for worker in desk.loaders[lane_id].workers]


def stored(desk: CatalogDesk) -> list[tuple[Any, ...]]:
    columns = (SelfCheck.catalog_id, SelfCheck.backend, SelfCheck.state, SelfCheck.reason)
    return desk.store.read_sync(lambda: list(SelfCheck.select(*columns).order_by(SelfCheck.check_id).tuples()))


def wrong(desk: CatalogDesk) -> None:
    """Let the next process find figures that no lane of ``tiny-embed`` gives."""
    check_embed(desk.source, wrong="long")
    desk.restart()


class Held(StubWorker):
    """A worker whose first call, the self-check, waits for ``gate``."""

    def __init__(self, gate: asyncio.Event) -> None:
        super().__init__()
        self.gate = gate


def hold(desk: CatalogDesk, lane_id: str = EMBED_METAL) -> asyncio.Event:
    """Workers that are loaded from now on wait in their calls until the event is set."""
    gate = asyncio.Event()
    loader = desk.loaders[lane_id]
    loader.make_worker = lambda: Held(gate)
    return gate


async def in_check(desk: CatalogDesk, lane_id: str = EMBED_METAL) -> None:
    await until(lambda: desk.lane(lane_id).self_checking)


# --- when it runs ---


async def test_the_first_load_runs_it_and_later_ones_do_not(desk: CatalogDesk) -> None:
    await desk.query(EMBED)
    assert calls(desk) == [[CHECK_CALL, [5]]]
    row = desk.rows()[EMBED_METAL]["self_check"]
    assert (row["state"], row["evidence"]["cases"]) == ("passed", 2)
    assert row["evidence"]["min_cosine"] == pytest.approx(1.0)
    assert stored(desk) == [(EMBED, "metal", "passed", None)]
    await desk.unload(EMBED_METAL)
    await desk.query(EMBED)
    assert calls(desk)[1] == [[5]]


async def test_an_outcome_outlives_the_process(desk: CatalogDesk) -> None:
    await desk.query(EMBED)
    before = desk.rows()[EMBED_METAL]["self_check"]
    desk.restart()
    assert desk.rows()[EMBED_METAL]["self_check"] == before
    await desk.query(EMBED)
    assert calls(desk) == [[[5]]]


async def test_each_lane_has_its_own(desk: CatalogDesk) -> None:
    await desk.query(EMBED_CPU)
    states = {lane_id: row["self_check"]["state"] for lane_id, row in desk.rows().items()}
    assert states == {EMBED_CPU: "passed", EMBED_METAL: "pending", RERANK_CPU: "pending"}


async def test_the_check_id_is_the_digest_of_the_key(desk: CatalogDesk) -> None:
    entry = desk.entry(EMBED)
    key = self_check_key(entry.lanes[0], "debian-12", 1)
    assert desk.check(EMBED_METAL).check_id == key.check_id
    assert (key.catalog_id, key.backend, key.manifest_digest) == (EMBED, "metal", entry.manifest_digest)


async def test_another_operating_system_begins_afresh_and_the_first_one_finds_its_outcome(desk: CatalogDesk) -> None:
    await desk.query(EMBED)
    desk.os_build = "debian-13"
    desk.restart()
    assert desk.rows()[EMBED_METAL]["self_check"]["state"] == "pending"
    await desk.query(EMBED)
    assert calls(desk) == [[CHECK_CALL, [5]]]
    desk.os_build = "debian-12"
    desk.restart()
    assert desk.rows()[EMBED_METAL]["self_check"]["state"] == "passed"


async def test_another_manifest_begins_afresh(desk: CatalogDesk, expected_warnings: ExpectedWarnings) -> None:
    expected_warnings("self_check_failed")
    wrong(desk)
    await refused(desk.query(EMBED))
    check_embed(desk.source)
    desk.source.entries[0]["description"] = "Another text, hence another digest."
    desk.restart()
    assert desk.rows()[EMBED_METAL]["self_check"]["state"] == "pending"
    await desk.query(EMBED)
    assert desk.rows()[EMBED_METAL]["self_check"]["state"] == "passed"


# --- failure ---


async def test_wrong_numbers_refuse_and_no_later_request_loads_the_lane(
    desk: CatalogDesk, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("self_check_failed")
    wrong(desk)
    details = {
        "model_id": EMBED_METAL,
        "backend": "metal",
        "check_id": desk.check(EMBED_METAL).check_id,
        "reason": "cosine_too_low",
    }
    for _ in range(3):
        error = await refused(desk.query(EMBED))
        assert (error.code, error.details) == ("self_check_failed", details)
        assert (error.class_, error.retry_after_ms, error.safe_to_retry_same_request) == ("permanent", None, False)
    assert desk.touched == {EMBED_METAL: (1, 1)}
    assert desk.loaders[EMBED_METAL].worker.gone.is_set()
    assert desk.lane(EMBED_METAL).state == "unloaded"
    assert desk.lane(EMBED_METAL).quarantine.strikes == 0
    assert stored(desk) == [(EMBED, "metal", "failed", "cosine_too_low")]
    # Work that was accepted before, as that of a job, doesn't load it either.
    assert (await refused(ask(desk.lane(EMBED_METAL), [2, 9, 3]).done)).code == "self_check_failed"
    assert desk.touched == {EMBED_METAL: (1, 1)}


async def test_a_failed_lane_says_so_everywhere(desk: CatalogDesk, expected_warnings: ExpectedWarnings) -> None:
    expected_warnings("self_check_failed")
    wrong(desk)
    await refused(desk.query(EMBED))
    row = desk.rows()[EMBED_METAL]
    assert (row["state"], row["certified"]) == ("unloaded", False)
    assert (row["serving_admission"], row["serving_admission_reason"]) == ("disabled", "self_check_failed")
    assert (row["self_check"]["state"], row["self_check"]["reason"]) == ("failed", "cosine_too_low")
    assert row["self_check"]["evidence"]["min_cosine"] == pytest.approx(-1.0)
    assert row["last_error"]["code"] == "self_check_failed"
    report = desk.report()[EMBED_METAL]
    assert (report["blocking_reason"], report["self_check"]) == ("self_check_failed", row["self_check"])
    # The other lane of the entry is another lane.
    assert desk.rows()[EMBED_CPU]["serving_admission"] == "enabled"


async def test_a_failure_outlives_the_process_until_the_model_is_removed(
    desk: CatalogDesk, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("self_check_failed")
    wrong(desk)
    await refused(desk.query(EMBED))
    desk.restart()
    assert (await refused(desk.query(EMBED))).code == "self_check_failed"
    assert desk.touched == {}
    desk.lanes.catalog.forget(desk.entry(EMBED))
    assert desk.rows()[EMBED_METAL]["self_check"]["state"] == "pending"
    assert (await refused(desk.query(EMBED))).code == "self_check_failed"
    assert desk.touched == {EMBED_METAL: (1, 1)}


async def test_numbers_that_are_not_finite_are_wrong_numbers(
    desk: CatalogDesk, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("self_check_failed")

    def broken() -> StubWorker:
        worker = StubWorker()
        worker.non_finite = (1,)
        return worker

    desk.loaders[EMBED_METAL].make_worker = broken
    error = await refused(desk.query(EMBED))
    assert error.details is not None
    assert (error.code, error.details["reason"]) == ("self_check_failed", "non_finite")
    assert desk.lane(EMBED_METAL).quarantine.strikes == 0


async def test_an_outcome_that_can_not_be_written_holds_for_the_process(
    desk: CatalogDesk, expected_warnings: ExpectedWarnings, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected_warnings("self_check_not_kept")

    async def full(*_: object) -> None:
        raise StoreError("storage_full", Path("x"))

    monkeypatch.setattr(desk.outcomes, "save", full)
    await desk.query(EMBED)
    assert desk.rows()[EMBED_METAL]["self_check"]["state"] == "passed"
    assert stored(desk) == []


async def test_figures_that_are_not_those_of_the_catalog_prove_nothing_and_are_not_held_against_the_lane(
    desk: CatalogDesk, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("self_check_unusable")
    desk.source.figures[EMBED]["source"] = "somebody else"
    error = await refused(desk.query(EMBED))
    assert error.details is not None
    assert (error.code, error.details["reason"]) == ("self_check_failed", "figures_unusable")
    assert desk.rows()[EMBED_METAL]["self_check"]["state"] == "pending"
    assert stored(desk) == []
    desk.source.figures[EMBED]["source"] = "tests"
    await desk.query(EMBED)


# --- time and faults ---


async def test_a_check_that_takes_too_long_fails_the_load_and_is_repeated_by_the_next(desk: CatalogDesk) -> None:
    desk.ceiling_s = {"metal": 0.05, "cpu": 60.0}.__getitem__
    gate = hold(desk)
    for _ in range(3):
        error = await refused(desk.query(EMBED))
        assert (error.code, error.class_, error.retry_after_ms) == ("engine_crashed", "transient", 250)
        assert error.details == {"lane_id": EMBED_METAL, "reason": "self_check_ceiling"}
        assert error.safe_to_retry_same_request
        assert desk.loaders[EMBED_METAL].worker.gone.is_set()
    lane = desk.lane(EMBED_METAL)
    assert (lane.state, lane.quarantine.strikes, lane.self_checking) == ("unloaded", 0, False)
    assert desk.rows()[EMBED_METAL]["self_check"]["state"] == "pending"
    assert stored(desk) == []
    gate.set()
    await desk.query(EMBED)
    assert desk.rows()[EMBED_METAL]["self_check"]["state"] == "passed"


async def test_a_crash_during_the_check_is_a_strike_and_no_outcome(
    desk: CatalogDesk, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("lane_quarantined")

    def dying() -> StubWorker:
        worker = StubWorker()
        worker.faults = [WorkerCrashed(-11, "")]
        return worker

    desk.loaders[EMBED_METAL].make_worker = dying
    for strikes in (1, 2):
        error = await refused(desk.query(EMBED))
        assert error.details == {"lane_id": EMBED_METAL, "reason": "crash", "exit": -11}
        assert desk.lane(EMBED_METAL).quarantine.strikes == strikes
    assert desk.rows()[EMBED_METAL]["state"] == "quarantined"
    assert desk.check(EMBED_METAL).outcome.state == "pending"


async def test_rows_that_the_worker_refuses_fail_the_load(desk: CatalogDesk) -> None:
    def refusing() -> StubWorker:
        worker = StubWorker()
        worker.faults = [WorkerRefused("input", "bad id", {})]  # type: ignore[list-item]
        return worker

    desk.loaders[EMBED_METAL].make_worker = refusing
    error = await refused(desk.query(EMBED))
    assert (error.code, error.details) == ("engine_crashed", {"lane_id": EMBED_METAL, "reason": "input"})
    assert desk.loaders[EMBED_METAL].worker.gone.is_set()


# --- those who wait ---


async def test_a_request_waits_for_the_check_longer_than_for_a_load(
    desk: CatalogDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "LOAD_WAIT_S", 0.05)
    gate = hold(desk)
    asked = asyncio.create_task(desk.query(EMBED))
    await in_check(desk)
    await asyncio.sleep(0.2)
    assert not asked.done()
    gate.set()
    assert (await asked)["dims"] == 4


async def test_a_deadline_that_ends_in_the_check_is_answered_as_loading(desk: CatalogDesk) -> None:
    gate = hold(desk)
    error = await refused(desk.query(EMBED, deadline_ms=200))
    assert (error.code, error.class_, error.retry_after_ms) == ("model_loading", "transient", 250)
    assert desk.lane(EMBED_METAL).self_checking
    gate.set()
    await until(lambda: desk.lane(EMBED_METAL).state == "ready")
    assert calls(desk) == [[CHECK_CALL]]


async def test_a_deadline_that_ends_before_the_check_is_a_deadline(desk: CatalogDesk) -> None:
    desk.loaders[EMBED_METAL].hold = asyncio.Event()
    error = await refused(desk.query(EMBED, deadline_ms=200))
    assert error.code == "deadline_exceeded"
    desk.loaders[EMBED_METAL].hold.set()


async def test_a_load_that_takes_too_long_before_the_check_is_answered_as_loading(
    desk: CatalogDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "LOAD_WAIT_S", 0.05)
    desk.loaders[EMBED_METAL].hold = asyncio.Event()
    error = await refused(desk.query(EMBED))
    assert error.code == "model_loading"
    desk.loaders[EMBED_METAL].hold.set()


async def test_the_check_holds_the_lane_by_name(desk: CatalogDesk) -> None:
    gate = hold(desk)
    loading = asyncio.create_task(desk.lane(EMBED_METAL).ensure_ready())
    await in_check(desk)
    holder = {"kind": "self_check", "check_id": desk.check(EMBED_METAL).check_id}
    error = await refused(desk.unload(EMBED_METAL))
    assert (error.code, error.details) == ("model_in_use", {"catalog_id": EMBED, "holders": [holder]})
    assert desk.rows()[EMBED_METAL]["state"] == "loading"
    gate.set()
    await loading
    assert desk.leases.holders() == []


async def test_a_service_that_stops_does_not_wait_for_the_check(desk: CatalogDesk) -> None:
    hold(desk)
    asked = asyncio.create_task(refused(desk.query(EMBED)))
    await in_check(desk)
    await desk.lanes.close()
    assert (await asked).code == "overloaded"
    assert desk.loaders[EMBED_METAL].worker.gone.is_set()
    assert desk.leases.holders() == []
    assert stored(desk) == []


# --- reranking ---


async def test_a_reranking_lane_is_checked_by_its_scores(desk: CatalogDesk) -> None:
    await desk.lane(RERANK_CPU).ensure_ready()
    assert calls(desk, RERANK_CPU) == [[CHECK_CALL]]
    row = desk.rows()[RERANK_CPU]["self_check"]
    assert (row["state"], row["evidence"]["cases"]) == ("passed", 2)
    assert row["evidence"]["max_score_error"] < 1e-6


async def test_scores_that_are_off_fail_it(desk: CatalogDesk, expected_warnings: ExpectedWarnings) -> None:
    expected_warnings("self_check_failed")
    check_rerank(desk.source, wrong="short")
    desk.restart()
    error = await refused(desk.lane(RERANK_CPU).ensure_ready())
    assert error.details is not None
    assert (error.code, error.details["reason"]) == ("self_check_failed", "score_differs")
    assert desk.rows()[RERANK_CPU]["self_check"]["evidence"]["max_score_error"] == pytest.approx(0.1)


async def test_a_score_that_is_not_finite_fails_it(desk: CatalogDesk, expected_warnings: ExpectedWarnings) -> None:
    expected_warnings("self_check_failed")

    def broken() -> StubWorker:
        worker = StubWorker()
        worker.non_finite = (0,)
        return worker

    desk.loaders[RERANK_CPU].make_worker = broken
    error = await refused(desk.lane(RERANK_CPU).ensure_ready())
    assert error.details is not None
    assert error.details["reason"] == "non_finite"
