"""A file of models, from its text to answers."""

from __future__ import annotations

import asyncio

import pytest

from fixtures.bound_models import PROMPT, asking
from fixtures.openai_stub import OpenAIStub, chunk, completion, document, events
from synapse_models.credentials import EnvironmentResolver
from synapse_models.declaration import read_declarations
from synapse_models.errors import PlanError
from synapse_models.model import Model
from synapse_models.policy import Timeouts
from synapse_models.profiles.loading import shipped
from synapse_models.request import SamplingParams, ScoringParams
from synapse_models.session import ModelSession

FILE = """
models:
  base:
    dialect: openai_chat
    model: some-model
    api_base: {url}
    credential: env:KEY
    concurrency: 3
    timeouts: {{total_s: 30}}
    retry: {{max_attempts: 2, base_s: 0}}
    args: {{sampling: {{temperature: 0.0}}}}
  scorer:
    base: base
    dialect: openai_completions
    concurrency: 1
  other:
    dialect: openai_chat
    model: another-model
    api_base: {url}
"""


async def test_a_file_becomes_models_that_share_what_they_declared() -> None:
    async with OpenAIStub(document({"error": "x"}, status=503), document(completion({"content": "Hi"}))) as stub:
        session = ModelSession(
            read_declarations(FILE.format(url=stub.base_url)), shipped(), resolver=EnvironmentResolver({"KEY": "k"})
        )
        async with session:
            base, scorer, other = (session.models[name] for name in ("base", "scorer", "other"))
            assert base.pool is scorer.pool is not other.pool
            assert base.pool.limiter is not None
            assert base.pool.limiter.limit == 3
            assert [limiter.limit for limiter in scorer._limiters] == [1]
            assert base.timeouts == Timeouts(total_s=30)
            response = await base.arun(asking())
            assert response.provenance is not None
            assert [attempt.status for attempt in response.provenance.attempts] == [503, 200]
            assert response.provenance.request_defaults == {"sampling.temperature": 0.0}
            stub.answer(document({"choices": [{"text": "x"}]}))
            await scorer.arun(asking(PROMPT, sampling=SamplingParams(max_tokens=1)))
            assert stub.seen[-1].path == "/v1/completions"
            stub.answer(document(completion({"content": "Hi"})))
            await other.arun(asking())
        with pytest.raises(PlanError, match="closed"):
            await base.arun(asking())
        with pytest.raises(PlanError, match="closed"):
            await other.arun(asking())
    assert stub.seen[0].body["model"] == "some-model"
    assert [seen.headers.get("Authorization") for seen in stub.seen] == ["Bearer k"] * 3 + [None]


async def test_a_cancelled_close_closes_every_pool_all_the_same() -> None:
    hold = asyncio.Event()
    async with OpenAIStub(events(chunk({"content": "a"}), chunk(finish="stop"), hold=hold)) as stub:
        session = ModelSession(
            read_declarations(FILE.format(url=stub.base_url)), shipped(), resolver=EnvironmentResolver({"KEY": "k"})
        )
        base, other = session.models["base"], session.models["other"]
        stream = base.astream(asking())
        await anext(stream)
        closing = asyncio.create_task(session.aclose())
        await asyncio.sleep(0)
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        await asyncio.wait_for(_until_closed(other), 5)
        with pytest.raises(PlanError, match="closed"):
            await base.arun(asking())
        hold.set()
        assert [event async for event in stream][-1].response.text == "a"
        await asyncio.wait_for(_until_closed(base), 5)
        await session.aclose()


async def _until_closed(model: Model) -> None:
    while model.pool._closing is None or not model.pool._closing.done():  # noqa: ASYNC110
        await asyncio.sleep(0.005)


def test_a_file_that_doesn_t_hold_together_opens_nothing_and_says_why() -> None:
    text = FILE.format(url="http://127.0.0.1:9/v1") + "    capabilities: {input_scoring: true}\n"
    with pytest.raises(PlanError, match=r"can't be bound: other[\s\S]*input_scoring"):
        ModelSession(read_declarations(text), shipped())


def test_what_a_file_doesn_t_ask_for_and_nobody_has_shown_is_not_to_be_had() -> None:
    session = ModelSession(read_declarations(FILE.format(url="http://127.0.0.1:9/v1")), shipped())
    prepared = session.models["other"].prepare(asking(scoring=ScoringParams(sampled_logprobs=True)))
    assert prepared.wire.body["logprobs"] is True
    assert "sampled_logprobs" in session.models["other"].plan.available
