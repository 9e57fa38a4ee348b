"""The fence in front of paused lanes: who may not compute now, and until when.

A lane asks it before work is admitted and before anything is loaded; the pauses behind it decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from synapse_service.lanes.model import LaneModel
from synapse_wire.errors import SynapseError
from synapse_wire.results import Pause


class Fence(Protocol):
    """What a lane asks."""

    def refusal(self, model: LaneModel) -> SynapseError | None:
        """``lane_paused``, or None where nothing is in the way."""
        ...

    def pause(self, model: LaneModel) -> Pause | None:
        """The pause that a lane is in."""
        ...


class NoFence:
    """For lanes that nothing pauses."""

    def refusal(self, model: LaneModel) -> SynapseError | None:
        return None

    def pause(self, model: LaneModel) -> Pause | None:
        return None


class OnePause(Fence, Protocol):
    """A pause as a fence of its own; ``remaining_s`` tells how long it lasts, ``active`` whether there is one."""

    @property
    def active(self) -> bool: ...

    @property
    def remaining_s(self) -> float: ...


class Fences:
    """Several pauses at once: a lane opens when the last of those that cover it has ended, so that one is told."""

    def __init__(self, pauses: Sequence[OnePause]) -> None:
        self._pauses = pauses

    def refusal(self, model: LaneModel) -> SynapseError | None:
        latest = self._latest(model)
        return None if latest is None else latest.refusal(model)

    def pause(self, model: LaneModel) -> Pause | None:
        latest = self._latest(model)
        return None if latest is None else latest.pause(model)

    def _latest(self, model: LaneModel) -> OnePause | None:
        latest: OnePause | None = None
        for pause in self._pauses:
            # Asked of every request, and nearly always nothing is paused.
            if pause.active and pause.pause(model) is not None:
                latest = pause if latest is None or pause.remaining_s > latest.remaining_s else latest
        return latest
