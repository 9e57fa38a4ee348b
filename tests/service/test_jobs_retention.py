"""How long results are kept: 24 hours from the end of a job, whatever the wall clock does, and then nothing is left."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from fixtures.clocks import FakeClock
from fixtures.durable_jobs import RETENTION_MS, Room, words
from fixtures.expected_warnings import ExpectedWarnings
from fixtures.lanes import until
from synapse_service.jobs import retention as retention_module
from synapse_service.store import opening
from synapse_service.store.models import DATABASE, Job, ResultPage, Submission, connect
from synapse_wire.errors import SynapseError

TEXTS = words(100)
DAY_MS = 24 * 3600 * 1000


@pytest.fixture
async def room(quick_dir: Path) -> AsyncIterator[Room]:
    room = Room(quick_dir / "synapse.db")
    yield room
    await room.leave()


def kept(room: Room) -> tuple[int, int, int]:
    """Jobs, submissions and pages in the database."""
    return room.store.read_sync(
        lambda: (Job.select().count(), Submission.select().count(), ResultPage.select().count())
    )


async def finished(room: Room, key: str = "key") -> str:
    job_id = await room.submit(TEXTS, key)
    await room.ended(job_id)
    return job_id


@pytest.mark.parametrize("jump_ms", [0, DAY_MS, -DAY_MS, 400 * DAY_MS])
async def test_results_are_kept_for_their_time_whatever_the_wall_clock_does(room: Room, jump_ms: int) -> None:
    job_id = await finished(room)
    before = kept(room)
    assert before[0] == before[1] == 1
    room.clock.jump_wall(jump_ms)
    await room.retention.sweep()
    room.clock.advance((RETENTION_MS - 1) / 1000)
    await room.retention.sweep()
    assert kept(room) == before
    assert (await room.page(job_id)).items
    room.clock.advance(0.001)
    await room.retention.sweep()
    assert kept(room) == (0, 0, 0)
    for read in (room.page(job_id), room.book.status(job_id)):
        with pytest.raises(SynapseError) as refusal:
            await read
        assert (refusal.value.code, refusal.value.details) == ("invalid_request", {"job_id": job_id})


@pytest.mark.parametrize("jump_ms", [DAY_MS, -DAY_MS])
async def test_a_running_job_does_not_notice_the_wall_clock(room: Room, jump_ms: int) -> None:
    job_id = await room.hold(TEXTS, calls=3)
    room.clock.jump_wall(jump_ms)
    room.clock.advance(2 * RETENTION_MS / 1000)
    await room.retention.sweep()
    room.loader.gate_open.set()
    assert (await room.ended(job_id)).state == "done"
    # Its retention begins at its end.
    room.clock.advance((RETENTION_MS - 1) / 1000)
    await room.retention.sweep()
    assert len(await room.items(job_id)) == len(TEXTS)


async def test_what_people_see_agrees_with_the_clock_on_their_wall(room: Room) -> None:
    await finished(room)
    room.clock.jump_wall(DAY_MS)
    (job,) = await room.book.rows(None, 10)
    assert job.expires_ms == room.clock.wall_ms() + RETENTION_MS


async def test_a_fresh_attempt_keeps_the_pages_of_those_before_it_alive(room: Room) -> None:
    old = await room.hold(TEXTS, calls=3)
    await room.book.cancel(old)
    room.clock.advance((RETENTION_MS - 1) / 1000)
    again = await room.submit(TEXTS, "key")
    room.clock.advance(5)
    await room.retention.sweep()
    room.loader.gate_open.set()
    await room.ended(again)
    assert len(await room.items(old)) == len(await room.items(again)) == len(TEXTS)
    room.clock.advance((RETENTION_MS - 1) / 1000)
    await room.retention.sweep()
    assert kept(room)[0] == 2
    room.clock.advance(0.001)
    await room.retention.sweep()
    assert kept(room) == (0, 0, 0)


async def test_a_key_that_expired_is_free_for_other_content_before_it_is_swept(room: Room) -> None:
    old = await finished(room)
    room.clock.advance(RETENTION_MS / 1000)
    new = await room.submit(words(100, first=1), "key")
    assert new != old
    assert (await room.ended(new)).state == "done"
    with pytest.raises(SynapseError):
        await room.page(old)
    await room.retention.sweep()
    assert kept(room)[:2] == (1, 1)
    assert len(await room.items(new)) == 100


async def test_an_expired_key_does_not_get_in_the_way_of_an_inline_batch(room: Room) -> None:
    await finished(room)
    with pytest.raises(SynapseError):
        await room.batch(["other"], "key")
    room.clock.advance(RETENTION_MS / 1000)
    assert await room.batch(["other"], "key")


async def test_the_room_that_pages_took_goes_back_to_the_file_system(room: Room) -> None:
    empty = file_size(room)
    for number in range(4):
        job_id = await room.submit(words(400), f"key-{number}")
        await room.ended(job_id)
    assert file_size(room) > empty + 500_000
    room.clock.advance(RETENTION_MS / 1000)
    await room.retention.sweep()
    assert file_size(room) <= empty + 2 * opening.PAGE_BYTES


async def test_room_is_given_back_in_pieces_of_the_size_that_was_asked_for(room: Room) -> None:
    def unused() -> int:
        (count,) = room.store.read_sync(lambda: DATABASE.execute_sql("PRAGMA freelist_count").fetchone())  # type: ignore[no-untyped-call]
        return int(count)

    job_id = await room.submit(words(1000))
    await room.ended(job_id)
    await room.store.write(lambda: ResultPage.delete().execute())
    before = unused()
    assert before > 6
    assert await room.store.give_back(4) is True
    assert unused() == before - 4
    assert await room.store.give_back(before) is False
    assert unused() == 0
    assert await room.store.give_back(4) is False


async def test_an_end_that_a_full_disk_refused_is_written_by_the_sweep(
    room: Room, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("job_state_not_written")
    job_id = await room.hold(TEXTS, calls=3)
    room.store.refusal = lambda number: True
    status = await room.book.cancel(job_id)
    assert status.state == "failed"
    assert stored_state(room, job_id) == "running"
    # Seen as it is all the same, page by page and in the list.
    page = await room.page(job_id, status.pages_available or 0)
    assert (page.state, page.next_cursor) == ("failed", None)
    assert [job.state for job in await room.book.rows(None, 10)] == ["failed"]
    assert [job.state for job in await room.book.rows(["failed"], 10)] == ["failed"]
    assert await room.book.rows(["running"], 10) == []
    room.store.refusal = lambda number: False
    await room.retention.sweep()
    assert stored_state(room, job_id) == "failed"
    assert await room.book.status(job_id) == status
    room.clock.advance(RETENTION_MS / 1000)
    await room.retention.sweep()
    assert kept(room) == (0, 0, 0)


async def test_a_disk_that_fails_does_not_end_the_sweeping(
    room: Room, expected_warnings: ExpectedWarnings, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected_warnings("retention_failed")
    monkeypatch.setattr(retention_module, "INTERVAL_S", 0.001)
    job_id = await finished(room)
    room.clock.advance(RETENTION_MS / 1000)
    room.store.refusal = lambda number: True
    sweeping = asyncio.create_task(room.retention.run())
    await until(lambda: "retention_failed" in expected_warnings.seen)
    assert expected_warnings.fields("retention_failed") == {"reason": "storage_full"}
    room.store.refusal = lambda number: False
    await until(lambda: kept(room) == (0, 0, 0))
    assert not sweeping.done()
    sweeping.cancel()
    with pytest.raises(SynapseError):
        await room.book.status(job_id)


@pytest.mark.parametrize("jump_ms", [30 * 3600 * 1000, -30 * 3600 * 1000, 400 * DAY_MS])
async def test_a_restart_after_a_long_sleep_or_a_set_clock_keeps_results_for_their_time(
    quick_dir: Path, jump_ms: int
) -> None:
    first = Room(quick_dir / "synapse.db")
    job_id = await finished(first)
    first.clock.jump_wall(jump_ms)
    await first.retention.sweep()
    await first.leave()
    clock = FakeClock(monotonic=1.0, wall_ms=first.clock.wall_ms())
    room = Room(quick_dir / "synapse.db", clock)
    clock.advance((RETENTION_MS - 1) / 1000)
    await room.retention.sweep()
    assert (await room.page(job_id)).items
    clock.advance(0.001)
    await room.retention.sweep()
    assert kept(room) == (0, 0, 0)
    await room.leave()


async def test_a_restart_gives_interrupted_work_its_full_time(quick_dir: Path) -> None:
    first = Room(quick_dir / "synapse.db")
    job_id = await first.hold(TEXTS, calls=3)
    await first.leave()
    # The machine was off for three days.
    clock = FakeClock(monotonic=1.0, wall_ms=first.clock.wall_ms() + 3 * DAY_MS)
    room = Room(quick_dir / "synapse.db", clock)
    await room.retention.sweep()
    clock.advance((RETENTION_MS - 1) / 1000)
    await room.retention.sweep()
    status = await room.book.status(job_id)
    assert not isinstance(status.error, msgspec.UnsetType)
    assert status.error["code"] == "module_restarted"
    clock.advance(0.001)
    await room.retention.sweep()
    assert kept(room) == (0, 0, 0)
    await room.leave()


def stored_state(room: Room, job_id: str) -> str:
    return str(room.store.read_sync(lambda: Job.get_by_id(job_id).state))


def file_size(room: Room) -> int:
    """Bytes of the database file once its write-ahead log is in it."""
    connection = connect(room.store.path)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return room.store.path.stat().st_size
