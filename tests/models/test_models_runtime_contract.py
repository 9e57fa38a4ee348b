"""Contracts that every executable dialect keeps, generated from the registries, and a foreign dialect that keeps them.

For each (dialect, wire version) and each leaf a sample request is made; the decision must be one of the four, and what
is not refused must be on the wire, falsy values included. A new leaf, channel or dialect fails here until it is
decided.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

import msgspec
import pytest

from fixtures.bound_models import HELLO, PROMPT, asking, context, model, pool
from fixtures.openai_stub import OpenAIStub, Scripted, document
from fixtures.parley_dialect import PARLEY
from synapse_models.audit import RequestAudit, at_pointer
from synapse_models.capabilities import CAPABILITY_SPECS
from synapse_models.contract import CHANNELS, Guarantee
from synapse_models.credentials import EnvironmentResolver
from synapse_models.dialect import DialectBinder, Supported, Unsupported
from synapse_models.errors import OutputContractViolation, RequestRejected, StreamTruncated
from synapse_models.leaves import LEAVES, active_leaves
from synapse_models.parts import (
    ChatMessage,
    ImagePart,
    ProviderItems,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    UnknownPart,
    text_message,
)
from synapse_models.registry import DIALECT_BINDERS, active_keys
from synapse_models.request import (
    ChatInput,
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
from synapse_models.response import Reasoning
from synapse_models.stream import Completed

BINDERS: Mapping[str, DialectBinder] = {**DIALECT_BINDERS, "parley": PARLEY}
CELLS = [(dialect_id, version) for dialect_id, binder in BINDERS.items() for version in binder.spec.wire_versions]

F = FunctionTool(name="f", parameters={})
CALL = ToolCallPart(id="c", name="f", arguments_text="{}", arguments={})


def said(*messages: ChatMessage) -> dict[str, Any]:
    return {"input": ChatInput(messages=(*messages, text_message("user", "u")))}


def of_tool(**more: Any) -> dict[str, Any]:
    part = ToolResultPart(**{"call_id": "c", "content": (TextPart(text=""),), **more})
    return said(ChatMessage(role="tool", content=(part,)))


def items(dialect_id: str, version: str) -> ProviderItems:
    return ProviderItems(
        dialect_id=dialect_id, wire_version=version, model_id="m", items=('{"kind":"say","words":""}',)
    )


SAMPLES: dict[str, list[dict[str, Any]]] = {
    "input": [{}],
    "input.suffix": [{"input": CompletionInput(text="a", suffix="")}],
    "input.images": [said(ChatMessage(role="user", content=(ImagePart(url="https://a"),)))],
    "input.image_detail": [said(ChatMessage(role="user", content=(ImagePart(url="https://a", detail="auto"),)))],
    "input.tool_calls": [said(ChatMessage(role="assistant", content=(CALL,)))],
    "input.tool_results": [of_tool()],
    "input.tool_result_images": [of_tool(content=(ImagePart(url="https://a"),))],
    "input.tool_result_errors": [of_tool(is_error=True)],
    "input.unknown_parts": [said(ChatMessage(role="user", content=(UnknownPart(provider_kind="x", raw="{}"),)))],
    "input.names": [said(ChatMessage(role="user", name="", content=(TextPart(text="x"),)))],
    "input.provider_items": [
        said(ChatMessage(role="assistant", content=(), provider_items=items(dialect_id, version)))
        for dialect_id, version in CELLS
    ],
    "input.prefill": [{"input": ChatInput(messages=(text_message("user", "u"), text_message("assistant", "")))}],
    **{
        f"sampling.{name}": [{"sampling": SamplingParams(**{name: value})} for value in values]
        for name, values in {
            "temperature": (0.0, 1.5),
            "top_p": (0.0,),
            "top_k": (0, 5),
            "max_tokens": (0, 7),
            "stop": (("",), ("END",)),
            "seed": (0, 7),
            "frequency_penalty": (0.0,),
            "presence_penalty": (0.0,),
            "n": (2,),
        }.items()
    },
    "scoring.input_scoring": [{"scoring": ScoringParams(input_scoring=True)}],
    "scoring.sampled_logprobs": [{"scoring": ScoringParams(sampled_logprobs=True)}],
    "scoring.top_logprobs": [{"scoring": ScoringParams(sampled_logprobs=True, top_logprobs=n)} for n in (0, 5)],
    "reasoning.effort": [{"reasoning": ReasoningParams(effort=word)} for word in ("none", "high")],
    "reasoning.budget_tokens": [{"reasoning": ReasoningParams(budget_tokens=n)} for n in (0, 1024)],
    "reasoning.summary": [{"reasoning": ReasoningParams(summary=word)} for word in ("none", "auto")],
    "tools.functions": [{"tools": ToolParams(functions=(F,))}],
    "tools.choice": [
        {"tools": ToolParams(functions=(F,), choice=choice)} for choice in ("none", "auto", NamedFunction(name="f"))
    ],
    "tools.parallel": [{"tools": ToolParams(functions=(F,), parallel=value)} for value in (False, True)],
    "tools.hosted": [{"tools": ToolParams(hosted=(HostedTool(tool=tool),))} for tool in ("web_search", "shell")],
    "structured_output.format": [{"structured_output": StructuredOutputParams(format="json_object")}],
    "structured_output.schema": [{"structured_output": StructuredOutputParams(format="json_schema", schema={})}],
    "structured_output.name": [{"structured_output": StructuredOutputParams(format="json_schema", schema={}, name="")}],
    "structured_output.strict": [
        {"structured_output": StructuredOutputParams(format="json_schema", schema={}, strict=False)}
    ],
    "session.previous_response_id": [{"session": SessionParams(previous_response_id="")}],
    "scheduling.stream": [{"scheduling": SchedulingParams(stream=True)}],
}


def sample(groups: Mapping[str, Any], dialect_id: str) -> Request:
    kind = BINDERS[dialect_id].spec.inputs[0]
    return Request(**{"input": PROMPT if kind == "completion" else HELLO, **groups})


@pytest.mark.parametrize(("dialect_id", "version"), CELLS)
def test_every_cell_has_an_outcome_a_rule_and_a_version(dialect_id: str, version: str) -> None:
    binder = BINDERS[dialect_id]
    assert set(binder.capabilities) == set(CAPABILITY_SPECS)
    for outcome in binder.capabilities.values():
        assert isinstance(outcome, Supported) or (isinstance(outcome, Unsupported) and outcome.reason)
    assert set(binder.output_rules) == set(CHANNELS)
    assert version in binder.spec.wire_versions
    for name, channel in CHANNELS.items():
        unsaid = channel.capability is not None and isinstance(binder.capabilities[channel.capability], Unsupported)
        if unsaid:
            assert binder.output_rules[name].guarantee is Guarantee.NEVER, name
    assert active_keys(BINDERS) >= active_keys()


def test_every_leaf_has_a_sample() -> None:
    assert set(SAMPLES) == set(LEAVES)


@pytest.mark.parametrize(("dialect_id", "version"), CELLS)
@pytest.mark.parametrize("leaf", LEAVES)
def test_every_leaf_is_decided_and_the_body_bears_it_out(leaf: str, dialect_id: str, version: str) -> None:
    binder = BINDERS[dialect_id]
    bound = context(dialect_id, wire_version=version)
    for groups in SAMPLES[leaf]:
        request = sample(groups, dialect_id)
        active = active_leaves(request)
        assert leaf in active
        audit = RequestAudit(active)
        for path, value in active.items():
            decision = binder.decide(path, value, request, bound)
            assert decision == binder.decide(path, value, request, bound), "a decision is a function"
            audit.record(path, decision)
        decision = audit.decisions[leaf]
        assert decision.kind in ("consumed", "rejected", "noop", "passed_through")
        assert (decision.reason is None) == (decision.kind in ("consumed", "passed_through"))
        if audit.rejections:
            continue
        wire = binder.encode(request, bound)
        assert audit.faults(wire.body) == ()
        if decision.wire_path is not None and decision.wire_path.startswith("@header:"):
            assert decision.wire_path.removeprefix("@header:") in wire.headers
        msgspec.json.encode(wire.body)
        plain = binder.encode(sample({}, dialect_id), bound)
        if decision.kind == "consumed" and leaf != "input":
            assert (wire != plain) or (decision.wire_path or "").startswith("@control:"), (
                "consumed and yet without a trace"
            )
        if decision.kind == "noop":
            assert wire == binder.encode(
                msgspec.structs.replace(request, tools=ToolParams(functions=request.tools.functions)), bound
            )


@pytest.mark.parametrize(("dialect_id", "version"), CELLS)
def test_options_are_passed_on_or_refused_and_owned_keys_are_always_refused(dialect_id: str, version: str) -> None:
    binder = BINDERS[dialect_id]
    bound = context(dialect_id, wire_version=version)
    for value in (0, "", False, None, [], {}, {"a": [1]}):
        request = sample({"dialect_options": DialectOptions(dialect_id=dialect_id, values={"foo": value})}, dialect_id)
        decision = binder.decide("dialect_options.foo", value, request, bound)
        assert (decision.kind, decision.wire_path) == ("passed_through", "/foo")
        assert at_pointer(binder.encode(request, bound).body, "/foo") == (True, value)
    for key in binder.reserved_options:
        request = sample({"dialect_options": DialectOptions(dialect_id=dialect_id, values={key: 1})}, dialect_id)
        assert binder.decide(f"dialect_options.{key}", 1, request, bound).kind == "rejected"
    for other in (*BINDERS, "sglang_native", "unknown"):
        if other != dialect_id:
            request = sample({"dialect_options": DialectOptions(dialect_id=other, values={"foo": 1})}, dialect_id)
            decision = binder.decide("dialect_options.foo", 1, request, bound)
            assert decision.kind == "rejected"
            assert other in (decision.reason or "")
            assert dialect_id in (decision.reason or "")


@pytest.mark.parametrize("dialect_id", DIALECT_BINDERS)
def test_every_key_of_every_body_is_reserved(dialect_id: str) -> None:
    binder = BINDERS[dialect_id]
    for groups in (one for samples in SAMPLES.values() for one in samples):
        request = sample(groups, dialect_id)
        decisions = [binder.decide(p, v, request, context(dialect_id)) for p, v in active_leaves(request).items()]
        if all(decision.kind != "rejected" for decision in decisions):
            assert set(binder.encode(request, context(dialect_id)).body) <= binder.reserved_options


# The foreign dialect, called through the same plane.


@pytest.fixture
async def stub() -> AsyncIterator[OpenAIStub]:
    async with OpenAIStub(document({})) as running:
        yield running


SEALED = '{"kind": "thought", "words": "h\\u006dm", "seal": "q==", "empty": [], "nothing": null}'
CALLED = '{ "kind":"call","name":"f","with":{"x":1.0} }'
SPOKEN = '{"kind":"say","words":"Hi"}'
REPLY = f'{{"machine": "m-9", "items": [{SEALED}, {CALLED}, {SPOKEN}], "end": "done", "spent": 0}}'


def named(event: str, data: str) -> bytes:
    return f"event: {event}\ndata: {data}\n\n".encode()


def flow(*more: bytes) -> Scripted:
    pieces = [named("begin", '{"machine": "m-9"}'), *(named("item", one) for one in (SEALED, CALLED, SPOKEN)), *more]
    return Scripted(pieces, 200, {"content-type": "text/event-stream"})


async def test_a_foreign_dialect_goes_the_whole_way(stub: OpenAIStub) -> None:
    async with pool(stub.base_url) as connections:
        bound = model(connections, stub.base_url, "parley", wire_version="1", binders=BINDERS)
        request = asking(
            ChatInput(messages=(text_message("system", "A"), text_message("user", "u"), text_message("system", "B"))),
            sampling=SamplingParams(temperature=0.0, max_tokens=0),
            reasoning=ReasoningParams(summary="auto"),
        )
        stub.answer(document(REPLY))
        whole = await bound.arun(request)
        stub.answer(flow(named("end", '{"end": "done", "spent": 0}')))
        found = [event async for event in bound.astream(request)]
    seen = stub.seen[0]
    assert (seen.path, seen.headers["parley-version"], seen.headers["parley-show-thought"]) == (
        "/v1/machines/m:speak",
        "1",
        "auto",
    )
    assert seen.body == {
        "rules": ["A", "B"],
        "turns": [{"who": "human", "items": [{"kind": "say", "words": "u"}]}],
        "settings": {"heat": 0.0, "limit": 0},
    }
    completed = found[-1]
    assert isinstance(completed, Completed)
    assert completed.response == whole
    (choice,) = whole.choices
    assert (choice.text, choice.reasoning, choice.finish_reason) == ("Hi", Reasoning(text="hmm"), "stop")
    assert whole.usage is not None
    assert (whole.usage.output_tokens, whole.usage.input_tokens) == (0, None)
    assert choice.provider_items == ProviderItems(
        dialect_id="parley", wire_version="1", model_id="m", items=(SEALED, CALLED, SPOKEN)
    )


async def test_provider_items_go_back_byte_for_byte_to_their_own_version_alone(stub: OpenAIStub) -> None:
    kept = ProviderItems(dialect_id="parley", wire_version="1", model_id="m", items=(SEALED, CALLED))
    request = asking(
        ChatInput(
            messages=(
                ChatMessage(role="assistant", content=(TextPart(text="as read"),), provider_items=kept),
                text_message("user", "go on"),
            )
        )
    )
    stub.answer(document(REPLY))
    async with pool(stub.base_url) as connections:
        await model(connections, stub.base_url, "parley", wire_version="1", binders=BINDERS).arun(request)
        assert f'"items":[{SEALED},{CALLED}]'.encode() in stub.seen[0].raw
        for dialect_id, version in (("parley", "2"), ("openai_chat", "v1")):
            other = model(connections, stub.base_url, dialect_id, wire_version=version, binders=BINDERS)
            with pytest.raises(RequestRejected, match=rf"parley 1.*{dialect_id} {version}"):
                await other.arun(request)
    assert len(stub.seen) == 1


async def test_the_wire_version_decides_a_leaf(stub: OpenAIStub) -> None:
    async with pool(stub.base_url) as connections:
        newer = model(connections, stub.base_url, "parley", wire_version="2", binders=BINDERS)
        with pytest.raises(RequestRejected, match="version 2 has no heat"):
            await newer.arun(asking(sampling=SamplingParams(temperature=0.0)))
    assert stub.seen == []


async def test_two_dialects_of_one_server_share_a_pool_and_its_key(stub: OpenAIStub) -> None:
    resolver = EnvironmentResolver({"KEY": "k-1"})
    async with pool(stub.base_url, credential="env:KEY", resolver=resolver) as connections:
        stub.answer(document(REPLY))
        await model(connections, stub.base_url, "parley", wire_version="2", binders=BINDERS).arun(asking())
        stub.answer(document({"choices": [{"message": {"content": "a"}}]}))
        await model(connections, stub.base_url).arun(asking())
    foreign, own = stub.seen
    assert foreign.headers["x-api-key"] == "k-1"
    assert "Authorization" not in foreign.headers
    assert own.headers["Authorization"] == "Bearer k-1"
    assert len(stub.connections) == 1


async def test_a_foreign_stream_without_its_end_is_cut(stub: OpenAIStub) -> None:
    stub.answer(flow())
    async with pool(stub.base_url) as connections:
        bound = model(connections, stub.base_url, "parley", wire_version="2", binders=BINDERS)
        with pytest.raises(StreamTruncated):
            async for _ in bound.astream(asking()):
                pass
        stub.answer(document('{"items": [], "end": "done"}'))
        with pytest.raises(OutputContractViolation, match="reasoning"):
            await bound.arun(asking(reasoning=ReasoningParams(summary="auto")))
