"""``embed_all`` of the asyncio client: carries out the steps of ``embed_all.BulkEmbedding`` by awaiting them."""

from __future__ import annotations

import itertools
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Iterator
from typing import Any

from synapse_client.calls import Call
from synapse_client.embed_all import BulkEmbedding, Pause, Pull, Texts
from synapse_client.errors import ClientError
from synapse_client.results import Item
from synapse_wire.errors import SynapseError

AsyncTexts = Texts | AsyncIterable[str] | AsyncIterable[tuple[str, str]]


async def drive(
    bulk: BulkEmbedding,
    source: Iterable[str | tuple[str, str]] | AsyncIterable[str | tuple[str, str]],
    *,
    run: Callable[[Call[Any]], Awaitable[Any]],
    sleep: Callable[[float], Awaitable[None]],
) -> AsyncGenerator[Item, None]:
    """Carry out the steps in the running event loop."""
    steps = bulk.steps()
    texts = aiter(source) if isinstance(source, AsyncIterable) else iter(source)
    outcome: Any = None
    failure: SynapseError | ClientError | None = None
    while True:
        try:
            step = steps.send(outcome) if failure is None else steps.throw(failure)
        except StopIteration:
            return
        outcome = failure = None
        if isinstance(step, Call):
            try:
                outcome = await run(step)
            except (SynapseError, ClientError) as error:
                failure = error
        elif isinstance(step, Pull):
            outcome = await _pull(texts, step.limit)
        elif isinstance(step, Pause):
            await sleep(step.seconds)
        else:
            for item in step:
                yield item


async def _pull(
    texts: Iterator[str | tuple[str, str]] | AsyncIterator[str | tuple[str, str]], limit: int
) -> list[str | tuple[str, str]]:
    if isinstance(texts, Iterator):
        return list(itertools.islice(texts, limit))
    taken = []
    async for text in texts:
        taken.append(text)
        if len(taken) == limit:
            break
    return taken
