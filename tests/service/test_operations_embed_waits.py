"""How an embedding request waits, for the queue, a deadline, a load or a call, and what ends the wait."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

import msgspec
import pytest

from fixtures.embed_desk import EmbedDesk, refused
from fixtures.expected_warnings import ExpectedWarnings
from fixtures.lanes import ask, until
from fixtures.workers import expected_text
from synapse_service.operations import waiting
from synapse_service.settings.declared import Settings
from synapse_service.workers.faults import WorkerCrashed
from synapse_wire.errors import SynapseError


@pytest.fixture
async def desk() -> AsyncIterator[EmbedDesk]:
    desk = EmbedDesk()
    yield desk
    await desk.lanes.close()


# --- the queue ---


async def test_a_wait_that_is_too_long_is_refused_at_once_with_both_numbers(desk: EmbedDesk) -> None:
    await desk.lane.ensure_ready()
    desk.loader.worker.gate = asyncio.Event()
    desk.lane.pace.record(10, 1.0)  # A tenth of a second a token.
    running = ask(desk.lane, [5] * 10)
    await until(lambda: desk.loader.worker.calls)
    waiting = ask(desk.lane, [5] * 20)
    error = await refused(desk.query(max_queue_ms=1500))
    assert (error.code, error.class_, error.retry_after_ms) == ("queue_full", "transient", 250)
    assert error.details is not None
    assert error.details["max_queue_ms"] == 1500
    assert 2500 <= error.details["estimated_ms"] <= 3000
    assert (await refused(desk.query(max_queue_ms=0))).code == "queue_full"
    desk.loader.worker.gate.set()
    await running.done
    await waiting.done
    assert (await desk.query(max_queue_ms=0))["dims"] == 4


async def test_the_setting_bounds_the_wait_of_a_request_that_names_none(desk: EmbedDesk) -> None:
    await desk.lane.ensure_ready()
    desk.loader.worker.gate = asyncio.Event()
    desk.lane.pace.record(10, 1.0)
    ask(desk.lane, [5] * 10)
    ask(desk.lane, [5] * 10)
    desk.settings = Settings(cpu_lanes=True, default_max_queue_ms=100)
    error = await refused(desk.query())
    assert error.details is not None
    assert error.details["max_queue_ms"] == 100
    desk.loader.worker.gate.set()


async def test_a_full_queue_refuses_with_its_depth(desk: EmbedDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk.lane._serving, "_queue_capacity", lambda: 1)
    desk.loader.hold = asyncio.Event()
    first = asyncio.create_task(desk.query())
    await until(lambda: desk.loader.loads)
    error = await refused(desk.query())
    assert (error.code, error.details) == ("queue_full", {"class": "interactive", "depth": 1})
    desk.loader.hold.set()
    await first
    assert desk.held() == 0


# --- deadlines ---


async def test_a_deadline_counts_from_the_receipt_of_the_line(desk: EmbedDesk) -> None:
    error = await refused(desk.query(age_s=1.0, deadline_ms=900))
    assert (error.code, error.class_, error.safe_to_retry_same_request) == ("deadline_exceeded", "transient", False)
    assert (error.retry_after_ms, error.details) == (None, None)
    assert desk.loader.loads == 0


async def test_the_setting_is_the_deadline_of_a_request_that_names_none(desk: EmbedDesk) -> None:
    desk.settings = Settings(cpu_lanes=True, default_deadline_ms=900)
    assert (await refused(desk.query(age_s=1.0))).code == "deadline_exceeded"


async def test_a_deadline_during_the_computing_is_answered_then_and_is_no_strike(desk: EmbedDesk) -> None:
    await desk.query()
    worker = desk.loader.worker
    worker.gate = asyncio.Event()
    began = time.monotonic()
    error = await refused(desk.query("late", deadline_ms=50))
    assert error.code == "deadline_exceeded"
    assert 0.04 <= time.monotonic() - began < 5  # It didn't wait for the worker, which is still at it.
    assert desk.lane.busy
    assert (desk.lane.quarantine.strikes, desk.held()) == (0, 0)
    # The next request gets its own vector, not that of the one that left.
    after = asyncio.create_task(desk.query("after"))
    await asyncio.sleep(0)
    worker.gate.set()
    (vector,) = (await after)["vectors"]
    assert vector["vector"] == msgspec.json.decode(expected_text(await desk.ids("after")))
    assert desk.loader.loads == 1


async def test_each_of_those_who_wait_is_answered_at_a_deadline_of_its_own(desk: EmbedDesk) -> None:
    await desk.query()
    desk.loader.worker.gate = asyncio.Event()
    answered = []

    async def wait(deadline_ms: int) -> None:
        assert (await refused(desk.query(deadline_ms=deadline_ms))).code == "deadline_exceeded"
        answered.append(deadline_ms)

    await asyncio.gather(*(wait(deadline_ms) for deadline_ms in (300, 60, 180, 120, 240)))
    assert answered == [60, 120, 180, 240, 300]
    desk.loader.worker.gate.set()


async def test_a_deadline_in_the_queue_is_answered_then_and_the_rows_are_never_computed(desk: EmbedDesk) -> None:
    await desk.lane.ensure_ready()
    worker = desk.loader.worker
    worker.gate = asyncio.Event()
    running = ask(desk.lane, [5] * 3)
    await until(lambda: worker.calls)
    assert (await refused(desk.query(deadline_ms=50))).code == "deadline_exceeded"
    worker.gate.set()
    await running.done
    await until(lambda: not desk.lane.busy)
    assert worker.calls == [[3]]


async def test_a_deadline_while_the_tokenizer_is_read_is_answered_then(desk: EmbedDesk) -> None:
    desk.loader.gate = asyncio.Event()
    assert (await refused(desk.query(deadline_ms=50))).code == "deadline_exceeded"
    assert (desk.loader.loads, desk.held()) == (0, 0)
    desk.loader.gate.set()
    assert (await desk.query())["dims"] == 4


# --- loading ---


@pytest.fixture
def short_load_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "LOAD_WAIT_S", 0.1)


@pytest.mark.usefixtures("short_load_wait")
async def test_a_load_that_takes_too_long_is_model_loading(desk: EmbedDesk) -> None:
    desk.loader.hold = asyncio.Event()
    error = await refused(desk.query())
    assert (error.code, error.class_, error.retry_after_ms) == ("model_loading", "transient", 250)
    assert (error.safe_to_retry_same_request, error.details) == (True, None)
    # The load goes on, and the retry finds the lane ready.
    desk.loader.hold.set()
    assert (await desk.query())["dims"] == 4
    assert desk.loader.loads == 1


@pytest.mark.usefixtures("short_load_wait")
async def test_a_deadline_before_the_end_of_the_load_wait_is_deadline_exceeded(desk: EmbedDesk) -> None:
    desk.loader.hold = asyncio.Event()
    assert (await refused(desk.query(deadline_ms=50))).code == "deadline_exceeded"


async def test_a_load_within_the_wait_is_waited_for(desk: EmbedDesk) -> None:
    desk.loader.hold = asyncio.Event()
    asking = asyncio.create_task(desk.query())
    await until(lambda: desk.lane.state == "loading")
    await asyncio.sleep(0.03)
    assert not asking.done()
    desk.loader.hold.set()
    assert (await asking)["dims"] == 4


@pytest.mark.usefixtures("short_load_wait")
async def test_waiting_for_another_request_is_never_model_loading(desk: EmbedDesk) -> None:
    await desk.lane.ensure_ready()
    desk.loader.worker.gate = asyncio.Event()
    running = ask(desk.lane, [5] * 3)
    asking = asyncio.create_task(desk.query())
    await asyncio.sleep(0.35)
    assert not asking.done()
    desk.loader.worker.gate.set()
    assert (await asking)["dims"] == 4
    await running.done


@pytest.mark.usefixtures("short_load_wait")
async def test_a_lane_that_loses_its_worker_lets_those_who_wait_wait_no_longer_than_for_a_first_load(
    desk: EmbedDesk, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("worker_lost")
    await desk.lane.ensure_ready()
    worker = desk.loader.worker
    worker.gate = asyncio.Event()
    running = ask(desk.lane, [5] * 3)
    await until(lambda: worker.calls)
    asking = asyncio.create_task(desk.query())
    await asyncio.sleep(0.2)  # Longer than the wait for a load, but the lane was ready.
    desk.loader.hold = asyncio.Event()
    worker.faults.append(WorkerCrashed(-9, ""))
    worker.gate.set()
    assert (await refused(asking)).code == "model_loading"
    assert isinstance(running.done.exception(), SynapseError)
    desk.loader.hold.set()


# --- faults and those who leave ---


async def test_an_engine_that_crashes_is_reported_and_the_next_request_is_served(
    desk: EmbedDesk, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("worker_lost")
    await desk.lane.ensure_ready()
    desk.loader.worker.faults.append(WorkerCrashed(-11, ""))
    error = await refused(desk.query())
    assert (error.code, error.retry_after_ms) == ("engine_crashed", 250)
    assert error.details == {"lane_id": "m", "reason": "crash", "exit": -11}
    assert (await desk.query())["dims"] == 4
    assert desk.loader.loads == 2


async def test_an_item_that_is_not_finite_fails_its_batch_and_is_named(desk: EmbedDesk) -> None:
    await desk.lane.ensure_ready()
    desk.loader.worker.non_finite = (1,)
    error = await refused(desk.batch("one", "one two three", "one two"))
    assert (error.code, error.details) == ("engine_crashed", {"item_id": "i2", "reason": "non_finite"})
    assert desk.lane.quarantine.strikes == 1


async def test_a_request_holds_its_lane_until_it_is_answered(desk: EmbedDesk) -> None:
    desk.loader.hold = asyncio.Event()
    asking = asyncio.create_task(desk.query())
    await until(lambda: desk.loader.loads)
    assert msgspec.to_builtins(desk.leases.holders("m")) == [{"kind": "request", "lease_id": "lease-1"}]
    desk.loader.hold.set()
    await asking
    assert desk.held() == 0


async def test_a_request_that_is_cancelled_in_the_queue_never_runs_and_lets_go(desk: EmbedDesk) -> None:
    await desk.lane.ensure_ready()
    worker = desk.loader.worker
    worker.gate = asyncio.Event()
    running = ask(desk.lane, [5] * 3)
    await until(lambda: worker.calls)
    leaving = asyncio.create_task(desk.query())
    await until(lambda: desk.lane.queue.depth("interactive") == 1)
    leaving.cancel()
    await asyncio.gather(leaving, return_exceptions=True)
    assert (desk.held(), desk.lane.queue.depth("interactive")) == (0, 0)
    worker.gate.set()
    await running.done
    await until(lambda: not desk.lane.busy)
    assert worker.calls == [[3]]
