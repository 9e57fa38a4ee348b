"""Figures that say how close one set of vectors is to another. Pure functions; called by the loop for Measure.

The service compares a lane with the NumPy reference of its model on a fixed set of texts. It holds no array library
itself, so a worker does the arithmetic.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

NEIGHBOURS = 10
"""Neighbours that count for the overlap, fewer if there are not that many other rows."""

TIE = 1e-6
"""Similarities closer than this are equal: float32 cannot rank texts that are that alike."""

Matrix = npt.NDArray[np.float64]


def compare(candidate: npt.NDArray[np.float32], reference: npt.NDArray[np.float32]) -> tuple[float, float, float]:
    """Mean cosine, minimum cosine and worst-decile neighbour overlap of two sets of the same texts.

    Args:
        candidate, reference: shape [rows, dims], at least two rows, row i of both being the same text.

    Returns:
        The cosines are between row i of one set and row i of the other. For the overlap every row asks for its
        nearest other rows by cosine, in each set; its overlap is the share of the candidate's answers that are as
        near in the reference as the reference's own answers, ties included; the figure is the mean over the tenth
        of the rows (rounded up) that overlap least. All three are NaN-free: a vector that is zero or not finite
        counts as cosine 0 with everything.
    """
    first, second = _unit(candidate), _unit(reference)
    cosines = np.einsum("ij,ij->i", first, second)
    overlaps = np.sort(_overlaps(first, second))
    worst = overlaps[: math.ceil(len(overlaps) / 10)]
    return float(cosines.mean()), float(cosines.min()), float(worst.mean())


def _unit(vectors: npt.NDArray[np.float32]) -> Matrix:
    wide = vectors.astype(np.float64)
    norms = np.linalg.norm(wide, axis=1, keepdims=True)
    usable = np.isfinite(norms) & (norms > 0)
    return np.where(usable, wide, 0.0) / np.where(usable, norms, 1.0)


def _overlaps(candidate: Matrix, reference: Matrix) -> Matrix:
    """Overlap of each row's nearest neighbours, shape [rows]."""
    rows = len(candidate)
    count = min(NEIGHBOURS, rows - 1)
    by_candidate, by_reference = candidate @ candidate.T, reference @ reference.T
    for similarities in (by_candidate, by_reference):
        np.fill_diagonal(similarities, -np.inf)
    chosen = np.argpartition(-by_candidate, count - 1, axis=1)[:, :count]
    threshold = np.partition(by_reference, rows - count, axis=1)[:, rows - count, None]
    hits = np.take_along_axis(by_reference, chosen, axis=1) >= threshold - TIE
    return np.asarray(hits.mean(axis=1), dtype=np.float64)
