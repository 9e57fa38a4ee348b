"""The picture changes by pure functions: progress never falls, ends stay, gaps are read again, the log is bounded."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fixtures.tray_rows import job, lane, lane_row, lanes_listing
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


def test_a_job_that_an_event_told_of_while_the_listing_was_read_stays() -> None:
    asked = reducers.jobs_read(AppState(), r.JobsList(jobs=[job("a", 5), job("gone", 1)]))
    state = reducers.happened(asked, event("jobs", job("new", 0, "queued")))
    state = reducers.jobs_read(state, r.JobsList(jobs=[job("a", 60)]), asked)
    assert list(state.jobs) == ["new", "a"]


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
        ("lanes", lane_row("l", "ready"), "change", 0, {"models.list", "lanes.list"}),
        ("lanes", lane_row("l", "unloaded"), "change", 1, {"models.list", "lanes.list"}),
        ("lanes", lane_row("l", "unloaded", requests_done=7), "change", 0, set()),
        ("models", {"lane_id": "l", "state": "unloaded", "quarantined": False}, "change", 0, set()),
        ("settings", {"settings": []}, "change", 0, set()),
        ("something_newer", {}, "change", 0, set()),
    ],
)
def test_a_gap_or_something_new_makes_the_listing_be_read_again(
    topic: str, data: Any, kind: str, missed: int, expected: set[str]
) -> None:
    state = reducers.models_read(AppState(), lanes_listing(lane("l", "unloaded")))
    state = reducers.happened(state, event("models", {"lane_id": "l", "state": "unloaded", "quarantined": False}))
    state = reducers.happened(state, event("lanes", lane_row("l", "unloaded")))
    happening = event(topic, data, kind=kind, missed=missed)
    assert reducers.to_read(state, happening) == expected
    reducers.happened(state, happening)


PAUSE = r.Pause(phase="paused", reason="travel")


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (lane_row("l", "quarantined"), "quarantined"),
        (lane_row("l", "unloaded", pause=PAUSE), "paused"),
        (lane_row("l", "quarantined", pause=PAUSE), "quarantined"),
        (lane_row("l", "loading"), "loading"),
    ],
)
def test_a_lane_is_in_the_state_that_matters_to_people_whatever_is_read_last(row: r.LaneRow, expected: str) -> None:
    listing = lanes_listing(lane("l", "ready"))
    first = reducers.happened(reducers.models_read(AppState(), listing), event("lanes", row))
    again = reducers.models_read(first, listing)
    other_way = reducers.models_read(
        reducers.lanes_read(AppState(), r.LanesList(module_generation=1, lanes=[row])), listing
    )
    assert [state.lanes["l"].state for state in (first, again, other_way)] == [expected] * 3


def test_a_snapshot_of_lanes_leaves_out_lanes_that_are_gone_and_a_change_keeps_the_others() -> None:
    rows = [lane_row("a"), lane_row("b")]
    state = reducers.happened(AppState(), event("lanes", rows, kind="snapshot"))
    state = reducers.happened(state, event("lanes", lane_row("b", "ready")))
    assert {name: row.state for name, row in state.work.items()} == {"a": "unloaded", "b": "ready"}
    state = reducers.happened(state, event("lanes", [lane_row("b", "ready")], kind="snapshot"))
    assert list(state.work) == ["b"]


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


def test_a_stream_of_changes_is_announced_five_times_a_second_and_a_single_one_at_once(qapp: object) -> None:
    now = [100.0]
    store = StateStore(clock=lambda: now[0])
    waits: list[int] = []
    for number in range(4):
        store.apply(lambda state, number=number: reducers.happened(state, event("jobs", job("a", number))))
        waits.append(store._timer.interval())
        store.announce()
        now[0] += 0.15
    now[0] += 60
    store.apply(lambda state: reducers.happened(state, event("jobs", job("a", 9))))
    assert [*waits, store._timer.interval()] == [0, 50, 50, 50, 0]
