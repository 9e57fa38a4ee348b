"""Pages out of memory: never older than the database."""

from __future__ import annotations

import asyncio
import threading
from array import array
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from fixtures.clocks import FakeClock
from fixtures.submissions import binding
from synapse_service.jobs import page_reader, submissions
from synapse_service.jobs.page_reader import PageReader
from synapse_service.jobs.pages import Page
from synapse_service.jobs.submissions import Request
from synapse_service.store.database import Store
from synapse_service.store.models import Job, Submission
from synapse_wire.errors import SynapseError


class CountingStore(Store):
    """Counts what is really read."""

    reads = 0

    async def read(self, fn: Callable[[], Any]) -> Any:
        self.reads += 1
        return await super().read(fn)


@pytest.fixture
async def store(quick_dir: Path) -> AsyncIterator[CountingStore]:
    store = CountingStore.open(quick_dir / "synapse.db", FakeClock())
    await store.write(lambda: submissions.accept(binding(), Request("job", "submission", None, 1, 0), now_ms=0))
    yield store
    await store.close()


async def commit(store: Store, index: int, payload: bytes) -> None:
    page = Page(array("I", [index]), payload)
    await store.write(lambda: submissions.commit_page("submission", "job", index, page, index + 1, "syn1-a"))


async def test_a_page_is_read_once_while_nothing_is_written(store: CountingStore) -> None:
    reader = PageReader(store)
    for index in range(3):
        await commit(store, index, b"[%d]" % index)
    first = [await reader.read("job", cursor) for cursor in range(3)]
    assert [page.payload for page in first] == [b"[0]", b"[1]", b"[2]"]
    assert [await reader.read("job", cursor) for cursor in range(3)] == first
    assert store.reads == 3


async def test_after_any_write_it_is_read_anew(store: CountingStore) -> None:
    reader = PageReader(store)
    await commit(store, 0, b"[0]")
    before = await reader.read("job", 0)
    await commit(store, 1, b"[1]")
    after = await reader.read("job", 0)
    assert (before.pages, after.pages) == (1, 2)
    await store.write(lambda: Job.update(state="done").execute())
    assert (await reader.read("job", 0)).state == "done"
    await store.write(lambda: Submission.update(expires_ms=5).execute())
    await store.write(lambda: submissions.expire(9, 10))
    with pytest.raises(SynapseError, match="it may have expired"):
        await reader.read("job", 0)


async def test_what_is_read_while_a_write_runs_is_not_kept(store: CountingStore) -> None:
    """It may be the state from before that write or from after it."""
    reader = PageReader(store)
    await commit(store, 0, b"[0]")
    go_on = threading.Event()
    writing = asyncio.create_task(store.write(lambda: Job.update(state="done").execute() if go_on.wait(10) else None))
    await asyncio.sleep(0)
    assert (await reader.read("job", 0)).state == "queued"
    go_on.set()
    await writing
    assert (await reader.read("job", 0)).state == "done"


async def test_a_write_during_the_read_spoils_it(store: CountingStore, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = PageReader(store)
    await commit(store, 0, b"[0]")
    read = CountingStore.read

    async def overtaken(self: CountingStore, fn: Callable[[], Any]) -> Any:
        page = await read(self, fn)
        await store.write(lambda: Job.update(state="done").execute())
        return page

    monkeypatch.setattr(CountingStore, "read", overtaken)
    assert (await reader.read("job", 0)).state == "queued"
    monkeypatch.undo()
    assert (await reader.read("job", 0)).state == "done"


async def test_a_page_that_is_not_there_yet_is_asked_for_again(store: CountingStore) -> None:
    reader = PageReader(store)
    assert (await reader.read("job", 0)).payload is None
    assert (await reader.read("job", 0)).payload is None
    assert store.reads == 2


async def test_little_is_kept(store: CountingStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_reader, "KEPT_BYTES", 100)
    reader = PageReader(store)
    for index in range(4):
        await commit(store, index, b"%d" % index * 40)
    await commit(store, 4, b"4" * 101)
    for cursor in (0, 1, 2, 3, 2, 3, 4, 4, 1):
        page = await reader.read("job", cursor)
        assert page.payload == b"%d" % cursor * (101 if cursor == 4 else 40)
    # Of 2 and 3 the second time came from memory; 4 is too large to keep, and 1 was let go.
    assert store.reads == 7
    assert sum(len(page.payload or b"") for page in reader._kept.values()) == reader._kept_bytes == 80
