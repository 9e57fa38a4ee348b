"""Results of the operations that compute, and the pages of their jobs."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, UnsetType

from synapse_wire.results.base import Result


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


class Observation(Result, frozen=True, kw_only=True):
    """What the engine got, row by row; only while certification observes. Not for consumers."""

    input_ids: list[list[int]]
    readout_ids: list[int] | UnsetType = UNSET


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
    observation: Observation | UnsetType = UNSET


class RerankedScore(Result, frozen=True, kw_only=True):
    """What the model reads off for one candidate; nothing is applied to it afterwards."""

    id: str
    score: float


class Reranked(Envelope, frozen=True, kw_only=True):
    """The result of ``rerank.score``; the lists follow the request. There are no vectors, so ``dims`` is 0."""

    scores: list[RerankedScore]
    real_token_counts: list[int]
    truncation_disclosures: list[TruncationDisclosure]
    observation: Observation | UnsetType = UNSET


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
