"""The pause under random orders of everything that can happen to it, checked after each step for what always holds."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from fixtures.clocks import FakeClock
from fixtures.expected_warnings import ExpectedWarnings
from fixtures.lane_desk import LaneDesk
from fixtures.lanes import StubWorker, ask
from synapse_service.admission.queue import Ticket
from synapse_service.lanes.hardware_lock import HardwareLock, LockHeld
from synapse_service.store.database import Store
from synapse_wire.errors import SynapseError

STEPS = 60
WALKS = 40
MAY_WARN = frozenset(
    {
        "lane_quarantined",
        "neural_engine_not_ours",
        "pause_drain_error",
        "pause_drain_failed",
        "pause_not_drained",
        "pause_waits_for_lock",
        "worker_lost",
    }
)


class Walk:
    """One lane of the Neural Engine, somebody else who may hold the lock, and requests on their way."""

    def __init__(self, desk: LaneDesk, lock: Path, seed: int) -> None:
        self.desk = desk
        self.random = random.Random(seed)
        self.other = HardwareLock(lock)
        self.tickets: list[Ticket] = []
        self.refused = 0
        self.phases: set[str] = set()
        desk.loaders["ane"].make_worker = self.worker
        self.gate = asyncio.Event()
        self.gate.set()
        self.actions: tuple[Callable[[], Any], ...] = (
            *(self.request,) * 4,
            *(self.pause,) * 2,
            *(self.resume,) * 2,
            *(self.time,) * 3,
            self.hold_back,
            self.let_go,
            self.take_lock,
            *(self.free_lock,) * 2,
            self.crash,
            self.unload,
        )

    def worker(self) -> StubWorker:
        worker = StubWorker()
        worker.gate = self.gate
        return worker

    def request(self) -> None:
        running = self.desk.status()["phase"] == "running"
        code = None
        try:
            self.tickets.append(ask(self.desk.lane("ane"), [5, 6, 7]))
        except SynapseError as error:
            code = error.code
            self.refused += 1
        assert code == (None if running else "lane_paused")

    def pause(self) -> None:
        running = self.desk.status()["phase"] == "running"
        code = None
        try:
            self.desk.pause(self.random.choice([0.5, 3.0, 20.0]))
        except SynapseError as error:
            code = error.code
        assert code == (None if running else "invalid_request")

    def resume(self) -> None:
        self.desk.pauses.neural_engine.end()

    def time(self) -> None:
        self.desk.clock.advance(self.random.choice([0.1, 1.0, 5.0]))

    def hold_back(self) -> None:
        self.gate.clear()

    def let_go(self) -> None:
        self.gate.set()

    def take_lock(self) -> None:
        try:
            self.other.acquire()
        except LockHeld:
            assert self.desk.pauses.engine.lock_descriptor is not None
            assert not self.desk.status()["hardware_free"]

    def free_lock(self) -> None:
        self.other.release()

    def crash(self) -> None:
        workers = self.desk.loaders["ane"].workers
        if workers and not workers[-1].gone.is_set() and self.gate.is_set():
            workers[-1].crash()

    async def unload(self) -> None:
        lane = self.desk.lane("ane")
        if lane.state == "ready" and not lane.busy:
            await lane.unload()

    async def step(self) -> None:
        action = self.random.choice(self.actions)
        result = action()
        if asyncio.iscoroutine(result):
            await result
        for _ in range(self.random.choice([0, 1, 3, 20])):
            await asyncio.sleep(0)
        self.check()

    def check(self) -> None:
        """What holds at every moment."""
        status, lane = self.desk.status(), self.desk.lane("ane")
        self.phases.add(status["phase"])
        alive = [worker for worker in self.desk.loaders["ane"].workers if not worker.gone.is_set()]
        ours = self.desk.pauses.engine.lock_descriptor is not None
        assert len(alive) <= 1
        assert not alive or (ours and not self.other.held)
        assert status["hardware_free"] == (status["phase"] == "paused")
        if status["hardware_free"]:
            assert not alive
            assert not ours
            assert lane.state == "unloaded"
        assert (self.desk.pauses.fence.refusal(lane.model) is None) == (status["phase"] == "running")
        assert (status["lane_ids"] == []) == (status["phase"] == "running")

    async def come_to_rest(self) -> None:
        """Afterwards everything opens again, and nobody was forgotten."""
        self.gate.set()
        self.other.release()
        self.desk.pauses.neural_engine.end()
        for _ in range(3):
            await self.desk.pass_s(1.0)
            self.check()
        assert self.desk.status()["phase"] == "running"
        for ticket in self.tickets:
            assert ticket.done.done()
            error = ticket.done.exception()
            if error is not None:
                assert isinstance(error, SynapseError)
                assert error.code in ("lane_paused", "engine_crashed", "probe_required")
        self.desk.lane("ane").quarantine.release()
        last = ask(self.desk.lane("ane"), [5, 6, 7])
        await self.desk.pass_s(1.0)
        assert last.done.done()
        assert last.done.exception() is None


@pytest.fixture
async def store(quick_dir: Path) -> AsyncIterator[Store]:
    store = Store.open(quick_dir / "synapse.db", FakeClock())
    yield store
    await store.close()


async def test_whatever_the_order_free_hardware_is_free_and_nobody_is_forgotten(
    store: Store, quick_dir: Path, expected_warnings: ExpectedWarnings
) -> None:
    phases: set[str] = set()
    served = refused = 0
    for seed in range(WALKS):
        lock = quick_dir / f"lock-{seed}"
        desk = LaneDesk(store, lock)
        walk = Walk(desk, lock, seed)
        for _ in range(STEPS):
            await walk.step()
        await walk.come_to_rest()
        await desk.close()
        phases |= walk.phases
        refused += walk.refused
        served += sum(ticket.done.exception() is None for ticket in walk.tickets)
    expected_warnings(*MAY_WARN & set(expected_warnings.seen))
    assert phases == {"running", "draining", "paused", "drain_failed", "waiting_for_lock"}
    assert served > 200
    assert refused > 100
