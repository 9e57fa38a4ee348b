"""The ledger of certifications on this machine: may a probe-gated lane serve?

A row is keyed by machine and fingerprint, so a changed model, engine or operating system has none. A later outcome
replaces an earlier one and affects only what is asked from then on; vectors that were given out stay valid.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, Protocol

import msgspec

from synapse_service.lanes.lane import Lane
from synapse_service.lanes.model import LaneModel, Task
from synapse_wire.errors import SynapseError

Status = Literal["certified", "uncertified"]


class Conditions(msgspec.Struct, frozen=True, kw_only=True):
    """What speed depends on though numbers don't. ``threads`` is of a lane on the processor, None for others."""

    kernel: str
    threads: int | None


class Performance(msgspec.Struct, frozen=True, kw_only=True):
    """What a probe measured: loading from nothing, speed over the fixture, and the median for one short row."""

    cold_load_ms: float
    tokens_per_second: float
    latency_ms: float
    conditions: Conditions


class Certification(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one probe."""

    fingerprint: str
    model_id: str
    task: Task = "embed"
    status: Status
    blocking_reason: str | None
    evidence: dict[str, Any]
    performance: Performance | None
    fixture_revision: int
    os_build: str
    module_generation: int
    measured_ms: int


class CertificationRecords(Protocol):
    """Where outcomes are kept."""

    async def save(self, machine_id: str, certification: Certification) -> None: ...


class CertificationLedger:
    """Outcomes by fingerprint, for one machine. ``conditions`` are those under which a lane would be loaded now."""

    def __init__(
        self,
        records: CertificationRecords,
        machine_id: str,
        fixture_revisions: Mapping[Task, int],
        conditions: Callable[[LaneModel], Conditions],
    ) -> None:
        self._records = records
        self._machine_id = machine_id
        self._fixture_revisions = fixture_revisions
        self._conditions = conditions
        self._outcomes: dict[str, Certification] = {}

    def restore(self, outcomes: list[Certification]) -> None:
        """Bring back what earlier processes measured on this machine."""
        self._outcomes = {outcome.fingerprint: outcome for outcome in outcomes}

    def outcome(self, fingerprint: str) -> Certification | None:
        """The last outcome, whatever it was."""
        return self._outcomes.get(fingerprint)

    def stale(self, outcome: Certification) -> bool:
        """True when the probe has changed since: the outcome no longer says what it should."""
        return outcome.fixture_revision != self._fixture_revisions[outcome.task]

    def performance_stale(self, lane: Lane) -> bool:
        """True when a lane's speed was measured by another probe, or under other conditions than hold now."""
        outcome = self.outcome(lane.fingerprint)
        if outcome is None or outcome.performance is None:
            return False
        return self.stale(outcome) or outcome.performance.conditions != self._conditions(lane.model)

    def certified(self, fingerprint: str) -> bool:
        """True when current evidence says that the lane's numbers are right on this machine."""
        outcome = self.outcome(fingerprint)
        return outcome is not None and outcome.status == "certified" and not self.stale(outcome)

    def require(self, lane: Lane) -> None:
        """Let a certified lane pass; raises ``probe_required`` or ``not_certified``."""
        outcome = self.outcome(lane.fingerprint)
        if outcome is None:
            raise SynapseError(
                "probe_required",
                f"{lane.lane_id} has not been proven on this machine; run probe.start on it",
                details={"model_id": lane.lane_id},
            )
        if not self.certified(lane.fingerprint):
            reason = "stale" if self.stale(outcome) else outcome.blocking_reason or "uncertified"
            raise SynapseError(
                "not_certified",
                f"{lane.lane_id} is not certified on this machine ({reason}); run probe.start on it again",
                details={"model_id": lane.lane_id, "reason": reason},
            )

    async def record(self, outcome: Certification) -> None:
        """Keep an outcome; it counts from the moment it is on disk."""
        await self._records.save(self._machine_id, outcome)
        self._outcomes[outcome.fingerprint] = outcome
