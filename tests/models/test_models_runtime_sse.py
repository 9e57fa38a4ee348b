"""The event parser: every line ending, every way of splitting the bytes, and the limits."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synapse_models.errors import ProtocolViolation
from synapse_models.sse import SseEvent, SseParser


def parsed(data: bytes, *cuts: int) -> list[SseEvent]:
    parser = SseParser()
    found: list[SseEvent] = []
    for start, end in zip((0, *cuts), (*cuts, len(data)), strict=True):
        found += parser.feed(data[start:end])
    return found


@pytest.mark.parametrize(
    ("data", "events"),
    [
        (b"data: a\n\n", [("", b"a")]),
        (b"data:a\n\n", [("", b"a")]),
        (b"data:  a\n\n", [("", b" a")]),
        (b"data: a\r\n\r\n", [("", b"a")]),
        (b"data: a\r\r", [("", b"a")]),
        (b"\xef\xbb\xbfdata: a\n\n", [("", b"a")]),
        (b"data: a\ndata: b\n\n", [("", b"a\nb")]),
        (b"event: x\ndata: a\n\ndata: b\n\n", [("x", b"a"), ("", b"b")]),
        (b": a comment\n\ndata: a\n\n", [("", b"a")]),
        (b"data\n\n", [("", b"")]),
        (b"data: \n\n", [("", b"")]),
        (b"event: alone\n\ndata: b\n\n", [("", b"b")]),
        (b"id: 1\nretry: 5\nunknown: z\ndata: a\n\n", [("", b"a")]),
        (b"\n\n\ndata: a\n\n\n\n", [("", b"a")]),
        (b"data: a\n", []),
        (b"data: unfinished", []),
        ("data: é\u2028x\n\n".encode(), [("", "é\u2028x".encode())]),
    ],
)
def test_events_of_a_whole_stream(data: bytes, events: list[tuple[str, bytes]]) -> None:
    assert parsed(data) == [SseEvent(*event) for event in events]


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["", "delta", "é"]),
            st.lists(st.text(alphabet='ab: é{}"', max_size=6), min_size=1, max_size=3),
        ),
        max_size=6,
    ),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.data(),
)
def test_events_don_t_depend_on_how_the_bytes_were_split(
    wanted: list[tuple[str, list[str]]], newline: str, draw: st.DataObject
) -> None:
    text = ""
    for name, lines in wanted:
        text += (
            (f"event: {name}{newline}" if name else "") + "".join(f"data: {line}{newline}" for line in lines) + newline
        )
    data = text.encode()
    cuts = sorted(draw.draw(st.lists(st.integers(0, len(data)), max_size=12)))
    expected = [SseEvent(name, "\n".join(lines).encode()) for name, lines in wanted]
    assert parsed(data, *cuts) == expected
    assert parsed(data, *range(1, len(data))) == expected if data else True


@pytest.mark.parametrize("data", [b"data: " + b"x" * 40, b"data: 12345678\n" * 4, b"data\n" * 40])
def test_an_event_over_the_limit_is_refused_before_it_is_whole(data: bytes) -> None:
    parser = SseParser(max_event_bytes=30)
    with pytest.raises(ProtocolViolation, match="larger than 30 bytes"):
        list(map(parser.feed, (bytes([byte]) for byte in data)))
