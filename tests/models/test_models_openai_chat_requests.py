"""Chat completions, the way out: where every leaf goes, falsy values included, and which ones are refused, unsent."""

from __future__ import annotations

from typing import Any

import pytest

from fixtures.bound_models import PROMPT, asking, context, model, pool
from fixtures.openai_stub import OpenAIStub, completion, document
from synapse_models.audit import at_pointer
from synapse_models.errors import RequestRejected
from synapse_models.leaves import LEAVES
from synapse_models.parts import (
    ChatMessage,
    ContentPart,
    ImagePart,
    ProviderItems,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    UnknownPart,
    text_message,
)
from synapse_models.profiles import Fact, ModelProfile, SupportFact
from synapse_models.registry import DIALECT_BINDERS
from synapse_models.request import (
    ChatInput,
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
    chat,
)

BINDER = DIALECT_BINDERS["openai_chat"]
PIXEL = b"\x89PNG"
WEATHER = FunctionTool(name="weather", description="", parameters={"type": "object", "properties": {}}, strict=False)
SCHEMA = {"type": "object", "properties": {"k": {"type": "integer"}}, "required": ["k"]}


def turns(*messages: ChatMessage) -> Request:
    return asking(ChatInput(messages=messages))


def user(*parts: ContentPart) -> ChatMessage:
    return ChatMessage(role="user", content=parts)


def tools(**more: Any) -> Request:
    return asking(tools=ToolParams(functions=(WEATHER,), **more))


def sampling(**more: Any) -> Request:
    return asking(sampling=SamplingParams(**more))


def scoring(**more: Any) -> Request:
    return asking(scoring=ScoringParams(**more))


def schema(**more: Any) -> Request:
    return asking(structured_output=StructuredOutputParams(format="json_schema", schema=SCHEMA, **more))


CALL = ToolCallPart(id="c1", name="weather", arguments_text='{"city": "Oslo"}', arguments={"city": "Oslo"})
RESULT = ToolResultPart(call_id="c1", content=(TextPart(text="cold"),))
CONVERSATION = turns(
    text_message("user", "Weather?"),
    ChatMessage(role="assistant", content=(CALL,)),
    ChatMessage(role="tool", content=(RESULT,)),
    text_message("user", "Thanks"),
)

GOLDEN: list[tuple[str, Request, str, Any]] = [
    ("input", asking(), "/messages", [{"role": "user", "content": "Hello"}]),
    ("input", asking(chat(("user", ""))), "/messages", [{"role": "user", "content": ""}]),
    (
        "input",
        asking(chat(("system", "A"), ("user", "u"), ("system", "B"), ("developer", "C"), ("user", "v"))),
        "/messages",
        [
            {"role": "system", "content": "A"},
            {"role": "user", "content": "u"},
            {"role": "system", "content": "B"},
            {"role": "developer", "content": "C"},
            {"role": "user", "content": "v"},
        ],
    ),
    (
        "input",
        turns(user(TextPart(text="a"), TextPart(text=""))),
        "/messages",
        [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": ""}]}],
    ),
    (
        "input.images",
        turns(text_message("system", "s"), user(TextPart(text="see"), ImagePart(url="https://a/b.png"))),
        "/messages/1",
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "see"},
                {"type": "image_url", "image_url": {"url": "https://a/b.png"}},
            ],
        },
    ),
    (
        "input.image_detail",
        turns(user(ImagePart(data=PIXEL, media_type="image/jpg", detail="low"))),
        "/messages",
        [
            {
                "role": "user",
                "content": [
                    {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,iVBORw==", "detail": "low"}}
                ],
            }
        ],
    ),
    (
        "input.tool_calls",
        CONVERSATION,
        "/messages/1",
        {
            "role": "assistant",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}
            ],
        },
    ),
    (
        "input.tool_calls",
        turns(
            user(TextPart(text="u")),
            ChatMessage(
                role="assistant", content=(TextPart(text="t"), ToolCallPart(id="", name="f", arguments_text=""))
            ),
            text_message("user", "v"),
        ),
        "/messages/1",
        {
            "role": "assistant",
            "content": "t",
            "tool_calls": [{"id": "", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
        },
    ),
    (
        "input.tool_results",
        CONVERSATION,
        "/messages/2",
        {"role": "tool", "tool_call_id": "c1", "content": "cold"},
    ),
    (
        "input.names",
        turns(ChatMessage(role="user", name="ann", content=(TextPart(text="u"),))),
        "/messages/0/name",
        "ann",
    ),
    ("sampling.temperature", sampling(temperature=0.0), "/temperature", 0.0),
    ("sampling.top_p", sampling(top_p=0.0), "/top_p", 0.0),
    ("sampling.max_tokens", sampling(max_tokens=0), "/max_tokens", 0),
    ("sampling.stop", sampling(stop=("",)), "/stop", [""]),
    ("sampling.stop", sampling(stop=("3", "END")), "/stop", ["3", "END"]),
    ("sampling.seed", sampling(seed=0), "/seed", 0),
    ("sampling.frequency_penalty", sampling(frequency_penalty=0.0), "/frequency_penalty", 0.0),
    ("sampling.presence_penalty", sampling(presence_penalty=-0.5), "/presence_penalty", -0.5),
    ("sampling.n", sampling(n=3), "/n", 3),
    ("scoring.sampled_logprobs", scoring(sampled_logprobs=True), "/logprobs", True),
    ("scoring.top_logprobs", scoring(sampled_logprobs=True, top_logprobs=0), "/top_logprobs", 0),
    ("scoring.top_logprobs", scoring(sampled_logprobs=True, top_logprobs=5), "/top_logprobs", 5),
    ("reasoning.effort", asking(reasoning=ReasoningParams(effort="none")), "/reasoning_effort", "none"),
    ("reasoning.effort", asking(reasoning=ReasoningParams(effort="medium")), "/reasoning_effort", "medium"),
    (
        "tools.functions",
        tools(),
        "/tools",
        [
            {
                "type": "function",
                "function": {
                    "name": "weather",
                    "description": "",
                    "parameters": {"type": "object", "properties": {}},
                    "strict": False,
                },
            }
        ],
    ),
    (
        "tools.functions",
        asking(tools=ToolParams(functions=(FunctionTool(name="f"),))),
        "/tools/0/function",
        {"name": "f"},
    ),
    ("tools.choice", tools(choice="none"), "/tool_choice", "none"),
    ("tools.choice", tools(choice="required"), "/tool_choice", "required"),
    (
        "tools.choice",
        tools(choice=NamedFunction(name="weather")),
        "/tool_choice",
        {"type": "function", "function": {"name": "weather"}},
    ),
    ("tools.parallel", tools(parallel=False), "/parallel_tool_calls", False),
    ("tools.hosted", asking(tools=ToolParams(hosted=(HostedTool(tool="web_search"),))), "/web_search_options", {}),
    (
        "tools.hosted",
        asking(tools=ToolParams(hosted=(HostedTool(tool="web_search", options={"search_context_size": "low"}),))),
        "/web_search_options",
        {"search_context_size": "low"},
    ),
    (
        "structured_output.format",
        asking(structured_output=StructuredOutputParams(format="json_object")),
        "/response_format",
        {"type": "json_object"},
    ),
    ("structured_output.format", schema(), "/response_format/type", "json_schema"),
    ("structured_output.schema", schema(), "/response_format/json_schema", {"name": "answer", "schema": SCHEMA}),
    ("structured_output.name", schema(name=""), "/response_format/json_schema/name", ""),
    ("structured_output.strict", schema(strict=False), "/response_format/json_schema/strict", False),
    ("scheduling.stream", asking(scheduling=SchedulingParams(stream=True)), "/stream", True),
    (
        "dialect_options.service_tier",
        asking(dialect_options=DialectOptions(dialect_id="openai_chat", values={"service_tier": "flex"})),
        "/service_tier",
        "flex",
    ),
    (
        "dialect_options.a/b~c",
        asking(dialect_options=DialectOptions(dialect_id="openai_chat", values={"a/b~c": None})),
        "/a~1b~0c",
        None,
    ),
    (
        "dialect_options.off",
        asking(dialect_options=DialectOptions(dialect_id="openai_chat", values={"off": False})),
        "/off",
        False,
    ),
]

REFUSED: list[tuple[str, Request, str]] = [
    ("input", asking(PROMPT), "take a conversation"),
    ("input", turns(ChatMessage(role="tool", content=(TextPart(text="x"),))), "no place for a part of the kind text"),
    ("input.suffix", asking(PROMPT.__class__(text="a", suffix="")), "no suffix"),
    ("input.images", turns(ChatMessage(role="system", content=(ImagePart(url="https://a"),))), "system message"),
    ("input.tool_calls", turns(user(CALL)), "user message"),
    (
        "input.tool_calls",
        turns(ChatMessage(role="assistant", content=(ToolCallPart(name="f", arguments_text="{}"),)), user()),
        "without an id",
    ),
    ("input.tool_results", turns(user(RESULT)), "user message"),
    (
        "input.tool_results",
        turns(ChatMessage(role="tool", content=(ToolResultPart(call_id=None, content=()),))),
        "which call it answers",
    ),
    (
        "input.tool_result_images",
        turns(ChatMessage(role="tool", content=(ToolResultPart(call_id="c", content=(ImagePart(url="https://a"),)),))),
        "text alone",
    ),
    (
        "input.tool_result_errors",
        turns(ChatMessage(role="tool", content=(ToolResultPart(call_id="c", content=(), is_error=True),))),
        "marked as a failure",
    ),
    ("input.unknown_parts", turns(user(UnknownPart(provider_kind="smell", raw="{}"))), "unknown kind"),
    ("input.names", turns(ChatMessage(role="tool", name="x", content=(RESULT,))), "no name"),
    (
        "input.provider_items",
        turns(
            ChatMessage(
                role="assistant",
                content=(),
                provider_items=ProviderItems(
                    dialect_id="openai_responses", wire_version="v1", model_id="m", items=("{}",)
                ),
            ),
            user(),
        ),
        "openai_responses v1.*openai_chat v1",
    ),
    ("input.prefill", asking(chat(("user", "u"), ("assistant", "a"))), "new turn after an assistant"),
    ("sampling.top_k", sampling(top_k=5), "no top_k"),
    ("scoring.input_scoring", scoring(input_scoring=True), "no log-probabilities of the prompt"),
    ("reasoning.budget_tokens", asking(reasoning=ReasoningParams(budget_tokens=0)), "effort, not a number"),
    ("reasoning.summary", asking(reasoning=ReasoningParams(summary="detailed")), "how thinking is shown"),
    ("tools.choice", asking(tools=ToolParams(choice="auto")), "without tools.functions"),
    ("tools.choice", tools(choice=NamedFunction(name="other")), "no function of the request is named 'other'"),
    ("tools.parallel", asking(tools=ToolParams(parallel=True)), "without tools.functions"),
    ("tools.hosted", asking(tools=ToolParams(hosted=(HostedTool(tool="shell"),))), "web_search alone"),
    (
        "structured_output.name",
        asking(structured_output=StructuredOutputParams(format="json_object", name="x")),
        "belongs to the format json_schema",
    ),
    ("session.previous_response_id", asking(session=SessionParams(previous_response_id="r")), "keep no state"),
    (
        "dialect_options.foo",
        asking(dialect_options=DialectOptions(dialect_id="sglang_native", values={"foo": 1})),
        "tagged for sglang_native.*bound to openai_chat",
    ),
    (
        "dialect_options.foo",
        asking(dialect_options=DialectOptions(dialect_id="openai_chat", values={"foo": [float("inf")]})),
        "JSON can't carry",
    ),
]


async def test_every_leaf_has_a_golden_place_or_a_refusal() -> None:
    control = {"reasoning.summary"}
    covered = {leaf for leaf, *_ in GOLDEN} | {leaf for leaf, *_ in REFUSED} | control
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
