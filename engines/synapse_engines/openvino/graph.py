"""The building blocks that the families' OpenVINO graphs share.

Called by the family files, `packing` and `model`. Shapes in the docstrings: B rows in frames of L places, T tokens in
all of them, every one dynamic. A few spellings are chosen because the CPU plugin recognises them and computes them
in one step: layer norm as MVN times weight, RMS norm and rotation in exactly this order of operands.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from synapse_engines.families.base import rope_inverse_frequencies
from synapse_engines.openvino.runtime import ops, ov
from synapse_engines.weights import Weights

FORBIDDEN = float(np.finfo(np.float32).min)
"""Added to the attention logits of forbidden pairs. Finite, and never boolean masks: a row in which everything
is forbidden turns into NaN under a boolean mask or under minus infinity, and under this into numbers."""

# What torch's normalize keeps the norm above; it matters only for a vector of zeros.
_SMALLEST_NORM = 1e-12

_STORED_TYPES = {"F32": ov.Type.f32, "F16": ov.Type.f16, "BF16": ov.Type.bf16}


class GraphWeights:
    """A model's weights as graph constants, in the memory of the mapped file where they are stored as float32,
    widened to float32 inside the graph otherwise.

    The library keeps no hold on that memory: this object must outlive every model compiled from its constants.
    """

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._arrays: list[npt.NDArray[np.generic]] = []

    def float32(self, name: str) -> ov.Node:
        """The tensor `name` as a float32 node."""
        return _widened(self._stored(name))

    def linear(self, x: ov.Node, weight: str, bias: str | None = None) -> ov.Node:
        """x W^T + b for x [..., in], weight [out, in], bias [out]."""
        product = ops.matmul(x, self.float32(weight), False, True)
        return product if bias is None else ops.add(product, self.float32(bias))

    def layer_norm(self, x: ov.Node, weight: str, bias: str | None, eps: float) -> ov.Node:
        """Ba et al. 2016, along the last axis: (x - mean) / sqrt(variance + eps) * weight + bias."""
        centred = ops.mvn(x, whole([-1]), True, eps, "INSIDE_SQRT")
        scaled = ops.multiply(centred, self.float32(weight))
        return scaled if bias is None else ops.add(scaled, self.float32(bias))

    def rms_norm(self, x: ov.Node, weight: str, eps: float) -> ov.Node:
        """Zhang and Sennrich 2019, along the last axis: x / sqrt(mean(x^2) + eps) * weight."""
        mean_square = ops.reduce_mean(ops.power(x, real(2.0)), whole([-1]), True)
        inverse = ops.divide(real(1.0), ops.sqrt(ops.add(mean_square, real(eps))))
        return ops.multiply(ops.multiply(x, inverse), self.float32(weight))

    def lookup(self, table: str, ids: ov.Node) -> ov.Node:
        """Rows of a table [rows, hidden] for ids [T]: [T, hidden].

        Widened after the look-up, so that a table stored in half precision never exists in float32.
        """
        return _widened(ops.gather(self._stored(table), ids, whole(0)))

    def _stored(self, name: str) -> ov.Node:
        array, stored_as = self._weights.raw(name), _STORED_TYPES[self._weights.dtype(name)]
        self._arrays.append(array)
        return ops.constant(ov.Tensor(array, list(array.shape), stored_as), shared_memory=True)


def _widened(x: ov.Node) -> ov.Node:
    return x if x.get_element_type() == ov.Type.f32 else ops.convert(x, "f32")


def real(value: float) -> ov.Node:
    """A float32 scalar."""
    return ops.constant(np.float32(value))


def whole(value: int | Sequence[int]) -> ov.Node:
    """An integer scalar or list: axes, shapes, positions."""
    return ops.constant(np.array(value, np.int64))


def size(x: ov.Node, axis: int) -> ov.Node:
    """The size of `x` along `axis`, a list of one integer."""
    return ops.gather(ops.shape_of(x, "i64"), whole([axis]), whole(0))


def scalar(one: ov.Node) -> ov.Node:
    """The only element of a list."""
    return ops.squeeze(one, whole(0))


def counting(stop: ov.Node) -> ov.Node:
    """The integers 0 to stop - 1, for a scalar `stop`."""
    return ops.range(whole(0), stop, whole(1), "i64")


def joined(*dimensions: ov.Node | int) -> ov.Node:
    """A shape from integers and from lists of integers."""
    parts = [whole([each]) if isinstance(each, int) else each for each in dimensions]
    return ops.concat(parts, 0)


def allowed_or_forbidden(allowed: ov.Node) -> ov.Node:
    """An additive mask: 0 where `allowed` holds, FORBIDDEN elsewhere."""
    return ops.select(allowed, real(0.0), real(FORBIDDEN))


def split_heads(x: ov.Node, heads: int, head_dim: int) -> ov.Node:
    """[B, L, heads * head_dim] to [B, heads, L, head_dim]."""
    return ops.transpose(ops.reshape(x, whole([0, 0, heads, head_dim]), True), whole([0, 2, 1, 3]))


def join_heads(x: ov.Node) -> ov.Node:
    """[B, heads, L, head_dim] to [B, L, heads * head_dim]."""
    return ops.reshape(ops.transpose(x, whole([0, 2, 1, 3])), whole([0, 0, -1]), True)


def attention(queries: ov.Node, keys: ov.Node, values: ov.Node, mask: ov.Node) -> ov.Node:
    """Scaled dot-product attention (Vaswani et al. 2017, eq. 1) with an additive mask that is never left out.

    Args:
        queries: [B, heads, Q, head_dim].
        keys, values: [B, heads, K, head_dim].
        mask: broadcast to [B, heads, Q, K]; its last axis must depend on the input, see `packing.Packing`.

    Returns:
        [B, Q, heads * head_dim].
    """
    return join_heads(ops.scaled_dot_product_attention(queries, keys, values, mask))


def rotary_tables(count: ov.Node, theta: float, head_dim: int) -> tuple[ov.Node, ov.Node]:
    """Cosines and sines of the first `count` rotary positions, a list of one integer; each [1, 1, count, head_dim].

    Both halves of the last axis carry the same angles. The angles are products in float32, as in the models'
    training; see `rope_inverse_frequencies`.
    """
    inverse = ops.constant(np.array(rope_inverse_frequencies(theta, head_dim), np.float32)[None, None, None])
    positions = ops.convert(counting(scalar(count)), "f32")
    angles = ops.multiply(ops.unsqueeze(positions, whole([0, 1, 3])), inverse)
    both_halves = ops.concat([angles, angles], -1)
    return ops.cos(both_halves), ops.sin(both_halves)


def rotate(x: ov.Node, tables: tuple[ov.Node, ov.Node], head_dim: int) -> ov.Node:
    """Su et al. 2021 in the half-split form of GPT-NeoX: x cos + concat(-x2, x1) sin, x1 and x2 halves of x.

    Args:
        x: [B, heads, L, head_dim].
        tables: cosines and sines from `rotary_tables`.
    """
    cos, sin = tables
    half = head_dim // 2
    first = ops.slice(x, whole([0]), whole([half]), whole([1]), whole([3]))
    second = ops.slice(x, whole([half]), whole([head_dim]), whole([1]), whole([3]))
    turned = ops.concat([ops.multiply(second, real(-1.0)), first], -1)
    return ops.add(ops.multiply(x, cos), ops.multiply(turned, sin))


def normalised(vectors: ov.Node) -> ov.Node:
    """Vectors [B, hidden] scaled to unit length; a vector of zeros stays as it is."""
    return ops.normalize_l2(vectors, whole([1]), _SMALLEST_NORM**2, "max")
