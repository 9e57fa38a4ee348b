"""What a pause does to requests and jobs: refused before anything is done for them, and what was taken ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from fixtures.durable_jobs import Room, error_of, rooms, vectors, words
from fixtures.embed_desk import EmbedDesk, refused
from fixtures.expected_warnings import ExpectedWarnings
from fixtures.lanes import until
from fixtures.pauses import SwitchFence
from synapse_wire.errors import SynapseError

TEXTS = words(300)

Enter = Callable[..., Room]


@pytest.fixture
def desk() -> EmbedDesk:
    return EmbedDesk()


@pytest.fixture
async def enter(quick_dir: Path) -> AsyncIterator[Enter]:
    async with rooms(quick_dir / "synapse.db") as enter:
        yield enter


# --- inline ---


async def test_nothing_is_read_or_loaded_for_a_paused_lane(desk: EmbedDesk) -> None:
    desk.fence.closed = True
    for answer in (desk.query(), desk.batch("a", "b"), desk.batch(*["a"] * 100)):
        error = await refused(answer)
        assert (error.code, error.level, error.retry_after_ms) == ("lane_paused", "semantic", 5000)
        assert (error.details or {})["lane_id"] == "m"
        assert (error.details or {})["fingerprint"] == desk.lane.fingerprint
    assert (desk.loader.loads, desk.loader.reads, desk.diverted) == (0, 0, [])
    assert (desk.lane.use.refused, desk.lane.use.done) == (3, 0)
    desk.fence.closed = False
    await desk.query()
    assert (desk.lane.use.refused, desk.lane.use.done) == (3, 1)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"model": "none"}, "unknown_model"),
        ({"model": "syn1-" + "0" * 64}, "substitution_rejected"),
        ({"required_fingerprint": "syn1-" + "0" * 64}, "substitution_rejected"),
        ({"target_fingerprint": "syn1-" + "0" * 64}, "substitution_rejected"),
        ({"required_epoch": 7}, "migration_required"),
    ],
)
async def test_which_lane_is_meant_is_settled_before_the_fence(
    desk: EmbedDesk, changes: dict[str, object], code: str
) -> None:
    desk.fence.closed = True
    assert (await refused(desk.query(**changes))).code == code


async def test_the_fence_comes_before_trust(desk: EmbedDesk) -> None:
    desk.certify("m", status="uncertified", reason="gate_missed:mean_cosine")
    assert (await refused(desk.query())).code == "not_certified"
    desk.fence.closed = True
    assert (await refused(desk.query())).code == "lane_paused"
    desk.lane.quarantine.reason = "crash"
    assert (await refused(desk.query())).code == "lane_paused"


async def test_a_request_that_was_chosen_before_the_fence_closed_is_not_admitted_behind_it(desk: EmbedDesk) -> None:
    # Between the two looks at the fence its text is tokenized; without the second, a paused lane would compute.
    desk.loader.gate = asyncio.Event()
    query = asyncio.create_task(desk.query())
    await until(lambda: desk.loader.reads)
    desk.fence.closed = True
    desk.loader.gate.set()
    assert (await refused(query)).code == "lane_paused"
    assert desk.loader.loads == 0
    assert desk.held() == 0


async def test_no_job_is_made_once_the_fence_is_closed(desk: EmbedDesk) -> None:
    desk.loader.gate = asyncio.Event()
    batch = asyncio.create_task(desk.batch(*["a"] * 100))
    await until(lambda: desk.loader.reads)
    desk.fence.closed = True
    desk.loader.gate.set()
    assert (await refused(batch)).code == "lane_paused"
    assert desk.diverted == []


# --- durable jobs ---


async def test_a_running_job_fails_at_the_fence_and_keeps_what_its_lane_had_taken(enter: Enter) -> None:
    fence = SwitchFence()
    room = enter(fence=fence)
    job_id = await room.hold(TEXTS, calls=20)
    before = (await room.book.status(job_id)).items_done
    fence.closed = True
    room.loader.gate_open.set()
    status = await room.ended(job_id)
    error = error_of(status)
    assert (status.state, error["code"], error["class"]) == ("failed", "lane_paused", "transient")
    assert error["safe_to_retry_same_request"] is True
    assert set(error["details"]) == {"lane_id", "fingerprint", "paused_until_ms", "reason"}
    # The two chunks that were in the lane's hands ended as any other, and everything computed is on disk.
    assert status.items_done == len(room.loader.rows) > before
    assert room.loader.calls == 22
    expected = await room.expected(TEXTS)
    found = vectors(await room.items(job_id))
    assert found == {name: expected[name] for name in found}


async def test_the_same_request_after_the_pause_starts_behind_what_is_committed(enter: Enter) -> None:
    fence = SwitchFence()
    room = enter(fence=fence)
    first = await room.hold(TEXTS, "key", calls=20)
    fence.closed = True
    room.loader.gate_open.set()
    done = (await room.ended(first)).items_done
    with pytest.raises(SynapseError) as caught:
        await room.submit(TEXTS, "key")
    assert caught.value.code == "lane_paused"
    fence.closed = False
    second = await room.submit(TEXTS, "key")
    assert second != first
    status = await room.ended(second)
    assert (status.state, status.items_done) == ("done", 300)
    assert vectors(await room.items(second)) == await room.expected(TEXTS)
    assert len(room.loader.rows) == 300
    assert done > 0


async def test_a_queued_job_that_meets_the_fence_fails_without_computing(enter: Enter) -> None:
    fence = SwitchFence()
    room = enter(fence=fence)
    room.store.gate = asyncio.Event()
    submitting = asyncio.create_task(room.submit(TEXTS, "key"))
    await until(lambda: room.store.writes)
    fence.closed = True
    room.store.gate.set()
    job_id = await submitting
    status = await room.ended(job_id)
    assert (status.state, error_of(status)["code"], status.items_done) == ("failed", "lane_paused", 0)
    assert room.loader.calls == 0
    fence.closed = False
    again = await room.ended(await room.submit(TEXTS, "key"))
    assert (again.state, again.items_done) == ("done", 300)


async def test_a_job_whose_worker_dies_during_the_drain_fails_as_paused(
    enter: Enter, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("worker_lost")
    fence = SwitchFence()
    room = enter(fence=fence)
    job_id = await room.hold(TEXTS, calls=20)
    room.loader.crashes = {21}
    fence.closed = True
    room.loader.gate_open.set()
    status = await room.ended(job_id)
    assert (status.state, error_of(status)["code"]) == ("failed", "lane_paused")
    fence.closed = False
    final = await room.ended(await room.submit(TEXTS, "key"))
    assert (final.state, final.items_done) == ("done", 300)


async def test_resuming_is_for_credentials_and_not_for_pauses(enter: Enter) -> None:
    fence = SwitchFence()
    room = enter(fence=fence)
    job_id = await room.hold(TEXTS, calls=5)
    fence.closed = True
    room.loader.gate_open.set()
    await room.ended(job_id)
    fence.closed = False
    with pytest.raises(SynapseError) as caught:
        await room.book.resume(job_id)
    assert (caught.value.code, caught.value.level) == ("invalid_request", "semantic")
