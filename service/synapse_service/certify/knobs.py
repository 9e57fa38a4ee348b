"""The knob between speed and quiet: how many threads a processor lane gets, and which lane each position assigns.

``performance``, ``balanced`` and ``quiet`` are positions of one setting. A position assigns a lane to each task from
what probes have measured; it is advice for people and programs, because a request always names its model. Lanes of the
catalog take no part. Pure functions, called by the composition root and by ``probe.report``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

from synapse_service.lanes.model import Task
from synapse_wire.results import KnobLanes, KnobPositions

Knob = Literal["performance", "balanced", "quiet"]
KNOBS: Final[tuple[Knob, ...]] = get_args(Knob)

QUIETEST_FIRST: Final = ("ane", "owned-metal", "owned-cpu", "owned-vulkan", "owned-cuda")
"""Engines by what their devices draw and blow: energy isn't measured, so this order stands for it."""

BALANCED_SHARE: Final = 0.5
"""A lane of this share of the best speed is fast enough for ``balanced``."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One lane that is certified and whose speed is known."""

    lane_id: str
    task: Task
    engine: str
    tokens_per_second: float


def threads(knob: Knob, cores: int) -> int:
    """Threads of a processor lane: all of them, half, or a quarter; at least one."""
    share = {"performance": 1, "balanced": 2, "quiet": 4}[knob]
    return max(1, -(-cores // share))


def assign(measured: Sequence[Measured]) -> KnobPositions:
    """Which lane each position assigns to each task.

    ``performance`` takes the fastest, ``quiet`` the quietest device, and ``balanced`` the quietest among those that
    are at least half as fast as the fastest. Of lanes on one kind of device the faster one counts as quieter, since it
    is done sooner.
    """
    embed = [lane for lane in measured if lane.task == "embed"]
    rerank = [lane for lane in measured if lane.task == "rerank"]
    return KnobPositions(
        performance=KnobLanes(embed=_fastest(embed), rerank=_fastest(rerank)),
        balanced=KnobLanes(embed=_quietest(_fast_enough(embed)), rerank=_quietest(_fast_enough(rerank))),
        quiet=KnobLanes(embed=_quietest(embed), rerank=_quietest(rerank)),
    )


def _fast_enough(lanes: Sequence[Measured]) -> list[Measured]:
    best = max((lane.tokens_per_second for lane in lanes), default=0.0)
    return [lane for lane in lanes if lane.tokens_per_second >= BALANCED_SHARE * best]


def _fastest(lanes: Sequence[Measured]) -> str | None:
    return _first(sorted(lanes, key=lambda lane: (-lane.tokens_per_second, lane.lane_id)))


def _quietest(lanes: Sequence[Measured]) -> str | None:
    return _first(sorted(lanes, key=_loudness))


def _loudness(lane: Measured) -> tuple[int, float, str]:
    rank = QUIETEST_FIRST.index(lane.engine) if lane.engine in QUIETEST_FIRST else len(QUIETEST_FIRST)
    return rank, -lane.tokens_per_second, lane.lane_id


def _first(lanes: Sequence[Measured]) -> str | None:
    return lanes[0].lane_id if lanes else None
