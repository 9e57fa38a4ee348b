"""Giving memory back: a lane that nobody has used for a while, or that a setting hides, is unloaded."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Container
from typing import Final

from synapse_service.admission.leases import LeaseBook
from synapse_service.clock import Clock
from synapse_service.failures import where
from synapse_service.lanes.registry import LaneRegistry
from synapse_service.logs import get_logger
from synapse_wire.errors import SynapseError

_LONGEST_PAUSE_S: Final = 15.0

_log = get_logger(__name__)


class IdleUnloader:
    """Unloads lanes ``idle_s`` seconds after their last completed request, and hidden ones as soon as they are free.

    A lane that somebody holds, or whose worker still computes for someone who has left, is never unloaded, and idleness
    alone doesn't unload one whose id is in ``keep_warm``. Of a lane without a worker the tokenizer is let go, which a
    request may have needed that was then refused.
    """

    def __init__(
        self,
        *,
        lanes: LaneRegistry,
        leases: LeaseBook,
        clock: Clock,
        idle_s: Callable[[], float],
        keep_warm: Container[str] = (),
    ) -> None:
        self._lanes = lanes
        self._leases = leases
        self._clock = clock
        self._idle_s = idle_s
        self._keep_warm = keep_warm

    async def run(self) -> None:
        """Look again and again, for as long as the service lives."""
        while True:
            await asyncio.sleep(min(self._idle_s() / 10, _LONGEST_PAUSE_S))
            await self.sweep()

    async def sweep(self) -> None:
        """Unload what is idle now."""
        for lane in self._lanes.every():
            limit = self._clock.monotonic() - self._idle_s()
            used = lane.last_completed if lane.state == "ready" else lane.tokenizer_since
            idle = used is not None and used <= limit and lane.lane_id not in self._keep_warm
            due = idle or not self._lanes.shown(lane)
            loaded = lane.state == "ready" or (lane.state == "unloaded" and lane.tokenizer_since is not None)
            if not (due and loaded) or lane.busy or self._leases.holders(lane.lane_id):
                continue
            _log.info("lane_idle", lane_id=lane.lane_id)
            try:
                await lane.vacate()
            except SynapseError:
                continue  # Its worker can't be ended, which is in the log; the others can.
            except Exception as error:  # noqa: BLE001 - nobody waits for this task, so nobody would hear of it
                _log.error("unload_failed", lane_id=lane.lane_id, where=where(error))
