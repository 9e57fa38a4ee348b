"""The two things that can be paused, and the fence that both make: the Neural Engine, and all local lanes.

Put together by ``boot``; ``lanes.pause`` is about the first, ``service.pause`` about the second.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from pathlib import Path

from synapse_service.clock import CallLater, Clock
from synapse_service.lanes.fence import Fences
from synapse_service.lanes.hardware_lock import HardwareLock
from synapse_service.lanes.lane import Lane
from synapse_service.lanes.model import LaneModel
from synapse_service.lanes.neural_engine import NeuralEngine
from synapse_service.lanes.pause import Hardware, LanePause, NoHardware


class Pauses:
    """Both pauses of a service.

    ``known`` gives the lanes that clients may hear of; ``on_change`` is told which pause changed its phase.
    """

    def __init__(
        self,
        lock_path: Path,
        clock: Clock,
        call_later: CallLater,
        *,
        known: Callable[[], Iterable[Lane]],
        on_change: Callable[[LanePause], None],
    ) -> None:
        self.engine = NeuralEngine(HardwareLock(lock_path), call_later)
        self._made: weakref.WeakSet[Lane] = weakref.WeakSet()

        def pause(name: str, covers: Callable[[LaneModel], bool], hardware: Hardware) -> LanePause:
            made = LanePause(
                name,
                covers=covers,
                lanes=lambda: list(self._made),
                known=known,
                hardware=hardware,
                clock=clock,
                call_later=call_later,
                on_change=lambda: on_change(made),
            )
            return made

        self.neural_engine = pause("neural_engine", lambda model: model.engine == "ane", self.engine)
        self.everything = pause("everything", lambda model: True, NoHardware())
        self.fence = Fences([self.neural_engine, self.everything])

    def cover(self, lane: Lane) -> None:
        """A lane was made. One that is still being proven, or was replaced, may have a worker too."""
        self._made.add(lane)

    def close(self) -> None:
        """The service ends: no pause begins, ends or goes on."""
        self.neural_engine.close()
        self.everything.close()
