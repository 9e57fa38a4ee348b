"""The parts of the MLX graphs whose failure a parity test might miss: masks, blocks, and what they save."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

pytest.importorskip("mlx.core")

import mlx.core as mx

from synapse_engines.mlx import layers, memory

HEADS, WIDTH = 2, 8


def heads(rows: int, length: int, seed: int) -> mx.array:
    values = np.random.default_rng(seed).standard_normal((rows, HEADS, length, WIDTH))
    return mx.array(values.astype(np.float32))


def plain_attention(q: mx.array, k: mx.array, v: mx.array, seen: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
    """Attention in float64, of the keys that `seen` [B, L, L] allows and no others."""
    a, b, c = (np.array(x).astype(np.float64) for x in (q, k, v))
    scores = np.where(seen[:, None], a @ b.swapaxes(-1, -2) / np.sqrt(WIDTH), -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    result: npt.NDArray[np.float64] = weights / weights.sum(axis=-1, keepdims=True) @ c
    return result


def test_masks_are_finite_and_leave_every_query_a_key() -> None:
    lengths = mx.array([1, 5, 64])
    masks = {
        "key": layers.key_mask(lengths, 64),
        "causal": layers.causal_mask(0, 64, 64),
        "window": layers.window_mask(0, 64, lengths, 64, 8),
    }
    for name, mask in masks.items():
        values = np.array(mask)
        assert set(np.unique(values)) == {np.float32(0), np.float32(layers.MASKED)}, name
        assert (values.max(axis=-1) == 0).all(), name


def test_a_window_reaches_half_its_width_to_both_sides_inclusive() -> None:
    seen = np.array(layers.window_mask(0, 32, mx.array([32]), 32, 4))[0, 0] == 0
    assert np.flatnonzero(seen[16]).tolist() == [12, 13, 14, 15, 16, 17, 18, 19, 20]
    assert np.flatnonzero(seen[0]).tolist() == [0, 1, 2, 3, 4]
    assert np.flatnonzero(seen[31]).tolist() == [27, 28, 29, 30, 31]


def test_a_window_hides_padding_from_real_tokens() -> None:
    seen = np.array(layers.window_mask(0, 8, mx.array([3]), 8, 2))[0, 0] == 0
    assert np.flatnonzero(seen[2]).tolist() == [0, 1, 2]


@pytest.mark.parametrize("length", [32, 40, 64, 72, 128])
def test_windowed_attention_is_full_attention_under_the_window(length: int) -> None:
    """32 tokens are computed whole, 40 and more in blocks of 8; one row has padding that spans whole blocks."""
    half_window, real = 4, np.array([length, 3])
    q, k, v = (heads(2, length, seed) for seed in range(3))
    found = np.array(layers.attend_in_window(q, k, v, mx.array(real), half_window))
    positions = np.arange(length)
    distance = np.abs(positions[:, None] - positions)
    seen = ((distance <= half_window) & (positions < real[:, None, None])) | (distance == 0)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found, plain_attention(q, k, v, seen), rtol=0, atol=2e-6)


def test_a_window_of_nothing_sees_only_the_token_itself() -> None:
    q, k, v = (heads(1, 16, seed) for seed in range(3))
    found = np.array(layers.attend_in_window(q, k, v, mx.array([16]), 0))
    np.testing.assert_allclose(found, np.array(v), rtol=0, atol=1e-7)


def test_blocks_of_queries_give_the_same_and_hold_fewer_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Red without the evaluation of each block in `attend_in_blocks`: MLX would hold all scores together."""
    length = 1024
    q, k, v = (heads(1, length, seed) for seed in range(3))
    mx.eval(q, k, v)

    def attend() -> tuple[npt.NDArray[np.float32], int]:
        mx.clear_cache()
        before = mx.get_active_memory()
        mx.reset_peak_memory()
        found = np.array(layers.attend_in_blocks(q, k, v, lambda a, b: layers.causal_mask(a, b, length)))
        return found, mx.get_peak_memory() - before

    whole, peak_whole = attend()
    monkeypatch.setattr(memory, "SCORE_BYTES", 2**19)
    assert memory.query_block(1, HEADS, length) == 64
    blocks, peak_blocks = attend()
    np.testing.assert_allclose(blocks, whole, rtol=0, atol=1e-6)
    assert peak_blocks * 4 < peak_whole


def test_gelu_is_the_exact_one() -> None:
    """Values of x Phi(x); the usual approximation by tanh is off by 3e-4 at 2.5."""
    found = np.array(layers.gelu(mx.array([-1.0, 0.0, 1.0, 2.5])))
    np.testing.assert_allclose(found, [-0.15865525, 0.0, 0.84134475, 2.48447583], rtol=0, atol=2e-7)
