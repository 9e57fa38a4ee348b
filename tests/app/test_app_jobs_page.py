"""The jobs page over a real service: a batch is watched to its end, another is cancelled, failures say what to do."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fixtures.fake_connection import FakeCall
from fixtures.fake_service import FakeService, short_folder
from fixtures.service_process import ServiceProcess
from fixtures.tray_app import TrayApp
from fixtures.tray_rows import job
from synapse_app import reducers
from synapse_app.pages import job_rows
from synapse_app.pages.jobs import JobsPage
from synapse_app.tray import icon_state
from synapse_client import Client
from synapse_wire import results as r

NOW_MS = 1_700_000_000_000


def _hello_with_jobs(call: FakeCall) -> r.Hello:
    operations = ["service.info", "events.subscribe"]
    return r.Hello(server_version="1", protocol=1, module_generation=1, operations=operations, extensions=["jobs.list"])


def submit(client: Client, count: int, key: str) -> str:
    items = [{"id": str(index), "text": f"{key} {index} " * 20} for index in range(count)]
    answer = client.call("embed.batch", {"model": "tiny", "items": items, "request_key": key})
    return str(answer["job"]["job_id"])


def test_a_batch_is_watched_to_its_end(tray_with_model: TrayApp, model_service: ServiceProcess) -> None:
    tray = tray_with_model
    page = tray.page(JobsPage)
    with model_service.client() as client:
        job_id = submit(client, 2000, "watched")
    tray.until(lambda: job_id in tray.state.jobs, "it appears by itself")
    page.browser.select(job_id)
    tray.until(lambda: 0 < tray.state.jobs[job_id].items_done < 2000, "its progress is told")
    assert page.browser.card.fact("Asked for by") == "test"
    assert page.browser.card.fact("Model") == "tiny"
    assert "of 2,000" in (page.browser.card.fact("Progress") or "")
    look = job_rows.look(tray.state.jobs[job_id], NOW_MS)
    assert look.progress is not None
    assert look.badge == "running"
    tray.until(lambda: page.browser.card.fact("State") == "done", "it ends", 60)
    assert page.browser.card.fact("Progress") == "2,000 of 2,000 (100\u00a0%)"
    assert not page.cancel.isVisible()


def test_a_job_is_cancelled(tray_with_model: TrayApp, model_service: ServiceProcess) -> None:
    tray = tray_with_model
    page = tray.page(JobsPage)
    with model_service.client() as client:
        job_id = submit(client, 6000, "cancelled")
    tray.until(lambda: job_id in tray.state.jobs and tray.state.jobs[job_id].state == "running", "it runs")
    page.browser.select(job_id)
    page.cancel.click()
    tray.until(lambda: page.browser.card.fact("State") == "failed", "it is cancelled")
    assert page.browser.card.note.text() == "It was cancelled. What it had committed stays readable."
    assert not page.cancel.isVisible()
    page.filter.setCurrentIndex(page.filter.findData("going_on"))
    assert page.browser.instead.isVisible()
    page.filter.setCurrentIndex(page.filter.findData("ended"))
    assert job_id in [row.job_id for row in page.browser.model.rows]


def test_a_job_that_goes_on_is_shown_however_many_came_after_it(start_tray: Callable[..., TrayApp]) -> None:
    with short_folder() as folder, FakeService(folder / "run") as fake:
        fake.on("service.hello", _hello_with_jobs)
        rows = [job(f"later-{number}", 100, "done", terminal_ms=9) for number in range(reducers.NEWEST)]
        rows += [job("ended", 100, "done", terminal_ms=9), job("long", 5)]

        def listing(call: FakeCall) -> r.JobsList:
            wanted = [row for row in rows if call.params.states is None or row.state in call.params.states]
            return r.JobsList(jobs=wanted[: call.params.limit or 100])

        fake.on("jobs.list", listing)
        tray = start_tray(folder)
        tray.until(lambda: "jobs.list" in tray.state.read, "the jobs are read")
        page = tray.page(JobsPage)
        assert [row.job_id for row in page.browser.model.rows] == [f"later-{n}" for n in range(100)] + ["long"]
        assert icon_state(tray.state) == "working"
        assert page.cut.text() == "The newest 100 jobs are shown, and all that are going on."
        assert page.cut.isVisible()
        page.filter.setCurrentIndex(page.filter.findData("going_on"))
        assert [row.job_id for row in page.browser.model.rows] == ["long"]
        assert not page.cut.isVisible()


def test_a_service_without_any_job_says_what_will_appear(tray: TrayApp) -> None:
    page = tray.page(JobsPage)
    tray.until(page.browser.instead.isVisible, "there is none")
    assert "Nothing has run yet" in page.browser.instead.text.text()


@pytest.mark.parametrize(
    ("error", "note"),
    [
        (
            {"code": "store_failure", "message": "no space left"},
            "The service could not write to its disk. Make sure that the disk isn't full.\nno space left",
        ),
        ({"code": "something_newer", "message": "Do this."}, "Do this."),
        ({}, ""),
    ],
)
def test_a_failure_says_what_to_do(error: dict[str, str], note: str) -> None:
    assert job_rows.note(job("j", 5, "failed", error=error)) == (note, True)


def test_a_download_counts_bytes_and_other_jobs_count_items() -> None:
    row = r.JobRow(
        job_id="d",
        kind="models.download",
        state="downloading",
        items_total=4_000_000,
        items_done=1_000_000,
        module_generation=1,
        created_ms=NOW_MS,
        model_id="gte",
        client="synapse",
        rate=500_000.0,
        eta_ms=6000,
    )
    assert job_rows.look(row, NOW_MS).detail == "synapse · 1.0 MB of 4.0 MB · 500.0 kB/s · 6 s left"
    assert job_rows.title(row) == "Download — gte"
    batch = job("b", 50, rate=25.0, eta_ms=2000)
    assert job_rows.look(batch, NOW_MS).detail == "50 of 100 · 25 a second · 2 s left"
    assert job_rows.look(batch, NOW_MS).progress == 0.5
