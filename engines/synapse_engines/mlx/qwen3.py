"""Qwen3 (Qwen team 2025) in MLX, as an embedder: causal, query heads share key heads, queries and keys normalised.

Made by `model` from the weights that `families.qwen3` names.
"""

from __future__ import annotations

from collections.abc import Mapping

import mlx.core as mx

from synapse_engines.families.base import rope_inverse_frequencies
from synapse_engines.families.qwen3 import Qwen3Config
from synapse_engines.mlx.layers import (
    attend_in_blocks,
    causal_mask,
    linear,
    merge_heads,
    rope,
    rope_table,
    settle,
    silu,
    split_heads,
)


class Qwen3:
    """A Qwen3 decoder over one batch, without a cache."""

    def __init__(self, cfg: Qwen3Config, weights: Mapping[str, mx.array], longest: int) -> None:
        """`longest` is the most tokens that a row will have, padding included."""
        self._cfg = cfg
        self._weights = weights
        self._table = rope_table(rope_inverse_frequencies(cfg.rope_theta, cfg.head_dim), longest)

    def hidden(self, ids: mx.array, lengths: mx.array) -> mx.array:
        """Last hidden states [B, L, hidden] of `ids` [B, L]; those of padding mean nothing.

        Padding stands to the right and tokens see only what stands to their left, so `lengths` changes nothing.
        """
        x = self._weights["embed_tokens.weight"][ids]
        for index in range(self._cfg.layers):
            name = f"layers.{index}"
            x = x + self._attention(self._norm(x, f"{name}.input_layernorm"), f"{name}.self_attn")
            x = settle(x + self._feed_forward(self._norm(x, f"{name}.post_attention_layernorm"), f"{name}.mlp"))
        return self._norm(x, "norm")

    def _attention(self, x: mx.array, name: str) -> mx.array:
        cfg, length = self._cfg, x.shape[1]
        q = split_heads(self._linear(x, f"{name}.q_proj"), cfg.heads)
        k = split_heads(self._linear(x, f"{name}.k_proj"), cfg.kv_heads)
        v = split_heads(self._linear(x, f"{name}.v_proj"), cfg.kv_heads)
        q = rope(self._norm(q, f"{name}.q_norm"), self._table)
        k = rope(self._norm(k, f"{name}.k_norm"), self._table)
        attended = attend_in_blocks(q, k, v, lambda start, stop: causal_mask(start, stop, length))
        return self._linear(merge_heads(attended), f"{name}.o_proj")

    def _feed_forward(self, x: mx.array, name: str) -> mx.array:
        inner = silu(self._linear(x, f"{name}.gate_proj")) * self._linear(x, f"{name}.up_proj")
        return self._linear(inner, f"{name}.down_proj")

    def _linear(self, x: mx.array, name: str) -> mx.array:
        return linear(x, self._weights[f"{name}.weight"])

    def _norm(self, x: mx.array, name: str) -> mx.array:
        return mx.fast.rms_norm(x, self._weights[f"{name}.weight"], self._cfg.norm_eps)
