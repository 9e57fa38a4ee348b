"""What certification may look at: requests to each worker, and what was admitted to the Neural Engine.

Off unless the setting ``certify_observation`` was on when the service started, and then nothing is kept. It can't be
turned on later, because a record of half a process looks like a complete one. Nothing here changes what is computed.

Two things are counted in different places, so that one can be held against the other: a worker's *inventory* is kept
where its answer arrives, and the *admission* where the loader has accepted that answer. Inventories stay for the life
of the service: an eviction, an unload or a new worker takes none away. A record that had to leave one out says that it
is not available, which is not the same as empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from synapse_engines.readout import Readout
from synapse_service.lanes.model import LaneModel
from synapse_service.logs import get_logger
from synapse_service.workers.watch import NOBODY, WorkerWatch
from synapse_wire.errors import SynapseError
from synapse_wire.results import CertifyObservations, Observation

MAX_INVENTORIES: Final = 10_000
"""More than a certification ever sees; each takes some hundred bytes of memory."""

RESIDENT_ENGINES: Final = frozenset({"ane"})
"""Engines whose workers are admitted to the Neural Engine. All others have no inventory, in all completeness."""

_log = get_logger(__name__)


class Observations:
    """The record of one service process. Used on the event loop only. ``enabled`` is whether anything is kept."""

    def __init__(self, *, enabled: bool, max_inventories: int = MAX_INVENTORIES) -> None:
        self.enabled = enabled
        self._max_inventories = max_inventories
        self._requests: dict[str, int] = {}
        self._inventories: list[dict[str, Any]] = []
        self._admitted = 0
        self._complete = True

    def watch(self, model: LaneModel) -> WorkerWatch:
        """What a worker of this lane reports to."""
        return _LaneWatch(self, model) if self.enabled else NOBODY

    def admitted(self, model: LaneModel) -> None:
        """The loader has accepted a worker of this lane."""
        if self.enabled and model.engine in RESIDENT_ENGINES:
            self._admitted += 1

    def requested(self, lane_id: str) -> None:
        """A worker was asked to compute."""
        self._requests[lane_id] = self._requests.get(lane_id, 0) + 1

    def inventory(self, model: LaneModel, facts: Mapping[str, str]) -> None:
        """A worker on the Neural Engine said what it holds there."""
        if model.engine not in RESIDENT_ENGINES:
            return
        if len(self._inventories) >= self._max_inventories:
            if self._complete:
                _log.warning("observations_incomplete", inventories=len(self._inventories))
            self._complete = False
            return
        self._inventories.append(
            {"lane_id": model.lane_id, "fingerprint": model.fingerprint, "admission": len(self._inventories) + 1}
            | {"facts": dict(facts)}
        )

    def snapshot(self) -> CertifyObservations:
        """Everything so far; raises ``certify_observation_disabled``."""
        if not self.enabled:
            raise SynapseError(
                "certify_observation_disabled",
                "nothing is observed; only a certification turns the setting certify_observation on, and restarts",
            )
        return CertifyObservations(
            available=self._complete,
            inventories=list(self._inventories),
            worker_requests=dict(self._requests),
            admitted_count=self._admitted,
        )

    def block(self, input_ids: list[list[int]], readout: Readout | None = None) -> Observation:
        """What a result says about the rows that the engine got.

        ``readout`` is that of a lane that scores; where it reads two tokens, they are named.
        """
        token_ids = [] if readout is None else list(readout.token_ids)
        return Observation(input_ids=input_ids, readout_ids=token_ids or msgspec.UNSET)


class _LaneWatch:
    """One lane's workers as they report to the record."""

    def __init__(self, observations: Observations, model: LaneModel) -> None:
        self._observations = observations
        self._model = model

    def ready(self, facts: Mapping[str, str]) -> None:
        """A worker answered its load."""
        self._observations.inventory(self._model, facts)

    def requested(self) -> None:
        """A worker was asked to compute."""
        self._observations.requested(self._model.lane_id)
