"""Parameter shapes of the operations, strict: an unknown member, a wrong type or a value out of range is refused.

``null`` on an optional member means absent, so every optional member is None when it was not given, and whoever serves
the operation applies the default. Where a class says so, unknown members are tolerated, because the contract does so
for that operation. Bounds that JSON types can't express are checked in ``__post_init__``; the
``ValueError`` it raises becomes a validation error with the member's path.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

SAFE_INT: Final = 2**53 - 1
"""Largest integer that every JSON reader keeps exact."""
DEFAULT_DRAIN_MS: Final = 10_000
DEFAULT_TAIL_LIMIT: Final = 200

NO_CONTROL: Final = r"^[^\x00-\x1f\x7f-\x9f]*\Z"
Name = Annotated[str, Meta(min_length=1, max_length=256, pattern=NO_CONTROL)]
"""An id or a name: not empty, at most 256 characters, no control characters."""
Label = Annotated[str, Meta(max_length=512, pattern=NO_CONTROL)]
Sha256 = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]
Millis = Annotated[int, Meta(ge=0, le=SAFE_INT)]
PositiveMillis = Annotated[int, Meta(ge=1, le=SAFE_INT)]
Count = Annotated[int, Meta(ge=0, le=SAFE_INT)]
Url = Annotated[str, Meta(min_length=1, max_length=4096, pattern=NO_CONTROL)]

VectorEncoding = Literal["json", "base64"]


class Params(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of every strict parameter object."""


class NoParams(Params, frozen=True, kw_only=True):
    """An operation without parameters."""


class Constraints(Params, frozen=True, kw_only=True):
    """What a caller may demand of an inference request. All optional; unset demands nothing.

    ``deadline_ms`` counts from the receipt of the whole line; ``max_queue_ms`` bounds the estimated wait before
    the work starts.
    """

    deadline_ms: PositiveMillis | None = None
    max_queue_ms: Millis | None = None
    required_fingerprint: Name | None = None
    allow_equivalent: bool | None = None
    required_epoch: Count | None = None
    accept_declared: bool | None = None


class EmbedQuery(Constraints, frozen=True, kw_only=True):
    """``embed.query``: one text, the latency path."""

    model: Name
    text: str
    target_fingerprint: Name | None = None
    vector_encoding: VectorEncoding | None = None


class EmbedItem(Params, frozen=True, kw_only=True):
    """One text of a batch with the caller's own id for it."""

    id: Name
    text: str


class EmbedBatch(Constraints, frozen=True, kw_only=True):
    """``embed.batch``: many texts; inline within the budgets."""

    model: Name
    items: Annotated[list[EmbedItem], Meta(min_length=1)]
    request_key: Name | None = None
    vector_encoding: VectorEncoding | None = None

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for index, item in enumerate(self.items):
            if item.id in seen:
                raise ValueError(f"the id {item.id[:64]!r} stands twice - at `$.items[{index}].id`")
            seen.add(item.id)


class FileSpec(Params, frozen=True, kw_only=True):
    """One file of a manifest: where it is, and the SHA-256 of its bytes (lower-case hex)."""

    url: Url
    sha256: Sha256 | None = None


class ModelFiles(Params, frozen=True, kw_only=True):
    """The files of a model: weights, tokenizer, and for package sets the further packages in order."""

    model: FileSpec
    tokenizer: FileSpec
    config: FileSpec | None = None
    extra: Annotated[list[FileSpec], Meta(max_length=64)] | None = None


class ModelLoad(Params, frozen=True, kw_only=True):
    """``model.load``: register a free-form model and fetch its files."""

    model_id: Name
    task: Literal["embed", "rerank", "generate"]
    engine: Name
    source: Literal["hf", "file", "url"]
    files: ModelFiles
    repo: Name | None = None
    revision: Name | None = None
    pooling: Literal["mean", "cls", "last"] | None = None
    normalize: bool | None = None
    dtype: Literal["f32", "f16", "bf16", "int8"] | None = None
    max_tokens: Annotated[int, Meta(ge=1, le=1_048_576)] | None = None
    overlength: Literal["refuse", "truncate"] | None = None
    template: Name | None = None
    profile: Name | None = None


class ModelStatus(Params, frozen=True, kw_only=True):
    """``model.status``: exactly one of the two ids."""

    job_id: Name | None = None
    model_id: Name | None = None

    def __post_init__(self) -> None:
        if (self.job_id is None) == (self.model_id is None):
            raise ValueError("give exactly one of `job_id` and `model_id` - at `$.job_id`")


class ModelUnload(msgspec.Struct, frozen=True, kw_only=True):
    """``model.unload``; further members are tolerated."""

    model_id: Name


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


class ModelRef(Params, frozen=True, kw_only=True):
    """An operation about one model."""

    model_id: Name


class JobRef(Params, frozen=True, kw_only=True):
    """An operation about one job."""

    job_id: Name


class EmbedResult(Params, frozen=True, kw_only=True):
    """``embed.result``: one page of an embedding job."""

    job_id: Name
    cursor: Count | None = None
    max_page_bytes: Annotated[int, Meta(ge=1, le=SAFE_INT)] | None = None


JobState = Literal[
    "queued",
    "running",
    "paused_needs_reauth",
    "done",
    "failed",
    "needs_reauth_expired",
    "downloading",
    "verifying",
    "committed",
    "cancelled",
]
"""The last four are those of downloads."""


class JobsList(Params, frozen=True, kw_only=True):
    """``jobs.list``: the newest jobs first, all of them or those in some states."""

    states: Annotated[list[JobState], Meta(min_length=1, max_length=16)] | None = None
    limit: Annotated[int, Meta(ge=1, le=1000)] | None = None


class DownloadsList(Params, frozen=True, kw_only=True):
    """``downloads.list``: the newest downloads first."""

    limit: Annotated[int, Meta(ge=1, le=1000)] | None = None


class ProbeReport(Params, frozen=True, kw_only=True):
    """``probe.report``: all lanes, or one model's."""

    model_id: Name | None = None


class ClientInfo(Params, frozen=True, kw_only=True):
    """Who is calling, for people to read; nothing is decided by it."""

    name: Name
    version: Label | None = None


class Scope(Params, frozen=True, kw_only=True):
    """What a connection is bound to. With ``flow_id`` only query operations are served on it."""

    flow_id: Name | None = None
    project_root: Annotated[str, Meta(max_length=4096)] | None = None
    harness: Label | None = None
    session: Label | None = None


class ServiceHello(Params, frozen=True, kw_only=True):
    """``service.hello``: bind the connection; optional, first and once."""

    client: ClientInfo
    protocol: Literal[1] | None = None
    scope: Scope | None = None


class ServiceShutdown(Params, frozen=True, kw_only=True):
    """``service.shutdown``: stop after at most ``drain_ms`` (:data:`DEFAULT_DRAIN_MS` when absent).

    ``force`` stops although something is held.
    """

    drain_ms: Annotated[int, Meta(ge=0, le=600_000)] | None = None
    force: bool | None = None


Topic = Literal["service", "settings", "log", "jobs", "downloads", "lanes", "models"]


class EventsSubscribe(Params, frozen=True, kw_only=True):
    """``events.subscribe``: receive the snapshot and then the changes of these topics."""

    topics: Annotated[list[Topic], Meta(min_length=1, max_length=16)]


class SettingsGet(Params, frozen=True, kw_only=True):
    """``settings.get``: all settings, or those named."""

    names: Annotated[list[Name], Meta(max_length=256)] | None = None


class SettingsSet(Params, frozen=True, kw_only=True):
    """``settings.set``: several settings at once, all or none. ``null`` takes a setting back to its default."""

    values: Annotated[dict[Name, Any], Meta(min_length=1, max_length=256)]


LogLevel = Literal["debug", "info", "warning", "error"]


class LogsTail(Params, frozen=True, kw_only=True):
    """``logs.tail``: entries after a sequence number, oldest first.

    Absent, ``after_seq`` is 0 and ``limit`` is :data:`DEFAULT_TAIL_LIMIT`.
    """

    after_seq: Count | None = None
    level: LogLevel | None = None
    limit: Annotated[int, Meta(ge=1, le=1000)] | None = None
