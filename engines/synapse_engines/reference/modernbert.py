"""The ModernBERT forward pass (Warner et al. 2024; equations of transformers'
`ModernBertModel`), for one row.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from synapse_engines.families.modernbert import ModernBertConfig
from synapse_engines.reference.ops import (
    Array,
    attention,
    gelu,
    join_heads,
    layer_norm,
    linear,
    rotary_tables,
    rotate,
    split_heads,
)


def hidden(tensors: Mapping[str, Array], cfg: ModernBertConfig, ids: npt.NDArray[np.int32]) -> Array:
    """Hidden states [L, hidden] after the final norm, for ids [L]."""

    def norm(x: Array, name: str) -> Array:
        return layer_norm(x, tensors[f"{name}.weight"], None, cfg.norm_eps)

    def dense(x: Array, name: str) -> Array:
        return linear(x, tensors[f"{name}.weight"])

    global_turns = rotary_tables(ids.size, cfg.rope_theta_global, cfg.head_dim)
    local_turns = rotary_tables(ids.size, cfg.rope_theta_local, cfg.head_dim)
    x = norm(tensors["embeddings.tok_embeddings.weight"][ids], "embeddings.norm")
    for index in range(cfg.layers):
        layer = f"layers.{index}"
        # The embedding norm has just been applied: layer 0 does without a second one.
        normed = x if index == 0 else norm(x, f"{layer}.attn_norm")
        # The rows of Wqkv are all queries, then all keys, then all values.
        queries, keys, values = (
            split_heads(part, cfg.heads) for part in np.split(dense(normed, f"{layer}.attn.Wqkv"), 3, axis=-1)
        )
        cos, sin = global_turns if cfg.is_global(index) else local_turns
        mixed = attention(
            rotate(queries, cos, sin),
            rotate(keys, cos, sin),
            values,
            half_window=None if cfg.is_global(index) else cfg.half_window,
        )
        x = x + dense(join_heads(mixed), f"{layer}.attn.Wo")
        # GeGLU (Shazeer 2020): the first half of Wi is activated, the second gates it.
        active, gate = np.split(dense(norm(x, f"{layer}.mlp_norm"), f"{layer}.mlp.Wi"), 2, axis=-1)
        x = x + dense(gelu(active) * gate, f"{layer}.mlp.Wo")
    return norm(x, "final_norm")
