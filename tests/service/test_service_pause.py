"""The pause of everything, and both pauses at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from fixtures.clocks import FakeClock
from fixtures.expected_warnings import ExpectedWarnings
from fixtures.lane_desk import LaneDesk, plain, refused
from fixtures.lanes import ask, until
from fixtures.workers import expected_text
from synapse_service.lanes.hardware_lock import HardwareLock
from synapse_service.lanes.refusals import not_gone
from synapse_service.store.database import Store
from synapse_service.workers.faults import WorkerNotGone
from synapse_wire.errors import SynapseError

ROW = [5, 6, 7]
WALL_MS = 1_750_000_000_000


@pytest.fixture
async def desk(quick_dir: Path) -> AsyncIterator[LaneDesk]:
    store = Store.open(quick_dir / "synapse.db", FakeClock())
    desk = LaneDesk(store, quick_dir / "lock")
    yield desk
    await desk.close()
    await store.close()


def refusal(desk: LaneDesk, lane_id: str) -> SynapseError:
    with pytest.raises(SynapseError) as caught:
        desk.lane(lane_id).require_unpaused()
    return caught.value


async def test_every_lane_is_drained_and_unloaded(desk: LaneDesk) -> None:
    for lane_id in ("cpu", "gpu", "ane"):
        await desk.load(lane_id)
    worker = desk.loaders["cpu"].worker
    worker.gate = asyncio.Event()
    admitted = ask(desk.lane("cpu"), ROW)
    await until(lambda: worker.calls)
    answer = plain(desk.pauses.everything.begin("a film", 3600.0))
    assert answer == {
        "phase": "draining",
        "hardware_free": False,
        "lane_ids": ["ane", "cpu", "gpu"],
        "paused_until_ms": WALL_MS + 3_600_000,
        "reason": "a film",
    }
    await desk.settle()
    assert [desk.lane(lane_id).state for lane_id in ("ane", "cpu", "gpu")] == ["unloaded", "ready", "unloaded"]
    worker.gate.set()
    assert await admitted.done == [expected_text(ROW)]
    await until(lambda: desk.pauses.everything.status().phase == "paused")
    assert desk.lane("cpu").state == "unloaded"
    for lane_id in ("cpu", "gpu", "ane"):
        error = await refused(desk.load(lane_id))
        assert (error.code, error.retry_after_ms) == ("lane_paused", 3_600_000)
        assert (error.details or {})["lane_id"] == lane_id
    HardwareLock(desk.lock).acquire()


async def test_it_waits_for_what_computes_beside_a_lane_and_ends_that(desk: LaneDesk) -> None:
    ending, ended = asyncio.Event(), asyncio.Event()

    async def compare() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ending.set()
            await ended.wait()

    probe = asyncio.create_task(desk.lane("cpu").beside(compare))
    await desk.settle()
    desk.pauses.everything.begin("a film", 3600.0)
    await asyncio.wait_for(ending.wait(), 5)
    await desk.settle()
    assert desk.pauses.everything.status().phase == "draining"
    ended.set()
    error = await refused(probe)
    assert (error.code, (error.details or {})["lane_id"]) == ("lane_paused", "cpu")
    await until(lambda: desk.pauses.everything.status().phase == "paused")
    assert (await refused(desk.lane("cpu").beside(compare))).code == "lane_paused"


async def test_a_worker_beside_a_lane_that_does_not_end_fails_the_drain(
    desk: LaneDesk, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("pause_drain_error")

    async def compare() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            raise not_gone("cpu", WorkerNotGone(4711))

    probe = asyncio.create_task(desk.lane("cpu").beside(compare))
    await desk.settle()
    desk.pauses.everything.begin("a film", 3600.0)
    assert (await refused(probe)).details == {"lane_id": "cpu", "reason": "not_gone"}
    await until(lambda: desk.pauses.everything.status().phase != "draining")
    status = plain(desk.pauses.everything.status())
    assert (status["phase"], status["hardware_free"]) == ("drain_failed", False)
    error = status["drain_error"]
    assert (error["lane_id"], error["stage"], error["code"]) == ("cpu", "unload", "engine_crashed")


async def test_it_says_until_when_and_opens_by_itself(desk: LaneDesk) -> None:
    desk.pauses.everything.begin("a film", 3600.0)
    await desk.pass_s(3599.0)
    assert refusal(desk, "gpu").retry_after_ms == 1000
    await desk.pass_s(1.0)
    assert desk.pauses.everything.status().phase == "running"
    assert await ask(desk.lane("gpu"), ROW).done == [expected_text(ROW)]


async def test_a_pause_without_an_end_lasts_and_always_says_a_minute_from_now(desk: LaneDesk) -> None:
    answer = plain(desk.pauses.everything.begin("a film", None))
    assert "paused_until_ms" not in answer
    for _ in range(3):
        await desk.pass_s(86_400.0)
        error = refusal(desk, "cpu")
        assert error.retry_after_ms == 60_000
        assert error.details == {
            "lane_id": "cpu",
            "fingerprint": desk.lane("cpu").fingerprint,
            "paused_until_ms": desk.clock.wall_ms() + 60_000,
            "reason": "a film",
        }
    assert desk.row("cpu")["pause"] == {"phase": "paused", "reason": "a film"}
    assert plain(desk.pauses.everything.end()) == {"phase": "running", "hardware_free": False, "lane_ids": []}
    assert "pause" not in desk.row("cpu")


async def test_the_neural_engine_has_a_pause_of_its_own_beside_it(desk: LaneDesk) -> None:
    desk.pauses.everything.begin("a film", 60.0)
    desk.pause(600.0, "measuring")
    await desk.settle()
    assert desk.status()["phase"] == "paused"
    assert refusal(desk, "cpu").retry_after_ms == 60_000
    # The lane opens when the later of its two pauses ends, so that is the one it names.
    assert (refusal(desk, "ane").details or {})["reason"] == "measuring"
    assert refusal(desk, "ane").retry_after_ms == 600_000
    await desk.pass_s(60.0)
    assert desk.pauses.fence.refusal(desk.lane("cpu").model) is None
    assert refusal(desk, "ane").retry_after_ms == 540_000
    desk.pauses.everything.begin("a film", None)
    assert (refusal(desk, "ane").details or {})["reason"] == "a film"
    desk.pauses.everything.end()
    await desk.pass_s(540.0)
    assert desk.pauses.fence.refusal(desk.lane("ane").model) is None


async def test_a_second_pause_names_the_first(desk: LaneDesk) -> None:
    desk.pauses.everything.begin("a film", None)
    with pytest.raises(SynapseError) as caught:
        desk.pauses.everything.begin("another", 5.0)
    assert (caught.value.code, caught.value.level) == ("invalid_request", "semantic")
    assert caught.value.details == {"phase": "draining", "reason": "a film"}
    assert "a film" in caught.value.message


async def test_followers_of_lanes_hear_its_begin_and_its_end(desk: LaneDesk) -> None:
    desk.follow()
    desk.pauses.everything.begin("a film", 60.0)
    await desk.settle()
    await desk.pass_s(60.0)
    await desk.pass_s(5.0)
    for lane_id in ("cpu", "gpu", "ane"):
        rows = [row for row in desk.told if row["lane_id"] == lane_id]
        assert [row["pause"]["phase"] if "pause" in row else None for row in rows] == ["draining", "paused", None]
