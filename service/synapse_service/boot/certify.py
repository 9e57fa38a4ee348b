"""The part of the composition root that opens the ledger of certifications.

``assembly`` calls :func:`open_ledger` once, before the lanes.
"""

from __future__ import annotations

from collections.abc import Callable

from synapse_service.boot.lanes import lane_threads
from synapse_service.certify.fixture import fixture_revisions
from synapse_service.certify.ledger import CertificationLedger, Conditions
from synapse_service.certify.machine import MachineProfile
from synapse_service.certify.records import StoredCertifications
from synapse_service.lanes.model import LaneModel
from synapse_service.settings.declared import Settings
from synapse_service.store.database import Store


def open_ledger(store: Store, machine: MachineProfile, settings: Callable[[], Settings]) -> CertificationLedger:
    """The ledger with what earlier processes measured on this machine. Blocks; for boot."""

    def conditions(model: LaneModel) -> Conditions:
        threads = lane_threads(model, settings()) if model.engine == "owned-cpu" else None
        return Conditions(kernel=machine.kernel, threads=threads)

    records = StoredCertifications(store)
    ledger = CertificationLedger(records, machine.id, fixture_revisions(), conditions)
    ledger.restore(records.load_all(machine.id))
    return ledger
