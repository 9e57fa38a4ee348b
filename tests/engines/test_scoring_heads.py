"""A model that scores is taken for what its configuration and its file say, or refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.numpy import load_file, save_file
from safetensors.torch import save_file as save_torch

from fixtures.model_files import YES_NO, tiny_config, tiny_model
from fixtures.scorers import READOUTS
from synapse_engines.artifacts import check_head, read_header
from synapse_engines.errors import ArtifactError
from synapse_engines.families import ClassifierHead, ScoringHead, VocabularyHead, family_for
from synapse_engines.readout import Readout, Sigmoid, YesNo
from synapse_engines.weights import Weights

RERANKER = tiny_config("modernbert-reranker")
CLASSIFIER = ClassifierHead(pooling="mean", hidden=64, norm_eps=1e-5)
JUDGE = READOUTS["qwen3"]


def head_of(config: dict[str, Any], readout: Readout) -> ScoringHead:
    return family_for(config).scoring_head(config, readout)


def refusal(config: dict[str, Any], readout: Readout) -> str:
    with pytest.raises(ArtifactError) as caught:
        head_of(config, readout)
    return f"{caught.value.reason}: {caught.value.detail}"


def without(config: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in config.items() if name != key}


def test_the_pooling_is_the_one_that_the_configuration_names() -> None:
    assert RERANKER["classifier_pooling"] == "mean"
    assert head_of(RERANKER, Sigmoid()) == CLASSIFIER
    assert head_of(RERANKER | {"classifier_pooling": "cls"}, Sigmoid()).pooling == "cls"


def test_a_configuration_that_names_no_pooling_means_the_first_token() -> None:
    assert head_of(without(RERANKER, "classifier_pooling"), Sigmoid()).pooling == "cls"


@pytest.mark.parametrize(
    ("changes", "detail"),
    [
        (
            {"classifier_pooling": "last"},
            "classifier_pooling is 'last', only 'cls' and 'mean' are computed",
        ),
        ({"classifier_pooling": None}, "classifier_pooling is None, only 'cls' and 'mean' are computed"),
        ({"classifier_activation": "silu"}, "classifier_activation is 'silu', only 'gelu' is computed"),
        ({"classifier_bias": True}, "classifier_bias is True, only False is computed"),
        ({"norm_bias": True}, "norm_bias is True, only False is computed"),
    ],
)
def test_other_classifiers_are_refused(changes: dict[str, Any], detail: str) -> None:
    assert refusal(RERANKER | changes, Sigmoid()) == f"unsupported: {detail}"


def test_a_judge_reads_the_last_token_through_its_own_embeddings() -> None:
    head = head_of(tiny_config("qwen3"), JUDGE)
    assert head == VocabularyHead(pooling="last", table="embed_tokens.weight", readout=YesNo(yes_id=231, no_id=370))
    assert head.tensors() == ()


def test_output_embeddings_of_their_own_are_refused() -> None:
    untied = tiny_config("qwen3") | {"tie_word_embeddings": False}
    assert refusal(untied, JUDGE) == "unsupported: tie_word_embeddings is False, only True is computed"
    silent = without(tiny_config("qwen3"), "tie_word_embeddings")
    assert refusal(silent, JUDGE) == "unsupported: tie_word_embeddings is False, only True is computed"


@pytest.mark.parametrize(("yes", "no"), [(7, 7), (512, 7), (7, 512)])
def test_yes_and_no_are_two_tokens_of_the_vocabulary(yes: int, no: int) -> None:
    found = refusal(tiny_config("qwen3"), YesNo(yes_id=yes, no_id=no))
    assert found == f"bad_config: yes {yes} and no {no} are not two of 512 tokens"


def test_a_read_out_that_the_family_lacks_is_refused() -> None:
    qwen3, bert = tiny_config("qwen3"), tiny_config("bert")
    assert refusal(RERANKER, JUDGE) == "unsupported: a ModernBERT classifier has one logit and none of tokens"
    assert refusal(qwen3, Sigmoid()) == "unsupported: a Qwen3 decoder has logits of tokens and no classifier"
    assert refusal(bert, Sigmoid()) == "unsupported: scoring with a bert model is not computed"


# What is in the file.


def open_with_head(path: Path) -> Weights:
    family = family_for(RERANKER)
    return Weights.open(path, family, family.parse(RERANKER), CLASSIFIER)


def test_the_head_stands_beside_the_prefixed_encoder() -> None:
    with open_with_head(tiny_model("modernbert-reranker") / "model.safetensors") as weights:
        assert weights.shape("classifier.weight") == (1, 64)
        assert weights.shape("final_norm.weight") == (64,)
        assert not any(tensor.name.startswith("model.") for tensor in CLASSIFIER.tensors())


@pytest.mark.parametrize("name", ["head.dense.weight", "head.norm.weight", "classifier.weight", "classifier.bias"])
def test_a_missing_tensor_of_the_head_is_named(name: str, tmp_path: Path) -> None:
    tensors = load_file(tiny_model("modernbert-reranker") / "model.safetensors")
    del tensors[name]
    save_file(tensors, tmp_path / "m.safetensors")
    with pytest.raises(ArtifactError) as caught:
        open_with_head(tmp_path / "m.safetensors")
    assert (caught.value.reason, caught.value.detail) == ("missing_tensor", f"tensor {name} is missing")
    with pytest.raises(ArtifactError, match="missing_tensor"):
        check_head(read_header(tmp_path / "m.safetensors"), CLASSIFIER)


def test_a_model_that_embeds_has_no_head() -> None:
    """The tiny encoder has the same sizes, but six layers."""
    config = tiny_config("modernbert")
    family = family_for(config)
    with pytest.raises(ArtifactError, match=r"head\.dense\.weight is missing"):
        Weights.open(tiny_model("modernbert") / "model.safetensors", family, family.parse(config), CLASSIFIER)


def test_a_classifier_of_two_labels_is_refused(tmp_path: Path) -> None:
    tensors = load_file(tiny_model("modernbert-reranker") / "model.safetensors")
    tensors["classifier.weight"] = tensors["classifier.weight"].repeat(2, axis=0)
    save_file(tensors, tmp_path / "m.safetensors")
    with pytest.raises(ArtifactError) as caught:
        open_with_head(tmp_path / "m.safetensors")
    assert caught.value.detail == "tensor classifier.weight has shape [2, 64] instead of [1, 64]"


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_some_rows_of_a_table_are_widened_as_all_of_it(dtype: torch.dtype, tmp_path: Path) -> None:
    config = tiny_config("qwen3")
    family = family_for(config)
    tensors = load_file(tiny_model("qwen3") / "model.safetensors")
    path = tmp_path / "m.safetensors"
    save_torch({name: torch.from_numpy(value).to(dtype) for name, value in tensors.items()}, path)
    with Weights.open(path, family, family.parse(config)) as weights:
        rows = weights.float32_rows("embed_tokens.weight", YES_NO)
        assert rows.shape == (2, 64)
        assert (rows == weights.float32("embed_tokens.weight")[list(YES_NO)]).all()
