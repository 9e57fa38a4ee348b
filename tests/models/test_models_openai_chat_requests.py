"""Chat completions, the way out: where every leaf goes, falsy values included, and which ones are refused, unsent."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fixtures.bound_models import asking, context, model, pool
from fixtures.chat_golden import (
    BINDER,
    CALL,
    GOLDEN,
    NOOP,
    REFUSED,
    RESULT,
    sampling,
    scoring,
    turns,
)
from fixtures.openai_stub import OpenAIStub, completion, document
from synapse_models.audit import at_pointer
from synapse_models.errors import RequestRejected
from synapse_models.leaves import LEAVES
from synapse_models.parts import (
    ChatMessage,
    ImagePart,
    ToolCallPart,
    ToolResultPart,
    text_message,
)
from synapse_models.profiles import Fact, ModelProfile, SupportFact
from synapse_models.request import (
    DialectOptions,
    ReasoningParams,
    Request,
    SamplingParams,
    SessionParams,
)


async def test_every_leaf_has_a_golden_place_or_a_refusal() -> None:
    control = {"reasoning.summary"}
    covered = {leaf for leaf, *_ in (*GOLDEN, *NOOP, *REFUSED)} | control
    assert set(LEAVES) <= covered


@pytest.mark.parametrize(("leaf", "request_", "path", "value"), GOLDEN)
async def test_a_leaf_is_on_the_wire_where_and_as_it_should_be(
    leaf: str, request_: Request, path: str, value: Any
) -> None:
    async with pool() as connections:
        prepared = model(connections).prepare(request_)
    decision = prepared.decisions[leaf]
    assert decision.kind == ("passed_through" if leaf.startswith("dialect_options.") else "consumed")
    assert decision.wire_path is not None
    assert path.startswith(decision.wire_path) or decision.wire_path.startswith(path)
    assert at_pointer(prepared.wire.body, decision.wire_path)[0]
    assert (prepared.wire.method, prepared.wire.path, dict(prepared.wire.headers)) == ("POST", "/chat/completions", {})
    found, on_wire = at_pointer(prepared.wire.body, path)
    assert found
    assert (on_wire, type(on_wire)) == (value, type(value))


@pytest.mark.parametrize(("leaf", "request_", "without", "reason"), NOOP)
async def test_what_makes_no_difference_says_why_and_leaves_no_trace(
    leaf: str, request_: Request, without: Request, reason: str
) -> None:
    async with pool() as connections:
        prepared, plain = model(connections).prepare(request_), model(connections).prepare(without)
    assert prepared.decisions[leaf].kind == "noop"
    assert reason in (prepared.decisions[leaf].reason or "")
    assert leaf not in plain.decisions
    assert prepared.wire == plain.wire


@pytest.mark.parametrize(("leaf", "request_", "said"), REFUSED)
async def test_a_refused_leaf_is_named_and_nothing_is_sent(leaf: str, request_: Request, said: str) -> None:
    async with OpenAIStub(document(completion({"content": "x"}))) as stub, pool(stub.base_url) as connections:
        bound = model(connections, stub.base_url)
        with pytest.raises(RequestRejected, match=said) as caught:
            await bound.arun(request_)
        with pytest.raises(RequestRejected):
            async for _ in bound.astream(request_):
                pass
        assert stub.seen == []
    assert leaf in [rejection.leaf for rejection in caught.value.rejections]
    assert {rejection.dialect for rejection in caught.value.rejections} == {"openai_chat"}


@pytest.mark.parametrize("key", sorted(BINDER.reserved_options))
async def test_no_option_spells_a_key_that_something_else_owns(key: str) -> None:
    async with pool() as connections:
        with pytest.raises(RequestRejected, match="owns this key") as caught:
            model(connections).prepare(
                asking(dialect_options=DialectOptions(dialect_id="openai_chat", values={key: 1}))
            )
    assert [rejection.leaf for rejection in caught.value.rejections] == [f"dialect_options.{key}"]


def test_every_key_that_an_encoding_can_write_is_reserved() -> None:
    written = {path.split("/")[1] for leaf, _, path, _ in GOLDEN if not leaf.startswith("dialect_options.")}
    assert written | {"model", "stream_options", "max_completion_tokens"} <= BINDER.reserved_options


async def test_what_is_prepared_is_encoded_and_sent_as_it_is() -> None:
    async with OpenAIStub(document(completion({"content": "x"}))) as stub, pool(stub.base_url) as connections:
        bound = model(connections, stub.base_url)
        prepared = bound.prepare(sampling(seed=0))
        await bound.arun(sampling(seed=0))
    assert json.loads(prepared.data) == prepared.wire.body
    assert stub.seen[0].raw == prepared.data


async def test_all_refusals_are_told_at_once() -> None:
    async with pool() as connections:
        with pytest.raises(RequestRejected) as caught:
            model(connections).prepare(
                asking(sampling=SamplingParams(top_k=1), session=SessionParams(previous_response_id="r"))
            )
    assert [rejection.leaf for rejection in caught.value.rejections] == [
        "sampling.top_k",
        "session.previous_response_id",
    ]


@pytest.mark.parametrize(
    ("facts", "key"),
    [
        ({}, "max_tokens"),
        (
            {"max_tokens_key": Fact(value="max_completion_tokens", source="s", date="2026-01-01")},
            "max_completion_tokens",
        ),
        ({"max_tokens_key": Fact(value="max_tokens", source="s", date="2026-01-01")}, "max_tokens"),
    ],
)
async def test_the_profile_spells_the_token_limit_and_only_one_spelling_is_sent(
    facts: dict[str, Fact], key: str
) -> None:
    async with pool() as connections:
        bound = model(connections, profile=ModelProfile(model_id="m", facts=facts))
        body = bound.prepare(sampling(max_tokens=7)).wire.body
    assert {name: body[name] for name in ("max_tokens", "max_completion_tokens") if name in body} == {key: 7}


async def test_top_k_goes_to_the_engines_that_have_it() -> None:
    async with pool() as connections:
        for engine_id in ("vllm", "sglang", "llama_cpp"):
            prepared = model(connections, engine_id=engine_id).prepare(sampling(top_k=0))
            assert prepared.wire.body["top_k"] == 0


async def test_visible_reasoning_is_a_promise_and_not_a_key() -> None:
    async with pool() as connections:
        prepared = model(connections).prepare(asking(reasoning=ReasoningParams(summary="auto")))
    assert prepared.decisions["reasoning.summary"].wire_path == "@control:visible_reasoning"
    assert set(prepared.wire.body) == {"model", "messages"}


def support(word: Any, **more: Any) -> SupportFact:
    return SupportFact(support=word, source="s", date="2026-01-01", **more)


@pytest.mark.parametrize(
    ("profile", "request_", "said"),
    [
        (
            ModelProfile(model_id="m", capabilities={"reasoning": support("unsupported")}),
            asking(reasoning=ReasoningParams(effort="high")),
            "doesn't take it",
        ),
        (
            ModelProfile(model_id="m", leaves={"sampling.temperature": support("unsupported", reason="fixed at 1")}),
            sampling(temperature=0.0),
            "fixed at 1",
        ),
        (
            ModelProfile(model_id="m", capabilities={"reasoning": support("supported", limits={"effort": ("low",)})}),
            asking(reasoning=ReasoningParams(effort="high")),
            "only low",
        ),
        (
            ModelProfile(model_id="m", leaves={"scoring.top_logprobs": support("supported", maximum=5)}),
            scoring(sampled_logprobs=True, top_logprobs=6),
            "at most 5",
        ),
    ],
)
async def test_the_profile_refuses_before_anything_is_sent(profile: ModelProfile, request_: Request, said: str) -> None:
    async with pool() as connections:
        with pytest.raises(RequestRejected, match=said):
            model(connections, profile=profile).prepare(request_)


def test_an_effort_for_a_model_that_nobody_knows_is_sent() -> None:
    request = asking(reasoning=ReasoningParams(effort="low"))
    assert BINDER.decide("reasoning.effort", "low", request, context()).wire_path == "/reasoning_effort"
    assert BINDER.encode(request, context()).body["reasoning_effort"] == "low"


def test_a_path_that_is_no_leaf_is_a_mistake() -> None:
    with pytest.raises(KeyError):
        BINDER.decide("sampling.warmth", 1, asking(), context())


async def test_several_results_are_several_messages_and_later_places_move_on() -> None:
    request = turns(
        text_message("user", "u"),
        ChatMessage(role="assistant", content=(CALL, ToolCallPart(id="c2", name="weather", arguments_text="{}"))),
        ChatMessage(role="tool", content=(RESULT, ToolResultPart(call_id="c2", content=()))),
        ChatMessage(role="user", name="bo", content=(ImagePart(url="https://a"),)),
    )
    async with pool() as connections:
        prepared = model(connections).prepare(request)
    assert [message["role"] for message in prepared.wire.body["messages"]] == [
        "user",
        "assistant",
        "tool",
        "tool",
        "user",
    ]
    assert prepared.wire.body["messages"][3] == {"role": "tool", "tool_call_id": "c2", "content": ""}
    assert prepared.decisions["input.images"].wire_path == "/messages/4"
    assert prepared.decisions["input.names"].wire_path == "/messages/4/name"
