"""Which lane serves a request, or why none does; the same for every operation that computes.

What is wrong is found in this order, and nothing is loaded or read for a request that is refused:

1. nothing has this name: ``unknown_model``, or ``substitution_rejected`` for a fingerprint
2. the model is for another task: ``invalid_request``
3. the table of equivalences has another epoch: ``migration_required``
4. another fingerprint was demanded: ``substitution_rejected``
5. the lane can't run here: ``backend_unavailable``; isn't installed: ``model_not_installed``
6. it isn't trusted: ``self_check_failed``, ``engine_crashed``, ``probe_required`` or ``not_certified``
"""

from __future__ import annotations

from collections.abc import Callable

from synapse_service.catalog.compiled import CatalogEntry
from synapse_service.certify.ledger import CertificationLedger
from synapse_service.lanes.lane import Lane
from synapse_service.lanes.model import Task
from synapse_service.lanes.refusals import other_fingerprint, quarantined
from synapse_service.lanes.registry import LaneRegistry
from synapse_wire import params as p
from synapse_wire.errors import SynapseError, invalid_state


class LaneChoice:
    """Chooses lanes; one for the service."""

    def __init__(
        self, *, lanes: LaneRegistry, certifications: CertificationLedger, table_epoch: Callable[[], int]
    ) -> None:
        self._lanes = lanes
        self._certifications = certifications
        self._table_epoch = table_epoch

    def choose(self, model: str, task: Task, constraints: p.Constraints, target: str | None = None) -> Lane:
        """The lane that serves ``model``; ``target`` is a second fingerprint that it has to have."""
        fingerprints = [each for each in (constraints.required_fingerprint, target) if each is not None]
        name = self._lanes.catalog.named(model)
        if name is not None:
            if name.entry.spec.task != task:
                raise _wrong_task(name.entry, task)
            self._require_epoch(constraints)
            lane = self._lanes.catalog.chosen(name, fingerprints)
        else:
            lane = self._lanes.serving(model)
            if lane.model.task != task:
                raise _wrong_lane(lane, task)
            self._require_epoch(constraints)
            for wanted in fingerprints:
                if wanted != lane.fingerprint:
                    raise other_fingerprint(lane.lane_id, lane.fingerprint, wanted)
        self._require_trust(lane)
        return lane

    def _require_epoch(self, constraints: p.Constraints) -> None:
        required, epoch = constraints.required_epoch, self._table_epoch()
        if required is not None and required != epoch:
            raise SynapseError(
                "migration_required",
                f"the alias table is at epoch {epoch}, not {required}; check your index against it",
                details={"required_epoch": required, "table_epoch": epoch},
            )

    def _require_trust(self, lane: Lane) -> None:
        if lane.self_check is not None:
            lane.self_check.require()
        if lane.quarantine.active:
            raise quarantined(lane.lane_id, lane.quarantine)
        if lane.self_check is None:
            self._certifications.require(lane)


def _wrong_lane(lane: Lane, task: Task) -> SynapseError:
    return invalid_state(
        f"{lane.lane_id} is a model for {lane.model.task}, not for {task}",
        model_id=lane.lane_id,
        requested_task=task,
        model_task=lane.model.task,
    )


def _wrong_task(entry: CatalogEntry, task: Task) -> SynapseError:
    return invalid_state(
        f"{entry.id} is a model for {entry.spec.task}, not for {task}",
        catalog_id=entry.id,
        requested_task=task,
        catalog_task=entry.spec.task,
    )
