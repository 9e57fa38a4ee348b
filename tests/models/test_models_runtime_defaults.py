"""Request defaults and derived models: what fills in where a request is silent, on one dialect and on another."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from fixtures.bound_models import DEAD_URL, PROMPT, asking, deployment, model, plan, pool
from fixtures.openai_stub import OpenAIStub, Scripted, completion, document
from synapse_models.errors import (
    PlanError,
    RequestRejected,
)
from synapse_models.pool import ConnectionPool
from synapse_models.request import (
    DialectOptions,
    FunctionTool,
    ReasoningParams,
    Request,
    SamplingParams,
    ScoringParams,
    StructuredOutputParams,
    ToolParams,
)


@pytest.fixture
async def stub() -> AsyncIterator[OpenAIStub]:
    async with OpenAIStub(document(completion({"content": "Hi"}))) as running:
        yield running


@pytest.fixture
async def connections(stub: OpenAIStub) -> AsyncIterator[ConnectionPool]:
    async with pool(stub.base_url, limit=2) as opened:
        yield opened


async def _until_seen(stub: OpenAIStub) -> None:
    while not stub.seen:  # noqa: ASYNC110
        await asyncio.sleep(0.005)


async def test_defaults_fill_in_where_the_request_is_silent(connections: ConnectionPool, stub: OpenAIStub) -> None:
    bound = model(
        connections,
        stub.base_url,
        defaults={"sampling.temperature": 0.5, "reasoning.effort": "high", "sampling.stop": ["END"]},
        option_defaults={"service_tier": "flex"},
    )
    silent = bound.prepare(asking())
    assert silent.wire.body == {
        "model": "m",
        "messages": [{"role": "user", "content": "Hello"}],
        "temperature": 0.5,
        "stop": ["END"],
        "reasoning_effort": "high",
        "service_tier": "flex",
    }
    assert silent.used_defaults == {
        "sampling.temperature": 0.5,
        "reasoning.effort": "high",
        "sampling.stop": ["END"],
        "dialect_options.service_tier": "flex",
    }
    own = DialectOptions(dialect_id="openai_chat", values={"service_tier": None, "x": 1})
    said = bound.prepare(
        asking(sampling=SamplingParams(temperature=0.0), reasoning=ReasoningParams(effort="low"), dialect_options=own)
    )
    assert (said.wire.body["temperature"], said.wire.body["reasoning_effort"]) == (0.0, "low")
    assert (said.wire.body["service_tier"], said.wire.body["x"]) == (None, 1)
    assert said.used_defaults == {"sampling.stop": ["END"]}


@pytest.mark.parametrize(
    ("defaults", "plain", "doing", "sent"),
    [
        (
            {"tools.parallel": False, "tools.choice": "auto"},
            asking(),
            asking(tools=ToolParams(functions=(FunctionTool(name="f"),))),
            {"parallel_tool_calls": False, "tool_choice": "auto"},
        ),
        (
            {"scoring.top_logprobs": 3},
            asking(),
            asking(scoring=ScoringParams(sampled_logprobs=True)),
            {"top_logprobs": 3},
        ),
        (
            {"structured_output.strict": True, "structured_output.name": "n"},
            asking(structured_output=StructuredOutputParams(format="json_object")),
            asking(structured_output=StructuredOutputParams(format="json_schema", schema={})),
            {
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"name": "n", "schema": {}, "strict": True},
                }
            },
        ),
    ],
)
async def test_a_default_of_how_something_is_done_waits_for_a_request_that_does_it(
    defaults: dict[str, Any], plain: Request, doing: Request, sent: dict[str, Any]
) -> None:
    async with pool() as own:
        silent = model(own, defaults=defaults).prepare(plain)
        assert silent.used_defaults == {}
        assert silent.wire.body == model(own).prepare(plain).wire.body
        said = model(own, defaults=defaults).prepare(doing)
    assert said.used_defaults == defaults
    assert {key: said.wire.body[key] for key in sent} == sent


async def test_a_budget_displaces_a_default_effort() -> None:
    async with pool() as own:
        bound = model(own, defaults={"reasoning.effort": "high"})
        with pytest.raises(RequestRejected) as caught:
            bound.prepare(asking(reasoning=ReasoningParams(budget_tokens=5)))
        assert [rejection.leaf for rejection in caught.value.rejections] == ["reasoning.budget_tokens"]
        assert "reasoning_effort" not in bound.with_args({"reasoning.effort": None}).prepare(asking()).wire.body


async def test_derived_models_add_defaults_and_narrow_limits(connections: ConnectionPool, stub: OpenAIStub) -> None:
    base = model(connections, stub.base_url, defaults={"sampling.seed": 1})
    derived = base.with_args({"sampling.temperature": 0.0, "sampling.seed": 2}, options={"x": 1}, concurrency=1)
    body = derived.prepare(asking()).wire.body
    assert (body["seed"], body["temperature"], body["x"]) == (2, 0.0, 1)
    assert base.prepare(asking()).wire.body["seed"] == 1
    hold = asyncio.Event()
    stub.answer(Scripted([b"{", b"}"], 200, {"content-type": "application/json"}, hold))
    calls = [asyncio.create_task(derived.arun(asking())) for _ in range(2)]
    await asyncio.wait_for(_until_seen(stub), 5)
    assert connections.limiter is not None
    assert (connections.limiter.held, len(stub.seen)) == (1, 1)
    hold.set()
    await asyncio.gather(*calls, return_exceptions=True)
    assert derived.pool is base.pool


@pytest.mark.parametrize(
    "name",
    [
        "dialect",
        "transport",
        "engine",
        "api_base",
        "endpoint",
        "credential",
        "retry",
        "connection",
        "temperature",
        "input",
        "session.previous_response_id",
        "dialect_options.x",
    ],
)
async def test_what_belongs_to_the_binding_is_no_default(name: str) -> None:
    async with pool() as own:
        with pytest.raises(PlanError, match="not something that a request default can set"):
            model(own).with_args({name: 1})


async def test_a_default_of_another_type_is_refused() -> None:
    async with pool() as own:
        with pytest.raises(PlanError, match=r"default of sampling\.seed"):
            model(own).with_args({"sampling.seed": "7"})


@pytest.mark.parametrize("value", [float("inf"), "\ud800", object()])
async def test_a_default_that_json_can_t_carry_is_refused(value: Any) -> None:
    async with pool() as own:
        with pytest.raises(PlanError, match=r"default of tools\.functions: JSON can't carry it"):
            model(own).with_args({"tools.functions": [{"name": "f", "parameters": {"x": value}}]})


# Rebinding


async def test_another_dialect_keeps_pool_and_limits(connections: ConnectionPool, stub: OpenAIStub) -> None:
    served = deployment(stub.base_url)
    base = model(connections, stub.base_url, concurrency=1).with_args({"sampling.temperature": 0.0})
    rebound = base.with_dialect(plan(served, "openai_completions"))
    stub.answer(document({"choices": [{"text": "x", "finish_reason": "stop"}]}))
    response = await rebound.arun(asking(PROMPT))
    assert response.provenance is not None
    assert (response.provenance.dialect_id, rebound.pool is base.pool) == ("openai_completions", True)
    assert (stub.seen[0].path, stub.seen[0].body["temperature"]) == ("/v1/completions", 0.0)
    assert rebound._limiters == base._limiters
    for bad, said in (
        (plan(served, "openai_completions", root_key="elsewhere"), "deployment of elsewhere"),
        (plan(deployment("http://127.0.0.1:7/v1"), "openai_completions"), "another deployment"),
        (plan(served, "openai_completions", family="carrier_pigeon"), "family"),
    ):
        with pytest.raises(PlanError, match=said):
            base.with_dialect(bad)


async def test_option_defaults_of_the_old_dialect_are_replaced_or_refused(stub: OpenAIStub) -> None:
    served = deployment(DEAD_URL)
    target = plan(served, "openai_completions")
    async with pool() as own:
        base = model(own).with_args(options={"service_tier": "flex"})
        with pytest.raises(PlanError, match=r"set for openai_chat \(service_tier\)"):
            base.with_dialect(target)
        replaced = base.with_dialect(target, options={"user": "u"})
        assert replaced.prepare(asking(PROMPT)).wire.body == {"model": "m", "prompt": "Once upon", "user": "u"}
        assert base.with_dialect(target, options={}).prepare(asking(PROMPT)).wire.body == {
            "model": "m",
            "prompt": "Once upon",
        }
