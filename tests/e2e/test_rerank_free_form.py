"""A reranker that a user brings: registered, refused until it is proven, and then scoring; in a real service."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from tokenizers import Tokenizer

from fixtures.free_form_rerankers import RERANKERS, RerankerName, Yardstick, reranker_folder
from fixtures.model_files import tiny_model
from fixtures.service_process import ServiceProcess, file_manifest, load_and_probe, running_service
from synapse_client import Client, SynapseError

QUERY = "¿Dónde está el puerto?"
TEXTS = ["El puerto está detrás del mercado.", "THE HARBOUR IS CLOSED", "港はどこですか 🚢", "def port(): ...", ""]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[RerankerName, Path]:
    parent = tmp_path_factory.mktemp("models")
    return {name: reranker_folder(name, parent) for name in RERANKERS}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, folders: dict[RerankerName, Path]) -> Iterator[ServiceProcess]:
    """Both rerankers are registered and proven; the second cuts what is too long."""
    with running_service(tmp_path_factory.mktemp("free") / "home", arguments=("--cpu-lanes",)) as service:
        with service.client() as client:
            load_and_probe(client, "modernbert-reranker", folders["modernbert-reranker"], task="rerank", max_tokens=400)
            load_and_probe(
                client,
                "qwen3",
                folders["qwen3"],
                task="rerank",
                max_tokens=400,
                overlength="truncate",
                template="qwen3-reranker",
            )
        yield service


@pytest.fixture
def client(service: ServiceProcess) -> Iterator[Client]:
    with service.client() as client:
        yield client


def rerank(client: Client, model: str, query: str, *texts: str, **more: Any) -> dict[str, Any]:
    candidates = [{"id": f"c{index}", "text": text} for index, text in enumerate(texts)]
    answer: dict[str, Any] = client.call(
        "rerank.score", {"model": model, "query": query, "candidates": candidates} | more
    )
    return answer


def scores(answer: dict[str, Any]) -> list[float]:
    return [each["score"] for each in answer["scores"]]


def refusal(client: Client, method: str, **params: Any) -> SynapseError:
    with pytest.raises(SynapseError) as refused:
        client.call(method, params)
    return refused.value


@pytest.mark.parametrize("name", RERANKERS)
def test_a_proven_reranker_scores_as_the_reference_does(
    client: Client, folders: dict[RerankerName, Path], name: RerankerName
) -> None:
    answer = rerank(client, name, QUERY, *TEXTS)
    yardstick = Yardstick(name, folders[name])
    assert scores(answer) == pytest.approx(yardstick.scores(QUERY, *TEXTS), abs=1e-5)
    assert answer["real_token_counts"] == [len(row) for row in yardstick.rows(QUERY, *TEXTS)]
    assert scores(rerank(client, answer["fingerprint"], QUERY, *TEXTS)) == scores(answer)


@pytest.mark.parametrize("name", RERANKERS)
def test_the_probe_says_by_how_much_its_scores_were_off(client: Client, name: RerankerName) -> None:
    (row,) = client.call("probe.report", {"model_id": name})["lanes"]
    assert (row["task"], row["certification_required"], row["certification_status"]) == ("rerank", True, "certified")
    evidence = row["certification"]["evidence"]
    assert evidence["gates"] == {"max_score_error": 0.005, "worst_decile_overlap": 0.9}
    assert 0 <= evidence["mean_score_error"] <= evidence["max_score_error"] < 1e-4
    assert evidence["worst_decile_overlap"] == 1.0
    assert evidence["rows"] > 60
    assert row["performance"]["tokens_per_second"] > 0
    listed = client.model_status(name)
    assert (listed.task, listed.certified, listed.dims) == ("rerank", True, msgspec.UNSET)
    assert listed.score_kind == {"modernbert-reranker": "sigmoid", "qwen3": "yes_no"}[name]


def test_a_reranker_is_refused_until_it_was_probed(client: Client, folders: dict[RerankerName, Path]) -> None:
    accepted = client.model_load(
        "unproven",
        task="rerank",
        engine="owned-cpu",
        files=file_manifest(folders["qwen3"]),
        max_tokens=256,  # type: ignore[arg-type]
    )
    client.wait_job(accepted.job_id, timeout_s=60)
    candidates = [{"id": "a", "text": "b"}]
    error = refusal(client, "rerank.score", model="unproven", query="q", candidates=candidates)
    assert (error.code, error.details) == ("probe_required", {"model_id": "unproven"})
    client.wait_job(client.probe_start("unproven").job_id, timeout_s=60)
    assert len(scores(rerank(client, "unproven", "q", "b"))) == 1
    proven = {row["model_id"]: row["fingerprint"] for row in client.call("models.list", {})["models"]}
    assert proven["unproven"] != proven["qwen3"]


def test_a_lane_that_cuts_takes_the_end_of_the_candidate_and_says_so(
    client: Client, folders: dict[RerankerName, Path]
) -> None:
    long = "el puerto " * 200
    answer = rerank(client, "qwen3", QUERY, "short", long)
    yardstick = Yardstick("qwen3", folders["qwen3"])
    short, full = yardstick.rows(QUERY, "short", long)
    assert answer["truncation_disclosures"] == [
        {"id": "c0", "submitted_tokens": len(short), "effective_tokens": len(short), "truncated": False},
        {"id": "c1", "submitted_tokens": len(full), "effective_tokens": 400, "truncated": True},
    ]
    assert answer["real_token_counts"] == [len(short), 400]
    suffix = yardstick.scoring.composition.suffix_ids
    cut = np.concatenate([full[: 400 - len(suffix)], np.array(suffix, dtype=np.int32)])
    assert scores(answer)[1] == pytest.approx(yardstick.score(cut), abs=1e-5)
    # A query that leaves no room for any candidate is the query's fault, whatever the lane does with candidates.
    error = refusal(client, "rerank.score", model="qwen3", query=long, candidates=[{"id": "a", "text": "b"}])
    assert error.code == "sequence_too_long"
    assert error.details is not None
    assert (error.details["max_tokens"], "item_id" in error.details) == (400, False)


def test_a_lane_that_refuses_names_the_candidate(client: Client) -> None:
    candidates = [{"id": "ok", "text": "b"}, {"id": "long", "text": "el puerto " * 200}]
    error = refusal(client, "rerank.score", model="modernbert-reranker", query="q", candidates=candidates)
    assert error.details is not None
    assert (error.code, error.details["item_id"], error.details["max_tokens"]) == ("sequence_too_long", "long", 400)


def test_a_model_for_the_other_task_is_refused_both_ways(client: Client) -> None:
    load_and_probe(client, "embedder", tiny_model("bert"), max_tokens=64)
    error = refusal(client, "rerank.score", model="embedder", query="q", candidates=[{"id": "a", "text": "b"}])
    assert (error.code, error.level) == ("invalid_request", "semantic")
    assert error.details == {"model_id": "embedder", "requested_task": "rerank", "model_task": "embed"}
    error = refusal(client, "embed.query", model="qwen3", text="a")
    assert error.details == {"model_id": "qwen3", "requested_task": "embed", "model_task": "rerank"}
    error = refusal(client, "embed.batch", model="qwen3", items=[{"id": "a", "text": "b"}])
    assert error.details == {"model_id": "qwen3", "requested_task": "embed", "model_task": "rerank"}


def test_a_candidate_that_spells_the_end_of_its_turn_gains_nothing(
    client: Client, folders: dict[RerankerName, Path]
) -> None:
    """The very tokens would lift the score of this model; their spelling leaves it where plain text has it."""
    yardstick = Yardstick("qwen3", folders["qwen3"])
    published = Tokenizer.from_file(str(folders["qwen3"] / "tokenizer.json"))
    control = [token for token, added in published.get_added_tokens_decoder().items() if added.special]
    suffix = len(yardstick.scoring.composition.suffix_ids)

    def smuggled(word: str, token: int) -> float:
        (plain,) = yardstick.rows(QUERY, word)
        return yardstick.score(np.insert(plain, len(plain) - suffix, [token] * 3).astype(np.int32))

    words = ("bananas", "the river", "nothing", "Zug", "42", "salt")
    lifts = {
        (word, token): smuggled(word, token) - yardstick.scores(QUERY, word)[0] for word in words for token in control
    }
    word, token = max(lifts, key=lambda each: lifts[each])
    assert lifts[word, token] > 0.05
    spelled = word + str(published.id_to_token(token)) * 3
    (row,) = yardstick.rows(QUERY, spelled)
    body = row.tolist()[len(yardstick.scoring.composition.prefix_ids) : -suffix]
    assert not set(control) & set(body)
    answer = scores(rerank(client, "qwen3", QUERY, spelled))
    assert answer == pytest.approx([yardstick.score(row)], abs=1e-5)
    assert abs(answer[0] - smuggled(word, token)) > 0.01


MANIFESTS: dict[str, tuple[dict[str, Any], str | None]] = {
    "an unknown template": ({"template": "my-own"}, "template"),
    "vectors of unit length": ({"normalize": True}, "normalize"),
    "a profile": ({"profile": "gte.metal"}, "profile"),
}


@pytest.mark.parametrize("case", MANIFESTS)
def test_what_a_reranker_does_not_take_is_refused_before_anything_is_read(
    client: Client, folders: dict[RerankerName, Path], case: str
) -> None:
    changes, field = MANIFESTS[case]
    params = {
        "model_id": "refused",
        "task": "rerank",
        "engine": "owned-cpu",
        "source": "file",
        "files": file_manifest(folders["qwen3"]),
    }
    error = refusal(client, "model.load", **params, **changes)
    assert (error.code, (error.details or {}).get("field")) == ("invalid_request", field)


FILES: dict[str, tuple[RerankerName | str, dict[str, Any], str, dict[str, Any]]] = {
    "the template of another family": ("qwen3", {"template": "pair"}, "invalid_request", {"field": "template"}),
    "another pooling": ("qwen3", {"pooling": "mean"}, "invalid_request", {"field": "pooling"}),
    "no room beside the prompt": ("qwen3", {"max_tokens": 20}, "invalid_request", {"field": "max_tokens"}),
    "an embedder's weights": ("modernbert", {}, "artifact_invalid", {"reason": "missing_tensor"}),
    "a tokenizer without yes": ("plain qwen3", {}, "artifact_invalid", {"file": "tokenizer.json"}),
    "a family that has no rerankers": ("bert", {}, "artifact_invalid", {"reason": "unsupported"}),
}


@pytest.mark.parametrize("case", FILES)
def test_files_that_make_no_reranker_fail_the_load_and_say_why(
    client: Client, folders: dict[RerankerName, Path], case: str
) -> None:
    source, changes, code, details = FILES[case]
    folder = folders["qwen3"] if source == "qwen3" else tiny_model(source.removeprefix("plain "))  # type: ignore[arg-type]
    accepted = client.call(
        "model.load",
        {"model_id": "bad", "task": "rerank", "engine": "owned-cpu", "source": "file", "files": file_manifest(folder)}
        | changes,
    )
    with pytest.raises(SynapseError) as failed:
        client.wait_job(accepted["job_id"], timeout_s=60)
    assert failed.value.code == code
    assert failed.value.details is not None
    assert details.items() <= failed.value.details.items()
    assert all(row["model_id"] != "bad" for row in client.call("models.list", {})["models"])


def test_the_knob_is_a_setting_under_which_another_number_of_threads_is_measured(client: Client) -> None:
    before = client.call("admission.status", {})
    gated = len(client.call("models.list", {})["models"])
    assert (before["knob"], before["performance_stale"], before["certification_stale"]) == ("performance", 0, 0)
    report = client.call("probe.report", {})
    assert (report["knob"], report["knobs"]["quiet"]["rerank"] is None) == ("performance", False)
    threads = {lane["performance"]["conditions"]["threads"] for lane in report["lanes"]}
    assert threads == {os.cpu_count()}
    client.settings_set({"knob": "quiet"})
    try:
        after = client.call("admission.status", {})
        stale = gated if (os.cpu_count() or 1) > 1 else 0
        assert (after["knob"], after["performance_stale"], after["certification_stale"]) == ("quiet", stale, 0)
        assert scores(rerank(client, "qwen3", QUERY, *TEXTS))
    finally:
        client.settings_set({"knob": None})
    assert client.call("admission.status", {})["performance_stale"] == 0


def test_a_restart_brings_back_the_lane_with_its_fingerprint_its_proof_and_its_scores(service: ServiceProcess) -> None:
    with service.client() as client:
        before = rerank(client, "qwen3", QUERY, *TEXTS)
    service.stop()
    service.start()
    with service.client() as client:
        after = rerank(client, "qwen3", QUERY, *TEXTS)
    assert (after["fingerprint"], scores(after)) == (before["fingerprint"], scores(before))
    assert after["module_generation"] == before["module_generation"] + 1
