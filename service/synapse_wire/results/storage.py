"""Results of the operations on the folder of the models."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType

from synapse_wire.results.base import Result


class StorageMove(Result, frozen=True, kw_only=True):
    """A change of the folder.

    ``corrupt`` are files that were not what their names say, ``missing`` those that an adopted folder lacked. A move
    that is done has an ``error`` when the old folder could not be emptied.
    """

    move_id: str
    mode: str
    state: str
    from_path: str
    to_path: str
    files_done: int
    files_total: int
    bytes_done: int
    bytes_total: int
    started_ms: int
    corrupt: list[str]
    missing: list[str]
    rate: float | UnsetType = UNSET
    eta_ms: int | UnsetType = UNSET
    error: dict[str, Any] | UnsetType = UNSET


class StorageStatus(Result, frozen=True, kw_only=True):
    """Where the models are, and whether they are there; ``move`` is the latest one of this process."""

    path: str
    default_path: str
    state: str
    store_id: str | UnsetType = UNSET
    error: dict[str, Any] | UnsetType = UNSET
    move: StorageMove | UnsetType = UNSET
