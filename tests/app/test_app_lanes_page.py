"""The lanes page over a real service with a real worker: loading, keeping, pausing, and what it says of each lane."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QPushButton

from fixtures.service_process import ServiceProcess
from fixtures.tray_app import TrayApp
from fixtures.tray_rows import lane_row
from synapse_app import reducers
from synapse_app.pages import lane_rows
from synapse_app.pages.lanes import LanesPage
from synapse_app.state import LinkState
from synapse_client import SynapseError
from synapse_wire import results as r

LANE = "tiny"
NOW_MS = 1_700_000_000_000


@pytest.fixture
def page(tray_with_model: TrayApp) -> LanesPage:
    page = tray_with_model.page(LanesPage)
    tray_with_model.until(lambda: page.browser.row is not None, "the lane is listed")
    return page


def state_of(tray: TrayApp) -> str:
    return tray.state.work[LANE].state


def test_a_lane_is_loaded_and_unloaded_and_its_memory_is_shown(page: LanesPage, tray_with_model: TrayApp) -> None:
    tray = tray_with_model
    assert (page.load.isEnabled(), page.unload.isEnabled()) == (True, False)
    assert page.browser.card.fact("Memory") == "none"
    page.load.click()
    tray.until(lambda: state_of(tray) == "ready" and page.unload.isEnabled(), "the lane is loaded")
    assert tray.state.work[LANE].rss_bytes
    assert page.browser.card.fact("Memory") != "none"
    page.unload.click()
    tray.until(lambda: state_of(tray) == "unloaded" and page.load.isEnabled(), "the lane is unloaded")
    assert page.browser.card.fact("Memory") == "none"


def test_a_lane_shows_who_uses_it_how_fast_it_answers_and_stays_when_it_is_kept(
    page: LanesPage, tray_with_model: TrayApp, model_service: ServiceProcess
) -> None:
    tray = tray_with_model
    with model_service.client() as client:
        client.embed_query(LANE, "a text")
    tray.until(lambda: page.browser.card.fact("Used by") == "test", "the user is named")
    answered = "answered: 1 · refused: 0 · being computed: 0 · waiting: 0"
    tray.until(lambda: page.browser.card.fact("Requests") == answered, "the request is counted")
    assert page.browser.card.fact("Answer time")
    assert "min" in (page.browser.card.fact("Stays loaded") or "")
    page.keep.click()
    tray.until(lambda: page.browser.card.fact("Stays loaded") == "always", "it is kept")
    assert page.keep.isChecked()


def test_all_lanes_are_paused_with_a_reason_and_a_length_and_resumed(
    page: LanesPage, tray_with_model: TrayApp, model_service: ServiceProcess
) -> None:
    tray = tray_with_model
    page.pause.reason.setText("the render needs the memory")
    page.pause.duration.setCurrentIndex(1)
    page.pause.pause.click()
    tray.until(lambda: page.pause.resume.isVisible(), "the pause is shown")
    assert "the render needs the memory" in page.pause.text.text()
    assert any(left in page.pause.text.text() for left in ("45 min 0 s left", "44 min 59 s left", "44 min 58 s left"))
    assert not page.load.isEnabled()
    with model_service.client() as client, pytest.raises(SynapseError) as refused:
        client.embed_query(LANE, "a text")
    assert refused.value.code == "lane_paused"
    tray.until(lambda: tray.state.lanes[LANE].state == "paused", "the lane shows it, too")
    page.pause.resume.click()
    tray.until(lambda: page.pause.pause.isVisible() and page.load.isEnabled(), "they are resumed")
    with model_service.client() as client:
        assert client.embed_query(LANE, "a text").dims


def test_a_refusal_is_shown_and_goes_with_the_next_success(page: LanesPage, tray_with_model: TrayApp) -> None:
    tray = tray_with_model
    tray.run(tray.app.commands.pause_lanes(15, "first"))
    page.pause.pause.setEnabled(True)
    page._pause()
    tray.until(lambda: bool(page._problem.text()), "a second pause is refused")
    page.pause.resume.click()
    tray.until(lambda: not page._problem.text() and page.pause.pause.isVisible(), "resumed, nothing is wrong any more")


def test_a_service_that_is_killed_leaves_the_rows_and_nothing_to_press(
    page: LanesPage, tray_with_model: TrayApp, model_service: ServiceProcess
) -> None:
    tray = tray_with_model
    model_service.kill()
    tray.until(lambda: tray.state.link is LinkState.DOWN, "the end is noticed")
    assert page.browser.row is not None
    assert [button.isEnabled() for button in (page.load, page.unload, page.pause.pause)] == [False] * 3
    page._load()
    tray.until(lambda: "not running" in page._problem.text(), "asking anyway says why not")
    model_service.start()
    tray.connected()
    tray.until(page.load.isEnabled, "it can be loaded again")


def test_without_any_model_the_page_says_what_to_do(tray: TrayApp) -> None:
    page = tray.page(LanesPage)
    tray.until(lambda: page.browser.instead.button.isVisible(), "the way to the models is offered")
    assert "No model is installed" in page.browser.instead.text.text()
    page.pause.pause.setFocus(Qt.FocusReason.TabFocusReason)


def test_without_a_service_the_page_says_so(tmp_path: Path, start_tray: Any) -> None:
    tray = start_tray(tmp_path / "home")
    tray.until(lambda: tray.state.link is LinkState.DOWN, "nobody is there")
    page = tray.page(LanesPage)
    assert "no connection to the service" in page.browser.instead.text.text()
    for link, text in (
        (LinkState.STARTING, "The service is starting…"),
        (LinkState.DOWN, "The service is not running"),
    ):
        tray.app.store.apply(partial(reducers.moved, link=link))
        tray.app.store.announce()
        assert page.browser.instead.text.text() == f"There is no connection to the service: {text}."


def test_the_fingerprint_is_copied_whole(page: LanesPage, tray_with_model: TrayApp) -> None:
    button = page.browser.card.copy_button("Fingerprint")
    assert isinstance(button, QPushButton)
    button.click()
    assert QGuiApplication.clipboard().text() == tray_with_model.state.work[LANE].fingerprint
    assert (button.text(), button.accessibleName()) == ("Copied", "Copy: Fingerprint")


def test_the_page_is_worked_by_keys(page: LanesPage, tray_with_model: TrayApp, qtbot: Any) -> None:
    page.browser.view.setFocus()
    qtbot.keyClick(page.browser.view, Qt.Key.Key_Return)
    tray_with_model.until(lambda: state_of(tray_with_model) == "ready", "Enter loads it")
    reached = []
    widget = page.pause.reason
    while widget not in reached:
        reached.append(widget)
        widget = widget.nextInFocusChain()
    for control in (page.pause.duration, page.pause.pause, page.browser.view, page.unload, page.keep):
        assert control in reached
        assert control.focusPolicy() & Qt.FocusPolicy.TabFocus


@pytest.mark.parametrize(
    ("row", "note", "bad"),
    [
        (lane_row("l", "ready"), "", False),
        (
            lane_row("l", "quarantined", quarantine_reason="engine_crashed", quarantine_until_ms=NOW_MS + 75_000),
            "This lane failed twice in a row (engine_crashed) and takes no requests. It is tried again in 1 min 15 s.",
            True,
        ),
        (
            lane_row("l", "quarantined", quarantine_reason="device_removed"),
            "This lane failed twice in a row (device_removed) and takes no requests. Probe it to release it.",
            True,
        ),
        (
            lane_row("l", pause=r.Pause(phase="paused", reason="travel")),
            "paused until it is resumed (travel)",
            False,
        ),
        (
            lane_row("l", pause=r.Pause(phase="drain_failed", reason="travel", paused_until_ms=NOW_MS)),
            "The pause waits: something doesn't end (travel)",
            False,
        ),
    ],
)
def test_what_keeps_a_lane_from_working_is_said_first(row: r.LaneRow, note: str, bad: bool) -> None:
    assert lane_rows.note(row, NOW_MS) == (note, bad)


def test_a_countdown_goes_on_without_any_news(tmp_path: Path, start_tray: Any) -> None:
    page = start_tray(tmp_path / "home").page(LanesPage)
    row = lane_row("l", "quarantined", quarantine_reason="engine_crashed", quarantine_until_ms=NOW_MS + 60_000)
    page.now_ms = lambda: NOW_MS
    page.browser.show_rows([row])
    assert "in 1 min 0 s" in page.browser.card.note.text()
    page.now_ms = lambda: NOW_MS + 15_000
    page.tick()
    assert "in 45 s" in page.browser.card.note.text()


@pytest.mark.parametrize("name", ["long" * 500, "مرحبا بالعالم", "a & b {x} <b>🦜</b>\u202e"])
def test_names_of_any_kind_are_shown_as_they_are_and_widen_nothing(tmp_path: Path, start_tray: Any, name: str) -> None:
    tray = start_tray(tmp_path / "home")
    page = tray.page(LanesPage)
    width = page.width()
    page.browser.show_rows([lane_row(name, "ready", users=[name], pins=[name])])
    tray.turn()
    assert lane_rows.look(lane_row(name), NOW_MS).title == name
    assert page.browser.card.title.whole == name
    assert page.browser.card.fact("Used by") == name
    assert page.width() == width
    assert page.browser.minimumSizeHint().width() < width
