"""The picture changes by pure functions: progress never falls, ends stay, gaps are read again, the log is bounded."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fixtures.tray_rows import job, lane, lanes_listing
from synapse_app import reducers
from synapse_app.state import LOG_ENTRIES, AppState, LinkState, StateStore
from synapse_client.events import Event
from synapse_wire import results as r


def event(topic: str, data: Any, *, kind: str = "change", missed: int = 0) -> Event:
    return Event(topic, 2, kind, msgspec.to_builtins(data), missed)  # type: ignore[arg-type]


def tail(*seqs: int, dropped: int = 0) -> r.LogTail:
    entries = [r.LogEntry(seq=seq, time_ms=seq, level="info", event="e", fields={}) for seq in seqs]
    return r.LogTail(entries=entries, next_seq=max(seqs, default=0), dropped=dropped)


def test_a_new_job_comes_first_and_its_progress_replaces_the_row() -> None:
    state = reducers.jobs_read(AppState(), r.JobsList(jobs=[job("a", 5)]))
    state = reducers.happened(state, event("jobs", job("b", 1)))
    state = reducers.happened(state, event("jobs", job("a", 7)))
    assert {name: row.items_done for name, row in state.jobs.items()} == {"b": 1, "a": 7}
    assert list(state.jobs) == ["b", "a"]


def test_a_listing_that_is_older_than_an_event_takes_no_end_and_no_progress_back() -> None:
    state = reducers.jobs_read(AppState(), r.JobsList(jobs=[job("a", 5), job("b", 5), job("gone", 1)]))
    state = reducers.happened(state, event("jobs", job("a", 100, "done", terminal_ms=9)))
    state = reducers.happened(state, event("jobs", job("b", 50)))
    state = reducers.jobs_read(state, r.JobsList(jobs=[job("a", 60), job("b", 40)]))
    assert {name: (row.state, row.items_done) for name, row in state.jobs.items()} == {
        "a": ("done", 100),
        "b": ("running", 50),
    }


def test_what_did_not_change_is_the_same_object() -> None:
    before = reducers.jobs_read(AppState(), r.JobsList(jobs=[job("a", 5)]))
    after = reducers.happened(before, event("log", tail(1)))
    assert after.jobs is before.jobs
    assert after.log is not before.log


def test_log_entries_are_taken_once_and_the_oldest_leave() -> None:
    state = reducers.logged(AppState(), tail(1, 2, 3))
    state = reducers.logged(state, tail(2, 3, 4))
    assert [entry.seq for entry in state.log.entries] == [1, 2, 3, 4]
    state = reducers.logged(state, tail(*range(5, LOG_ENTRIES + 3), dropped=7))
    assert (len(state.log.entries), state.log.entries[0].seq, state.log.dropped) == (LOG_ENTRIES, 3, 7)


def test_events_that_were_missed_count_as_dropped_log_entries() -> None:
    state = reducers.logged(AppState(), tail(1))
    state = reducers.happened(state, event("log", tail(9), missed=3))
    assert state.log.dropped == 3


@pytest.mark.parametrize(
    ("topic", "data", "kind", "missed", "expected"),
    [
        ("jobs", [], "snapshot", 0, {"jobs.list"}),
        ("downloads", [], "snapshot", 4, {"downloads.list"}),
        ("lanes", {"lane_id": "l", "state": "ready", "quarantined": False}, "change", 0, {"models.list"}),
        ("lanes", {"lane_id": "l", "state": "unloaded", "quarantined": False}, "change", 1, {"models.list"}),
        ("lanes", {"lane_id": "l", "state": "unloaded", "quarantined": False}, "change", 0, set()),
        ("settings", {"settings": []}, "change", 0, set()),
        ("something_newer", {}, "change", 0, set()),
    ],
)
def test_a_gap_or_something_new_makes_the_listing_be_read_again(
    topic: str, data: Any, kind: str, missed: int, expected: set[str]
) -> None:
    state = reducers.models_read(AppState(), lanes_listing(lane("l", "unloaded")))
    state = reducers.happened(state, event("lanes", {"lane_id": "l", "state": "unloaded", "quarantined": False}))
    happening = event(topic, data, kind=kind, missed=missed)
    assert reducers.to_read(state, happening) == expected
    reducers.happened(state, happening)


def test_a_quarantined_lane_shows_as_one() -> None:
    state = reducers.models_read(AppState(), lanes_listing(lane("l", "ready")))
    state = reducers.happened(state, event("lanes", {"lane_id": "l", "state": "unloaded", "quarantined": True}))
    assert state.lanes["l"].state == "quarantined"


def test_the_log_begins_anew_with_another_start_of_the_service() -> None:
    state = reducers.logged(AppState(), tail(5, 6))
    hello = r.Hello(server_version="0.1.0", protocol=1, module_generation=2, operations=["models.list"], extensions=[])
    state = reducers.linked(state, hello)
    assert (state.log.entries, state.link, state.offers) == ((), LinkState.CONNECTED, {"models.list"})


def test_several_changes_in_one_turn_are_announced_once(qapp: object) -> None:
    store = StateStore()
    heard: list[tuple[int, int]] = []
    store.changed.connect(lambda before, after: heard.append((len(before.jobs), len(after.jobs))))
    store.apply(lambda state: reducers.happened(state, event("jobs", job("a", 1))))
    store.apply(lambda state: reducers.happened(state, event("jobs", job("b", 1))))
    assert heard == []
    store.announce()
    store.announce()
    assert heard == [(0, 2)]
