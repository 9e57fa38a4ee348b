"""Parameters of the operations that compute, and of reading what they made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta

from synapse_wire.params.base import SAFE_INT, Count, Millis, Name, Params, PositiveMillis

VectorEncoding = Literal["json", "base64"]


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
        _require_unique(self.items, "items")


class RerankCandidate(Params, frozen=True, kw_only=True):
    """One text to score, with the caller's own id for it."""

    id: Name
    text: str


class RerankScore(Constraints, frozen=True, kw_only=True):
    """``rerank.score``: how well each candidate answers a query; always inline."""

    model: Name
    query: str
    candidates: Annotated[list[RerankCandidate], Meta(min_length=1)]

    def __post_init__(self) -> None:
        _require_unique(self.candidates, "candidates")


def _require_unique(named: Sequence[EmbedItem | RerankCandidate], member: str) -> None:
    seen: set[str] = set()
    for index, each in enumerate(named):
        if each.id in seen:
            raise ValueError(f"the id {each.id[:64]!r} stands twice - at `$.{member}[{index}].id`")
        seen.add(each.id)


class EmbedResult(Params, frozen=True, kw_only=True):
    """``embed.result``: one page of an embedding job."""

    job_id: Name
    cursor: Count | None = None
    max_page_bytes: Annotated[int, Meta(ge=1, le=SAFE_INT)] | None = None
