"""Which rows run together, and padded to which length.

Accelerators prepare kernels and buffers a shape, so rows are padded up to a short ladder of lengths. The length that a
row runs at depends on the row alone, never on its mates; a batch therefore differs from single rows only by the
order in which a matrix product sums. Called by `model`; plain Python.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

SHORTEST = 32
"""The ladder's first length. Below it an accelerator gains nothing from fewer tokens."""

TOKEN_BUDGET = 8192
"""Tokens of one inference, padding included: as much as the longest row of the served models takes alone."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows to compute together.

    Attributes:
        length: tokens that each row is padded to.
        rows: indices of the rows in the call, ascending.
    """

    length: int
    rows: tuple[int, ...]

    def halves(self) -> tuple[Batch, Batch]:
        """The same rows as two batches; there must be at least two."""
        middle = len(self.rows) // 2
        return Batch(self.length, self.rows[:middle]), Batch(self.length, self.rows[middle:])


def ladder(longest: int) -> tuple[int, ...]:
    """Padded lengths for a model whose longest row has `longest` tokens: doubling from 32, and `longest` itself last.

    >>> ladder(300)
    (32, 64, 128, 256, 300)
    """
    rungs = []
    length = SHORTEST
    while length < longest:
        rungs.append(length)
        length *= 2
    return (*rungs, longest)


def plan(lengths: Sequence[int], rungs: Sequence[int]) -> list[Batch]:
    """Groups rows of `lengths` by the rung they fit, in batches within TOKEN_BUDGET or of one row, short ones first.

    Args:
        lengths: tokens of each row, each between 1 and the last rung.
        rungs: padded lengths, ascending.
    """
    by_rung: dict[int, list[int]] = {}
    for row, length in enumerate(lengths):
        by_rung.setdefault(rungs[bisect_left(rungs, length)], []).append(row)
    batches = []
    for rung, rows in sorted(by_rung.items()):
        size = max(1, TOKEN_BUDGET // rung)
        batches += [Batch(rung, tuple(rows[start : start + size])) for start in range(0, len(rows), size)]
    return batches
