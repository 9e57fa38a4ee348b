"""The activity page: the service's log as it grows, filtered, counted, and copied without secrets."""

from __future__ import annotations

import json

import pytest
from PySide6.QtGui import QGuiApplication

from fixtures.model_files import tiny_model
from fixtures.service_process import ServiceProcess, load_and_probe
from fixtures.tray_app import TrayApp
from synapse_app.pages.activity import ActivityPage, filtered, look, spoken
from synapse_wire.results import LogEntry


def entry(seq: int, level: str, event: str, **fields: object) -> LogEntry:
    return LogEntry(seq=seq, time_ms=1_700_000_000_000, level=level, event=event, fields=fields)


ENTRIES = [
    entry(1, "debug", "looked"),
    entry(2, "info", "lane_loaded", lane_id="tiny"),
    entry(3, "warning", "lane_stuck", lane_id="Small"),
    entry(4, "error", "task_failed"),
]


@pytest.mark.parametrize(
    ("level", "text", "expected"),
    [("debug", "", [1, 2, 3, 4]), ("warning", "", [3, 4]), ("info", "lane", [2, 3]), ("debug", " SMALL ", [3])],
)
def test_entries_are_filtered_by_level_and_by_text_in_any_case(level: str, text: str, expected: list[int]) -> None:
    assert [entry.seq for entry in filtered(ENTRIES, level, text)] == expected


def test_a_row_says_the_level_aloud_and_paints_it_only_where_it_matters() -> None:
    assert spoken(ENTRIES[2]) == "warning lane_stuck lane_id=Small"
    assert [look(entry).badge for entry in ENTRIES] == ["", "", "warning", "error"]


def test_new_entries_of_the_service_appear(tray: TrayApp, service: ServiceProcess) -> None:
    page = tray.page(ActivityPage)
    before = len(page.model.rows)
    assert before > 0
    with service.client() as client:
        load_and_probe(client, "tiny", tiny_model("bert"))
    tray.until(lambda: "lane_probed" in [entry.event for entry in page.model.rows], "the new entries are shown")
    assert len(page.model.rows) > before
    seqs = [entry.seq for entry in page.model.rows]
    assert seqs == sorted(set(seqs))
    assert f"{len(seqs)} entries" in page.note.text().replace(",", "")


def test_diagnostics_are_copied_as_a_document(tray: TrayApp) -> None:
    page = tray.page(ActivityPage)
    page.copy.click()
    tray.until(lambda: page.note.text() == "Diagnostics copied.", "the report is made")
    report = json.loads(QGuiApplication.clipboard().text())
    assert {check["check"] for check in report["checks"]} >= {"socket", "settings", "disk"}
    assert report["version"] == tray.state.version
    assert report["log"][-1] == spoken(tray.state.log.entries[-1])
