"""The self-test of a freshly loaded model: known rows through the engine, compared with the NumPy reference.

Called by `loading` only. It exists because an engine can load without complaint and then answer nonsense for ever;
comparing a handful of rows with an independent computation catches that before the first request.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from synapse_engines.backend import Backend
from synapse_engines.errors import SelfTestError
from synapse_engines.worker.protocol import SELF_TEST_LENGTHS

TOLERANCE = 1e-4
"""Largest difference of one number, in units of the expected vector's length (so: of a unit vector).

Two correct float32 implementations of the deepest model that we serve differ by about 3e-5 and usually by less than
1e-6; a wrong mask, pooling or position differs by 1e-2 and more.
"""

OnRow = Callable[[int], None]
"""Told the length of each row that was computed."""


def run_lengths(max_tokens: int) -> tuple[int, ...]:
    """Lengths of the rows that the engine computes, in order, for a lane of at most `max_tokens` tokens."""
    return tuple(min(length, max_tokens) for length in SELF_TEST_LENGTHS)


def row_ids(vocab: int, length: int) -> npt.NDArray[np.int32]:
    """The row of `length` ids, shape [length], spread over a vocabulary of `vocab` ids, the same on every machine.

    Multiplying by Knuth's 2^32 / golden ratio and dropping low bits spreads consecutive numbers evenly.
    """
    index = np.arange(1, length + 1, dtype=np.uint64) + np.uint64(1009 * length)
    spread = ((index * np.uint64(2654435761)) & np.uint64(0xFFFFFFFF)) >> np.uint64(4)
    return (spread % np.uint64(vocab)).astype(np.int32)


def compute_expected(reference: Backend, vocab: int, max_tokens: int, on_row: OnRow) -> list[npt.NDArray[np.float32]]:
    """The reference's vectors, one for each distinct length in order of first occurrence, each of shape [dims]."""
    vectors = []
    for length in dict.fromkeys(run_lengths(max_tokens)):
        vectors.append(reference.embed([row_ids(vocab, length)])[0])
        on_row(length)
    return vectors


def check(
    backend: Backend,
    expected: Sequence[npt.NDArray[np.float32]],
    vocab: int,
    max_tokens: int,
    on_row: OnRow,
) -> None:
    """Runs the test rows through `backend` one by one, which is also the engine's first work after compiling.

    Raises:
        SelfTestError: a row differs from `expected` by more than TOLERANCE, or is not finite.
    """
    lengths = run_lengths(max_tokens)
    by_length = dict(zip(dict.fromkeys(lengths), expected, strict=True))
    for length in lengths:
        wanted = by_length[length]
        actual = backend.embed([row_ids(vocab, length)])[0]
        scale = float(np.linalg.norm(wanted)) or 1.0
        difference = float(np.max(np.abs(actual - wanted))) / scale
        # Written so that NaN fails too.
        if not difference <= TOLERANCE:
            raise SelfTestError(length, difference)
        on_row(length)


def pack(vectors: Sequence[npt.NDArray[np.float32]]) -> str:
    """Vectors as base64 of little-endian float32, the form in which the service keeps them."""
    return base64.b64encode(b"".join(vector.astype("<f4").tobytes() for vector in vectors)).decode("ascii")


def unpack(text: str, dims: int, max_tokens: int) -> list[npt.NDArray[np.float32]] | None:
    """The vectors in `text`, each of shape [dims]; None if it does not hold what `pack` makes for such a lane."""
    try:
        raw = base64.b64decode(text, validate=True)
    except ValueError:
        return None
    rows = len(set(run_lengths(max_tokens)))
    if len(raw) != rows * dims * 4:
        return None
    return list(np.frombuffer(raw, dtype="<f4").astype(np.float32).reshape(rows, dims))
