"""The main job, end to end: real process, real socket, real worker, a tiny model with known numbers."""

from __future__ import annotations

import base64
import hashlib
import json
import struct
from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np
import pytest

from fixtures.model_files import tiny_model
from fixtures.service_process import ServiceProcess, load_and_probe, running_service
from synapse_client import Client, SynapseError
from synapse_engines.backend import EmbedSpec
from synapse_engines.families import family_for
from synapse_engines.reference import build
from synapse_engines.tokenizer import SanitisedTokenizer, derive_specials
from synapse_engines.weights import Weights

TEXTS = ["hello world", "", "The quick brown fox", "naïve café 東京", "x " * 90]

LENGTHS = (1, 7, 40, 127, 128, 129, 900)
"""Tokens of a row: the least, both sides of a boundary of attention, and many."""
ONE_TOKEN = {"bert": "x ", "modernbert": "x", "qwen3": "x"}
"""What each further token of a row is written as."""


@pytest.fixture(scope="module")
def expected() -> dict[str, np.ndarray[Any, np.dtype[np.float32]]]:
    """The vectors of ``TEXTS`` by the float32 reference, computed in this process."""
    folder = tiny_model("bert")
    config = json.loads((folder / "config.json").read_text())
    family = family_for(config)
    cfg = family.parse(config)
    data = (folder / "tokenizer.json").read_bytes()
    specials = derive_specials(data, "bert", config)
    tokenizer = SanitisedTokenizer.load(data, specials=specials, allow_added=family.allowed_added, vocab_size=cfg.vocab)
    spec = EmbedSpec(family="bert", pooling="mean", normalize=True, max_tokens=cfg.max_positions)
    model = build(Weights.open(folder / "model.safetensors", family, cfg), cfg, spec)
    rows = [np.array(each.ids, dtype=np.int32) for each in tokenizer.encode_many(TEXTS)]
    return dict(zip(TEXTS, model.embed(rows), strict=True))


@pytest.fixture(scope="module")
def mixed_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceProcess]:
    """A service that serves a certified tiny model of each family under the family's name."""
    with running_service(tmp_path_factory.mktemp("mixed") / "home", arguments=("--cpu-lanes",)) as service:
        with service.client() as client:
            for family in ("bert", "modernbert", "qwen3"):
                load_and_probe(client, family, tiny_model(family))
        yield service


@pytest.fixture
def client(tiny_service: ServiceProcess) -> Any:
    with tiny_service.client() as client:
        yield client


def test_a_query_returns_the_reference_vector_and_the_whole_envelope(
    tiny_service: ServiceProcess, expected: dict[str, Any]
) -> None:
    text = TEXTS[3]
    line = json.dumps({"jsonrpc": "2.0", "id": "q", "method": "embed.query", "params": {"model": "tiny", "text": text}})
    (reply,) = tiny_service.raw(line.encode())
    result = reply["result"]
    digest = hashlib.sha256(text.encode()).hexdigest()
    assert reply["jsonrpc"] == "2.0"
    assert reply["id"] == "q"
    assert set(result) == {
        "fingerprint",
        "table_epoch",
        "dims",
        "provenance",
        "module_generation",
        "equivalent_to",
        "vectors",
        "real_token_counts",
        "truncation_disclosures",
    }
    assert result["table_epoch"] == 0
    assert result["equivalent_to"] == []
    assert result["module_generation"] == 1
    assert result["fingerprint"].startswith("syn1-")
    assert result["provenance"]["engine"]["engine"] == "owned-cpu"
    assert result["provenance"]["engine"]["build_flags"] == {}
    (vector,) = result["vectors"]
    assert set(vector) == {"id", "vector", "content_sha256", "submitted_sha256"}
    assert (vector["id"], vector["content_sha256"], vector["submitted_sha256"]) == ("0", digest, digest)
    assert len(vector["vector"]) == result["dims"]
    np.testing.assert_allclose(vector["vector"], expected[text], atol=1e-5)
    (count,) = result["real_token_counts"]
    assert result["truncation_disclosures"] == [
        {"id": "0", "submitted_tokens": count, "effective_tokens": count, "truncated": False}
    ]


def test_a_batch_keeps_ids_and_order_and_is_bit_equal_to_single_queries(
    client: Client, expected: dict[str, Any]
) -> None:
    ids = [f"item/{index}" for index in range(len(TEXTS))]
    batch = client.embed_batch("tiny", TEXTS, ids=ids)
    assert batch.ids == ids
    for text, row in zip(TEXTS, batch.vectors, strict=True):
        np.testing.assert_allclose(row, expected[text], atol=1e-5)
        assert client.embed_query("tiny", text).vector == row
    shuffled = client.embed_batch("tiny", TEXTS[::-1], ids=ids[::-1])
    assert shuffled.by_id() == batch.by_id()


@pytest.mark.parametrize("family", ["bert", "modernbert", "qwen3"])
def test_neither_mates_nor_order_move_a_bit_of_a_vector(mixed_service: ServiceProcess, family: str) -> None:
    with mixed_service.client() as client:
        special = client.embed_query(family, "").token_counts[0]
        texts = {str(length): ONE_TOKEN[family] * (length - special) for length in LENGTHS if length >= special}
        texts |= {"shortest": "", "twin": "the old clock", "other twin": "the old clock"}
        alone = {item_id: client.embed_query(family, text) for item_id, text in texts.items()}
        assert [alone[str(length)].token_counts for length in LENGTHS[1:]] == [[length] for length in LENGTHS[1:]]
        assert alone["twin"].vector == alone["other twin"].vector
        by_length = list(texts)
        orders = [by_length, by_length[::-1], *(Random(seed).sample(by_length, len(texts)) for seed in range(8))]
        for ids in orders:
            batch = client.embed_batch(family, [texts[item_id] for item_id in ids], ids=ids)
            assert batch.ids == ids
            assert batch.by_id() == {item_id: answer.vector for item_id, answer in alone.items()}


@pytest.mark.parametrize("family", ["bert", "modernbert", "qwen3"])
def test_what_comes_late_in_a_text_counts(mixed_service: ServiceProcess, family: str) -> None:
    """Nothing is cut at a length that other tools cut at: 512 tokens, or half of what the model takes."""
    with mixed_service.client() as client:
        for shared in (600, 1500):
            one, other = (client.embed_query(family, ONE_TOKEN[family] * shared + end * 5) for end in ("cat ", "7 "))
            assert min(one.token_counts[0], other.token_counts[0]) > shared
            assert [cut.truncated for answer in (one, other) for cut in answer.truncations] == [False, False]
            cosine = float(np.dot(one.vector, other.vector))
            assert cosine < 0.9999


def test_json_numbers_and_base64_are_the_same_float32_values(tiny_service: ServiceProcess) -> None:
    replies = []
    for encoding in ("json", "base64"):
        params = {"model": "tiny", "text": "same", "vector_encoding": encoding}
        line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "embed.query", "params": params})
        replies += tiny_service.raw(line.encode())
    numbers, text = (reply["result"]["vectors"][0]["vector"] for reply in replies)
    raw = base64.b64decode(text)
    assert struct.pack(f"<{len(numbers)}f", *numbers) == raw


def test_the_fingerprint_of_a_reply_is_the_one_that_models_list_shows(client: Client) -> None:
    (row,) = client.models_list().models
    answer = client.embed_query("tiny", "x")
    assert row.fingerprint == answer.fingerprint
    assert client.embed_query(answer.fingerprint, "x").vector == answer.vector
    assert client.embed_query("tiny", "x", required_fingerprint=answer.fingerprint).vector == answer.vector


@pytest.mark.parametrize(
    ("model", "constraints", "code"),
    [
        ("absent", {}, "unknown_model"),
        ("syn1-" + "0" * 64, {}, "substitution_rejected"),
        ("tiny", {"required_fingerprint": "syn1-" + "0" * 64}, "substitution_rejected"),
        ("tiny", {"target_fingerprint": "syn1-" + "0" * 64}, "substitution_rejected"),
        ("tiny", {"required_epoch": 1}, "migration_required"),
    ],
)
def test_a_lane_that_is_not_what_was_asked_for_refuses(
    client: Client, model: str, constraints: dict[str, Any], code: str
) -> None:
    with pytest.raises(SynapseError) as refusal:
        client.embed_query(model, "x", **constraints)
    assert refusal.value.code == code
    assert refusal.value.level == "semantic"


def test_a_deadline_of_a_millisecond_is_a_typed_rejection(client: Client) -> None:
    with pytest.raises(SynapseError) as refusal:
        client.embed_batch("tiny", ["y " * 60] * 60, deadline_ms=1)
    assert refusal.value.code == "deadline_exceeded"
    assert refusal.value.safe_to_retry_same_request is False


def test_a_text_over_the_limit_is_refused_with_both_numbers(client: Client) -> None:
    limit = client.models_list().models[0].max_tokens
    fits = client.embed_query("tiny", "a " * (limit - 2))
    assert fits.token_counts == [limit]
    with pytest.raises(SynapseError) as refusal:
        client.embed_batch("tiny", ["short", "a " * (limit - 1)], ids=["s", "long"])
    assert refusal.value.code == "sequence_too_long"
    assert refusal.value.details == {"tokens": limit + 1, "max_tokens": limit, "item_id": "long"}


def test_a_batch_over_the_inline_budget_becomes_a_job_whose_pages_hold_every_item(client: Client) -> None:
    items = [{"id": f"item-{index}", "text": f"text number {index}"} for index in range(200)]
    reply = client.call("embed.batch", {"model": "tiny", "items": items})
    assert set(reply) == {"job"}
    job_id = reply["job"]["job_id"]
    assert client.wait_job(job_id, timeout_s=60).items_done == 200
    page = client.call("embed.result", {"job_id": job_id})
    assert (page["state"], page["page_index"], page["pages_available"], page["next_cursor"]) == ("done", 0, 1, None)
    vectors = {item["id"]: item["vector"] for item in page["items"]}
    assert sorted(vectors) == sorted(item["id"] for item in items)
    single = client.embed_query("tiny", "text number 7").vector
    assert np.asarray(vectors["item-7"], dtype=np.float32).tolist() == np.asarray(single).tolist()


def test_control_tokens_spelled_in_a_text_are_ordinary_text(client: Client) -> None:
    spelled = client.embed_query("tiny", "a [SEP] b")
    assert spelled.token_counts[0] > client.embed_query("tiny", "a b").token_counts[0] + 1
