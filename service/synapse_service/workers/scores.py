"""Scores as a worker sends them, as Python numbers: the service process has no array library.

Called by ``process``. Pure.
"""

from __future__ import annotations

import sys
from array import array
from dataclasses import dataclass

from synapse_engines.worker.protocol import Scored


@dataclass(frozen=True, slots=True)
class ScoredRows:
    """Scores as the model reads them off, each exactly a float32.

    Attributes:
        scores: in request order; None where the model's numbers are not finite.
        logits: what each score was read off: one number, or that of yes and that of no.
        token_ids: the tokens whose logits were read, yes and no; empty for a classifier.
        non_finite: indices of the rows that are not finite, ascending.
        compute_ms: time inside the engine.
    """

    scores: tuple[float | None, ...]
    logits: tuple[tuple[float, ...], ...]
    token_ids: tuple[int, ...]
    non_finite: tuple[int, ...]
    compute_ms: float


def scored_rows(answer: Scored, payload: bytes, rows: int) -> ScoredRows | None:
    """The scores in an answer, None if it is not about so many rows."""
    if answer.width < 1 or len(payload) != 4 * rows * (1 + answer.width):
        return None
    numbers = array("f", payload)
    if sys.byteorder == "big":
        numbers.byteswap()
    bad = frozenset(answer.non_finite)
    scores = tuple(None if row in bad else numbers[row] for row in range(rows))
    logits = tuple(tuple(numbers[at : at + answer.width]) for at in range(rows, len(numbers), answer.width))
    return ScoredRows(scores, logits, tuple(answer.token_ids), tuple(answer.non_finite), answer.compute_ms)
