"""``probe.start``, ``probe.status`` and ``probe.report``: prove a lane on this machine, on request and only then."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from synapse_service.certify.knobs import Knob, Measured, assign
from synapse_service.certify.ledger import CertificationLedger
from synapse_service.certify.machine import MachineProfile
from synapse_service.certify.probe import Probes
from synapse_service.jobs.book import JobBook
from synapse_service.lanes.lane import Lane
from synapse_service.lanes.model_rows import DEVICE_CLASSES
from synapse_service.lanes.registry import LaneRegistry
from synapse_service.lanes.self_check_runs import LaneSelfCheck
from synapse_service.server.router import Call, Router
from synapse_wire import params as p
from synapse_wire import results as r
from synapse_wire.errors import invalid_state


class ProbeOperations:
    """The operations about certification."""

    def __init__(
        self,
        *,
        lanes: LaneRegistry,
        jobs: JobBook,
        probes: Probes,
        ledger: CertificationLedger,
        machine: MachineProfile,
        knob: Callable[[], Knob],
        module_generation: int,
    ) -> None:
        self._lanes = lanes
        self._jobs = jobs
        self._probes = probes
        self._ledger = ledger
        self._machine = machine
        self._knob = knob
        self._generation = module_generation

    def register(self, router: Router) -> None:
        """Serve the operations."""
        router.add("probe.start", self.start)
        router.add("probe.status", self.status)
        router.add_inline("probe.report", self.report)

    async def start(self, call: Call, params: p.ModelRef) -> r.JobAccepted:
        """Start a probe, or join the one that runs."""
        if params.model_id in self._lanes.catalog.reserved_ids:
            raise invalid_state(
                f"{params.model_id} belongs to the catalog, whose lanes check themselves when they load",
                model_id=params.model_id,
            )
        lane = self._lanes.get(params.model_id)
        lane.require_device()
        if lane.model.ladder:
            raise invalid_state(
                f"{lane.lane_id} is a package set, whose packages hold no weights that the reference could compute; "
                "register it under a profile",
                model_id=lane.lane_id,
            )
        lane.require_unpaused()
        # Of a lane that was replaced while it was probed, a probe may still be running.
        running = [job for job in self._jobs.live("probe", lane.lane_id) if job.digest == lane.fingerprint]
        job = (
            await self._jobs.join(running[0])
            if running
            else await self._jobs.start(
                "probe",
                lane.lane_id,
                lambda job: self._probes.run(lane, job),
                digest=lane.fingerprint,
                client=call.client_name,
            )
        )
        return r.JobAccepted(job_id=job.job_id, state=job.state)

    async def status(self, call: Call, params: p.JobRef) -> r.JobStatus:
        """How far a probe is."""
        status = await self._jobs.status(params.job_id)
        if status.kind != "probe":
            raise invalid_state(f"job {params.job_id!r} is a {status.kind}, not a probe", job_id=params.job_id)
        return status

    def report(self, call: Call, params: p.ProbeReport) -> r.ProbeReport:
        """What has been proven and measured on this machine."""
        lanes = self._lanes.visible() if params.model_id is None else [self._lanes.get(params.model_id)]
        return r.ProbeReport(
            module_generation=self._generation,
            machine={"machine_id": self._machine.id, **msgspec.to_builtins(self._machine)},
            lanes=[self._lane(lane) for lane in lanes],
            knob=self._knob(),
            knobs=assign([found for lane in self._lanes.visible() if (found := self._measured(lane)) is not None]),
        )

    def _measured(self, lane: Lane) -> Measured | None:
        """What the knobs go by: a lane that is certified, and whose speed is that of today."""
        outcome = self._ledger.outcome(lane.fingerprint)
        if lane.self_check is not None or outcome is None or outcome.performance is None:
            return None
        if not self._ledger.certified(lane.fingerprint) or self._ledger.performance_stale(lane):
            return None
        return Measured(lane.lane_id, lane.model.task, lane.model.engine, outcome.performance.tokens_per_second)

    def _lane(self, lane: Lane) -> r.ProbeLane:
        return self._probed(lane) if lane.self_check is None else self._checked(lane, lane.self_check)

    def _checked(self, lane: Lane, check: LaneSelfCheck) -> r.ProbeLane:
        blocking: str | msgspec.UnsetType = msgspec.UNSET
        if check.failed:
            blocking = "self_check_failed"
        elif lane.quarantine.active:
            blocking = "quarantined"
        return r.ProbeLane(
            model_id=lane.lane_id,
            task=lane.model.task,
            engine=lane.model.engine,
            device_class=DEVICE_CLASSES[lane.model.engine],
            dtype=lane.model.profile.dtype,
            max_tokens=lane.model.max_tokens,
            fingerprint=lane.fingerprint,
            certification_required=False,
            certification_status="not_required",
            serving_admission=None,
            serving_admission_reason=None,
            blocking_reason=blocking,
            self_check=check.outcome,
        )

    def _probed(self, lane: Lane) -> r.ProbeLane:
        outcome = self._ledger.outcome(lane.fingerprint)
        blocking: str | msgspec.UnsetType = msgspec.UNSET
        if lane.quarantine.active:
            blocking = "quarantined"
        elif outcome is None:
            blocking = "probe_required"
        elif self._ledger.stale(outcome):
            blocking = "stale"
        elif outcome.blocking_reason is not None:
            blocking = outcome.blocking_reason
        return r.ProbeLane(
            model_id=lane.lane_id,
            task=lane.model.task,
            engine=lane.model.engine,
            device_class=DEVICE_CLASSES[lane.model.engine],
            dtype=lane.model.profile.dtype,
            max_tokens=lane.model.max_tokens,
            fingerprint=lane.fingerprint,
            certification_required=True,
            certification_status="certified" if self._ledger.certified(lane.fingerprint) else "uncertified",
            serving_admission=None,
            serving_admission_reason=None,
            blocking_reason=blocking,
            certification=msgspec.UNSET
            if outcome is None
            else {
                "status": outcome.status,
                "os_build": outcome.os_build,
                "module_generation": outcome.module_generation,
                "measured_ms": outcome.measured_ms,
                "stale": self._ledger.stale(outcome),
                "evidence": outcome.evidence,
            },
            performance=msgspec.UNSET
            if outcome is None or outcome.performance is None
            else {
                **msgspec.to_builtins(outcome.performance),
                "os_build": outcome.os_build,
                "module_generation": outcome.module_generation,
                "measured_ms": outcome.measured_ms,
                "stale": self._ledger.performance_stale(lane),
            },
        )
