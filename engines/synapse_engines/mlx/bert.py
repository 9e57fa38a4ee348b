"""BERT (Devlin et al. 2019) in MLX: learned positions, attention to the whole row, norms after each block.

Made by `model` from the weights that `families.bert` names.
"""

from __future__ import annotations

from collections.abc import Mapping

import mlx.core as mx

from synapse_engines.families.bert import BertConfig
from synapse_engines.mlx.layers import attend_in_blocks, gelu, key_mask, linear, merge_heads, settle, split_heads


class Bert:
    """A BERT encoder of one batch."""

    def __init__(self, cfg: BertConfig, weights: Mapping[str, mx.array]) -> None:
        self._cfg = cfg
        self._weights = weights

    def hidden(self, ids: mx.array, lengths: mx.array) -> mx.array:
        """Last hidden states [B, L, hidden] of `ids` [B, L]; those of padding mean nothing."""
        w, length = self._weights, ids.shape[1]
        # A text on its own is a first segment throughout, so only row 0 of the segment table is used.
        x = (
            w["embeddings.word_embeddings.weight"][ids]
            + w["embeddings.position_embeddings.weight"][:length]
            + w["embeddings.token_type_embeddings.weight"][0]
        )
        x = self._norm(x, "embeddings.LayerNorm")
        mask = key_mask(lengths, length)
        for index in range(self._cfg.layers):
            x = settle(self._layer(x, f"encoder.layer.{index}", mask))
        return x

    def _layer(self, x: mx.array, name: str, mask: mx.array) -> mx.array:
        q, k, v = (
            split_heads(self._linear(x, f"{name}.attention.self.{part}"), self._cfg.heads)
            for part in ("query", "key", "value")
        )
        attended = merge_heads(attend_in_blocks(q, k, v, lambda start, stop: mask))
        x = self._norm(
            x + self._linear(attended, f"{name}.attention.output.dense"), f"{name}.attention.output.LayerNorm"
        )
        inner = gelu(self._linear(x, f"{name}.intermediate.dense"))
        return self._norm(x + self._linear(inner, f"{name}.output.dense"), f"{name}.output.LayerNorm")

    def _linear(self, x: mx.array, name: str) -> mx.array:
        return linear(x, self._weights[f"{name}.weight"], self._weights[f"{name}.bias"])

    def _norm(self, x: mx.array, name: str) -> mx.array:
        return mx.fast.layer_norm(x, self._weights[f"{name}.weight"], self._weights[f"{name}.bias"], self._cfg.norm_eps)
