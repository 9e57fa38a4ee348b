"""``embed_all`` of the asyncio client: the same steps, awaited, from synchronous and asynchronous sources."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest

from fixtures.bulk import Pauses, expected, notes, vectors
from fixtures.fake_service import FakeService
from synapse_client import AsyncClient, Item, Progress, SynapseError


def pausing(pauses: Pauses) -> object:
    async def sleep(seconds: float) -> None:
        pauses(seconds)
        await asyncio.sleep(0)

    return sleep


@pytest.fixture
async def client(fake: FakeService) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(fake.address, sleep=pausing(Pauses())) as opened:  # type: ignore[arg-type]
        yield opened


async def test_every_text_comes_back_once_under_its_id(fake: FakeService, client: AsyncClient) -> None:
    texts, seen = notes(500), list[Progress]()
    items = client.embed_all("mini", texts, request_key="k", max_job_items=200, on_progress=seen.append)
    assert vectors([item async for item in items]) == expected(texts)
    assert fake.durable.keys() == ["k/0", "k/1", "k/2"]
    assert (seen[-1].received, seen[-1].total, seen[-1].state) == (500, 500, "done")


async def test_texts_may_come_from_an_asynchronous_source(client: AsyncClient) -> None:
    async def source() -> AsyncIterator[tuple[str, str]]:
        for pair in notes(300).items():
            await asyncio.sleep(0)
            yield pair

    items = client.embed_all("mini", source(), request_key="k", max_job_items=100)
    assert vectors([item async for item in items]) == expected(notes(300))


async def test_few_texts_are_answered_at_once(fake: FakeService, client: AsyncClient) -> None:
    items = [item async for item in client.embed_all("mini", ["a", "bb"], request_key="k")]
    assert vectors(items) == expected({"0": "a", "1": "bb"})
    assert fake.methods() == ["service.hello", "embed.batch"]


async def test_a_restart_under_a_job_costs_no_page_and_repeats_none(fake: FakeService, client: AsyncClient) -> None:
    texts, got = notes(300), list[Item]()
    async for item in client.embed_all("mini", texts, request_key="k", max_job_items=150):
        got.append(item)
        if len(got) in (25, 95, 200):
            await asyncio.to_thread(fake.restart)
    assert vectors(got) == expected(texts)
    assert sorted(fake.durable.computed) == sorted(texts)


@pytest.mark.parametrize("stop", ["close", "cancel"])
async def test_stopping_leaves_the_jobs_and_the_same_call_takes_them_up(
    fake: FakeService, client: AsyncClient, stop: str
) -> None:
    texts, reached = notes(200), asyncio.Event()

    async def read_some() -> None:
        async with aclosing(client.embed_all("mini", texts, request_key="k", max_job_items=100)) as items:
            count = 0
            async for _ in items:
                count += 1
                if count == 45:
                    reached.set()
                    if stop == "close":
                        return
                    await asyncio.sleep(3600)

    task = asyncio.create_task(read_some())
    await reached.wait()
    if stop == "cancel":
        task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert (fake.cancelled, "jobs.cancel" in fake.methods()) == ([], False)
    again = [item async for item in client.embed_all("mini", texts, request_key="k", max_job_items=100)]
    assert vectors(again) == expected(texts)
    assert fake.durable.keys() == ["k/0", "k/1"]


async def test_what_a_job_failed_with_is_raised(fake: FakeService, client: AsyncClient) -> None:
    items = client.embed_all("mini", notes(100), request_key="k")
    await anext(items)
    fake.durable.fail(SynapseError("request_cancelled", "cancelled"))
    with pytest.raises(SynapseError, match="request_cancelled"):
        _ = [item async for item in items]


async def test_options_that_cannot_work_are_refused_at_once(client: AsyncClient) -> None:
    with pytest.raises(SynapseError, match="1 to 240 characters"):
        client.embed_all("mini", ["a"], request_key="")
    with pytest.raises(SynapseError, match="one string"):
        client.embed_all("mini", "text", request_key="k")
