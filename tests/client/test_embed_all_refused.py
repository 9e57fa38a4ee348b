"""What ``embed_all`` raises, when it waits instead, and what it never lets pass."""

from __future__ import annotations

import hashlib
import itertools
from array import array
from typing import Any

import msgspec
import pytest

from fixtures.bulk import OTHER_FINGERPRINT, Pauses, collect, notes, submissions
from fixtures.fake_service import FINGERPRINT, FakeCall, FakeService, vector_of
from synapse_client import (
    Client,
    ConnectionLost,
    DivergedItem,
    FingerprintChanged,
    Item,
    Progress,
    ProtocolViolation,
    SynapseError,
)
from synapse_client.batches import MAX_ITEMS_BYTES
from synapse_wire import results as r


def test_a_refusal_for_the_moment_is_repeated_after_the_time_it_names(fake: FakeService) -> None:
    batch, pauses = fake.handlers["embed.batch"], Pauses()

    def refuse(call: FakeCall) -> Any:
        if len(submissions(fake)) <= 2:
            raise SynapseError("queue_full", "full")
        return batch(call)

    fake.on("embed.batch", refuse)
    with Client(fake.address, sleep=pauses, clock=pauses.clock) as client:
        assert len(list(client.embed_all("mini", ["a"], request_key="k"))) == 1
    assert pauses.asked == [0.25, 0.25]


def test_a_wait_beyond_the_patience_is_not_begun(fake: FakeService) -> None:
    pauses = Pauses()

    def paused(call: FakeCall) -> Any:
        details = {"lane_id": "mini", "paused_until_ms": 1, "reason": "r"}
        raise SynapseError("lane_paused", "paused", details=details, retry_after_ms=400_000)

    fake.on("embed.batch", paused)
    with (
        Client(fake.address, sleep=pauses, clock=pauses.clock) as client,
        pytest.raises(SynapseError, match="lane_paused"),
    ):
        list(client.embed_all("mini", ["a"], request_key="k"))
    assert pauses.asked == []


@pytest.mark.parametrize(
    "error",
    [
        SynapseError("engine_crashed", "NaN", details={"item_id": "note-9", "reason": "non_finite"}),
        SynapseError("request_cancelled", "cancelled"),
        SynapseError("deadline_exceeded", "24 hours are over"),
    ],
    ids=lambda error: error.code,
)
def test_a_job_that_failed_for_good_is_raised_behind_its_pages(
    fake: FakeService, client: Client, error: SynapseError
) -> None:
    items = client.embed_all("mini", notes(100), request_key="k")
    got = list(itertools.islice(items, 5))
    client.job_status("job-0")  # commits another page
    fake.durable.fail(error)
    with pytest.raises(SynapseError) as failed:
        collect(items, got)
    assert (failed.value.code, failed.value.details) == (error.code, error.details)
    assert failed.value.__notes__ == ["reported by job job-0 (embed.batch), which ended as failed"]
    assert sorted(item.id for item in got) == sorted(fake.durable.computed)
    assert (len(got), submissions(fake)) == (20, ["k/0"])


def test_a_batch_that_is_refused_comes_after_those_before_it(fake: FakeService, client: Client) -> None:
    batch = fake.handlers["embed.batch"]

    def refuse(call: FakeCall) -> Any:
        if call.params.request_key == "k/1":
            details = {"tokens": 300, "max_tokens": 256, "item_id": "note-150"}
            raise SynapseError("sequence_too_long", "too long", details=details)
        return batch(call)

    fake.on("embed.batch", refuse)
    got: list[Item] = []
    with pytest.raises(SynapseError, match="sequence_too_long") as refused:
        collect(client.embed_all("mini", notes(300), request_key="k", max_job_items=100), got)
    assert refused.value.details is not None
    assert refused.value.details["item_id"] == "note-150"
    assert {item.id for item in got} == set(list(notes(300))[:100])


def test_a_text_that_was_changed_on_its_way_is_not_passed_off_as_sent(fake: FakeService, client: Client) -> None:
    def garble(item: r.PageItem) -> r.PageItem:
        return msgspec.structs.replace(item, submitted_sha256="f" * 64) if item.id == "note-7" else item

    fake.durable.corrupt = garble
    with pytest.raises(DivergedItem) as diverged:
        list(client.embed_all("mini", notes(100), request_key="k"))
    assert (diverged.value.item_id, diverged.value.received_sha256) == ("note-7", "f" * 64)
    assert diverged.value.sent_sha256 == hashlib.sha256(notes(100)["note-7"].encode()).hexdigest()


def test_vectors_of_two_spaces_are_never_mixed(fake: FakeService, client: Client) -> None:
    def exchange(progress: Progress) -> None:
        fake.fingerprint = OTHER_FINGERPRINT

    got: list[Item] = []
    items = client.embed_all("mini", notes(200), request_key="k", max_job_items=100, on_progress=exchange)
    with pytest.raises(FingerprintChanged) as changed:
        collect(items, got)
    assert (changed.value.first, changed.value.now) == (FINGERPRINT, OTHER_FINGERPRINT)
    assert FINGERPRINT in str(changed.value)
    assert OTHER_FINGERPRINT in str(changed.value)
    assert (len(got), {item.fingerprint for item in got}) == (100, {FINGERPRINT})


def test_a_model_that_was_exchanged_under_a_job_is_a_conflict(fake: FakeService, client: Client) -> None:
    items = client.embed_all("mini", notes(100), request_key="k")
    next(items)
    fake.fingerprint = OTHER_FINGERPRINT
    fake.restart()
    with pytest.raises(SynapseError, match="idempotency_conflict"):
        list(items)


def test_other_texts_under_the_same_key_are_a_conflict(client: Client) -> None:
    list(client.embed_all("mini", notes(100), request_key="k"))
    with pytest.raises(SynapseError, match="idempotency_conflict"):
        list(client.embed_all("mini", notes(101), request_key="k"))


def test_a_job_that_ends_without_all_items_is_a_violation(fake: FakeService, client: Client) -> None:
    page = fake.handlers["embed.result"]
    fake.on("embed.result", lambda call: msgspec.structs.replace(page(call), items=page(call).items[1:]))
    with pytest.raises(ProtocolViolation, match="k/0 without vectors for"):
        list(client.embed_all("mini", notes(100), request_key="k"))


def test_an_item_that_was_never_sent_is_a_violation(fake: FakeService, client: Client) -> None:
    fake.durable.corrupt = lambda item: msgspec.structs.replace(item, id="stranger")
    with pytest.raises(ProtocolViolation, match="'stranger' that k/0 doesn't have"):
        list(client.embed_all("mini", notes(100), request_key="k"))


def test_a_vector_of_the_wrong_length_is_a_violation(fake: FakeService, client: Client) -> None:
    fake.durable.corrupt = lambda item: msgspec.structs.replace(item, vector="AACAPw==")
    with pytest.raises(ProtocolViolation, match="4 bytes where 4 float32"):
        list(client.embed_all("mini", notes(100), request_key="k"))


def test_a_connection_that_breaks_at_the_first_batch_is_reported(fake: FakeService) -> None:
    fake.on("embed.batch", lambda call: call.connection.drop())
    pauses = Pauses()
    with Client(fake.address, sleep=pauses) as client, pytest.raises(ConnectionLost):
        list(client.embed_all("mini", notes(100), request_key="k"))
    assert pauses.asked == []


@pytest.mark.parametrize(
    ("items", "message"),
    [
        (["a", 1], "item 1 is neither a text nor an id and a text"),
        ([("a", "b", "c")], "item 0 is neither"),
        ([("a", None)], "item 0 is neither"),
        ([("a", "1"), ("b", "2"), ("a", "3")], "the id 'a' stands twice"),
        (["\ud800"], "item '0' is not valid Unicode"),
        (["x" * MAX_ITEMS_BYTES], f"the most that one request can carry is {MAX_ITEMS_BYTES}"),
    ],
)
def test_what_is_no_text_is_refused_before_it_is_sent(
    fake: FakeService, client: Client, items: Any, message: str
) -> None:
    with pytest.raises(SynapseError, match=message) as refused:
        list(client.embed_all("mini", items, request_key="k"))
    assert (refused.value.code, refused.value.level) == ("invalid_request", "channel")
    assert fake.methods() == ["service.hello"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"request_key": ""}, "1 to 240 characters"),
        ({"request_key": "k" * 241}, "1 to 240 characters"),
        ({"request_key": "k", "max_job_items": 0}, "at least one item"),
        ({"request_key": "k", "max_job_bytes": 16 * 1024 * 1024}, f"1 to {MAX_ITEMS_BYTES} bytes"),
    ],
)
def test_options_that_cannot_work_are_refused_at_once(client: Client, options: Any, message: str) -> None:
    with pytest.raises(SynapseError, match=message):
        client.embed_all("mini", ["a"], **options)


def test_a_single_text_is_refused_at_once(client: Client) -> None:
    with pytest.raises(SynapseError, match="one string"):
        client.embed_all("mini", "text", request_key="k")


def test_a_text_as_large_as_a_request_allows_crosses(fake: FakeService, client: Client) -> None:
    texts = ["short", "x" * (MAX_ITEMS_BYTES - 40), "short too"]
    items = list(client.embed_all("mini", texts, request_key="k"))
    assert {item.id: item.vector for item in items} == {
        str(place): array("f", vector_of(text)) for place, text in enumerate(texts)
    }
    assert submissions(fake) == ["k/0", "k/1", "k/2"]
