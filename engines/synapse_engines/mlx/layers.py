"""The steps that the family graphs are made of, in MLX.

Called by `bert`, `modernbert` and `qwen3`. Arrays are float32 and carry a batch: hidden states [B, L, H], heads
[B, heads, L, D]. Rows are padded on the right; `lengths` [B] says how many tokens of each are real.

Masks are additive, 0 or MASKED, and leave every query at least one key: a row of scores that is masked as a whole has
no softmax, and the NaN in a padded position would reach the real ones through 0 * NaN.

`mlx.nn` is not used: its activations call `mx.compile`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import mlx.core as mx
import numpy as np

from synapse_engines.mlx.memory import SETTLE_TOKENS, query_block

MASKED = -1e30
"""Added to a score that must not count: its exponential is exactly 0, and no kernel's scaling makes it infinite."""

MaskRows: TypeAlias = Callable[[int, int], mx.array]
"""The mask rows of the queries from start to stop, broadcastable to [B, heads, stop - start, L]."""

RopeTable: TypeAlias = tuple[mx.array, mx.array]
"""Cosines and sines of the angles, each [positions, D / 2]."""


def linear(x: mx.array, weight: mx.array, bias: mx.array | None = None) -> mx.array:
    """x W^T + b, with `weight` [out, in] as model files store it."""
    return x @ weight.T if bias is None else mx.addmm(bias, x, weight.T)


def gelu(x: mx.array) -> mx.array:
    """The exact GELU, x Phi(x) (Hendrycks and Gimpel 2016), not one of its approximations."""
    return x * (0.5 + 0.5 * mx.erf(x * 0.5**0.5))


def silu(x: mx.array) -> mx.array:
    """x sigmoid(x)."""
    return x * mx.sigmoid(x)


def split_heads(x: mx.array, heads: int) -> mx.array:
    """[B, L, heads * D] to [B, heads, L, D]."""
    rows, length, width = x.shape
    return x.reshape(rows, length, heads, width // heads).transpose(0, 2, 1, 3)


def merge_heads(x: mx.array) -> mx.array:
    """[B, heads, L, D] to [B, L, heads * D]."""
    rows, heads, length, width = x.shape
    return x.transpose(0, 2, 1, 3).reshape(rows, length, heads * width)


def rope_table(inverse_frequencies: Sequence[float], positions: int) -> RopeTable:
    """Cosines and sines for positions 0 to `positions` - 1, from angles rounded to float32 as in training.

    Computed by NumPy, because the trigonometry of an accelerator is less exact for large angles.
    """
    angles = np.arange(positions, dtype=np.float32)[:, None] * np.array(inverse_frequencies, np.float32)
    return mx.array(np.cos(angles)), mx.array(np.sin(angles))


def rope(x: mx.array, table: RopeTable) -> mx.array:
    """Rotates the two halves of every head against each other (Su et al. 2021, in the layout of GPT-NeoX)."""
    length = x.shape[2]
    cos, sin = table[0][:length], table[1][:length]
    first, second = mx.split(x, 2, axis=-1)
    return mx.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)


def key_mask(lengths: mx.array, length: int) -> mx.array:
    """Hides padding from every query: [B, 1, 1, L]."""
    return _additive(mx.arange(length) < lengths[:, None])[:, None, None, :]


def causal_mask(start: int, stop: int, length: int) -> mx.array:
    """Hides later tokens, and so all padding from real tokens: [1, 1, stop - start, L]."""
    return _additive(mx.arange(length) <= mx.arange(start, stop)[:, None])[None, None]


def window_mask(start: int, stop: int, lengths: mx.array, length: int, half_window: int) -> mx.array:
    """Hides padding and tokens further than `half_window`, but no token from itself: [B, 1, stop - start, L]."""
    queries, keys = mx.arange(start, stop)[:, None], mx.arange(length)
    return _additive(_window(queries, keys, lengths[:, None, None], half_window))[:, None]


def attend(q: mx.array, k: mx.array, v: mx.array, mask: mx.array) -> mx.array:
    """Scaled dot-product attention (Vaswani et al. 2017); groups of query heads may share a key head."""
    return mx.fast.scaled_dot_product_attention(q, k, v, scale=q.shape[-1] ** -0.5, mask=mask)


def attend_in_blocks(q: mx.array, k: mx.array, v: mx.array, mask_rows: MaskRows) -> mx.array:
    """`attend` with as many queries at once as `memory.query_block` allows."""
    rows, heads, length, _ = q.shape
    block = query_block(rows, heads, length)
    if block == length:
        return attend(q, k, v, mask_rows(0, length))
    parts = []
    for start in range(0, length, block):
        stop = min(start + block, length)
        parts.append(attend(q[:, :, start:stop], k, v, mask_rows(start, stop)))
        # Otherwise MLX would compute the scores of all blocks first, which is what the blocks are there to avoid.
        mx.eval(parts[-1])
    return mx.concatenate(parts, axis=2)


def attend_in_window(q: mx.array, k: mx.array, v: mx.array, lengths: mx.array, half_window: int) -> mx.array:
    """Attention of every token to those at most `half_window` away.

    A row longer than four windows is cut into blocks of 2 * half_window queries, each of which needs twice as many
    keys. Work and memory then grow with the row's length and not with its square.
    """
    length = q.shape[2]
    block = 2 * half_window
    if block == 0 or length <= 4 * block or length % block:
        return attend_in_blocks(q, k, v, lambda start, stop: window_mask(start, stop, lengths, length, half_window))
    return _attend_banded(q, k, v, lengths, half_window)


def settle(x: mx.array) -> mx.array:
    """Evaluates a layer's result if the inference is large; see `memory.SETTLE_TOKENS`."""
    if x.shape[0] * x.shape[1] >= SETTLE_TOKENS:
        mx.eval(x)
    return x


def _additive(seen: mx.array) -> mx.array:
    return mx.where(seen, 0.0, MASKED)


def _window(queries: mx.array, keys: mx.array, lengths: mx.array, half_window: int) -> mx.array:
    """Which keys a query sees, by position; arguments broadcast against each other."""
    distance = mx.abs(queries - keys)
    return ((distance <= half_window) & (keys >= 0) & (keys < lengths)) | (distance == 0)


def _attend_banded(q: mx.array, k: mx.array, v: mx.array, lengths: mx.array, half_window: int) -> mx.array:
    """`attend_in_window` by blocks; L must be a multiple of the block."""
    rows, heads, length, width = q.shape
    block = 2 * half_window
    blocks = length // block

    def key_blocks(x: mx.array) -> mx.array:
        """[B, heads, L, D] to [B * blocks, heads, 2 * block, D]: half a block before each block to half a one after."""
        padded = mx.pad(x, [(0, 0), (0, 0), (half_window, half_window), (0, 0)])
        cut = padded.reshape(rows, heads, blocks + 1, block, width)
        pairs = mx.concatenate([cut[:, :, :-1], cut[:, :, 1:]], axis=3)
        return pairs.transpose(0, 2, 1, 3, 4).reshape(rows * blocks, heads, 2 * block, width)

    starts = (mx.arange(blocks) * block)[:, None]
    queries = (starts + mx.arange(block))[None, :, :, None]
    keys = (starts - half_window + mx.arange(2 * block))[None, :, None, :]
    seen = _window(queries, keys, lengths[:, None, None, None], half_window)
    mask = _additive(seen).reshape(rows * blocks, 1, block, 2 * block)

    cut = q.reshape(rows, heads, blocks, block, width).transpose(0, 2, 1, 3, 4)
    out = attend(cut.reshape(rows * blocks, heads, block, width), key_blocks(k), key_blocks(v), mask)
    return out.reshape(rows, blocks, heads, block, width).transpose(0, 2, 1, 3, 4).reshape(rows, heads, length, width)
