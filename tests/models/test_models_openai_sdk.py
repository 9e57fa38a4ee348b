"""The vendor's own SDK as a yardstick: the body that it sends for the same intent, and its reading of the same bytes.

Nothing of it is used by the product. Both sides talk to the same stub over real sockets.
"""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from fixtures.bound_models import PROMPT, asking, model, pool
from fixtures.openai_stub import OpenAIStub, chunk, completion, document, event_bytes, events
from synapse_models.model import Model
from synapse_models.parts import ChatMessage, ImagePart, TextPart, ToolCallPart, ToolResultPart, text_message
from synapse_models.request import (
    ChatInput,
    CompletionInput,
    DialectOptions,
    FunctionTool,
    NamedFunction,
    ReasoningParams,
    Request,
    SamplingParams,
    SchedulingParams,
    ScoringParams,
    StructuredOutputParams,
    ToolParams,
)
from synapse_models.response import Choice, Response

openai = pytest.importorskip("openai")

SCHEMA = {"type": "object", "properties": {"k": {"type": "integer"}}, "required": ["k"], "additionalProperties": False}
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}}


@pytest.fixture
async def stub() -> AsyncIterator[OpenAIStub]:
    async with OpenAIStub(document(completion({"content": "{}"}))) as running:
        yield running


@pytest.fixture
async def sdk(stub: OpenAIStub) -> AsyncIterator[Any]:
    async with openai.AsyncOpenAI(base_url=stub.base_url, api_key="k", max_retries=0) as client:
        yield client


@pytest.fixture
async def ours(stub: OpenAIStub) -> AsyncIterator[Model]:
    async with pool(stub.base_url) as connections:
        yield model(connections, stub.base_url)


CHAT: dict[str, tuple[Request, dict[str, Any]]] = {
    "plain": (asking(), {"messages": [{"role": "user", "content": "Hello"}]}),
    "falsy sampling": (
        asking(
            sampling=SamplingParams(
                temperature=0.0, top_p=0.0, seed=0, frequency_penalty=0.0, presence_penalty=0.0, stop=("END",), n=1
            )
        ),
        {
            "messages": [{"role": "user", "content": "Hello"}],
            "temperature": 0.0,
            "top_p": 0.0,
            "seed": 0,
            "frequency_penalty": 0.0,
            "presence_penalty": 0.0,
            "stop": ["END"],
        },
    ),
    "tokens and logprobs": (
        asking(
            sampling=SamplingParams(max_tokens=5),
            scoring=ScoringParams(sampled_logprobs=True, top_logprobs=0),
            reasoning=ReasoningParams(effort="low"),
        ),
        {
            "messages": [{"role": "user", "content": "Hello"}],
            "max_tokens": 5,
            "logprobs": True,
            "top_logprobs": 0,
            "reasoning_effort": "low",
        },
    ),
    "tools": (
        asking(
            tools=ToolParams(
                functions=(FunctionTool(name="weather", description="d", parameters=PARAMETERS, strict=True),),
                choice=NamedFunction(name="weather"),
                parallel=False,
            )
        ),
        {
            "messages": [{"role": "user", "content": "Hello"}],
            "tools": [
                {
                    "type": "function",
                    "function": {"name": "weather", "description": "d", "parameters": PARAMETERS, "strict": True},
                }
            ],
            "tool_choice": {"type": "function", "function": {"name": "weather"}},
            "parallel_tool_calls": False,
        },
    ),
    "schema": (
        asking(structured_output=StructuredOutputParams(format="json_schema", schema=SCHEMA, name="x", strict=True)),
        {
            "messages": [{"role": "user", "content": "Hello"}],
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "x", "schema": SCHEMA, "strict": True},
            },
        },
    ),
    "a conversation with everything": (
        asking(
            ChatInput(
                messages=(
                    text_message("system", "s"),
                    ChatMessage(
                        role="user",
                        content=(
                            TextPart(text="see"),
                            ImagePart(data=b"\x00\xff", media_type="image/png", detail="high"),
                        ),
                    ),
                    ChatMessage(
                        role="assistant",
                        content=(ToolCallPart(id="c", name="weather", arguments_text='{"city":"Oslo"}'),),
                    ),
                    ChatMessage(role="tool", content=(ToolResultPart(call_id="c", content=(TextPart(text="cold"),)),)),
                    text_message("user", "and?"),
                )
            ),
            dialect_options=DialectOptions(dialect_id="openai_chat", values={"service_tier": "flex", "store": False}),
        ),
        {
            "messages": [
                {"role": "system", "content": "s"},
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "see"},
                        {
                            "type": "image_url",
                            "image_url": {
                                "url": "data:image/png;base64," + base64.b64encode(b"\x00\xff").decode(),
                                "detail": "high",
                            },
                        },
                    ],
                },
                {
                    "role": "assistant",
                    "tool_calls": [
                        {"id": "c", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Oslo"}'}}
                    ],
                },
                {"role": "tool", "tool_call_id": "c", "content": "cold"},
                {"role": "user", "content": "and?"},
            ],
            "service_tier": "flex",
            "store": False,
        },
    ),
}


@pytest.mark.parametrize("name", CHAT)
async def test_the_sdk_sends_the_same_chat_body(stub: OpenAIStub, sdk: Any, ours: Model, name: str) -> None:
    request, arguments = CHAT[name]
    if request.tools.choice is not None:
        call = {"id": "c", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
        stub.answer(document(completion({"content": None, "tool_calls": [call]})))
    if request.structured_output.format is not None:
        stub.answer(document(completion({"content": '{"k": 1}'})))
    if request.scoring.sampled_logprobs:
        stub.answer(document(completion({"content": ""}, logprobs={"content": []})))
    await ours.arun(request)
    await sdk.chat.completions.create(model="m", **arguments)
    mine, theirs = stub.seen
    assert mine.body == theirs.body
    assert (mine.method, mine.path) == (theirs.method, theirs.path) == ("POST", "/v1/chat/completions")
    assert mine.headers["Content-Type"] == theirs.headers["Content-Type"]


async def test_the_sdk_sends_the_same_streaming_body(stub: OpenAIStub, sdk: Any, ours: Model) -> None:
    stub.answer(events(chunk({"content": "a"}), chunk(finish="stop")))
    async for _ in ours.astream(asking()):
        pass
    stream = await sdk.chat.completions.create(
        model="m",
        messages=[{"role": "user", "content": "Hello"}],
        stream=True,
        stream_options={"include_usage": True},
    )
    await stream.close()
    mine, theirs = stub.seen
    assert mine.body == theirs.body


COMPLETIONS: dict[str, tuple[Request, dict[str, Any]]] = {
    "score": (
        asking(
            PROMPT, scoring=ScoringParams(input_scoring=True, top_logprobs=3), sampling=SamplingParams(max_tokens=0)
        ),
        {"prompt": "Once upon", "echo": True, "logprobs": 3, "max_tokens": 0},
    ),
    "fill in": (
        asking(CompletionInput(text="a", suffix="z"), sampling=SamplingParams(stop=("x", "y"), n=2, seed=1)),
        {"prompt": "a", "suffix": "z", "stop": ["x", "y"], "n": 2, "seed": 1},
    ),
}


@pytest.mark.parametrize("name", COMPLETIONS)
async def test_the_sdk_sends_the_same_completions_body(stub: OpenAIStub, sdk: Any, name: str) -> None:
    request, arguments = COMPLETIONS[name]
    async with pool(stub.base_url) as connections:
        body = model(connections, stub.base_url, "openai_completions").prepare(request).wire.body
    stub.answer(document({"id": "c", "object": "text_completion", "created": 1, "model": "m", "choices": []}))
    await sdk.completions.create(model="m", **arguments)
    assert body == stub.seen[0].body


STREAMS: dict[str, list[Any]] = {
    "text": [
        chunk({"role": "assistant", "content": ""}),
        chunk({"content": "Hé"}),
        chunk({"content": "llo"}),
        chunk(finish="stop"),
    ],
    "interleaved calls": [
        chunk({"role": "assistant", "content": None}),
        chunk(
            {"tool_calls": [{"index": 0, "id": "A", "type": "function", "function": {"name": "f", "arguments": ""}}]}
        ),
        chunk(
            {"tool_calls": [{"index": 1, "id": "B", "type": "function", "function": {"name": "g", "arguments": ""}}]}
        ),
        chunk({"tool_calls": [{"index": 0, "function": {"arguments": '{"a":'}}]}),
        chunk({"tool_calls": [{"index": 1, "function": {"arguments": '{"b":2}'}}]}),
        chunk({"tool_calls": [{"index": 0, "function": {"arguments": "1}"}}]}),
        chunk(finish="tool_calls"),
    ],
    "refusal": [
        chunk({"role": "assistant"}),
        chunk({"refusal": "I "}),
        chunk({"refusal": "won't"}),
        chunk(finish="stop"),
    ],
    "length": [chunk({"content": "cut"}), chunk(finish="length")],
    "several choices and usage": [
        chunk({"content": "a"}),  # the SDK fails on a stream that begins with another choice than the first
        chunk({"content": "b"}, index=1),
        chunk({"content": "c"}, index=1),
        chunk(finish="stop", index=1),
        chunk(finish="length"),
        {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "m-1",
            "choices": [],
            "usage": {
                "prompt_tokens": 4,
                "completion_tokens": 3,
                "total_tokens": 7,
                "completion_tokens_details": {"reasoning_tokens": 2},
                "prompt_tokens_details": {"cached_tokens": 1},
            },
        },
    ],
    "logprobs": [
        chunk(
            {"content": "a"},
            logprobs={"content": [{"token": "a", "logprob": -0.5, "bytes": [97], "top_logprobs": []}], "refusal": None},
        ),
        chunk(
            {"content": "b"},
            logprobs={"content": [{"token": "b", "logprob": -1.5, "bytes": None, "top_logprobs": []}], "refusal": None},
        ),
        chunk(finish="stop"),
    ],
}


def reading_of(response: Response) -> Any:
    """What both sides can say, in the SDK's words."""
    return [
        {
            "index": choice.index,
            "text": choice.text or None,
            "refusal": choice.refusal.text if choice.refusal else None,
            "calls": [(call.id, call.name, call.arguments_text) for call in choice.tool_calls or ()],
            "finish": choice.finish_reason_raw,
            "logprobs": _logprobs(choice),
        }
        for choice in response.choices
    ]


def _logprobs(choice: Choice) -> Any:
    if choice.logprobs is None:
        return None
    return [(one.token, one.logprob, list(one.token_bytes) if one.token_bytes else None) for one in choice.logprobs]


def sdk_reading_of(final: Any) -> Any:
    return [
        {
            "index": choice.index,
            "text": choice.message.content or None,
            "refusal": choice.message.refusal,
            "calls": [(c.id, c.function.name, c.function.arguments) for c in choice.message.tool_calls or ()],
            "finish": choice.finish_reason,
            "logprobs": [(one.token, one.logprob, one.bytes) for one in choice.logprobs.content]
            if choice.logprobs
            else None,
        }
        for choice in sorted(final.choices, key=lambda choice: choice.index)
    ]


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("size", [None, 7])
async def test_the_sdk_s_accumulator_reads_the_same_bytes_alike(
    stub: OpenAIStub, sdk: Any, ours: Model, name: str, size: int | None
) -> None:
    raw = b"".join(map(event_bytes, STREAMS[name])) + b"data: [DONE]\n\n"
    pieces = [raw] if size is None else [raw[at : at + size] for at in range(0, len(raw), size)]
    stub.answer(events(*pieces, done=False))
    answers = 2 if name.startswith("several") else 1
    scheduling = SchedulingParams(stream=True)
    mine = await ours.arun(asking(sampling=SamplingParams(n=answers), scheduling=scheduling))
    try:
        async with sdk.chat.completions.stream(model="m", messages=[], n=answers) as stream:
            final = await stream.get_final_completion()
    except openai.LengthFinishReasonError as cut:  # the SDK's way to say it; the completion is in the exception
        final = cut.completion
    assert reading_of(mine) == sdk_reading_of(final)
    assert (mine.response_id, mine.response_model) == (final.id, final.model)
    if final.usage is not None:
        assert mine.usage is not None
        assert (mine.usage.input_tokens, mine.usage.output_tokens) == (
            final.usage.prompt_tokens,
            final.usage.completion_tokens,
        )
        assert mine.usage.reasoning_tokens == final.usage.completion_tokens_details.reasoning_tokens
        assert mine.usage.cache_read_tokens == final.usage.prompt_tokens_details.cached_tokens


async def test_the_sdk_reads_the_same_document_alike(stub: OpenAIStub, sdk: Any, ours: Model) -> None:
    body = json.loads(
        json.dumps(
            completion(
                {"content": "Hi", "refusal": None},
                usage={"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3},
            )
        )
    )
    stub.answer(document(body))
    assert reading_of(await ours.arun(asking())) == sdk_reading_of(
        await sdk.chat.completions.create(model="m", messages=[])
    )
