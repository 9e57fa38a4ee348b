"""The bound model: what may be bound, the order of a call, defaults, limits, guarantees, provenance."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from fixtures.bound_models import HELLO, PROMPT, asking, deployment, model, plan, pool
from fixtures.openai_stub import OpenAIStub, chunk, completion, document, events, streamed
from synapse_models.audit import LeafDecision, consumed, passed_through
from synapse_models.canonical import canonical_json
from synapse_models.connection import CONNECTION_FAMILIES, HttpJson
from synapse_models.credentials import EnvironmentResolver
from synapse_models.dialect import CallContext, WireAuth, WireRequest
from synapse_models.dialects.openai_chat.binder import ChatBinder
from synapse_models.errors import (
    DialectFault,
    DialectNotImplemented,
    ModelError,
    OutputContractViolation,
    PlanError,
    RequestRejected,
)
from synapse_models.model import Model
from synapse_models.plans import DeferredCheck
from synapse_models.policy import ConnectionIdentity, RetryPolicy
from synapse_models.pool import ConnectionPool
from synapse_models.request import (
    DialectOptions,
    HostedTool,
    ReasoningParams,
    Request,
    SamplingParams,
    SchedulingParams,
    ScoringParams,
    ToolParams,
)
from synapse_models.response import Attempt, ModelIdentity
from synapse_models.stream import Completed, TextDelta


@pytest.fixture
async def stub() -> AsyncIterator[OpenAIStub]:
    async with OpenAIStub(document(completion({"content": "Hi"}))) as running:
        yield running


@pytest.fixture
async def connections(stub: OpenAIStub) -> AsyncIterator[ConnectionPool]:
    async with pool(stub.base_url, limit=2) as opened:
        yield opened


# Binding


async def test_what_doesn_t_fit_is_not_bound() -> None:
    served = deployment()
    good = plan(served)
    async with pool() as own, pool("http://127.0.0.1:8/v1") as other:
        Model.bind(good, deployment=served, pool=own)
        for bad, opened, said in (
            (plan(served, wire_version="v9"), own, "no wire version 'v9'"),
            (plan(deployment("http://127.0.0.1:9/v2")), own, "another deployment"),
            (good, other, "the pool is for http://127.0.0.1:8"),
            (plan(served, family="carrier_pigeon"), own, "family"),
        ):
            with pytest.raises(PlanError, match=said):
                Model.bind(bad, deployment=served, pool=opened)
        binding = msgspec.structs.replace(good.binding, auth=WireAuth.X_API_KEY)
        with pytest.raises(PlanError, match="as x-api-key, and openai_chat as bearer"):
            Model.bind(msgspec.structs.replace(good, binding=binding), deployment=served, pool=own)
        with pytest.raises(PlanError, match="no route"):
            Model.bind(msgspec.structs.replace(good, route=None), deployment=served, pool=own)


@pytest.mark.parametrize("dialect_id", ["vllm_native", "no_such_dialect"])
async def test_a_dialect_without_a_binder_is_named(dialect_id: str) -> None:
    served = deployment()
    async with pool() as own:
        with pytest.raises(DialectNotImplemented, match=dialect_id):
            Model.bind(plan(served, dialect_id), deployment=served, pool=own)


async def test_a_pool_of_another_family_is_refused_before_any_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[ConnectionIdentity] = []

    class Pigeons(HttpJson):
        def _open(self) -> Any:
            opened.append(self._identity)
            raise AssertionError("no connection may be opened")

    monkeypatch.setitem(CONNECTION_FAMILIES, "carrier_pigeon", Pigeons)
    served = deployment()
    async with ConnectionPool(ConnectionIdentity(family="carrier_pigeon", origin="http://127.0.0.1:9")) as own:
        with pytest.raises(PlanError, match="'carrier_pigeon'"):
            Model.bind(plan(served), deployment=served, pool=own)
    assert opened == []


# The order of a call


async def test_a_refused_request_takes_no_slot_and_sends_nothing(stub: OpenAIStub, connections: ConnectionPool) -> None:
    bound = model(connections, stub.base_url, unavailable={"reasoning": "the profile says no"}, available=("prefill",))
    for request, said in (
        (asking(reasoning=ReasoningParams(effort="low")), "the plan has no reasoning: the profile says no"),
        (
            asking(scoring=ScoringParams(sampled_logprobs=True)),
            "the plan has no sampled_logprobs: nobody has shown.*declare sampled_logprobs",
        ),
        (asking(sampling=SamplingParams(n=2), tools=ToolParams(hosted=(HostedTool(tool="web_search"),))), "comes once"),
    ):
        with pytest.raises(RequestRejected, match=said):
            await bound.arun(request)
        with pytest.raises(RequestRejected, match=said):
            await anext(bound.astream(request))
    assert stub.seen == []
    assert connections.limiter is not None
    assert (connections.limiter.held, connections.under_way) == (0, 0)


async def test_a_request_may_not_go_below_a_floor(stub: OpenAIStub, connections: ConnectionPool) -> None:
    bound = model(connections, stub.base_url, minimums={"top_logprobs": {"minimum": 5}})
    for asked in (0, 4):
        with pytest.raises(RequestRejected, match=f"{asked} is below the plan's minimum of 5"):
            bound.prepare(asking(scoring=ScoringParams(sampled_logprobs=True, top_logprobs=asked)))
    for asked in (5, 9):
        bound.prepare(asking(scoring=ScoringParams(sampled_logprobs=True, top_logprobs=asked)))
    bound.prepare(asking(scoring=ScoringParams(sampled_logprobs=True)))


@pytest.mark.parametrize(
    ("decision", "said"),
    [
        (consumed("/heat"), "said to be at /heat, which the body lacks"),
        (passed_through("/messages"), "changed on the way"),
    ],
)
async def test_a_dialect_that_contradicts_itself_sends_nothing(
    stub: OpenAIStub, connections: ConnectionPool, decision: LeafDecision, said: str
) -> None:
    class Confused(ChatBinder):
        def decide(self, leaf: str, value: Any, request: Request, context: CallContext) -> LeafDecision:
            return decision if leaf == "sampling.temperature" else super().decide(leaf, value, request, context)

    bound = model(connections, stub.base_url, binders={"openai_chat": Confused()})
    with pytest.raises(DialectFault, match=said):
        await bound.arun(asking(sampling=SamplingParams(temperature=0.0)))
    assert stub.seen == []


async def test_a_body_that_is_no_json_although_every_leaf_is_is_the_dialect_s_fault(
    stub: OpenAIStub, connections: ConnectionPool
) -> None:
    class Odd(ChatBinder):
        def encode(self, request: Request, context: CallContext) -> WireRequest:
            wire = super().encode(request, context)
            return msgspec.structs.replace(wire, body={**wire.body, "odd": object()})

    bound = model(connections, stub.base_url, binders={"openai_chat": Odd()})
    with pytest.raises(DialectFault, match="the body isn't JSON"):
        bound.prepare(asking())


async def test_the_slot_is_held_until_the_stream_is_read(stub: OpenAIStub, connections: ConnectionPool) -> None:
    stub.answer(streamed(["a", "b"]))
    assert connections.limiter is not None
    held = []
    async for event in model(connections, stub.base_url).astream(asking()):
        held.append((type(event).__name__, connections.limiter.held))
    assert [count for name, count in held if name == "TextDelta"] == [1, 1]
    assert held[-1] == ("Completed", 0)


@pytest.mark.parametrize("how", ["close", "break", "drop", "cancel"])
async def test_leaving_a_stream_frees_the_limits_and_the_connection(
    stub: OpenAIStub, connections: ConnectionPool, how: str
) -> None:
    stub.answer(events(chunk({"content": "a"}), b"never", done=False, hold=asyncio.Event()))
    bound = model(connections, stub.base_url, concurrency=1)
    assert connections.limiter is not None

    async def begin() -> None:
        stream = bound.astream(asking())
        if how == "break":
            async for event in stream:
                if isinstance(event, TextDelta):
                    break
        else:
            while not isinstance(await anext(stream), TextDelta):
                pass
            assert connections.limiter is not None
            assert connections.limiter.held == 1
        if how == "close":
            await stream.aclose()
        if how == "cancel":
            await anext(stream)

    task = asyncio.create_task(begin())
    if how == "cancel":
        await asyncio.wait_for(_until_seen(stub), 5)
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    else:
        await task
    gc.collect()
    await asyncio.wait_for(stub.broken_off.wait(), 5)
    assert (connections.limiter.held, connections.under_way) == (0, 0)
    stub.answer(document(completion({"content": "again"})))
    assert (await bound.arun(asking())).text == "again"


async def _until_seen(stub: OpenAIStub) -> None:
    while not stub.seen:  # noqa: ASYNC110
        await asyncio.sleep(0.005)


# What comes back


async def test_the_plan_s_checks_run_on_every_reply(stub: OpenAIStub, connections: ConnectionPool) -> None:
    check = DeferredCheck(
        capability="top_logprobs", stage="request", verifier="response.top_logprobs_breadth", reason="r", evidence="e"
    )
    bound = model(connections, stub.base_url, checks=(check,))
    one = {"token": "a", "logprob": -1.0, "top_logprobs": [{"token": "b", "logprob": -2.0}]}
    stub.answer(document(completion({"content": "a"}, logprobs={"content": [one]})))
    await bound.arun(asking(scoring=ScoringParams(sampled_logprobs=True, top_logprobs=1)))
    with pytest.raises(OutputContractViolation, match="1 alternatives, and 2 are needed") as caught:
        await bound.arun(asking(scoring=ScoringParams(sampled_logprobs=True, top_logprobs=2)))
    assert caught.value.channels == ("top_logprobs",)


async def test_an_answer_says_where_it_comes_from(stub: OpenAIStub) -> None:
    stub.answer(
        document({"error": "x"}, status=503, headers={"x-request-id": "r-1"}),
        document(completion({"content": "Hi"}), headers={"x-request-id": "r-2", "OpenAI-Organization": "org-1"}),
    )
    async with pool(stub.base_url, retry=RetryPolicy(max_attempts=2, base_s=0.0)) as own:
        bound = model(own, stub.base_url, engine_id="vllm", defaults={"sampling.seed": 0})
        response = await bound.arun(asking())
    provenance = response.provenance
    assert provenance is not None
    assert provenance.model_identity == ModelIdentity(requested_model_id="m", provider_reported_model_id="m-1")
    assert (provenance.dialect_id, provenance.wire_version) == ("openai_chat", "v1")
    assert (provenance.engine_id, provenance.engine_source) == ("vllm", "config")
    assert provenance.deployment_fingerprint == deployment(stub.base_url, engine_id="vllm").fingerprint
    assert provenance.capabilities is not None
    assert provenance.capabilities.plan_fingerprint == bound.plan.fingerprint
    assert provenance.request_defaults == {"sampling.seed": 0}
    assert (provenance.auth_scheme, provenance.reported_headers) == ("bearer", {"openai-organization": "org-1"})
    assert provenance.attempts == (
        Attempt(outcome="overloaded", status=503, request_id="r-1"),
        Attempt(outcome="ok", status=200, request_id="r-2"),
    )


@pytest.mark.parametrize("dialect_id", ["openai_chat", "openai_completions"])
async def test_the_account_of_a_call_travels_as_headers(
    stub: OpenAIStub, connections: ConnectionPool, dialect_id: str
) -> None:
    bound = model(connections, stub.base_url, dialect_id, option_defaults={"organization": "org-1"})
    source = HELLO if dialect_id == "openai_chat" else PROMPT

    def on(**options: Any) -> Request:
        return asking(source, dialect_options=DialectOptions(dialect_id=dialect_id, values=options))

    if dialect_id == "openai_completions":
        stub.answer(document({"choices": [{"text": "Hi"}]}))
    await bound.arun(on(project="p-1", x=1))
    (seen,) = stub.seen
    assert (seen.headers["OpenAI-Organization"], seen.headers["OpenAI-Project"]) == ("org-1", "p-1")
    assert (seen.body["x"], "organization" in seen.body, "project" in seen.body) == (1, False, False)
    assert bound.prepare(on()).decisions["dialect_options.organization"].wire_path == "@header:OpenAI-Organization"
    for value in ("", None, 5, "a\r\nb", "é"):
        with pytest.raises(RequestRejected, match="header OpenAI-Project, which holds visible ASCII text"):
            bound.prepare(on(project=value))


async def test_a_model_that_isn_t_named_by_the_reply_is_not_made_up(
    stub: OpenAIStub, connections: ConnectionPool
) -> None:
    body = completion({"content": "Hi"})
    del body["model"]
    stub.answer(document(body))
    response = await model(connections, stub.base_url).arun(asking())
    assert response.provenance is not None
    assert response.provenance.model_identity.provider_reported_model_id is None
    assert response.provenance.engine_id == "unknown"
    assert response.provenance.request_defaults == {}


async def test_streaming_is_how_and_not_what(stub: OpenAIStub, connections: ConnectionPool) -> None:
    bound = model(connections, stub.base_url)
    stub.answer(streamed(["a", "b"]))
    whole = await bound.arun(asking(scheduling=SchedulingParams(stream=True)))
    stub.answer(streamed(["a", "b"]))
    found = [event async for event in bound.astream(asking())]
    assert isinstance(found[-1], Completed)
    assert whole == found[-1].response
    assert stub.seen[0].body == stub.seen[1].body
    assert stub.seen[0].body["stream_options"] == {"include_usage": True}


async def test_many_calls_through_one_pool(stub: OpenAIStub) -> None:
    async with pool(stub.base_url, limit=16) as own:
        bound = model(own, stub.base_url)
        responses = await asyncio.gather(*(bound.arun(asking()) for _ in range(100)))
    assert {response.text for response in responses} == {"Hi"}
    assert len(stub.connections) <= 16


async def test_every_way_and_every_try_carries_the_same_leaves(stub: OpenAIStub) -> None:
    request = asking(sampling=SamplingParams(stop=("END",), seed=0), reasoning=ReasoningParams(effort="low"))
    wanted = {"stop": ["END"], "seed": 0, "reasoning_effort": "low"}
    busy = document({"error": "x"}, status=503)
    async with pool(stub.base_url, retry=RetryPolicy(max_attempts=2, base_s=0.0)) as own:
        bound = model(own, stub.base_url)
        stub.answer(busy, document(completion({"content": "Hi"})))
        await bound.arun(request)
        stub.answer(busy, streamed(["Hi"]))
        async for _ in bound.astream(request):
            pass
    assert [seen.body.get("stream", False) for seen in stub.seen] == [False, False, True, True]
    for seen in stub.seen:
        assert {key: seen.body[key] for key in wanted} == wanted


async def test_a_canary_secret_is_in_no_record_plan_repr_error_or_log(
    stub: OpenAIStub, caplog: pytest.LogCaptureFixture
) -> None:
    canary = "canary-5d1f0b77"
    caplog.set_level("DEBUG")
    resolver = EnvironmentResolver({"KEY": canary})
    told: list[str] = []
    async with pool(stub.base_url, credential="env:KEY", resolver=resolver) as own:
        bound = model(own, stub.base_url)
        told.append(msgspec.json.encode(await bound.arun(asking())).decode())
        stub.answer(streamed(["a"]))
        told.extend([repr(event) async for event in bound.astream(asking())])
        for reply in (
            document({"error": {"message": f"{canary} is wrong", "code": canary}}, status=401),
            document({"error": {"message": canary}}),
            document(canary),
            events(chunk({"content": "a"}), {"error": {"message": canary, "code": canary}}),
            events(chunk({"content": "a"}), canary.encode() + b"\n\n", done=False),
        ):
            stub.answer(reply)
            for call in (bound.arun(asking()), bound.arun(asking(scheduling=SchedulingParams(stream=True)))):
                with pytest.raises(ModelError) as caught:
                    await call
                told += [str(caught.value), repr(caught.value), repr(vars(caught.value))]
        told += [repr(bound), repr(vars(bound)), repr(vars(own)), repr(bound.prepare(asking()))]
        told.append(canonical_json(bound.plan).decode())
    assert {seen.headers["Authorization"] for seen in stub.seen} == {f"Bearer {canary}"}
    assert [text for text in (*told, caplog.text) if canary in text] == []


async def test_streaming_may_be_a_default(stub: OpenAIStub, connections: ConnectionPool) -> None:
    stub.answer(streamed(["a", "b"]))
    bound = model(connections, stub.base_url, defaults={"scheduling.stream": True})
    assert (await bound.arun(asking())).text == "ab"
    assert stub.seen[0].body["stream"] is True
