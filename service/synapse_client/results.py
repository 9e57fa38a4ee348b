"""Embeddings as a program wants them: rows of float32 beside the facts that give them their meaning."""

from __future__ import annotations

import sys
from array import array
from binascii import a2b_base64
from typing import TYPE_CHECKING, Any

import msgspec

from synapse_client.errors import ProtocolViolation
from synapse_client.protocol import decode_result
from synapse_wire.results import Embedded, EngineIdentity, TruncationDisclosure

if TYPE_CHECKING:
    import numpy as np

FLOAT_BYTES = 4


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
    if len(data) != dims * FLOAT_BYTES:
        raise ProtocolViolation(f"The service sent a vector of {len(data)} bytes where {dims} float32 values belong.")
    row = array("f", data)
    if sys.byteorder == "big":
        row.byteswap()
    return row
