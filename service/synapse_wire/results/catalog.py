"""Results of the operations on the catalog and its downloads."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType

from synapse_wire.results.base import Result
from synapse_wire.results.models import SelfCheckState


class CatalogUpstream(Result, frozen=True, kw_only=True):
    hf_repo: str
    revision: str


class CatalogBackend(Result, frozen=True, kw_only=True):
    """One lane of a catalog model on this machine."""

    backend: str
    lane_id: str
    fingerprint: str
    runnable: bool
    reason: str | None
    installed: bool
    self_check: SelfCheckState | None


class CatalogModel(Result, frozen=True, kw_only=True):
    """One model in ``models.catalog``; ``backends`` are in the order of preference."""

    id: str
    task: str
    name: str
    description: str
    default_for_task: bool
    upstream: CatalogUpstream
    manifest_digest: str
    download_bytes: int
    install_state: str
    backends: list[CatalogBackend]


class ModelsCatalog(Result, frozen=True, kw_only=True):
    catalog_revision: str
    models: list[CatalogModel]


class DownloadStatus(Result, frozen=True, kw_only=True):
    """A download job. Bytes while it is ``downloading``, an error once it ``failed``, ``kind`` in ``model.status``."""

    job_id: str
    kind: str | UnsetType = UNSET
    state: str
    bytes_done: int | UnsetType = UNSET
    bytes_total: int | UnsetType = UNSET
    error: dict[str, Any] | UnsetType = UNSET


class ModelRemoved(Result, frozen=True, kw_only=True):
    """``models.remove``: the manifests that were installed, and the bytes that went back to the disk."""

    catalog_id: str
    removed_manifests: list[str]
    freed_bytes: int


class DownloadRow(Result, frozen=True, kw_only=True):
    """One download in ``downloads.list``. ``rate`` is in bytes a second; it and ``eta_ms`` need a running download."""

    job_id: str
    catalog_id: str
    state: str
    bytes_done: int
    bytes_total: int
    created_ms: int
    client: str | UnsetType = UNSET
    rate: float | UnsetType = UNSET
    eta_ms: int | UnsetType = UNSET
    error: dict[str, Any] | UnsetType = UNSET
    terminal_ms: int | UnsetType = UNSET


class DownloadsList(Result, frozen=True, kw_only=True):
    downloads: list[DownloadRow]
