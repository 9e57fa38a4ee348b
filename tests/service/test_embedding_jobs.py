"""Durable embedding from the request to the last page: what is computed, kept, refused, and taken up again.

Real database, real tokenizer, real lanes; the workers are stubs in this process. What goes wrong around a job is in
``test_embedding_jobs_faults``.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fixtures.clocks import FakeClock
from fixtures.durable_jobs import LANE, PAGE_BYTES, Item, Room, error_of, rooms, spelled, vectors, words
from fixtures.expected_warnings import ExpectedWarnings
from fixtures.lanes import paper_registration, until
from synapse_service.jobs import embedding as embedding_module
from synapse_service.store.models import Job
from synapse_wire import results as r
from synapse_wire.errors import SynapseError
from synapse_wire.params import EmbedBatch

TEXTS = words(300)

Enter = Callable[..., Room]


@pytest.fixture
async def enter(quick_dir: Path) -> AsyncIterator[Enter]:
    async with rooms(quick_dir / "synapse.db") as enter:
        yield enter


async def interrupted(room: Room, calls: int = 20) -> str:
    """A job with some pages whose service ended in the middle; returns its id."""
    job_id = await room.hold(TEXTS, calls=calls)
    await room.leave()
    return job_id


# --- from request to pages ---


async def test_every_item_is_committed_once_with_its_own_vector(enter: Enter) -> None:
    room = enter()
    job_id = await room.submit(TEXTS)
    status = await room.ended(job_id)
    assert (status.state, status.items_done, status.items_total) == ("done", 300, 300)
    items = await room.items(job_id)
    assert vectors(items) == await room.expected(TEXTS)
    assert sorted(room.loader.rows) == sorted(room.tokens(TEXTS))
    assert len(set(room.loader.rows)) == 300
    counts = [item.real_token_count for item in items]
    assert counts == sorted(counts)  # The shortest first.
    assert status.pages_available == (await room.page(job_id)).pages_available > 10


async def test_forty_thousand_items_are_all_committed(enter: Enter) -> None:
    room = enter(page_bytes=512 * 1024, chunk_tokens=3072)
    texts = [spelled(index) for index in range(40_000)]
    job_id = await room.submit(texts, vector_encoding="base64")
    status = await room.ended(job_id)
    assert (status.state, status.items_done) == ("done", 40_000)
    assert len(vectors(await room.items(job_id))) == 40_000


async def test_pages_hold_as_much_as_fits_and_can_be_read_while_the_job_runs(enter: Enter) -> None:
    room = enter()
    job_id = await room.hold(TEXTS)
    first = await room.page(job_id)
    assert (first.state, first.page_index, first.next_cursor) == ("running", 0, 1)
    encoded = len(msgspec.json.encode(first.items))
    assert PAGE_BYTES - 400 < encoded <= PAGE_BYTES
    available = first.pages_available
    waiting = await room.page(job_id, available)
    assert (waiting.items, waiting.next_cursor, waiting.pages_available) == ([], available, available)
    room.loader.gate_open.set()
    await room.ended(job_id)
    assert (await room.page(job_id)).items == first.items
    last = (await room.page(job_id)).pages_available - 1
    assert (await room.page(job_id, last)).next_cursor is None


async def test_vectors_are_written_as_the_first_submission_asked(enter: Enter) -> None:
    room = enter()
    job_id = await room.submit(TEXTS, "key", vector_encoding="base64")
    await room.ended(job_id)
    assert await room.submit(TEXTS, "key", vector_encoding="json") == job_id
    expected = await room.expected(TEXTS, "f32")
    for item in await room.items(job_id):
        assert msgspec.json.decode(item.vector, type=bytes) == expected[item.id]


async def test_a_truncating_lane_discloses_on_the_page_what_it_cut(enter: Enter) -> None:
    room = enter(registration=paper_registration(overlength="truncate", max_tokens=5))
    texts = [*words(70), "the the the the the the"]
    job_id = await room.submit(texts)
    await room.ended(job_id)
    item = {each.id: each for each in await room.items(job_id)}["item-70"]
    assert item.truncation == r.PageTruncation(submitted_tokens=8, effective_tokens=5, truncated=True)
    assert item.real_token_count == 5
    assert item.content_sha256 != item.submitted_sha256


async def test_a_batch_is_diverted_by_its_items_its_tokens_or_its_bytes(enter: Enter) -> None:
    room = enter()
    assert isinstance(await room.batch(words(64)), r.Embedded)
    assert isinstance(await room.batch(words(65)), r.EmbedDiverted)
    room.settings = msgspec.structs.replace(room.settings, inline_max_tokens=10)
    assert isinstance(await room.batch(["a b c"] * 2), r.Embedded)
    assert isinstance(await room.batch(["a b c"] * 3), r.EmbedDiverted)
    room.settings = msgspec.structs.replace(room.settings, inline_max_tokens=8192, inline_max_bytes=10)
    assert isinstance(await room.batch(["a b c"] * 2), r.Embedded)
    assert isinstance(await room.batch(["a b c"] * 3), r.EmbedDiverted)
    for job in room.book.live():
        await room.ended(job.job_id)


async def test_a_flow_may_not_start_a_job(enter: Enter) -> None:
    room = enter()
    assert isinstance(await room.batch(words(64), flow_id="f"), r.Embedded)
    room.settings = msgspec.structs.replace(room.settings, inline_max_tokens=10)
    for texts in (words(65), ["a b c"] * 3):
        with pytest.raises(SynapseError) as refusal:
            await room.batch(texts, flow_id="f")
        assert (refusal.value.code, refusal.value.level) == ("flow_scope_refused", "channel")
        assert refusal.value.details == {"method": "embed.batch", "flow_id": "f"}
    assert room.store.read_sync(lambda: Job.select().count()) == 0


async def test_a_deadline_that_passed_before_the_acceptance_makes_no_job(enter: Enter) -> None:
    room = enter()
    await room.lane.tokenizer()
    call = room.call("embed.batch")
    room.clock.advance(1)
    with pytest.raises(SynapseError) as refusal:
        await room.embed.batch(call, msgspec.convert(params(words(65), deadline_ms=1000), EmbedBatch))
    assert refusal.value.code == "deadline_exceeded"
    assert room.store.read_sync(lambda: Job.select().count()) == 0


async def test_an_overlong_item_is_named_and_there_is_no_job(enter: Enter) -> None:
    room = enter()
    texts = [spelled(index) for index in range(10_000)]
    texts[7777] = "the " * 63
    with pytest.raises(SynapseError) as refusal:
        await room.batch(texts, "key")
    assert refusal.value.code == "sequence_too_long"
    assert refusal.value.details == {"tokens": 65, "max_tokens": 64, "item_id": "item-7777"}
    assert room.store.read_sync(lambda: Job.select().count()) == 0
    assert (room.loader.rows, room.leases.holders()) == ([], [])


async def test_an_item_that_is_not_finite_fails_the_job_and_what_was_before_it_can_be_read(enter: Enter) -> None:
    room = enter(page_bytes=16 * PAGE_BYTES, chunk_tokens=3072)
    texts = [spelled(index) for index in range(10_000)]
    await room.lane.tokenizer()
    (bad,) = room.tokens([texts[7777]])
    room.loader.poison.add(bad)
    job_id = await room.submit(texts, "key")
    status = await room.ended(job_id)
    assert status.state == "failed"
    assert error_of(status)["code"] == "engine_crashed"
    assert error_of(status)["details"] == {"item_id": "item-7777", "reason": "non_finite"}
    before = await room.items(job_id)
    # Everything up to the chunk of the bad item, the part of a page included.
    assert len(before) == status.items_done > 5000
    assert "item-7777" not in vectors(before)
    room.loader.poison.clear()
    again = await room.submit(texts, "key")
    assert again != job_id
    assert (await room.ended(again)).state == "done"
    assert vectors(await room.items(again)) == await room.expected(texts)


@pytest.mark.parametrize("full", [False, True])
async def test_what_was_computed_before_a_failure_is_kept_and_the_reason_stays_the_first(
    enter: Enter, full: bool, expected_warnings: ExpectedWarnings
) -> None:
    room = enter(page_bytes=1_000_000)  # Nothing ever fills a page.
    await room.lane.tokenizer()
    (bad,) = room.tokens([TEXTS[-1]])
    room.loader.poison.add(bad)
    if full:
        expected_warnings("job_state_not_written")
        room.store.refusal = lambda number: number > 2
    job_id = await room.submit(TEXTS, "key")
    status = await room.ended(job_id)
    assert error_of(status)["details"] == {"item_id": "item-299", "reason": "non_finite"}
    kept = await room.items(job_id)
    assert (status.pages_available, status.items_done) == ((0, 0) if full else (1, len(kept)))
    assert bool(kept) is not full


# --- keys, attempts, races ---


async def test_clients_that_race_for_one_key_get_one_job_and_each_row_is_computed_once(enter: Enter) -> None:
    room = enter()
    job_ids = await asyncio.gather(*(room.submit(TEXTS, "key") for _ in range(4)))
    assert len(set(job_ids)) == 1
    await room.ended(job_ids[0])
    assert len(room.loader.rows) == 300
    assert room.book.counters.minted == 1


async def test_other_content_under_a_key_is_a_conflict_inline_as_well(enter: Enter) -> None:
    room = enter()
    job_id = await room.submit(TEXTS, "key")
    for texts in (words(300, first=1), ["short"]):
        with pytest.raises(SynapseError) as refusal:
            await room.batch(texts, "key")
        assert (refusal.value.code, refusal.value.details) == ("idempotency_conflict", {"request_key": "key"})
    with pytest.raises(SynapseError):
        await room.batch(TEXTS, "key", required_epoch=0)
    # How long a caller waits, and what it would have been without being said, are no other content.
    same = {"deadline_ms": 5000, "max_queue_ms": 0, "allow_equivalent": False, "accept_declared": False}
    assert await room.submit(TEXTS, "key", **same) == job_id
    await room.ended(job_id)


async def test_a_client_that_hangs_up_during_the_acceptance_leaves_a_job_that_runs(enter: Enter) -> None:
    room = enter()
    room.store.gate = gate = asyncio.Event()
    request = asyncio.create_task(room.batch(TEXTS, "key"))
    await until(lambda: room.store.writes)
    request.cancel()
    with pytest.raises(asyncio.CancelledError):
        await request
    # Whoever holds the lane for the job that is being accepted is still there.
    assert len(room.leases.holders(LANE)) == 1
    gate.set()
    job_id = await room.submit(TEXTS, "key")
    assert (await room.ended(job_id)).state == "done"
    assert room.book.counters.minted == 1
    assert len(room.loader.rows) == 300


async def test_a_resumed_attempt_computes_only_what_was_not_committed(enter: Enter) -> None:
    first = enter()
    old = await interrupted(first)
    room = enter(clock=FakeClock(monotonic=5.0, wall_ms=first.clock.wall_ms() + 1000))
    status = await room.book.status(old)
    assert (status.state, error_of(status)["code"]) == ("failed", "module_restarted")
    before = await room.items(old)
    committed = {item.id for item in before}
    assert 0 < len(committed) == status.items_done < 300
    assert status.pages_available == room.store.read_sync(lambda: Job.get().submission.pages)

    new = await room.submit(TEXTS, "key")
    assert new != old
    done = await room.ended(new)
    assert (done.state, done.items_done, done.items_total) == ("done", 300, 300)
    missing = [text for index, text in enumerate(TEXTS) if f"item-{index}" not in committed]
    assert len(room.loader.rows) == 300 - len(committed)
    assert sorted(room.loader.rows) == sorted(room.tokens(missing))
    # One index, read by both ids, and the old pages are where they were.
    items = await room.items(new)
    assert items[: len(before)] == before
    assert await room.items(old) == items
    assert vectors(items) == await room.expected(TEXTS)


async def test_an_interrupted_job_ends_bit_equal_to_an_uninterrupted_one(enter: Enter, quick_dir: Path) -> None:
    await interrupted(enter(), calls=7)
    await interrupted(enter(), calls=9)
    room = enter()
    job_id = await room.submit(TEXTS, "key")
    await room.ended(job_id)
    whole = Room(quick_dir / "whole.db")
    whole_id = await whole.submit(TEXTS, "key")
    await whole.ended(whole_id)

    def by_id(items: list[Item]) -> dict[str, bytes]:
        return {item.id: msgspec.json.encode(item) for item in items}

    assert by_id(await room.items(job_id)) == by_id(await whole.items(whole_id))
    await whole.leave()


async def test_an_attempt_behind_which_everything_is_committed_is_done_at_once(enter: Enter) -> None:
    first = enter()
    job_id = await first.submit(TEXTS, "key")
    await first.ended(job_id)
    first.store.write_sync(lambda: Job.update(state="running").execute())  # The end was not written before the crash.
    await first.leave()
    room = enter()
    again = await room.submit(TEXTS, "key")
    assert (await room.ended(again)).state == "done"
    assert room.loader.rows == []
    assert len(vectors(await room.items(again))) == 300


async def test_a_key_is_not_resumed_under_another_fingerprint(enter: Enter) -> None:
    first = enter()
    old = await interrupted(first)
    room = enter(registration=paper_registration(normalize=False))
    assert room.lane.fingerprint != first.lane.fingerprint
    with pytest.raises(SynapseError) as refusal:
        await room.submit(TEXTS, "key")
    assert refusal.value.code == "idempotency_conflict"
    assert first.lane.fingerprint in refusal.value.message
    page = await room.page(old)
    assert page.fingerprint == first.lane.fingerprint
    assert page.items


async def test_there_is_room_for_so_many_jobs_and_always_for_those_who_join(
    enter: Enter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding_module, "MAX_LIVE_JOBS", 2)
    room = enter()
    first = await room.hold(TEXTS, "first", calls=0)
    outcomes = await asyncio.gather(*(room.submit(TEXTS, f"key-{index}") for index in range(3)), return_exceptions=True)
    refusals = [outcome for outcome in outcomes if isinstance(outcome, SynapseError)]
    assert len(refusals) == 2
    for refusal in refusals:
        assert (refusal.code, refusal.details) == ("queue_full", {"class": "bulk", "depth": 2})
    assert await room.submit(TEXTS, "first") == first
    room.loader.gate_open.set()
    await room.ended(first)
    assert await room.submit(TEXTS, "another")
    for job in room.book.live():
        await room.ended(job.job_id)


def params(texts: list[str], **more: Any) -> dict[str, Any]:
    return {"model": LANE, "items": [{"id": str(index), "text": text} for index, text in enumerate(texts)], **more}
