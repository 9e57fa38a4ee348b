"""Durable jobs when something goes wrong around them: lanes that are replaced or fail, time that runs out, full disks.

The other half of ``test_embedding_jobs``, with the same real database, tokenizer and lanes. Workers that are killed are
real processes that play scripts.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import msgspec
import pytest

from fixtures.clocks import FakeClock
from fixtures.durable_jobs import CHUNK_TOKENS, LANE, Item, RecordingLoader, Room, error_of, rooms, vectors, words
from fixtures.expected_warnings import ExpectedWarnings
from fixtures.lanes import ScriptedLoader, until
from synapse_service.lanes.loader import Loaded
from synapse_service.lanes.model import LaneModel
from synapse_wire.errors import SynapseError

TEXTS = words(300)

Enter = Callable[..., Room]


@pytest.fixture
async def enter(quick_dir: Path) -> AsyncIterator[Enter]:
    async with rooms(quick_dir / "synapse.db") as enter:
        yield enter


# --- the lane ---


async def test_a_job_holds_its_lane_without_a_gap_from_its_request_to_its_end(enter: Enter) -> None:
    room = enter()
    room.loader.hold_after = 2
    drained = False

    async def replaced() -> None:
        nonlocal drained
        await room.leases.drained(LANE)
        drained = True

    await room.lane.tokenizer()
    request = asyncio.create_task(room.submit(TEXTS))
    await until(lambda: room.leases.holders())
    waiting = asyncio.create_task(replaced())  # As when the lane was replaced while the texts were tokenized.
    job_id = await request
    await until(lambda: room.loader.held)
    assert not drained
    assert msgspec.to_builtins(room.leases.holders(LANE)) == [{"kind": "job", "job_id": job_id}]
    room.loader.gate_open.set()
    await room.ended(job_id)
    await asyncio.wait_for(waiting, 5)
    assert room.leases.holders() == []


async def test_a_lost_worker_is_replaced_and_nothing_is_computed_twice_but_its_last_call(
    enter: Enter, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("worker_lost")
    room = enter()
    room.loader.crashes.add(3)
    job_id = await room.submit(TEXTS)
    assert (await room.ended(job_id)).state == "done"
    assert room.loader.loads == 2
    lost = len(room.loader.workers[0].calls[-1])
    assert len(room.loader.rows) == 300 + lost
    assert vectors(await room.items(job_id)) == await room.expected(TEXTS)


async def test_a_model_that_can_not_be_loaded_ends_the_job_instead_of_being_tried_for_ever(enter: Enter) -> None:
    room = enter()
    details = {"lane_id": LANE, "reason": "self_test"}
    room.loader.errors = [SynapseError("engine_crashed", "the numbers are off", details=details) for _ in range(3)]
    status = await room.ended(await room.submit(TEXTS))
    assert status.state == "failed"
    assert (error_of(status)["code"], error_of(status)["details"]) == ("engine_crashed", details)
    assert room.loader.loads == 1


@pytest.mark.skipif(sys.platform == "win32", reason="workers are ended by POSIX signals here")
async def test_a_worker_killed_twice_quarantines_the_lane_and_a_released_lane_goes_on(
    enter: Enter, tmp_path: Path, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("worker_lost", "lane_quarantined")
    clock = FakeClock()
    good = [{}] * 5
    loader = ScriptedLoader(
        tmp_path, clock, {"calls": [*good, {"die": "kill"}]}, {"calls": [{"die": "kill"}]}, {"calls": []}
    )
    room = enter(clock=clock, loader=loader)
    job_id = await room.submit(TEXTS, "key")
    status = await room.ended(job_id)
    assert status.state == "failed"
    assert error_of(status)["code"] == "probe_required"
    assert error_of(status)["details"] == {"model_id": "lane", "reason": "quarantined"}
    assert loader.loads == 2
    kept = await room.items(job_id)
    assert len(kept) == status.items_done > 0
    with pytest.raises(SynapseError) as refusal:
        await room.submit(TEXTS, "key")
    assert refusal.value.code == "probe_required"
    room.lane.quarantine.release()  # What a probe that passes does.
    again = await room.submit(TEXTS, "key")
    assert (await room.ended(again)).state == "done"
    items = await room.items(again)
    assert items[: len(kept)] == kept
    assert vectors(items) == await room.expected(TEXTS)


@pytest.mark.parametrize(("others_are_served", "code"), [(False, "probe_required"), (True, "engine_crashed")])
async def test_a_row_that_kills_its_worker_every_time_ends_the_job(
    quick_dir: Path, expected_warnings: ExpectedWarnings, others_are_served: bool, code: str
) -> None:
    # Its chunk takes several calls, as chunks of the product do, and those before the deadly one end well.
    expected_warnings("worker_lost", *([] if others_are_served else ["lane_quarantined"]))

    class Loader(RecordingLoader):
        async def load(self, model: LaneModel) -> Loaded:
            if others_are_served:
                room.lane.quarantine.served()
            return await super().load(model)

    room = Room(quick_dir / "synapse.db", loader=Loader(), call_tokens=CHUNK_TOKENS // 4)
    await room.lane.tokenizer()
    texts = [*words(80), "the " * 9]
    room.loader.deadly = {room.tokens(texts)[-1]}
    status = await room.ended(await room.submit(texts, "key"))
    assert (status.state, error_of(status)["code"]) == ("failed", code)
    assert room.loader.loads == (3 if others_are_served else 2)
    await room.leave()


async def test_a_job_that_is_not_done_in_its_lifetime_fails_and_can_be_taken_up_again(enter: Enter) -> None:
    room = enter()
    room.ttl_s = 0.3
    job_id = await room.hold(TEXTS, calls=10)
    status = await room.ended(job_id)
    assert (status.state, error_of(status)["code"]) == ("failed", "deadline_exceeded")
    room.loader.gate_open.set()
    room.ttl_s = 3600
    again = await room.submit(TEXTS, "key")
    assert (await room.ended(again)).state == "done"
    assert len(vectors(await room.items(again))) == 300


# --- the disk ---


@pytest.mark.parametrize("lasting", [False, True])
async def test_a_disk_that_is_full_at_any_write_loses_nothing_and_the_key_goes_on_when_there_is_room(
    quick_dir: Path, expected_warnings: ExpectedWarnings, lasting: bool
) -> None:
    # Writes are: the acceptance, the start, each page, the end. Goes red without `JobBook.settle`: an attempt whose
    # end could not be written would be joined for ever.
    texts = words(80)
    number = failures = 0
    while True:
        number += 1
        room = Room(quick_dir / f"{lasting}-{number}.db")
        room.store.refusal = lambda write, number=number: write >= number if lasting else write == number
        job_id = None
        if number > 1:
            job_id = await room.submit(texts, "key")
        else:
            with pytest.raises(SynapseError) as refusal:
                await room.submit(texts, "key")
            assert refusal.value.code == "store_failure"
            assert refusal.value.details == {"reason": "storage_full", "path": str(room.store.path)}
        acknowledged: list[Item] = []
        if job_id is not None:
            status = await room.ended(job_id)
            acknowledged = await room.items(job_id)
            assert len(acknowledged) == status.items_done
            last = await room.page(job_id, status.pages_available or 0)
            assert (last.state, last.next_cursor, last.items) == (status.state, None, [])
            if status.state == "failed":
                assert error_of(status)["code"] == "store_failure"
                assert error_of(status)["safe_to_retry_same_request"] is True
                failures += 1
        whole = room.store.writes < number
        room.store.refusal = lambda write: False
        again = await room.submit(texts, "key")
        assert (await room.ended(again)).state == "done"
        items = await room.items(again)
        assert items[: len(acknowledged)] == acknowledged
        assert vectors(items) == await room.expected(texts)
        counters = room.book.counters
        assert counters.open == 0 == counters.minted - counters.completed - counters.failed
        await room.leave()
        if whole:
            break
    assert number > 6
    assert failures >= 3
    expected_warnings("job_state_not_written")
