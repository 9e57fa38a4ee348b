"""Qwen3 decoders as an OpenVINO graph that embeds; the facts are in `families/qwen3.py`."""

from __future__ import annotations

from synapse_engines.families.qwen3 import Qwen3Config
from synapse_engines.openvino.graph import (
    GraphWeights,
    allowed_or_forbidden,
    attention,
    counting,
    rotary_tables,
    rotate,
    scalar,
    whole,
)
from synapse_engines.openvino.packing import Packing
from synapse_engines.openvino.runtime import ops, ov


def hidden_states(cfg: Qwen3Config, weights: GraphWeights, packing: Packing) -> ov.Node:
    """Qwen team 2025: hidden states of packed rows, see `Packing.read`."""

    def heads_of(x: ov.Node, name: str, heads: int) -> ov.Node:
        """A projection of x [T, hidden], [B, W, heads, head_dim]."""
        projected = packing.frames(weights.linear(x, f"{name}.weight"))
        return ops.reshape(projected, whole([0, 0, heads, cfg.head_dim]), True)

    tables = rotary_tables(packing.width, cfg.rope_theta, cfg.head_dim)
    mask = _causal_mask(packing)
    x = weights.lookup("embed_tokens.weight", packing.ids)
    for index in range(cfg.layers):
        layer = f"layers.{index}"
        own = f"{layer}.self_attn"
        y = weights.rms_norm(x, f"{layer}.input_layernorm.weight", cfg.norm_eps)
        queries = weights.rms_norm(heads_of(y, f"{own}.q_proj", cfg.heads), f"{own}.q_norm.weight", cfg.norm_eps)
        keys = weights.rms_norm(heads_of(y, f"{own}.k_proj", cfg.kv_heads), f"{own}.k_norm.weight", cfg.norm_eps)
        values = heads_of(y, f"{own}.v_proj", cfg.kv_heads)
        queries, keys, values = (ops.transpose(each, whole([0, 2, 1, 3])) for each in (queries, keys, values))
        queries, keys = rotate(queries, tables, cfg.head_dim), rotate(keys, tables, cfg.head_dim)
        keys, values = _shared(keys, cfg), _shared(values, cfg)
        attended = packing.tokens(attention(queries, keys, values, mask), cfg.heads * cfg.head_dim)
        if index == cfg.layers - 1:
            attended, x = packing.read(attended), packing.read(x)
        x = ops.add(x, weights.linear(attended, f"{own}.o_proj.weight"))
        y = weights.rms_norm(x, f"{layer}.post_attention_layernorm.weight", cfg.norm_eps)
        gate = ops.swish(weights.linear(y, f"{layer}.mlp.gate_proj.weight"))
        inner = ops.multiply(gate, weights.linear(y, f"{layer}.mlp.up_proj.weight"))
        x = ops.add(x, weights.linear(inner, f"{layer}.mlp.down_proj.weight"))
    return weights.rms_norm(x, "norm.weight", cfg.norm_eps)


def _causal_mask(packing: Packing) -> ov.Node:
    """The additive mask [B, 1, W, W] under which a token sees itself and those before it."""
    places = counting(scalar(packing.width))
    before = ops.greater_equal(ops.unsqueeze(places, whole(1)), ops.unsqueeze(places, whole(0)))
    seen = ops.logical_and(before, ops.unsqueeze(packing.real, whole([1, 2])))
    return allowed_or_forbidden(seen)


def _shared(x: ov.Node, cfg: Qwen3Config) -> ov.Node:
    """Key or value heads [B, kv_heads, L, head_dim], each repeated for the query heads that share it."""
    each = cfg.heads // cfg.kv_heads
    return ops.gather(x, whole([head // each for head in range(cfg.heads)]), whole(1))
