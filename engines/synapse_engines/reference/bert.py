"""The BERT forward pass (Devlin et al. 2018; equations of transformers' `BertModel`), for one row."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from synapse_engines.families.bert import BertConfig
from synapse_engines.reference.ops import (
    Array,
    attention,
    gelu,
    join_heads,
    layer_norm,
    linear,
    split_heads,
)


def hidden(tensors: Mapping[str, Array], cfg: BertConfig, ids: npt.NDArray[np.int32]) -> Array:
    """Hidden states [L, hidden] after the last layer, for ids [L] of one segment."""

    def norm(x: Array, name: str) -> Array:
        return layer_norm(x, tensors[f"{name}.weight"], tensors[f"{name}.bias"], cfg.norm_eps)

    def dense(x: Array, name: str) -> Array:
        return linear(x, tensors[f"{name}.weight"], tensors[f"{name}.bias"])

    x = (
        tensors["embeddings.word_embeddings.weight"][ids]
        + tensors["embeddings.token_type_embeddings.weight"][0]
        + tensors["embeddings.position_embeddings.weight"][: ids.size]
    )
    x = norm(x, "embeddings.LayerNorm")
    for index in range(cfg.layers):
        layer = f"encoder.layer.{index}"
        queries, keys, values = (
            split_heads(dense(x, f"{layer}.attention.self.{part}"), cfg.heads) for part in ("query", "key", "value")
        )
        mixed = dense(join_heads(attention(queries, keys, values)), f"{layer}.attention.output.dense")
        x = norm(x + mixed, f"{layer}.attention.output.LayerNorm")
        inner = gelu(dense(x, f"{layer}.intermediate.dense"))
        x = norm(x + dense(inner, f"{layer}.output.dense"), f"{layer}.output.LayerNorm")
    return x
