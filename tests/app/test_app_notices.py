"""Notices: what is worth one, and showing them through the desktop's own service on a private bus."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from PySide6.QtWidgets import QApplication

from fixtures.desktop_bus import Peer, notification_server, private_bus
from fixtures.tray_app import TrayApp
from fixtures.tray_rows import job, lane, lanes_listing
from synapse_app import reducers
from synapse_app.notify import Notice, Notifier, notices
from synapse_app.preferences import Preferences
from synapse_app.state import AppState, StateStore
from synapse_wire import results as r

StartTray = Callable[..., TrayApp]
NOW = 1_000_000


def with_jobs(*jobs: r.JobRow) -> AppState:
    return AppState(jobs={row.job_id: row for row in jobs})


def with_downloads(state: str, error: dict[str, Any] | None = None) -> AppState:
    row = r.DownloadRow(
        job_id="d",
        catalog_id="tiny",
        state=state,
        bytes_done=1,
        bytes_total=2,
        created_ms=1,
        error=msgspec.UNSET if error is None else error,
    )
    return AppState(downloads={"d": row})


def with_lane(**changes: Any) -> AppState:
    return reducers.models_read(AppState(), lanes_listing(msgspec.structs.replace(lane("l", "ready"), **changes)))


def kinds(before: AppState, after: AppState, now_ms: int = NOW) -> list[tuple[str, str]]:
    return [(notice.kind, notice.title) for notice in notices(before, after, now_ms)]


def test_the_end_of_a_download_is_a_notice_and_a_failed_one_can_be_tried_again() -> None:
    before = with_downloads("downloading")
    (done,) = notices(before, with_downloads("committed"), NOW)
    assert (done.title, done.text, done.page, done.again) == ("Model installed", "tiny is ready to use.", "models", "")
    (failed,) = notices(before, with_downloads("failed", {"code": "download_failed", "message": "no route"}), NOW)
    assert (failed.text, failed.again) == ("tiny could not be downloaded: no route", "tiny")
    assert kinds(before, with_downloads("cancelled")) == []
    assert kinds(AppState(), with_downloads("committed")) == []


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (job("a", 100, "done", terminal_ms=30_001), [("jobs", "Job done")]),
        (job("a", 100, "done", terminal_ms=29_000), []),
        (
            job("a", 3, "failed", terminal_ms=2, error={"code": "store_failure", "message": "full"}),
            [("jobs", "Job failed")],
        ),
        (job("a", 3, "failed", terminal_ms=2, error={"code": "request_cancelled", "message": "x"}), []),
        (job("a", 50), []),
    ],
)
def test_only_long_jobs_and_failed_ones_interrupt(after: r.JobRow, expected: list[tuple[str, str]]) -> None:
    assert kinds(with_jobs(job("a", 1)), with_jobs(after)) == expected
    assert kinds(with_jobs(), with_jobs(after)) == []


def test_a_failed_self_check_and_a_quarantine_are_urgent() -> None:
    before = with_lane()
    found = notices(before, with_lane(self_check=r.SelfCheckState(state="failed"), state="quarantined"), NOW)
    assert [(notice.kind, notice.urgent, notice.page) for notice in found] == [
        ("self_checks", True, "lanes"),
        ("quarantine", True, "lanes"),
    ]


def test_a_pause_that_ran_out_is_a_notice_and_one_that_was_ended_is_not() -> None:
    paused = with_lane(paused_until_ms=NOW)
    assert kinds(paused, with_lane(), NOW + 5) == [("pause_ended", "Pause ended")]
    assert kinds(paused, with_lane(), NOW - 60_000) == []
    assert kinds(with_lane(), paused) == []


def test_the_user_chooses_the_kinds_and_many_at_once_become_one(qapp: QApplication, tmp_path: Path) -> None:
    preferences = Preferences(tmp_path / "tray.ini")
    store, shown = StateStore(), list[Notice]()
    notifier = Notifier(store, preferences, shown.append)
    rows = [job(str(number), 1) for number in range(5)]
    failed = [job(str(number), 1, "failed", terminal_ms=2, error={"message": f"m{number}"}) for number in range(5)]
    store.apply(lambda state: with_jobs(*rows))
    store.announce()
    store.apply(lambda state: with_jobs(*failed))
    store.announce()
    assert [notice.text for notice in shown] == ["m0 and 4 more"]
    preferences.set_notices("jobs", False)
    store.apply(lambda state: with_jobs(*rows))
    store.apply(lambda state: with_jobs(*failed))
    store.announce()
    assert (len(shown), notifier is not None) == (1, True)


# --- on a bus ---


@pytest.fixture
def address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with private_bus(tmp_path / "b") as address:
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", address)
        yield address


@pytest.fixture
def server(address: str) -> Iterator[Peer]:
    with notification_server(address, "actions", "body", "body-markup") as server:
        yield server


FAILED = Notice("downloads", "d", "Download failed", "a <b>bold</b> reason & more", "models", again="tiny")


def test_a_notice_has_buttons_and_its_text_is_no_markup(server: Peer, tmp_path: Path, start_tray: StartTray) -> None:
    tray = start_tray(tmp_path / "home", background=True)
    tray.app.desktop.show(FAILED)
    tray.until(lambda: bool(server.got("Notify")), "it is shown")
    ((name, replaces, _, title, text, actions, hints, timeout),) = server.got("Notify")
    assert (name, replaces, title, timeout) == ("Synapse", 0, "Download failed", -1)
    assert text == "a &lt;b&gt;bold&lt;/b&gt; reason &amp; more"
    assert actions == ["default", "Open Synapse", "show", "Show", "again", "Try again"]
    assert (hints["urgency"], hints["desktop-entry"]) == (("y", 1), ("s", "org.synapse.Tray"))
    width, height, line, alpha, bits, channels, pixels = hints["image-data"][1]
    assert (width, height, alpha, bits, channels, len(pixels)) == (64, 64, True, 8, 4, line * height)


def test_its_buttons_do_what_the_window_does(
    server: Peer, tmp_path: Path, start_tray: StartTray, monkeypatch: pytest.MonkeyPatch
) -> None:
    tray = start_tray(tmp_path / "home", background=True)
    chosen: list[tuple[str, str]] = []
    monkeypatch.setattr(tray.app.desktop, "_chosen", lambda act, argument: chosen.append((act, argument)))
    tray.app.desktop.show(FAILED)
    tray.app.desktop.show(replace(FAILED, key="other", page="activity", again=""))
    tray.until(lambda: len(tray.app.desktop._shown) == 2, "both are shown")
    server.emit("ActionInvoked", "us", 1, "again")
    server.emit("ActionInvoked", "us", 2, "default")
    server.emit("ActionInvoked", "us", 77, "default")
    tray.until(lambda: len(chosen) == 2, "the buttons are heard")
    assert chosen == [("download", "tiny"), ("page", "activity")]
    server.emit("NotificationClosed", "uu", 1, 2)
    tray.until(lambda: list(tray.app.desktop._shown) == [2], "it is forgotten")


def test_showing_a_page_from_a_notice_opens_the_window_there(
    server: Peer, tmp_path: Path, start_tray: StartTray
) -> None:
    tray = start_tray(tmp_path / "home", background=True)
    tray.app.desktop.show(replace(FAILED, page="activity"))
    tray.until(lambda: bool(tray.app.desktop._shown), "it is shown")
    server.emit("ActionInvoked", "us", 1, "show")
    tray.until(lambda: tray.app._window is not None and tray.app._window.isVisible(), "the window opens")
    assert tray.app.window.current == "activity"


def test_a_later_notice_about_the_same_thing_takes_its_place(
    server: Peer, tmp_path: Path, start_tray: StartTray
) -> None:
    tray = start_tray(tmp_path / "home", background=True)
    tray.app.desktop.show(FAILED)
    tray.app.desktop.show(replace(FAILED, title="Model installed"))
    tray.until(lambda: len(server.got("Notify")) == 2, "both are shown")
    assert [(values[1], values[3]) for values in server.got("Notify")] == [
        (0, "Download failed"),
        (1, "Model installed"),
    ]


def test_a_plain_server_gets_no_buttons_and_no_escapes(address: str, tmp_path: Path, start_tray: StartTray) -> None:
    with notification_server(address, "body") as server:
        tray = start_tray(tmp_path / "home", background=True)
        tray.app.desktop.show(FAILED)
        tray.until(lambda: bool(server.got("Notify")), "it is shown")
        assert server.got("Notify")[0][4:6] == ("a <b>bold</b> reason & more", ["default", "Open Synapse"])


@pytest.mark.parametrize("with_bus", [True, False], ids=["nobody on the bus", "no bus"])
def test_without_that_service_the_icon_shows_it_and_a_later_server_is_found(
    with_bus: bool, tmp_path: Path, start_tray: StartTray, monkeypatch: pytest.MonkeyPatch
) -> None:
    with private_bus(tmp_path / "bus") as address:
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", address if with_bus else f"unix:path={tmp_path}/nowhere")
        tray = start_tray(tmp_path / "home", background=True)
        fallen: list[Notice] = []
        monkeypatch.setattr(tray.app.desktop, "_fallback", fallen.append)
        tray.app.desktop.show(FAILED)
        tray.until(lambda: fallen == [FAILED], "the icon shows it")
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", address)
        with notification_server(address, "actions") as server:
            tray.app.desktop.show(FAILED)
            tray.until(lambda: len(server.got("Notify")) == 1, "the server shows it")
        assert fallen == [FAILED]


def test_a_bus_that_ends_takes_nothing_along(
    tmp_path: Path, start_tray: StartTray, monkeypatch: pytest.MonkeyPatch
) -> None:
    with private_bus(tmp_path / "one") as address, notification_server(address) as server:
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", address)
        tray = start_tray(tmp_path / "home", background=True)
        tray.app.desktop.show(FAILED)
        tray.until(lambda: len(server.got("Notify")) == 1, "it is shown")
    with private_bus(tmp_path / "two") as address, notification_server(address) as server:
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", address)
        tray.app.desktop.show(FAILED)
        tray.until(lambda: len(server.got("Notify")) == 1, "it is shown over the new bus")
