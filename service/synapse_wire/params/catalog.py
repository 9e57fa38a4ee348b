"""Parameters of the operations on the catalog, its downloads and the blob store."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from synapse_wire.params.base import Label, Name, Params


class ModelsCatalog(Params, frozen=True, kw_only=True):
    """``models.catalog``: the filters narrow the list together; an absent one narrows nothing."""

    query: str | None = None
    task: Literal["embed", "rerank", "generate"] | None = None
    runnable_here: bool | None = None
    installed: bool | None = None


class ModelsDownload(Params, frozen=True, kw_only=True):
    """``models.download``; a blank ``request_key`` counts as absent."""

    catalog_id: Name
    request_key: Label | None = None


class CatalogRef(Params, frozen=True, kw_only=True):
    """An operation about one model of the catalog."""

    catalog_id: Name


class CachePin(Params, frozen=True, kw_only=True):
    """``cache.pin``: exactly one of the two ids. A blank ``owner`` counts as absent."""

    pinned: bool
    model_id: Name | None = None
    catalog_id: Name | None = None
    owner: Label | None = None

    def __post_init__(self) -> None:
        if (self.model_id is None) == (self.catalog_id is None):
            raise ValueError("give exactly one of `model_id` and `catalog_id` - at `$.model_id`")


class CacheGc(Params, frozen=True, kw_only=True):
    """``cache.gc``; with ``dry_run`` nothing is removed."""

    dry_run: bool | None = None


class DownloadsList(Params, frozen=True, kw_only=True):
    """``downloads.list``: the newest downloads first."""

    limit: Annotated[int, Meta(ge=1, le=1000)] | None = None
