"""Every engine gives the scores that transformers gives, and a row's score is its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import torch
from safetensors.numpy import load_file, save_file
from safetensors.torch import save_file as save_torch

from fixtures.model_files import (
    SCORER_NAMES,
    ScorerName,
    reranker_logits_of_first_token,
    scored,
    tiny_config,
    tiny_model,
)
from fixtures.openvino_tiny import random_rows
from fixtures.scorers import READOUTS, Engine, tiny_scorer
from synapse_engines import openvino
from synapse_engines.backend import Scorer, ScoreSpec
from synapse_engines.errors import InputError
from synapse_engines.families import FAMILIES
from synapse_engines.openvino.batching import TOKEN_BUDGET
from synapse_engines.readout import Sigmoid, YesNo

# Logits of up to 13; two float32 implementations differ by some 1e-5 of that.
LOGIT_TOLERANCE = 5e-5
SCORE_TOLERANCE = 1e-5

ENGINES: tuple[Engine, ...] = ("reference", "openvino", "mlx")


@pytest.fixture(scope="module", params=SCORER_NAMES)
def name(request: pytest.FixtureRequest) -> ScorerName:
    given: ScorerName = request.param
    return given


@pytest.fixture(scope="module", params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Engine:
    if request.param == "mlx":
        pytest.importorskip("mlx.core")
    given: Engine = request.param
    return given


@pytest.fixture(scope="module")
def model(name: ScorerName, engine: Engine) -> Iterator[Scorer]:
    loaded = tiny_scorer(name, engine)
    yield loaded
    loaded.close()


def test_every_length_equals_transformers(name: ScorerName, engine: Engine, model: Scorer) -> None:
    """ModernBERT's windows reach 8 tokens to each side here; above 512 tokens OpenVINO computes them in blocks."""
    known = scored(name)
    assert [row.size for row in known.rows] == [1, 2, 7, 17, 40, 127, 128, 129, 256, 511, 512, 513, 2048]
    # The longest row takes MLX on a processor many seconds with Qwen3, which has no windows to get wrong.
    count = len(known.rows) - (engine == "mlx" and name == "qwen3")
    order = np.random.default_rng(1).permutation(count)
    found = model.score([known.rows[index] for index in order])
    assert (found.values.dtype, found.logits.dtype) == (np.float32, np.float32)
    np.testing.assert_allclose(found.logits, known.logits[order], rtol=0, atol=LOGIT_TOLERANCE)
    np.testing.assert_allclose(found.values, known.scores[order], rtol=0, atol=SCORE_TOLERANCE)


def test_scores_are_the_model_s_own_read_out_and_nothing_more(name: ScorerName, model: Scorer) -> None:
    """Absolute values: after a second sigmoid the order would be the same and every score between 0.5 and 0.7311."""
    rows = scored(name).rows[:9]
    found = model.score(rows)
    wide = found.logits.astype(np.float64)
    margin = wide[:, 0] - (wide[:, 1] if name == "qwen3" else 0)
    np.testing.assert_allclose(found.values, 1 / (1 + np.exp(-margin)), rtol=1e-6, atol=0)
    assert found.values.min() < 0.45
    assert found.values.max() > 0.85
    assert len(set(found.values.tolist())) == len(rows)


def test_the_read_out_names_the_tokens_that_were_read(name: ScorerName, model: Scorer) -> None:
    assert model.readout == READOUTS[name]
    assert model.readout.token_ids == ((231, 370) if name == "qwen3" else ())


def test_yes_and_no_are_not_exchanged(engine: Engine) -> None:
    yes, no = READOUTS["qwen3"].token_ids
    rows = scored("qwen3").rows[:6]
    turned = tiny_scorer("qwen3", engine, readout=YesNo(yes_id=no, no_id=yes)).score(rows)
    np.testing.assert_allclose(turned.values, 1 - scored("qwen3").scores[:6], rtol=0, atol=SCORE_TOLERANCE)


def test_the_first_token_is_pooled_where_the_configuration_says_so(engine: Engine) -> None:
    known = scored("modernbert-reranker")
    config = tiny_config("modernbert-reranker") | {"classifier_pooling": "cls"}
    found = tiny_scorer("modernbert-reranker", engine, config=config).score(known.rows[:9]).logits
    np.testing.assert_allclose(found, reranker_logits_of_first_token()[:9], rtol=0, atol=LOGIT_TOLERANCE)
    assert np.abs(found - known.logits[:9]).max() > 1


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_weights_are_computed_in_float32(
    name: ScorerName, engine: Engine, dtype: torch.dtype, tmp_path: Path
) -> None:
    halved, widened = tmp_path / "half.safetensors", tmp_path / "wide.safetensors"
    tensors = load_file(tiny_model(name) / "model.safetensors")
    rounded = {key: torch.from_numpy(value).to(dtype) for key, value in tensors.items()}
    save_torch(rounded, halved)
    save_torch({key: value.float() for key, value in rounded.items()}, widened)
    rows = random_rows([1, 17, 129])
    half, wide = tiny_scorer(name, engine, path=halved), tiny_scorer(name, engine, path=widened)
    np.testing.assert_allclose(half.score(rows).logits, wide.score(rows).logits, rtol=0, atol=LOGIT_TOLERANCE)


def test_a_mixed_batch_gives_each_row_what_it_gets_alone(model: Scorer) -> None:
    rows = random_rows([129, 1, 17, 128, 7, 17, 40, 127])
    together = model.score(rows).logits
    alone = np.concatenate([model.score([row]).logits for row in rows])
    np.testing.assert_allclose(together, alone, rtol=0, atol=LOGIT_TOLERANCE)


def test_no_rows_have_no_scores(name: ScorerName, model: Scorer) -> None:
    found = model.score([])
    assert found.values.shape == (0,)
    assert found.logits.shape == (0, 2 if name == "qwen3" else 1)


@pytest.mark.parametrize(
    ("row", "reason"),
    [([5, -1, 7], "bad_id"), ([5, 512], "bad_id"), ([2**31 - 1], "bad_id"), ([], "empty"), ([1] * 65, "too_long")],
)
def test_senseless_rows_are_refused_by_their_place(
    name: ScorerName, engine: Engine, row: list[int], reason: str
) -> None:
    model = tiny_scorer(name, engine, max_tokens=64)
    with pytest.raises(InputError) as caught:
        model.score([np.array([1, 2], np.int32), np.array([3], np.int32), np.array(row, np.int32)])
    assert (caught.value.reason, caught.value.row) == (reason, 2)
    assert np.isfinite(model.score([np.array([1] * 64, np.int32)]).values).all()
    model.close()


def test_a_closed_model_scores_nothing(name: ScorerName, engine: Engine) -> None:
    model = tiny_scorer(name, engine)
    assert model.facts["engine"] == engine
    model.close()
    model.close()
    with pytest.raises(ValueError, match="the model is closed"):
        model.score(random_rows([3]))


# Bit for bit, on the processor.


@pytest.mark.parametrize("scorer", SCORER_NAMES)
def test_a_batch_on_the_processor_equals_its_single_rows_to_the_bit(scorer: ScorerName) -> None:
    model = tiny_scorer(scorer, "openvino")
    lengths = (1, 2, 7, 8, 17, 33, 64, 127, 128, 129, 256, 257, 512, 513)
    require_equal_bits(model, random_rows([length for length in lengths for _ in range(1 + min(6, 512 // length))]))


WIDE = {
    "modernbert": {
        "model_type": "modernbert",
        "hidden_size": 768,
        "num_hidden_layers": 1,
        "num_attention_heads": 12,
        "intermediate_size": 1152,
        "local_attention": 128,
        "global_attn_every_n_layers": 3,
        "global_rope_theta": 160000.0,
        "local_rope_theta": 10000.0,
        "classifier_pooling": "mean",
        "vocab_size": 300,
        "max_position_embeddings": 8192,
    },
    "qwen3": {
        "model_type": "qwen3",
        "hidden_size": 1024,
        "num_hidden_layers": 1,
        "num_attention_heads": 16,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "intermediate_size": 3072,
        "rope_theta": 1e6,
        "tie_word_embeddings": True,
        "vocab_size": 300,
        "max_position_embeddings": 8192,
    },
}
"""One layer of the published models' width: only there do matrix products run in kernels that depend on how many rows
they have."""


@pytest.mark.parametrize("family_name", WIDE)
def test_a_layer_of_full_width_gives_equal_bits_too(family_name: str, tmp_path: Path) -> None:
    config, family = WIDE[family_name], FAMILIES[family_name]
    cfg = family.parse(config)
    head = family.scoring_head(config, Sigmoid() if family_name == "modernbert" else YesNo(yes_id=7, no_id=9))
    random = np.random.default_rng(4)
    tensors = {}
    for tensor in (*cfg.tensors(), *head.tensors()):
        noise = random.standard_normal(tensor.shape, np.float32)
        tensors[tensor.name] = 1 + noise / 3 if len(tensor.shape) == 1 else noise / tensor.shape[1] ** 0.5
    save_file(tensors, tmp_path / "m.safetensors")
    model = openvino.build_scorer(
        tmp_path / "m.safetensors", family, cfg, head, ScoreSpec(family_name, head.readout, 8192), 2
    )
    # Groups of 100, 35, 10 and 4 rows: of more than 80 rows in all, and of more than 80 tokens.
    rows = [
        random.integers(0, 300, length, dtype=np.int32)
        for length, count in ((1, 100), (3, 35), (17, 10), (128, 4))
        for _ in range(count)
    ]
    require_equal_bits(model, rows)


def require_equal_bits(model: Scorer, rows: list[npt.NDArray[np.int32]]) -> None:
    order = np.random.default_rng(2).permutation(len(rows))
    singles = [model.score([row]) for row in rows]
    together = model.score([rows[index] for index in order])
    assert max(row.size for row in rows) * len(rows) > TOKEN_BUDGET
    np.testing.assert_array_equal(together.logits, np.concatenate([each.logits for each in singles])[order])
    np.testing.assert_array_equal(together.values, np.concatenate([each.values for each in singles])[order])
    model.close()


def test_the_number_of_threads_moves_no_bit() -> None:
    rows = random_rows([1, 7, 7, 128, 129, 513])
    one = tiny_scorer("modernbert-reranker", "openvino", threads=1)
    two = tiny_scorer("modernbert-reranker", "openvino", threads=2)
    assert one.facts["INFERENCE_NUM_THREADS"] == "1"
    np.testing.assert_array_equal(one.score(rows).logits, two.score(rows).logits)
