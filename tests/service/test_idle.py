"""Unloading what nobody uses, on a clock that only the test moves."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from fixtures.clocks import FakeClock
from fixtures.expected_warnings import ExpectedWarnings
from fixtures.lanes import StubLoader, ask, make_lane, no_catalog, paper_registration, until
from fixtures.workers import expected_text
from synapse_service.admission.leases import LeaseBook
from synapse_service.lanes.idle import IdleUnloader
from synapse_service.lanes.lane import Lane
from synapse_service.lanes.registry import LaneRegistry
from synapse_service.workers.faults import WorkerNotGone

IDLE_S = 900.0
ROW = [5, 6, 7]


class Rig:
    """Two lanes, ``a`` on the CPU and ``b`` on another engine, and what unloads them."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.leases = LeaseBook(lambda: "lease")
        self.loaders: dict[str, StubLoader] = {}
        self.cpu_lanes = True
        self.idle_s = IDLE_S
        self.lanes = LaneRegistry(
            _NoRecords(), self._make, catalog=no_catalog(), leases=self.leases, cpu_lanes=lambda: self.cpu_lanes
        )
        engines = {"a": "owned-cpu", "b": "owned-metal"}
        self.lanes.restore((paper_registration(name, engine=engine), None, None) for name, engine in engines.items())
        self.unloader = IdleUnloader(lanes=self.lanes, leases=self.leases, clock=self.clock, idle_s=lambda: self.idle_s)

    def _make(self, registration: Any, quarantined: str | None) -> Lane:
        loader = self.loaders[registration.model_id] = StubLoader()
        return make_lane(loader, self.clock, registration, quarantined=quarantined)

    def lane(self, name: str) -> Lane:
        return next(lane for lane in self.lanes.every() if lane.lane_id == name)

    async def states(self) -> tuple[str, str]:
        await self.unloader.sweep()
        return self.lane("a").state, self.lane("b").state


class _NoRecords:
    async def save(self, *_: Any) -> None: ...

    async def set_quarantine(self, *_: Any) -> None: ...


@pytest.fixture
async def rig() -> Rig:
    rig = Rig()
    for lane in rig.lanes.every():
        await lane.ensure_ready()
    return rig


async def test_a_lane_is_unloaded_when_its_last_request_was_completed_long_ago(rig: Rig) -> None:
    rig.clock.advance(IDLE_S - 1)
    assert await ask(rig.lane("a"), ROW).done == [expected_text(ROW)]
    await until(lambda: not rig.lane("a").busy)
    rig.clock.advance(1)
    assert await rig.states() == ("ready", "unloaded")
    rig.clock.advance(IDLE_S - 1.001)
    assert await rig.states() == ("ready", "unloaded")
    rig.clock.advance(0.001)
    assert await rig.states() == ("unloaded", "unloaded")


async def test_a_lane_that_was_loaded_and_never_asked_is_idle_from_its_load_on(rig: Rig) -> None:
    rig.clock.advance(IDLE_S)
    assert await rig.states() == ("unloaded", "unloaded")


async def test_a_changed_limit_holds_at_once(rig: Rig) -> None:
    rig.clock.advance(10)
    rig.idle_s = 10
    assert await rig.states() == ("unloaded", "unloaded")


@pytest.mark.parametrize("kind", ["request", "job"])
async def test_a_lane_that_somebody_holds_stays(rig: Rig, kind: Any) -> None:
    rig.clock.advance(2 * IDLE_S)
    with rig.leases.holding("a", kind):
        assert await rig.states() == ("ready", "unloaded")
    assert await rig.states() == ("unloaded", "unloaded")


async def test_a_lane_that_still_computes_for_someone_who_left_stays(rig: Rig) -> None:
    worker = rig.loaders["a"].worker
    worker.gate = asyncio.Event()
    left = ask(rig.lane("a"), ROW)
    await until(lambda: left.started)
    left.done.cancel()
    rig.clock.advance(2 * IDLE_S)
    assert await rig.states() == ("ready", "unloaded")
    worker.gate.set()
    await until(lambda: not rig.lane("a").busy)
    assert await rig.states() == ("ready", "unloaded")  # That call counts as use.
    rig.clock.advance(IDLE_S)
    assert await rig.states() == ("unloaded", "unloaded")


async def test_lanes_that_a_setting_hides_go_as_soon_as_they_are_free(rig: Rig) -> None:
    rig.cpu_lanes = False
    with rig.leases.holding("a"):
        assert await rig.states() == ("ready", "ready")
        # A request that was accepted before is served all the same.
        assert await ask(rig.lane("a"), ROW).done == [expected_text(ROW)]
        await until(lambda: not rig.lane("a").busy)
    assert await rig.states() == ("unloaded", "ready")


async def test_an_unloaded_lane_is_left_alone_and_loads_again_when_asked(rig: Rig) -> None:
    rig.clock.advance(IDLE_S)
    await rig.states()
    assert await rig.states() == ("unloaded", "unloaded")
    assert await ask(rig.lane("a"), ROW).done == [expected_text(ROW)]
    assert rig.loaders["a"].loads == 2


async def test_the_tokenizer_of_a_lane_that_is_not_loaded_goes_too(rig: Rig) -> None:
    rig.clock.advance(IDLE_S)
    await rig.states()
    lane = rig.lane("a")
    await lane.tokenizer()  # As for a request that is then refused for its length.
    rig.clock.advance(IDLE_S - 1)
    await rig.states()
    assert lane.loaded_tokenizer is not None
    rig.clock.advance(1)
    await rig.states()
    assert lane.loaded_tokenizer is None


async def test_a_worker_that_can_not_be_ended_does_not_keep_the_others(
    rig: Rig, expected_warnings: ExpectedWarnings, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected_warnings("worker_not_gone")

    async def stays(grace_s: float = 2.0) -> int:
        raise WorkerNotGone(4711)

    monkeypatch.setattr(rig.loaders["a"].worker, "close", stays)
    rig.clock.advance(IDLE_S)
    await rig.unloader.sweep()
    assert rig.lane("b").state == "unloaded"
    assert expected_warnings.fields("worker_not_gone") == {"lane_id": "a", "pid": 4711}


async def test_the_sweep_goes_on_after_a_defect(
    rig: Rig, expected_warnings: ExpectedWarnings, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected_warnings("unload_failed")

    async def broken(grace_s: float = 2.0) -> int:
        raise ZeroDivisionError

    monkeypatch.setattr(rig.loaders["a"].worker, "close", broken)
    rig.idle_s = 0.01  # The sweeps come every millisecond.
    rig.clock.advance(1)
    running = asyncio.create_task(rig.unloader.run())
    await until(lambda: rig.lane("b").state == "unloaded")
    await rig.lane("a").ensure_ready()
    rig.clock.advance(1)
    await until(lambda: rig.lane("a").state == "unloaded")
    running.cancel()
