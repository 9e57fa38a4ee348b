"""Loading a model that scores: what is declared has to be true, and the numbers are proven before it serves."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from fixtures.model_files import SCORER_NAMES, ScorerName, scored, tiny_config, tiny_model
from fixtures.scorers import scorer_spec
from synapse_engines import scoring
from synapse_engines.errors import ArtifactError, SelfTestError
from synapse_engines.openvino import scoring as openvino_scoring
from synapse_engines.readout import Readout, Sigmoid, YesNo
from synapse_engines.worker.loading import LoadedEmbedder, LoadedScorer, load_model
from synapse_engines.worker.protocol import BackendName, LoadSpec


def load(spec: LoadSpec) -> LoadedScorer:
    loaded = load_model(spec, lambda rows, tokens: None)
    assert isinstance(loaded, LoadedScorer)
    return loaded


def refusal(spec: LoadSpec) -> str:
    with pytest.raises(ArtifactError) as caught:
        load(spec)
    return f"{caught.value.reason}: {caught.value.detail}"


@pytest.mark.parametrize("name", SCORER_NAMES)
@pytest.mark.parametrize("backend", ["openvino", "reference"])
def test_a_loaded_model_scores(name: ScorerName, backend: BackendName) -> None:
    known = scored(name)
    loaded = load(scorer_spec(name, backend))
    assert (loaded.vocab, loaded.max_tokens) == (512, 512)
    found = loaded.backend.score([known.row(512), known.row(17)])
    loaded.backend.close()
    wanted = known.scores[[known.index(512), known.index(17)]]
    np.testing.assert_allclose(found.values, wanted, rtol=0, atol=1e-5)


def test_the_role_follows_from_the_read_out() -> None:
    spec = scorer_spec("qwen3", "reference", readout=None, normalize=True)
    assert isinstance(load_model(spec, lambda rows, tokens: None), LoadedEmbedder)


# What is declared.


@pytest.mark.parametrize(
    ("name", "changes", "reason"),
    [
        ("modernbert-reranker", {"pooling": "cls"}, "bad_config: the model scores by mean pooling, the lane says cls"),
        ("qwen3", {"pooling": "mean"}, "bad_config: the model scores by last pooling, the lane says mean"),
        (
            "qwen3",
            {"normalize": True},
            "bad_config: the lane says that vectors are normalised, the model scores",
        ),
        ("qwen3", {"readout": Sigmoid()}, "unsupported: a Qwen3 decoder has logits of tokens and no classifier"),
        ("qwen3", {"readout": YesNo(yes_id=3, no_id=3)}, "bad_config: yes 3 and no 3 are not two of 512 tokens"),
    ],
)
def test_a_lane_that_says_something_else_than_the_model_is_refused(
    name: ScorerName, changes: dict[str, Any], reason: str
) -> None:
    assert refusal(scorer_spec(name, "reference", **changes)) == reason


def test_the_configuration_decides_about_the_pooling() -> None:
    config = tiny_config("modernbert-reranker") | {"classifier_pooling": "cls"}
    spec = scorer_spec("modernbert-reranker", "reference", config=config)
    assert refusal(spec) == "bad_config: the model scores by cls pooling, the lane says mean"
    assert load(msgspec.structs.replace(spec, pooling="cls")).backend.readout == Sigmoid()


@pytest.mark.parametrize("backend", ["openvino", "reference"])
def test_a_model_without_its_head_is_refused(backend: BackendName, tmp_path: Path) -> None:
    tensors = load_file(tiny_model("modernbert-reranker") / "model.safetensors")
    del tensors["classifier.bias"]
    save_file(tensors, tmp_path / "m.safetensors")
    spec = scorer_spec("modernbert-reranker", backend, model_path=str(tmp_path / "m.safetensors"))
    assert refusal(spec) == "missing_tensor: tensor classifier.bias is missing"


# The self-test.


@pytest.mark.parametrize("name", SCORER_NAMES)
def test_expected_values_are_computed_once_and_then_held_against(name: ScorerName) -> None:
    told: list[tuple[int, int]] = []
    first = load_model(scorer_spec(name, "openvino"), lambda rows, tokens: told.append((rows, tokens)))
    # The reference computes each length once, the engine all rows.
    assert told == [(1, length) for length in (128, 1, 17, 128, 1, 128, 17, 1)]
    kept = first.self_test_values
    assert kept is not None
    assert len(base64.b64decode(kept)) == 3 * (3 if name == "qwen3" else 2) * 4
    assert load(scorer_spec(name, "openvino", self_test_values=kept)).self_test_values is None


def test_the_values_of_an_exchanged_yes_and_no_fail() -> None:
    kept = load(scorer_spec("qwen3", "openvino")).self_test_values
    exchanged = YesNo(yes_id=370, no_id=231)
    with pytest.raises(SelfTestError) as caught:
        load(scorer_spec("qwen3", "openvino", readout=exchanged, self_test_values=kept))
    assert (caught.value.length, caught.value.max_abs_diff > 0.1) == (128, True)


def test_a_read_out_that_is_applied_twice_fails_its_load(monkeypatch: pytest.MonkeyPatch) -> None:
    once = scoring.Scores.read_off

    def twice(logits: np.ndarray, readout: Readout) -> scoring.Scores:
        scores = once(logits, readout)
        return scoring.Scores((1 / (1 + np.exp(-scores.values))).astype(np.float32), scores.logits)

    monkeypatch.setattr(scoring.Scores, "read_off", twice)
    with pytest.raises(SelfTestError) as caught:
        load(scorer_spec("modernbert-reranker", "openvino"))
    assert caught.value.max_abs_diff > 0.01


def test_a_head_on_other_states_fails_its_load(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = scoring.trunk_spec

    def first_token(*given: Any) -> Any:
        spec = plain(*given)
        return type(spec)(spec.family, "cls", spec.normalize, spec.max_tokens)

    monkeypatch.setattr(openvino_scoring.scoring, "trunk_spec", first_token)
    with pytest.raises(SelfTestError) as caught:
        load(scorer_spec("modernbert-reranker", "openvino"))
    assert caught.value.max_abs_diff > 0.01
