"""The tray's menu and icon are pure functions of the picture."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from fixtures.tray_rows import job, lane, lane_row, lanes_listing
from synapse_app import reducers
from synapse_app.state import AppState, LinkState
from synapse_app.tray import LONGEST_NAME, Entry, icon_state, menu, status_line
from synapse_wire import __version__
from synapse_wire import results as r

CONNECTED = AppState(
    link=LinkState.CONNECTED, version=__version__, offers=frozenset({"service.pause", "service.resume"})
)


def with_lanes(*lanes: r.ModelRow) -> AppState:
    return reducers.models_read(CONNECTED, lanes_listing(*lanes))


def download(state: str, done: int = 250) -> r.DownloadRow:
    return r.DownloadRow(job_id="d", catalog_id="tiny", state=state, bytes_done=done, bytes_total=1000, created_ms=1)


def with_download(state: str) -> AppState:
    return reducers.downloads_read(CONNECTED, r.DownloadsList(downloads=[download(state)]))


def keys(state: AppState) -> list[str]:
    return [entry.key for entry in menu(state)]


def find(state: AppState, key: str) -> Entry:
    (entry,) = [entry for entry in menu(state) if entry.key == key]
    return entry


@pytest.mark.parametrize("link", list(LinkState))
def test_every_state_has_a_status_line_and_ways_to_open_and_close(link: LinkState) -> None:
    state = AppState(link=link)
    assert status_line(state)
    assert {"status", "open", "settings", "close"} <= set(keys(state))


@pytest.mark.parametrize(
    ("link", "start", "stop"),
    [
        (LinkState.CONNECTED, False, True),
        (LinkState.HUNG, False, True),
        (LinkState.DOWN, True, False),
        (LinkState.STOPPED, True, False),
        (LinkState.STARTING, False, False),
        (LinkState.REFUSED, False, False),
    ],
)
def test_closing_the_tray_and_stopping_the_service_are_two_entries(link: LinkState, start: bool, stop: bool) -> None:
    shown = keys(AppState(link=link))
    assert ("start" in shown, "stop" in shown, "close" in shown) == (start, stop, True)


def test_loaded_lanes_are_listed_and_long_lists_are_cut_with_their_number() -> None:
    lanes = [lane(f"lane-{number}", "ready") for number in range(9)] + [lane("resting", "unloaded")]
    entries = [entry.text for entry in menu(with_lanes(*lanes)) if entry.key.startswith("lane") and entry.text]
    assert [text for text in entries if "resting" in text] == []
    assert entries[-1] == "and 3 more"
    assert status_line(with_lanes(*lanes)) == "9 lanes loaded"
    assert status_line(with_lanes(lanes[0])) == "1 lane loaded"


def test_a_download_shows_its_progress_until_it_ends() -> None:
    assert find(with_download("downloading"), "download:d").text == "tiny — 25\u00a0%"
    assert "download:d" not in keys(with_download("committed"))
    assert status_line(with_download("downloading")) == "1 download running"


def test_lanes_are_paused_for_15_45_or_120_minutes_and_resumed() -> None:
    pause = find(with_lanes(lane("a", "ready")), "pause")
    assert [(child.text, child.act, child.argument) for child in pause.children] == [
        ("For 15 minutes", "pause", "15"),
        ("For 45 minutes", "pause", "45"),
        ("For 120 minutes", "pause", "120"),
    ]
    assert find(with_lanes(lane("a", "ready")), "resume").enabled is False
    assert find(with_lanes(lane("a", "paused")), "resume").enabled is True


def test_a_loaded_lane_shows_its_memory_and_a_pause_of_everything_can_only_be_resumed() -> None:
    row = lane_row("a", "ready", rss_bytes=1_500_000_000)
    state = reducers.lanes_read(with_lanes(lane("a", "ready")), r.LanesList(module_generation=1, lanes=[row]))
    assert find(state, "lane:a").text == "a — ready · 1.5 GB"
    pause = r.Pause(phase="paused", reason="travel")
    info = r.ServiceInfo(
        server_version="1",
        protocol=1,
        module_generation=1,
        pid=1,
        started_at_ms=1,
        uptime_ms=1,
        socket_path="/s",
        home="",
        connections=1,
        state="running",
        pause=pause,
    )
    state = reducers.info_read(CONNECTED, info)
    assert (find(state, "pause").enabled, find(state, "resume").enabled, icon_state(state)) == (False, True, "paused")


def test_an_older_service_offers_no_pause() -> None:
    assert "pause" not in keys(replace(CONNECTED, offers=frozenset()))


def test_another_version_is_named() -> None:
    assert find(replace(CONNECTED, version="9.9.9"), "version").text == "Service 9.9.9 is another version than this"
    assert "version" not in keys(CONNECTED)


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (AppState(), "down"),
        (AppState(link=LinkState.DOWN), "down"),
        (AppState(link=LinkState.HUNG), "attention"),
        (AppState(link=LinkState.INCOMPATIBLE), "attention"),
        (CONNECTED, "idle"),
        (with_lanes(lane("a", "ready")), "idle"),
        (with_lanes(lane("a", "loading")), "working"),
        (with_lanes(lane("a", "paused")), "paused"),
        (with_lanes(lane("a", "quarantined"), lane("b", "paused")), "attention"),
        (with_download("downloading"), "working"),
        (with_download("failed"), "idle"),
        (reducers.jobs_read(CONNECTED, r.JobsList(jobs=[job("j", 1)])), "working"),
    ],
)
def test_the_icon_says_the_state_at_a_glance(state: AppState, expected: str) -> None:
    assert icon_state(state) == expected


def test_names_with_anything_in_them_are_shown_as_they_are_and_cut_where_they_are_long() -> None:
    name = "a & b {x} مرحبا 🦜 " + "long" * 100
    named: Any = msgspec.structs.replace(lane("l", "ready"), model_id=name)
    assert f"{name[: LONGEST_NAME - 1]}…" in find(with_lanes(named), f"lane:{name}").text
