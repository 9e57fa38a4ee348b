"""BERT encoders as an OpenVINO graph; the facts are in `families/bert.py`."""

from __future__ import annotations

from synapse_engines.families.bert import BertConfig
from synapse_engines.openvino.graph import GraphWeights, attention, split_heads, whole
from synapse_engines.openvino.packing import Packing
from synapse_engines.openvino.runtime import ops, ov


def hidden_states(cfg: BertConfig, weights: GraphWeights, packing: Packing) -> ov.Node:
    """Devlin et al. 2018: hidden states of packed rows, all in segment 0, see `Packing.read`."""

    def linear(x: ov.Node, name: str) -> ov.Node:
        return weights.linear(x, f"{name}.weight", f"{name}.bias")

    def norm(x: ov.Node, name: str) -> ov.Node:
        return weights.layer_norm(x, f"{name}.weight", f"{name}.bias", cfg.norm_eps)

    words = weights.lookup("embeddings.word_embeddings.weight", packing.ids)
    positions = weights.lookup("embeddings.position_embeddings.weight", packing.positions())
    segment = weights.lookup("embeddings.token_type_embeddings.weight", whole([0]))
    x = norm(ops.add(ops.add(words, segment), positions), "embeddings.LayerNorm")
    for index in range(cfg.layers):
        layer = f"encoder.layer.{index}"
        queries, keys, values = (
            split_heads(packing.frames(linear(x, f"{layer}.attention.self.{part}")), cfg.heads, cfg.head_dim)
            for part in ("query", "key", "value")
        )
        attended = packing.tokens(attention(queries, keys, values, packing.mask), cfg.heads * cfg.head_dim)
        if index == cfg.layers - 1:
            attended, x = packing.read(attended), packing.read(x)
        x = norm(ops.add(linear(attended, f"{layer}.attention.output.dense"), x), f"{layer}.attention.output.LayerNorm")
        inner = ops.gelu(linear(x, f"{layer}.intermediate.dense"), "ERF")
        x = norm(ops.add(linear(inner, f"{layer}.output.dense"), x), f"{layer}.output.LayerNorm")
    return x
