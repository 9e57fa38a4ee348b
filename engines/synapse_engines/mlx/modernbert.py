"""ModernBERT (Warner et al. 2024) in MLX: rotary positions, norms before each block, GeGLU, local and global layers.

Made by `model` from the weights that `families.modernbert` names.
"""

from __future__ import annotations

from collections.abc import Mapping

import mlx.core as mx

from synapse_engines.families.base import rope_inverse_frequencies
from synapse_engines.families.modernbert import ModernBertConfig
from synapse_engines.mlx.layers import (
    attend_in_blocks,
    attend_in_window,
    gelu,
    key_mask,
    linear,
    merge_heads,
    rope,
    rope_table,
    settle,
    split_heads,
)


class ModernBert:
    """A ModernBERT encoder of one batch."""

    def __init__(self, cfg: ModernBertConfig, weights: Mapping[str, mx.array], longest: int) -> None:
        """`longest` is the most tokens that a row will have, padding included."""
        self._cfg = cfg
        self._weights = weights
        self._tables = {
            theta: rope_table(rope_inverse_frequencies(theta, cfg.head_dim), longest)
            for theta in {cfg.rope_theta_global, cfg.rope_theta_local}
        }

    def hidden(self, ids: mx.array, lengths: mx.array) -> mx.array:
        """Last hidden states [B, L, hidden] of `ids` [B, L]; those of padding mean nothing."""
        x = self._norm(self._weights["embeddings.tok_embeddings.weight"][ids], "embeddings.norm")
        mask = key_mask(lengths, ids.shape[1])
        for index in range(self._cfg.layers):
            name = f"layers.{index}"
            # The embedding norm is the first layer's attention norm too.
            normed = x if index == 0 else self._norm(x, f"{name}.attn_norm")
            x = x + self._attention(normed, index, lengths, mask)
            x = settle(x + self._feed_forward(self._norm(x, f"{name}.mlp_norm"), name))
        return self._norm(x, "final_norm")

    def _attention(self, x: mx.array, index: int, lengths: mx.array, mask: mx.array) -> mx.array:
        cfg, name = self._cfg, f"layers.{index}"
        # The fused projection stacks all queries, then all keys, then all values.
        parts = mx.split(linear(x, self._weights[f"{name}.attn.Wqkv.weight"]), 3, axis=-1)
        q, k, v = (split_heads(part, cfg.heads) for part in parts)
        table = self._tables[cfg.rope_theta(index)]
        q, k = rope(q, table), rope(k, table)
        if cfg.is_global(index):
            attended = attend_in_blocks(q, k, v, lambda start, stop: mask)
        else:
            attended = attend_in_window(q, k, v, lengths, cfg.half_window)
        return linear(merge_heads(attended), self._weights[f"{name}.attn.Wo.weight"])

    def _feed_forward(self, x: mx.array, name: str) -> mx.array:
        inner, gate = mx.split(linear(x, self._weights[f"{name}.mlp.Wi.weight"]), 2, axis=-1)
        return linear(gelu(inner) * gate, self._weights[f"{name}.mlp.Wo.weight"])

    def _norm(self, x: mx.array, name: str) -> mx.array:
        return mx.fast.layer_norm(x, self._weights[f"{name}.weight"], None, self._cfg.norm_eps)
