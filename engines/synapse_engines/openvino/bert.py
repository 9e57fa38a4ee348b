"""BERT encoders as an OpenVINO graph; the facts are in `families/bert.py`."""

from __future__ import annotations

from synapse_engines.families.bert import BertConfig
from synapse_engines.openvino.graph import GraphWeights, attention, open_mask, size, split_heads, whole
from synapse_engines.openvino.runtime import ops, ov


def hidden_states(cfg: BertConfig, weights: GraphWeights, ids: ov.Node) -> ov.Node:
    """Devlin et al. 2018: hidden states [B, L, hidden] of ids [B, L] without padding, all in segment 0."""

    def linear(x: ov.Node, name: str) -> ov.Node:
        return weights.linear(x, f"{name}.weight", f"{name}.bias")

    def norm(x: ov.Node, name: str) -> ov.Node:
        return weights.layer_norm(x, f"{name}.weight", f"{name}.bias", cfg.norm_eps)

    positions = _first_rows(weights, "embeddings.position_embeddings.weight", size(ids, 1))
    segment = _first_rows(weights, "embeddings.token_type_embeddings.weight", whole([1]))
    words = weights.lookup("embeddings.word_embeddings.weight", ids)
    x = norm(ops.add(ops.add(words, segment), positions), "embeddings.LayerNorm")
    mask = open_mask(ids)
    for index in range(cfg.layers):
        layer = f"encoder.layer.{index}"
        queries, keys, values = (
            split_heads(linear(x, f"{layer}.attention.self.{part}"), cfg.heads, cfg.head_dim)
            for part in ("query", "key", "value")
        )
        attended = linear(attention(queries, keys, values, mask), f"{layer}.attention.output.dense")
        x = norm(ops.add(attended, x), f"{layer}.attention.output.LayerNorm")
        inner = ops.gelu(linear(x, f"{layer}.intermediate.dense"), "ERF")
        x = norm(ops.add(linear(inner, f"{layer}.output.dense"), x), f"{layer}.output.LayerNorm")
    return x


def _first_rows(weights: GraphWeights, table: str, count: ov.Node) -> ov.Node:
    """The first rows of a table [rows, hidden], for `count` a list of one integer."""
    return ops.slice(weights.float32(table), whole([0]), count, whole([1]), whole([0]))
