"""An embedding model on OpenVINO: token ids in, vectors out. The `Embedder` that the worker holds for CPU lanes.

Built by `load`; one caller at a time. Touches the model's file, which stays mapped while the model lives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from synapse_engines.backend import EmbedSpec, check_rows
from synapse_engines.errors import ArtifactError
from synapse_engines.families.base import Family, FamilyConfig
from synapse_engines.families.bert import BertConfig
from synapse_engines.families.modernbert import ModernBertConfig
from synapse_engines.families.qwen3 import Qwen3Config
from synapse_engines.openvino import bert, modernbert, qwen3
from synapse_engines.openvino.batching import plan, rows_may_share
from synapse_engines.openvino.graph import GraphWeights, normalised
from synapse_engines.openvino.packing import Layout, Packing, pack
from synapse_engines.openvino.runtime import compile_float32, ops, ov
from synapse_engines.weights import Weights

if TYPE_CHECKING:
    from synapse_engines.backend import Ids, Vectors

WARM_UP_TOKENS = 128
"""Length of the first inference, on models that allow it. It guards once more against the fault that `Packing.mask`
describes, which a first inference of one token triggers, and it prepares the kernels of common lengths."""


class OpenVinoModel:
    """One compiled model; see `backend.Embedder`. A row's vector is the same to the bit whatever its mates.

    Attributes:
        dims: length of a vector.
        facts: the library's version, and the properties in force as read back from it.
    """

    def __init__(self, weights: Weights, cfg: FamilyConfig, spec: EmbedSpec, threads: int) -> None:
        """Compiles the model over the mapped `weights`, which it closes in the end, and warms it up.

        Raises:
            ArtifactError: `unsupported` for a family without a graph here.
            EngineMismatch: the library is not the release, or does not run with the properties, that `build.py`
                declares.
        """
        self.dims = cfg.hidden
        self.facts: Mapping[str, str]
        self._vocab = cfg.vocab
        self._max_tokens = min(spec.max_tokens, cfg.max_positions)
        self._share = rows_may_share(cfg)
        self._weights = weights
        self._constants: GraphWeights | None = GraphWeights(weights)
        compiled, self.facts = compile_float32(embedding_graph(self._constants, cfg, spec), threads)
        # The request keeps the compiled model alive.
        self._request: ov.InferRequest | None = compiled.create_infer_request()
        self._layout: Layout | None = None
        self._infer([np.zeros(min(WARM_UP_TOKENS, self._max_tokens), np.int32)])
        # The library has packed the matrices into memory of its own by now; from the file it still needs the
        # embedding tables, a few rows at a time.
        weights.release_pages()

    def embed(self, rows: Sequence[Ids]) -> Vectors:
        """Vectors of `rows`, shape [len(rows), dims], in the order given.

        Raises:
            InputError: a row is empty, longer than the lane allows, or holds an id outside the vocabulary.
        """
        check_rows(rows, vocab=self._vocab, max_tokens=self._max_tokens)
        if len(rows) == 1:
            return self._infer(rows).copy()  # A query, mostly: nothing to plan.
        vectors = np.empty((len(rows), self.dims), np.float32)
        for group in plan([row.size for row in rows], share=self._share):
            vectors[group] = self._infer([rows[index] for index in group])
        return vectors

    def close(self) -> None:
        """Lets go of the model's memory and of its file. Calling it twice is harmless."""
        # In this order: the compiled model uses the constants, and they the mapping.
        self._request = None
        self._constants = None
        self._weights.close()

    def _infer(self, rows: Sequence[Ids]) -> Vectors:
        """Vectors [B, dims] of checked rows with frames of one width, in memory that the next inference overwrites."""
        if self._request is None:
            raise ValueError("the model is closed")
        # The library only borrows these arrays, so they have names that live until the inference is over; the layout's
        # until another one is set. Straight tensors: its dictionaries of inputs cost a tenth of a millisecond more.
        ids, layout = pack(rows)
        self._request.set_input_tensor(0, ov.Tensor(ids, shared_memory=True))
        if layout is not self._layout:
            for index, array in enumerate(layout, 1):
                self._request.set_input_tensor(index, ov.Tensor(array, shared_memory=True))
            self._layout = layout
        self._request.infer()
        vectors: Vectors = self._request.get_output_tensor().data
        return vectors


def load(path: Path, family: Family, cfg: FamilyConfig, spec: EmbedSpec, threads: int) -> OpenVinoModel:
    """Checks and maps the model file at `path`, and compiles it; see `OpenVinoModel`.

    Raises:
        ArtifactError: the file is damaged or is not this model, or the family has no graph here.
        EngineMismatch: the library is not the release, or does not run with the properties, that were declared.
        OSError: the file cannot be read.
    """
    weights = Weights.open(path, family, cfg)
    try:
        return OpenVinoModel(weights, cfg, spec, threads)
    except BaseException:
        weights.close()
        raise


def embedding_graph(weights: GraphWeights, cfg: FamilyConfig, spec: EmbedSpec) -> ov.Model:
    """The graph from packed rows, see `packing.PackedRows`, to vectors [B, hidden]."""
    packing = Packing(spec.pooling)
    match cfg:
        case BertConfig():
            states = bert.hidden_states(cfg, weights, packing)
        case ModernBertConfig():
            states = modernbert.hidden_states(cfg, weights, packing)
        case Qwen3Config():
            states = qwen3.hidden_states(cfg, weights, packing)
        case _:
            raise ArtifactError("unsupported", f"there is no OpenVINO graph of {cfg.model_type}")
    vectors = packing.pooled(states)
    return ov.Model(
        [ops.result(normalised(vectors) if spec.normalize else vectors)], packing.parameters, cfg.model_type
    )
