"""Completions, the way back: scores that are whole or an error, however they come, and streams."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from fixtures.bound_models import asking, context, model, pool
from fixtures.completion_requests import BINDER, prompt, sampling, scoring
from fixtures.openai_stub import OpenAIStub, document, event_bytes, events
from synapse_models.continuation import ScoredPair, continuation_score
from synapse_models.dialect import WireReply
from synapse_models.errors import (
    ModelError,
    OutputContractViolation,
    ProtocolViolation,
    ProviderFailed,
    StreamTruncated,
)
from synapse_models.model import Model
from synapse_models.request import (
    CompletionInput,
    Request,
    SamplingParams,
    ScoringParams,
)
from synapse_models.response import InputToken, Refusal, Response, TokenAlternative, TokenLogprob, Usage
from synapse_models.sse import SseParser
from synapse_models.stream import Completed, StreamEvent, fold


@pytest.fixture
async def stub() -> AsyncIterator[OpenAIStub]:
    async with OpenAIStub(document({"choices": [{"text": "x"}]})) as running:
        yield running


@pytest.fixture
async def bound(stub: OpenAIStub) -> AsyncIterator[Model]:
    async with pool(stub.base_url) as connections:
        yield model(connections, stub.base_url, "openai_completions")


def test_a_token_that_a_server_generates_and_keeps_is_no_score_that_is_missing() -> None:
    body = changed(
        text="Once upon",
        tokens=["On", "ce", " upon"],
        token_logprobs=[None, -1.5, -0.5],
        usage={"prompt_tokens": 3, "completion_tokens": 1},
    )
    alone = prompt(scoring=ScoringParams(input_scoring=True), sampling=SamplingParams(max_tokens=0))
    response = read(body, alone)
    assert response.input_scoring is not None
    assert len(response.input_scoring.tokens) == 3
    with pytest.raises(OutputContractViolation, match="3 scores for 3 tokens of input and 1 of output"):
        read(body)


# The echo of "Once upon" as three tokens, with one generated.
ECHO: dict[str, Any] = {
    "id": "cmpl-1",
    "model": "m-1",
    "choices": [
        {
            "index": 0,
            "text": "Once upon a",
            "logprobs": {
                "tokens": ["On", "ce", " upon", " a"],
                "token_logprobs": [None, -1.5, 0.0, -0.25],
                "top_logprobs": [None, {"ce": -1.5, "CE": -2.0}, {" upon": 0.0}, {" a": -0.25, " the": -1.0}],
                "text_offset": [9, 9, 9, 9],
            },
            "finish_reason": "length",
        }
    ],
    "usage": {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4},
}
SCORED = scoring(input_scoring=True, sampled_logprobs=True, top_logprobs=2)


def read(body: Any, request: Request = SCORED, **more: Any) -> Response:
    reply = WireReply(status=200, headers={}, body=json.dumps(body).encode())
    return BINDER.decode(reply, request, context("openai_completions", **more))


def read_stream(chunks: list[Any], request: Request = SCORED, **more: Any) -> Response:
    decoder = BINDER.stream_decoder(request, context("openai_completions", **more))
    parser = SseParser()
    found: list[StreamEvent] = []
    for raw in (*map(event_bytes, chunks), b"data: [DONE]\n\n"):
        for event in parser.feed(raw):
            found += decoder.feed(event)
    return fold([*found, *decoder.end()])


def changed(**members: Any) -> dict[str, Any]:
    """The echo with members of its choice, its logprobs or its usage replaced; None removes."""
    body = msgspec.json.decode(json.dumps(ECHO))
    choice = body["choices"][0]
    for name, value in members.items():
        for holder in (choice, choice["logprobs"], body):
            if holder is not None and name in holder:
                holder[name] = value
                break
    return body  # type: ignore[no-any-return]


def test_an_echo_is_taken_apart_at_the_usage_s_boundary() -> None:
    response = read(ECHO)
    assert response.input_scoring is not None
    assert response.input_scoring.tokens == (
        InputToken(token="On", logprob=None),
        InputToken(
            token="ce",
            logprob=-1.5,
            alternatives=(TokenAlternative(token="ce", logprob=-1.5), TokenAlternative(token="CE", logprob=-2.0)),
        ),
        InputToken(token=" upon", logprob=0.0, alternatives=(TokenAlternative(token=" upon", logprob=0.0),)),
    )
    (choice,) = response.choices
    assert (choice.text, choice.finish_reason) == (" a", "length")
    assert choice.logprobs == (
        TokenLogprob(
            token=" a",
            logprob=-0.25,
            alternatives=(TokenAlternative(token=" a", logprob=-0.25), TokenAlternative(token=" the", logprob=-1.0)),
        ),
    )
    assert response.usage == Usage(input_tokens=3, output_tokens=1, reported_total=4)


def test_without_asking_there_are_no_alternatives_and_no_sampled_tokens() -> None:
    response = read(ECHO, scoring(input_scoring=True))
    assert response.input_scoring is not None
    assert [token.alternatives for token in response.input_scoring.tokens] == [(), (), ()]
    assert response.choices[0].logprobs is None


def test_a_score_alone_has_no_generated_text() -> None:
    body = changed(
        text="Once upon",
        tokens=["On", "ce", " upon"],
        token_logprobs=[None, -1.5, -0.5],
        usage={"prompt_tokens": 3, "completion_tokens": 0},
    )
    response = read(body)
    assert response.input_scoring is not None
    assert len(response.input_scoring.tokens) == 3
    assert (response.text, response.choices[0].logprobs) == ("", ())


async def test_an_empty_list_is_no_log_probabilities_of_a_text(stub: OpenAIStub, bound: Model) -> None:
    stub.answer(document({"choices": [{"text": "a", "logprobs": {"tokens": [], "token_logprobs": []}}]}))
    with pytest.raises(OutputContractViolation) as caught:
        await bound.arun(scoring(sampled_logprobs=True))
    assert caught.value.channels == ("logprobs",)


def test_an_end_token_of_the_input_is_scored_too() -> None:
    body = changed(tokens=["Once", " upon", "</s>", " a"])
    assert read(body).input_scoring is not None


def test_a_begin_token_and_pieces_of_characters_are_scored_too() -> None:
    body = changed(tokens=["<s>", "Once", " upon", " a"])
    assert read(body).input_scoring is not None
    prompt_ = asking(CompletionInput(text="日"), scoring=ScoringParams(input_scoring=True))
    for tokens in (["bytes:\\xe6", "bytes:\\x97", "bytes:\\xa5", " a"], ["\ufffd", "\ufffd", "\ufffd", " a"]):
        assert read(changed(text="日 a", tokens=tokens), prompt_).input_scoring is not None


@pytest.mark.parametrize(
    ("text", "tokens", "pieces"),
    [
        ("a😀b", ["a", "ð\x9f", "\x98\x80", "b"], [None, b"\xf0\x9f", b"\x98\x80", None]),
        # Both readings lead on from the first token; only one of them arrives.
        ("Ãb", ["Ã", "\x83", "b"], [b"\xc3", b"\x83", None]),
        ("ÃÃ", ["<s>", "Ã", "\x83", "Ã"], [None, b"\xc3", b"\x83", None]),
        ("é", ["Ã", "©", "</s>"], [b"\xc3", b"\xa9", None]),
    ],
)
def test_pieces_of_characters_that_are_spelled_one_character_a_byte_are_bytes(
    text: str, tokens: list[str], pieces: list[bytes | None]
) -> None:
    body = changed(
        text=text,
        tokens=tokens,
        token_logprobs=[None, *(-0.5 for _ in tokens[1:])],
        usage={"prompt_tokens": len(tokens), "completion_tokens": 0},
    )
    request = asking(CompletionInput(text=text), scoring=ScoringParams(input_scoring=True))
    scored = read(body, request).input_scoring
    assert scored is not None
    assert [token.token_bytes for token in scored.tokens] == pieces
    if tokens[0] == "a":
        assert continuation_score(ScoredPair(context="a", continuation="😀b"), scored).tokens == 3


def test_bytes_that_aren_t_the_input_s_don_t_spell_it() -> None:
    body = changed(
        text="a😀",
        tokens=["a", "ð\x9f", "\x98"],
        token_logprobs=[None, -1, -1],
        usage={"prompt_tokens": 3, "completion_tokens": 0},
    )
    request = asking(CompletionInput(text="a😀"), scoring=ScoringParams(input_scoring=True))
    with pytest.raises(OutputContractViolation, match="don't spell the input"):
        read(body, request)


INCOMPLETE: dict[str, tuple[dict[str, Any], str]] = {
    "one entry only": (changed(tokens=[" a"], token_logprobs=[-0.25]), "1 scores for 3 tokens"),
    "one entry only, nothing generated": (
        changed(
            text="Once upon", tokens=["x"], token_logprobs=[-0.1], usage={"prompt_tokens": 5, "completion_tokens": 0}
        ),
        "1 scores for 5 tokens",
    ),
    "chat shape": (changed(logprobs={"content": [{"token": " a", "logprob": -0.25}]}), "no scores of the echoed text"),
    "no logprobs": (changed(logprobs=None), "no scores of the echoed text"),
    "no usage": (changed(usage=None), "how many tokens the input has"),
    "empty usage": (changed(usage={}), "how many tokens the input has"),
    "a space off": (changed(text=" Once upon a"), "echoed text isn't the input"),
    "no echo": (changed(text=" a"), "echoed text isn't the input"),
    "other tokens": (changed(tokens=["On", "ce", "\nupon", " a"]), "don't spell the input"),
    "lists of two lengths": (changed(token_logprobs=[None, -1.5, -0.5]), "4 tokens have 3 scores"),
    "a hole": (changed(token_logprobs=[None, -1.5, None, -0.25]), "token 2 has no number"),
    "two leading holes": (changed(token_logprobs=[None, None, -0.5, -0.25]), "token 1 has no number"),
    "a positive number": (changed(token_logprobs=[None, 1.5, -0.5, -0.25]), "token 1 is no log-probability"),
    "a boundary too far": (
        changed(usage={"prompt_tokens": 4, "completion_tokens": 1}),
        "4 scores for 4 tokens of input and 1 of output",
    ),
    "a generated token counted as input": (
        changed(text="Once upon a", usage={"prompt_tokens": 4, "completion_tokens": 0}),
        "none of the scored tokens is of the text that was generated",
    ),
    "a generated token counted as input, and no other count": (
        changed(usage={"prompt_tokens": 4}),
        "none of the scored tokens is of the text that was generated",
    ),
    "a generated token among those of the input": (
        changed(
            text="Once upon a time",
            tokens=["<s>", "Once upon", " a", " time"],
            usage={"prompt_tokens": 3, "completion_tokens": 1},
        ),
        "spell more than the input",
    ),
    "a boundary of nothing": (
        changed(usage={"prompt_tokens": 0, "completion_tokens": 4}),
        "don't spell the input",
    ),
}


@pytest.mark.parametrize("name", INCOMPLETE)
async def test_a_score_that_isn_t_complete_is_an_error_that_names_the_channel(
    stub: OpenAIStub, bound: Model, name: str
) -> None:
    body, said = INCOMPLETE[name]
    stub.answer(document(body))
    with pytest.raises(OutputContractViolation, match=said) as caught:
        await bound.arun(SCORED)
    assert caught.value.channels == ("input_scoring",)
    assert [attempt.outcome for attempt in caught.value.attempts] == ["ok"]
    stub.answer(events(body))
    with pytest.raises(OutputContractViolation, match=said):
        async for _ in bound.astream(SCORED):
            pass


def vllm(entries: list[Any], *, counted: int = 3, text: str = " a") -> dict[str, Any]:
    return {
        "choices": [{"index": 0, "text": text, "prompt_logprobs": entries, "finish_reason": "length"}],
        "usage": {"prompt_tokens": counted, "completion_tokens": 1},
    }


VLLM_ENTRIES = [
    None,
    {
        "17": {"logprob": -1.5, "rank": 2, "decoded_token": "ce"},
        "9": {"logprob": -0.5, "rank": 1, "decoded_token": "x"},
    },
    {"20": {"logprob": 0.0, "rank": 1, "decoded_token": " upon"}},
]


def test_vllm_s_scores_of_the_recorded_wire_shape() -> None:
    response = read(vllm(VLLM_ENTRIES), engine_id="vllm")
    assert response.input_scoring is not None
    assert response.input_scoring.tokens == (
        InputToken(token="On", logprob=None),
        InputToken(
            token="ce",
            logprob=-1.5,
            token_id=17,
            rank=2,
            alternatives=(
                TokenAlternative(token="x", logprob=-0.5, token_id=9, rank=1),
                TokenAlternative(token="ce", logprob=-1.5, token_id=17, rank=2),
            ),
        ),
        InputToken(
            token=" upon",
            logprob=0.0,
            token_id=20,
            rank=1,
            alternatives=(TokenAlternative(token=" upon", logprob=0.0, token_id=20, rank=1),),
        ),
    )
    one = read(vllm(VLLM_ENTRIES), scoring(input_scoring=True, top_logprobs=1), engine_id="vllm").input_scoring
    none = read(vllm(VLLM_ENTRIES), scoring(input_scoring=True), engine_id="vllm").input_scoring
    assert one is not None
    assert none is not None
    assert [[other.rank for other in token.alternatives] for token in one.tokens] == [[], [1], [1]]
    assert [token.alternatives for token in none.tokens] == [(), (), ()]
    assert response.text == " a"


@pytest.mark.parametrize(
    ("entries", "counted", "said"),
    [
        (None, 3, "no prompt_logprobs"),
        (VLLM_ENTRIES[:2], 3, "2 scores for 3 tokens"),
        ([None, None, VLLM_ENTRIES[2]], 3, "token 1 has no number"),
        ([None, {}, VLLM_ENTRIES[2]], 3, "token 1 has no number"),
        ([], 0, "0 scores for 0 tokens"),
    ],
)
def test_vllm_s_scores_are_complete_or_an_error(entries: Any, counted: int, said: str) -> None:
    with pytest.raises(OutputContractViolation, match=said):
        read(vllm(entries, counted=counted), engine_id="vllm")


def pieces_of(body: dict[str, Any], sizes: tuple[int, ...]) -> list[Any]:
    """An echoed document cut into chunks of so many tokens; the usage in a chunk of its own."""
    (choice,) = body["choices"]
    logprobs = choice["logprobs"]
    found, at = [], 0
    for size in sizes:
        window = slice(at, at + size)
        lists = {key: logprobs[key][window] for key in ("tokens", "token_logprobs", "top_logprobs", "text_offset")}
        piece = {"index": 0, "text": "".join(logprobs["tokens"][window]), "logprobs": lists, "finish_reason": None}
        found.append({"id": "cmpl-1", "model": "m-1", "choices": [piece]})
        at += size
    found[-1]["choices"][0]["finish_reason"] = choice["finish_reason"]
    return [*found, {"choices": [], "usage": body["usage"]}]


@pytest.mark.parametrize("sizes", [(4,), (3, 1), (1, 1, 1, 1), (2, 2), (0, 4, 0)])
def test_a_streamed_score_is_the_same_score(sizes: tuple[int, ...]) -> None:
    assert read_stream(pieces_of(ECHO, sizes)) == read(ECHO)


def test_a_stream_without_a_score_is_told_as_it_comes() -> None:
    request = scoring(sampled_logprobs=True, top_logprobs=1)
    decoder = BINDER.stream_decoder(request, context("openai_completions"))
    body = {
        "id": "cmpl-1",
        "choices": [
            {"text": "a", "logprobs": {"tokens": ["a"], "token_logprobs": [-0.5], "top_logprobs": [{"a": -0.5}]}}
        ],
    }
    (event,) = SseParser().feed(event_bytes(body))
    assert [type(one).__name__ for one in decoder.feed(event)] == ["Began", "TextDelta", "LogprobsDelta"]
    whole = read({**body, "choices": [{**body["choices"][0], "finish_reason": "stop"}]}, request)  # type: ignore[index]
    finish = {"id": "cmpl-1", "choices": [{"text": "", "finish_reason": "stop"}]}
    assert read_stream([body, finish], request) == whole


def test_several_answers_and_a_filtered_one() -> None:
    request = sampling(n=2)
    body = {
        "choices": [
            {"index": 1, "text": "b", "finish_reason": "content_filter"},
            {"index": 0, "text": "a", "finish_reason": "stop"},
        ]
    }
    response = read(body, request)
    assert [(choice.index, choice.text, choice.finish_reason) for choice in response.choices] == [
        (0, "a", "stop"),
        (1, "b", "refusal"),
    ]
    assert response.choices[1].refusal == Refusal(kind="filter", category="content_filter")
    assert read_stream([body], request) == response


def test_sampled_logprobs_in_the_shape_of_chat_are_read_where_nothing_is_scored() -> None:
    body = {"choices": [{"text": "a", "logprobs": {"content": [{"token": "a", "logprob": -0.5, "id": 3}]}}]}
    response = read(body, scoring(sampled_logprobs=True))
    assert response.choices[0].logprobs == (TokenLogprob(token="a", logprob=-0.5, token_id=3),)


@pytest.mark.parametrize(
    "body",
    [
        {"choices": [{"text": "a", "logprobs": {"tokens": ["a"], "token_logprobs": [None]}}]},
        {"choices": [{"text": "a", "logprobs": {"tokens": ["a", "b"], "token_logprobs": [-1.0]}}]},
        {"choices": [{"text": 5}]},
        {"choices": [{"index": 0}, {"index": 0}]},
        {"id": "x"},
    ],
)
def test_what_isn_t_a_completion_is_a_violation(body: Any) -> None:
    with pytest.raises(ProtocolViolation):
        read(body, scoring(sampled_logprobs=True))


async def test_a_stream_that_is_cut_has_no_score_and_one_that_fails_says_so(stub: OpenAIStub, bound: Model) -> None:
    stub.answer(events(*pieces_of(ECHO, (3, 1)), done=False))
    with pytest.raises(StreamTruncated):
        async for _ in bound.astream(SCORED):
            pass
    failing: list[tuple[Any, type[ModelError]]] = [
        ({"error": {"message": "m"}}, ProviderFailed),
        ({"object": "error", "message": "m", "code": 500}, ProviderFailed),
        ({"detail": "m"}, ProviderFailed),
        (b'event: error\ndata: {"choices":[]}\n\n', ProviderFailed),
        ({"status": "m"}, ProtocolViolation),
    ]
    for body, kind in failing:
        stub.answer(events({"choices": [{"text": "a"}]}, body))
        with pytest.raises(kind):
            async for _ in bound.astream(prompt()):
                pass


def test_what_keeps_a_stream_alive_says_nothing() -> None:
    said = {"choices": [{"text": "a", "finish_reason": "stop"}]}
    assert read_stream([b"data:\n\n", {}, said], prompt()) == read(said, prompt())


async def test_three_runs_of_one_score_agree(stub: OpenAIStub, bound: Model) -> None:
    stub.answer(document(ECHO))
    first, second = await bound.arun(SCORED), await bound.arun(SCORED)
    stub.answer(events(*pieces_of(ECHO, (1, 3))))
    found = [event async for event in bound.astream(SCORED)]
    third = found[-1]
    assert isinstance(third, Completed)
    assert first.input_scoring == second.input_scoring == third.response.input_scoring
