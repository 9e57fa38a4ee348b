"""The figures of a comparison, on sets where each figure can be worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from synapse_engines.worker.measure import compare


def circle(rows: int) -> np.ndarray:
    """Unit vectors at unequal steps around half a circle, so that no two similarities tie."""
    angles = np.pi * (np.arange(rows) / rows) ** 1.1
    return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def test_a_set_equals_itself_at_any_scale() -> None:
    vectors = circle(25)
    mean_cosine, min_cosine, overlap = compare(3 * vectors, vectors)
    assert (mean_cosine, min_cosine) == (pytest.approx(1.0, abs=1e-12), pytest.approx(1.0, abs=1e-12))
    assert overlap == 1.0


def test_one_vector_turned_away_shows_in_minimum_and_mean() -> None:
    reference = circle(5)
    candidate = reference.copy()
    candidate[2] = -reference[2]
    mean_cosine, min_cosine, _ = compare(candidate, reference)
    assert mean_cosine == pytest.approx(3 / 5, abs=1e-6)
    assert min_cosine == pytest.approx(-1.0, abs=1e-6)


def test_the_overlap_is_that_of_the_tenth_of_rows_that_do_worst() -> None:
    # Two clusters of eleven, so that everybody's ten nearest are the mates. The candidate has row 0 desert to the edge
    # of the other cluster: all its answers are wrong, each old mate lost one of ten, the others notice nothing.
    reference = np.zeros((22, 4), np.float32)
    reference[:11, 0] = reference[11:, 1] = 1
    reference[:, 2] = np.linspace(-0.1, 0.1, 22)
    candidate = reference.copy()
    candidate[0] = (-0.3, 1, 0, 0)
    # A tenth of 22 rows is three: row 0 and two of its old mates.
    assert compare(candidate, reference)[2] == pytest.approx((0 + 0.9 + 0.9) / 3)


def test_equal_texts_may_be_answered_in_any_order() -> None:
    # Rows 1 to 14 are all the same: which ten of them are nearest to row 0 is a matter of rounding.
    reference = np.zeros((15, 2), np.float32)
    reference[:, 1] = 1
    reference[0] = (1, 0.5)
    candidate = reference.copy()
    candidate[1:, 0] += np.linspace(-1e-7, 1e-7, 14, dtype=np.float32)
    assert compare(candidate, reference)[2] == 1.0


def test_vectors_that_are_zero_or_not_finite_count_as_unlike_everything() -> None:
    reference = circle(4)
    candidate = reference.copy()
    candidate[0] = 0
    candidate[1] = np.nan
    mean_cosine, min_cosine, overlap = compare(candidate, reference)
    assert mean_cosine == pytest.approx(0.5, abs=1e-6)
    assert min_cosine == 0.0
    assert np.isfinite(overlap)
