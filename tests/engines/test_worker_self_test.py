"""The self-test lets a model pass that agrees with the reference, and no other."""

from __future__ import annotations

import numpy as np
import pytest

from synapse_engines.errors import ArtifactError, SelfTestError
from synapse_engines.worker import self_test

VOCAB = 1000


class FakeModel:
    """Answers with numbers made of the row; `spoil` changes the answers to rows of some lengths."""

    def __init__(self, spoil: dict[int, float] | None = None) -> None:
        self.lengths: list[int] = []
        self._spoil = spoil or {}

    def answer(self, row: np.ndarray) -> np.ndarray:
        self.lengths.append(row.size)
        vector = np.array([row.sum() % 7 + 1, row[0] % 5, row.size % 3], np.float32)
        vector /= np.linalg.norm(vector)
        vector[0] += self._spoil.get(row.size, 0.0)
        return vector


def run(model: FakeModel, max_tokens: int = 512) -> None:
    expected = self_test.compute_expected(FakeModel().answer, VOCAB, max_tokens, lambda length: None)
    self_test.check(model.answer, expected, self_test.VECTORS, VOCAB, max_tokens, lambda length: None)


def test_the_first_row_is_long_then_it_goes_down_to_one_token_and_back() -> None:
    model = FakeModel()
    run(model)
    assert model.lengths == [128, 1, 128, 17, 1]


def test_rows_are_cut_to_what_the_lane_serves() -> None:
    model = FakeModel()
    run(model, max_tokens=9)
    assert model.lengths == [9, 1, 9, 9, 1]


def test_the_rows_are_the_same_everywhere() -> None:
    assert self_test.row_ids(VOCAB, 5).tolist() == [317, 96, 331, 110, 889]
    for length in (1, 17, 128):
        ids = self_test.row_ids(30522, length)
        assert ids.dtype == np.int32
        assert ids.min() >= 0
        assert ids.max() < 30522
        assert len(set(ids.tolist())) == length


@pytest.mark.parametrize("length", [1, 17, 128])
@pytest.mark.parametrize("error", [2e-4, float("nan"), float("inf")])
def test_a_row_that_is_off_is_named(length: int, error: float) -> None:
    with pytest.raises(SelfTestError) as failed:
        run(FakeModel({length: error}))
    assert failed.value.length == length


@pytest.mark.parametrize("broken", [float("nan"), float("inf")])
def test_weights_that_give_the_reference_no_numbers_are_the_files_fault(broken: float) -> None:
    with pytest.raises(ArtifactError) as refusal:
        self_test.compute_expected(FakeModel({17: broken}).answer, VOCAB, 512, lambda length: None)
    assert refusal.value.reason == "non_finite"
    assert "17 tokens" in refusal.value.detail


def test_kept_values_that_are_not_finite_are_no_values() -> None:
    expected = self_test.compute_expected(FakeModel().answer, VOCAB, 512, lambda length: None)
    expected[1][0] = np.nan
    assert self_test.unpack(self_test.pack(expected), 3, 512) is None


def test_rounding_passes() -> None:
    run(FakeModel({1: 5e-5, 17: -5e-5, 128: 5e-5}))


# A score of 0.6 read off two logits, the larger of which is 12.
SCORE = np.array([0.6, 12.0, -3.0], np.float32)


@pytest.mark.parametrize(
    ("error", "difference"),
    [
        # The read-out twice: the sigmoid of 0.6.
        ([0.0457, 0, 0], 0.0457),
        ([2e-3, 0, 0], 2e-3),
        ([0, 0.024, 0], 2e-3),
        ([0, 0, -0.024], 2e-3),
        ([0, 0, float("nan")], float("nan")),
    ],
)
def test_a_score_or_a_logit_that_is_off_is_refused(error: list[float], difference: float) -> None:
    off = SCORE + np.array(error, np.float32)
    with pytest.raises(SelfTestError) as failed:
        self_test.check(lambda ids: off, [SCORE] * 3, self_test.SCORES, VOCAB, 512, lambda length: None)
    assert failed.value.max_abs_diff == pytest.approx(difference, rel=1e-3, nan_ok=True)


def test_rounding_of_a_score_passes() -> None:
    off = SCORE + np.array([5e-4, 0.006, -0.006], np.float32)
    self_test.check(lambda ids: off, [SCORE] * 3, self_test.SCORES, VOCAB, 512, lambda length: None)


def test_small_logits_are_compared_by_themselves() -> None:
    small = np.array([0.5, 0.01], np.float32)
    off = small + np.array([0, 9e-4], np.float32)
    self_test.check(lambda ids: off, [small] * 3, self_test.SCORES, VOCAB, 512, lambda length: None)


def test_kept_values_read_back_as_they_were() -> None:
    expected = self_test.compute_expected(FakeModel().answer, VOCAB, 512, lambda length: None)
    assert len(expected) == 3
    kept = self_test.unpack(self_test.pack(expected), 3, 512)
    assert kept is not None
    assert all(np.array_equal(one, other) for one, other in zip(kept, expected, strict=True))


@pytest.mark.parametrize("text", ["AAAA", "not base64!", ""])
def test_kept_values_of_another_size_are_no_values(text: str) -> None:
    assert self_test.unpack(text, 3, 512) is None
