"""How much of the disk the models take, and what removing each of them would give back."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import UNSET

from synapse_service.catalog.collector import Survey
from synapse_wire.results import BlobHolder, ModelUsage

_MODELS = ("install", "registration")
"""Holders that are models, those of the catalog first. What others hold stays when a model goes."""

_Model = tuple[int, str]
"""Position of the kind in ``_MODELS``, and the id."""


def usage(survey: Survey) -> list[ModelUsage]:
    """One row for each installed or registered model, those of the catalog first, by id."""
    blobs: dict[_Model, set[str]] = {}
    for sha256, holders in survey.holders.items():
        for holder in holders:
            if holder.kind in _MODELS:
                blobs.setdefault(_model(holder), set()).add(sha256)
    return [_row(model, blobs[model], survey) for model in sorted(blobs)]


def _row(model: _Model, blobs: Iterable[str], survey: Survey) -> ModelUsage:
    used = shared = reclaimable = 0
    pinned = False
    for sha256 in blobs:
        size, holders = survey.sizes.get(sha256, 0), survey.holders[sha256]
        others = [holder for holder in holders if holder.kind not in _MODELS or _model(holder) != model]
        used += size
        shared += size if any(holder.kind in _MODELS for holder in others) else 0
        reclaimable += 0 if others else size
        pinned = pinned or any(holder.kind == "pin" for holder in others)
    kind, name = model
    installed = _MODELS[kind] == "install"
    return ModelUsage(
        catalog_id=name if installed else UNSET,
        model_id=UNSET if installed else name,
        used_bytes=used,
        shared_bytes=shared,
        reclaimable_bytes=reclaimable,
        pinned=pinned,
    )


def _model(holder: BlobHolder) -> _Model:
    name = holder.catalog_id if holder.kind == "install" else holder.model_id
    return _MODELS.index(holder.kind), str(name)
