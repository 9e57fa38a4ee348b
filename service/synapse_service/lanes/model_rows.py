"""A lane as a row of ``models.list``: what it is, what it takes, and in which state it is."""

from __future__ import annotations

import msgspec

from synapse_service.certify.ledger import CertificationLedger
from synapse_service.lanes.lane import Lane
from synapse_wire.results import ModelRow, RecommendedBatch, SelfCheckState

DEVICE_CLASSES = {"owned-cpu": "cpu", "owned-metal": "metal", "owned-cuda": "cuda", "ane": "ane"}


def model_row(
    lane: Lane, ledger: CertificationLedger, batch: RecommendedBatch, pinned: bool, equivalent_to: list[str]
) -> ModelRow:
    """One row. ``batch`` is the advice for lanes whose speed was measured, ``pinned`` whether the files are kept."""
    model = lane.model
    row = ModelRow(
        model_id=lane.lane_id,
        task=model.task,
        engine=model.engine,
        state="quarantined" if lane.quarantine.active else lane.state,
        fingerprint=lane.fingerprint,
        max_tokens=model.max_tokens,
        max_tokens_source=_max_tokens_source(lane),
        dtype=model.profile.dtype,
        device_class=DEVICE_CLASSES[model.engine],
        overlength=model.overlength,
        pinned=pinned,
        self_check=SelfCheckState(state="not_applicable"),
        dims=model.dims or msgspec.UNSET,
        bucket_ladder=list(model.ladder) if model.ladder and lane.state == "ready" else msgspec.UNSET,
        warm_load_cost_hint_ms=msgspec.UNSET if lane.load_ms is None else round(lane.load_ms, 1),
        prompts=dict(model.prompts) or msgspec.UNSET,
        score_kind=msgspec.UNSET if model.readout is None else model.readout.kind,
        equivalent_to=equivalent_to,
        last_error=msgspec.UNSET if lane.last_error is None else msgspec.to_builtins(lane.last_error.to_wire()),
    )
    pause = lane.pause
    if pause is not None:
        row = msgspec.structs.replace(row, paused_until_ms=pause.paused_until_ms, pause_reason=pause.reason)
    if lane.self_check is None:
        return _probed(row, ledger, batch)
    if not lane.self_check.of_catalog:
        return msgspec.structs.replace(row, self_check=lane.self_check.outcome, certified=lane.self_check.passed)
    # For one release two members of free-form rows say of the catalog's lanes what self_check says.
    refuses = lane.self_check.failed
    return msgspec.structs.replace(
        row,
        self_check=lane.self_check.outcome,
        certified=lane.self_check.passed,
        serving_admission="disabled" if refuses else "enabled",
        serving_admission_reason="self_check_failed" if refuses else msgspec.UNSET,
    )


def _max_tokens_source(lane: Lane) -> str:
    if lane.state != "ready":
        return "catalog_unloaded"
    return "worker_bucket" if lane.model.ladder else "catalog"


def _probed(row: ModelRow, ledger: CertificationLedger, batch: RecommendedBatch) -> ModelRow:
    outcome = ledger.outcome(row.fingerprint)
    measured = outcome is not None and outcome.performance is not None
    return msgspec.structs.replace(
        row,
        certified=ledger.certified(row.fingerprint),
        recommended_batch=batch if measured else msgspec.UNSET,
    )
