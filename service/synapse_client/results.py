"""Embeddings as a program wants them: rows of float32 beside the facts that give them their meaning.

:class:`Embedding` is one answer as a whole. :class:`Item` and :class:`Page` are what durable jobs give, where every
vector stands by itself under its id.
"""

from __future__ import annotations

import sys
from array import array
from binascii import a2b_base64
from typing import TYPE_CHECKING, Any, Final

import msgspec

from synapse_client.errors import BatchDiverted, ProtocolViolation
from synapse_client.protocol import decode_result
from synapse_wire.results import (
    Embedded,
    EmbedDiverted,
    EngineIdentity,
    Envelope,
    PageTruncation,
    TruncationDisclosure,
)

if TYPE_CHECKING:
    import numpy as np

FLOAT_BYTES: Final = 4

ENDED: Final = frozenset({"done", "failed", "needs_reauth_expired"})
"""States in which a job stays."""
LIVE: Final = ("queued", "running", "paused_needs_reauth", "downloading", "verifying")
"""States of a job that has not ended, downloads among them."""


class Embedding(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to ``embed_query`` and ``embed_batch``. Every list follows the order of the texts in the request.

    Keep ``fingerprint`` and ``table_epoch`` with whatever the vectors are stored in, and compare them as they are:
    another fingerprint is another vector space. ``vectors`` are rows of ``dims`` float32 values. ``module_generation``
    changes when the service restarts.
    """

    ids: list[str]
    vectors: list[array[float]]
    fingerprint: str
    table_epoch: int
    dims: int
    engine: EngineIdentity
    module_generation: int
    equivalent_to: list[str]
    token_counts: list[int]
    truncations: list[TruncationDisclosure]
    content_sha256: list[str]
    submitted_sha256: list[str]

    @property
    def vector(self) -> array[float]:
        """The only row; raises ``ValueError`` when there are several."""
        if len(self.vectors) != 1:
            raise ValueError(f"there are {len(self.vectors)} vectors, not one; use .vectors")
        return self.vectors[0]

    def by_id(self) -> dict[str, array[float]]:
        """The rows under the ids that the request gave them."""
        return dict(zip(self.ids, self.vectors, strict=True))

    def numpy(self) -> np.ndarray[Any, np.dtype[np.float32]]:
        """All rows as one float32 array of shape (texts, dims). Needs NumPy."""
        import numpy as np

        matrix = np.empty((len(self.vectors), self.dims), dtype=np.float32)
        for index, row in enumerate(self.vectors):
            matrix[index] = row
        return matrix


class Item(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One embedded text of a job. ``vector`` is a row of float32.

    ``submitted_sha256`` is the digest of the text as it arrived, ``content_sha256`` of what was really embedded;
    ``truncated`` tells whether the two differ, and ``submitted_tokens`` how long the text was before it was cut to
    ``token_count``. ``fingerprint`` names the vector space; keep it and ``table_epoch`` with the vector.
    """

    id: str
    vector: array[float]
    content_sha256: str
    submitted_sha256: str
    token_count: int
    submitted_tokens: int
    truncated: bool
    fingerprint: str
    table_epoch: int


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """One page of a job, in the job's own order: go by the ids.

    ``items`` is empty when the job has not got as far as this page. ``next_cursor`` is where to go on. ``table_epoch``
    and ``equivalent_to`` are those at which the page was committed.
    """

    job_id: str
    state: str
    page_index: int
    items: list[Item]
    pages_available: int
    next_cursor: int | None
    fingerprint: str
    table_epoch: int
    dims: int
    engine: EngineIdentity
    module_generation: int
    equivalent_to: list[str]

    @property
    def ended(self) -> bool:
        """True when the job has ended and no page follows this one."""
        return self.next_cursor is None and self.state in ENDED


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """How far an ``embed_all`` is. Counts are items; ``total`` is None when the items can't be counted beforehand.

    ``jobs`` counts the batches that were accepted, ``job_id`` and ``state`` are of the one that is being read.
    """

    received: int
    submitted: int
    total: int | None
    jobs: int
    job_id: str | None
    state: str


class _PageItem(msgspec.Struct, frozen=True):
    # Decodes either way of writing a vector: base64 text to bytes, an array to a list.
    id: str
    vector: bytes | list[float]
    content_sha256: str
    submitted_sha256: str
    real_token_count: int
    truncation: PageTruncation


class _EmbedPage(Envelope, frozen=True, kw_only=True):
    job_id: str
    state: str
    page_index: int
    items: list[_PageItem]
    pages_available: int
    next_cursor: int | None


def page(result: msgspec.Raw) -> Page:
    """Decode a page of a job, whichever way its vectors are written."""
    value = decode_result(result, _EmbedPage)
    return Page(
        job_id=value.job_id,
        state=value.state,
        page_index=value.page_index,
        items=[
            Item(
                id=row.id,
                vector=_row(row.vector, value.dims),
                content_sha256=row.content_sha256,
                submitted_sha256=row.submitted_sha256,
                token_count=row.real_token_count,
                submitted_tokens=row.truncation.submitted_tokens,
                truncated=row.truncation.truncated,
                fingerprint=value.fingerprint,
                table_epoch=value.table_epoch,
            )
            for row in value.items
        ],
        pages_available=value.pages_available,
        next_cursor=value.next_cursor,
        fingerprint=value.fingerprint,
        table_epoch=value.table_epoch,
        dims=value.dims,
        engine=value.provenance.engine,
        module_generation=value.module_generation,
        equivalent_to=value.equivalent_to,
    )


def batch_answer(result: msgspec.Raw) -> Embedding | str:
    """Decode the answer to a batch: the vectors, or the id of the job that computes them."""
    try:
        return embedding(result)
    except ProtocolViolation as violation:
        try:
            return decode_result(result, EmbedDiverted).job.job_id
        except ProtocolViolation:
            raise violation from None


def inline_batch(result: msgspec.Raw) -> Embedding:
    """Decode the answer to a batch that should fit the inline budgets; raises :class:`BatchDiverted`."""
    answer = batch_answer(result)
    if isinstance(answer, str):
        raise BatchDiverted(answer)
    return answer


def items_of(answer: Embedding) -> list[Item]:
    """The rows of an inline answer, each by itself."""
    return [
        Item(
            id=item_id,
            vector=vector,
            content_sha256=content,
            submitted_sha256=submitted,
            token_count=tokens,
            submitted_tokens=truncation.submitted_tokens,
            truncated=truncation.truncated,
            fingerprint=answer.fingerprint,
            table_epoch=answer.table_epoch,
        )
        for item_id, vector, content, submitted, tokens, truncation in zip(
            answer.ids,
            answer.vectors,
            answer.content_sha256,
            answer.submitted_sha256,
            answer.token_counts,
            answer.truncations,
            strict=True,
        )
    ]


def embedding(result: msgspec.Raw) -> Embedding:
    """Decode a result whose vectors were asked for as base64."""
    value = decode_result(result, Embedded)
    rows = value.vectors
    return Embedding(
        ids=[row.id for row in rows],
        vectors=[_floats(row.vector, value.dims) for row in rows],
        fingerprint=value.fingerprint,
        table_epoch=value.table_epoch,
        dims=value.dims,
        engine=value.provenance.engine,
        module_generation=value.module_generation,
        equivalent_to=value.equivalent_to,
        token_counts=value.real_token_counts,
        truncations=value.truncation_disclosures,
        content_sha256=[row.content_sha256 for row in rows],
        submitted_sha256=[row.submitted_sha256 for row in rows],
    )


def _floats(text: msgspec.Raw | str, dims: int) -> array[float]:
    try:
        data = a2b_base64(text)
    except ValueError as error:
        raise ProtocolViolation(f"The service sent a vector that isn't base64: {error}.") from error
    return _row(data, dims)


def _row(values: bytes | list[float], dims: int) -> array[float]:
    given, expected = len(values), dims * FLOAT_BYTES if isinstance(values, bytes) else dims
    if given != expected:
        unit = "bytes" if isinstance(values, bytes) else "numbers"
        raise ProtocolViolation(f"The service sent a vector of {given} {unit} where {dims} float32 values belong.")
    row = array("f", values)
    if isinstance(values, bytes) and sys.byteorder == "big":
        row.byteswap()
    return row
