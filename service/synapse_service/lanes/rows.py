"""A lane as a row of ``models.list``: what it is, what it takes, and in which state it is."""

from __future__ import annotations

import msgspec

from synapse_service.certify.ledger import CertificationLedger
from synapse_service.lanes.lane import Lane
from synapse_wire.results import ModelRow, RecommendedBatch, SelfCheckState

DEVICE_CLASSES = {"owned-cpu": "cpu", "owned-metal": "metal", "owned-cuda": "cuda", "ane": "ane"}


def model_row(lane: Lane, ledger: CertificationLedger, batch: RecommendedBatch) -> ModelRow:
    """One row. ``batch`` is the advice for lanes whose speed has been measured."""
    registration = lane.registration
    manifest = registration.manifest
    outcome = ledger.outcome(lane.fingerprint)
    measured = outcome is not None and outcome.performance is not None
    return ModelRow(
        model_id=lane.lane_id,
        task=manifest.task,
        engine=manifest.engine,
        state="quarantined" if lane.quarantine.active else lane.state,
        fingerprint=lane.fingerprint,
        max_tokens=registration.max_tokens,
        max_tokens_source="catalog" if lane.state == "ready" else "catalog_unloaded",
        dtype=manifest.dtype,
        device_class=DEVICE_CLASSES[manifest.engine],
        overlength=manifest.overlength,
        self_check=SelfCheckState(state="not_applicable"),
        certified=ledger.certified(lane.fingerprint),
        dims=registration.dims,
        recommended_batch=batch if measured else msgspec.UNSET,
        warm_load_cost_hint_ms=msgspec.UNSET if lane.load_ms is None else round(lane.load_ms, 1),
        last_error=msgspec.UNSET if lane.last_error is None else msgspec.to_builtins(lane.last_error.to_wire()),
    )
