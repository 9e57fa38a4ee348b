"""A dialect that shares nothing with OpenAI's goes the whole way through the same plane, by its binder alone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from fixtures.bound_models import asking, context, model, pool
from fixtures.leaf_samples import BINDERS, CALL, SAMPLES, F, of_tool, said, sample
from fixtures.openai_stub import OpenAIStub, Scripted, document
from fixtures.parley_dialect import PARLEY
from synapse_models.audit import at_pointer
from synapse_models.credentials import EnvironmentResolver
from synapse_models.errors import OutputContractViolation, RequestRejected, StreamTruncated
from synapse_models.leaves import LEAVES, active_leaves
from synapse_models.parts import (
    ChatMessage,
    ProviderItems,
    TextPart,
    text_message,
)
from synapse_models.request import (
    ChatInput,
    DialectOptions,
    ReasoningParams,
    Request,
    SamplingParams,
    SchedulingParams,
    ToolParams,
)
from synapse_models.response import Reasoning
from synapse_models.stream import Completed


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


FOREIGN_GOLDEN: list[tuple[str, Request, str, Any]] = [
    (
        "input",
        asking(),
        "/turns",
        [{"who": "human", "items": [{"kind": "say", "words": "Hello"}]}],
    ),
    (
        "input.tool_calls",
        asking(said(ChatMessage(role="assistant", content=(CALL,)))["input"]),
        "/turns/0",
        {"who": "machine", "items": [{"kind": "call", "name": "f", "with": {}}]},
    ),
    (
        "input.tool_result_errors",
        asking(of_tool(is_error=True)["input"]),
        "/turns/0/items/0",
        {"kind": "heard", "failed": True, "items": [{"kind": "say", "words": ""}]},
    ),
    ("input.tool_results", asking(of_tool()["input"]), "/turns/0/items/0/failed", False),
    (
        "input.prefill",
        asking(SAMPLES["input.prefill"][0]["input"]),
        "/turns/1",
        {"who": "machine", "items": [{"kind": "say", "words": ""}]},
    ),
    ("sampling.temperature", asking(sampling=SamplingParams(temperature=0.0)), "/settings/heat", 0.0),
    ("sampling.max_tokens", asking(sampling=SamplingParams(max_tokens=0)), "/settings/limit", 0),
    ("sampling.stop", asking(sampling=SamplingParams(stop=("",))), "/settings/until", [""]),
    ("reasoning.budget_tokens", asking(reasoning=ReasoningParams(budget_tokens=0)), "/settings/thought", 0),
    ("tools.functions", asking(tools=ToolParams(functions=(F,))), "/tools", [{"called": "f", "takes": {}}]),
    ("scheduling.stream", asking(scheduling=SchedulingParams(stream=True)), "/flow", True),
    (
        "dialect_options.foo",
        asking(dialect_options=DialectOptions(dialect_id="parley", values={"foo": ""})),
        "/foo",
        "",
    ),
]


@pytest.mark.parametrize(("leaf", "request_", "path", "value"), FOREIGN_GOLDEN)
async def test_a_leaf_is_on_the_foreign_wire_where_and_as_it_should_be(
    leaf: str, request_: Request, path: str, value: Any
) -> None:
    async with pool() as own:
        prepared = model(own, dialect_id="parley", wire_version="1", binders=BINDERS).prepare(request_)
    decided = prepared.decisions[leaf].wire_path
    assert decided is not None
    assert path.startswith(decided)
    assert at_pointer(msgspec.json.decode(msgspec.json.encode(prepared.wire.body)), path) == (True, value)


def test_every_leaf_of_the_foreign_dialect_has_a_golden_place_a_header_a_reason_or_its_own_test() -> None:
    bound = context("parley", wire_version="1")
    golden = {leaf for leaf, *_ in FOREIGN_GOLDEN} | {"input.provider_items", "reasoning.summary", "tools.choice"}
    for leaf in set(LEAVES) - golden:
        for groups in SAMPLES[leaf]:
            request = sample(groups, "parley")
            assert PARLEY.decide(leaf, active_leaves(request)[leaf], request, bound).kind == "rejected", leaf


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
