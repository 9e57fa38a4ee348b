"""Results of the operations on equivalences."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType

from synapse_wire.results.base import Result


class AliasChanged(Result, frozen=True, kw_only=True):
    """``alias.declare`` and ``alias.retract``; ``table_epoch`` is the epoch after it."""

    module_generation: int
    changed: bool
    table_epoch: int


class AliasRow(Result, frozen=True, kw_only=True):
    """A pair that stands, in ``models.list``; ``table_epoch`` is the epoch that began with it."""

    left: str
    right: str
    evidence: dict[str, Any]
    declared_at_ms: int
    table_epoch: int


class IndexChecked(Result, frozen=True, kw_only=True):
    """``aliases.check_index``: ``valid``, or ``migration_required`` with the two members in the middle."""

    status: str
    retracted_pair: list[str] | UnsetType = UNSET
    rebuild_target: str | UnsetType = UNSET
    table_epoch: int
