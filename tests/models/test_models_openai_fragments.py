"""Streamed tool calls put together again, from servers that number their fragments well, badly, or not at all."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fixtures.bound_models import asking, context
from synapse_models.dialects.openai_wire import DONE
from synapse_models.errors import ProtocolViolation
from synapse_models.parts import ToolCallPart
from synapse_models.registry import DIALECT_BINDERS
from synapse_models.sse import SseEvent
from synapse_models.stream import StreamEvent, fold

Fragment = tuple[int | None, str | None, str | None, str | None]
"""index, id, name, arguments; None leaves the member out."""


def wire(fragment: Fragment) -> dict[str, Any]:
    index, call_id, name, arguments = fragment
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    found: dict[str, Any] = {"type": "function", "function": function}
    return found | {key: value for key, value in (("index", index), ("id", call_id)) if value is not None}


def calls(*fragments: Fragment) -> tuple[ToolCallPart, ...] | None:
    return calls_of([[fragment] for fragment in fragments])


def calls_of(chunks: list[list[Fragment]]) -> tuple[ToolCallPart, ...] | None:
    decoder = DIALECT_BINDERS["openai_chat"].stream_decoder(asking(), context())
    found: list[StreamEvent] = []
    for fragments in chunks:
        body = {"choices": [{"index": 0, "delta": {"tool_calls": [wire(fragment) for fragment in fragments]}}]}
        found += decoder.feed(SseEvent("", json.dumps(body).encode()))
    found += decoder.feed(SseEvent("", DONE))
    found += decoder.end()
    return fold(found).choices[0].tool_calls


def spelled(*fragments: Fragment) -> list[tuple[str | None, str, str]]:
    return [(call.id, call.name, call.arguments_text) for call in calls(*fragments) or ()]


X, Y = '{"x":1}', '{"y":2}'


@pytest.mark.parametrize(
    ("fragments", "wanted"),
    [
        # Well numbered, interleaved.
        (
            [(0, "A", "f", ""), (1, "B", "g", ""), (0, None, None, X), (1, None, None, Y)],
            [("A", "f", X), ("B", "g", Y)],
        ),
        # The second place first.
        ([(1, "B", "g", Y), (0, "A", "f", X)], [("B", "g", Y), ("A", "f", X)]),
        # One index for two ids: two calls.
        ([(0, "A", "f", X), (0, "B", "g", Y)], [("A", "f", X), ("B", "g", Y)]),
        ([(0, "A", "f", '{"x":'), (0, "B", "g", Y), (0, "A", None, "1}")], [("A", "f", X), ("B", "g", Y)]),
        # The id and the name with every fragment.
        ([(0, "A", "f", '{"x":'), (0, "A", "f", "1}")], [("A", "f", X)]),
        # No index: by id, else the call before.
        ([(None, "A", "f", '{"x":'), (None, None, None, "1}"), (None, "B", "g", Y)], [("A", "f", X), ("B", "g", Y)]),
        ([(None, "A", "f", '{"x":'), (None, "B", "g", Y), (None, "A", None, "1}")], [("A", "f", X), ("B", "g", Y)]),
        # An index for the first fragment alone.
        ([(0, "A", "f", '{"x":'), (None, None, None, "1}")], [("A", "f", X)]),
        # Empty and missing ids are kept as they are.
        ([(0, "", "f", '{"x":'), (0, "", None, "1}"), (1, "", "g", Y)], [("", "f", X), ("", "g", Y)]),
        ([(0, None, "f", X), (1, None, "g", Y)], [(None, "f", X), (None, "g", Y)]),
        # An id that comes late.
        ([(0, None, "f", ""), (0, "A", None, X)], [("A", "f", X)]),
        ([(0, "", "f", ""), (0, "A", None, X)], [("A", "f", X)]),
        # Neither index nor id: a name after arguments begins another call.
        ([(0, None, "f", X), (0, None, "g", Y)], [(None, "f", X), (None, "g", Y)]),
        ([(0, None, "f", X), (0, None, "f", X)], [(None, "f", X), (None, "f", X)]),
        ([(0, None, "f", '{"x":'), (0, None, "f", "1}")], [(None, "f", X)]),
        # A name in two pieces.
        ([(0, "A", "get_", None), (0, None, "weather", None), (0, None, None, X)], [("A", "get_weather", X)]),
        # No arguments at all.
        ([(0, "A", "f", None)], [("A", "f", "")]),
        ([(0, "A", "f", "")], [("A", "f", "")]),
        # Places far apart.
        ([(7, "A", "f", X), (3, "B", "g", Y)], [("A", "f", X), ("B", "g", Y)]),
    ],
)
def test_fragments_find_their_calls(fragments: list[Fragment], wanted: list[tuple[str | None, str, str]]) -> None:
    assert spelled(*fragments) == wanted


@pytest.mark.parametrize(
    ("chunks", "wanted"),
    [
        # Neither index nor id.
        ([[(None, None, "f", None), (None, None, "g", Y)]], [(None, "f", ""), (None, "g", Y)]),
        ([[(None, None, "f", X), (None, None, "f", X)]], [(None, "f", X), (None, "f", X)]),
        (
            [[(None, None, "f", ""), (None, None, "g", '{"y":')], [(None, None, None, "2}")]],
            [(None, "f", ""), (None, "g", Y)],
        ),
        # One index for all.
        ([[(0, None, "f", ""), (0, None, "f", "")]], [(None, "f", ""), (None, "f", "")]),
        ([[(0, "", "f", ""), (0, "", "g", "")]], [("", "f", ""), ("", "g", "")]),
        ([[(0, "A", "f", ""), (0, None, "g", Y)]], [("A", "f", ""), (None, "g", Y)]),
        ([[(0, None, "f", ""), (0, "B", "g", Y)]], [(None, "f", ""), ("B", "g", Y)]),
        ([[(0, "A", "f", "")], [(0, None, None, X), (0, "B", "g", Y)]], [("A", "f", X), ("B", "g", Y)]),
        # One call in two pieces.
        ([[(0, "A", "f", '{"x":'), (0, "A", "f", "1}")]], [("A", "f", X)]),
        ([[(0, None, "f", '{"x":'), (0, None, None, "1}")]], [(None, "f", X)]),
        # Well numbered.
        (
            [[(0, None, "f", ""), (1, None, "g", "")], [(0, None, None, X), (1, None, None, Y)]],
            [(None, "f", X), (None, "g", Y)],
        ),
    ],
)
def test_the_fragments_of_one_chunk_find_their_calls(
    chunks: list[list[Fragment]], wanted: list[tuple[str | None, str, str]]
) -> None:
    assert [(call.id, call.name, call.arguments_text) for call in calls_of(chunks) or ()] == wanted


def test_arguments_are_parsed_where_they_are_json_and_kept_where_not() -> None:
    (whole, broken) = calls((0, "A", "f", X), (1, "B", "g", '{"x":')) or ()
    assert whole.arguments == {"x": 1}
    assert (broken.arguments_text, broken == ToolCallPart(id="B", name="g", arguments_text='{"x":')) == ('{"x":', True)


def test_arguments_that_are_nested_too_deeply_stay_text() -> None:
    deep = '{"x":' + "[" * 100_000 + "}"
    first, second = calls((0, None, "f", deep), (1, None, "g", Y), (0, None, "f", X[1:])) or ()
    assert first == ToolCallPart(name="f", arguments_text=deep + X[1:])
    assert second.arguments == {"y": 2}
    assert len(calls((0, None, "f", deep), (0, None, "f", X)) or ()) == 1


@pytest.mark.parametrize("fragments", [[(0, "A", "f", X), (0, "A", "g", "")], [(0, "A", None, X)]])
def test_a_call_that_changes_its_name_or_has_none_is_a_violation(fragments: list[Fragment]) -> None:
    with pytest.raises(ProtocolViolation):
        calls(*fragments)


def test_the_retired_function_call_is_a_call_without_an_id() -> None:
    decoder = DIALECT_BINDERS["openai_chat"].stream_decoder(asking(), context())
    found: list[StreamEvent] = []
    for delta in ({"function_call": {"name": "f", "arguments": '{"x":'}}, {"function_call": {"arguments": "1}"}}):
        found += decoder.feed(SseEvent("", json.dumps({"choices": [{"delta": delta}]}).encode()))
    assert fold(found).choices[0].tool_calls == (ToolCallPart(name="f", arguments_text=X, arguments={"x": 1}),)


argument_objects = st.dictionaries(
    st.text(max_size=4),
    st.one_of(st.integers(), st.text(max_size=12), st.none(), st.lists(st.text(max_size=3), max_size=2)),
    max_size=3,
)


@settings(max_examples=120, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["f", "g", "get_weather"]), argument_objects), min_size=1, max_size=6),
    st.sampled_from(["numbered", "one_index_ids_always", "ids_always", "numbered_without_ids"]),
    st.data(),
)
def test_any_interleaving_of_any_pieces_gives_the_calls_back(
    wanted: list[tuple[str, dict[str, Any]]], numbering: str, draw: st.DataObject
) -> None:
    texts = [json.dumps(arguments, ensure_ascii=draw.draw(st.booleans())) for _, arguments in wanted]
    queues: list[list[Fragment]] = []
    for number, ((name, _), text) in enumerate(zip(wanted, texts, strict=True)):
        cuts = sorted(draw.draw(st.lists(st.integers(0, len(text)), max_size=4)))
        pieces = [text[start:end] for start, end in zip((0, *cuts), (*cuts, len(text)), strict=True)]
        index = {"numbered": number, "numbered_without_ids": number, "one_index_ids_always": 0}.get(numbering)
        call_id = None if numbering == "numbered_without_ids" else f"call-{number}"
        always = numbering in ("one_index_ids_always", "ids_always")
        queues.append([(index, call_id, name, pieces[0])])
        queues[-1] += [(index, call_id if always else None, None, piece) for piece in pieces[1:]]
    fragments: list[Fragment] = [queue.pop(0) for queue in queues]
    while any(queues):
        queue = draw.draw(st.sampled_from([queue for queue in queues if queue]))
        fragments.append(queue.pop(0))
    found = calls(*fragments)
    assert found is not None
    assert [(call.name, call.arguments_text) for call in found] == [
        (name, text) for (name, _), text in zip(wanted, texts, strict=True)
    ]
    assert [call.arguments for call in found] == [arguments for _, arguments in wanted]


def test_fifty_long_argument_streams_don_t_mix() -> None:
    texts = [json.dumps({"text": chr(97 + number % 26) * 10_000}) for number in range(50)]
    fragments: list[Fragment] = [(number, f"c{number}", "f", "") for number in range(50)]
    for start in range(0, 10_100, 500):
        fragments += [(number, None, None, text[start : start + 500]) for number, text in enumerate(texts)]
    assert [text for _, _, text in spelled(*fragments)] == texts
