"""Which rows share an inference.

Rows run at their exact length, and only rows of one length run together. Padding would waste most of the work
on short texts, and it would change last bits: without it a row's vector is the same to the bit whatever its
mates. Called by `model`; plain Python.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

TOKEN_BUDGET = 512
"""Tokens of one inference, unless a single row is longer: enough to keep the processor's multipliers busy, few
enough to report progress often."""


def plan(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Groups rows of `lengths` by exact length, at most TOKEN_BUDGET tokens or one row at a time.

    Args:
        lengths: tokens of each row, at least 1.

    Yields:
        Indices into `lengths`; each index once, short rows first.
    """
    by_length: dict[int, list[int]] = {}
    for row, length in enumerate(lengths):
        by_length.setdefault(length, []).append(row)
    for length, rows in sorted(by_length.items()):
        size = max(1, TOKEN_BUDGET // length)
        for start in range(0, len(rows), size):
            yield rows[start : start + size]
