"""One reference model: a family's forward pass with its weights, and the pooling that makes vectors of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from synapse_engines.backend import EmbedSpec, check_rows
from synapse_engines.errors import ArtifactError
from synapse_engines.families.base import FamilyConfig, Pooling
from synapse_engines.families.bert import BertConfig
from synapse_engines.families.modernbert import ModernBertConfig
from synapse_engines.families.qwen3 import Qwen3Config
from synapse_engines.reference import bert, modernbert, qwen3
from synapse_engines.reference.ops import Array
from synapse_engines.weights import Weights

Forward = Callable[[npt.NDArray[np.int32]], Array]

# What torch's normalize adds as a floor under the norm; it matters only for a vector of zeros.
_SMALLEST_NORM = 1e-12


class ReferenceModel:
    """An `Embedder` that runs every row by itself, so that a row's result never depends on its mates.

    Attributes:
        dims: length of a vector.
        facts: engine name and version.
    """

    def __init__(self, forward: Forward, cfg: FamilyConfig, spec: EmbedSpec) -> None:
        """Takes the forward pass of one row; use `build` to make one from weights."""
        self.dims = cfg.hidden
        self.facts: Mapping[str, str] = {"engine": "reference", "version": f"numpy {np.__version__}"}
        self._forward: Forward | None = forward
        self._spec = spec
        self._vocab = cfg.vocab
        self._max_tokens = min(spec.max_tokens, cfg.max_positions)

    def hidden(self, ids: npt.NDArray[np.int32]) -> Array:
        """Hidden states [L, dims] of one row of ids [L], before pooling.

        Raises:
            InputError: as `embed`.
        """
        check_rows([ids], vocab=self._vocab, max_tokens=self._max_tokens)
        return self._run(ids)

    def embed(self, rows: Sequence[npt.NDArray[np.int32]]) -> Array:
        """Vectors [len(rows), dims] of rows of ids, in the order given.

        Raises:
            InputError: a row is empty, too long, or holds an id outside the vocabulary.
        """
        check_rows(rows, vocab=self._vocab, max_tokens=self._max_tokens)
        vectors = np.empty((len(rows), self.dims), dtype=np.float32)
        for index, row in enumerate(rows):
            vector = pool(self._run(row), self._spec.pooling)
            vectors[index] = normalise(vector) if self._spec.normalize else vector
        return vectors

    def close(self) -> None:
        """Lets go of the weights."""
        self._forward = None

    def _run(self, ids: npt.NDArray[np.int32]) -> Array:
        if self._forward is None:
            raise ValueError("the model is closed")
        return self._forward(ids)


def build(weights: Weights, cfg: FamilyConfig, spec: EmbedSpec) -> ReferenceModel:
    """The reference of one model. Float32 weights stay views of the mapping, others are widened once.

    Raises:
        ArtifactError: `unsupported` for a family without a reference.
    """
    tensors = {tensor.name: weights.float32(tensor.name) for tensor in cfg.tensors()}
    forward: Forward
    if isinstance(cfg, BertConfig):
        forward = partial(bert.hidden, tensors, cfg)
    elif isinstance(cfg, ModernBertConfig):
        forward = partial(modernbert.hidden, tensors, cfg)
    elif isinstance(cfg, Qwen3Config):
        forward = partial(qwen3.hidden, tensors, cfg)
    else:
        raise ArtifactError("unsupported", f"there is no reference of {cfg.model_type}")
    return ReferenceModel(forward, cfg, spec)


def pool(states: Array, pooling: Pooling) -> Array:
    """One vector [hidden] of hidden states [L, hidden]: the first, the last, or the mean of all."""
    vector: Array
    if pooling == "mean":
        # Summed in float64: a float32 sum down thousands of rows drifts.
        vector = states.mean(axis=0, dtype=np.float64).astype(np.float32)
    else:
        vector = states[0 if pooling == "cls" else -1]
    return vector


def normalise(vector: Array) -> Array:
    """`vector` scaled to unit length; a vector of zeros stays as it is."""
    wide = vector.astype(np.float64)
    result: Array = (wide / max(float(np.linalg.norm(wide)), _SMALLEST_NORM)).astype(np.float32)
    return result
