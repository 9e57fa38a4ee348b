"""The self-test of a freshly loaded model: known rows through the engine, compared with the NumPy reference.

Called by `loading` only. It exists because an engine can load without complaint and then answer nonsense for ever;
comparing a handful of rows with an independent computation catches that before the first request.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from synapse_engines.errors import ArtifactError, SelfTestError
from synapse_engines.worker.protocol import SELF_TEST_LENGTHS

Row = npt.NDArray[np.float32]
"""What is compared of one row, shape [width]: its vector, or its score and then its logits."""

Answer = Callable[[npt.NDArray[np.int32]], Row]
"""What a model gives for the ids of one row."""

OnRow = Callable[[int], None]
"""Told the length of each row that was computed."""


@dataclass(frozen=True, slots=True)
class Gate:
    """How two answers to the same row are compared.

    Attributes:
        difference: of the actual answer to the one wanted; NaN if one of them is not finite.
        tolerance: largest difference that passes.
    """

    difference: Callable[[Row, Row], float]
    tolerance: float


def _vector_difference(actual: Row, wanted: Row) -> float:
    """Largest difference of one number, in units of the wanted vector's length (so: of a unit vector)."""
    scale = float(np.linalg.norm(wanted)) or 1.0
    return float(np.max(np.abs(actual - wanted))) / scale


def _score_difference(actual: Row, wanted: Row) -> float:
    """Difference of the scores or, if larger, of the logits in units of the largest wanted one, at least of 1."""
    scale = np.maximum(1.0, np.abs(wanted[1:]).max())
    return float(np.max(np.abs(actual - wanted) / np.concatenate([[1.0], np.full(wanted.size - 1, scale)])))


VECTORS = Gate(_vector_difference, 1e-4)
"""For models that embed. Two correct float32 implementations of the deepest model that we serve differ by about 3e-5
and usually by less than 1e-6; a wrong mask, pooling or position differs by 1e-2 and more."""

SCORES = Gate(_score_difference, 1e-3)
"""For models that score. Logits, because a score near 0 or 1 hides what happens to them; and the score itself, because
nothing else shows a read-out that is applied twice. Two correct float32 implementations differ by 5e-6 at the depth and
width of the models that we serve, with random weights. Published ones make logits that are small beside the states they
come from, hence the room; it is still a fifth of what a catalog's self-check lets a float32 score be off."""


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


def compute_expected(reference: Answer, vocab: int, max_tokens: int, on_row: OnRow) -> list[Row]:
    """The reference's answers, one for each distinct length in order of first occurrence.

    Raises:
        ArtifactError: `non_finite` if one of them isn't finite: such weights give no numbers on any engine.
    """
    answers = []
    for length in dict.fromkeys(run_lengths(max_tokens)):
        answer = reference(row_ids(vocab, length))
        if not np.isfinite(answer).all():
            raise ArtifactError("non_finite", f"the weights give numbers for {length} tokens that are not finite")
        answers.append(answer)
        on_row(length)
    return answers


def check(answer: Answer, expected: Sequence[Row], gate: Gate, vocab: int, max_tokens: int, on_row: OnRow) -> None:
    """Runs the test rows through a model one by one, which is also the engine's first work after compiling.

    Raises:
        SelfTestError: an answer differs from `expected` by more than the gate allows, or is not finite.
    """
    lengths = run_lengths(max_tokens)
    by_length = dict(zip(dict.fromkeys(lengths), expected, strict=True))
    for length in lengths:
        difference = gate.difference(answer(row_ids(vocab, length)), by_length[length])
        # Written so that NaN fails too.
        if not difference <= gate.tolerance:
            raise SelfTestError(length, difference)
        on_row(length)


def pack(answers: Sequence[Row]) -> str:
    """Answers as base64 of little-endian float32, the form in which the service keeps them."""
    return base64.b64encode(b"".join(answer.astype("<f4").tobytes() for answer in answers)).decode("ascii")


def unpack(text: str, width: int, max_tokens: int) -> list[Row] | None:
    """The answers in `text`, each of shape [width]; None if it does not hold what `pack` makes for such a lane.

    Answers that aren't finite are none either: they would let a model pass for which the reference had nothing to say.
    """
    try:
        raw = base64.b64decode(text, validate=True)
    except ValueError:
        return None
    rows = len(set(run_lengths(max_tokens)))
    if len(raw) != rows * width * 4:
        return None
    answers = np.frombuffer(raw, dtype="<f4").astype(np.float32).reshape(rows, width)
    return list(answers) if np.isfinite(answers).all() else None
