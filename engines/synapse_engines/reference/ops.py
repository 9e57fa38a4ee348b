"""The arithmetic that the reference forward passes share: arrays in, arrays out.

Called by the family files beside it. Float32 throughout, except where a line says float64.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from synapse_engines.families.base import rope_inverse_frequencies

Array = npt.NDArray[np.float32]

# Added to the attention logits of forbidden pairs. Finite: minus infinity would turn a row in which
# everything is forbidden into NaN.
_FORBIDDEN = float(np.finfo(np.float32).min)

# Queries handled at once. At 8192 tokens and 16 heads a block's logits are 64 MiB; the whole matrix would be
# 4 GiB.
_QUERY_BLOCK = 128


def linear(x: Array, weight: Array, bias: Array | None = None) -> Array:
    """x W^T + b for x [L, in], weight [out, in], bias [out]; the result is [L, out]."""
    product: Array = x @ weight.T
    return product if bias is None else product + bias


def layer_norm(x: Array, weight: Array, bias: Array | None, eps: float) -> Array:
    """Ba et al. 2016: (x - mean) / sqrt(variance + eps) * weight + bias along the last axis."""
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = np.square(centred).mean(axis=-1, keepdims=True)
    scaled: Array = centred / np.sqrt(variance + np.float32(eps)) * weight
    return scaled if bias is None else scaled + bias


def rms_norm(x: Array, weight: Array, eps: float) -> Array:
    """Zhang and Sennrich 2019: x / sqrt(mean(x^2) + eps) * weight over the last axis."""
    mean_square = np.square(x).mean(axis=-1, keepdims=True)
    scaled: Array = x / np.sqrt(mean_square + np.float32(eps)) * weight
    return scaled


def gelu(x: Array) -> Array:
    """Hendrycks and Gimpel 2016, the exact form: x/2 * (1 + erf(x / sqrt 2)), evaluated in float64."""
    wide = x.astype(np.float64)
    result: Array = (0.5 * wide * (1.0 + erf(wide * np.sqrt(0.5)))).astype(np.float32)
    return result


def silu(x: Array) -> Array:
    """x * sigmoid(x), evaluated in float64: far below zero the exponential would overflow float32."""
    wide = x.astype(np.float64)
    result: Array = (wide / (1.0 + np.exp(-wide))).astype(np.float32)
    return result


# W. J. Cody, "Rational Chebyshev approximations for the error function", Mathematics of Computation 23
# (1969). Coefficients from the constant term upwards. Centre: erf(x) = x P(x^2) / Q(x^2) for |x| <= 0.46875.
_CENTRE_LIMIT = 0.46875
_CENTRE_P = (
    3.20937758913846947e03,
    3.77485237685302021e02,
    1.13864154151050156e02,
    3.16112374387056560e00,
    1.85777706184603153e-01,
)
_CENTRE_Q = (
    2.84423683343917062e03,
    1.28261652607737228e03,
    2.44024637934444173e02,
    2.36012909523441209e01,
    1.0,
)
# Flank: erfc(x) = exp(-x^2) P(x) / Q(x) for 0.46875 <= x <= 4.
_FLANK_LIMIT = 4.0
_FLANK_P = (
    1.23033935479799725e03,
    2.05107837782607147e03,
    1.71204761263407058e03,
    8.81952221241769090e02,
    2.98635138197400131e02,
    6.61191906371416295e01,
    8.88314979438837594e00,
    5.64188496988670089e-01,
    2.15311535474403846e-08,
)
_FLANK_Q = (
    1.23033935480374942e03,
    3.43936767414372164e03,
    4.36261909014324716e03,
    3.29079923573345963e03,
    1.62138957456669019e03,
    5.37181101862009858e02,
    1.17693950891312499e02,
    1.57449261107098347e01,
    1.0,
)


def erf(x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The error function of a float64 array.

    Cody's two inner approximations, good to 1e-15. Beyond |x| = 4 the result is exactly 1 or -1, which is off
    by at most 1.6e-8: less than float32 resolves next to one.
    """
    size = np.abs(x)
    square = np.square(np.minimum(size, _CENTRE_LIMIT))
    centre = x * _polynomial(_CENTRE_P, square) / _polynomial(_CENTRE_Q, square)
    inner = np.minimum(size, _FLANK_LIMIT)
    flank = 1.0 - np.exp(-np.square(inner)) * _polynomial(_FLANK_P, inner) / _polynomial(_FLANK_Q, inner)
    outer = np.copysign(np.where(size < _FLANK_LIMIT, flank, 1.0), x)
    return np.where(size <= _CENTRE_LIMIT, centre, outer)


def _polynomial(coefficients: Sequence[float], x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Horner's rule; `coefficients` from the constant term upwards."""
    total = np.full_like(x, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        total = total * x + coefficient
    return total


def rotary_tables(length: int, theta: float, head_dim: int) -> tuple[Array, Array]:
    """Cosines and sines of rotary positions 0 to length - 1, each [length, head_dim].

    Both halves of the last axis carry the same angles. The angles are products in float32, as in the models'
    training; see `rope_inverse_frequencies`.
    """
    inverse: Array = np.array(rope_inverse_frequencies(theta, head_dim), dtype=np.float32)
    angles = np.arange(length, dtype=np.float32)[:, None] * inverse
    both_halves = np.concatenate([angles, angles], axis=-1).astype(np.float64)
    return np.cos(both_halves).astype(np.float32), np.sin(both_halves).astype(np.float32)


def rotate(x: Array, cos: Array, sin: Array) -> Array:
    """Su et al. 2021 in the half-split form of GPT-NeoX: x cos + concat(-x2, x1) sin.

    Args:
        x: [heads, L, head_dim], where x1 and x2 are the halves of the last axis.
        cos, sin: [L, head_dim], from `rotary_tables`.
    """
    half = x.shape[-1] // 2
    turned: Array = np.concatenate([-x[..., half:], x[..., :half]], axis=-1)
    rotated: Array = x * cos + turned * sin
    return rotated


def softmax(x: Array) -> Array:
    """Softmax over the last axis, shifted by the maximum."""
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    shares: Array = powers / powers.sum(axis=-1, keepdims=True)
    return shares


def split_heads(x: Array, heads: int) -> Array:
    """[L, heads * head_dim] to [heads, L, head_dim]."""
    return x.reshape(x.shape[0], heads, -1).transpose(1, 0, 2)


def join_heads(x: Array) -> Array:
    """[heads, L, head_dim] to [L, heads * head_dim]."""
    return x.transpose(1, 0, 2).reshape(x.shape[1], -1)


def attention(
    queries: Array, keys: Array, values: Array, *, causal: bool = False, half_window: int | None = None
) -> Array:
    """Scaled dot-product attention (Vaswani et al. 2017, eq. 1) of one row.

    Works through the queries in blocks, each against only the keys that it may see, so that memory grows with
    the length of the row and not with its square. Every query sees at least itself.

    Args:
        queries: [heads, L, head_dim].
        keys, values: [kv_heads, L, head_dim]; heads must be a multiple of kv_heads, and query heads that
            follow each other share a key head.
        causal: whether a token sees none after itself.
        half_window: how far a token sees to each side, itself and both ends included; None for no limit.

    Returns:
        [heads, L, head_dim].
    """
    heads, length, head_dim = queries.shape
    shared = heads // keys.shape[0]
    keys, values = np.repeat(keys, shared, axis=0), np.repeat(values, shared, axis=0)
    scale = np.float32(head_dim**-0.5)
    result = np.empty_like(queries)
    for start in range(0, length, _QUERY_BLOCK):
        stop = min(start + _QUERY_BLOCK, length)
        first = 0 if half_window is None else max(0, start - half_window)
        end = length if half_window is None else min(length, stop + half_window)
        end = min(end, stop) if causal else end
        logits = (queries[:, start:stop] @ keys[:, first:end].transpose(0, 2, 1)) * scale
        distance = np.arange(start, stop)[:, None] - np.arange(first, end)
        mask = np.zeros(distance.shape, dtype=np.float32)
        if causal:
            mask[distance < 0] = _FORBIDDEN
        if half_window is not None:
            mask[np.abs(distance) > half_window] = _FORBIDDEN
        result[:, start:stop] = softmax(logits + mask) @ values[:, first:end]
    return result
