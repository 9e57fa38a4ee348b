"""Rows of ids are cut as their lengths say; vectors are printed so that they read back bit for bit."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from synapse_engines.worker.frames import ProtocolError
from synapse_engines.worker.rows import calls, encode_vectors, split_ids


def test_ids_are_cut_by_the_lengths() -> None:
    payload = np.array([1, 2, 3, -4], "<i4").tobytes()
    assert [row.tolist() for row in split_ids(payload, [3, 0, 1])] == [[1, 2, 3], [], [-4]]


@pytest.mark.parametrize("lengths", [[1], [3], [2, -1, 1], []], ids=str)
def test_lengths_that_do_not_fit_the_payload_are_refused(lengths: list[int]) -> None:
    with pytest.raises(ProtocolError, match="do not match"):
        split_ids(b"\0" * 8, lengths)


def test_calls_take_rows_by_length_within_the_budget() -> None:
    assert list(calls([5, 2, 9, 2, 3, 30], 10)) == [[1, 3, 4], [0], [2], [5]]


@given(lengths=st.lists(st.integers(1, 40), max_size=30), budget=st.integers(1, 60))
def test_calls_hold_every_row_once_and_pass_the_budget_only_alone(lengths: list[int], budget: int) -> None:
    planned = list(calls(lengths, budget))
    assert sorted(index for call in planned for index in call) == list(range(len(lengths)))
    for call in planned:
        assert len(call) == 1 or sum(lengths[index] for index in call) <= budget


FLOATS = hnp.arrays(np.float32, (3, 4), elements=st.floats(width=32, allow_nan=False, allow_infinity=False))


@given(vectors=FLOATS)
def test_json_rows_read_back_as_the_same_float32(vectors: np.ndarray) -> None:
    texts = encode_vectors(vectors, "json")
    assert np.array_equal(np.array([json.loads(text) for text in texts], np.float32), vectors)


def test_json_rows_are_the_shortest_text() -> None:
    assert encode_vectors(np.array([[0.1, -1.0, 3.0e-5]], np.float32), "json") == [b"[0.1,-1.0,0.00003]"]


def test_raw_rows_are_little_endian_float32() -> None:
    assert encode_vectors(np.array([[1.0], [-2.0]], np.float32), "f32") == [b"\0\0\x80\x3f", b"\0\0\0\xc0"]


@pytest.mark.parametrize("encoding", ["json", "f32"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_row_that_is_not_finite_has_no_text(encoding: str, bad: float) -> None:
    vectors = np.array([[1.0, 2.0], [0.5, bad], [3.0, 4.0]], np.float32)
    good, empty, also_good = encode_vectors(vectors, encoding)  # type: ignore[arg-type]
    assert empty == b""
    assert good
    assert also_good


def test_rows_of_a_column_view_are_encoded_as_they_read() -> None:
    vectors = np.arange(6, dtype=np.float32).reshape(2, 3).T
    assert encode_vectors(vectors, "json") == [b"[0.0,3.0]", b"[1.0,4.0]", b"[2.0,5.0]"]
