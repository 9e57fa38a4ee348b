"""The pause of the Neural Engine: every transition, on a clock that only the test moves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from fixtures.clocks import FakeClock
from fixtures.expected_warnings import ExpectedWarnings
from fixtures.lane_desk import LaneDesk, refused
from fixtures.lanes import StubWorker, ask, paper_registration, until
from fixtures.lock_holders import hold
from fixtures.workers import expected_text
from synapse_service.lanes import hardware_lock
from synapse_service.lanes.fence import NoFence
from synapse_service.lanes.hardware_lock import HardwareLock, LockHeld
from synapse_service.lanes.quarantine import CoolDown
from synapse_service.store.database import Store
from synapse_service.workers.faults import WorkerCrashed, WorkerNotGone
from synapse_wire.errors import SynapseError

ROW = [5, 6, 7]
RUNNING = {"phase": "running", "hardware_free": False, "lane_ids": []}


@pytest.fixture
def lock(quick_dir: Path) -> Path:
    return quick_dir / "neural-engine.lock"


@pytest.fixture
async def desk(quick_dir: Path, lock: Path) -> AsyncIterator[LaneDesk]:
    store = Store.open(quick_dir / "synapse.db", FakeClock())
    desk = LaneDesk(store, lock)
    yield desk
    await desk.close()
    await store.close()


def free(lock: Path) -> bool:
    """Whether a private program could take the lock now."""
    mine = HardwareLock(lock)
    try:
        mine.acquire()
    except LockHeld:
        return False
    mine.release()
    return True


def made(lock: Path) -> bool:
    return lock.exists()


def block(lock: Path) -> None:
    """Put something in its place that can't be locked."""
    lock.unlink(missing_ok=True)
    lock.mkdir()


def unblock(lock: Path) -> None:
    lock.rmdir()


def refusal(desk: LaneDesk, lane_id: str = "ane") -> SynapseError:
    with pytest.raises(SynapseError) as caught:
        desk.lane(lane_id).require_unpaused()
    return caught.value


class Stubborn(StubWorker):
    """A worker that survives being killed, until ``release`` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.closing = asyncio.Event()
        self.release = asyncio.Event()

    async def close(self, grace_s: float = 2.0) -> int:
        self.closing.set()
        await self.release.wait()
        raise WorkerNotGone(4711)


class Slow(StubWorker):
    """A worker whose end takes until ``release`` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.closing = asyncio.Event()
        self.release = asyncio.Event()

    async def close(self, grace_s: float = 2.0) -> int:
        self.closing.set()
        await self.release.wait()
        return await super().close()


# --- running, draining, paused ---


async def test_without_a_pause_the_status_is_running_and_nothing_else(desk: LaneDesk) -> None:
    assert desk.status() == RUNNING
    assert plain_end(desk) == RUNNING


def plain_end(desk: LaneDesk) -> dict[str, Any]:
    desk.pauses.neural_engine.end()
    return desk.status()


async def test_a_pause_answers_at_once_and_draining_comes_first(desk: LaneDesk) -> None:
    answer = desk.pause(60.0, "measuring")
    assert answer == {
        "phase": "draining",
        "hardware_free": False,
        "lane_ids": ["ane"],
        "paused_until_ms": desk.clock.wall_ms() + 60_000,
        "reason": "measuring",
    }


async def test_a_cold_lane_is_paused_too_and_the_hardware_is_free(desk: LaneDesk, lock: Path) -> None:
    until_ms = desk.clock.wall_ms() + 60_000
    desk.pause()
    await desk.settle()
    assert desk.status() == {
        "phase": "paused",
        "hardware_free": True,
        "lane_ids": ["ane"],
        "paused_until_ms": until_ms,
        "reason": "measuring",
    }
    assert free(lock)


async def test_the_lock_is_held_while_a_worker_lives_and_given_up_only_after_its_end(
    desk: LaneDesk, lock: Path
) -> None:
    assert not made(lock)
    desk.loaders["ane"].make_worker = Slow
    await desk.load("ane")
    assert not free(lock)
    desk.pause()
    worker = desk.loaders["ane"].worker
    assert isinstance(worker, Slow)
    await worker.closing.wait()
    assert (desk.status()["phase"], desk.status()["hardware_free"], free(lock)) == ("draining", False, False)
    worker.release.set()
    await until(lambda: desk.status()["phase"] == "paused")
    assert desk.status()["hardware_free"] is True
    assert free(lock)
    assert desk.lane("ane").state == "unloaded"


async def test_admitted_requests_end_normally_and_new_ones_are_refused(desk: LaneDesk) -> None:
    await desk.load("ane")
    worker = desk.loaders["ane"].worker
    worker.gate = asyncio.Event()
    running, waiting = ask(desk.lane("ane"), ROW), ask(desk.lane("ane"), [8, 9])
    await until(lambda: worker.calls)
    desk.pause()
    with pytest.raises(SynapseError) as caught:
        ask(desk.lane("ane"), ROW)
    assert caught.value.code == "lane_paused"
    await desk.settle()
    assert desk.status()["phase"] == "draining"
    worker.gate.set()
    assert await running.done == [expected_text(ROW)]
    assert await waiting.done == [expected_text([8, 9])]
    await until(lambda: desk.status()["phase"] == "paused")


async def test_a_request_that_was_admitted_while_its_lane_loads_is_served_before_the_pause(desk: LaneDesk) -> None:
    loader = desk.loaders["ane"]
    loader.hold = asyncio.Event()
    ticket = ask(desk.lane("ane"), ROW)
    await until(lambda: loader.loads)
    desk.pause()
    await desk.settle()
    assert desk.status()["phase"] == "draining"
    loader.hold.set()
    assert await ticket.done == [expected_text(ROW)]
    await until(lambda: desk.status()["phase"] == "paused")


async def test_an_admitted_request_whose_worker_dies_gets_another_one_before_the_pause(
    desk: LaneDesk, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("worker_lost")
    await desk.load("ane")
    worker = desk.loaders["ane"].worker
    worker.gate = asyncio.Event()
    first = ask(desk.lane("ane"), ROW)
    await until(lambda: worker.calls)
    second = ask(desk.lane("ane"), [8, 9])
    desk.pause()
    worker.faults = [WorkerCrashed(-9, "")]
    worker.gate.set()
    assert (await refused(first.done)).code == "engine_crashed"
    assert await second.done == [expected_text([8, 9])]
    await until(lambda: desk.status()["phase"] == "paused")
    assert desk.loaders["ane"].loads == 2


async def test_other_lanes_go_on(desk: LaneDesk) -> None:
    await desk.load("gpu")
    desk.pause()
    await desk.settle()
    assert await ask(desk.lane("gpu"), ROW).done == [expected_text(ROW)]
    assert desk.lane("gpu").state == "ready"
    assert "pause" not in desk.row("gpu")
    assert desk.row("ane")["pause"] == {
        "phase": "paused",
        "reason": "measuring",
        "paused_until_ms": desk.clock.wall_ms() + 60_000,
    }


async def test_a_second_pause_is_refused_in_every_phase(desk: LaneDesk) -> None:
    desk.pause()
    for _ in range(2):
        with pytest.raises(SynapseError) as caught:
            desk.pause(5.0, "another")
        assert (caught.value.code, caught.value.level) == ("invalid_request", "semantic")
        assert (caught.value.details or {})["reason"] == "measuring"
        await desk.settle()
    assert desk.status()["phase"] == "paused"


async def test_nothing_is_loaded_while_a_lane_is_paused(desk: LaneDesk) -> None:
    desk.pause()
    await desk.settle()
    assert (await refused(desk.load("ane"))).code == "lane_paused"
    assert (await refused(desk.lane("ane").ensure_ready())).code == "lane_paused"
    fresh = desk.lanes.new_lane(paper_registration("new", engine="ane"))
    assert (await refused(fresh.ensure_ready())).code == "lane_paused"
    assert desk.loaders["ane"].loads == 0
    assert desk.loaders["new"].loads == 0


async def test_a_lane_that_is_still_being_proven_is_drained_too(desk: LaneDesk, lock: Path) -> None:
    fresh = desk.lanes.new_lane(paper_registration("new", engine="ane"))
    desk.loaders["new"].hold = asyncio.Event()
    proving = asyncio.create_task(fresh.ensure_ready())
    await until(lambda: desk.loaders["new"].loads)
    desk.pause()
    await desk.settle()
    assert desk.status()["phase"] == "draining"
    desk.loaders["new"].hold.set()
    await proving
    await until(lambda: desk.status()["phase"] == "paused")
    assert fresh.state == "unloaded"
    assert free(lock)


# --- what is refused, and how ---


async def test_the_refusal_names_the_lane_its_fingerprint_and_the_end(desk: LaneDesk) -> None:
    until_ms = desk.clock.wall_ms() + 60_000
    desk.pause(60.0, "measuring")
    desk.clock.advance(12.3456)
    error = refusal(desk)
    assert (error.code, error.class_, error.safe_to_retry_same_request) == ("lane_paused", "transient", True)
    assert error.retry_after_ms == 47_655
    assert error.details == {
        "lane_id": "ane",
        "fingerprint": desk.lane("ane").fingerprint,
        "paused_until_ms": until_ms,
        "reason": "measuring",
    }


async def test_the_advice_to_wait_is_never_shorter_than_a_second(desk: LaneDesk) -> None:
    desk.pause(60.0)
    desk.clock.advance(59.5)
    assert refusal(desk).retry_after_ms == 1000


async def test_the_wall_clock_moves_neither_the_end_nor_the_advice(desk: LaneDesk) -> None:
    until_ms = desk.clock.wall_ms() + 60_000
    desk.pause(60.0)
    await desk.settle()
    desk.clock.jump_wall(-7_200_000)
    assert refusal(desk).retry_after_ms == 60_000
    assert desk.status()["paused_until_ms"] == until_ms
    desk.clock.jump_wall(14_400_000)
    await desk.pass_s(59.9)
    assert desk.status()["phase"] == "paused"
    await desk.pass_s(0.1)
    assert desk.status() == RUNNING


# --- the end ---


async def test_expiry_needs_no_call_and_takes_the_lock_back_first(desk: LaneDesk, lock: Path) -> None:
    desk.pause(60.0)
    await desk.settle()
    await desk.pass_s(60.0)
    assert desk.phases == [("neural_engine", phase) for phase in ("draining", "paused", "running")]
    assert await ask(desk.lane("ane"), ROW).done == [expected_text(ROW)]
    assert not free(lock)


async def test_resume_opens_at_once(desk: LaneDesk) -> None:
    desk.pause(60.0)
    await desk.settle()
    assert plain_end(desk) == RUNNING
    assert desk.pauses.neural_engine.refusal(desk.lane("ane").model) is None
    await desk.pass_s(60.0)  # The timer of the pause that is over.
    assert desk.status() == RUNNING


async def test_the_timer_of_an_earlier_pause_does_not_end_a_later_one(desk: LaneDesk) -> None:
    desk.pause(60.0)
    await desk.settle()
    plain_end(desk)
    desk.pause(600.0)
    await desk.settle()
    await desk.pass_s(60.0)
    assert desk.status()["phase"] == "paused"


async def test_the_draining_counts_and_a_slow_one_gets_no_window_of_its_own(
    desk: LaneDesk, lock: Path, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("pause_not_drained")
    await desk.load("ane")
    worker = desk.loaders["ane"].worker
    worker.gate = asyncio.Event()
    ticket = ask(desk.lane("ane"), ROW)
    await until(lambda: worker.calls)
    desk.pause(60.0)
    await desk.pass_s(60.0)
    assert desk.status() == RUNNING
    assert ("neural_engine", "paused") not in desk.phases
    assert not free(lock)
    # It was not cut off, and the lane is not unloaded under it.
    later = ask(desk.lane("ane"), [8, 9])
    worker.gate.set()
    assert await ticket.done == [expected_text(ROW)]
    assert await later.done == [expected_text([8, 9])]
    assert desk.loaders["ane"].loads == 1
    fields = expected_warnings.fields("pause_not_drained")
    assert (fields["lane_id"], fields["stage"]) == ("ane", "drain")


async def test_resume_stops_waiting_for_the_drain(desk: LaneDesk, expected_warnings: ExpectedWarnings) -> None:
    expected_warnings("pause_not_drained")
    await desk.load("ane")
    worker = desk.loaders["ane"].worker
    worker.gate = asyncio.Event()
    ticket = ask(desk.lane("ane"), ROW)
    await until(lambda: worker.calls)
    desk.pause(60.0)
    await desk.settle()
    assert plain_end(desk) == RUNNING
    worker.gate.set()
    assert await ticket.done == [expected_text(ROW)]
    await desk.settle()
    assert desk.lane("ane").state == "ready"


async def test_an_unload_that_began_goes_on_and_its_lane_waits_for_it(
    desk: LaneDesk, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("pause_not_drained")
    desk.loaders["ane"].make_worker = Slow
    await desk.load("ane")
    worker = desk.loaders["ane"].worker
    assert isinstance(worker, Slow)
    desk.pause(60.0)
    await worker.closing.wait()
    await desk.pass_s(60.0)
    assert desk.status() == RUNNING
    assert desk.lane("ane").state == "unloading"
    desk.loaders["ane"].make_worker = StubWorker
    ticket = ask(desk.lane("ane"), ROW)  # Not lane_paused: it waits for its lane as for any load.
    await desk.settle()
    assert desk.loaders["ane"].loads == 1
    worker.release.set()
    assert await ticket.done == [expected_text(ROW)]
    assert desk.loaders["ane"].loads == 2


# --- the lock is somebody else's ---


async def test_a_lock_that_others_hold_at_the_end_keeps_the_lanes_paused(
    desk: LaneDesk, lock: Path, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("pause_waits_for_lock")
    until_ms = desk.clock.wall_ms() + 60_000
    desk.pause(60.0)
    await desk.settle()
    with hold(lock):
        await desk.pass_s(60.0)
        assert desk.status() == {
            "phase": "waiting_for_lock",
            "hardware_free": False,
            "lane_ids": ["ane"],
            "paused_until_ms": until_ms,
            "reason": "measuring",
        }
        assert refusal(desk).retry_after_ms == 1000
        assert (refusal(desk).details or {})["paused_until_ms"] == until_ms
        for warnings in (2, 3, 4):
            await desk.pass_s(1.0)
            assert expected_warnings.seen == ["pause_waits_for_lock"] * warnings
        assert desk.pauses.neural_engine.end().phase == "waiting_for_lock"
        with pytest.raises(SynapseError) as caught:
            desk.pause()
        assert caught.value.code == "invalid_request"
    assert desk.status()["phase"] == "waiting_for_lock"
    await desk.pass_s(1.0)
    assert desk.status() == RUNNING
    assert desk.phases[-2:] == [("neural_engine", "waiting_for_lock"), ("neural_engine", "running")]


async def test_a_defect_at_the_end_does_not_keep_the_lanes_paused_for_ever(
    desk: LaneDesk, monkeypatch: pytest.MonkeyPatch, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("pause_not_ended")

    def defect() -> None:
        raise OverflowError

    desk.pause(60.0)
    await desk.settle()
    with monkeypatch.context() as patch:
        patch.setattr(desk.pauses.engine, "take_back", defect)
        await desk.pass_s(60.0)
        assert desk.status()["phase"] == "waiting_for_lock"
        await desk.pass_s(1.0)
        assert desk.status()["phase"] == "waiting_for_lock"
    await desk.pass_s(1.0)
    assert desk.status() == RUNNING


async def test_a_killed_holder_of_the_lock_opens_the_lanes_at_the_next_try(
    desk: LaneDesk, lock: Path, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("pause_waits_for_lock")
    desk.pause(60.0)
    await desk.settle()
    with hold(lock) as holder:
        desk.pauses.neural_engine.end()
        assert desk.status()["phase"] == "waiting_for_lock"
        holder.kill()
        await desk.pass_s(1.0)
        assert desk.status() == RUNNING


async def test_an_early_end_moves_the_end_that_is_told(
    desk: LaneDesk, lock: Path, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("pause_waits_for_lock")
    desk.pause(3600.0)
    await desk.settle()
    desk.clock.advance(5.0)
    with hold(lock):
        assert plain_end(desk)["paused_until_ms"] == desk.clock.wall_ms()
        assert refusal(desk).retry_after_ms == 1000
    await desk.pass_s(1.0)
    assert desk.status() == RUNNING


async def test_hardware_that_others_hold_from_the_start_is_not_free_until_they_let_go(
    desk: LaneDesk, lock: Path, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("pause_drain_error")
    with hold(lock):
        desk.pause(60.0)
        await desk.settle()
        status = desk.status()
        assert (status["phase"], status["hardware_free"]) == ("drain_failed", False)
        assert status["drain_error"] == {
            "lane_id": None,
            "stage": "lock",
            "code": "lock_held",
            "message": f"another process holds {lock}",
        }
        await desk.pass_s(1.0)
        assert desk.status()["phase"] == "drain_failed"
    await desk.pass_s(1.0)
    assert (desk.status()["phase"], desk.status()["hardware_free"]) == ("paused", True)
    assert "drain_error" not in desk.status()
    assert expected_warnings.seen == ["pause_drain_error"]


async def test_a_lane_that_waits_for_the_lock_of_others_lets_a_pause_through(
    desk: LaneDesk, lock: Path, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("neural_engine_not_ours", "pause_drain_error")
    with hold(lock):
        ticket = ask(desk.lane("ane"), ROW)
        await desk.settle()
        for _ in range(3):
            await desk.pass_s(1.0)
        assert desk.loaders["ane"].loads == 0
        assert expected_warnings.seen == ["neural_engine_not_ours"]
        desk.pause(60.0)
        await desk.pass_s(1.0)
        assert (await refused(ticket.done)).code == "lane_paused"
        await desk.settle()
        assert desk.status()["phase"] == "drain_failed"
    await desk.pass_s(1.0)
    assert desk.status()["phase"] == "paused"


async def test_a_lane_that_waits_for_the_lock_loads_once_it_is_free(
    desk: LaneDesk, lock: Path, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("neural_engine_not_ours")
    with hold(lock):
        ticket = ask(desk.lane("ane"), ROW)
        await desk.settle()
    await desk.pass_s(1.0)
    assert await ticket.done == [expected_text(ROW)]
    assert not free(lock)


# --- what can't be given up ---


async def test_a_worker_that_does_not_end_fails_the_drain_and_keeps_the_lock(
    desk: LaneDesk, lock: Path, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("worker_not_gone", "pause_drain_error", "pause_drain_failed")
    desk.loaders["ane"].make_worker = Stubborn
    await desk.load("ane")
    worker = desk.loaders["ane"].worker
    assert isinstance(worker, Stubborn)
    desk.pause(60.0)
    await worker.closing.wait()
    worker.release.set()
    await until(lambda: desk.status()["phase"] == "drain_failed")
    status = desk.status()
    assert status["hardware_free"] is False
    error = status["drain_error"]
    assert (error["lane_id"], error["stage"], error["code"]) == ("ane", "unload", "engine_crashed")
    assert not free(lock)
    await desk.pass_s(59.0)
    assert desk.status()["phase"] == "drain_failed"
    await desk.pass_s(1.0)
    assert desk.status() == RUNNING
    assert not free(lock)
    assert expected_warnings.fields("pause_drain_failed")["lane_id"] == "ane"
    worker.gone.set()
    await until(lambda: free(lock))


async def test_resume_ends_a_drain_that_failed(desk: LaneDesk, expected_warnings: ExpectedWarnings) -> None:
    expected_warnings("worker_not_gone", "pause_drain_error", "pause_drain_failed")
    desk.loaders["ane"].make_worker = Stubborn
    await desk.load("ane")
    worker = desk.loaders["ane"].worker
    assert isinstance(worker, Stubborn)
    worker.release.set()
    desk.pause(60.0)
    await until(lambda: desk.status()["phase"] == "drain_failed")
    assert plain_end(desk) == RUNNING


async def test_a_lock_that_can_not_be_given_up_is_retained_and_tried_every_second(
    desk: LaneDesk, lock: Path, expected_warnings: ExpectedWarnings, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected_warnings("pause_drain_error")

    def refuse(descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(hardware_lock, "_unlock", refuse)
        desk.pause(60.0)
        await desk.settle()
        status = desk.status()
        assert (status["phase"], status["hardware_free"]) == ("drain_failed", False)
        assert (status["drain_error"]["lane_id"], status["drain_error"]["code"]) == (None, "lock_failed")
        assert not free(lock)
        await desk.pass_s(1.0)
        assert desk.status()["phase"] == "drain_failed"
    await desk.pass_s(1.0)
    assert (desk.status()["phase"], desk.status()["hardware_free"]) == ("paused", True)
    assert free(lock)


async def test_a_retained_lock_does_not_outlast_the_pause(
    desk: LaneDesk, expected_warnings: ExpectedWarnings, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected_warnings("pause_drain_error", "pause_drain_failed", "neural_engine_lock_retained")

    def refuse(descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(hardware_lock, "_unlock", refuse)
        desk.pause(60.0)
        await desk.settle()
        await desk.pass_s(60.0)
        assert desk.status() == RUNNING
        assert expected_warnings.fields("pause_drain_failed")["lane_id"] is None
    assert await ask(desk.lane("ane"), ROW).done == [expected_text(ROW)]


async def test_a_lock_that_can_not_be_opened_at_the_end_is_waited_for(
    desk: LaneDesk, lock: Path, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("pause_waits_for_lock")
    desk.pause(60.0)
    await desk.settle()
    block(lock)
    await desk.pass_s(60.0)
    assert desk.status()["phase"] == "waiting_for_lock"
    unblock(lock)
    await desk.pass_s(1.0)
    assert desk.status() == RUNNING


async def test_a_lane_without_a_lock_to_take_says_so(desk: LaneDesk, lock: Path) -> None:
    block(lock)
    error = await refused(desk.load("ane"))
    assert (error.code, error.details) == ("engine_crashed", {"lane_id": "ane", "reason": "lock_failed"})
    assert desk.loaders["ane"].loads == 0


async def test_a_load_that_failed_leaves_the_lock_free(desk: LaneDesk, lock: Path) -> None:
    desk.loaders["ane"].errors = [WorkerCrashed(1, "")]
    assert (await refused(desk.load("ane"))).code == "engine_crashed"
    assert free(lock)


async def test_a_worker_that_crashed_gives_the_lock_back(
    desk: LaneDesk, lock: Path, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("worker_lost")
    await desk.load("ane")
    desk.loaders["ane"].worker.crash()
    await until(lambda: desk.lane("ane").state == "unloaded")
    await desk.settle()
    assert free(lock)


# --- those who follow ---


async def test_followers_hear_of_every_phase_and_of_the_end(desk: LaneDesk) -> None:
    desk.follow()
    desk.pause(60.0)
    await desk.settle()
    await desk.pass_s(60.0)
    await desk.pass_s(2.0)
    assert [row["pause"]["phase"] if "pause" in row else None for row in desk.told] == ["draining", "paused", None]
    assert {row["lane_id"] for row in desk.told} == {"ane"}


async def test_a_service_that_ends_forgets_the_pause(desk: LaneDesk, lock: Path) -> None:
    desk.pause(60.0)
    await desk.settle()
    desk.pauses.close()
    await desk.pass_s(61.0)
    assert free(lock)


async def test_a_pause_does_not_end_a_quarantine(desk: LaneDesk, expected_warnings: ExpectedWarnings) -> None:
    expected_warnings("worker_lost", "lane_quarantined")
    lane = desk.lane("ane")
    lane.quarantine = CoolDown(desk.clock)
    lane.quarantine.fault("crash")
    desk.loaders["ane"].make_worker = Slow
    await desk.load("ane")
    worker = desk.loaders["ane"].worker
    assert isinstance(worker, Slow)
    worker.gate = asyncio.Event()
    ticket = ask(lane, ROW)
    await until(lambda: worker.calls)
    desk.pause(60.0)
    worker.faults = [WorkerCrashed(-9, "")]
    worker.gate.set()
    assert (await refused(ticket.done)).code == "engine_crashed"
    await worker.closing.wait()
    worker.release.set()
    await until(lambda: desk.status()["phase"] == "paused")
    assert lane.quarantine.active
    desk.pauses.neural_engine.end()
    assert lane.quarantine.active


async def test_a_worker_that_survived_an_earlier_unload_keeps_the_hardware_from_being_free(
    desk: LaneDesk, lock: Path, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("worker_not_gone", "pause_drain_error")
    desk.loaders["ane"].make_worker = Stubborn
    await desk.load("ane")
    worker = desk.loaders["ane"].worker
    assert isinstance(worker, Stubborn)
    worker.release.set()
    assert (await refused(desk.lane("ane").unload())).code == "engine_crashed"
    desk.pause(60.0)
    await until(lambda: desk.status()["phase"] == "drain_failed")
    error = desk.status()["drain_error"]
    assert (error["lane_id"], error["stage"], error["code"]) == (None, "lock", "worker_alive")
    assert not free(lock)
    worker.gone.set()
    await desk.pass_s(1.0)
    await until(lambda: desk.status()["phase"] == "paused")
    assert free(lock)


async def test_no_worker_starts_on_hardware_that_was_given_up_whoever_lets_it_through(
    desk: LaneDesk, lock: Path
) -> None:
    engine, model = desk.pauses.engine, desk.lane("ane").model
    await engine.give_up()
    entering = asyncio.create_task(engine.enter(model, NoFence()))
    await desk.pass_s(5.0)
    assert not entering.done()
    assert free(lock)
    engine.take_back()
    await desk.pass_s(1.0)
    await entering
    assert not free(lock)
    engine.leave()
    assert free(lock)


async def test_a_worker_that_crashed_and_is_not_buried_yet_is_waited_for(
    desk: LaneDesk, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("worker_lost")
    desk.loaders["ane"].make_worker = Slow
    await desk.load("ane")
    worker = desk.loaders["ane"].worker
    assert isinstance(worker, Slow)
    worker.crash()
    await worker.closing.wait()
    assert desk.lane("ane").state == "unloaded"
    desk.pause(60.0)
    await desk.settle()
    assert desk.status()["phase"] == "draining"
    worker.release.set()
    await until(lambda: desk.status()["phase"] == "paused")
