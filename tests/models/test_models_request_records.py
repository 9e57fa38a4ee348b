"""The request's JSON: the committed one of version 1 stays readable and keeps its fingerprint."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec

from synapse_models.canonical import fingerprint
from synapse_models.leaves import LEAVES, OPTION_PREFIX, active_leaves
from synapse_models.parts import (
    ChatMessage,
    ImagePart,
    ProviderItems,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    UnknownPart,
)
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
)

V1 = (Path(__file__).parent / "records" / "request_v1.json").read_bytes()
FINGERPRINT = "sha256:42fb818a3b9d3debcd987ddbed70e57415aee2a1d9df087fa2fd9ce951fe2ca7"

SEALED = '{"type":"reasoning","summary":[],"encrypted_content":"q=="}'
CALL = ToolCallPart(id="", name="weather", arguments_text='{"city": "Oslo"}', arguments={"city": "Oslo"})
BROKEN_CALL = ToolCallPart(name="weather", arguments_text='{"city"')
RESULT = ToolResultPart(
    call_id="c1",
    name="weather",
    is_error=True,
    content=(TextPart(text=""), ImagePart(url="https://example.invalid/a.png", detail="low")),
)
ITEMS = ProviderItems(dialect_id="openai_responses", wire_version="v1", model_id="m", items=(SEALED,))
EVERYTHING = Request(
    input=ChatInput(
        messages=(
            ChatMessage(role="system", content=(TextPart(text="Be brief."),)),
            ChatMessage(
                role="user",
                name="ann",
                content=(
                    TextPart(text="See"),
                    ImagePart(data=b"\x89PNG", media_type="image/png"),
                    UnknownPart(provider_kind="audio", raw='{"type":"audio"}'),
                ),
            ),
            ChatMessage(role="assistant", content=(CALL, BROKEN_CALL), provider_items=ITEMS),
            ChatMessage(role="tool", content=(RESULT,)),
            ChatMessage(role="assistant", content=(TextPart(text="So"),)),
        )
    ),
    sampling=SamplingParams(
        temperature=0.0,
        top_p=1.0,
        top_k=0,
        max_tokens=0,
        stop=("",),
        seed=0,
        frequency_penalty=0.0,
        presence_penalty=-0.5,
        n=2,
    ),
    scoring=ScoringParams(input_scoring=True, sampled_logprobs=True, top_logprobs=0),
    reasoning=ReasoningParams(effort="none", summary="auto"),
    tools=ToolParams(
        functions=(FunctionTool(name="weather", description="", parameters={"type": "object"}, strict=False),),
        choice=NamedFunction(name="weather"),
        parallel=False,
        hosted=(HostedTool(tool="web_search", version="2026-10-21", options={"size": None}),),
    ),
    structured_output=StructuredOutputParams(
        format="json_schema", schema={"type": ["object", "null"]}, name="", strict=False
    ),
    session=SessionParams(previous_response_id=""),
    scheduling=SchedulingParams(stream=True),
    dialect_options=DialectOptions(dialect_id="openai_chat", values={"a/b": None, "c": [0, False, ""]}),
)


def test_the_committed_request_of_version_1_reads_as_it_was_meant() -> None:
    assert msgspec.json.decode(V1, type=Request) == EVERYTHING
    assert json.loads(msgspec.json.encode(EVERYTHING)) == json.loads(V1)


def test_its_fingerprint_doesn_t_change() -> None:
    assert fingerprint(msgspec.json.decode(V1, type=Request)) == fingerprint(EVERYTHING) == FINGERPRINT


def test_it_has_an_opinion_on_every_leaf_of_a_conversation() -> None:
    active = {path for path in active_leaves(EVERYTHING) if not path.startswith(OPTION_PREFIX)}
    # A budget excludes an effort, a suffix belongs to a text, and of its linked image nobody said the type.
    assert active == set(LEAVES) - {"reasoning.budget_tokens", "input.suffix", "input.image_types"}
