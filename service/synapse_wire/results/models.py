"""Results of the operations on models and their lanes."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from synapse_wire.results.aliases import AliasRow
from synapse_wire.results.base import Result


class ModelLoadAccepted(Result, frozen=True, kw_only=True):
    job_id: str
    model_id: str
    state: str


class SelfCheckState(Result, frozen=True, kw_only=True):
    """A lane's self-check; on a lane of the catalog with the check's identity, and once it ran with its figures."""

    state: str
    check_id: str | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    evidence: dict[str, Any] | UnsetType = UNSET


class RecommendedBatch(Result, frozen=True, kw_only=True):
    rows: int
    token_budget: int


class ModelRow(Result, frozen=True, kw_only=True):
    """One lane in ``models.list``, also the answer of ``model.status`` for a model id."""

    model_id: str
    task: str
    engine: str
    state: str
    fingerprint: str
    max_tokens: int
    max_tokens_source: str
    dtype: str
    device_class: str
    overlength: str
    pinned: bool = False
    self_check: SelfCheckState
    certified: bool | UnsetType = UNSET
    serving_admission: str | UnsetType = UNSET
    serving_admission_reason: str | UnsetType = UNSET
    dims: int | UnsetType = UNSET
    recommended_batch: RecommendedBatch | UnsetType = UNSET
    warm_load_cost_hint_ms: float | UnsetType = UNSET
    bucket_ladder: list[int] | UnsetType = UNSET
    prompts: dict[str, str] | UnsetType = UNSET
    score_kind: str | UnsetType = UNSET
    paused_until_ms: int | UnsetType = UNSET
    pause_reason: str | UnsetType = UNSET
    equivalent_to: list[str] = msgspec.field(default_factory=list)
    last_error: dict[str, Any] | UnsetType = UNSET


class ModelsList(Result, frozen=True, kw_only=True):
    module_generation: int
    table_epoch: int
    models: list[ModelRow]
    aliases: list[AliasRow]


class ModelUnloaded(Result, frozen=True, kw_only=True):
    module_generation: int
    model_id: str
    fingerprint: str
    state: str
    engine: str
    task: str
