"""Cancelling durable jobs, and pausing them for a credential: at any moment, more than once, and against the clock."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fixtures.durable_jobs import Room, error_of, vectors, words
from fixtures.lanes import until
from synapse_service.jobs.live import LiveJob
from synapse_service.store.models import Job, ResultPage, Submission
from synapse_wire.errors import SynapseError

TEXTS = words(300)
WINDOW_S = 60.0


@pytest.fixture
async def room(quick_dir: Path) -> AsyncIterator[Room]:
    room = Room(quick_dir / "synapse.db")
    yield room
    await room.leave()


def row(room: Room, job_id: str) -> Any:
    return room.store.read_sync(lambda: Job.get_by_id(job_id))


def committed(room: Room) -> tuple[int, int]:
    """Pages and items that the database has, counted and as its counters say, which must agree."""
    pages, submission = room.store.read_sync(lambda: (list(ResultPage.select()), Submission.get()))
    items = sum(len(page.ordinals) // 4 for page in pages)
    assert (submission.pages, submission.items_done) == (len(pages), items)
    return len(pages), items


async def test_a_running_job_ends_as_cancelled_keeps_its_pages_and_can_be_taken_up_again(room: Room) -> None:
    job_id = await room.hold(TEXTS)
    status = await room.book.cancel(job_id)
    assert (status.state, error_of(status)["code"]) == ("failed", "request_cancelled")
    assert (status.pages_available, status.items_done) == committed(room)
    assert row(room, job_id).items_done == status.items_done > 0
    assert (room.leases.holders(), room.book.live()) == ([], [])
    kept = await room.items(job_id)
    assert len(kept) == status.items_done
    # The worker ends its call, and nothing more is asked of it.
    room.loader.gate_open.set()
    await until(lambda: not room.lane.busy)
    assert room.loader.calls == 21
    again = await room.submit(TEXTS, "key")
    assert again != job_id
    assert (await room.ended(again)).state == "done"
    items = await room.items(again)
    assert items[: len(kept)] == kept
    assert vectors(items) == await room.expected(TEXTS)


async def test_a_job_can_be_cancelled_before_it_runs(room: Room) -> None:
    accepting = asyncio.create_task(room.submit(TEXTS, "key"))
    while not room.store.writes:  # noqa: ASYNC110 - in no larger steps: the next write must find the gate closed
        await asyncio.sleep(0)
    room.store.gate = gate = asyncio.Event()
    job_id = await accepting
    assert (await room.book.status(job_id)).state == "queued"
    cancelling = asyncio.create_task(room.book.cancel(job_id))
    await asyncio.sleep(0)
    gate.set()
    status = await cancelling
    assert (status.state, error_of(status)["code"]) == ("failed", "request_cancelled")
    assert row(room, job_id).state == "failed"
    assert (room.loader.rows, room.leases.holders()) == ([], [])
    assert room.book.counters.failed == 1


async def test_a_job_that_is_still_being_accepted_is_accepted_and_then_cancelled(room: Room) -> None:
    # A cancel that cut the acceptance short would leave a row that looks queued until the next start.
    room.store.gate = gate = asyncio.Event()
    starting = asyncio.create_task(room.book.start("probe", "lane", forever))
    await until(lambda: room.book.live())
    (job,) = room.book.live()
    assert room.book.live_rows() == []  # Nobody is told of it yet.
    cancelling = asyncio.create_task(room.book.cancel(job.job_id))
    await asyncio.sleep(0.01)
    gate.set()
    assert (await starting).job_id == job.job_id
    assert (await cancelling).state == "failed"
    assert row(room, job.job_id).state == "failed"


async def test_cancelling_what_could_not_be_accepted_tells_why(room: Room) -> None:
    room.store.refusal = lambda number: True
    room.store.gate = gate = asyncio.Event()
    starting = asyncio.create_task(room.book.start("probe", "lane", forever))
    await until(lambda: room.book.live())
    cancelling = asyncio.create_task(room.book.cancel(room.book.live()[0].job_id))
    await asyncio.sleep(0.01)
    gate.set()
    for task in (starting, cancelling):
        with pytest.raises(SynapseError) as refusal:
            await task
        assert refusal.value.code == "store_failure"


async def test_an_ended_or_unknown_job_stays_as_it_is(room: Room) -> None:
    job_id = await room.submit(TEXTS)
    done = await room.ended(job_id)
    assert await room.book.cancel(job_id) == done
    assert done.state == "done"
    with pytest.raises(SynapseError) as refusal:
        await room.book.cancel("unknown")
    assert (refusal.value.code, refusal.value.details) == ("invalid_request", {"job_id": "unknown"})


@pytest.mark.parametrize("cancels", [1, 3])
async def test_a_cancel_during_a_commit_waits_for_it_and_counts_its_page(room: Room, cancels: int) -> None:
    # Goes red without the wait at the end of an attempt: the counters would miss a page that is on disk.
    job_id = await room.hold(TEXTS, calls=6)
    room.loader.hold_after = None
    before = committed(room)
    room.store.gate = gate = asyncio.Event()
    writes = room.store.writes
    room.loader.gate_open.set()
    await until(lambda: room.store.writes > writes)
    cancelling = []
    for _ in range(cancels):
        cancelling.append(asyncio.create_task(room.book.cancel(job_id)))
        await asyncio.sleep(0.01)
    assert not cancelling[0].done()
    gate.set()
    statuses = await asyncio.gather(*cancelling)
    assert len({msgspec.json.encode(status) for status in statuses}) == 1
    assert (statuses[0].pages_available, statuses[0].items_done) == committed(room)
    assert committed(room)[0] == before[0] + 1
    assert row(room, job_id).items_done == statuses[0].items_done


async def test_a_stop_during_a_commit_waits_for_it(room: Room, quick_dir: Path) -> None:
    await room.hold(TEXTS, calls=6)
    room.loader.hold_after = None
    room.store.gate = gate = asyncio.Event()
    writes = room.store.writes
    room.loader.gate_open.set()
    await until(lambda: room.store.writes > writes)
    leaving = asyncio.create_task(room.leave())
    await asyncio.sleep(0.01)
    gate.set()
    await leaving
    after = Room(quick_dir / "synapse.db")
    pages, items = committed(after)
    (job,) = await after.book.rows(None, 10)
    assert (job.pages_available, job.items_done, job.state) == (pages, items, "failed")
    assert after.book.counters.inherited == after.book.counters.failed == 1
    assert after.book.counters.open == 0
    await after.leave()


async def test_a_job_whose_end_is_being_written_when_the_service_stops_ends_as_it_did(
    room: Room, quick_dir: Path
) -> None:
    gate = asyncio.Event()

    class Watch(list[Any]):
        def append(self, event: Any) -> None:
            if event[0].items_done == len(TEXTS):  # The last page is committed; what is written next is the end.
                room.store.gate = gate

    room.events = Watch()
    job_id = await room.submit(TEXTS)
    await until(lambda: room.store.gate)
    await until(lambda: room.book.live()[0].ending)
    leaving = asyncio.create_task(room.leave())
    await asyncio.sleep(0.01)
    gate.set()
    await leaving
    after = Room(quick_dir / "synapse.db")
    assert (await after.book.status(job_id)).state == "done"
    await after.leave()


async def test_the_topic_hears_of_every_state_and_last_of_the_end(room: Room) -> None:
    job_id = await room.hold(TEXTS)
    await room.book.cancel(job_id)
    states = [(row.state, terminal) for row, terminal in room.events if row.job_id == job_id]
    assert states[0] == ("queued", False)
    assert states[1] == ("running", False)
    assert states[-1] == ("failed", True)
    assert [terminal for _, terminal in states].count(True) == 1
    done = [row.items_done for row, _ in room.events]
    assert done == sorted(done)


# --- pausing, which the work of a remote lane does ---


async def forever(job: LiveJob) -> None:
    await asyncio.Event().wait()


async def paused(room: Room, window_s: float = WINDOW_S) -> LiveJob:
    """A job of a submission that has paused."""

    async def work(job: LiveJob) -> None:
        await room.book.pause(job, "handle", window_s)
        job.progress(1, 1)

    job = await room.book.start("probe", "lane", work)
    await until(lambda: job.state == "paused_needs_reauth")
    return job


async def test_a_paused_job_says_so_until_it_is_resumed(room: Room) -> None:
    job = await paused(room)
    now = room.clock.wall_ms()
    status = await room.book.status(job.job_id)
    assert (status.state, status.logical_handle, status.action) == ("paused_needs_reauth", "handle", "reauth")
    assert (status.paused_at_ms, status.resume_deadline_ms) == (now, now + WINDOW_S * 1000)
    assert row(room, job.job_id).state == "paused_needs_reauth"
    assert (await room.book.resume(job.job_id)).state in ("running", "done")
    status = await room.ended(job.job_id)
    assert (status.state, status.items_done, status.logical_handle) == ("done", 1, msgspec.UNSET)


async def test_a_pause_that_outlasts_its_window_is_terminal(room: Room) -> None:
    job = await paused(room, 0.02)
    status = await room.ended(job.job_id)
    assert status.state == "needs_reauth_expired"
    assert error_of(status)["details"] == {"logical_handle": "handle"}
    assert row(room, job.job_id).expires_ms is not None
    with pytest.raises(SynapseError) as refusal:
        await room.book.resume(job.job_id)
    assert refusal.value.code == "invalid_request"
    assert refusal.value.details == {"job_id": job.job_id, "state": "needs_reauth_expired"}


async def test_only_a_paused_job_can_be_resumed(room: Room) -> None:
    job_id = await room.hold(TEXTS)
    with pytest.raises(SynapseError) as refusal:
        await room.book.resume(job_id)
    assert refusal.value.details == {"job_id": job_id, "state": "running"}


async def test_a_paused_job_can_be_cancelled(room: Room) -> None:
    job = await paused(room)
    status = await room.book.cancel(job.job_id)
    assert (status.state, error_of(status)["code"]) == ("failed", "request_cancelled")
    assert status.logical_handle is msgspec.UNSET


async def test_the_lifetime_stands_still_during_a_pause(room: Room) -> None:
    async def work(job: LiveJob) -> None:
        async with asyncio.timeout(0.2) as job.lifetime:
            await room.book.pause(job, "handle", WINDOW_S)

    job = await room.book.start("probe", "lane", work)
    await until(lambda: job.state == "paused_needs_reauth")
    await asyncio.sleep(0.3)
    assert job.state == "paused_needs_reauth"
    await room.book.resume(job.job_id)
    assert (await room.ended(job.job_id)).state == "done"


async def test_the_same_key_again_resumes_a_job_that_paused(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    pausing = asyncio.Event()
    compute = room.jobs._run

    async def pause_first(lane: Any, batch: Any, attempt: Any, job: LiveJob) -> None:
        pausing.set()
        await room.book.pause(job, "handle", WINDOW_S)
        await compute(lane, batch, attempt, job)

    monkeypatch.setattr(room.jobs, "_run", pause_first)
    job_id = await room.submit(TEXTS, "key")
    await pausing.wait()
    await until(lambda: room.book.live()[0].state == "paused_needs_reauth")
    assert await room.submit(TEXTS, "key") == job_id
    assert (await room.ended(job_id)).state == "done"
