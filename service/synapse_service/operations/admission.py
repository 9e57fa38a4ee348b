"""``admission.status``: how busy the lanes are and how jobs have fared, as a snapshot to look at."""

from __future__ import annotations

from collections.abc import Callable

from synapse_service.certify.knobs import Knob
from synapse_service.certify.ledger import CertificationLedger
from synapse_service.jobs.book import JobBook
from synapse_service.lanes.lane import Lane
from synapse_service.lanes.registry import LaneRegistry
from synapse_service.server.router import Call, Router
from synapse_wire import params as p
from synapse_wire import results as r


class AdmissionOperations:
    """The one operation about admission."""

    def __init__(
        self, *, lanes: LaneRegistry, book: JobBook, ledger: CertificationLedger, knob: Callable[[], Knob]
    ) -> None:
        self._lanes = lanes
        self._book = book
        self._ledger = ledger
        self._knob = knob

    def register(self, router: Router) -> None:
        """Serve the operation."""
        router.add_inline("admission.status", self.status)

    def status(self, call: Call, params: p.NoParams) -> r.AdmissionStatus:
        """The snapshot."""
        lanes = self._lanes.visible()
        gated = [lane for lane in lanes if lane.self_check is None]
        outcomes = [outcome for lane in gated if (outcome := self._ledger.outcome(lane.fingerprint)) is not None]
        stale = sum(self._ledger.stale(outcome) for outcome in outcomes)
        counters = self._book.counters
        return r.AdmissionStatus(
            queues=r.QueueDepths(
                interactive=sum(lane.queue.depth("interactive") for lane in lanes),
                bulk=sum(lane.queue.depth("bulk") for lane in lanes),
            ),
            knob=self._knob(),
            jobs_minted=counters.minted,
            jobs_completed=counters.completed,
            jobs_failed=counters.failed,
            jobs_inherited=counters.inherited,
            jobs_open=counters.open,
            catalog_lanes=len(lanes),
            certified_lanes=sum(self._ledger.certified(lane.fingerprint) for lane in gated),
            certification_stale=stale,
            performance_stale=sum(self._ledger.performance_stale(lane) for lane in gated),
            lanes=[_admission(lane) for lane in lanes if lane.state == "ready"],
        )


def _admission(lane: Lane) -> r.LaneAdmission:
    return r.LaneAdmission(
        lane_id=lane.lane_id,
        meeting_deadlines=lane.punctuality.meeting_deadlines,
        start_delay_ms=round(lane.punctuality.start_delay_ms, 1),
        waiters=lane.queue.depth("interactive") + lane.queue.depth("bulk"),
        in_flight=lane.in_flight,
    )
