"""Reranking through both clients."""

from __future__ import annotations

import pytest

from fixtures.fake_scores import reranked, score_of
from fixtures.fake_service import FINGERPRINT, FakeService
from synapse_client import AsyncClient, Client, SynapseError

TEXTS = ["short", "the longest of all", "middling text"]


@pytest.fixture
def scoring(fake: FakeService) -> FakeService:
    fake.on("rerank.score", reranked)
    return fake


def test_scores_come_in_the_order_of_the_texts_and_best_first_on_request(scoring: FakeService) -> None:
    with Client(scoring.address) as client:
        answer = client.rerank("mini", "which?", TEXTS)
        named = client.rerank("mini", "which?", TEXTS, ids=["a", "b", "c"])
    assert (answer.ids, answer.scores) == (["0", "1", "2"], [score_of("which?", text) for text in TEXTS])
    assert answer.best_first() == [(str(index), score_of("which?", TEXTS[index])) for index in (1, 2, 0)]
    assert named.by_id() == {"a": answer.scores[0], "b": answer.scores[1], "c": answer.scores[2]}
    assert (answer.fingerprint, answer.table_epoch, answer.token_counts) == (FINGERPRINT, 0, [4, 7, 5])
    assert [each.truncated for each in answer.truncations] == [False, False, False]


def test_candidates_that_score_alike_keep_their_order(scoring: FakeService) -> None:
    with Client(scoring.address) as client:
        answer = client.rerank("mini", "q", ["one", "two", "six"])
    assert [name for name, _ in answer.best_first()] == ["0", "1", "2"]


def test_the_request_carries_what_was_demanded_and_nothing_else(scoring: FakeService) -> None:
    with Client(scoring.address) as client:
        client.rerank("mini", "q", ["x"], deadline_ms=900, max_queue_ms=0, required_fingerprint=FINGERPRINT)
    assert scoring.received[-1] == (
        "rerank.score",
        {
            "model": "mini",
            "query": "q",
            "candidates": [{"id": "0", "text": "x"}],
            "deadline_ms": 900,
            "max_queue_ms": 0,
            "required_fingerprint": FINGERPRINT,
        },
    )


def test_texts_that_are_one_string_or_have_other_ids_than_texts_are_refused_here(scoring: FakeService) -> None:
    with Client(scoring.address) as client:
        for texts, ids, field in (("abc", None, "texts"), (["a"], ["1", "2"], "ids")):
            with pytest.raises(SynapseError) as refused:
                client.rerank("mini", "q", texts, ids=ids)
            assert (refused.value.code, refused.value.details) == ("invalid_request", {"field": field})
    assert "rerank.score" not in scoring.methods()


async def test_the_asyncio_client_gives_the_same(scoring: FakeService) -> None:
    with Client(scoring.address) as client:
        expected = client.rerank("mini", "which?", TEXTS)
    async with AsyncClient(scoring.address) as client:
        assert await client.rerank("mini", "which?", TEXTS) == expected
