"""Fingerprints that changed: an index that was made under the old one has to be made again.

What each lane's fingerprint was is kept with the preferences, since the service only knows what it is. A lane that is
new is noted without a word; one whose fingerprint differs is news until somebody says that they know.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal

from synapse_app import reducers
from synapse_app.preferences import Preferences
from synapse_app.state import AppState, StateStore


@dataclass(frozen=True, slots=True)
class Changed:
    """A lane whose fingerprint was ``old`` when it was last noted."""

    lane_id: str
    old: str
    new: str


def changes(known: Mapping[str, str], lanes: Mapping[str, str]) -> tuple[Changed, ...]:
    """The lanes, by id and fingerprint, that differ from what is known of them."""
    return tuple(
        Changed(lane_id, known[lane_id], fingerprint)
        for lane_id, fingerprint in lanes.items()
        if known.get(lane_id, fingerprint) != fingerprint
    )


class Fingerprints(QObject):
    """Watches the store. ``news`` are the changes that nobody has acknowledged; ``changed`` says that they differ."""

    changed = Signal()

    def __init__(self, store: StateStore, preferences: Preferences, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._preferences = preferences
        self.news: tuple[Changed, ...] = ()
        store.changed.connect(self._looked)

    def acknowledge(self) -> None:
        """The user knows."""
        for change in self.news:
            self._preferences.note_fingerprint(change.lane_id, change.new)
        self._tell(())

    def _looked(self, before: AppState, after: AppState) -> None:
        if before.lanes is after.lanes or reducers.MODELS not in after.read:
            return
        lanes = {lane_id: lane.fingerprint for lane_id, lane in after.lanes.items()}
        known = {lane_id: self._preferences.fingerprint(lane_id) for lane_id in lanes}
        for lane_id, fingerprint in lanes.items():
            if not known[lane_id]:
                self._preferences.note_fingerprint(lane_id, fingerprint)
                known[lane_id] = fingerprint
        self._tell(changes(known, lanes))

    def _tell(self, news: tuple[Changed, ...]) -> None:
        if news != self.news:
            self.news = news
            self.changed.emit()
