"""Bytes to lines: the same lines however the bytes arrive, and nothing lost, joined or run early."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synapse_wire.framing import MAX_LINE_BYTES, LineSplitter, Overlong

LIMIT = 8

lines_of_bytes = st.lists(st.binary(max_size=3 * LIMIT).map(lambda line: line.replace(b"\n", b"")), max_size=20)


def lengths(lines: list[bytes | Overlong]) -> list[bytes | str]:
    return ["overlong" if isinstance(line, Overlong) else line for line in lines]


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]


@given(lines_of_bytes, st.binary(max_size=2 * LIMIT), st.lists(st.integers(min_value=0), max_size=30))
def test_lines_are_the_same_however_the_bytes_are_cut(lines: list[bytes], rest: bytes, cuts: list[int]) -> None:
    rest = rest.replace(b"\n", b"")
    splitter = LineSplitter(LIMIT)
    found: list[bytes | Overlong] = []
    for piece in pieces(b"".join(line + b"\n" for line in lines) + rest, cuts):
        found += splitter.feed(piece)
    # A rest that is too long is reported before its newline comes; every other rest is kept back.
    expected = [line if len(line) <= LIMIT else "overlong" for line in lines]
    assert lengths(found) == [*expected, *(["overlong"] if len(rest) > LIMIT else [])]
    assert splitter.pending == bool(rest)


@given(lines_of_bytes, st.lists(st.integers(min_value=0), max_size=30))
def test_an_overlong_line_is_reported_once_and_the_next_line_is_whole(lines: list[bytes], cuts: list[int]) -> None:
    splitter = LineSplitter(LIMIT)
    data = b"".join(line + b"\n" for line in lines) + b"x" * (LIMIT + 1) + b"\n" + b"next\n"
    found: list[bytes | Overlong] = []
    for piece in pieces(data, cuts):
        found += splitter.feed(piece)
    assert lengths(found)[-2:] == ["overlong", b"next"]
    assert len(found) == len(lines) + 2
    assert not splitter.pending


@pytest.mark.parametrize("data", [b"one\ntwo\n", bytearray(b"one\ntwo\n"), memoryview(b"one\ntwo\n")])
def test_every_kind_of_buffer_gives_lines_of_bytes(data: bytes | bytearray | memoryview) -> None:
    splitter = LineSplitter()
    assert splitter.feed(data) == [b"one", b"two"]
    splitter.feed(b"three")
    assert splitter.feed(data) == [b"threeone", b"two"]


def test_a_line_of_exactly_the_limit_passes_in_one_piece_and_in_two() -> None:
    whole = b"x" * LIMIT
    assert LineSplitter(LIMIT).feed(whole + b"\n") == [whole]
    splitter = LineSplitter(LIMIT)
    assert splitter.feed(whole) == []
    assert splitter.feed(b"\n") == [whole]


def test_the_limit_is_reported_as_soon_as_it_is_passed_and_the_bytes_are_let_go() -> None:
    splitter = LineSplitter()
    chunk = b"x" * (1024 * 1024)
    for _ in range(16):
        assert splitter.feed(chunk) == []
    assert lengths(splitter.feed(b"x")) == ["overlong"]
    for _ in range(4):
        assert splitter.feed(chunk) == []
        assert splitter.pending
    assert splitter.feed(b"\nnext\n") == [b"next"]
    assert MAX_LINE_BYTES == 16 * 1024 * 1024


def test_empty_lines_and_carriage_returns_are_lines_like_any_other() -> None:
    assert LineSplitter().feed(b"\n\r\n \n") == [b"", b"\r", b" "]


def test_a_rest_is_never_delivered() -> None:
    splitter = LineSplitter()
    assert splitter.feed(b'{"jsonrpc":"2.0","id":1,"method":"models.list"}') == []
    assert splitter.pending
