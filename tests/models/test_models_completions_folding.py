"""Any completion, cut into any chunks, folds to what the document says; a scored one to the same score."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from fixtures.bound_models import asking, context
from fixtures.openai_stub import event_bytes
from synapse_models.dialect import WireReply
from synapse_models.registry import DIALECT_BINDERS
from synapse_models.request import CompletionInput, Request, SamplingParams, ScoringParams
from synapse_models.response import Response
from synapse_models.sse import SseParser
from synapse_models.stream import StreamEvent, fold

BINDER = DIALECT_BINDERS["openai_completions"]
CONTEXT = context("openai_completions")

tokens = st.tuples(st.text(min_size=1, max_size=4), st.floats(-20, 0, allow_nan=False))
answers = st.tuples(st.lists(tokens, min_size=1, max_size=6), st.sampled_from(["stop", "length", "content_filter"]))


def logprobs(found: list[tuple[str, float | None]]) -> dict[str, Any]:
    tops = [None if score is None else {token: score, "?": -30.0} for token, score in found]
    return {
        "tokens": [token for token, _ in found],
        "token_logprobs": [score for _, score in found],
        "top_logprobs": tops,
        # Some servers count these wrongly, so nothing may depend on them.
        "text_offset": [7] * len(found),
    }


def whole(body: dict[str, Any], request: Request) -> Response:
    reply = WireReply(status=200, headers={}, body=json.dumps(body).encode())
    return BINDER.decode(reply, request, CONTEXT)


def streamed(chunks: list[dict[str, Any]], request: Request, size: int) -> Response:
    raw = b"".join(map(event_bytes, chunks)) + b"data: [DONE]\n\n"
    decoder, parser = BINDER.stream_decoder(request, CONTEXT), SseParser()
    events: list[StreamEvent] = []
    for start in range(0, len(raw), size):
        for event in parser.feed(raw[start : start + size]):
            events += decoder.feed(event)
    return fold([*events, *decoder.end()])


def cut(draw: st.DataObject, found: list[Any]) -> list[list[Any]]:
    """The list in pieces, some of them empty."""
    cuts = sorted(draw.draw(st.lists(st.integers(0, len(found)), max_size=3)))
    return [found[start:end] for start, end in zip((0, *cuts), (*cuts, len(found)), strict=True)]


def chunk(index: int, found: list[tuple[str, float | None]], finish: str | None = None) -> dict[str, Any]:
    text = "".join(token for token, _ in found)
    choice = {"index": index, "text": text, "logprobs": logprobs(found), "finish_reason": finish}
    return {"id": "cmpl-1", "model": "m-1", "choices": [choice]}


@settings(max_examples=80, deadline=None)
@given(st.lists(answers, min_size=1, max_size=3), st.data())
def test_any_chunks_of_any_answers_fold_to_their_document(
    found: list[tuple[list[tuple[str, float | None]], str]], draw: st.DataObject
) -> None:
    request = asking(
        CompletionInput(text="Once"),
        sampling=SamplingParams(n=len(found)),
        scoring=ScoringParams(sampled_logprobs=True, top_logprobs=2),
    )
    choices = [chunk(index, *answer)["choices"][0] for index, answer in enumerate(found)]
    usage = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
    document = {"id": "cmpl-1", "model": "m-1", "choices": choices, "usage": usage}
    waiting = [[chunk(index, piece) for piece in cut(draw, said)] for index, (said, _) in enumerate(found)]
    chunks = []
    while waiting:
        queue = draw.draw(st.sampled_from(waiting))
        chunks.append(queue.pop(0))
        waiting = [queue for queue in waiting if queue]
    chunks += [chunk(index, [], finish) for index, (_, finish) in enumerate(found)]
    chunks.append({"choices": [], "usage": usage})
    assert streamed(chunks, request, draw.draw(st.integers(1, 400))) == whole(document, request)


@settings(max_examples=80, deadline=None)
@given(st.lists(tokens, min_size=1, max_size=5), st.lists(tokens, max_size=4), st.data())
def test_any_chunks_of_any_echo_give_the_same_score(
    given_: list[tuple[str, float]], made: list[tuple[str, float]], draw: st.DataObject
) -> None:
    prompt = "".join(token for token, _ in given_)
    request = asking(
        CompletionInput(text=prompt), scoring=ScoringParams(input_scoring=True, sampled_logprobs=True, top_logprobs=1)
    )
    said: list[tuple[str, float | None]] = [(given_[0][0], None), *given_[1:], *made]
    usage = {"prompt_tokens": len(given_), "completion_tokens": len(made), "total_tokens": len(said)}
    document = {**chunk(0, said, "stop"), "usage": usage}
    chunks = [chunk(0, piece) for piece in cut(draw, said)]
    chunks += [chunk(0, [], "stop"), {"choices": [], "usage": usage}]
    read = whole(document, request)
    assert read.input_scoring is not None
    assert [token.logprob for token in read.input_scoring.tokens] == [score for _, score in said[: len(given_)]]
    assert streamed(chunks, request, draw.draw(st.integers(1, 400))) == read
