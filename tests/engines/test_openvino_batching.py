"""A row's vector is the same to the bit whatever its mates, their number, their order, and the number of threads."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixtures.model_files import NAMES, Name
from fixtures.openvino_tiny import random_rows, tiny_on_openvino
from synapse_engines.openvino.batching import FRAME_STEP, TOKEN_BUDGET, frame_width, plan
from synapse_engines.openvino.model import OpenVinoModel
from synapse_engines.openvino.modernbert import BAND_ABOVE, QUERY_BLOCK

# The lengths at which something changes: vector widths, blocks, the token budget, the band.
LENGTHS = (1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 511, 512, 513)


@pytest.fixture(scope="module", params=NAMES)
def model(request: pytest.FixtureRequest) -> Iterator[OpenVinoModel]:
    name: Name = request.param
    loaded = tiny_on_openvino(name)
    yield loaded
    loaded.close()


@given(st.lists(st.integers(1, 700), max_size=60))
def test_plan_groups_rows_of_one_frame_within_the_budget(lengths: list[int]) -> None:
    groups = list(plan(lengths, share=True))
    assert sorted(index for group in groups for index in group) == list(range(len(lengths)))
    for group in groups:
        assert len({frame_width(lengths[index]) for index in group}) == 1
        assert len(group) == 1 or sum(lengths[index] for index in group) <= TOKEN_BUDGET


def test_plan_fills_groups_and_runs_short_rows_first() -> None:
    assert list(plan([300, 4, 303, 9, 200, 201, 17], share=True)) == [[1, 3], [6], [4, 5], [0], [2]]
    assert [len(group) for group in plan([2] * 600, share=True)] == [256, 256, 88]
    assert list(plan([], share=True)) == []
    assert list(plan([3, 2, 3], share=False)) == [[1], [0], [2]]


@given(st.integers(1, 40_000))
def test_a_frame_holds_its_row_and_little_else(length: int) -> None:
    assert 0 <= frame_width(length) - length < FRAME_STEP
    assert frame_width(length) % FRAME_STEP == 0


def test_a_batch_equals_its_single_rows_to_the_bit(model: OpenVinoModel) -> None:
    # Of each length as many rows as differently filled groups need, in any order.
    rows = random_rows([length for length in LENGTHS for _ in range(1 + min(6, TOKEN_BUDGET // length))])
    singles = np.concatenate([model.embed([row]) for row in rows])
    assert np.isfinite(singles).all()
    order = np.random.default_rng(2).permutation(len(rows))
    np.testing.assert_array_equal(model.embed([rows[index] for index in order]), singles[order])
    np.testing.assert_array_equal(model.embed(rows[: len(rows) // 2]), singles[: len(rows) // 2])


def test_the_number_of_threads_moves_no_bit() -> None:
    rows = random_rows([1, 7, 7, 128, 129, 513])
    one, two = tiny_on_openvino("modernbert", threads=1), tiny_on_openvino("modernbert", threads=2)
    assert one.facts["INFERENCE_NUM_THREADS"] == "1"
    np.testing.assert_array_equal(one.embed(rows), two.embed(rows))


def test_a_row_that_is_longer_by_a_token_is_another_row() -> None:
    """Also in the same frame: only what lies behind a row's end is masked."""
    model = tiny_on_openvino("bert")
    (row,) = random_rows([17])
    assert not np.array_equal(model.embed([row]), model.embed([np.append(row, np.int32(0))]))


@pytest.mark.parametrize("length", [128, 224, 256, 288, 320, 512, 640])
def test_a_long_row_with_a_short_mate(model: OpenVinoModel, length: int) -> None:
    """Lengths at which masks over padded rows have been known to turn short mates into NaN."""
    long, short = random_rows([length, 5])
    together = model.embed([long, short])
    assert np.isfinite(together).all()
    np.testing.assert_array_equal(together, np.concatenate([model.embed([long]), model.embed([short])]))


def test_modernbert_bands_equal_full_masks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every end that a block of queries can have, computed in blocks and under one full mask."""
    lengths = [BAND_ABOVE + 1 + step for step in (0, 7, 8, 9, QUERY_BLOCK - 2, QUERY_BLOCK - 1, QUERY_BLOCK)]
    rows = random_rows(lengths)
    banded = tiny_on_openvino("modernbert", normalize=False, pooling="last")
    monkeypatch.setattr("synapse_engines.openvino.modernbert.BAND_ABOVE", 8192)
    masked = tiny_on_openvino("modernbert", normalize=False, pooling="last")
    np.testing.assert_allclose(banded.embed(rows), masked.embed(rows), rtol=0, atol=2e-5)


def test_modernbert_bands_serve_several_rows_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("synapse_engines.openvino.modernbert.BAND_ABOVE", 100)
    model = tiny_on_openvino("modernbert")
    rows = random_rows([130] * 3)
    np.testing.assert_array_equal(model.embed(rows), np.concatenate([model.embed([row]) for row in rows]))
    monkeypatch.undo()
    np.testing.assert_allclose(model.embed(rows), tiny_on_openvino("modernbert").embed(rows), rtol=0, atol=2e-6)


def test_no_rows_no_vectors() -> None:
    assert tiny_on_openvino("bert").embed([]).shape == (0, 64)
