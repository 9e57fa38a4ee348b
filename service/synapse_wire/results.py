"""Result shapes of the operations.

A member that may be absent is unset, never null, unless its type says null.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """Base of every result."""


# --- the inference envelope ---


class EngineIdentity(Result, frozen=True, kw_only=True):
    """Which engine computed: its name, its declared build, and flags that are part of its identity."""

    engine: str
    version: str
    build_flags: dict[str, str]


class Provenance(Result, frozen=True, kw_only=True):
    engine: EngineIdentity


class Envelope(Result, frozen=True, kw_only=True):
    """What every inference result carries beside the operation's own members."""

    fingerprint: str
    table_epoch: int
    dims: int
    provenance: Provenance
    module_generation: int
    equivalent_to: list[str]


class EmbedVector(Result, frozen=True, kw_only=True):
    """One vector: an array of numbers, or base64 of little-endian float32 if that was asked for."""

    id: str
    vector: msgspec.Raw | str
    content_sha256: str
    submitted_sha256: str


class TruncationDisclosure(Result, frozen=True, kw_only=True):
    id: str
    submitted_tokens: int
    effective_tokens: int
    truncated: bool


class Embedded(Envelope, frozen=True, kw_only=True):
    """The result of ``embed.query`` and of an inline ``embed.batch``; the lists follow the request."""

    vectors: list[EmbedVector]
    real_token_counts: list[int]
    truncation_disclosures: list[TruncationDisclosure]


# --- models and jobs ---


class JobHandle(Result, frozen=True, kw_only=True):
    job_id: str


class EmbedDiverted(Result, frozen=True, kw_only=True):
    """The result of an ``embed.batch`` over the inline budgets: a durable job does the work."""

    job: JobHandle


class PageTruncation(Result, frozen=True, kw_only=True):
    submitted_tokens: int
    effective_tokens: int
    truncated: bool


class PageItem(Result, frozen=True, kw_only=True):
    """One finished item of a job; ``vector`` as the first submission asked."""

    id: str
    vector: msgspec.Raw | str
    content_sha256: str
    submitted_sha256: str
    real_token_count: int
    truncation: PageTruncation


class EmbedPage(Envelope, frozen=True, kw_only=True):
    """The result of ``embed.result``; ``items`` are in the job's own order."""

    job_id: str
    state: str
    page_index: int
    items: list[PageItem]
    pages_available: int
    next_cursor: int | None


class JobRow(Result, frozen=True, kw_only=True):
    """One job in ``jobs.list``. ``rate`` is in items a second; it and ``eta_ms`` need a running job."""

    job_id: str
    kind: str
    state: str
    items_total: int
    items_done: int
    module_generation: int
    created_ms: int
    model_id: str | UnsetType = UNSET
    client: str | UnsetType = UNSET
    pages_available: int | UnsetType = UNSET
    rate: float | UnsetType = UNSET
    eta_ms: int | UnsetType = UNSET
    error: dict[str, Any] | UnsetType = UNSET
    terminal_ms: int | UnsetType = UNSET
    expires_ms: int | UnsetType = UNSET


class JobsList(Result, frozen=True, kw_only=True):
    jobs: list[JobRow]


class QueueDepths(Result, frozen=True, kw_only=True):
    interactive: int
    bulk: int


class LaneAdmission(Result, frozen=True, kw_only=True):
    """How a loaded lane is keeping up; times in milliseconds."""

    lane_id: str
    meeting_deadlines: bool
    start_delay_ms: float
    waiters: int
    in_flight: int


class AdmissionStatus(Result, frozen=True, kw_only=True):
    """A snapshot; ``jobs_open`` is minted plus inherited minus completed minus failed, never below zero."""

    queues: QueueDepths
    knob: str
    jobs_minted: int
    jobs_completed: int
    jobs_failed: int
    jobs_inherited: int
    jobs_open: int
    catalog_lanes: int
    certified_lanes: int
    certification_stale: int
    performance_stale: int
    lanes: list[LaneAdmission]


class JobAccepted(Result, frozen=True, kw_only=True):
    """A job was minted, or an equal one joined."""

    job_id: str
    state: str


class ModelLoadAccepted(Result, frozen=True, kw_only=True):
    job_id: str
    model_id: str
    state: str


class JobStatus(Result, frozen=True, kw_only=True):
    """``model.status`` and ``probe.status`` of a job; the last four members only while it is paused."""

    job_id: str
    kind: str
    state: str
    items_total: int
    items_done: int
    module_generation: int
    error: dict[str, Any] | UnsetType = UNSET
    pages_available: int | UnsetType = UNSET
    logical_handle: str | UnsetType = UNSET
    paused_at_ms: int | UnsetType = UNSET
    resume_deadline_ms: int | UnsetType = UNSET
    action: str | UnsetType = UNSET


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
    equivalent_to: list[str] = msgspec.field(default_factory=list)
    last_error: dict[str, Any] | UnsetType = UNSET


class ModelsList(Result, frozen=True, kw_only=True):
    module_generation: int
    table_epoch: int
    models: list[ModelRow]
    aliases: list[dict[str, Any]]


class ModelUnloaded(Result, frozen=True, kw_only=True):
    module_generation: int
    model_id: str
    fingerprint: str
    state: str
    engine: str
    task: str


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


class ProbeLane(Result, frozen=True, kw_only=True):
    """One lane's certification and measured performance."""

    model_id: str
    task: str
    engine: str
    fingerprint: str
    certification_required: bool
    certification_status: str
    serving_admission: str | None
    serving_admission_reason: str | None
    blocking_reason: str | UnsetType = UNSET
    certification: dict[str, Any] | UnsetType = UNSET
    performance: dict[str, Any] | UnsetType = UNSET
    self_check: SelfCheckState | UnsetType = UNSET


class ProbeReport(Result, frozen=True, kw_only=True):
    module_generation: int
    machine: dict[str, Any]
    lanes: list[ProbeLane]


# --- extensions ---


class Hello(Result, frozen=True, kw_only=True):
    server_version: str
    protocol: int
    module_generation: int
    operations: list[str]
    extensions: list[str]


class ServiceInfo(Result, frozen=True, kw_only=True):
    server_version: str
    protocol: int
    module_generation: int
    pid: int
    started_at_ms: int
    uptime_ms: int
    socket_path: str
    home: str
    connections: int
    state: str


class Holder(Result, frozen=True, kw_only=True):
    """Who holds something: a loaded model, a job, a self-check or a request."""

    kind: str
    model_id: str | UnsetType = UNSET
    job_id: str | UnsetType = UNSET
    check_id: str | UnsetType = UNSET
    lease_id: str | UnsetType = UNSET


class ShuttingDown(Result, frozen=True, kw_only=True):
    state: str
    drain_ms: int
    holders: list[Holder]


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


class Diagnostic(Result, frozen=True, kw_only=True):
    """One finding: what was looked at, ``ok``/``warning``/``error``, and what to do about it."""

    check: str
    status: str
    summary: str
    remedy: str | UnsetType = UNSET
    facts: dict[str, Any] | UnsetType = UNSET


class Diagnostics(Result, frozen=True, kw_only=True):
    module_generation: int
    checks: list[Diagnostic]


class Subscribed(Result, frozen=True, kw_only=True):
    topics: list[str]


class Setting(Result, frozen=True, kw_only=True):
    name: str
    value: Any
    source: str
    default: Any
    needs_restart: bool
    bounds: dict[str, Any]
    description: str


class Settings(Result, frozen=True, kw_only=True):
    settings: list[Setting]


class LogEntry(Result, frozen=True, kw_only=True):
    seq: int
    time_ms: int
    level: str
    event: str
    fields: dict[str, Any]


class LogTail(Result, frozen=True, kw_only=True):
    entries: list[LogEntry]
    next_seq: int
    dropped: int
