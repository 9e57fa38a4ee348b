"""The seam between a loaded model and the engine that computes it.

A loaded model plays one of two roles: an `Embedder` gives vectors, a `Scorer` gives scores. The worker talks to every
engine through them; the reference, the OpenVINO and the MLX models implement both. NumPy is needed only for the types,
so that the service process may import the specs from here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from synapse_engines.errors import InputError
from synapse_engines.families.base import Pooling
from synapse_engines.readout import Readout

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from synapse_engines.scores import Scores

    Ids = npt.NDArray[np.int32]
    """Token ids of one row, shape [L]."""

    Vectors = npt.NDArray[np.float32]
    """One vector a row, shape [rows, dims]."""


@dataclass(frozen=True, slots=True)
class EmbedSpec:
    """How a lane turns hidden states into vectors.

    Attributes:
        family: model type, a key of `families.FAMILIES`.
        pooling: which hidden states make the vector: the mean over all tokens, the first token, or the last.
        normalize: whether vectors are scaled to unit length.
        max_tokens: longest row that the lane accepts, special tokens included.
        dtype: number format of the computation.
    """

    family: str
    pooling: Pooling
    normalize: bool
    max_tokens: int
    dtype: Literal["f32", "f16"] = "f32"


@dataclass(frozen=True, slots=True)
class ScoreSpec:
    """How a lane turns hidden states into scores. Which hidden states count is the model's own affair.

    Attributes:
        family: model type, a key of `families.FAMILIES`.
        readout: how a score is read off the logits.
        max_tokens: longest row that the lane accepts, special tokens included.
        dtype: number format of the computation up to the logits.
    """

    family: str
    readout: Readout
    max_tokens: int
    dtype: Literal["f32", "f16"] = "f32"


class Backend(Protocol):
    """One loaded model, in whichever role. Not thread-safe: one caller at a time.

    Attributes:
        facts: engine name and version, and the properties in force as read back from the engine.
    """

    @property
    def facts(self) -> Mapping[str, str]: ...

    def close(self) -> None:
        """Lets go of the model's memory. Calling it twice is harmless; no row may be computed after it."""
        ...


class Embedder(Backend, Protocol):
    """A loaded embedding model.

    Attributes:
        dims: length of a vector.
    """

    @property
    def dims(self) -> int: ...

    def embed(self, rows: Sequence[Ids]) -> Vectors:
        """Vectors of `rows`, shape [len(rows), dims], in the order given.

        Raises:
            InputError: a row is empty, longer than the lane allows, or holds an id outside the vocabulary.
        """
        ...


class Scorer(Backend, Protocol):
    """A loaded model that scores.

    Attributes:
        readout: how its scores are read off its logits.
    """

    @property
    def readout(self) -> Readout: ...

    def score(self, rows: Sequence[Ids]) -> Scores:
        """Scores of `rows` and the logits behind them, in the order given.

        Raises:
            InputError: a row is empty, longer than the lane allows, or holds an id outside the vocabulary.
        """
        ...


def check_rows(rows: Sequence[Ids], *, vocab: int, max_tokens: int) -> None:
    """Refuses rows that an engine would silently turn into finite nonsense.

    Args:
        rows: token ids, each of shape [L].
        vocab: number of ids that the embedding table holds.
        max_tokens: longest row allowed.

    Raises:
        InputError: `empty`, `too_long` or `bad_id`, with the index of the first offending row.
    """
    import numpy as np

    sizes = [row.size for row in rows]
    if rows and min(sizes) > 0 and max(sizes) <= max_tokens:
        if len(rows) > 1:
            # All at once: looking at each row takes as long as computing a few of them.
            ids = np.concatenate(rows)
            low, high = ids.min(), ids.max()
        else:
            # A query, mostly: so few numbers that NumPy costs more than it saves.
            alone = rows[0].tolist()
            low, high = min(alone), max(alone)
        if low >= 0 and high < vocab:
            return
    for index, row in enumerate(rows):
        if row.size == 0:
            raise InputError("empty", "the row has no tokens", row=index)
        if row.size > max_tokens:
            raise InputError("too_long", f"{row.size} tokens, at most {max_tokens} are served", row=index)
        low, high = int(row.min()), int(row.max())
        if low < 0 or high >= vocab:
            bad = low if low < 0 else high
            raise InputError("bad_id", f"token id {bad} is outside the vocabulary of {vocab}", row=index)
