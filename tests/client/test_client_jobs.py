"""What the clients do about durable jobs one step at a time: diverted batches, pages, the list, cancelling."""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import Awaitable
from typing import Any

import pytest

from fixtures.bulk import notes
from fixtures.fake_service import FINGERPRINT, FakeService, vector_of
from synapse_client import AsyncClient, BatchDiverted, Client, Page, ProtocolViolation, SynapseError


class Awaited:
    """The asyncio client as a blocking one, so that one test covers both."""

    def __init__(self, address: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._client = AsyncClient(address)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)

        def call(*args: Any, **options: Any) -> Any:
            answer: Awaitable[Any] = method(*args, **options)
            return self._loop.run_until_complete(answer)

        return call

    def end(self) -> None:
        self._loop.run_until_complete(self._client.close())
        self._loop.close()


@pytest.fixture(params=["blocking", "asyncio"])
def either(request: pytest.FixtureRequest, fake: FakeService) -> Any:
    """A client of each kind."""
    if request.param == "blocking":
        with Client(fake.address) as client:
            yield client
    else:
        awaited = Awaited(fake.address)
        yield awaited
        awaited.end()


def divert(client: Any, texts: dict[str, str], key: str | None = None) -> str:
    with pytest.raises(BatchDiverted) as diverted:
        client.embed_batch("mini", list(texts.values()), ids=list(texts), request_key=key)
    return diverted.value.job_id


def test_a_batch_over_the_budgets_names_its_job(fake: FakeService, either: Any) -> None:
    with pytest.raises(BatchDiverted, match=r"became job job-0.*embed_all") as diverted:
        either.embed_batch("mini", list(notes(65).values()))
    assert (diverted.value.job_id, diverted.value.transient) == ("job-0", False)
    assert len(either.embed_batch("mini", list(notes(64).values())).ids) == 64


def test_an_answer_that_is_neither_vectors_nor_a_job_is_a_violation(fake: FakeService, either: Any) -> None:
    fake.on("embed.batch", lambda _: {"job": None})
    with pytest.raises(ProtocolViolation, match="isn't Embedded"):
        either.embed_batch("mini", ["a"])


def test_pages_are_read_while_the_job_runs(fake: FakeService, either: Any) -> None:
    texts = notes(75)
    job_id = divert(either, texts)
    pages: list[Page] = [either.embed_result(job_id)]
    while (cursor := pages[-1].next_cursor) is not None:
        pages.append(either.embed_result(job_id, cursor))
    first, last = pages[0], pages[-1]
    assert (first.job_id, first.state, first.page_index, first.pages_available, first.next_cursor, first.ended) == (
        job_id,
        "running",
        0,
        1,
        1,
        False,
    )
    assert (first.fingerprint, first.table_epoch, first.dims, first.engine.engine, first.module_generation) == (
        FINGERPRINT,
        0,
        4,
        "owned-cpu",
        1,
    )
    assert (last.state, last.page_index, last.ended) == ("done", 7, True)
    assert {item.id: item.vector for page in pages for item in page.items} == {
        item_id: array("f", vector_of(text)) for item_id, text in texts.items()
    }


def test_a_page_that_is_not_there_yet_is_empty_and_one_beyond_is_refused(fake: FakeService, either: Any) -> None:
    job_id = divert(either, notes(75))
    fake.durable.working = False
    page = either.embed_result(job_id)
    assert (page.items, page.next_cursor, page.ended) == ([], 0, False)
    with pytest.raises(SynapseError, match="beyond the pages"):
        either.embed_result(job_id, 1)


def test_a_page_is_asked_for_with_the_size_that_was_given(fake: FakeService, either: Any) -> None:
    job_id = divert(either, notes(75))
    either.embed_result(job_id, max_page_bytes=4096)
    assert fake.received[-1] == ("embed.result", {"job_id": job_id, "cursor": 0, "max_page_bytes": 4096})


def test_jobs_are_listed_and_cancelled(fake: FakeService, either: Any) -> None:
    first, second = divert(either, notes(75), "k"), divert(either, notes(75))
    cancelled = either.jobs_cancel(first)
    assert (cancelled.job_id, cancelled.state, cancelled.error["code"]) == (first, "failed", "request_cancelled")
    assert [row.job_id for row in either.jobs_list().jobs] == [second, first]
    assert [row.job_id for row in either.jobs_list(["failed"], limit=5).jobs] == [first]
    assert fake.received[-1] == ("jobs.list", {"states": ["failed"], "limit": 5})
    status = either.admission_status()
    assert (status.jobs_minted, status.jobs_failed, status.jobs_open) == (2, 1, 1)


def test_a_job_that_is_not_paused_cannot_be_resumed(fake: FakeService, either: Any) -> None:
    job_id = divert(either, notes(75))
    with pytest.raises(SynapseError, match="paused") as refused:
        either.job_resume(job_id)
    assert refused.value.details == {"job_id": job_id, "state": "queued"}
