"""Completions both ways: where every leaf goes, and scores that are complete or an error, never a number made up."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from fixtures.bound_models import HELLO, PROMPT, asking, context, model, pool
from fixtures.openai_stub import OpenAIStub, document, event_bytes, events
from synapse_models.audit import at_pointer
from synapse_models.continuation import ScoredPair, continuation_score
from synapse_models.dialect import WireReply
from synapse_models.errors import (
    ModelError,
    OutputContractViolation,
    ProtocolViolation,
    ProviderFailed,
    RequestRejected,
    StreamTruncated,
)
from synapse_models.leaves import LEAVES
from synapse_models.model import Model
from synapse_models.registry import DIALECT_BINDERS
from synapse_models.request import (
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
from synapse_models.response import InputToken, Refusal, Response, TokenAlternative, TokenLogprob, Usage
from synapse_models.sse import SseParser
from synapse_models.stream import Completed, StreamEvent, fold

BINDER = DIALECT_BINDERS["openai_completions"]


@pytest.fixture
async def stub() -> AsyncIterator[OpenAIStub]:
    async with OpenAIStub(document({"choices": [{"text": "x"}]})) as running:
        yield running


@pytest.fixture
async def bound(stub: OpenAIStub) -> AsyncIterator[Model]:
    async with pool(stub.base_url) as connections:
        yield model(connections, stub.base_url, "openai_completions")


def prompt(**groups: Any) -> Request:
    return asking(PROMPT, **groups)


def sampling(**more: Any) -> Request:
    return prompt(sampling=SamplingParams(**more))


def scoring(**more: Any) -> Request:
    return prompt(scoring=ScoringParams(**more))


GOLDEN: list[tuple[str, Request, str, Any]] = [
    ("input", prompt(), "/prompt", "Once upon"),
    ("input", asking(CompletionInput(text="")), "/prompt", ""),
    ("input.suffix", asking(CompletionInput(text="a", suffix="")), "/suffix", ""),
    ("input.suffix", asking(CompletionInput(text="a", suffix="z")), "/suffix", "z"),
    ("sampling.temperature", sampling(temperature=0.0), "/temperature", 0.0),
    ("sampling.top_p", sampling(top_p=0.0), "/top_p", 0.0),
    ("sampling.max_tokens", sampling(max_tokens=0), "/max_tokens", 0),
    ("sampling.stop", sampling(stop=("",)), "/stop", [""]),
    ("sampling.seed", sampling(seed=0), "/seed", 0),
    ("sampling.frequency_penalty", sampling(frequency_penalty=0.0), "/frequency_penalty", 0.0),
    ("sampling.presence_penalty", sampling(presence_penalty=0.0), "/presence_penalty", 0.0),
    ("sampling.n", sampling(n=2), "/n", 2),
    ("scoring.sampled_logprobs", scoring(sampled_logprobs=True), "/logprobs", 0),
    ("scoring.top_logprobs", scoring(sampled_logprobs=True, top_logprobs=0), "/logprobs", 0),
    ("scoring.top_logprobs", scoring(sampled_logprobs=True, top_logprobs=5), "/logprobs", 5),
    ("scoring.input_scoring", scoring(input_scoring=True), "/echo", True),
    ("scoring.input_scoring", scoring(input_scoring=True), "/logprobs", 1),
    ("scoring.top_logprobs", scoring(input_scoring=True, top_logprobs=0), "/logprobs", 1),
    ("scoring.top_logprobs", scoring(input_scoring=True, top_logprobs=7), "/logprobs", 7),
    ("scheduling.stream", prompt(scheduling=SchedulingParams(stream=True)), "/stream", True),
    (
        "dialect_options.user",
        prompt(dialect_options=DialectOptions(dialect_id="openai_completions", values={"user": ""})),
        "/user",
        "",
    ),
]

F = FunctionTool(name="f")
REFUSED: list[tuple[str, Request, str]] = [
    ("input", asking(HELLO), "not a conversation"),
    (
        "input.suffix",
        asking(CompletionInput(text="a", suffix="b"), scoring=ScoringParams(input_scoring=True)),
        "can't be scored",
    ),
    ("sampling.top_k", sampling(top_k=1), "no top_k"),
    (
        "scoring.input_scoring",
        asking(CompletionInput(text=""), scoring=ScoringParams(input_scoring=True)),
        "nothing to score",
    ),
    (
        "scoring.input_scoring",
        prompt(scoring=ScoringParams(input_scoring=True), sampling=SamplingParams(n=2)),
        "comes once",
    ),
    ("reasoning.effort", prompt(reasoning=ReasoningParams(effort="none")), "no reasoning channel"),
    ("reasoning.budget_tokens", prompt(reasoning=ReasoningParams(budget_tokens=0)), "no reasoning channel"),
    ("reasoning.summary", prompt(reasoning=ReasoningParams(summary="none")), "no reasoning channel"),
    ("tools.functions", prompt(tools=ToolParams(functions=(F,))), "text, not tools"),
    ("tools.choice", prompt(tools=ToolParams(choice=NamedFunction(name="f"))), "text, not tools"),
    ("tools.parallel", prompt(tools=ToolParams(parallel=False)), "text, not tools"),
    ("tools.hosted", prompt(tools=ToolParams(hosted=(HostedTool(tool="web_search"),))), "text, not tools"),
    (
        "structured_output.format",
        prompt(structured_output=StructuredOutputParams(format="json_object")),
        "no response format",
    ),
    ("session.previous_response_id", prompt(session=SessionParams(previous_response_id="")), "no state"),
    (
        "dialect_options.x",
        prompt(dialect_options=DialectOptions(dialect_id="openai_chat", values={"x": 1})),
        "tagged for openai_chat",
    ),
]


def test_every_leaf_has_a_golden_place_or_a_refusal() -> None:
    of_conversations = {leaf for leaf in LEAVES if leaf.startswith("input.") and leaf != "input.suffix"}
    of_structure = {f"structured_output.{name}" for name in ("schema", "name", "strict")}
    covered = {leaf for leaf, *_ in GOLDEN} | {leaf for leaf, *_ in REFUSED}
    assert set(LEAVES) == (covered - {"dialect_options.user", "dialect_options.x"}) | of_conversations | of_structure
    for leaf in of_conversations | of_structure:
        assert BINDER.decide(leaf, object(), prompt(), context("openai_completions")).kind == "rejected"
    with pytest.raises(KeyError):
        BINDER.decide("sampling.warmth", 1, prompt(), context("openai_completions"))


@pytest.mark.parametrize(("leaf", "request_", "path", "value"), GOLDEN)
async def test_a_leaf_is_on_the_wire_where_and_as_it_should_be(
    leaf: str, request_: Request, path: str, value: Any
) -> None:
    async with pool() as connections:
        prepared = model(connections, dialect_id="openai_completions").prepare(request_)
    assert prepared.decisions[leaf].kind == ("passed_through" if leaf.startswith("dialect_options.") else "consumed")
    found, on_wire = at_pointer(prepared.wire.body, path)
    assert found
    assert (on_wire, type(on_wire)) == (value, type(value))
    assert prepared.wire.path == "/completions"


@pytest.mark.parametrize(("leaf", "request_", "said"), REFUSED)
async def test_a_refused_leaf_is_named_and_nothing_is_sent(
    stub: OpenAIStub, bound: Model, leaf: str, request_: Request, said: str
) -> None:
    with pytest.raises(RequestRejected, match=said) as caught:
        await bound.arun(request_)
    assert leaf in [rejection.leaf for rejection in caught.value.rejections]
    assert stub.seen == []


@pytest.mark.parametrize("key", sorted(BINDER.reserved_options))
async def test_no_option_spells_a_key_that_something_else_owns(bound: Model, key: str) -> None:
    with pytest.raises(RequestRejected, match="owns this key"):
        bound.prepare(prompt(dialect_options=DialectOptions(dialect_id="openai_completions", values={key: 1})))


async def test_vllm_scores_by_a_parameter_of_its_own() -> None:
    async with pool() as connections:
        bound = model(connections, dialect_id="openai_completions", engine_id="vllm")
        for request, keys in (
            (scoring(input_scoring=True), {"prompt_logprobs": 0}),
            (scoring(input_scoring=True, top_logprobs=4), {"prompt_logprobs": 4}),
            (scoring(input_scoring=True, sampled_logprobs=True, top_logprobs=4), {"prompt_logprobs": 4, "logprobs": 4}),
        ):
            prepared = bound.prepare(request)
            assert {k: v for k, v in prepared.wire.body.items() if k not in ("model", "prompt")} == keys
        assert bound.prepare(sampling(top_k=3)).wire.body["top_k"] == 3
        whole = ScoringParams(input_scoring=True)
        for more in ({"scheduling": SchedulingParams(stream=True)}, {"sampling": SamplingParams(max_tokens=0)}):
            body = bound.prepare(prompt(scoring=whole, **more)).wire.body
            assert (body["echo"], body["logprobs"], "prompt_logprobs" in body) == (True, 1, False)


async def test_sglang_generates_at_least_one_token() -> None:
    async with pool() as connections:
        bound = model(connections, dialect_id="openai_completions", engine_id="sglang")
        with pytest.raises(RequestRejected, match=r"sampling\.max_tokens.*at least one token; ask for 1"):
            bound.prepare(sampling(max_tokens=0))
        assert bound.prepare(sampling(max_tokens=1)).wire.body["max_tokens"] == 1


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
    ]
    for body, kind in failing:
        stub.answer(events({"choices": [{"text": "a"}]}, body))
        with pytest.raises(kind):
            async for _ in bound.astream(prompt()):
                pass


async def test_three_runs_of_one_score_agree(stub: OpenAIStub, bound: Model) -> None:
    stub.answer(document(ECHO))
    first, second = await bound.arun(SCORED), await bound.arun(SCORED)
    stub.answer(events(*pieces_of(ECHO, (1, 3))))
    found = [event async for event in bound.astream(SCORED)]
    third = found[-1]
    assert isinstance(third, Completed)
    assert first.input_scoring == second.input_scoring == third.response.input_scoring
