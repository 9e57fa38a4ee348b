"""Giving memory back: a lane that nobody has used for a while is unloaded."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from synapse_service.admission.leases import LeaseBook
from synapse_service.clock import Clock
from synapse_service.lanes.registry import LaneRegistry
from synapse_service.logs import get_logger

_LONGEST_PAUSE_S: Final = 15.0

_log = get_logger(__name__)


class IdleUnloader:
    """Unloads lanes ``idle_s`` seconds after their last completed request, unless somebody holds them."""

    def __init__(self, *, lanes: LaneRegistry, leases: LeaseBook, clock: Clock, idle_s: Callable[[], float]) -> None:
        self._lanes = lanes
        self._leases = leases
        self._clock = clock
        self._idle_s = idle_s

    async def run(self) -> None:
        """Look again and again, for as long as the service lives."""
        while True:
            await asyncio.sleep(min(self._idle_s() / 10, _LONGEST_PAUSE_S))
            await self.sweep()

    async def sweep(self) -> None:
        """Unload what is idle now."""
        limit = self._clock.monotonic() - self._idle_s()
        for lane in self._lanes.every():
            used = lane.last_completed
            idle = lane.state == "ready" and not lane.busy and used is not None and used <= limit
            if idle and not self._leases.holders(lane.lane_id):
                _log.info("lane_idle", lane_id=lane.lane_id)
                await lane.unload()
