"""The Qwen3 forward pass (Qwen team 2025; equations of transformers' `Qwen3Model`), for one row."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from synapse_engines.families.qwen3 import Qwen3Config
from synapse_engines.reference.ops import (
    Array,
    attention,
    join_heads,
    linear,
    rms_norm,
    rotary_tables,
    rotate,
    silu,
    split_heads,
)


def hidden(tensors: Mapping[str, Array], cfg: Qwen3Config, ids: npt.NDArray[np.int32]) -> Array:
    """Hidden states [L, hidden] after the final norm, for ids [L]."""

    def norm(x: Array, name: str) -> Array:
        return rms_norm(x, tensors[f"{name}.weight"], cfg.norm_eps)

    def dense(x: Array, name: str) -> Array:
        return linear(x, tensors[f"{name}.weight"])

    cos, sin = rotary_tables(ids.size, cfg.rope_theta, cfg.head_dim)
    x: Array = tensors["embed_tokens.weight"][ids]
    for index in range(cfg.layers):
        layer = f"layers.{index}"
        normed = norm(x, f"{layer}.input_layernorm")
        queries = split_heads(dense(normed, f"{layer}.self_attn.q_proj"), cfg.heads)
        keys = split_heads(dense(normed, f"{layer}.self_attn.k_proj"), cfg.kv_heads)
        values = split_heads(dense(normed, f"{layer}.self_attn.v_proj"), cfg.kv_heads)
        # Queries and keys are normalised head by head, before they are turned.
        queries = rotate(norm(queries, f"{layer}.self_attn.q_norm"), cos, sin)
        keys = rotate(norm(keys, f"{layer}.self_attn.k_norm"), cos, sin)
        mixed = attention(queries, keys, values, causal=True)
        x = x + dense(join_heads(mixed), f"{layer}.self_attn.o_proj")
        normed = norm(x, f"{layer}.post_attention_layernorm")
        # SwiGLU (Shazeer 2020).
        inner = silu(dense(normed, f"{layer}.mlp.gate_proj")) * dense(normed, f"{layer}.mlp.up_proj")
        x = x + dense(inner, f"{layer}.mlp.down_proj")
    return norm(x, "norm")
