"""Certifications in the database; implements ``ledger.CertificationRecords``."""

from __future__ import annotations

from typing import Any

import msgspec

from synapse_service.certify.ledger import Certification
from synapse_service.certify.ledger import Performance as PerformanceFigures
from synapse_service.lanes.model import Task
from synapse_service.store.database import Store
from synapse_service.store.models import Certification as CertificationRow
from synapse_service.store.models import Performance


class _Evidence(msgspec.Struct, frozen=True):
    fixture_revision: int
    task: Task
    evidence: dict[str, Any]


class StoredCertifications:
    """Outcomes as rows: what was proven, and beside it what was measured."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def load_all(self, machine_id: str) -> list[Certification]:
        """Every outcome on one machine. Blocks; for boot."""
        return self._store.read_sync(lambda: self._load_all(machine_id))

    async def save(self, machine_id: str, certification: Certification) -> None:
        """Write or replace an outcome, in one transaction."""
        await self._store.write(lambda: self._save(machine_id, certification))

    def _load_all(self, machine_id: str) -> list[Certification]:
        figures = {
            row.fingerprint: msgspec.json.decode(row.figures, type=PerformanceFigures)
            for row in Performance.select().where(Performance.machine_id == machine_id)
        }
        outcomes = []
        for row in CertificationRow.select().where(CertificationRow.machine_id == machine_id):
            kept = msgspec.json.decode(row.evidence, type=_Evidence)
            outcomes.append(
                Certification(
                    fingerprint=row.fingerprint,
                    model_id=row.model_id,
                    task=kept.task,
                    status="certified" if row.status == "certified" else "uncertified",
                    blocking_reason=row.blocking_reason,
                    evidence=kept.evidence,
                    performance=figures.get(row.fingerprint),
                    fixture_revision=kept.fixture_revision,
                    os_build=row.os_build,
                    module_generation=row.module_generation,
                    measured_ms=row.certified_ms,
                )
            )
        return outcomes

    def _save(self, machine_id: str, outcome: Certification) -> None:
        evidence = _Evidence(outcome.fixture_revision, outcome.task, outcome.evidence)
        CertificationRow.insert(
            machine_id=machine_id,
            fingerprint=outcome.fingerprint,
            model_id=outcome.model_id,
            status=outcome.status,
            blocking_reason=outcome.blocking_reason,
            evidence=msgspec.json.encode(evidence).decode(),
            os_build=outcome.os_build,
            module_generation=outcome.module_generation,
            certified_ms=outcome.measured_ms,
        ).on_conflict_replace().execute()
        if outcome.performance is None:
            Performance.delete().where(
                Performance.machine_id == machine_id, Performance.fingerprint == outcome.fingerprint
            ).execute()
            return
        Performance.insert(
            machine_id=machine_id,
            fingerprint=outcome.fingerprint,
            model_id=outcome.model_id,
            figures=msgspec.json.encode(outcome.performance).decode(),
            os_build=outcome.os_build,
            module_generation=outcome.module_generation,
            measured_ms=outcome.measured_ms,
        ).on_conflict_replace().execute()
