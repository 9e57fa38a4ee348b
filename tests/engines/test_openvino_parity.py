"""OpenVINO computes what transformers computes, for every family, pooling, length and stored precision."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file
from safetensors.torch import save_file

from fixtures.model_files import NAMES, Name, expected, minilm, minilm_expected, tiny_config, tiny_model
from fixtures.openvino_tiny import normalised, random_rows, tiny_on_openvino
from synapse_engines import openvino, reference
from synapse_engines.backend import EmbedSpec
from synapse_engines.families import family_for
from synapse_engines.families.base import Pooling
from synapse_engines.openvino.model import OpenVinoModel
from synapse_engines.weights import Weights

TOLERANCE = 2e-6
"""Largest difference allowed between normalised vectors. They are of width 64, with components up to about 0.4."""


@pytest.fixture(scope="module", params=NAMES)
def name(request: pytest.FixtureRequest) -> Name:
    given: Name = request.param
    return given


@pytest.fixture(scope="module")
def model(name: Name) -> Iterator[OpenVinoModel]:
    loaded = tiny_on_openvino(name)
    yield loaded
    loaded.close()


def test_every_length_equals_transformers(name: Name, model: OpenVinoModel) -> None:
    known = expected(name)
    lengths = [row.size for row in known.rows]
    assert {1, 7, 127, 128, 129, 256, 512, 2048} <= set(lengths)
    assert name != "modernbert" or max(lengths) == 8192
    pooling = family_for(tiny_config(name)).default_pooling
    # Long and short rows in one call, in an order that is not that of their lengths.
    order = np.random.default_rng(1).permutation(len(lengths))
    found = model.embed([known.rows[index] for index in order])
    assert found.dtype == np.float32
    difference = np.abs(found - normalised(known.pooled[pooling])[order]).max(axis=1)
    assert difference.max() <= TOLERANCE, dict(zip(np.array(lengths)[order].tolist(), difference, strict=True))


@pytest.mark.parametrize("pooling", ["mean", "cls", "last"])
@pytest.mark.parametrize("name", ["bert"], scope="function")
def test_every_pooling_equals_transformers_before_normalising(name: Name, pooling: Pooling) -> None:
    known = expected(name)
    model = tiny_on_openvino(name, pooling=pooling, normalize=False)
    np.testing.assert_allclose(model.embed(known.rows), known.pooled[pooling], rtol=0, atol=1e-5)
    model.close()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_weights_are_computed_in_float32(name: Name, dtype: torch.dtype, tmp_path: Path) -> None:
    path = tmp_path / "half.safetensors"
    tensors = load_file(tiny_model(name) / "model.safetensors")
    save_file({key: torch.from_numpy(value).to(dtype) for key, value in tensors.items()}, path)
    rows = random_rows([1, 17, 40, 129])
    config = tiny_config(name)
    family = family_for(config)
    cfg = family.parse(config)
    with Weights.open(path, family, cfg) as weights:
        spec = EmbedSpec(name, family.default_pooling, True, 8192)
        widened = reference.build(weights, cfg, spec).embed(rows)
    model = tiny_on_openvino(name, path=path)
    np.testing.assert_allclose(model.embed(rows), widened, rtol=0, atol=TOLERANCE)
    model.close()


def test_tensors_off_their_alignment(tmp_path: Path) -> None:
    whole = (tiny_model("bert") / "model.safetensors").read_bytes()
    length = int.from_bytes(whole[:8], "little")
    path = tmp_path / "odd.safetensors"
    path.write_bytes((length + 1).to_bytes(8, "little") + whole[8 : 8 + length] + b" " + whole[8 + length :])
    rows = random_rows([5, 128])
    odd, even = tiny_on_openvino("bert", path=path), tiny_on_openvino("bert")
    np.testing.assert_array_equal(odd.embed(rows), even.embed(rows))


@pytest.mark.skipif(minilm() is None, reason="the package that carries all-MiniLM-L6-v2 is not installed")
def test_minilm_equals_transformers() -> None:
    folder = minilm()
    assert folder is not None
    config = json.loads((folder / "config.json").read_text())
    family = family_for(config)
    cfg = family.parse(config)
    spec = EmbedSpec("bert", "mean", True, 256)
    model = openvino.build(folder / "model.safetensors", family, cfg, spec, 2)
    ids, vectors = minilm_expected()
    rows = [np.array(row, np.int32) for row in ids]
    found = model.embed(rows)
    np.testing.assert_allclose(found, vectors, rtol=0, atol=1e-6)
    np.testing.assert_array_equal(found, np.concatenate([model.embed([row]) for row in rows]))
    model.close()
