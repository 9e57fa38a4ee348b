"""``embed.query`` and inline ``embed.batch``: the whole answer, and the order of refusals before anything is loaded."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fixtures.embed_desk import TEXT, EmbedDesk, refused
from fixtures.lanes import until
from fixtures.panicking_tokenizers import TEXT_THAT_PANICS, file_that_gives_up
from fixtures.workers import expected_raw, expected_text
from synapse_service.operations import embed
from synapse_service.settings.declared import Settings

OTHER = "syn1-" + "0" * 64


@pytest.fixture
async def desk() -> AsyncIterator[EmbedDesk]:
    desk = EmbedDesk()
    yield desk
    await desk.lanes.close()


# --- answers ---


async def test_the_answer_to_a_query_is_the_whole_envelope(desk: EmbedDesk) -> None:
    ids = await desk.ids(TEXT)
    digest = hashlib.sha256(TEXT.encode()).hexdigest()
    assert await desk.query() == {
        "fingerprint": desk.lane.fingerprint,
        "table_epoch": 0,
        "dims": 4,
        "provenance": {"engine": {"engine": "owned-cpu", "version": "build-1", "build_flags": {}}},
        "module_generation": 9,
        "equivalent_to": [],
        "vectors": [
            {
                "id": "0",
                "vector": msgspec.json.decode(expected_text(ids)),
                "content_sha256": digest,
                "submitted_sha256": digest,
            }
        ],
        "real_token_counts": [len(ids)],
        "truncation_disclosures": [
            {"id": "0", "submitted_tokens": len(ids), "effective_tokens": len(ids), "truncated": False}
        ],
    }


async def test_a_batch_answers_in_request_order_whatever_the_lengths(desk: EmbedDesk) -> None:
    texts = ["a b c d", "", "a", "東京", "a b", "a"]
    answer = await desk.batch(*texts)
    assert [vector["id"] for vector in answer["vectors"]] == ["i0", "i1", "i2", "i3", "i4", "i5"]
    for text, vector in zip(texts, answer["vectors"], strict=True):
        assert vector["vector"] == msgspec.json.decode(expected_text(await desk.ids(text)))
        assert vector["submitted_sha256"] == hashlib.sha256(text.encode()).hexdigest()
    assert answer["real_token_counts"] == [len(await desk.ids(text)) for text in texts]
    assert answer["real_token_counts"][1] == 2  # An empty text is its special tokens.
    assert [each["id"] for each in answer["truncation_disclosures"]] == ["i0", "i1", "i2", "i3", "i4", "i5"]


async def test_base64_is_the_same_vector_as_little_endian_float32(desk: EmbedDesk) -> None:
    (vector,) = (await desk.query(vector_encoding="base64"))["vectors"]
    assert base64.b64decode(vector["vector"]) == expected_raw(await desk.ids(TEXT))


async def test_the_fingerprint_of_a_lane_names_it_too(desk: EmbedDesk) -> None:
    fingerprint = desk.lane.fingerprint
    assert (await desk.query(model=fingerprint))["fingerprint"] == fingerprint
    constraints = {"required_fingerprint": fingerprint, "target_fingerprint": fingerprint, "required_epoch": 0}
    assert (await desk.query(**constraints))["fingerprint"] == fingerprint


# --- lengths ---


async def test_a_text_of_exactly_the_limit_is_served_and_one_more_token_is_refused(desk: EmbedDesk) -> None:
    assert (await desk.query("a " * 10))["real_token_counts"] == [12]
    error = await refused(desk.query("a " * 11))
    assert (error.code, error.class_, error.safe_to_retry_same_request) == ("sequence_too_long", "permanent", False)
    assert error.details == {"tokens": 13, "max_tokens": 12, "item_id": "0"}
    error = await refused(desk.batch("a", "a " * 20))
    assert error.details == {"tokens": 22, "max_tokens": 12, "item_id": "i1"}


async def test_a_text_that_the_tokenizer_cannot_split_is_refused_by_the_id_of_its_item(
    desk: EmbedDesk, tmp_path: Path
) -> None:
    desk.loader.path = file_that_gives_up(tmp_path)
    error = await refused(desk.query(TEXT_THAT_PANICS))
    assert (error.code, error.level, error.details) == ("invalid_request", "semantic", {"item_id": "0"})
    error = await refused(desk.batch("a", TEXT_THAT_PANICS))
    assert (error.code, error.level, error.details) == ("invalid_request", "semantic", {"item_id": "i1"})
    assert (await desk.query("a"))["real_token_counts"] == [3]
    assert desk.held() == 0


async def test_a_lane_that_truncates_discloses_what_it_kept(desk: EmbedDesk) -> None:
    text = "a b a b a b a b a b"
    answer = await desk.query(text, model="cuts")
    tokenizer = await desk.tokenizer()
    kept = tokenizer.truncate(tokenizer.encode(text), 8)
    (vector,) = answer["vectors"]
    assert vector["vector"] == msgspec.json.decode(expected_text(kept.ids.tolist()))
    assert vector["submitted_sha256"] == hashlib.sha256(text.encode()).hexdigest()
    assert vector["content_sha256"] == hashlib.sha256(b"a b a b a b").hexdigest()
    assert answer["real_token_counts"] == [8]
    assert answer["truncation_disclosures"] == [
        {"id": "0", "submitted_tokens": 12, "effective_tokens": 8, "truncated": True}
    ]


async def test_a_text_that_fits_keeps_the_digest_of_its_own_bytes_although_its_tokens_decode_otherwise(
    desk: EmbedDesk,
) -> None:
    answer = await desk.query("A  B", model="cuts")  # The tokenizer lowers and strips.
    (vector,) = answer["vectors"]
    assert vector["content_sha256"] == vector["submitted_sha256"] == hashlib.sha256(b"A  B").hexdigest()


# --- refusals, in their order, before anything is loaded ---


@pytest.mark.parametrize(
    ("changes", "code", "details"),
    [
        ({"model": "absent", "required_epoch": 1}, "unknown_model", {"model_id": "absent"}),
        ({"model": OTHER}, "substitution_rejected", {"required_fingerprint": OTHER}),
        (
            {"required_epoch": 1, "required_fingerprint": OTHER},
            "migration_required",
            {"required_epoch": 1, "table_epoch": 0},
        ),
        (
            {"required_fingerprint": OTHER},
            "substitution_rejected",
            {"lane_id": "m", "required_fingerprint": OTHER},
        ),
        ({"target_fingerprint": OTHER}, "substitution_rejected", {"lane_id": "m", "required_fingerprint": OTHER}),
        (
            {"required_fingerprint": OTHER, "allow_equivalent": True},
            "substitution_rejected",
            {"lane_id": "m", "required_fingerprint": OTHER},
        ),
    ],
)
async def test_a_lane_that_is_not_what_was_asked_for_refuses_without_loading(
    desk: EmbedDesk, changes: dict[str, Any], code: str, details: dict[str, Any]
) -> None:
    desk.certify()  # Nothing is certified, and that comes last.
    error = await refused(desk.query("a " * 99, **changes))
    assert (error.code, error.level, error.details) == (code, "semantic", details)
    assert (desk.loader.loads, desk.loader.reads, desk.held()) == (0, 0, 0)


async def test_a_lane_that_was_never_probed_refuses(desk: EmbedDesk) -> None:
    desk.certify()
    error = await refused(desk.query("a " * 99))
    assert (error.code, error.details) == ("probe_required", {"model_id": "m"})
    assert desk.loader.reads == 0


async def test_a_lane_that_failed_its_probe_refuses(desk: EmbedDesk) -> None:
    desk.certify("m", status="uncertified", reason="gate_missed:min_cosine")
    error = await refused(desk.batch("a"))
    assert (error.code, error.details) == ("not_certified", {"model_id": "m", "reason": "gate_missed:min_cosine"})


async def test_a_quarantined_lane_refuses_although_it_is_certified(desk: EmbedDesk) -> None:
    desk.lane.quarantine.fault("crash")
    desk.lane.quarantine.fault("crash")
    error = await refused(desk.query())
    assert (error.code, error.class_) == ("probe_required", "permanent")
    assert error.details == {"model_id": "m", "reason": "quarantined"}


async def test_a_lane_that_is_quarantined_while_a_text_is_tokenized_refuses(desk: EmbedDesk) -> None:
    desk.loader.gate = asyncio.Event()
    asking = asyncio.create_task(desk.query())
    await until(lambda: desk.loader.reads)
    desk.lane.quarantine.fault("crash")
    desk.lane.quarantine.fault("crash")
    desk.loader.gate.set()
    error = await refused(asking)
    assert (error.code, error.details) == ("probe_required", {"model_id": "m", "reason": "quarantined"})
    assert desk.loader.loads == 0


async def test_a_lane_that_is_switched_off_is_unknown(desk: EmbedDesk) -> None:
    desk.settings = Settings(cpu_lanes=False)
    assert (await refused(desk.query())).code == "unknown_model"


# --- budgets ---


@pytest.mark.parametrize(
    ("settings", "texts", "line_bytes"),
    [
        ({"inline_max_items": 2}, ["a", "b", "c"], 100),
        ({"inline_max_bytes": 1024}, ["a", "é" * 600], 1300),
        ({"inline_max_tokens": 128}, ["a a a a a a a a"] * 13, 100),
    ],
)
async def test_a_batch_over_a_budget_becomes_a_job_and_computes_nothing_inline(
    desk: EmbedDesk, settings: dict[str, Any], texts: list[str], line_bytes: int
) -> None:
    desk.settings = Settings(cpu_lanes=True, **settings)
    model = "cuts" if line_bytes > 1000 else "m"
    assert await desk.batch(*texts, line_bytes=line_bytes, model=model) == {"job": {"job_id": "job-1"}}
    assert len(desk.diverted) == 1
    assert all(loader.loads == 0 for loader in desk.loaders.values())


async def test_a_batch_at_its_budgets_is_answered_inline(desk: EmbedDesk) -> None:
    desk.settings = Settings(cpu_lanes=True, inline_max_items=2, inline_max_bytes=1024, inline_max_tokens=128)
    assert len((await desk.batch("a", "b", line_bytes=2000))["vectors"]) == 2
    assert desk.diverted == []


# --- tokenizing that takes a while ---


@pytest.mark.parametrize(("texts", "in_a_thread"), [(["a b c"], False), (["a b c"] * 40, False), (["a"] * 256, True)])
async def test_many_short_texts_are_tokenized_beside_the_loop(
    desk: EmbedDesk, monkeypatch: pytest.MonkeyPatch, texts: list[str], in_a_thread: bool
) -> None:
    await desk.tokenizer()
    threads: list[int] = []
    original = embed.tokenize

    def noting(*arguments: Any, **options: Any) -> Any:
        threads.append(threading.get_ident())
        return original(*arguments, **options)

    monkeypatch.setattr(embed, "tokenize", noting)
    desk.settings = Settings(cpu_lanes=True, inline_max_items=256)
    assert len((await desk.batch(*texts))["vectors"]) == len(texts)
    assert [thread != threading.get_ident() for thread in threads] == [in_a_thread]


async def test_a_cancelled_batch_of_many_short_texts_is_tokenized_no_further(
    desk: EmbedDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    await desk.tokenizer()
    begun: list[int] = []
    original = embed.tokenize

    def noting(*arguments: Any, **options: Any) -> Any:
        begun.append(1)
        return original(*arguments, **options)

    monkeypatch.setattr(embed, "tokenize", noting)
    batch = asyncio.create_task(desk.batch(*["a"] * 256 * 50))
    await until(lambda: begun)
    batch.cancel()
    await asyncio.wait([batch])
    assert batch.cancelled()
    assert len(begun) < 50
