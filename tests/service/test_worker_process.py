"""WorkerProcess against real processes: every way in which a worker can answer, misbehave and end."""

from __future__ import annotations

import asyncio
import logging
import os
import random
import signal
import sys
import textwrap
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from fixtures.clocks import FakeClock
from fixtures.workers import expected_raw, expected_text, pack_rows, scripted_launch, scripted_spec
from synapse_engines.worker.protocol import Embedded, Measured, Progress, encode
from synapse_service.workers.faults import (
    WorkerCrashed,
    WorkerHung,
    WorkerProtocolFault,
    WorkerRefused,
)
from synapse_service.workers.launch import Launch, clean_environment
from synapse_service.workers.process import EmbeddedRows, WorkerProcess

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and process groups of POSIX")

ROWS = [[5, 6, 7], [8], [9, 10]]

Start = Callable[..., Awaitable[WorkerProcess]]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def bare(tmp_path: Path, clock: FakeClock) -> AsyncIterator[Start]:
    """Starts workers that play the given script, and ends them after the test."""
    async with AsyncExitStack() as stack:

        async def start(**script: Any) -> WorkerProcess:
            launch = scripted_launch(tmp_path, **script)
            worker = await WorkerProcess.start(launch, clock=clock, check_every_s=0.01)
            stack.push_async_callback(worker.close, 0.05)
            return worker

        yield start


@pytest.fixture
def start(bare: Start) -> Start:
    """As `bare`, with the model loaded."""

    async def loaded(**script: Any) -> WorkerProcess:
        worker = await bare(**script)
        await worker.load(scripted_spec())
        return worker

    return loaded


async def embed(worker: WorkerProcess, rows: list[list[int]], **options: Any) -> EmbeddedRows:
    lengths, ids = pack_rows(rows)
    return await worker.embed(lengths, ids, "json", **options)


async def until(condition: Callable[[], bool]) -> None:
    """Waits for something that another process brings about."""
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.005)  # nothing in this process could set an event


def is_gone(pid: int) -> bool:
    """Whether the process is gone, a zombie of somebody else's counting as gone."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


# Answers.


async def test_rows_come_back_in_request_order_in_both_encodings(start: Start) -> None:
    worker = await start()
    answer = await embed(worker, ROWS)
    assert answer.rows == [expected_text(row) for row in ROWS]
    assert answer.non_finite == ()
    lengths, ids = pack_rows(ROWS)
    assert (await worker.embed(lengths, ids, "f32")).rows == [expected_raw(row) for row in ROWS]


async def test_a_row_that_is_not_finite_is_named_and_empty(start: Start) -> None:
    worker = await start(calls=[{"non_finite": [0]}])
    answer = await embed(worker, ROWS)
    # The shortest row is the first of the engine's call.
    assert answer.non_finite == (1,)
    assert answer.rows == [expected_text(ROWS[0]), b"", expected_text(ROWS[2])]


async def test_progress_is_told_between_engine_calls(start: Start) -> None:
    worker = await start(tokens_per_call=3)
    seen: list[Progress] = []
    await embed(worker, ROWS, on_progress=seen.append)
    assert [(progress.rows_done, progress.tokens_done) for progress in seen] == [(2, 3)]


async def test_two_sets_of_vectors_are_compared(start: Start) -> None:
    worker = await start()
    both = b"".join(expected_raw(row) for row in ROWS)
    measured = await worker.measure(4, both, both)
    assert isinstance(measured, Measured)
    assert measured.min_cosine == pytest.approx(1.0, abs=1e-6)
    assert measured.worst_decile_overlap == 1.0


async def test_a_refusal_leaves_the_worker_serving(start: Start) -> None:
    worker = await start(vocab=100)
    with pytest.raises(WorkerRefused) as refused:
        await embed(worker, [[1], [2, 100]])
    assert refused.value.kind == "input"
    assert refused.value.details == {"reason": "bad_id", "row": 1}
    assert (await embed(worker, [[3]])).rows == [expected_text([3])]


async def test_a_load_that_is_refused_tells_the_reason(bare: Start) -> None:
    worker = await bare(load={"refuse": "artifact"})
    with pytest.raises(WorkerRefused) as refused:
        await worker.load(scripted_spec())
    assert refused.value.kind == "artifact"
    assert refused.value.details == {"reason": "missing_tensor", "file": "model.safetensors"}
    assert worker.fault is None


async def test_a_ping_is_answered_while_the_worker_computes(start: Start) -> None:
    worker = await start(then={"hang": True})
    assert (await worker.ping()).busy_with is None
    request = asyncio.create_task(embed(worker, ROWS))
    await asyncio.sleep(0)
    assert (await worker.ping()).busy_with is not None
    request.cancel()


async def test_a_second_request_at_the_same_time_is_an_error_of_the_caller(start: Start) -> None:
    worker = await start(then={"delay_s": 0.1})
    first = asyncio.create_task(embed(worker, [[1]]))
    await asyncio.sleep(0)
    with pytest.raises(RuntimeError, match="one request at a time"):
        await embed(worker, [[2]])
    assert (await first).rows == [expected_text([1])]


# Cancelled callers.


async def test_after_a_cancelled_request_the_next_gets_its_own_answer(start: Start) -> None:
    worker = await start(then={"delay_s": 0.1})
    first = asyncio.create_task(embed(worker, [[1]]))
    await asyncio.sleep(0.02)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    assert (await embed(worker, [[2]])).rows == [expected_text([2])]
    assert worker.fault is None


async def test_no_pattern_of_cancelling_mixes_answers_up(start: Start) -> None:
    worker = await start(then={"delay_s": 0.004})
    dice = random.Random(20)
    answered = 0
    for number in range(1, 61):
        request = asyncio.create_task(embed(worker, [[number]]))
        if dice.random() < 0.6:
            await asyncio.sleep(dice.uniform(0, 0.008))
            request.cancel()
        try:
            assert (await request).rows == [expected_text([number])]
            answered += 1
        except asyncio.CancelledError:
            pass
    assert 0 < answered < 60
    assert worker.fault is None
    assert (await embed(worker, [[77]])).rows == [expected_text([77])]


async def test_an_abandoned_request_is_seen_to_its_end(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    worker = await start(calls=[{"delay_s": 0.05}, {"delay_s": 0.05, "die": "kill"}])
    for ends_well in (True, False):
        request = asyncio.create_task(embed(worker, ROWS))
        await asyncio.sleep(0.01)
        request.cancel()
        fault = await worker.settled()
        assert (fault is None) is ends_well
    assert isinstance(worker.fault, WorkerCrashed)
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


# Crashes.


async def test_a_worker_killed_in_a_request_is_a_crash(start: Start) -> None:
    worker = await start(then={"hang": True})
    request = asyncio.create_task(embed(worker, ROWS))
    await worker.ping()
    os.kill(worker.pid, signal.SIGKILL)
    async with asyncio.timeout(2):
        with pytest.raises(WorkerCrashed) as crashed:
            await request
    assert (crashed.value.returncode, crashed.value.signal) == (-9, 9)
    assert worker.fault is crashed.value
    with pytest.raises(WorkerCrashed):
        await embed(worker, ROWS)


async def test_a_worker_killed_while_idle_is_noticed(start: Start) -> None:
    worker = await start()
    os.kill(worker.pid, signal.SIGKILL)
    async with asyncio.timeout(2):
        assert await worker.wait() == -9
    assert isinstance(worker.fault, WorkerCrashed)
    assert worker.rss() is None


async def test_a_segmentation_fault_leaves_its_traceback(start: Start) -> None:
    worker = await start(then={"die": "segv"})
    with pytest.raises(WorkerCrashed) as crashed:
        await embed(worker, ROWS)
    assert crashed.value.signal == signal.SIGSEGV
    assert "Fatal Python error: Segmentation fault" in crashed.value.stderr_tail


async def test_a_worker_that_exits_by_itself_is_a_crash_with_its_status(start: Start) -> None:
    worker = await start(then={"die": "exit"})
    with pytest.raises(WorkerCrashed) as crashed:
        await embed(worker, ROWS)
    assert (crashed.value.returncode, crashed.value.signal) == (3, None)


async def test_an_unforeseen_exception_ends_the_worker_with_its_traceback(start: Start) -> None:
    worker = await start(then={"fault": True})
    with pytest.raises(WorkerCrashed) as crashed:
        await embed(worker, ROWS)
    assert crashed.value.returncode == 70
    assert "ZeroDivisionError: scripted" in crashed.value.stderr_tail


async def test_a_command_that_does_not_exist_is_a_crash_without_status(clock: FakeClock, tmp_path: Path) -> None:
    with pytest.raises(WorkerCrashed) as crashed:
        await WorkerProcess.start(Launch((str(tmp_path / "absent"),), {}), clock=clock)
    assert crashed.value.returncode is None


async def test_the_last_8_kib_of_standard_error_are_kept(start: Start) -> None:
    worker = await start(then={"complain_bytes": 160_000, "die": "exit"})
    with pytest.raises(WorkerCrashed) as crashed:
        await embed(worker, ROWS)
    assert crashed.value.stderr_tail == "".join(f"{line:07d}\n" for line in range(20_000 - 1024, 20_000))


# Nonsense on the pipes.


async def test_what_a_library_prints_does_not_reach_the_pipe(start: Start) -> None:
    worker = await start(then={"say": "Loading checkpoint shards: 100%\n"})
    assert (await embed(worker, ROWS)).rows == [expected_text(row) for row in ROWS]
    assert "Loading checkpoint shards" in worker.stderr_tail


STALE = encode(Embedded(1, [1], [], 0.0), b"x")
WRONG_SIZES = encode(Embedded(2, [1, 1, 1], [], 0.0), b"xxxx")
WRONG_ROWS = encode(Embedded(2, [1], [], 0.0), b"x")
WRONG_TYPE = encode(Measured(2, 1.0, 1.0, 1.0))


@pytest.mark.parametrize(
    ("raw", "complaint"),
    [
        (b"hello, world! this is no frame", "head has"),
        (b"\x02\0\0\0\xff\xff\xff\xff{}", "payload has"),
        (b"\x02\0\0\0\0\0\0\0[]", "not a message"),
        (STALE, "request 1, which is not in flight"),
        (WRONG_TYPE, "with Measured"),
        (WRONG_SIZES, "do not match"),
        (WRONG_ROWS, "do not match"),
    ],
    ids=["garbage", "oversize", "no message", "stale answer", "wrong type", "wrong sizes", "wrong rows"],
)
async def test_nonsense_on_the_pipe_ends_the_worker(start: Start, raw: bytes, complaint: str) -> None:
    worker = await start(then={"raw_hex": raw.hex(), "hang": True})
    with pytest.raises(WorkerProtocolFault, match=complaint):
        await embed(worker, ROWS)
    assert await worker.wait() == -9


# Hangs. The clock is the test's, so no time passes.


async def ticks() -> None:
    """Lets the worker's clock be looked at several times."""
    await asyncio.sleep(0.06)


async def test_no_progress_for_the_limit_is_a_hang_though_pings_are_answered(start: Start, clock: FakeClock) -> None:
    worker = await start(then={"hang": True})
    request = asyncio.create_task(embed(worker, ROWS, stall_limit_s=120))
    await worker.ping()
    clock.advance(119)
    await ticks()
    await worker.ping()
    assert not request.done()
    clock.advance(1)
    with pytest.raises(WorkerHung) as hung:
        await request
    assert hung.value.limit_s == 120
    assert await worker.wait() == -9


async def test_progress_begins_the_limit_anew(start: Start, clock: FakeClock) -> None:
    worker = await start(tokens_per_call=3, calls=[{"delay_s": 0.2}, {"hang": True}])
    progressed = asyncio.Event()
    request = asyncio.create_task(embed(worker, ROWS, stall_limit_s=120, on_progress=lambda progress: progressed.set()))
    await worker.ping()
    clock.advance(100)
    await progressed.wait()
    clock.advance(119)
    await ticks()
    assert not request.done()
    clock.advance(1)
    with pytest.raises(WorkerHung):
        await request


async def test_a_stopped_worker_hangs_even_after_its_caller_left(start: Start, clock: FakeClock) -> None:
    worker = await start(then={"delay_s": 0.05})
    request = asyncio.create_task(embed(worker, ROWS))
    await worker.ping()
    os.kill(worker.pid, signal.SIGSTOP)
    request.cancel()
    clock.advance(120)
    assert isinstance(await worker.settled(), WorkerHung)
    assert await worker.wait() == -9


async def test_a_load_has_the_longer_limit(bare: Start, clock: FakeClock) -> None:
    worker = await bare(load={"hang": True})
    request = asyncio.create_task(worker.load(scripted_spec()))
    await worker.ping()
    clock.advance(599)
    await ticks()
    assert not request.done()
    clock.advance(1)
    with pytest.raises(WorkerHung):
        await request


# Ends.


async def test_close_ends_the_process_in_good_order(start: Start) -> None:
    worker = await start()
    assert worker.rss() is not None
    pid = worker.pid
    assert await worker.close() == 0
    assert not psutil.pid_exists(pid)
    assert worker.rss() is None
    assert await worker.close() == 0


async def test_close_lets_a_short_request_end(start: Start) -> None:
    worker = await start(then={"delay_s": 0.1})
    request = asyncio.create_task(embed(worker, [[1]]))
    await worker.ping()
    assert await worker.close() == 0
    assert (await request).rows == [expected_text([1])]


async def test_close_terminates_a_busy_worker_after_the_grace(start: Start) -> None:
    worker = await start(then={"hang": True})
    request = asyncio.create_task(embed(worker, [[1]]))
    await worker.ping()
    assert await worker.close(0.05) == -signal.SIGTERM
    with pytest.raises(WorkerCrashed):
        await request


async def test_close_kills_the_whole_group_of_one_that_ignores_everything(clock: FakeClock) -> None:
    program = textwrap.dedent(
        """
        import os, signal, sys, time
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        child = os.fork()
        if child:
            sys.stderr.write(f"{child}.")
            sys.stderr.flush()
        time.sleep(60)
        """
    )
    worker = await WorkerProcess.start(Launch((sys.executable, "-c", program), {}), clock=clock)
    await until(lambda: worker.stderr_tail.endswith("."))
    child = int(worker.stderr_tail.rstrip("."))
    assert await worker.close(0.05) == -9
    await until(lambda: is_gone(child))


LEAVES_A_CHILD = """
import os, sys, time
child = os.fork()
if child:
    sys.stderr.write(f"{child}.")
    sys.exit(4)
time.sleep(60)
"""


async def test_what_a_worker_started_goes_when_it_exits(clock: FakeClock) -> None:
    worker = await WorkerProcess.start(Launch((sys.executable, "-c", LEAVES_A_CHILD), {}), clock=clock)
    assert await worker.wait() == 4
    await until(lambda: is_gone(int(worker.stderr_tail.rstrip("."))))


async def test_what_a_worker_started_goes_also_when_it_exits_before_it_counts_as_started(
    clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = asyncio.get_running_loop()
    spawn = loop.subprocess_exec

    async def spawn_and_look_away(*arguments: Any, **options: Any) -> Any:
        transport, protocol = await spawn(*arguments, **options)
        await until(lambda: transport.get_returncode() is not None)
        return transport, protocol

    monkeypatch.setattr(loop, "subprocess_exec", spawn_and_look_away)
    worker = await WorkerProcess.start(Launch((sys.executable, "-c", LEAVES_A_CHILD), {}), clock=clock)
    assert await worker.wait() == 4
    await until(lambda: is_gone(int(worker.stderr_tail.rstrip("."))))


async def test_a_worker_that_closes_its_pipe_is_ended(clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("synapse_service.workers.process.PARTING_S", 0.05)
    program = "import os, time; os.close(1); time.sleep(60)"
    worker = await WorkerProcess.start(Launch((sys.executable, "-c", program), {}), clock=clock)
    async with asyncio.timeout(5):
        assert await worker.wait() == -9


async def test_a_cancelled_close_goes_on(start: Start) -> None:
    worker = await start()
    closing = asyncio.create_task(worker.close())
    await asyncio.sleep(0)
    closing.cancel()
    async with asyncio.timeout(5):
        assert await worker.wait() == 0


PARENT = """
import asyncio, sys
from pathlib import Path
from fixtures.workers import pack_rows, scripted_launch, scripted_spec
from synapse_service.clock import SystemClock
from synapse_service.workers.process import WorkerProcess

async def main():
    launch = scripted_launch(Path(sys.argv[1]), then={"say": "busy", sys.argv[2]: True})
    worker = await WorkerProcess.start(launch, clock=SystemClock())
    await worker.load(scripted_spec())
    lengths, ids = pack_rows([[1]])
    request = worker.embed(lengths, ids, "json")
    while "busy" not in worker.stderr_tail:
        await asyncio.sleep(0.005)
    print(worker.pid, flush=True)
    await request

asyncio.run(main())
"""


@pytest.mark.parametrize("how", ["hang", "grip"])
async def test_a_worker_dies_with_its_service_whatever_it_is_doing(tmp_path: Path, how: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PARENT, str(tmp_path), how, stdout=asyncio.subprocess.PIPE, env=environment
    )
    assert parent.stdout is not None
    pid = int(await parent.stdout.readline())
    assert not is_gone(pid)
    parent.kill()
    await parent.communicate()
    try:
        async with asyncio.timeout(2):
            await until(lambda: is_gone(pid))
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.skipif(sys.platform != "linux", reason="counts descriptors in /proc")
async def test_starting_and_ending_workers_leaves_nothing_behind(tmp_path: Path, clock: FakeClock) -> None:
    def descriptors() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    launch = scripted_launch(tmp_path)
    before = None
    for cycle in range(10):
        worker = await WorkerProcess.start(launch, clock=clock)
        if cycle % 3 == 0:
            os.kill(worker.pid, signal.SIGKILL)
        await worker.close()
        # The first cycle creates what asyncio keeps for all child processes.
        before = descriptors() if before is None else before
    await until(lambda: descriptors() <= (before or 0))
    assert psutil.Process().children() == []


# Surroundings.


def test_secrets_and_python_settings_stay_out_of_the_environment() -> None:
    environ = {
        "PATH": "/usr/bin",
        "HOME": "/home/u",
        "LC_ALL": "C.UTF-8",
        "CUDA_VISIBLE_DEVICES": "1",
        "OPENAI_API_KEY": "sk-1",
        "HTTPS_PROXY": "http://user:word@proxy",
        "PYTHONPATH": "/tmp/evil",
        "PYTHONSTARTUP": "/tmp/evil.py",
        "LD_PRELOAD": "/tmp/evil.so",
    }
    assert clean_environment(environ) == {
        "PATH": "/usr/bin",
        "HOME": "/home/u",
        "LC_ALL": "C.UTF-8",
        "CUDA_VISIBLE_DEVICES": "1",
        # Ours; see the launch for the reasons.
        "OPENBLAS_NUM_THREADS": "1",
        **({"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"} if sys.platform == "linux" else {}),
    }


@pytest.mark.skipif(sys.platform != "linux", reason="reads another process's environment")
async def test_a_worker_runs_in_a_session_of_its_own_with_the_clean_environment(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "hunter2")
    worker = await start()
    assert os.getsid(worker.pid) == worker.pid
    process = psutil.Process(worker.pid)
    assert "SECRET_TOKEN" not in process.environ()
    assert process.name() == "synapse-worker"
