"""The MLX graphs, on a processor, against the stored numbers of transformers and against the NumPy reference."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pytest

pytest.importorskip("mlx.core")

from fixtures.model_files import NAMES, Name, expected, tiny_config, tiny_model
from synapse_engines import mlx, reference
from synapse_engines.backend import Embedder, EmbedSpec
from synapse_engines.families import FAMILIES
from synapse_engines.families.base import Pooling
from synapse_engines.mlx.model import MlxModel
from synapse_engines.weights import Weights

LENGTHS = (1, 7, 17, 40, 127, 128, 129, 256)
POOLINGS: tuple[Pooling, ...] = ("mean", "cls", "last")

# The vectors that are not normalised have entries of up to 4.6.
TOLERANCE = 2e-5
UNIT_TOLERANCE = 5e-6


def load(name: Name, pooling: Pooling, *, normalize: bool = False, max_tokens: int = 2048) -> MlxModel:
    family = FAMILIES[name]
    cfg = family.parse(tiny_config(name))
    with Weights.open(tiny_model(name) / "model.safetensors", family, cfg) as weights:
        return mlx.build(weights, cfg, EmbedSpec(name, pooling, normalize, max_tokens), device="cpu")


def load_reference(name: Name, pooling: Pooling) -> Embedder:
    family = FAMILIES[name]
    cfg = family.parse(tiny_config(name))
    weights = Weights.open(tiny_model(name) / "model.safetensors", family, cfg)
    return reference.build(weights, cfg, EmbedSpec(name, pooling, False, 2048))


def random_row(length: int, vocab: int) -> npt.NDArray[np.int32]:
    return np.random.default_rng(length).integers(0, vocab, length, dtype=np.int32)


@pytest.fixture(scope="module", params=NAMES)
def loaded(request: pytest.FixtureRequest) -> Iterator[tuple[Name, MlxModel]]:
    """Each family with its own default pooling, not normalised."""
    model = load(request.param, FAMILIES[request.param].default_pooling)
    yield request.param, model
    model.close()


def test_vectors_are_those_of_transformers(loaded: tuple[Name, MlxModel]) -> None:
    name, model = loaded
    stored = expected(name)
    for length in LENGTHS:
        vector = model.embed([stored.row(length)])[0]
        wanted = stored.vector(length, FAMILIES[name].default_pooling)
        np.testing.assert_allclose(vector, wanted, rtol=0, atol=TOLERANCE, err_msg=f"length {length}")


@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("name", NAMES)
def test_every_family_can_be_pooled_in_every_way(name: Name, pooling: Pooling) -> None:
    stored = expected(name)
    model = load(name, pooling)
    vectors = model.embed([stored.row(length) for length in (1, 7, 17)])
    model.close()
    wanted = np.stack([stored.vector(length, pooling) for length in (1, 7, 17)])
    np.testing.assert_allclose(vectors, wanted, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("name", NAMES)
def test_normalised_vectors_are_those_of_transformers_at_unit_length(name: Name) -> None:
    stored = expected(name)
    pooling = FAMILIES[name].default_pooling
    model = load(name, pooling, normalize=True)
    vectors = model.embed([stored.row(length) for length in (17, 1, 129)])
    model.close()
    wanted = np.stack([stored.vector(length, pooling) for length in (17, 1, 129)])
    wanted /= np.linalg.norm(wanted, axis=1, keepdims=True)
    np.testing.assert_allclose(vectors, wanted, rtol=0, atol=UNIT_TOLERANCE)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=0, atol=1e-6)


def test_a_mixed_batch_gives_each_row_what_it_gets_alone_and_in_the_order_given(loaded: tuple[Name, MlxModel]) -> None:
    name, model = loaded
    stored = expected(name)
    lengths = (129, 1, 17, 128, 7, 1, 40, 127)
    together = model.embed([stored.row(length) for length in lengths])
    alone = np.concatenate([model.embed([stored.row(length)]) for length in lengths])
    np.testing.assert_allclose(together, alone, rtol=0, atol=TOLERANCE)
    assert not np.allclose(together[0], together[1], atol=0.1)


@pytest.mark.parametrize("length", [128, 224, 256, 288, 320, 512, 640])
def test_modernbert_with_a_short_mate_agrees_with_the_reference(length: int) -> None:
    """Lengths around the edges of local windows, of the blocks they are computed in, and of the ladder."""
    model, yardstick = load("modernbert", "mean"), load_reference("modernbert", "mean")
    rows = [random_row(length, 512), random_row(3, 512)]
    vectors, wanted = model.embed(rows), yardstick.embed(rows)
    model.close()
    np.testing.assert_allclose(vectors, wanted, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("length", [7, 40, 129])
def test_padding_changes_nothing(loaded: tuple[Name, MlxModel], length: int) -> None:
    """A lane whose longest row is `length` has that as a rung of its ladder, so there the row has no padding."""
    name, padding = loaded
    row = expected(name).row(length)
    exact = load(name, FAMILIES[name].default_pooling, max_tokens=length)
    found = exact.embed([row])
    exact.close()
    np.testing.assert_allclose(padding.embed([row]), found, rtol=0, atol=TOLERANCE)


def test_no_rows_give_no_vectors(loaded: tuple[Name, MlxModel]) -> None:
    _, model = loaded
    assert model.embed([]).shape == (0, 64)
    assert model.dims == 64
