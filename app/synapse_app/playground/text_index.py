"""Vectors of passages in memory, and the nearest of them to a question; also how alike a few texts are. No Qt.

Nothing of it is written anywhere: it is gone with the window. The arithmetic is plain Python, which is fast enough for
what :class:`~synapse_app.playground.text_folder.Limits` lets in and spares the application a library of 30 MB.
"""

from __future__ import annotations

import heapq
import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import mul

from synapse_app.playground.text_folder import Passage


@dataclass(frozen=True, slots=True)
class Hit:
    """One answer; ``score`` is the cosine of its angle to the question."""

    passage: Passage
    score: float


@dataclass(slots=True)
class TextIndex:
    """All vectors are of one ``fingerprint``: those of another can't be compared with them."""

    lane: str
    fingerprint: str = ""
    rows: list[tuple[Passage, array[float]]] = field(default_factory=list)

    def add(self, passage: Passage, vector: array[float], fingerprint: str) -> None:
        self.fingerprint = self.fingerprint or fingerprint
        self.rows.append((passage, vector))

    def nearest(self, vector: Sequence[float], count: int) -> list[Hit]:
        """The ``count`` passages nearest to ``vector``, the best first; equals in the order in which they were read."""
        scored = ((cosine(row, vector), -at) for at, (_, row) in enumerate(self.rows))
        return [Hit(self.rows[-at][0], score) for score, at in heapq.nlargest(count, scored)]


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """The cosine of the angle between two vectors; 0 where one of them has no length."""
    lengths = math.sqrt(sum(map(mul, one, one)) * sum(map(mul, other, other)))
    return sum(map(mul, one, other)) / lengths if lengths else 0.0


def similarities(vectors: Sequence[Sequence[float]]) -> list[list[float]]:
    """The cosine of every pair; the diagonal is 1."""
    count = len(vectors)
    table = [[1.0] * count for _ in range(count)]
    for row in range(count):
        for column in range(row):
            table[row][column] = table[column][row] = cosine(vectors[row], vectors[column])
    return table
