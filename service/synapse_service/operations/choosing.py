"""Which lane serves a request, or why none does; the same for every operation that computes.

What is wrong is found in this order, and nothing is loaded or read for a request that is refused:

1. nothing has this name: ``unknown_model``, or ``substitution_rejected`` for a fingerprint
2. the model is for another task: ``invalid_request``
3. the table of equivalences has another epoch: ``migration_required``
4. another fingerprint was demanded: ``substitution_rejected``, or ``not_certified`` where an equivalent would do and
   the lane that has it isn't certified
5. the lane can't run here: ``backend_unavailable`` or ``owned_cuda_unsupported``; isn't installed:
   ``model_not_installed``
6. the lane is paused: ``lane_paused``
7. it isn't trusted: ``self_check_failed``, ``engine_crashed``, ``probe_required`` or ``not_certified``

An equivalent may serve where the caller accepts one: with ``allow_equivalent`` for ``required_fingerprint`` and for a
fingerprint in the place of the model, and always for ``target_fingerprint``. A model that was named by its id is never
exchanged; its lane serves or nothing does. Nothing stands in for a fingerprint of the catalog, or the catalog for one.
"""

from __future__ import annotations

from synapse_service.aliases.table import AliasTable
from synapse_service.catalog.compiled import CatalogEntry
from synapse_service.certify.ledger import CertificationLedger
from synapse_service.lanes.fingerprint import FINGERPRINT_PREFIX
from synapse_service.lanes.lane import Lane
from synapse_service.lanes.model import Task
from synapse_service.lanes.refusals import other_fingerprint, quarantined
from synapse_service.lanes.registry import LaneRegistry
from synapse_wire import params as p
from synapse_wire.errors import SynapseError, invalid_state


class LaneChoice:
    """Chooses lanes; one for the service."""

    def __init__(self, *, lanes: LaneRegistry, certifications: CertificationLedger, aliases: AliasTable) -> None:
        self._lanes = lanes
        self._certifications = certifications
        self._aliases = aliases

    def choose(self, model: str, task: Task, constraints: p.Constraints, target: str | None = None) -> Lane:
        """The lane that serves ``model``; ``target`` is a second fingerprint that it has to have or stand in for."""
        fingerprints = [each for each in (constraints.required_fingerprint, target) if each is not None]
        name = self._lanes.catalog.named(model)
        if name is not None:
            if name.entry.spec.task != task:
                raise _wrong_task(name.entry, task)
            self._require_epoch(constraints)
            lane = self._lanes.catalog.chosen(name, fingerprints)
        else:
            lane = self._free_form(model, constraints)
            if lane.model.task != task:
                raise _wrong_lane(lane, task)
            self._require_epoch(constraints)
            stands_in = self._stands_in(lane, model, constraints, target)
            if stands_in and not self._certified(lane):
                lane.use.refuse()
                raise _equivalent_not_certified(lane)
        try:
            lane.require_device()
            lane.require_unpaused()
            self._require_trust(lane)
        except SynapseError:
            lane.use.refuse()
            raise
        return lane

    def confirm(self, lane: Lane, model: str, constraints: p.Constraints, target: str | None = None) -> None:
        """Look at the table of equivalences again, before a result of the chosen lane is given away.

        A pair may have been retracted while it was computed, and then the result must not go out under it. Raises
        ``migration_required`` and ``substitution_rejected``. That the lane was certified when it was chosen is enough.
        """
        self._require_epoch(constraints)
        if lane.model.catalog_id is None:
            self._stands_in(lane, model, constraints, target)

    def _free_form(self, model: str, constraints: p.Constraints) -> Lane:
        """The lane of a name that isn't the catalog's, or of an equivalent fingerprint if no lane has the one named."""
        if model.startswith(FINGERPRINT_PREFIX) and constraints.allow_equivalent:
            stand_ins = [] if self._lanes.with_fingerprint(model) else self._equivalents(model)
            if stand_ins:
                return min(stand_ins, key=self._distrust)
        return self._lanes.serving(model)

    def _equivalents(self, fingerprint: str) -> list[Lane]:
        if self._lanes.catalog.owns(fingerprint):
            return []
        partners = self._aliases.equivalents(fingerprint)
        lanes = [self._lanes.with_fingerprint(each) for each in partners if not self._lanes.catalog.owns(each)]
        return [lane for lane in lanes if lane is not None]

    def _distrust(self, lane: Lane) -> tuple[bool, bool]:
        return (not self._certified(lane), lane.quarantine.active)

    def _certified(self, lane: Lane) -> bool:
        check = lane.self_check
        return self._certifications.certified(lane.fingerprint) if check is None else check.passed

    def _stands_in(self, lane: Lane, model: str, constraints: p.Constraints, target: str | None) -> bool:
        """Whether the lane serves as the equivalent of a fingerprint that was demanded.

        Raises ``substitution_rejected`` for one that it neither has nor may stand for.
        """
        allowed = bool(constraints.allow_equivalent)
        named = model if model.startswith(FINGERPRINT_PREFIX) else None
        demands = ((named, allowed), (constraints.required_fingerprint, allowed), (target, True))
        foreign = [(wanted, may) for wanted, may in demands if wanted is not None and wanted != lane.fingerprint]
        for wanted, may in foreign:
            if not may or self._lanes.catalog.owns(wanted) or not self._aliases.equivalent(wanted, lane.fingerprint):
                raise other_fingerprint(lane.lane_id, lane.fingerprint, wanted)
        return bool(foreign)

    def _require_epoch(self, constraints: p.Constraints) -> None:
        required, epoch = constraints.required_epoch, self._aliases.epoch
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


def _equivalent_not_certified(lane: Lane) -> SynapseError:
    return SynapseError(
        "not_certified",
        f"{lane.lane_id} is an equivalent of the fingerprint that was demanded, and isn't certified on this machine; "
        "run probe.start on it",
        details={"model_id": lane.lane_id},
    )


def _wrong_task(entry: CatalogEntry, task: Task) -> SynapseError:
    return invalid_state(
        f"{entry.id} is a model for {entry.spec.task}, not for {task}",
        catalog_id=entry.id,
        requested_task=task,
        catalog_task=entry.spec.task,
    )
