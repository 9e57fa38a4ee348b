"""``lanes.pause``, ``lanes.resume`` and ``lanes.status``: an operator takes the Neural Engine, and gives it back.

All three answer at once with how the pause stands; what follows is ``lanes.pause``'s own business.
"""

from __future__ import annotations

from synapse_service.lanes.pause import LanePause
from synapse_service.server.router import Call, Router
from synapse_wire import params as p
from synapse_wire import results as r


def register(router: Router, neural_engine: LanePause) -> None:
    """Serve the three operations."""

    def pause(call: Call, params: p.LanesPause) -> r.PauseStatus:
        return neural_engine.begin(params.reason, params.duration_ms / 1000)

    def resume(call: Call, params: p.NoParams) -> r.PauseStatus:
        return neural_engine.end()

    def status(call: Call, params: p.NoParams) -> r.PauseStatus:
        return neural_engine.status()

    router.add_inline("lanes.pause", pause)
    router.add_inline("lanes.resume", resume)
    router.add_inline("lanes.status", status)
