"""Chat completions, the way back: documents and streams of every shape seen, read to the same response."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from fixtures.bound_models import asking, context, model, pool
from fixtures.chat_twins import TWINS
from fixtures.openai_stub import OpenAIStub, chunk, completion, document, event_bytes, events, streamed
from synapse_models.dialect import WireReply
from synapse_models.errors import (
    ConnectionFailed,
    ModelError,
    OutputContractViolation,
    Overloaded,
    PermissionDenied,
    ProtocolViolation,
    ProviderFailed,
    RateLimited,
    StreamTruncated,
)
from synapse_models.model import Model
from synapse_models.parts import ToolCallPart
from synapse_models.registry import DIALECT_BINDERS
from synapse_models.request import (
    Request,
    SamplingParams,
)
from synapse_models.response import (
    Attempt,
    Citation,
    Reasoning,
    Refusal,
    Response,
    TokenAlternative,
    TokenLogprob,
    Usage,
)
from synapse_models.sse import SseParser
from synapse_models.stream import Completed, TextDelta, fold

BINDER = DIALECT_BINDERS["openai_chat"]
DEEP = "[" * 100_000 + "]" * 100_000


@pytest.fixture
async def stub() -> AsyncIterator[OpenAIStub]:
    async with OpenAIStub(document(completion({"content": "Hi"}))) as running:
        yield running


@pytest.fixture
async def bound(stub: OpenAIStub) -> AsyncIterator[Model]:
    async with pool(stub.base_url) as connections:
        yield model(connections, stub.base_url)


def read(body: Any) -> Response:
    return BINDER.decode(WireReply(status=200, headers={}, body=json.dumps(body).encode()), asking(), context())


def read_stream(*chunks: Any, done: bool = True) -> Response:
    decoder = BINDER.stream_decoder(asking(), context())
    parser = SseParser()
    found = []
    for one in (*map(event_bytes, chunks), *([b"data: [DONE]\n\n"] if done else [])):
        for event in parser.feed(one):
            found += decoder.feed(event)
    found += decoder.end()
    return fold(found)


async def collect(bound: Model, request: Request, seen: list[Any]) -> None:
    """Reads a stream into ``seen``, which keeps what came before a failure."""
    async for event in bound.astream(request):
        seen.append(event)


async def last(bound: Model, request: Request) -> Response:
    found = [event async for event in bound.astream(request)]
    completed = found[-1]
    assert isinstance(completed, Completed)
    assert not any(isinstance(event, Completed) for event in found[:-1])
    return completed.response


def without_attempts(response: Response) -> dict[str, Any]:
    return {**msgspec.to_builtins(response), "provenance": None}


@pytest.mark.parametrize("name", TWINS)
def test_a_stream_folds_to_what_the_document_says(name: str) -> None:
    whole, chunks = TWINS[name]
    assert read_stream(*chunks) == read(whole)


def test_every_channel_of_a_document() -> None:
    response = read(TWINS["several_choices"][0])
    assert [(c.index, c.text, c.reasoning, c.finish_reason) for c in response.choices] == [
        (0, "a", Reasoning(text="x"), "stop"),
        (1, "b", Reasoning(text="y"), "length"),
    ]
    assert (response.response_id, response.response_model, response.usage) == ("chatcmpl-1", "m-1", None)
    named = read(TWINS["names_that_come_late"][0])
    assert (named.system_fingerprint, named.service_tier) == ("fp_1", "flex")
    assert read(TWINS["refusal"][0]).choices[0].refusal == Refusal(kind="model", text="I won't")
    assert read(TWINS["filtered"][0]).choices[0].refusal == Refusal(kind="filter", category="content_filter")
    assert read(TWINS["filtered"][0]).choices[0].finish_reason == "refusal"
    assert read(TWINS["empty_reasoning"][0]).choices[0].reasoning is None
    unknown = read(TWINS["a_finish_that_nobody_knows"][0]).choices[0]
    assert (unknown.finish_reason, unknown.finish_reason_raw) == ("other", "eos_token")
    calls = read(TWINS["tool_calls"][0]).choices[0].tool_calls
    assert calls == (
        ToolCallPart(id="A", name="f", arguments_text='{"a":1}', arguments={"a": 1}),
        ToolCallPart(id="B", name="g", arguments_text='{"b":2}', arguments={"b": 2}),
    )
    empty = read(TWINS["a_tool_call_without_arguments"][0]).choices[0].tool_calls
    assert empty == (ToolCallPart(id="A", name="f", arguments_text="", arguments={}),)
    citations = read(TWINS["annotations"][0]).citations
    assert citations is not None
    (citation,) = citations
    assert (citation.start, citation.end, citation.unit, citation.url, citation.title) == (0, 2, "characters", "u", "t")
    assert read(TWINS["content_in_parts"][0]).choices[0].reasoning == Reasoning(text="t")


def test_logprobs_keep_bytes_ids_and_look_alikes() -> None:
    logprobs = read(TWINS["logprobs"][0]).choices[0].logprobs
    assert logprobs == (
        TokenLogprob(token="a", logprob=-0.5, token_id=7, token_bytes=b"a"),
        TokenLogprob(
            token="b",
            logprob=0.0,
            alternatives=(
                TokenAlternative(token=" B", logprob=-1.0, token_bytes=b" B"),
                TokenAlternative(token="\tB", logprob=-1.0, token_bytes=b"\tB"),
            ),
        ),
    )


def test_logprobs_of_a_refusal_stay_apart() -> None:
    wire = {"content": None, "refusal": [{"token": "no", "logprob": -1.0}]}
    choice = read(completion({"content": None, "refusal": "no"}, logprobs=wire)).choices[0]
    assert choice.logprobs is None
    assert choice.refusal_logprobs == (TokenLogprob(token="no", logprob=-1.0),)


def test_an_annotation_of_an_unknown_kind_is_kept_as_it_came() -> None:
    body = completion({"content": "a", "annotations": [{"type": "smell", "x": 1}, 5]})
    assert read(body).citations == (Citation(raw='{"type": "smell", "x": 1}'), Citation(raw="5"))


@pytest.mark.parametrize(
    ("wire", "usage"),
    [
        (None, None),
        ({}, None),
        ({"prompt_tokens": None}, None),
        (
            {
                "prompt_tokens": 10,
                "completion_tokens": 5,
                "total_tokens": 15,
                "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": None},
                "completion_tokens_details": {
                    "reasoning_tokens": 4,
                    "audio_tokens": 0,
                    "rejected_prediction_tokens": 0,
                },
            },
            Usage(
                input_tokens=10,
                output_tokens=5,
                cache_read_tokens=0,
                reasoning_tokens=4,
                output_audio_tokens=0,
                reported_total=15,
            ),
        ),
        (
            {
                "prompt_tokens": 10,
                "completion_tokens": 5,
                "total_tokens": 115,
                "completion_tokens_details": {"reasoning_tokens": 100},
            },
            Usage(input_tokens=10, output_tokens=105, reasoning_tokens=100, reported_total=115),
        ),
        (
            {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 9},
            Usage(input_tokens=1, output_tokens=2, reported_total=9),
        ),
        ({"prompt_tokens": 1, "prompt_cache_hit_tokens": 3}, Usage(input_tokens=1, cache_read_tokens=3)),
        ({"cached_tokens": 2, "reasoning_tokens": 0}, Usage(cache_read_tokens=2, reasoning_tokens=0)),
        (
            {"prompt_tokens_details": {"cache_write_tokens": 4, "cached_tokens": 1}, "completion_tokens_details": None},
            Usage(cache_read_tokens=1, cache_write_tokens=4),
        ),
    ],
)
def test_usage_in_every_shape_and_absent_is_not_zero(wire: Any, usage: Usage | None) -> None:
    assert read(completion({"content": "a"}, usage=wire)).usage == usage


@pytest.mark.parametrize(
    "body",
    [
        "not json",
        "[]",
        '"text"',
        {"choices": "x"},
        {"id": "x"},
        {"choices": [{"index": 0}]},
        {"choices": [{"message": {"content": 5}}]},
        '{"choices": [{"message": {"content": "a"}}], "x": ' + DEEP + "}",
        '{"choices": 5, "x": ' + DEEP + "}",
        '{"error": ' + DEEP + "}",
        '{"choices": 5, "x": ' + "9" * 5000 + "}",
        {"choices": [{"message": {"content": [{"type": "smell"}]}}]},
        {"choices": [{"message": {"tool_calls": [{"id": "a"}]}}]},
        {"choices": [{"message": {"reasoning": "a", "reasoning_content": "b"}}]},
        {"choices": [{"index": 0, "message": {}}, {"index": 0, "message": {}}]},
        {"choices": [{"message": {"content": "a"}, "logprobs": {"content": [{"token": "a", "logprob": None}]}}]},
        {
            "choices": [
                {"message": {"content": "a"}, "logprobs": {"content": [{"token": "a", "logprob": 0, "bytes": [256]}]}}
            ]
        },
    ],
)
async def test_what_isn_t_a_chat_completion_is_a_violation(stub: OpenAIStub, bound: Model, body: Any) -> None:
    stub.answer(document(body))
    with pytest.raises(ProtocolViolation) as caught:
        await bound.arun(asking())
    assert [attempt.status for attempt in caught.value.attempts] == [200]


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"error": {"message": "m", "code": 503}}, Overloaded),
        ({"error": {"message": "m", "type": "server_error"}, "choices": []}, ProviderFailed),
        ({"object": "error", "message": "m", "code": 429}, RateLimited),
        ({"error": "boom"}, ProviderFailed),
        ({"error": {"code": 503}}, Overloaded),
        ({"error": ["boom"]}, ProviderFailed),
        ({"message": "boom", "code": 429}, RateLimited),
        ({"detail": "boom"}, ProviderFailed),
        ({"id": "x", "detail": "boom"}, ProviderFailed),
    ],
)
async def test_a_failure_inside_a_success_is_a_failure(
    stub: OpenAIStub, bound: Model, body: Any, kind: type[ModelError]
) -> None:
    stub.answer(document(body))
    with pytest.raises(kind):
        await bound.arun(asking())
    stub.answer(events(chunk({"content": "par"}), body))
    seen: list[Any] = []
    with pytest.raises(kind):
        await collect(bound, asking(), seen)
    assert any(isinstance(event, TextDelta) for event in seen)


@pytest.mark.parametrize(
    ("event", "kind", "said"),
    [
        (b'event: error\ndata: {"message":"boom","code":503}\n\n', Overloaded, "boom"),
        (b'event: error\ndata: {"error":{"message":"boom","type":"insufficient_quota"}}\n\n', PermissionDenied, "boom"),
        (b"event: error\ndata: boom\n\n", ProviderFailed, "boom"),
        (b'event: error\ndata: {"id":"x","choices":[]}\n\n', ProviderFailed, '{"id":"x","choices":[]}'),
        (b'data: {"status":"boom"}\n\n', ProtocolViolation, '{"status":"boom"}'),
    ],
)
async def test_an_event_that_is_called_an_error_or_is_no_part_of_an_answer_ends_the_stream_as_a_failure(
    stub: OpenAIStub, bound: Model, event: bytes, kind: type[ModelError], said: str
) -> None:
    stub.answer(events(chunk({"content": "Hel"}), event))
    seen: list[Any] = []
    with pytest.raises(kind) as caught:
        await collect(bound, asking(), seen)
    assert (type(caught.value), caught.value.excerpt) == (kind, said)
    assert TextDelta(text="Hel") in seen


def test_what_keeps_a_stream_alive_says_nothing() -> None:
    parts = [b"data:\n\n", b"event: ping\ndata: \n\n", {}, chunk({"content": "a"}), {"id": "chatcmpl-1"}]
    assert read_stream(*parts, chunk(finish="stop")) == read(completion({"content": "a"}))


def test_an_error_member_that_is_empty_reports_nothing() -> None:
    assert read({**completion({"content": "a"}), "error": {}}).text == "a"


async def test_both_ways_of_calling_give_one_response(stub: OpenAIStub, bound: Model) -> None:
    for whole, chunks in TWINS.values():
        answers = len(whole["choices"])
        request = asking(sampling=SamplingParams(n=answers))
        stub.answer(document(whole))
        response = await bound.arun(request)
        stub.answer(events(*chunks))
        assert without_attempts(await last(bound, request)) == without_attempts(response)


@pytest.mark.parametrize(
    "chunks",
    [
        [],
        [chunk({"content": "a"}), chunk({"content": "b"})],
        [chunk({"content": "a"}), chunk(finish="stop")],
    ],
)
async def test_an_end_without_done_is_a_truncated_stream(stub: OpenAIStub, bound: Model, chunks: list[Any]) -> None:
    stub.answer(events(*chunks, done=False))
    with pytest.raises(StreamTruncated) as caught:
        await last(bound, asking())
    assert caught.value.attempts == (Attempt(outcome="stream_truncated", status=200),)


async def test_a_reset_in_the_middle_is_an_error_after_the_evidence(stub: OpenAIStub, bound: Model) -> None:
    stub.answer(events(chunk({"content": "a"}), b": padding\n", done=False, cut=True))
    seen: list[Any] = []
    with pytest.raises(ConnectionFailed):
        await collect(bound, asking(), seen)
    assert TextDelta(text="a") in seen


async def test_done_without_a_finish_reason_leaves_it_unknown(stub: OpenAIStub, bound: Model) -> None:
    stub.answer(events(chunk({"content": "a"}), chunk({"content": "b"})))
    response = await last(bound, asking())
    assert (response.text, response.choices[0].finish_reason, response.usage) == ("ab", None, None)


async def test_what_follows_done_is_not_read_and_nobody_waits_for_it(stub: OpenAIStub, bound: Model) -> None:
    stub.answer(events(chunk({"content": "a"}), b"data: [DONE]\n\n", b"data: {", done=False, hold=asyncio.Event()))
    assert (await asyncio.wait_for(last(bound, asking()), 5)).text == "a"
    await asyncio.wait_for(stub.broken_off.wait(), 5)


async def test_bytes_of_a_head_that_are_no_text_are_shown_as_such() -> None:
    head = b"Content-Type: application/json\r\nX-Request-Id: \xffa\r\nOpenAI-Organization: \xfe\xff\r\n"
    replies = [
        (b"429 Too Many Requests", b"{}"),
        (b"200 OK", b'{"choices":[{"message":{"content":"a"}}]}'),
    ]

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(int(asked.lower().partition(b"content-length:")[2].split()[0]))
        status, body = replies.pop(0)
        end = b"Content-Length: %d\r\nConnection: close\r\n\r\n%b" % (len(body), body)
        writer.write(b"HTTP/1.1 " + status + b"\r\n" + head + end)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    base_url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    async with server, pool(base_url) as connections:
        bound = model(connections, base_url)
        with pytest.raises(RateLimited) as caught:
            await bound.arun(asking())
        provenance = (await bound.arun(asking())).provenance
    assert caught.value.provider_request_id == "\ufffda"
    assert provenance is not None
    assert provenance.attempts[0].request_id == "\ufffda"
    assert provenance.reported_headers["openai-organization"] == "\ufffd\ufffd"


async def test_too_few_answers_are_no_answer(stub: OpenAIStub, bound: Model) -> None:
    with pytest.raises(OutputContractViolation, match="3 answers were asked for and 1 came"):
        await bound.arun(asking(sampling=SamplingParams(n=3)))
    stub.answer(streamed(["a"]))
    with pytest.raises(OutputContractViolation, match="3 answers"):
        await last(bound, asking(sampling=SamplingParams(n=3)))
    stub.answer(document({"choices": []}))
    with pytest.raises(OutputContractViolation, match="1 answers were asked for and 0 came"):
        await bound.arun(asking())
