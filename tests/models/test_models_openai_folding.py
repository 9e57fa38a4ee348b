"""Any answer, cut into any chunks in any order that keeps each channel's own, folds to what the document says."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from fixtures.bound_models import asking, context
from fixtures.openai_stub import chunk, event_bytes
from synapse_models.dialect import WireReply
from synapse_models.registry import DIALECT_BINDERS
from synapse_models.sse import SseParser
from synapse_models.stream import StreamEvent, fold

BINDER = DIALECT_BINDERS["openai_chat"]

texts = st.text(max_size=12)
calls = st.lists(st.tuples(st.sampled_from(["f", "g"]), st.dictionaries(texts, st.integers(), max_size=2)), max_size=3)
answers = st.fixed_dictionaries(
    {
        "content": texts,
        "reasoning": texts,
        "refusal": texts,
        "calls": calls,
        "finish": st.sampled_from(["stop", "length", "tool_calls", "content_filter", "odd"]),
    }
)


def pieces(draw: st.DataObject, text: str) -> list[str]:
    cuts = sorted(draw.draw(st.lists(st.integers(0, len(text)), max_size=3)))
    return [text[start:end] for start, end in zip((0, *cuts), (*cuts, len(text)), strict=True)]


def wire_calls(answer: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"id": f"c{n}", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for n, (name, arguments) in enumerate(answer["calls"])
    ]


def document(found: Sequence[dict[str, Any]]) -> bytes:
    choices = [
        {
            "index": index,
            "message": {
                "content": answer["content"],
                "reasoning": answer["reasoning"],
                "refusal": answer["refusal"] or None,
                "tool_calls": wire_calls(answer) or None,
            },
            "finish_reason": answer["finish"],
        }
        for index, answer in enumerate(found)
    ]
    return json.dumps({"id": "chatcmpl-1", "model": "m-1", "choices": choices}).encode()


def queues(draw: st.DataObject, index: int, answer: dict[str, Any]) -> list[list[Any]]:
    """The chunks of each channel of a choice, in the order that the channel has."""
    spelling = draw.draw(st.sampled_from(["reasoning", "reasoning_content"]))
    found = [[chunk({"content": piece}, index=index) for piece in pieces(draw, answer["content"])]]
    found.append([chunk({spelling: piece}, index=index) for piece in pieces(draw, answer["reasoning"])])
    found.append([chunk({"refusal": piece}, index=index) for piece in pieces(draw, answer["refusal"])])
    fragments = []
    for place, call in enumerate(wire_calls(answer)):
        first, *rest = pieces(draw, call["function"]["arguments"])
        function = {"name": call["function"]["name"], "arguments": first}
        fragments.append({"index": place, "id": call["id"], "function": function})
        fragments += [{"index": place, "function": {"arguments": piece}} for piece in rest]
    return [*found, [chunk({"tool_calls": [fragment]}, index=index) for fragment in fragments]]


@settings(max_examples=80, deadline=None)
@given(st.lists(answers, min_size=1, max_size=3), st.data())
def test_any_chunks_of_any_answer_fold_to_its_document(found: list[dict[str, Any]], draw: st.DataObject) -> None:
    waiting = [queue for index, answer in enumerate(found) for queue in queues(draw, index, answer) if queue]
    chunks = []
    while waiting:
        queue = draw.draw(st.sampled_from(waiting))
        chunks.append(queue.pop(0))
        waiting = [queue for queue in waiting if queue]
    chunks += [chunk(finish=answer["finish"], index=index) for index, answer in enumerate(found)]
    raw = b"".join(map(event_bytes, chunks)) + b"data: [DONE]\n\n"
    size = draw.draw(st.integers(1, 400))
    decoder, parser = BINDER.stream_decoder(asking(), context()), SseParser()
    events: list[StreamEvent] = []
    for start in range(0, len(raw), size):
        for event in parser.feed(raw[start : start + size]):
            events += decoder.feed(event)
    events += decoder.end()
    whole = BINDER.decode(WireReply(status=200, headers={}, body=document(found)), asking(), context())
    assert fold(events) == whole
