"""Compiles of the Neural Engine: told by the worker, kept apart from hangs, and named to those whom they made late."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from fixtures.clocks import FakeClock
from fixtures.embed_desk import EmbedDesk, refused
from fixtures.expected_warnings import ExpectedWarnings
from fixtures.lanes import ask, until
from fixtures.workers import pack_rows, scripted_launch, scripted_spec
from synapse_service.lanes.compiles import CompileLog
from synapse_service.workers.faults import WorkerHung
from synapse_service.workers.process import WorkerProcess

ROW = [5, 6, 7]


# --- the log ---


def test_a_wait_without_a_compile_was_not_held_up_by_one() -> None:
    log = CompileLog()
    log.note(128, True)
    log.note(128, False)
    mark = log.mark()
    assert log.blocked(mark, computing=False) is None
    assert log.blocked(mark, computing=True) is None
    assert log.running is None


def test_a_compile_that_runs_now_holds_up_everybody() -> None:
    log = CompileLog()
    mark = log.mark()
    log.note(256, True)
    assert log.running == 256
    assert log.blocked(mark, computing=True) == 256
    assert log.blocked(mark, computing=False) == 256
    assert log.blocked(log.mark(), computing=False) == 256


def test_a_compile_that_ran_when_the_wait_began_is_a_part_of_it() -> None:
    log = CompileLog()
    log.note(256, True)
    mark = log.mark()
    log.note(256, False)
    assert log.blocked(mark, computing=False) == 256


def test_a_compile_that_is_over_does_not_excuse_those_whose_rows_are_computed() -> None:
    log = CompileLog()
    mark = log.mark()
    log.note(256, True)
    log.note(256, False)
    assert log.blocked(mark, computing=True) is None
    assert log.blocked(mark, computing=False) == 256


def test_of_many_compiles_the_latest_is_named() -> None:
    log = CompileLog()
    mark = log.mark()
    for shape in range(1, 20):
        log.note(shape, True)
        log.note(shape, False)
    assert log.blocked(mark, computing=False) == 19


def test_a_worker_that_is_gone_compiles_no_more() -> None:
    log = CompileLog()
    log.note(128, True)
    log.interrupted()
    assert log.running is None


# --- a real worker ---


@pytest.fixture
async def workers(tmp_path: Path) -> AsyncIterator[list[WorkerProcess]]:
    started: list[WorkerProcess] = []
    yield started
    for worker in started:
        await worker.close(0.05)


async def start(tmp_path: Path, workers: list[WorkerProcess], clock: FakeClock, **script: Any) -> WorkerProcess:
    worker = await WorkerProcess.start(scripted_launch(tmp_path, **script), clock=clock, check_every_s=0.01)
    workers.append(worker)
    await worker.load(scripted_spec())
    return worker


async def test_a_worker_tells_around_each_compile(tmp_path: Path, workers: list[WorkerProcess]) -> None:
    calls = [{"compile_shape": 128}, {}, {"compile_shape": 256}]
    worker = await start(tmp_path, workers, FakeClock(), calls=calls)
    told: list[tuple[int, bool]] = []
    worker.follow_compiles(lambda shape, begun: told.append((shape, begun)))
    lengths, ids = pack_rows([ROW])
    for _ in calls:
        await worker.embed(lengths, ids, "json")
    assert told == [(128, True), (128, False), (256, True), (256, False)]


async def test_a_compile_may_take_ten_minutes_and_counts_as_hung_then(
    tmp_path: Path, workers: list[WorkerProcess]
) -> None:
    clock = FakeClock()
    worker = await start(tmp_path, workers, clock, calls=[{"compile_shape": 128, "delay_s": 60}])
    log = CompileLog()
    worker.follow_compiles(log.note)
    lengths, ids = pack_rows([ROW])
    answer = worker.embed(lengths, ids, "json", stall_limit_s=120)
    await until(lambda: log.running)
    clock.advance(599)
    await asyncio.sleep(0.05)
    assert worker.fault is None
    clock.advance(1)
    with pytest.raises(WorkerHung) as hung:
        await answer
    assert hung.value.limit_s == 600


async def test_after_the_compile_the_ordinary_limit_counts_from_its_end(
    tmp_path: Path, workers: list[WorkerProcess]
) -> None:
    clock = FakeClock()
    worker = await start(tmp_path, workers, clock, calls=[{"compile_shape": 128, "delay_s": 0.3, "hang": True}])
    log = CompileLog()
    worker.follow_compiles(log.note)
    lengths, ids = pack_rows([ROW])
    answer = worker.embed(lengths, ids, "json", stall_limit_s=120)
    await until(lambda: log.running)
    clock.advance(500)
    await until(lambda: log.running is None)
    clock.advance(119)
    await asyncio.sleep(0.05)
    assert worker.fault is None
    clock.advance(1)
    with pytest.raises(WorkerHung) as hung:
        await answer
    assert hung.value.limit_s == 120


# --- requests ---


@pytest.fixture
async def desk() -> AsyncIterator[EmbedDesk]:
    desk = EmbedDesk()
    await desk.lane.ensure_ready()
    desk.loader.worker.gate = asyncio.Event()
    yield desk
    await desk.lanes.close()


async def test_a_deadline_that_expires_while_its_shape_compiles_says_so(desk: EmbedDesk) -> None:
    query = asyncio.create_task(desk.query(deadline_ms=150))
    await until(lambda: desk.loader.worker.calls)
    desk.loader.worker.on_compile(128, True)
    error = await refused(query)
    assert (error.code, error.class_, error.safe_to_retry_same_request) == ("shape_compiling", "transient", True)
    assert (error.retry_after_ms, error.details) == (1000, {"lane_id": "m", "shape": 128})
    assert desk.lane.quarantine.strikes == 0
    # The compile goes on without the request, so a retry joins it, and finds the shape ready once it is over.
    assert (await refused(desk.query(deadline_ms=100))).code == "shape_compiling"
    desk.loader.worker.on_compile(128, False)
    assert desk.loader.worker.gate is not None
    desk.loader.worker.gate.set()
    assert (await desk.query())["dims"] == 4


async def test_a_wait_for_the_worker_during_another_compile_is_held_up_by_it(desk: EmbedDesk) -> None:
    first = ask(desk.lane, ROW)
    await until(lambda: desk.loader.worker.calls)
    desk.loader.worker.on_compile(512, True)
    waiting = asyncio.create_task(desk.query(deadline_ms=200))
    await until(lambda: desk.lane.queue.depth("interactive") == 1)
    desk.loader.worker.on_compile(512, False)
    error = await refused(waiting)
    assert (error.code, error.details) == ("shape_compiling", {"lane_id": "m", "shape": 512})
    assert desk.loader.worker.gate is not None
    desk.loader.worker.gate.set()
    await first.done


async def test_a_slow_computation_is_no_compile(desk: EmbedDesk) -> None:
    query = asyncio.create_task(desk.query(deadline_ms=150))
    await until(lambda: desk.loader.worker.calls)
    desk.loader.worker.on_compile(128, True)
    desk.loader.worker.on_compile(128, False)
    assert (await refused(query)).code == "deadline_exceeded"
    assert (await refused(desk.query(deadline_ms=50))).code == "deadline_exceeded"


async def test_a_worker_that_dies_compiling_leaves_no_compile_behind(
    desk: EmbedDesk, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("worker_lost")
    desk.loader.worker.on_compile(128, True)
    desk.loader.worker.crash()
    await until(lambda: desk.lane.state == "unloaded")
    assert desk.lane.compiles.running is None
