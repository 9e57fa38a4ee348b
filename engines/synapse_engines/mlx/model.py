"""An embedding model on MLX: weights in, vectors out. The `Embedder` that the worker holds for Metal and CUDA lanes.

Owns the MLX thread; every method may be called from any thread, by one caller at a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import mlx.core as mx
import numpy as np

from synapse_engines.backend import EmbedSpec, check_rows
from synapse_engines.errors import ArtifactError
from synapse_engines.families.base import FamilyConfig, Pooling
from synapse_engines.families.bert import BertConfig
from synapse_engines.families.modernbert import ModernBertConfig
from synapse_engines.families.qwen3 import Qwen3Config
from synapse_engines.mlx.batching import Batch, ladder, plan
from synapse_engines.mlx.bert import Bert
from synapse_engines.mlx.memory import available_bytes, inference_bytes, require_bytes, weight_bytes
from synapse_engines.mlx.modernbert import ModernBert
from synapse_engines.mlx.qwen3 import Qwen3
from synapse_engines.mlx.runtime import Device, Runtime

if TYPE_CHECKING:
    from synapse_engines.backend import Ids, Vectors
    from synapse_engines.weights import Weights

# What torch's normalize adds nothing below: it keeps the zero vector zero.
_SMALLEST_NORM = 1e-12


class _Graph(Protocol):
    def hidden(self, ids: mx.array, lengths: mx.array) -> mx.array: ...


class MlxModel:
    """One loaded embedding model; see `backend.Embedder`.

    Attributes:
        dims: length of a vector.
        facts: what MLX says about itself and its device.
    """

    def __init__(self, weights: Weights, cfg: FamilyConfig, spec: EmbedSpec, device: Device) -> None:
        """Copies the weights to the device; they may be closed afterwards.

        Raises:
            ArtifactError: `unsupported` for a family without a graph here.
            EngineMismatch: the device is absent, or MLX is not the release or the precision declared.
            MemoryShortage: the device can't hold the weights.
        """
        self._cfg = cfg
        self._spec = spec
        self._longest = min(spec.max_tokens, cfg.max_positions)
        self._rungs = ladder(self._longest)
        self._runtime = Runtime(device)
        self._graph: _Graph | None = None
        try:
            self._graph = self._runtime.run(self._load, weights)
        except BaseException:
            self._runtime.close()
            raise

    @property
    def dims(self) -> int:
        return self._cfg.hidden

    @property
    def facts(self) -> Mapping[str, str]:
        return self._runtime.facts

    def embed(self, rows: Sequence[Ids]) -> Vectors:
        """Vectors of `rows`, shape [len(rows), dims], in the order given.

        Raises:
            InputError: a row is empty, longer than the lane allows, or holds an id outside the vocabulary.
            MemoryShortage: the device can't hold even one of the rows; nothing was allocated for it.
        """
        check_rows(rows, vocab=self._cfg.vocab, max_tokens=self._longest)
        if self._graph is None:
            raise ValueError("the model is closed")
        return self._runtime.run(self._embed, self._graph, rows)

    def close(self) -> None:
        """Lets go of the model's memory. Calling it twice is harmless."""
        self._graph = None
        self._runtime.close()

    def _load(self, weights: Weights) -> _Graph:
        require_bytes(weight_bytes(self._cfg), self._runtime.device)
        arrays = {tensor.name: mx.array(weights.float32(tensor.name)) for tensor in self._cfg.tensors()}
        mx.eval(list(arrays.values()))
        match self._cfg:
            case BertConfig() as cfg:
                return Bert(cfg, arrays)
            case ModernBertConfig() as cfg:
                return ModernBert(cfg, arrays, self._longest)
            case Qwen3Config() as cfg:
                return Qwen3(cfg, arrays, self._longest)
            case cfg:
                raise ArtifactError("unsupported", f"there is no MLX graph of {cfg.model_type}")

    def _embed(self, graph: _Graph, rows: Sequence[Ids]) -> Vectors:
        vectors = np.empty((len(rows), self.dims), np.float32)
        for batch in plan([row.size for row in rows], self._rungs):
            self._compute(graph, batch, rows, vectors)
        return vectors

    def _compute(self, graph: _Graph, batch: Batch, rows: Sequence[Ids], vectors: Vectors) -> None:
        """Fills in the vectors of one batch, in halves where the device can't hold all of it at once."""
        needed = inference_bytes(self._cfg, len(batch.rows), batch.length)
        if len(batch.rows) > 1 and needed > available_bytes(self._runtime.device):
            for half in batch.halves():
                self._compute(graph, half, rows, vectors)
            return
        require_bytes(needed, self._runtime.device)
        # Padding uses id 0, which every vocabulary has; nothing that is pooled can see it.
        ids = np.zeros((len(batch.rows), batch.length), np.int32)
        for place, row in enumerate(batch.rows):
            ids[place, : rows[row].size] = rows[row]
        lengths = mx.array(np.array([rows[row].size for row in batch.rows], np.int32))
        pooled = _pool(graph.hidden(mx.array(ids), lengths), lengths, self._spec.pooling)
        if self._spec.normalize:
            pooled = pooled / mx.maximum(mx.linalg.norm(pooled, axis=-1, keepdims=True), _SMALLEST_NORM)
        vectors[list(batch.rows)] = np.array(pooled)


def _pool(hidden: mx.array, lengths: mx.array, pooling: Pooling) -> mx.array:
    """One vector a row from hidden states [B, L, H]: the mean over real tokens, the first, or the last real one."""
    match pooling:
        case "cls":
            return hidden[:, 0]
        case "last":
            return hidden[mx.arange(hidden.shape[0]), lengths - 1]
        case "mean":
            real = mx.arange(hidden.shape[1]) < lengths[:, None]
            return mx.where(real[:, :, None], hidden, 0.0).sum(axis=1) / lengths[:, None]
