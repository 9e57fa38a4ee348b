"""``lanes.list``, ``lanes.load``, ``lanes.keep_warm`` and the topic ``lanes``: lanes for people to see and to handle.

A program that computes needs none of this: lanes load by themselves.
"""

from __future__ import annotations

from synapse_service.admission.leases import LeaseBook
from synapse_service.events import EventHub
from synapse_service.lanes.feed import LaneFeed
from synapse_service.lanes.keep_warm import KeptWarm
from synapse_service.lanes.lane import Lane
from synapse_service.lanes.lane_rows import LaneRows
from synapse_service.lanes.refusals import quarantined
from synapse_service.lanes.registry import LaneRegistry
from synapse_service.server.router import Call, Router
from synapse_wire import params as p
from synapse_wire import results as r
from synapse_wire.errors import invalid_state


class LaneExtensions:
    """The three operations."""

    def __init__(
        self,
        *,
        lanes: LaneRegistry,
        rows: LaneRows,
        feed: LaneFeed,
        leases: LeaseBook,
        keep_warm: KeptWarm,
        module_generation: int,
    ) -> None:
        self._lanes = lanes
        self._rows = rows
        self._feed = feed
        self._leases = leases
        self._keep_warm = keep_warm
        self._generation = module_generation

    def register(self, router: Router, hub: EventHub) -> None:
        """Serve the operations and the topic."""
        router.add_inline("lanes.list", self.listing)
        router.add("lanes.load", self.load)
        router.add("lanes.keep_warm", self.keep_warm)
        hub.register_topic("lanes", self.snapshot)

    def listing(self, call: Call, params: p.NoParams) -> r.LanesList:
        """Every lane that exists for clients."""
        return r.LanesList(module_generation=self._generation, lanes=self.snapshot())

    async def load(self, call: Call, params: p.LaneRef) -> r.LaneRow:
        """Load a lane and answer when it is ready; its load goes on without a caller who leaves."""
        lane = self._lane(params.lane_id)
        if lane.quarantine.active:
            raise quarantined(lane.lane_id, lane.quarantine)
        with self._leases.holding(lane.lane_id):
            await lane.ensure_ready()
        return self._rows.row(lane)

    async def keep_warm(self, call: Call, params: p.LanesKeepWarm) -> r.LaneRow:
        """Let idleness unload a lane, or no longer; loads nothing."""
        lane = self._lane(params.lane_id)
        await self._keep_warm.set(lane.lane_id, params.on)
        self._feed.changed(lane)
        return self._rows.row(lane)

    def snapshot(self) -> list[r.LaneRow]:
        """All rows, as the topic begins."""
        return [self._rows.row(lane) for lane in self._lanes.visible()]

    def _lane(self, lane_id: str) -> Lane:
        lane_ids = self._lanes.catalog.lane_ids(lane_id)
        if lane_ids is not None:
            raise invalid_state(
                f"{lane_id} is a model of the catalog; name one of its lanes", catalog_id=lane_id, lane_ids=lane_ids
            )
        return self._lanes.get(lane_id)
