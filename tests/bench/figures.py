"""What a measurement reports, and the arithmetic that all of them share.

A machine is noisy, so nothing is compared across runs: rounds alternate between the things compared, a ratio is taken
inside each round, and the figure is the median of those.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Figure:
    """One measured number beside what it should be. ``note`` says what it was made from."""

    name: str
    value: float
    unit: str
    bound: Literal["at most", "at least"]
    target: float
    note: str = ""

    @property
    def reached(self) -> bool:
        # Written so that a value that is no number misses its target.
        return self.value <= self.target if self.bound == "at most" else self.value >= self.target


@dataclass
class Report:
    """Everything that one measurement found. ``lines`` say where the time, or the memory, goes."""

    figures: list[Figure] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    def at_most(self, name: str, value: float, unit: str, target: float, note: str = "") -> None:
        self.figures.append(Figure(name, value, unit, "at most", target, note))

    def at_least(self, name: str, value: float, unit: str, target: float, note: str = "") -> None:
        self.figures.append(Figure(name, value, unit, "at least", target, note))


def ratio(upper: Sequence[float], lower: Sequence[float]) -> float:
    """The median of the rounds' quotients."""
    return statistics.median(over / under for over, under in zip(upper, lower, strict=True))


def spread(upper: Sequence[float], lower: Sequence[float]) -> str:
    """The rounds' quotients from the least to the greatest."""
    quotients = [over / under for over, under in zip(upper, lower, strict=True)]
    return f"rounds {min(quotients):.2f} to {max(quotients):.2f}"
