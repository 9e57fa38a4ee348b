"""Results of the operations on the blob store."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from synapse_wire.results.base import Result


class ModelPin(Result, frozen=True, kw_only=True):
    """One file that is kept, and for whom."""

    owner: str
    blob: str


class CachePins(Result, frozen=True, kw_only=True):
    pins: list[ModelPin]


class BlobHolder(Result, frozen=True, kw_only=True):
    """Who needs a stored file: a registration, an installation, a pin, a loaded model or a job."""

    kind: str
    model_id: str | UnsetType = UNSET
    catalog_id: str | UnsetType = UNSET
    owner: str | UnsetType = UNSET
    job_id: str | UnsetType = UNSET


class KeptBlob(Result, frozen=True, kw_only=True):
    blob: str
    holders: list[BlobHolder]


class CacheCollected(Result, frozen=True, kw_only=True):
    """``cache.gc``; with ``dry_run`` what would go."""

    freed_bytes: int
    unlinked: list[str]
    kept: list[KeptBlob]


class ModelUsage(Result, frozen=True, kw_only=True):
    """What one model takes on the disk, in bytes; it has a ``catalog_id`` or a ``model_id``.

    ``shared_bytes`` belong to other models too, ``reclaimable_bytes`` are those that its removal gives back.
    """

    catalog_id: str | UnsetType = UNSET
    model_id: str | UnsetType = UNSET
    used_bytes: int
    shared_bytes: int
    reclaimable_bytes: int
    pinned: bool


class CacheUsage(Result, frozen=True, kw_only=True):
    """The disk, as far as model files are concerned, in bytes."""

    path: str
    used_bytes: int
    reclaimable_bytes: int
    arriving_bytes: int
    quarantined_bytes: int
    free_bytes: int
    limit_bytes: int
    models: list[ModelUsage]
