"""Completions, the way out: where every leaf goes, falsy values included, and which ones are refused, unsent."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from fixtures.bound_models import HELLO, asking, context, model, pool
from fixtures.completion_requests import BINDER, prompt, sampling, scoring
from fixtures.openai_stub import OpenAIStub, document
from synapse_models.audit import at_pointer
from synapse_models.errors import (
    RequestRejected,
)
from synapse_models.leaves import LEAVES
from synapse_models.model import Model
from synapse_models.request import (
    CompletionInput,
    DialectOptions,
    FunctionTool,
    HostedTool,
    NamedFunction,
    ReasoningParams,
    Request,
    SamplingParams,
    SchedulingParams,
    ScoringParams,
    SessionParams,
    StructuredOutputParams,
    ToolParams,
)


@pytest.fixture
async def stub() -> AsyncIterator[OpenAIStub]:
    async with OpenAIStub(document({"choices": [{"text": "x"}]})) as running:
        yield running


@pytest.fixture
async def bound(stub: OpenAIStub) -> AsyncIterator[Model]:
    async with pool(stub.base_url) as connections:
        yield model(connections, stub.base_url, "openai_completions")


GOLDEN: list[tuple[str, Request, str, Any]] = [
    ("input", prompt(), "/prompt", "Once upon"),
    ("input", asking(CompletionInput(text="")), "/prompt", ""),
    ("input.suffix", asking(CompletionInput(text="a", suffix="")), "/suffix", ""),
    ("input.suffix", asking(CompletionInput(text="a", suffix="z")), "/suffix", "z"),
    ("sampling.temperature", sampling(temperature=0.0), "/temperature", 0.0),
    ("sampling.top_p", sampling(top_p=0.0), "/top_p", 0.0),
    ("sampling.max_tokens", sampling(max_tokens=0), "/max_tokens", 0),
    ("sampling.stop", sampling(stop=("",)), "/stop", [""]),
    ("sampling.seed", sampling(seed=0), "/seed", 0),
    ("sampling.frequency_penalty", sampling(frequency_penalty=0.0), "/frequency_penalty", 0.0),
    ("sampling.presence_penalty", sampling(presence_penalty=0.0), "/presence_penalty", 0.0),
    ("sampling.n", sampling(n=2), "/n", 2),
    ("scoring.sampled_logprobs", scoring(sampled_logprobs=True), "/logprobs", 0),
    ("scoring.top_logprobs", scoring(sampled_logprobs=True, top_logprobs=0), "/logprobs", 0),
    ("scoring.top_logprobs", scoring(sampled_logprobs=True, top_logprobs=5), "/logprobs", 5),
    ("scoring.input_scoring", scoring(input_scoring=True), "/echo", True),
    ("scoring.input_scoring", scoring(input_scoring=True), "/logprobs", 1),
    ("scoring.top_logprobs", scoring(input_scoring=True, top_logprobs=0), "/logprobs", 1),
    ("scoring.top_logprobs", scoring(input_scoring=True, top_logprobs=7), "/logprobs", 7),
    ("scheduling.stream", prompt(scheduling=SchedulingParams(stream=True)), "/stream", True),
    (
        "dialect_options.user",
        prompt(dialect_options=DialectOptions(dialect_id="openai_completions", values={"user": ""})),
        "/user",
        "",
    ),
]

F = FunctionTool(name="f")
REFUSED: list[tuple[str, Request, str]] = [
    ("input", asking(HELLO), "not a conversation"),
    (
        "input.suffix",
        asking(CompletionInput(text="a", suffix="b"), scoring=ScoringParams(input_scoring=True)),
        "can't be scored",
    ),
    ("sampling.top_k", sampling(top_k=1), "no top_k"),
    (
        "scoring.input_scoring",
        asking(CompletionInput(text=""), scoring=ScoringParams(input_scoring=True)),
        "nothing to score",
    ),
    (
        "scoring.input_scoring",
        prompt(scoring=ScoringParams(input_scoring=True), sampling=SamplingParams(n=2)),
        "comes once",
    ),
    ("reasoning.effort", prompt(reasoning=ReasoningParams(effort="none")), "no reasoning channel"),
    ("reasoning.budget_tokens", prompt(reasoning=ReasoningParams(budget_tokens=0)), "no reasoning channel"),
    ("reasoning.summary", prompt(reasoning=ReasoningParams(summary="none")), "no reasoning channel"),
    ("tools.functions", prompt(tools=ToolParams(functions=(F,))), "text, not tools"),
    ("tools.choice", prompt(tools=ToolParams(choice=NamedFunction(name="f"))), "text, not tools"),
    ("tools.parallel", prompt(tools=ToolParams(parallel=False)), "text, not tools"),
    ("tools.hosted", prompt(tools=ToolParams(hosted=(HostedTool(tool="web_search"),))), "text, not tools"),
    (
        "structured_output.format",
        prompt(structured_output=StructuredOutputParams(format="json_object")),
        "no response format",
    ),
    ("session.previous_response_id", prompt(session=SessionParams(previous_response_id="")), "no state"),
    (
        "dialect_options.x",
        prompt(dialect_options=DialectOptions(dialect_id="openai_chat", values={"x": 1})),
        "tagged for openai_chat",
    ),
]


def test_every_leaf_has_a_golden_place_or_a_refusal() -> None:
    of_conversations = {leaf for leaf in LEAVES if leaf.startswith("input.") and leaf != "input.suffix"}
    of_structure = {f"structured_output.{name}" for name in ("schema", "name", "strict")}
    covered = {leaf for leaf, *_ in GOLDEN} | {leaf for leaf, *_ in REFUSED}
    assert set(LEAVES) == (covered - {"dialect_options.user", "dialect_options.x"}) | of_conversations | of_structure
    for leaf in of_conversations | of_structure:
        assert BINDER.decide(leaf, object(), prompt(), context("openai_completions")).kind == "rejected"
    with pytest.raises(KeyError):
        BINDER.decide("sampling.warmth", 1, prompt(), context("openai_completions"))


@pytest.mark.parametrize(("leaf", "request_", "path", "value"), GOLDEN)
async def test_a_leaf_is_on_the_wire_where_and_as_it_should_be(
    leaf: str, request_: Request, path: str, value: Any
) -> None:
    async with pool() as connections:
        prepared = model(connections, dialect_id="openai_completions").prepare(request_)
    assert prepared.decisions[leaf].kind == ("passed_through" if leaf.startswith("dialect_options.") else "consumed")
    found, on_wire = at_pointer(prepared.wire.body, path)
    assert found
    assert (on_wire, type(on_wire)) == (value, type(value))
    assert prepared.wire.path == "/completions"


@pytest.mark.parametrize(("leaf", "request_", "said"), REFUSED)
async def test_a_refused_leaf_is_named_and_nothing_is_sent(
    stub: OpenAIStub, bound: Model, leaf: str, request_: Request, said: str
) -> None:
    with pytest.raises(RequestRejected, match=said) as caught:
        await bound.arun(request_)
    assert leaf in [rejection.leaf for rejection in caught.value.rejections]
    assert stub.seen == []


@pytest.mark.parametrize("key", sorted(BINDER.reserved_options))
async def test_no_option_spells_a_key_that_something_else_owns(bound: Model, key: str) -> None:
    with pytest.raises(RequestRejected, match="owns this key"):
        bound.prepare(prompt(dialect_options=DialectOptions(dialect_id="openai_completions", values={key: 1})))


async def test_vllm_scores_by_a_parameter_of_its_own() -> None:
    async with pool() as connections:
        bound = model(connections, dialect_id="openai_completions", engine_id="vllm")
        for request, keys in (
            (scoring(input_scoring=True), {"prompt_logprobs": 0}),
            (scoring(input_scoring=True, top_logprobs=4), {"prompt_logprobs": 4}),
            (scoring(input_scoring=True, sampled_logprobs=True, top_logprobs=4), {"prompt_logprobs": 4, "logprobs": 4}),
        ):
            prepared = bound.prepare(request)
            assert {k: v for k, v in prepared.wire.body.items() if k not in ("model", "prompt")} == keys
        assert bound.prepare(sampling(top_k=3)).wire.body["top_k"] == 3
        whole = ScoringParams(input_scoring=True)
        for more in ({"scheduling": SchedulingParams(stream=True)}, {"sampling": SamplingParams(max_tokens=0)}):
            body = bound.prepare(prompt(scoring=whole, **more)).wire.body
            assert (body["echo"], body["logprobs"], "prompt_logprobs" in body) == (True, 1, False)


async def test_sglang_generates_at_least_one_token() -> None:
    async with pool() as connections:
        bound = model(connections, dialect_id="openai_completions", engine_id="sglang")
        with pytest.raises(RequestRejected, match=r"sampling\.max_tokens.*at least one token; ask for 1"):
            bound.prepare(sampling(max_tokens=0))
        assert bound.prepare(sampling(max_tokens=1)).wire.body["max_tokens"] == 1
