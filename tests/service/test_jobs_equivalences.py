"""What the pages of a job say about equivalences: what was true when each was committed, whatever happens later."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fixtures.durable_jobs import Room, rooms, words
from fixtures.embed_desk import refused
from fixtures.equivalences import fingerprint
from synapse_service.aliases.pairs import pair_of
from synapse_wire import results as r

TEXTS = words(300)
OLD, OTHER = fingerprint("0"), fingerprint("1")

Enter = Callable[..., Room]


@pytest.fixture
async def enter(quick_dir: Path) -> AsyncIterator[Enter]:
    async with rooms(quick_dir / "synapse.db") as enter:
        yield enter


async def standing(room: Room, job_id: str) -> list[tuple[int, list[str]]]:
    """Epoch and equivalents of each page."""
    pages = (await room.page(job_id)).pages_available
    read = [await room.page(job_id, cursor) for cursor in range(pages)]
    return [(page.table_epoch, page.equivalent_to) for page in read]


async def test_each_page_keeps_what_was_true_when_it_was_committed(enter: Enter) -> None:
    room = enter()
    own = room.lane.fingerprint
    await room.aliases.declare(pair_of(own, OLD), {})
    job_id = await room.hold(TEXTS)
    before = len(await standing(room, job_id))
    assert before > 3
    await room.aliases.declare(pair_of(own, OTHER), {})
    await room.aliases.retract(pair_of(own, OLD), {})
    room.loader.gate_open.set()
    assert (await room.ended(job_id)).state == "done"
    found = await standing(room, job_id)
    assert found[:before] == [(1, [OLD])] * before
    assert set(map(repr, found[before:])) == {repr((3, [OTHER]))}
    await room.aliases.retract(pair_of(own, OTHER), {})
    assert await standing(room, job_id) == found


async def test_a_page_that_is_not_there_yet_says_what_is_true_now(enter: Enter) -> None:
    room = enter()
    job_id = await room.hold(TEXTS)
    cursor = (await room.page(job_id)).pages_available
    await room.aliases.declare(pair_of(room.lane.fingerprint, OLD), {})
    page = await room.page(job_id, cursor)
    assert (page.items, page.table_epoch, page.equivalent_to) == ([], 1, [OLD])
    room.loader.gate_open.set()
    await room.ended(job_id)


async def test_pages_say_the_same_after_a_restart_and_those_of_the_next_attempt_say_their_own(enter: Enter) -> None:
    first = enter()
    await first.aliases.declare(pair_of(first.lane.fingerprint, OLD), {})
    job_id = await first.hold(TEXTS)
    before = await standing(first, job_id)
    await first.leave()
    second = enter(clock=first.clock)
    assert second.aliases.epoch == 1
    await second.aliases.retract(pair_of(second.lane.fingerprint, OLD), {})
    again = await second.submit(TEXTS, "key")
    assert again != job_id
    assert (await second.ended(again)).state == "done"
    found = await standing(second, again)
    assert found[: len(before)] == before == [(1, [OLD])] * len(before)
    assert set(map(repr, found[len(before) :])) == {repr((2, []))}


async def test_a_job_that_was_accepted_under_a_pair_goes_on_when_the_pair_ends(enter: Enter) -> None:
    room = enter()
    room.embed._choice._certifications.certified = lambda fingerprint: True  # type: ignore[method-assign]
    room.embed._choice._certifications.require = lambda lane: None  # type: ignore[method-assign]
    await room.aliases.declare(pair_of(room.lane.fingerprint, OLD), {})
    room.loader.hold_after = room.loader.calls + 20
    asked: dict[str, Any] = {"required_fingerprint": OLD, "allow_equivalent": True, "required_epoch": 1}
    job_id = await room.submit(TEXTS, "key", **asked)
    await room.at_rest()
    await room.aliases.retract(pair_of(room.lane.fingerprint, OLD), {})
    room.loader.gate_open.set()
    assert (await room.ended(job_id)).state == "done"
    assert len(await room.items(job_id)) == len(TEXTS)
    # The next one isn't accepted.
    error = await refused(room.batch(TEXTS, "key", **asked))
    assert (error.code, error.details) == ("migration_required", {"required_epoch": 1, "table_epoch": 2})
    error = await refused(room.batch(TEXTS, "key", **asked | {"required_epoch": None}))
    assert error.code == "substitution_rejected"


async def test_an_inline_answer_has_the_live_table(enter: Enter) -> None:
    room = enter()
    await room.aliases.declare(pair_of(room.lane.fingerprint, OLD), {})
    answer = await room.batch(TEXTS[:2])
    assert isinstance(answer, r.Embedded)
    assert (answer.table_epoch, answer.equivalent_to) == (1, [OLD])
    assert msgspec.json.decode(msgspec.json.encode(answer))["equivalent_to"] == [OLD]
