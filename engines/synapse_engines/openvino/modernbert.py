"""ModernBERT encoders as an OpenVINO graph; the facts are in `families/modernbert.py`."""

from __future__ import annotations

from synapse_engines.families.modernbert import ModernBertConfig
from synapse_engines.openvino.graph import (
    GraphWeights,
    allowed_or_forbidden,
    attention,
    counting,
    joined,
    rotary_tables,
    rotate,
    scalar,
    size,
    split_heads,
    whole,
)
from synapse_engines.openvino.packing import Packing
from synapse_engines.openvino.runtime import ops, ov

BAND_ABOVE = 512
"""Rows of more tokens than this have their local layers computed in blocks. Shorter ones gain nothing from it."""

QUERY_BLOCK = 128
"""Queries of one block. With windows of 64 tokens to each side, a block sees 256 keys."""


def hidden_states(cfg: ModernBertConfig, weights: GraphWeights, packing: Packing) -> ov.Node:
    """Warner et al. 2024: hidden states of packed rows, see `Packing.read`."""

    def norm(x: ov.Node, name: str) -> ov.Node:
        return weights.layer_norm(x, f"{name}.weight", None, cfg.norm_eps)

    thetas = {cfg.rope_theta(index) for index in range(cfg.layers)}
    tables = {theta: rotary_tables(packing.width, theta, cfg.head_dim) for theta in sorted(thetas)}
    band = Band(cfg, packing)
    x = norm(weights.lookup("embeddings.tok_embeddings.weight", packing.ids), "embeddings.norm")
    for index in range(cfg.layers):
        layer = f"layers.{index}"
        # The embedding norm serves as the first layer's attention norm.
        y = x if index == 0 else norm(x, f"{layer}.attn_norm")
        parts = ops.split(weights.linear(y, f"{layer}.attn.Wqkv.weight"), whole(1), 3).outputs()
        queries, keys, values = (split_heads(packing.frames(part), cfg.heads, cfg.head_dim) for part in parts)
        table = tables[cfg.rope_theta(index)]
        queries, keys = rotate(queries, table, cfg.head_dim), rotate(keys, table, cfg.head_dim)
        if cfg.is_global(index):
            attended = attention(queries, keys, values, packing.mask)
        else:
            attended = band.attention(queries, keys, values)
        tokens = packing.tokens(attended, cfg.heads * cfg.head_dim)
        if index == cfg.layers - 1:
            tokens, x = packing.read(tokens), packing.read(x)
        x = ops.add(x, weights.linear(tokens, f"{layer}.attn.Wo.weight"))
        wide = weights.linear(norm(x, f"{layer}.mlp_norm"), f"{layer}.mlp.Wi.weight")
        inner, gate = ops.split(wide, whole(1), 2).outputs()
        gated = ops.multiply(ops.gelu(inner, "ERF"), gate)
        x = ops.add(x, weights.linear(gated, f"{layer}.mlp.Wo.weight"))
    return norm(x, "final_norm")


class Band:
    """Local attention in blocks of queries, each against the keys that its windows reach.

    A frame is cut into blocks of QUERY_BLOCK queries; each is given the keys of its own block and of a window to
    both sides. The work then grows with the width of the frame, not with its square. A frame of at most BAND_ABOVE
    tokens is one block of its own width, with no keys beyond it. Both come out of one arithmetic on shapes, so
    that one compiled model, with one copy of the weights, serves every length.

    Positions beyond either end of the frame are clamped into it: a surplus query repeats the last one, and its
    result is cut off; a surplus key is forbidden to all. So every query of a token sees at least its own key.
    """

    def __init__(self, cfg: ModernBertConfig, packing: Packing) -> None:
        """Lays out the blocks of frames [B, W]."""
        self._heads, self._head_dim = cfg.heads, cfg.head_dim
        self._rows, self._width = size(packing.real, 0), packing.width
        width = scalar(self._width)
        last = ops.subtract(width, whole(1))
        in_one = ops.less_equal(width, whole(BAND_ABOVE))
        block = ops.select(in_one, width, whole(QUERY_BLOCK))
        reach = ops.select(in_one, whole(0), whole(cfg.half_window))
        blocks = ops.add(ops.divide(last, block), whole(1))

        starts = ops.unsqueeze(ops.multiply(counting(blocks), block), whole(1))
        offsets = ops.range(ops.negative(reach), ops.add(block, reach), whole(1), "i64")
        # [blocks, queries of a block] and [blocks, keys of a block]
        self._queries = ops.minimum(ops.add(starts, counting(block)), last)
        keys = ops.add(starts, offsets)
        self._keys = ops.minimum(ops.maximum(keys, whole(0)), last)

        in_frame = ops.logical_and(ops.greater_equal(keys, whole(0)), ops.less(keys, width))
        distance = ops.abs(ops.subtract(ops.unsqueeze(self._queries, whole(2)), ops.unsqueeze(keys, whole(1))))
        near = ops.logical_and(ops.less_equal(distance, whole(cfg.half_window)), ops.unsqueeze(in_frame, whole(1)))
        # The blocks of all rows stand in one batch: [B * blocks, 1, queries, keys].
        real = ops.unsqueeze(ops.gather(packing.real, self._keys, whole(1)), whole(2))
        mask = allowed_or_forbidden(ops.logical_and(near, real))
        self._mask = ops.reshape(mask, joined(-1, 1, size(self._queries, 1), size(self._keys, 1)), False)

    def attention(self, queries: ov.Node, keys: ov.Node, values: ov.Node) -> ov.Node:
        """Local attention over [B, heads, W, head_dim]; the result is [B, W, heads * head_dim]."""
        queries = self._in_blocks(queries, self._queries)
        keys, values = self._in_blocks(keys, self._keys), self._in_blocks(values, self._keys)
        blocks = attention(queries, keys, values, self._mask)
        rows = ops.reshape(blocks, joined(self._rows, -1, self._heads * self._head_dim), False)
        return ops.slice(rows, whole([0]), self._width, whole([1]), whole([1]))

    def _in_blocks(self, x: ov.Node, positions: ov.Node) -> ov.Node:
        """Tokens of x [B, heads, W, head_dim] at `positions` [blocks, n]: [B * blocks, heads, n, head_dim]."""
        taken = ops.transpose(ops.gather(x, positions, whole(2)), whole([0, 2, 1, 3, 4]))
        return ops.reshape(taken, joined(-1, self._heads, size(positions, 1), self._head_dim), False)
