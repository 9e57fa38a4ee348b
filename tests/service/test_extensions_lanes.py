"""``lanes.list``, ``lanes.load``, ``lanes.keep_warm`` and the topic ``lanes``."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from fixtures.clocks import FakeClock
from fixtures.expected_warnings import ExpectedWarnings
from fixtures.lane_desk import IDLE_S, LaneDesk, refused
from fixtures.lanes import ask, until
from synapse_service.lanes.keep_warm import KeptWarm
from synapse_service.lanes.quarantine import COOL_DOWN_S, CoolDown
from synapse_service.store.database import Store
from synapse_service.workers.faults import WorkerCrashed

ROW = [5, 6, 7]


@pytest.fixture
async def store(quick_dir: Path) -> AsyncIterator[Store]:
    store = Store.open(quick_dir / "synapse.db", FakeClock())
    yield store
    await store.close()


@pytest.fixture
async def desk(store: Store, quick_dir: Path) -> AsyncIterator[LaneDesk]:
    desk = LaneDesk(store, quick_dir / "lock")
    yield desk
    await desk.close()


# --- rows ---


async def test_the_row_of_a_lane_that_nobody_used(desk: LaneDesk) -> None:
    assert desk.row("gpu") == {
        "lane_id": "gpu",
        "model_id": "gpu",
        "task": "embed",
        "engine": "owned-metal",
        "fingerprint": desk.lane("gpu").fingerprint,
        "state": "unloaded",
        "requests_done": 0,
        "requests_refused": 0,
        "in_flight": 0,
        "waiting": 0,
        "keep_warm": False,
        "self_check": {"state": "not_applicable"},
        "pins": [],
        "users": [],
    }


async def test_the_row_of_a_loaded_lane_that_has_worked(desk: LaneDesk) -> None:
    lane = desk.lane("cpu")
    received = desk.clock.monotonic()
    with lane.use.request(received, "editor"):
        await ask(lane, ROW).done
        desk.clock.advance(0.25)
    await until(lambda: not lane.busy)
    row = desk.row("cpu")
    assert row["state"] == "ready"
    assert row["rss_bytes"] == 1_000_000
    assert (row["requests_done"], row["requests_refused"]) == (1, 0)
    assert (row["p50_ms"], row["p95_ms"]) == (250.0, 250.0)
    assert row["last_used_ms"] == desk.clock.wall_ms() - 250
    assert row["idle_unload_at_ms"] == desk.clock.wall_ms() - 250 + round(IDLE_S * 1000)
    assert row["users"] == ["editor"]
    await lane.unload()
    row = desk.row("cpu")
    assert row["users"] == []
    assert "idle_unload_at_ms" not in row
    assert "rss_bytes" not in row


async def test_a_lane_that_is_held_has_no_time_of_its_unloading(desk: LaneDesk) -> None:
    await desk.load("cpu")
    assert "idle_unload_at_ms" in desk.row("cpu")
    with desk.leases.holding("cpu"):
        assert "idle_unload_at_ms" not in desk.row("cpu")


async def test_the_time_of_unloading_follows_the_wall_clock_when_that_is_set(desk: LaneDesk) -> None:
    await desk.load("cpu")
    desk.clock.advance(100.0)
    desk.clock.jump_wall(3_600_000)
    assert desk.row("cpu")["idle_unload_at_ms"] == desk.clock.wall_ms() + round((IDLE_S - 100) * 1000)


async def test_requests_that_wait_and_those_that_are_computed_are_told_apart(desk: LaneDesk) -> None:
    await desk.load("cpu")
    worker = desk.loaders["cpu"].worker
    worker.gate = asyncio.Event()
    first = ask(desk.lane("cpu"), ROW)
    await until(lambda: worker.calls)
    second, third = ask(desk.lane("cpu"), ROW), ask(desk.lane("cpu"), ROW, class_="bulk")
    row = desk.row("cpu")
    assert (row["in_flight"], row["waiting"]) == (1, 2)
    worker.gate.set()
    await asyncio.gather(first.done, second.done, third.done)


async def test_a_lane_whose_quarantine_ends_by_itself_says_when(
    desk: LaneDesk, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("lane_quarantined")
    lane = desk.lane("gpu")
    lane.quarantine = CoolDown(desk.clock)
    for _ in range(2):
        await lane.count_fault("crash")
    desk.clock.advance(100.0)
    row = desk.row("gpu")
    assert (row["state"], row["quarantine_reason"]) == ("quarantined", "crash")
    assert row["quarantine_until_ms"] == desk.clock.wall_ms() + round((COOL_DOWN_S - 100) * 1000)
    desk.clock.advance(COOL_DOWN_S - 100)
    row = desk.row("gpu")
    assert row["state"] == "unloaded"
    assert "quarantine_reason" not in row
    assert "quarantine_until_ms" not in row


async def test_a_lane_that_needs_a_probe_has_a_quarantine_without_an_end(
    desk: LaneDesk, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("lane_quarantined")
    for _ in range(2):
        await desk.lane("gpu").count_fault("hang")
    row = desk.row("gpu")
    assert (row["state"], row["quarantine_reason"]) == ("quarantined", "hang")
    assert "quarantine_until_ms" not in row


# --- lanes.list ---


async def test_the_list_has_every_lane_by_id_and_the_owners_of_pins(desk: LaneDesk) -> None:
    await desk.pins.put("user", "gpu", ["a" * 64, "b" * 64])
    await desk.pins.put("backup", "gpu", ["a" * 64])
    answer = desk.listing()
    assert answer["module_generation"] == 9
    assert [(row["lane_id"], row["pins"]) for row in answer["lanes"]] == [
        ("ane", []),
        ("cpu", []),
        ("gpu", ["backup", "user"]),
    ]


# --- lanes.load ---


async def test_load_answers_when_the_lane_is_ready(desk: LaneDesk) -> None:
    assert (await desk.load("cpu"))["state"] == "ready"
    assert desk.loaders["cpu"].loads == 1
    assert (await desk.load("cpu"))["state"] == "ready"
    assert desk.loaders["cpu"].loads == 1
    assert desk.leases.holders() == []


async def test_a_lane_that_somebody_loads_is_held_and_its_load_goes_on_without_them(desk: LaneDesk) -> None:
    desk.loaders["cpu"].hold = asyncio.Event()
    loading = asyncio.create_task(desk.load("cpu"))
    await until(lambda: desk.loaders["cpu"].loads)
    assert [holder.kind for holder in desk.leases.holders("cpu")] == ["request"]
    loading.cancel()
    await asyncio.gather(loading, return_exceptions=True)
    assert desk.leases.holders("cpu") == []
    desk.loaders["cpu"].hold.set()
    await until(lambda: desk.lane("cpu").state == "ready")


async def test_a_load_that_fails_says_why(desk: LaneDesk) -> None:
    desk.loaders["cpu"].errors = [WorkerCrashed(-9, "")]
    error = await refused(desk.load("cpu"))
    assert (error.code, error.details) == ("engine_crashed", {"lane_id": "cpu", "reason": "crash", "exit": -9})


async def test_a_quarantined_lane_is_not_loaded_by_hand(desk: LaneDesk, expected_warnings: ExpectedWarnings) -> None:
    expected_warnings("lane_quarantined")
    for _ in range(2):
        await desk.lane("cpu").count_fault("crash")
    assert (await refused(desk.load("cpu"))).code == "probe_required"
    assert desk.loaders["cpu"].loads == 0


async def test_an_unknown_lane_is_refused(desk: LaneDesk) -> None:
    for answer in (desk.load("none"), desk.warm("none")):
        error = await refused(answer)
        assert (error.code, error.details) == ("unknown_model", {"model_id": "none"})


# --- lanes.keep_warm ---


async def test_a_lane_that_is_kept_warm_is_not_unloaded_for_idleness(desk: LaneDesk) -> None:
    await desk.load("cpu")
    await desk.load("gpu")
    row = await desk.warm("cpu")
    assert row["keep_warm"] is True
    assert "idle_unload_at_ms" not in row
    desk.clock.advance(IDLE_S)
    await desk.idle.sweep()
    assert (desk.lane("cpu").state, desk.lane("gpu").state) == ("ready", "unloaded")
    assert (await desk.warm("cpu", on=False))["keep_warm"] is False
    await desk.idle.sweep()
    assert desk.lane("cpu").state == "unloaded"


async def test_keeping_warm_outlives_the_process(desk: LaneDesk, store: Store) -> None:
    await desk.warm("cpu")
    await desk.warm("cpu")
    await desk.warm("gpu")
    await desk.warm("gpu", on=False)
    again = KeptWarm(store)
    assert ("cpu" in again, "gpu" in again) == (True, False)


# --- the topic ---


async def test_followers_hear_of_states_at_once_and_of_counts_now_and_then(desk: LaneDesk) -> None:
    desk.follow()
    await desk.load("cpu")
    desk.clock.advance(0.1)
    assert desk.told[-1]["state"] == "ready"
    heard = len(desk.told)
    for _ in range(50):
        with desk.lane("cpu").use.request(desk.clock.monotonic(), "editor"):
            pass
    desk.clock.advance(0.4)
    assert len(desk.told) == heard
    desk.clock.advance(0.2)
    assert [row["requests_done"] for row in desk.told[heard:]] == [50]


async def test_counts_wake_nobody_while_nobody_follows(desk: LaneDesk) -> None:
    with desk.lane("cpu").use.request(0.0, None):
        pass
    desk.follow()
    desk.clock.advance(10.0)
    assert desk.told == []


async def test_a_quarantine_is_never_replaced_by_what_comes_after_it(
    desk: LaneDesk, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("lane_quarantined")
    desk.follow()
    lane = desk.lane("gpu")
    lane.announce()
    for _ in range(2):
        await lane.count_fault("crash")
    lane.quarantine.release()
    lane.announce()
    lane.announce()
    desk.clock.advance(2.0)
    states = [row["state"] for row in desk.told]
    assert states[-2:] == ["quarantined", "unloaded"] or states[-3:] == ["quarantined", "unloaded", "unloaded"]


async def test_keeping_warm_is_told(desk: LaneDesk) -> None:
    desk.follow()
    await desk.warm("cpu")
    desk.clock.advance(0.2)
    assert [(row["lane_id"], row["keep_warm"]) for row in desk.told] == [("cpu", True)]
