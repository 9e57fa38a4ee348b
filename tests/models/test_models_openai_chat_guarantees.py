"""Chat completions: what was asked for is there and valid, or the call fails."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from fixtures.bound_models import HELLO, asking, model, pool
from fixtures.openai_stub import OpenAIStub, chunk, completion, document, events, streamed
from synapse_models.errors import (
    OutputContractViolation,
)
from synapse_models.model import Model
from synapse_models.request import (
    FunctionTool,
    ReasoningParams,
    Request,
    SchedulingParams,
    ScoringParams,
    StructuredOutputParams,
    ToolParams,
)
from synapse_models.response import (
    Refusal,
    StructuredOutput,
    Usage,
)
from synapse_models.stream import TextDelta


@pytest.fixture
async def stub() -> AsyncIterator[OpenAIStub]:
    async with OpenAIStub(document(completion({"content": "Hi"}))) as running:
        yield running


@pytest.fixture
async def bound(stub: OpenAIStub) -> AsyncIterator[Model]:
    async with pool(stub.base_url) as connections:
        yield model(connections, stub.base_url)


async def collect(bound: Model, request: Request, seen: list[Any]) -> None:
    """Reads a stream into ``seen``, which keeps what came before a failure."""
    async for event in bound.astream(request):
        seen.append(event)


FORCED = ToolParams(functions=(FunctionTool(name="f"),), choice="required")
LOGPROBS = ScoringParams(sampled_logprobs=True)
VISIBLE = ReasoningParams(effort="high", summary="auto")
OBJECT = StructuredOutputParams(format="json_object")


@pytest.mark.parametrize(
    ("request_", "channel"),
    [
        (asking(tools=FORCED), "tool_calls"),
        (asking(scoring=LOGPROBS), "logprobs"),
        (asking(reasoning=VISIBLE), "reasoning"),
        (asking(structured_output=OBJECT), "structured_output"),
    ],
)
async def test_what_was_asked_for_is_there_or_the_call_fails(
    stub: OpenAIStub, bound: Model, request_: Request, channel: str
) -> None:
    with pytest.raises(OutputContractViolation) as caught:
        await bound.arun(request_)
    assert caught.value.channels == (channel,)
    stub.answer(streamed(["Hi"]))
    seen: list[Any] = []
    with pytest.raises(OutputContractViolation):
        await collect(bound, request_, seen)
    assert TextDelta(text="Hi") in seen
    refused = completion({"content": None, "refusal": "no"})
    stub.answer(document(refused))
    assert (await bound.arun(request_)).choices[0].refusal == Refusal(kind="model", text="no")


async def test_structured_output_comes_from_the_text_and_null_is_a_value(stub: OpenAIStub, bound: Model) -> None:
    nullable = StructuredOutputParams(format="json_schema", schema={"type": ["object", "null"], "required": ["k"]})
    for text, value in (("null", None), (' {"k": 1} ', {"k": 1})):
        stub.answer(document(completion({"content": text})))
        response = await bound.arun(asking(structured_output=nullable))
        assert response.choices[0].structured_output == StructuredOutput(value=value)
    for message, finish, said in (
        ({"content": "", "reasoning_content": '{"k":1}'}, "stop", "no text at all"),
        ({"content": None}, "length", "used up before the answer began"),
        ({"content": '{"k":'}, "length", "cut it off"),
        ({}, "stop", "no text at all"),
        ({"content": '{"j":1}'}, "stop", "lacks 'k'"),
        ({"content": "5"}, "stop", "isn't of type object or null"),
        ({"content": "```json\n{}\n```"}, "stop", "isn't JSON"),
    ):
        stub.answer(document(completion(message, finish=finish)))
        with pytest.raises(OutputContractViolation, match=said):
            await bound.arun(asking(structured_output=nullable))


def entry(token: str, *others: str) -> dict[str, Any]:
    top = [{"token": other, "logprob": -1.0} for other in others]
    return {"token": token, "logprob": -0.5, "top_logprobs": top}


@pytest.mark.parametrize(
    ("entries", "channel"),
    [
        ([], "logprobs"),
        ([entry("hello", "a", "b")], "logprobs"),
        ([entry("hello", "a", "b"), entry(" there")], "top_logprobs"),
        ([entry("hello", "a", "b"), entry(" there", "c", "d")], None),
    ],
)
async def test_log_probabilities_are_those_of_the_whole_text_with_their_alternatives(
    stub: OpenAIStub, bound: Model, entries: list[Any], channel: str | None
) -> None:
    request = asking(scoring=ScoringParams(sampled_logprobs=True, top_logprobs=2))
    usage = {"prompt_tokens": 3, "completion_tokens": 3, "total_tokens": 6}
    whole = completion({"content": "hello there"}, logprobs={"content": entries}, usage=usage)
    first = chunk({"content": "hello"}, logprobs={"content": entries[:1]})
    second = chunk({"content": " there"}, **({"logprobs": {"content": entries[1:]}} if entries[1:] else {}))
    streamed_ = events(first, second, chunk(finish="stop"), {"choices": [], "usage": usage})
    for reply, stream in ((document(whole), False), (streamed_, True)):
        stub.answer(reply)
        call = bound.arun(msgspec.structs.replace(request, scheduling=SchedulingParams(stream=stream)))
        if channel is None:
            assert len((await call).choices[0].logprobs or ()) == 2
        else:
            with pytest.raises(OutputContractViolation) as caught:
                await call
            assert caught.value.channels == (channel,)


@pytest.mark.parametrize(
    ("schema", "levels"),
    [
        ({"items": {"anyOf": [{"$ref": "#"}, {"type": "number"}]}}, 195),
        ({"type": "array"}, 100_000),
    ],
)
async def test_an_answer_that_is_nested_too_deeply_is_a_violation(
    stub: OpenAIStub, bound: Model, schema: Any, levels: int
) -> None:
    stub.answer(document(completion({"content": "[" * levels + "]" * levels})))
    with pytest.raises(OutputContractViolation, match="too deeply"):
        await bound.arun(asking(structured_output=StructuredOutputParams(format="json_schema", schema=schema)))


async def test_an_answer_names_the_keywords_to_which_nobody_held_it(stub: OpenAIStub, bound: Model) -> None:
    stub.answer(document(completion({"content": '{"k": "2026"}'})))
    schema = {"type": "object", "properties": {"k": {"type": "string", "pattern": "^a", "minLength": 4}}}
    response = await bound.arun(asking(structured_output=StructuredOutputParams(format="json_schema", schema=schema)))
    assert response.choices[0].structured_output == StructuredOutput(value={"k": "2026"}, unchecked=("pattern",))


async def test_a_turn_that_calls_a_tool_owes_no_structured_output_yet(stub: OpenAIStub, bound: Model) -> None:
    call = {"id": "A", "function": {"name": "f", "arguments": "{}"}}
    stub.answer(document(completion({"content": None, "tool_calls": [call]}, finish="tool_calls")))
    request = asking(structured_output=OBJECT, tools=ToolParams(functions=(FunctionTool(name="f"),)))
    (choice,) = (await bound.arun(request)).choices
    assert (len(choice.tool_calls or ()), choice.structured_output) == (1, None)


async def test_hidden_reasoning_that_used_up_the_limit_is_told_by_finish_and_usage(
    stub: OpenAIStub, bound: Model
) -> None:
    usage = {"prompt_tokens": 5, "completion_tokens": 9, "completion_tokens_details": {"reasoning_tokens": 9}}
    for content in ({"content": ""}, {"content": None}, {}):
        stub.answer(document(completion(content, finish="length", usage=usage)))
        response = await bound.arun(asking(HELLO))
        assert (response.text, response.choices[0].finish_reason) == ("", "length")
        assert response.usage == Usage(input_tokens=5, output_tokens=9, reasoning_tokens=9)
