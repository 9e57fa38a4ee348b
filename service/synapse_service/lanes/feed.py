"""What followers of lanes are told: every change of a lane's state at once, and its counts now and then.

A lane that is quarantined or released, that ends its self-check, or whose pause begins or ends has passed a milestone:
that row is never replaced by a later one. Counts rise with every request, so those rows wait for each other, and cost
nothing while nobody follows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from synapse_service.clock import CallLater
from synapse_service.events import EventHub
from synapse_service.lanes.lane import Lane
from synapse_wire.results import LaneRow

COUNTS_S: Final = 0.5
"""How long changed counts may wait."""


class LaneFeed:
    """Publishes lanes; one for the service.

    ``row`` makes the row of a lane. ``exists`` says whether it exists for clients: one that is still being proven, was
    replaced, or is hidden does not.
    """

    def __init__(
        self,
        hub: EventHub,
        call_later: CallLater,
        row: Callable[[Lane], LaneRow],
        exists: Callable[[Lane], bool],
    ) -> None:
        self._hub = hub
        self._call_later = call_later
        self._row = row
        self._exists = exists
        self._milestones: dict[str, tuple[object, ...]] = {}
        self._used: dict[str, Lane] = {}

    def follow(self, lane: Lane) -> None:
        """Take note of this lane's counts and milestones from now on."""
        self._milestones[lane.lane_id] = _milestone(self._row(lane))
        lane.use.on_change = lambda: self._counted(lane)

    def changed(self, lane: Lane) -> None:
        """A lane is in another state, or something about it was decided."""
        if not self._exists(lane):
            return
        row = self._row(lane)
        milestone = _milestone(row)
        passed = self._milestones.get(lane.lane_id) != milestone
        self._milestones[lane.lane_id] = milestone
        self._hub.publish("lanes", row, terminal=passed, key=lane.lane_id)
        self._hub.publish("models", summary(lane), key=lane.lane_id)

    def _counted(self, lane: Lane) -> None:
        if self._used:
            self._used[lane.lane_id] = lane
        elif self._hub.followed("lanes"):
            self._used[lane.lane_id] = lane
            self._call_later(COUNTS_S, self._tell_counts)

    def _tell_counts(self) -> None:
        used, self._used = self._used, {}
        for lane in used.values():
            self.changed(lane)


def _milestone(row: LaneRow) -> tuple[object, ...]:
    return row.quarantine_reason, row.self_check.state, row.pause


def summary(lane: Lane) -> dict[str, object]:
    """One lane as the topic ``models`` shows it."""
    return {"lane_id": lane.lane_id, "state": lane.state, "quarantined": lane.quarantine.active}
