"""Rows of token ids in, encoded numbers out: the array work around an engine call. Pure functions.

Called by the loop for Embed and Score. Vectors are encoded here rather than in the service because printing floats is
the most expensive part of a reply and would block the service's event loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import orjson

from synapse_engines.worker.frames import ProtocolError
from synapse_engines.worker.protocol import Encoding


def split_ids(payload: bytes, lengths: Sequence[int]) -> list[npt.NDArray[np.int32]]:
    """The rows of an Embed's or a Score's payload, each of shape [length].

    Raises:
        ProtocolError: a length is negative, or the payload has another size than the lengths say.
    """
    if min(lengths, default=0) < 0 or sum(lengths) * 4 != len(payload):
        raise ProtocolError(f"{len(payload)} bytes of ids do not match {len(lengths)} lengths")
    ids = np.frombuffer(payload, dtype="<i4").astype(np.int32, copy=False)
    rows = []
    start = 0
    for length in lengths:
        rows.append(ids[start : start + length])
        start += length
    return rows


def calls(lengths: Sequence[int], tokens_per_call: int) -> Iterator[list[int]]:
    """Splits rows into engine calls: indices in order of length, within `tokens_per_call` or one row at least.

    Sorted, so that rows of about one length stay in one call, where engines compute them together.
    """
    call: list[int] = []
    tokens = 0
    for index in sorted(range(len(lengths)), key=lengths.__getitem__):
        if call and tokens + lengths[index] > tokens_per_call:
            yield call
            call, tokens = [], 0
        call.append(index)
        tokens += lengths[index]
    if call:
        yield call


def encode_vectors(vectors: npt.NDArray[np.float32], encoding: Encoding) -> list[bytes]:
    """One encoded row for each vector of shape [rows, dims]; empty for a row that is not finite.

    orjson prints float32 as the shortest digits that read back as the same float32, and would print NaN as null, which
    is one reason why such rows are not printed.
    """
    contiguous = np.ascontiguousarray(vectors, dtype=np.float32)
    finite = np.asarray(np.isfinite(contiguous).all(axis=1))
    if encoding == "f32":
        encoded = [row.astype("<f4", copy=False).tobytes() for row in contiguous]
    else:
        encoded = [orjson.dumps(row, option=orjson.OPT_SERIALIZE_NUMPY) for row in contiguous]
    return [row if good else b"" for row, good in zip(encoded, finite, strict=True)]


def encode_numbers(numbers: npt.NDArray[np.float32]) -> bytes:
    """All numbers of an array as raw little-endian float32, row after row."""
    return numbers.astype("<f4", copy=False).tobytes()


def non_finite(logits: npt.NDArray[np.float32]) -> list[int]:
    """Rows of logits [rows, width] that are not all finite, ascending; a score read off them may be finite even so."""
    return np.flatnonzero(~np.isfinite(logits).all(axis=1)).tolist()
