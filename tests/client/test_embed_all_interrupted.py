"""``embed_all`` goes on where it was: restarts, lost connections, lost databases, and a program that stops itself."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from fixtures.bulk import Pauses, expected, notes, vectors
from fixtures.fake_service import FakeCall, FakeService
from synapse_client import (
    Client,
    Progress,
    ServiceNotRunning,
    SynapseError,
)


def test_a_restart_under_a_job_costs_no_page_and_repeats_none(fake: FakeService, client: Client) -> None:
    texts, got, seen = notes(300), [], list[Progress]()
    for item in client.embed_all("mini", texts, request_key="k", max_job_items=150, on_progress=seen.append):
        got.append(item)
        if len(got) in (25, 95, 96, 200):
            fake.restart()
    assert vectors(got) == expected(texts)
    assert sorted(fake.durable.computed) == sorted(texts), "a committed item was computed again"
    assert sorted(fake.durable.keys()) == ["k/0"] * 3 + ["k/1"] * 3
    assert (seen[-1].submitted, seen[-1].jobs) == (300, 2), "a batch that is sent again is no further batch"


def test_a_service_that_is_away_for_a_while_is_waited_for(fake: FakeService) -> None:
    def during(count: int) -> None:
        if count == 40:
            fake.start()

    texts, got, pauses = notes(100), [], Pauses(during)
    with Client(fake.address, sleep=pauses, clock=pauses.clock) as client:
        for item in client.embed_all("mini", texts, request_key="k"):
            got.append(item)
            if len(got) == 15:
                fake.stop()
    assert vectors(got) == expected(texts)
    assert len(pauses.asked) == 40


def test_a_service_that_stays_away_is_reported_after_the_patience(fake: FakeService) -> None:
    pauses = Pauses()
    with Client(fake.address, sleep=pauses, clock=pauses.clock) as client:
        items = client.embed_all("mini", notes(100), request_key="k", patience_s=30)
        next(items)
        fake.stop()
        with pytest.raises(ServiceNotRunning):
            list(items)
    assert 29 < pauses.now < 37  # the client's own attempts to connect again come first


def test_a_service_that_was_never_there_is_reported_at_once(fake: FakeService) -> None:
    fake.stop()
    pauses = Pauses()
    with pytest.raises(ServiceNotRunning):
        list(Client(fake.address, sleep=pauses).embed_all("mini", notes(100), request_key="k"))
    assert pauses.asked == []


def test_jobs_that_fail_at_every_start_are_given_up(fake: FakeService) -> None:
    def fail(call: FakeCall) -> Any:
        fake.durable.interrupt()
        return page(call)

    page, pauses = fake.handlers["embed.result"], Pauses()
    fake.durable.working = False
    fake.on("embed.result", fail)
    with Client(fake.address, sleep=pauses, clock=pauses.clock) as client, pytest.raises(SynapseError) as failed:
        list(client.embed_all("mini", notes(100), request_key="k", patience_s=10))
    assert failed.value.code == "module_restarted"
    assert pauses.now == 10


def test_failures_far_apart_do_not_add_up(fake: FakeService) -> None:
    def during(count: int) -> None:
        # One failure, a long time without news in which the job runs well, and another failure.
        if count in (2, 40):
            fake.durable.interrupt()
        fake.durable.working = count > 41

    pauses = Pauses(during)
    fake.durable.working = False
    with Client(fake.address, sleep=pauses, clock=pauses.clock) as client:
        got = list(client.embed_all("mini", notes(100), request_key="k", patience_s=5))
    assert vectors(got) == expected(notes(100))
    assert fake.durable.keys() == ["k/0"] * 3


def test_failures_between_which_vectors_come_do_not_add_up(fake: FakeService) -> None:
    texts, got, pauses = notes(100), [], Pauses()
    with Client(fake.address, sleep=pauses, clock=pauses.clock) as client:
        for item in client.embed_all("mini", texts, request_key="k", patience_s=5):
            got.append(item)
            if len(got) in (15, 35, 55, 75):
                fake.durable.fail(SynapseError("engine_crashed", "the worker died", retry_after_ms=2000))
    assert vectors(got) == expected(texts)
    assert pauses.asked == [2.0] * 4


@pytest.mark.parametrize("stop", ["close", "interrupt"])
def test_stopping_leaves_the_jobs_and_the_same_call_takes_them_up(fake: FakeService, stop: str) -> None:
    texts, got = notes(200), []

    def interrupt(progress: Progress) -> None:
        if stop == "interrupt" and progress.received >= 40:
            raise KeyboardInterrupt

    with Client(fake.address) as client:
        items = client.embed_all("mini", texts, request_key="k", max_job_items=100, on_progress=interrupt)
        try:
            got += itertools.islice(items, 45)
        except KeyboardInterrupt:
            pass
        items.close()
    assert fake.cancelled == []
    assert "jobs.cancel" not in fake.methods()
    assert [attempt.state for attempt in fake.durable.attempts] == ["running", "queued"]
    with Client(fake.address) as client:
        assert vectors(list(client.embed_all("mini", texts, request_key="k", max_job_items=100))) == expected(texts)
    assert fake.durable.keys() == ["k/0", "k/1"]
    assert sorted(fake.durable.computed) == sorted(texts)


def test_a_lost_database_costs_the_work_and_no_item_comes_twice(fake: FakeService, client: Client) -> None:
    texts, got = notes(100), []
    for item in client.embed_all("mini", texts, request_key="k"):
        got.append(item)
        if len(got) == 35:
            fake.durable.forget()
            fake.durable.page_items = 25  # what is at the old place in the new pages isn't what is missing
    assert vectors(got) == expected(texts)


def test_a_job_that_fails_for_the_moment_is_taken_up(fake: FakeService) -> None:
    texts, got, pauses = notes(100), [], Pauses()
    with Client(fake.address, sleep=pauses, clock=pauses.clock) as client:
        for item in client.embed_all("mini", texts, request_key="k"):
            got.append(item)
            if len(got) == 15:
                fake.durable.fail(SynapseError("engine_crashed", "the worker died", retry_after_ms=2000))
    assert vectors(got) == expected(texts)
    assert pauses.asked == [2.0]
    assert sorted(fake.durable.computed) == sorted(texts)
