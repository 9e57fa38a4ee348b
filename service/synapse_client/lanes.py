"""What the clients can do with lanes as such: look at them, load one, keep one loaded, pause them.

The methods of both clients, in one file beside each other; the two classes are bases of ``Client`` and
``AsyncClient``. A program that computes needs none of them: lanes load by themselves.
"""

from __future__ import annotations

from synapse_client import calls
from synapse_client.running import Asyncio, Blocking
from synapse_wire import results as r


class LaneMethods(Blocking):
    """Of the blocking client."""

    def lanes_list(self) -> r.LanesList:
        """Every lane: its state, memory, counts, speed, and who uses it."""
        return self._run(calls.lanes_list())

    def lanes_load(self, lane_id: str) -> r.LaneRow:
        """Load a lane; returns when it is ready."""
        return self._run(calls.lanes_load(lane_id))

    def lanes_keep_warm(self, lane_id: str, on: bool = True) -> r.LaneRow:
        """Let a lane stay loaded when nobody uses it, or no longer."""
        return self._run(calls.lanes_keep_warm(lane_id, on))

    def lanes_pause(self, minutes: float, *, reason: str) -> r.PauseStatus:
        """Take the Neural Engine away from Synapse, for two hours at most. It is free once the phase is ``paused``."""
        return self._run(calls.lanes_pause(minutes, reason))

    def lanes_resume(self) -> r.PauseStatus:
        """Give the Neural Engine back before its time."""
        return self._run(calls.lanes_resume())

    def lanes_status(self) -> r.PauseStatus:
        """How the pause of the Neural Engine stands."""
        return self._run(calls.lanes_status())

    def service_pause(self, minutes: float | None = None, *, reason: str) -> r.PauseStatus:
        """Unload every local lane and refuse its work for a while; until :meth:`service_resume` without ``minutes``."""
        return self._run(calls.service_pause(minutes, reason))

    def service_resume(self) -> r.PauseStatus:
        """End such a pause."""
        return self._run(calls.service_resume())


class AsyncLaneMethods(Asyncio):
    """Of the asyncio client."""

    async def lanes_list(self) -> r.LanesList:
        """Every lane: its state, memory, counts, speed, and who uses it."""
        return await self._run(calls.lanes_list())

    async def lanes_load(self, lane_id: str) -> r.LaneRow:
        """Load a lane; returns when it is ready."""
        return await self._run(calls.lanes_load(lane_id))

    async def lanes_keep_warm(self, lane_id: str, on: bool = True) -> r.LaneRow:
        """Let a lane stay loaded when nobody uses it, or no longer."""
        return await self._run(calls.lanes_keep_warm(lane_id, on))

    async def lanes_pause(self, minutes: float, *, reason: str) -> r.PauseStatus:
        """Take the Neural Engine away from Synapse, for two hours at most. It is free once the phase is ``paused``."""
        return await self._run(calls.lanes_pause(minutes, reason))

    async def lanes_resume(self) -> r.PauseStatus:
        """Give the Neural Engine back before its time."""
        return await self._run(calls.lanes_resume())

    async def lanes_status(self) -> r.PauseStatus:
        """How the pause of the Neural Engine stands."""
        return await self._run(calls.lanes_status())

    async def service_pause(self, minutes: float | None = None, *, reason: str) -> r.PauseStatus:
        """Unload every local lane and refuse its work for a while; until :meth:`service_resume` without ``minutes``."""
        return await self._run(calls.service_pause(minutes, reason))

    async def service_resume(self) -> r.PauseStatus:
        """End such a pause."""
        return await self._run(calls.service_resume())
