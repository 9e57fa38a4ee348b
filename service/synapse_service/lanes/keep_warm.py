"""Lanes that people want kept loaded, whether anybody uses them or not. The wish outlives the process."""

from __future__ import annotations

from synapse_service.store.database import Store
from synapse_service.store.models import WarmLane


class KeptWarm:
    """The wishes, in memory and in the database. Made at boot, which may block."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lane_ids = set(store.read_sync(lambda: [row.lane_id for row in WarmLane.select()]))

    def __contains__(self, lane_id: object) -> bool:
        return lane_id in self._lane_ids

    async def set(self, lane_id: str, on: bool) -> None:
        """Keep a lane warm, or no longer; raises StoreError, and then nothing has changed."""
        if on:
            await self._store.write(lambda: WarmLane.insert(lane_id=lane_id).on_conflict_ignore().execute())
            self._lane_ids.add(lane_id)
        else:
            await self._store.write(lambda: WarmLane.delete().where(WarmLane.lane_id == lane_id).execute())
            self._lane_ids.discard(lane_id)
