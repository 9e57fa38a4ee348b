"""One lane with real worker processes: loading, serving, faults, quarantine, unloading; who gets which answer."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import psutil
import pytest

from fixtures.clocks import FakeClock
from fixtures.expected_warnings import ExpectedWarnings
from fixtures.lanes import History, ScriptedLoader, StubLoader, ask, make_lane, paper_registration, until
from fixtures.workers import expected_raw, expected_text
from synapse_service.admission.queue import Ticket
from synapse_service.lanes.lane import Lane
from synapse_service.lanes.serving import Pacing
from synapse_service.workers.faults import WorkerCrashed, WorkerNotGone
from synapse_wire.errors import SynapseError

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="workers are ended by POSIX signals here")

SMALL = Pacing(interactive_tokens=4, bulk_tokens=4, bulk_seconds=1e9)
"""Cuts the queue into calls of four tokens."""

A, B, C = [5, 6, 7], [8, 9, 10, 11], [12, 13]


class Rig:
    """A lane, its loader, and what it told."""

    def __init__(self, lane: Lane, loader: Any, history: History) -> None:
        self.lane = lane
        self.loader = loader
        self.history = history

    async def drained(self) -> None:
        await until(lambda: not self.lane.busy)


Start = Callable[..., Rig]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def rig(tmp_path: Path, clock: FakeClock) -> AsyncIterator[Start]:
    """Makes a lane whose loads play the given scripts, and closes it after the test."""
    async with AsyncExitStack() as stack:

        def start(*scripts: dict[str, Any], loader: Any = None, **options: Any) -> Rig:
            loader = loader or ScriptedLoader(tmp_path, clock, *scripts)
            history = History()
            lane = make_lane(loader, clock, history=history, **options)
            stack.push_async_callback(lane.close)
            return Rig(lane, loader, history)

        yield start


async def failure(ticket: Ticket) -> SynapseError:
    with pytest.raises(SynapseError) as caught:
        await asyncio.wait_for(asyncio.shield(ticket.done), 20)
    return caught.value


def crash(exit_status: int = -9) -> dict[str, Any]:
    return {"lane_id": "lane", "reason": "crash", "exit": exit_status}


# --- serving ---


async def test_the_first_request_loads_the_lane_and_every_row_gets_its_own_vector(rig: Start) -> None:
    one = rig()
    assert (one.lane.state, one.lane.rss_bytes()) == ("unloaded", None)
    json, raw = ask(one.lane, A, B), ask(one.lane, C, encoding="f32")
    assert await json.done == [expected_text(A), expected_text(B)]
    assert await raw.done == [expected_raw(C)]
    assert one.history.states == ["loading", "ready"]
    assert one.loader.loads == 1
    assert one.lane.load_ms == 12.5
    assert one.lane.facts == {"engine": "scripted test double"}
    assert (one.lane.rss_bytes() or 0) > 1_000_000


async def test_rows_keep_their_places_in_whatever_order_and_calls_they_are_computed(rig: Start) -> None:
    one = rig(pacing=SMALL)
    rows = [[1] * 9, [2], [3] * 4, [4] * 2, [5], [1] * 9]
    tickets = [ask(one.lane, *rows, class_="bulk", name="a"), ask(one.lane, *rows[::-1], class_="bulk", name="b")]
    assert await tickets[0].done == [expected_text(row) for row in rows]
    assert await tickets[1].done == [expected_text(row) for row in rows[::-1]]


async def test_callers_share_one_load(rig: Start) -> None:
    one = rig(loader=StubLoader())
    ask(one.lane, A)
    loaded = await asyncio.gather(*(one.lane.ensure_ready() for _ in range(5)))
    assert one.loader.loads == 1
    assert all(each is loaded[0] for each in loaded)


async def test_callers_share_one_reading_of_the_tokenizer(rig: Start) -> None:
    one = rig(loader=StubLoader())
    one.loader.gate = asyncio.Event()
    readers = [asyncio.create_task(one.lane.tokenizer()) for _ in range(5)]
    await until(lambda: one.loader.reads)
    readers[0].cancel()  # The one who began it leaves; the others must not suffer.
    one.loader.gate.set()
    found = await asyncio.gather(*readers[1:])
    assert one.loader.reads == 1
    assert all(each is one.lane.loaded_tokenizer for each in found)


async def test_a_request_that_was_answered_before_its_turn_loads_nothing(rig: Start) -> None:
    one = rig(loader=StubLoader())
    ask(one.lane, A).done.cancel()
    await one.drained()
    assert one.loader.loads == 0
    assert one.history.states == []


async def test_a_full_queue_refuses_and_the_capacity_may_change(rig: Start) -> None:
    capacity = 1
    one = rig(loader=StubLoader(), capacity=lambda: capacity)
    one.loader.hold = asyncio.Event()
    first = ask(one.lane, A)
    with pytest.raises(SynapseError) as refusal:
        ask(one.lane, B)
    assert (refusal.value.code, refusal.value.details) == ("queue_full", {"class": "interactive", "depth": 1})
    capacity = 2
    second = ask(one.lane, B)
    one.loader.hold.set()
    assert await first.done == [expected_text(A)]
    assert await second.done == [expected_text(B)]


async def test_the_wait_is_predicted_from_measured_speed_and_what_is_ahead(rig: Start, clock: FakeClock) -> None:
    one = rig(loader=StubLoader())
    await one.lane.ensure_ready()
    one.loader.worker.gate = asyncio.Event()
    one.lane.pace.record(100, 1.0)
    assert one.lane.start_delay_s("bulk") == 0.0
    ask(one.lane, [1] * 200, class_="bulk")
    await until(lambda: one.loader.worker.calls)
    ask(one.lane, [2] * 50, class_="bulk")
    ask(one.lane, [3] * 10)
    assert one.lane.start_delay_s("interactive") == pytest.approx(2.1)
    assert one.lane.start_delay_s("bulk") == pytest.approx(2.6)
    clock.advance(1.5)
    assert one.lane.start_delay_s("interactive") == pytest.approx(0.6)
    clock.advance(10)
    assert one.lane.start_delay_s("interactive") == pytest.approx(0.1)


# --- requests that leave while they are computed ---


@pytest.mark.parametrize("how", ["cancelled", "expired"])
async def test_a_request_that_leaves_during_its_call_gives_its_answer_to_nobody(rig: Start, how: str) -> None:
    one = rig({"calls": [{"delay_s": 0.3}]})
    await one.lane.ensure_ready()
    left = ask(one.lane, A)
    await until(lambda: left.started)
    if how == "cancelled":
        left.done.cancel()
    else:
        left.fail(SynapseError("deadline_exceeded", "too late"))
    after = ask(one.lane, B)
    assert await after.done == [expected_text(B)]
    assert one.lane.quarantine.strikes == 0
    assert one.loader.loads == 1
    assert left.results == [None]


async def test_a_call_that_ends_well_clears_a_strike_although_its_request_has_expired(
    rig: Start, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("worker_lost")
    one = rig({"then": {"die": "kill"}}, {"calls": [{"delay_s": 0.3}]})
    await failure(ask(one.lane, A))
    assert one.lane.quarantine.strikes == 1
    late = ask(one.lane, B)
    await until(lambda: late.started)
    late.fail(SynapseError("deadline_exceeded", "too late"))
    assert one.lane.quarantine.strikes == 1  # An expired deadline neither adds a strike nor clears one.
    await one.drained()
    assert one.lane.quarantine.strikes == 0


# --- faults ---


@pytest.mark.parametrize(
    ("action", "details"),
    [
        ({"die": "kill"}, crash()),
        ({"die": "segv"}, crash(-11)),
        ({"die": "exit"}, crash(3)),
        ({"fault": True}, crash(70)),
        ({"raw_hex": "ff" * 16}, {"lane_id": "lane", "reason": "protocol_fault"}),
    ],
)
async def test_a_fault_fails_the_running_call_and_the_next_request_gets_a_fresh_worker(
    rig: Start, expected_warnings: ExpectedWarnings, action: dict[str, Any], details: dict[str, Any]
) -> None:
    expected_warnings("worker_lost")
    one = rig({"then": action}, {}, pacing=SMALL)
    running, waiting = ask(one.lane, A), ask(one.lane, B)
    error = await failure(running)
    assert (error.code, error.class_, error.retry_after_ms) == ("engine_crashed", "transient", 250)
    assert error.safe_to_retry_same_request is True
    assert error.details == details
    assert one.lane.last_error is not None
    assert one.lane.last_error.details == details
    assert await waiting.done == [expected_text(B)]
    assert one.history.states == ["loading", "ready", "unloaded", "loading", "ready"]
    assert one.loader.loads == 2
    assert one.lane.quarantine.strikes == 0
    assert one.lane.last_error is None


async def test_a_request_that_spans_several_calls_fails_whole_with_the_one_that_crashed(
    rig: Start, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("worker_lost")
    one = rig({"calls": [{}, {"die": "kill"}]}, {}, pacing=SMALL)
    large = ask(one.lane, A, B, [1] * 4, class_="bulk")
    other = ask(one.lane, C, class_="bulk")
    assert (await failure(large)).details == crash()
    assert await other.done == [expected_text(C)]
    await one.drained()
    assert one.loader.loads == 1  # For the rows that are left of it no worker is started.


async def test_a_worker_that_dies_while_nothing_is_asked_is_noticed_at_once(
    rig: Start, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("worker_lost")
    one = rig({}, {})
    assert await ask(one.lane, A).done == [expected_text(A)]
    os.kill(one.loader.workers[0].pid, signal.SIGKILL)
    await until(lambda: one.lane.state == "unloaded")
    assert one.lane.quarantine.strikes == 1
    assert await ask(one.lane, B).done == [expected_text(B)]


async def test_a_crash_is_one_strike_whoever_notices_it_first(rig: Start, expected_warnings: ExpectedWarnings) -> None:
    expected_warnings("worker_lost")
    one = rig(loader=StubLoader())
    await one.lane.ensure_ready()
    worker = one.loader.worker
    worker.gate = asyncio.Event()
    running = ask(one.lane, A)
    await until(lambda: worker.calls)
    worker.faults.append(WorkerCrashed(-9, ""))
    # The call, the watch over the process and a caller who wants the lane all learn of it in the same turn.
    worker.crash()
    worker.gate.set()
    await one.lane.ensure_ready()
    assert (await failure(running)).details == crash()
    assert one.lane.quarantine.strikes == 1
    assert one.loader.loads == 2


async def test_two_crashes_in_a_row_quarantine_the_lane(rig: Start, expected_warnings: ExpectedWarnings) -> None:
    expected_warnings("worker_lost", "lane_quarantined")
    one = rig({"then": {"die": "kill"}}, pacing=SMALL)
    first, second, third = ask(one.lane, A), ask(one.lane, B), ask(one.lane, C, [1] * 4)
    assert (await failure(first)).details == crash()
    assert (await failure(second)).details == crash()
    error = await failure(third)
    assert (error.code, error.class_, error.safe_to_retry_same_request) == ("probe_required", "permanent", False)
    assert error.details == {"model_id": "lane", "reason": "quarantined"}
    assert one.lane.quarantine.active
    assert one.history.quarantines == ["crash"]
    assert one.lane.state == "unloaded"
    assert one.loader.loads == 2
    assert expected_warnings.fields("lane_quarantined") == {"lane_id": "lane", "reason": "crash"}


async def test_a_quarantined_lane_still_computes_for_a_probe_and_stays_quarantined(rig: Start) -> None:
    one = rig({}, quarantined="crash")
    assert await ask(one.lane, A).done == [expected_text(A)]
    assert one.lane.quarantine.active
    assert one.lane.quarantine.reason == "crash"


@pytest.mark.parametrize(
    ("engine", "limit_s"),
    [("owned-cpu", 120 + 0.12 * len(A)), ("owned-metal", 120.0)],
)
async def test_a_call_without_progress_is_a_hang_after_its_limit(
    rig: Start, clock: FakeClock, expected_warnings: ExpectedWarnings, engine: str, limit_s: float
) -> None:
    expected_warnings("worker_lost")
    one = rig({"then": {"hang": True}}, registration=paper_registration(engine=engine))
    stuck = ask(one.lane, A)
    await until(lambda: stuck.started)
    await asyncio.sleep(0.05)  # Until the question is at the worker, and the clock is looked at.
    clock.advance(limit_s - 0.01)
    await asyncio.sleep(0.05)
    assert not stuck.done.done()
    clock.advance(0.02)
    assert (await failure(stuck)).details == {"lane_id": "lane", "reason": "hang"}
    assert one.lane.quarantine.strikes == 1


async def test_a_row_that_is_not_finite_fails_its_own_request_alone_and_is_one_strike(
    rig: Start, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("lane_quarantined")
    one = rig({"calls": [{"non_finite": [0]}, {"non_finite": [0, 1]}]})
    broken, whole = ask(one.lane, C, name="bad"), ask(one.lane, B, A)
    error = await failure(broken)
    assert error.code == "engine_crashed"
    assert error.details == {"item_id": "bad0", "reason": "non_finite"}
    assert await whole.done == [expected_text(B), expected_text(A)]
    assert (one.lane.quarantine.strikes, one.lane.state) == (1, "ready")
    pid = one.loader.workers[0].pid

    both = ask(one.lane, A, C, name="x")
    assert (await failure(both)).details == {"item_id": "x1", "reason": "non_finite"}  # The shortest comes first.
    await one.drained()
    assert one.history.quarantines == ["non_finite"]
    assert one.lane.state == "unloaded"
    assert not psutil.pid_exists(pid)


# --- loading that fails ---


async def test_a_crash_while_loading_answers_what_waits_and_counts(
    rig: Start, expected_warnings: ExpectedWarnings
) -> None:
    one = rig({"load": {"die": "kill"}})
    first, second = ask(one.lane, A), ask(one.lane, B)
    for ticket in (first, second):
        assert (await failure(ticket)).details == crash()
    assert (one.lane.quarantine.strikes, one.lane.state) == (1, "unloaded")

    expected_warnings("lane_quarantined")
    again = ask(one.lane, A)
    error = await failure(again)
    assert (error.code, error.details) == ("engine_crashed", crash())
    await one.drained()
    assert one.history.quarantines == ["crash"]


async def test_files_that_are_refused_answer_what_waits_and_are_no_strike(rig: Start) -> None:
    one = rig(loader=StubLoader())
    details = {"model_id": "lane", "file": "model.safetensors", "reason": "truncated"}
    one.loader.errors.append(SynapseError("artifact_invalid", "cut short", details=details))
    error = await failure(ask(one.lane, A))
    assert (error.code, error.details) == ("artifact_invalid", details)
    assert (one.lane.quarantine.strikes, one.lane.state, one.lane.last_error) == (0, "unloaded", error)
    assert await ask(one.lane, A).done == [expected_text(A)]
    assert one.lane.last_error is None


async def test_a_load_whose_worker_can_not_be_ended_says_so(rig: Start, expected_warnings: ExpectedWarnings) -> None:
    expected_warnings("worker_not_gone")
    one = rig(loader=StubLoader())
    one.loader.errors.append(WorkerNotGone(4711))
    error = await failure(ask(one.lane, A))
    assert (error.code, error.details) == ("engine_crashed", {"lane_id": "lane", "reason": "not_gone"})
    assert (one.lane.state, one.lane.last_error) == ("unloaded", error)


async def test_two_loads_in_a_row_with_wrong_numbers_put_the_lane_in_quarantine(
    rig: Start, expected_warnings: ExpectedWarnings
) -> None:
    """Red without the count in the lane's load: every request would load the model, and be told to try again."""
    expected_warnings("lane_quarantined")
    details = {"lane_id": "lane", "reason": "self_test"}
    loader = StubLoader()
    loader.errors = [SynapseError("engine_crashed", "the numbers are off", details=details) for _ in range(2)]
    one = rig(loader=loader)
    first = await failure(ask(one.lane, A))
    assert (first.code, first.retry_after_ms, first.details) == ("engine_crashed", 250, details)
    assert not one.lane.quarantine.active
    second = await failure(ask(one.lane, A))
    assert (second.code, second.details) == ("engine_crashed", details)
    await until(lambda: one.history.quarantines)
    assert (one.lane.quarantine.active, one.history.quarantines) == (True, ["self_test"])


@pytest.mark.parametrize(
    ("code", "details"),
    [
        ("artifact_invalid", {"model_id": "lane", "file": "model.safetensors", "reason": "non_finite"}),
        ("engine_crashed", {"lane_id": "lane", "reason": "self_check_ceiling"}),
        ("engine_crashed", {"lane_id": "lane", "reason": "storage"}),
    ],
)
async def test_a_load_that_fails_for_its_files_or_the_disk_is_no_strike(
    rig: Start, code: str, details: dict[str, Any]
) -> None:
    loader = StubLoader()
    loader.errors = [SynapseError(code, "no", details=details) for _ in range(3)]
    one = rig(loader=loader)
    for _ in range(3):
        assert (await failure(ask(one.lane, A))).code == code
    assert await ask(one.lane, A).done == [expected_text(A)]


async def test_a_defect_in_loading_answers_what_waits_and_the_lane_goes_on(
    rig: Start, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("lane_failed")
    one = rig(loader=StubLoader())
    one.loader.errors.append(ZeroDivisionError("what a client sent"))
    error = await failure(ask(one.lane, A))
    assert (error.code, error.details) == ("internal_error", {"reference": "lane"})
    assert "what a client sent" not in str(expected_warnings.fields("lane_failed"))
    assert await ask(one.lane, A).done == [expected_text(A)]


async def test_a_request_that_comes_right_after_a_failed_load_gets_a_load_of_its_own(rig: Start) -> None:
    loader = StubLoader()
    damage = SynapseError("artifact_invalid", "x", details={"model_id": "lane", "file": "f", "reason": "truncated"})
    loader.errors = [damage]
    one = rig(loader=loader)
    first = ask(one.lane, A)
    newcomers: list[Ticket] = []
    # Called before the task that serves the lane has its turn.
    first.done.add_done_callback(lambda _: newcomers.append(ask(one.lane, B)))
    assert (await failure(first)).code == "artifact_invalid"
    assert await newcomers[0].done == [expected_text(B)]
    assert loader.loads == 2


# --- unloading and closing ---


async def test_unloading_ends_the_process_and_lets_go_of_the_tokenizer(rig: Start) -> None:
    one = rig()
    await one.lane.tokenizer()
    await one.lane.ensure_ready()
    pid = one.loader.workers[0].pid
    await one.lane.unload()
    assert not psutil.pid_exists(pid)
    assert (one.lane.state, one.lane.rss_bytes(), one.lane.loaded_tokenizer) == ("unloaded", None, None)
    assert one.history.states == ["loading", "ready", "unloading", "unloaded"]
    assert one.lane.quarantine.strikes == 0
    await one.lane.unload()  # Of an unloaded lane it does nothing.
    assert one.history.states[-2:] == ["unloading", "unloaded"]


async def test_a_request_during_an_unload_waits_for_it_and_loads_again(rig: Start) -> None:
    one = rig()
    await one.lane.ensure_ready()
    unloading = asyncio.create_task(one.lane.unload())
    await asyncio.sleep(0)
    assert one.lane.state == "unloading"
    assert await ask(one.lane, A).done == [expected_text(A)]
    await unloading
    assert one.history.states == ["loading", "ready", "unloading", "unloaded", "loading", "ready"]


async def test_the_state_tells_of_an_unload_and_a_load_from_their_first_moment(rig: Start) -> None:
    one = rig(loader=StubLoader())
    loading = asyncio.create_task(one.lane.ensure_ready())
    await asyncio.sleep(0)
    assert one.lane.state == "loading"
    await loading
    unloading = asyncio.create_task(one.lane.unload())
    await asyncio.sleep(0)
    assert one.lane.state == "unloading"
    await unloading


async def test_not_ready_since_tells_how_long_no_worker_has_been_ready(rig: Start, clock: FakeClock) -> None:
    one = rig(loader=StubLoader())
    assert one.lane.not_ready_since == clock.monotonic()
    clock.advance(7)
    await one.lane.ensure_ready()
    assert one.lane.not_ready_since is None
    clock.advance(7)
    unloaded_at = clock.monotonic()
    await one.lane.unload()
    clock.advance(7)
    assert one.lane.not_ready_since == unloaded_at


async def test_closing_answers_what_runs_and_what_waits_and_takes_nothing_more(rig: Start) -> None:
    one = rig({"then": {"delay_s": 0.5}}, pacing=SMALL)
    await one.lane.ensure_ready()
    running = ask(one.lane, A)
    await until(lambda: running.started)
    waiting = ask(one.lane, B)
    await one.lane.close()
    for ticket in (running, waiting):
        error = await failure(ticket)
        assert (error.code, error.details) == ("overloaded", {"reason": "stopping"})
    with pytest.raises(SynapseError) as refusal:
        ask(one.lane, C)
    assert refusal.value.code == "overloaded"
    with pytest.raises(SynapseError):
        await one.lane.ensure_ready()
    assert not psutil.pid_exists(one.loader.workers[0].pid)


async def test_closing_during_a_load_leaves_no_process(rig: Start) -> None:
    one = rig({"load": {"delay_s": 30}})
    waiting = ask(one.lane, A)
    await until(lambda: one.loader.workers)
    await one.lane.close()
    assert (await failure(waiting)).code == "overloaded"
    assert one.lane.state == "unloaded"
    assert not psutil.pid_exists(one.loader.workers[0].pid)
