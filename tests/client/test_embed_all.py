"""``embed_all`` of the blocking client: any number of texts become vectors through durable jobs, each once."""

from __future__ import annotations

import hashlib
import itertools
from array import array
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from fixtures.bulk import Pauses, expected, notes, vectors
from fixtures.fake_service import FINGERPRINT, FakeService, vector_of
from synapse_client import (
    Client,
    Item,
    Progress,
)
from synapse_wire import results as r


def test_every_text_comes_back_once_under_its_id(fake: FakeService, client: Client) -> None:
    texts = notes(500)
    items = list(client.embed_all("mini", texts.items(), request_key="k", max_job_items=200))
    assert vectors(items) == expected(texts)
    assert [item.id for item in items] != list(texts)
    assert fake.durable.keys() == ["k/0", "k/1", "k/2"]


def test_an_item_says_what_its_vector_stands_for(fake: FakeService, client: Client) -> None:
    def cut(item: r.PageItem) -> r.PageItem:
        truncation = r.PageTruncation(submitted_tokens=9, effective_tokens=4, truncated=True)
        changes: dict[str, Any] = {"truncation": truncation, "real_token_count": 4, "content_sha256": "c" * 64}
        return msgspec.structs.replace(item, **changes)

    fake.durable.corrupt = cut
    texts = {"a": "some words", **notes(70)}
    (item,) = [item for item in client.embed_all("mini", texts, request_key="k") if item.id == "a"]
    assert item == Item(
        id="a",
        vector=array("f", vector_of("some words")),
        content_sha256="c" * 64,
        submitted_sha256=hashlib.sha256(b"some words").hexdigest(),
        token_count=4,
        submitted_tokens=9,
        truncated=True,
        fingerprint=FINGERPRINT,
        table_epoch=0,
    )


def test_texts_without_ids_are_known_by_their_places(client: Client) -> None:
    texts = ["x" * (number % 50) for number in range(230)]
    items = client.embed_all("mini", iter(texts), request_key="k", max_job_items=100)
    assert vectors(list(items)) == expected({str(place): text for place, text in enumerate(texts)})


def test_a_mapping_is_ids_and_texts(client: Client) -> None:
    assert vectors(list(client.embed_all("mini", notes(80), request_key="k"))) == expected(notes(80))


def test_few_texts_are_answered_at_once_without_a_job(fake: FakeService, client: Client) -> None:
    items = list(client.embed_all("mini", {"a": "one text"}, request_key="k"))
    assert items == [
        Item(
            id="a",
            vector=array("f", vector_of("one text")),
            content_sha256=hashlib.sha256(b"one text").hexdigest(),
            submitted_sha256=hashlib.sha256(b"one text").hexdigest(),
            token_count=4,
            submitted_tokens=4,
            truncated=False,
            fingerprint=FINGERPRINT,
            table_epoch=0,
        )
    ]
    assert fake.methods() == ["service.hello", "embed.batch"]


def test_no_texts_are_no_requests(fake: FakeService, client: Client) -> None:
    assert list(client.embed_all("mini", [], request_key="k")) == []
    assert fake.methods() == ["service.hello"]


def test_a_small_rest_is_asked_for_when_its_turn_has_come(fake: FakeService, client: Client) -> None:
    texts = notes(210)
    assert vectors(list(client.embed_all("mini", texts, request_key="k", max_job_items=200))) == expected(texts)
    assert fake.methods()[1:] == ["embed.batch", *["embed.result"] * 20, "embed.batch"]
    assert fake.durable.keys() == ["k/0"]


def test_a_job_is_bounded_by_bytes_too(fake: FakeService, client: Client) -> None:
    texts = {str(number): "x" * 1000 for number in range(300)}
    items = client.embed_all("mini", texts, request_key="k", max_job_bytes=100_000)
    assert vectors(list(items)) == expected(texts)
    batches = [params["items"] for method, params in fake.received if method == "embed.batch"]
    assert [len(batch) for batch in batches] == [97, 97, 97, 9]
    assert max(len(msgspec.json.encode(batch)) for batch in batches) <= 100_002


def test_a_request_says_what_was_demanded(fake: FakeService, client: Client) -> None:
    list(client.embed_all("mini", ["a"], request_key="k", required_fingerprint=FINGERPRINT, deadline_ms=1234))
    list(client.embed_all("mini", ["a"], request_key="k", max_queue_ms=0))
    (first, second) = [params for method, params in fake.received if method == "embed.batch"]
    assert first == {
        "model": "mini",
        "items": [{"id": "0", "text": "a"}],
        "request_key": "k/0",
        "vector_encoding": "base64",
        "required_fingerprint": FINGERPRINT,
        "deadline_ms": 1234,
        "max_queue_ms": 1234,
    }
    assert (second["deadline_ms"], second["max_queue_ms"]) == (600_000, 0)


def test_pages_that_someone_else_asked_for_as_numbers_are_read_as_well(fake: FakeService, client: Client) -> None:
    texts = notes(100)
    batch = {"model": "mini", "request_key": "k/0", "items": [{"id": i, "text": t} for i, t in texts.items()]}
    job = client.call("embed.batch", batch)["job"]
    assert isinstance(client.call("embed.result", job)["items"][0]["vector"], list)
    assert vectors(list(client.embed_all("mini", texts, request_key="k"))) == expected(texts)
    assert len(fake.durable.attempts) == 1


# --- how far ahead it works ---


def test_texts_are_taken_only_as_the_work_goes_on(fake: FakeService, client: Client) -> None:
    taken = 0

    def endless() -> Iterator[str]:
        nonlocal taken
        for taken in itertools.count(1):
            yield "x" * (taken % 80)

    ahead, live = [], []
    items = client.embed_all("mini", endless(), request_key="k", max_job_items=100)
    for given, _ in enumerate(itertools.islice(items, 2000), 1):
        ahead.append(taken - given)
        live.append(sum(attempt.state != "done" for attempt in fake.durable.attempts))
    items.close()
    # The batch that is read, two more, and what is taken from the source in one piece.
    assert max(ahead) <= 300 + 256
    assert max(live) == 3


def test_progress_counts_what_came_and_what_was_accepted(client: Client) -> None:
    seen: list[Progress] = []
    list(client.embed_all("mini", notes(130), request_key="k", max_job_items=65, on_progress=seen.append))
    assert seen[0] == Progress(received=10, submitted=65, total=130, jobs=1, job_id="job-0", state="running")
    assert seen[-1] == Progress(received=130, submitted=130, total=130, jobs=2, job_id="job-1", state="done")
    assert [look.received for look in seen] == sorted(look.received for look in seen)


def test_a_source_that_cannot_be_counted_has_no_total(client: Client) -> None:
    seen: list[Progress] = []
    list(client.embed_all("mini", iter(["a"]), request_key="k", on_progress=seen.append))
    assert seen == [Progress(received=1, submitted=1, total=None, jobs=1, job_id=None, state="done")]


def test_looks_at_a_job_without_news_become_rarer(fake: FakeService) -> None:
    fake.durable.working = False

    pauses = Pauses(lambda count: setattr(fake.durable, "working", count in (8, 10)))
    with Client(fake.address, sleep=pauses, clock=pauses.clock) as client:
        items = client.embed_all("mini", notes(70), request_key="k")
        next(items)
        fake.durable.working = False
        assert len(list(items)) == 69
    # Rarer up to twice a second, and again from the beginning after each page.
    assert pauses.asked == pytest.approx([0.05, 0.075, 0.1125, 0.16875, 0.253125, 0.3796875, 0.5, 0.5, 0.05, 0.075])
