"""Submissions in the database: every row of the table in ``jobs/submissions``, races, conflicts, pages, and expiry."""

from __future__ import annotations

import threading
from array import array
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import peewee
import pytest

from fixtures.clocks import FakeClock
from fixtures.submissions import binding
from synapse_service.jobs import submissions
from synapse_service.jobs.pages import Page
from synapse_service.jobs.submissions import Attempt, Binding, Request
from synapse_service.store.database import Store
from synapse_service.store.models import Job, ResultPage, Submission
from synapse_wire.errors import SynapseError

NOW = 1_000_000
LATER = NOW + 500
"""When a submission that ended at ``NOW`` expires in these tests."""


@pytest.fixture
def store(quick_dir: Path) -> Iterator[Store]:
    store = Store.open(quick_dir / "synapse.db", FakeClock())
    yield store
    store.close_sync()


def request(name: str) -> Request:
    return Request(f"job-{name}", f"submission-{name}", "client", 7, 123)


def accept(store: Store, name: str, bound: Binding | None = None, *, now_ms: int = NOW, **options: Any) -> Attempt:
    return store.write_sync(lambda: submissions.accept(bound or binding(), request(name), now_ms=now_ms, **options))


def page(*ordinals: int) -> Page:
    return Page(array("I", ordinals), msgspec.json.encode([f"item-{ordinal}" for ordinal in ordinals]))


def commit(store: Store, name: str, index: int, committed: Page, items_done: int, job: str | None = None) -> None:
    store.write_sync(
        lambda: submissions.commit_page(
            f"submission-{name}", f"job-{job or name}", index, committed, items_done, "syn1-a"
        )
    )


def set_state(store: Store, name: str, state: str, expires_ms: int | None = None) -> None:
    def step() -> None:
        Job.update(state=state).where(Job.job_id == f"job-{name}").execute()
        job = Job.get_by_id(f"job-{name}")
        Submission.update(expires_ms=expires_ms).where(Submission.submission_id == job.submission_id).execute()

    store.write_sync(step)


def rows(store: Store, model: Any) -> list[dict[str, Any]]:
    return store.read_sync(lambda: list(model.select().dicts()))


def jobs(store: Store) -> list[tuple[str, str, int]]:
    return [(row["job_id"], row["state"], row["items_done"]) for row in rows(store, Job)]


# --- the table ---


def test_an_unknown_key_makes_the_submission_and_its_first_attempt(store: Store) -> None:
    assert accept(store, "a") == Attempt("job-a", "submission-a", True, "json", frozenset(), 0)
    assert rows(store, Submission) == [
        {
            "submission_id": "submission-a",
            "request_key": "key",
            "digest": "digest",
            "binding": msgspec.json.encode(binding()).decode(),
            "pages": 0,
            "items_done": 0,
            "created_ms": 123,
            "expires_ms": None,
        }
    ]
    (job,) = rows(store, Job)
    assert (job["job_id"], job["kind"], job["state"], job["model_id"]) == ("job-a", "embed.batch", "queued", "m")
    assert (job["submission"], job["client_name"], job["module_generation"]) == ("submission-a", "client", 7)
    assert (job["items_total"], job["items_done"], job["created_ms"]) == (10, 0, 123)


@pytest.mark.parametrize("state", ["queued", "running", "paused_needs_reauth", "done"])
def test_a_known_key_joins_an_attempt_that_lives_or_is_complete(store: Store, state: str) -> None:
    accept(store, "a")
    commit(store, "a", 0, page(1, 2), 2)
    set_state(store, "a", state)
    assert accept(store, "b") == Attempt("job-a", "submission-a", False, "json", frozenset(), 1)
    assert jobs(store) == [("job-a", state, 2)]


@pytest.mark.parametrize("state", ["failed", "needs_reauth_expired"])
def test_a_known_key_whose_attempt_failed_gets_a_fresh_one_behind_the_committed_pages(store: Store, state: str) -> None:
    accept(store, "a")
    commit(store, "a", 0, page(3, 1), 2)
    commit(store, "a", 1, page(9), 3)
    set_state(store, "a", state, expires_ms=LATER)
    assert accept(store, "b") == Attempt("job-b", "submission-a", True, "json", frozenset({1, 3, 9}), 2)
    assert jobs(store) == [("job-a", state, 3), ("job-b", "queued", 3)]
    (submission,) = rows(store, Submission)
    assert submission["expires_ms"] is None  # Nothing expires under a running attempt.


@pytest.mark.parametrize("state", ["done", "failed"])
def test_an_expired_key_is_a_first_request_even_before_anything_is_removed(store: Store, state: str) -> None:
    accept(store, "a")
    commit(store, "a", 0, page(1), 1)
    set_state(store, "a", state, expires_ms=LATER)
    # Other content would be a conflict a moment earlier.
    with pytest.raises(SynapseError):
        accept(store, "b", binding(digest="other"), now_ms=LATER - 1)
    attempt = accept(store, "b", binding(digest="other"), now_ms=LATER)
    assert attempt == Attempt("job-b", "submission-b", True, "json", frozenset(), 0)
    assert jobs(store) == [("job-b", "queued", 0)]
    while store.write_sync(lambda: submissions.expire(LATER, 8)):
        pass
    assert [row["submission_id"] for row in rows(store, Submission)] == ["submission-b"]
    assert rows(store, ResultPage) == []


def test_a_submission_without_a_key_is_new_each_time(store: Store) -> None:
    assert accept(store, "a", binding(key=None)).job_id == "job-a"
    assert accept(store, "b", binding(key=None)).job_id == "job-b"
    assert len(rows(store, Submission)) == 2


def test_the_first_submission_decides_how_vectors_are_written(store: Store) -> None:
    accept(store, "a", binding(encoding="f32"))
    assert accept(store, "b", binding(encoding="json")).encoding == "f32"
    set_state(store, "a", "failed")
    assert accept(store, "c", binding(encoding="json")).encoding == "f32"


# --- refusals ---


@pytest.mark.parametrize("state", ["running", "done", "failed"])
@pytest.mark.parametrize("changes", [{"digest": "other"}, {"fingerprint": "syn1-b"}])
def test_other_content_or_another_fingerprint_is_a_conflict_that_changes_nothing(
    store: Store, state: str, changes: dict[str, str]
) -> None:
    accept(store, "a")
    set_state(store, "a", state)
    with pytest.raises(SynapseError) as refusal:
        accept(store, "b", binding(**changes))
    assert (refusal.value.code, refusal.value.details) == ("idempotency_conflict", {"request_key": "key"})
    assert jobs(store) == [("job-a", state, 0)]
    assert len(rows(store, Submission)) == 1


def test_a_key_can_be_checked_without_using_it(store: Store) -> None:
    def check(digest: str, now_ms: int = NOW) -> SynapseError | None:
        return store.read_sync(lambda: submissions.conflict("key", digest, now_ms))

    assert check("digest") is None
    accept(store, "a")
    set_state(store, "a", "done", expires_ms=LATER)
    assert check("digest") is None
    conflict = check("other")
    assert conflict is not None
    assert conflict.code == "idempotency_conflict"
    assert check("other", LATER) is None


def test_a_refusal_holds_for_fresh_attempts_only(store: Store) -> None:
    full = SynapseError("queue_full", "full", details={"class": "bulk", "depth": 64})
    with pytest.raises(SynapseError) as refusal:
        accept(store, "a", refusal=full)
    assert refusal.value is full
    assert (rows(store, Submission), rows(store, Job)) == ([], [])
    accept(store, "a")
    assert accept(store, "b", refusal=full).job_id == "job-a"
    set_state(store, "a", "failed", expires_ms=LATER)
    with pytest.raises(SynapseError):
        accept(store, "b", refusal=full)
    assert rows(store, Submission)[0]["expires_ms"] == LATER
    # Room or not, a key that is taken says so.
    with pytest.raises(SynapseError) as conflict:
        accept(store, "b", binding(digest="other"), refusal=full)
    assert conflict.value.code == "idempotency_conflict"


def test_clients_that_race_for_one_key_get_one_job(store: Store) -> None:
    for round_ in range(20):
        start = threading.Barrier(4)

        def race(name: str, key: str = f"key-{round_}", start: threading.Barrier = start) -> Attempt:
            start.wait()
            return accept(store, f"{key}-{name}", binding(key=key))

        with ThreadPoolExecutor(4) as pool:
            attempts = list(pool.map(race, "abcd"))
        assert len({attempt.job_id for attempt in attempts}) == 1
        assert sum(attempt.fresh for attempt in attempts) == 1
    assert len(rows(store, Job)) == 20


# --- pages ---


def test_a_page_its_place_and_the_counters_become_visible_together(store: Store) -> None:
    accept(store, "a")
    commit(store, "a", 0, page(4, 2), 2)
    (stored,) = rows(store, ResultPage)
    assert stored == {
        "submission": "submission-a",
        "page_index": 0,
        "ordinals": array("I", [4, 2]).tobytes(),
        "payload": b'["item-4","item-2"]',
        "table_epoch": 0,
        "equivalent_to": "[]",
    }
    (submission,) = rows(store, Submission)
    assert (submission["pages"], submission["items_done"]) == (1, 2)
    assert jobs(store) == [("job-a", "queued", 2)]


@pytest.mark.parametrize("step", ["_ADD_PAGE", "_COUNT_PAGE", "_COUNT_ITEMS"])
def test_a_commit_that_breaks_off_leaves_nothing_of_it(
    store: Store, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    accept(store, "a")
    commit(store, "a", 0, page(1), 1)
    before = [rows(store, model) for model in (Submission, Job, ResultPage)]
    statement = getattr(submissions, step)
    monkeypatch.setattr(submissions, step, f"{statement} and more, which is not SQL")
    with pytest.raises(peewee.OperationalError, match="syntax error"):
        commit(store, "a", 1, page(2), 2)
    monkeypatch.undo()
    assert [rows(store, model) for model in (Submission, Job, ResultPage)] == before


def test_a_place_is_taken_once(store: Store) -> None:
    accept(store, "a")
    commit(store, "a", 0, page(1), 1)
    with pytest.raises(Exception, match="UNIQUE"):
        commit(store, "a", 0, page(2), 2)
    assert rows(store, ResultPage)[0]["payload"] == b'["item-1"]'


def test_old_and_new_attempts_read_the_same_pages(store: Store) -> None:
    accept(store, "a")
    commit(store, "a", 0, page(1), 1)
    set_state(store, "a", "failed")
    accept(store, "b")
    commit(store, "a", 1, page(2), 2, job="b")

    def read(name: str, cursor: int) -> submissions.StoredPage:
        return store.read_sync(lambda: submissions.read_page(f"job-{name}", cursor))

    for name, state in (("a", "failed"), ("b", "queued")):
        assert [read(name, cursor).payload for cursor in range(3)] == [b'["item-1"]', b'["item-2"]', None]
        assert {read(name, cursor).pages for cursor in range(3)} == {2}
        assert (read(name, 0).state, read(name, 0).job_id) == (state, f"job-{name}")
        assert read(name, 0).binding == binding()


def test_reading_beyond_the_end_or_of_what_has_no_pages_is_refused(store: Store) -> None:
    accept(store, "a")
    commit(store, "a", 0, page(1), 1)
    store.write_sync(
        lambda: Job.create(job_id="load", kind="model.load", state="done", module_generation=7, created_ms=1)
    )

    def refusal(job_id: str, cursor: int) -> SynapseError:
        with pytest.raises(SynapseError) as caught:
            store.read_sync(lambda: submissions.read_page(job_id, cursor))
        assert (caught.value.code, caught.value.level) == ("invalid_request", "semantic")
        return caught.value

    assert refusal("job-a", 2).details == {"field": "cursor", "cursor": 2, "pages_available": 1}
    assert refusal("unknown", 0).details == {"job_id": "unknown"}
    assert refusal("load", 0).details == {"job_id": "load"}


# --- expiry ---


def test_expiry_removes_a_few_pages_at_a_time_and_half_a_submission_is_never_found(store: Store) -> None:
    accept(store, "a")
    for index in range(5):
        commit(store, "a", index, page(index), index + 1)
    set_state(store, "a", "done", expires_ms=LATER)

    def expire(now_ms: int) -> bool:
        return store.write_sync(lambda: submissions.expire(now_ms, 2))

    assert expire(LATER - 1) is False
    assert len(rows(store, ResultPage)) == 5
    left = []
    while expire(LATER):
        left.append(len(rows(store, ResultPage)))
        # From the first deletion on nobody can be led to what remains.
        assert jobs(store) == []
        with pytest.raises(SynapseError):
            store.read_sync(lambda: submissions.read_page("job-a", 0))
        assert store.read_sync(lambda: submissions.conflict("key", "other", NOW)) is None
    assert left == [3, 1, 0, 0]
    assert rows(store, Submission) == []


def test_expiry_spares_what_has_no_end_and_what_ended_later(store: Store) -> None:
    for name in "abc":
        accept(store, name, binding(key=name))
        commit(store, name, 0, page(1), 1)
    set_state(store, "a", "done", expires_ms=LATER)
    set_state(store, "b", "running")
    set_state(store, "c", "done", expires_ms=LATER + 1)
    store.write_sync(
        lambda: Job.insert_many(
            [
                {"job_id": f"load-{expires}", "kind": "probe", "state": "done", "module_generation": 7, "created_ms": 1}
                | {"expires_ms": expires}
                for expires in (LATER, LATER + 1)
            ]
        ).execute()
    )
    while store.write_sync(lambda: submissions.expire(LATER, 8)):
        pass
    assert [row["submission_id"] for row in rows(store, Submission)] == ["submission-b", "submission-c"]
    assert [row["submission"] for row in rows(store, ResultPage)] == ["submission-b", "submission-c"]
    assert [job_id for job_id, _, _ in jobs(store)] == ["job-b", "job-c", f"load-{LATER + 1}"]


def test_a_restart_lets_orphans_expire_and_their_key_goes_on(store: Store) -> None:
    clock = FakeClock()
    accept(store, "a")
    commit(store, "a", 0, page(1), 1)
    assert store.fail_orphaned_jobs(8, keep_ms=500) == ["job-a"]
    (submission,) = rows(store, Submission)
    assert submission["expires_ms"] == clock.steady_ms() + 500
    attempt = accept(store, "b", now_ms=clock.steady_ms())
    assert (attempt.job_id, attempt.committed, attempt.pages) == ("job-b", frozenset({1}), 1)
