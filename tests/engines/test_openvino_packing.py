"""Rows of several lengths in one inference: where their tokens lie, and that no row is touched by its mates."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from fixtures.model_files import Name, tiny_model
from fixtures.openvino_tiny import random_rows, tiny_on_openvino
from synapse_engines.openvino.packing import pack


def test_rows_lie_end_to_end_and_places_behind_an_end_repeat_the_last_token() -> None:
    ids, layout = pack([np.array([7], np.int32), np.array([5, 6, 4], np.int32)])
    assert ids.tolist() == [7, 5, 6, 4]
    assert layout.lengths.tolist() == [1, 3]
    assert layout.places.tolist() == [[0] * 16, [1, 2, 3] + [3] * 13]
    assert layout.slots.tolist() == [0, 16, 17, 18]
    assert {array.dtype for array in (ids, *layout)} == {np.dtype(np.int32)}


def test_the_layout_of_a_single_row_is_kept_by_its_length() -> None:
    short, long = pack(random_rows([12])).layout, pack(random_rows([17])).layout
    assert pack(random_rows([12])).layout is short
    assert pack(random_rows([17])).layout is long
    assert (short.places.shape, long.places.shape) == ((1, 16), (1, 32))


@pytest.mark.parametrize("name", ["bert", "modernbert", "qwen3"])
def test_rows_and_batches_of_any_lengths_may_follow_each_other(name: Name) -> None:
    """A layout that stays from one inference to the next must not serve another one."""
    model = tiny_on_openvino(name)
    rows = random_rows([12, 40, 12, 7, 40])
    first = [model.embed([row])[0] for row in rows]
    together = model.embed(rows)
    again = [model.embed([row])[0] for row in reversed(rows)][::-1]
    pair = model.embed(rows[:3:2])
    model.close()
    np.testing.assert_array_equal(np.stack(again), np.stack(first))
    np.testing.assert_array_equal(together, np.stack(first))
    np.testing.assert_array_equal(pair, np.stack(first[:3:2]))


@given(st.lists(st.integers(33, 48), min_size=1, max_size=20))
def test_what_is_packed_can_be_read_back_from_the_frames(lengths: list[int]) -> None:
    rows = random_rows(lengths)
    ids, layout = pack(rows)
    frames = ids[layout.places]
    assert frames.shape == (len(rows), 48)
    np.testing.assert_array_equal(frames.ravel()[layout.slots], ids)
    for row, frame in zip(rows, frames, strict=True):
        np.testing.assert_array_equal(frame[: row.size], row)
        assert set(frame[row.size :].tolist()) <= {int(row[-1])}


@pytest.mark.parametrize(
    ("name", "table"),
    [("bert", "embeddings.word_embeddings.weight"), ("modernbert", "embeddings.tok_embeddings.weight")],
)
def test_a_row_that_breaks_does_not_break_its_mates(name: str, table: str, tmp_path: Path) -> None:
    """One id's embedding is not a number, as in a file that training spoiled."""
    assert name in ("bert", "modernbert")
    tensors = load_file(tiny_model(name) / "model.safetensors")
    tensors[table] = tensors[table].copy()
    tensors[table][300] = np.nan
    path = tmp_path / "model.safetensors"
    save_file(tensors, path)
    rows = [np.where(row == 300, 301, row) for row in random_rows([9, 12, 16, 15, 10])]
    rows[2][-1] = rows[3][0] = 300
    model = tiny_on_openvino(name, path=path)
    together = model.embed(rows)
    model.close()
    sound = tiny_on_openvino(name)
    alone = np.concatenate([sound.embed([row]) for row in rows])
    sound.close()
    assert np.isfinite(together).all(axis=1).tolist() == [True, True, False, False, True]
    np.testing.assert_array_equal(together[[0, 1, 4]], alone[[0, 1, 4]])
