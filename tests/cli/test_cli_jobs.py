"""`synapse jobs` and the jobs in `synapse status`, against the fake service."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner, Result

from fixtures.fake_service import FakeService, status
from synapse_cli.main import app
from synapse_client.results import LIVE
from synapse_wire import params as p
from synapse_wire import results as r
from synapse_wire.errors import SynapseError

Run = Callable[..., Result]


@pytest.fixture
def run(home: Path) -> Run:
    """Runs `synapse` with arguments, for the service of the test's home."""

    def invoke(*arguments: str) -> Result:
        result = CliRunner().invoke(app, list(arguments), env={"SYNAPSE_HOME": str(home)})
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return invoke


def submit(fake: FakeService, count: int = 25, key: str = "k") -> str:
    """A durable job of some texts, of which nothing is done yet; returns its id."""
    items = [p.EmbedItem(id=str(index), text="x" * index) for index in range(count)]
    return fake.durable.submit(p.EmbedBatch(model="mini", items=items, request_key=key)).job.job_id


def row(**more: Any) -> r.JobRow:
    facts = {"job_id": "j1", "kind": "embed.batch", "state": "running", "items_total": 3000, "items_done": 1200}
    return r.JobRow(**{**facts, "module_generation": 1, "created_ms": 1_700_000_000_000, **more})


def listing(fake: FakeService, *rows: r.JobRow) -> None:
    fake.on("jobs.list", lambda _: r.JobsList(jobs=list(rows)))


def when(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000).isoformat(sep=" ", timespec="seconds")


FAILED = {
    "code": "engine_crashed",
    "class": "transient",
    "safe_to_retry_same_request": True,
    "message": "the worker ended",
    "retry_after_ms": 250,
}
ADVICE = "If it happens again, `synapse logs` tells what the worker said. Try again in 250 ms."


# --- list ---


def test_jobs_are_listed_newest_first_with_their_pace_and_what_to_do_about_errors(fake: FakeService, run: Run) -> None:
    listing(
        fake,
        row(model_id="mini", client="app", rate=512.04, eta_ms=3515),
        row(job_id="j0", kind="probe", state="failed", items_total=2, items_done=1, error=FAILED),
        row(job_id="i", kind="probe", state="failed", items_total=2, items_done=1, error=FAILED),
    )
    result = run("jobs")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "job  kind         model  asked by  state    items                            error",
        "j1   embed.batch  mini   app       running  1,200 of 3,000, 512/s, 3 s left  -",
        "j0   probe        -      -         failed   1 of 2                           engine_crashed",
        "i    probe        -      -         failed   1 of 2                           engine_crashed",
        f"engine_crashed: {ADVICE}",
    ]
    assert run("jobs", "list").stdout == result.stdout


def test_a_list_can_be_of_some_states_and_of_some_length(fake: FakeService, run: Run) -> None:
    fake.durable.working = False
    first, second = submit(fake, key="a"), submit(fake, key="b")
    fake.durable.cancel(first)
    said = run("jobs", "list", "--state", "queued", "--state", "running", "--limit", "7", "--json")
    assert [job["job_id"] for job in json.loads(said.stdout)["jobs"]] == [second]
    assert fake.received[-1] == ("jobs.list", {"states": ["queued", "running"], "limit": 7})
    assert len(json.loads(run("jobs", "--json").stdout)["jobs"]) == 2
    assert fake.received[-1] == ("jobs.list", {"limit": 20})
    assert run("jobs", "list", "--state", "asleep").exit_code == 2


def test_a_job_that_goes_on_is_listed_however_many_came_after_it(fake: FakeService, run: Run) -> None:
    fake.durable.working = False
    going_on, ended = submit(fake, key="long"), submit(fake, key="ended")
    fake.durable.cancel(ended)
    later = [submit(fake, key=f"later {number}") for number in range(20)]
    for job_id in later:
        fake.durable.cancel(job_id)
    result = run("jobs")
    assert [line.split()[0] for line in result.stdout.splitlines()[1:22]] == [*reversed(later), going_on]
    note = "The newest 20 are shown, and all that go on; `synapse jobs list --limit N` shows more.\n"
    assert result.stderr == note
    assert ended in run("jobs", "list", "--limit", "30").stdout
    some = run("jobs", "list", "--state", "failed", "-n", "2")
    assert some.stderr == "The newest 2 are shown; `synapse jobs list --limit N` shows more.\n"
    assert [line.split()[0] for line in some.stdout.splitlines()[1:3]] == [later[-1], later[-2]]


def test_an_empty_list_says_so(fake: FakeService, run: Run) -> None:
    assert run("jobs").stdout == "There are no jobs.\n"
    assert run("jobs", "list", "--state", "done").stdout == "There are no such jobs.\n"


# --- status ---


def test_a_job_is_shown_with_all_that_is_known(fake: FakeService, run: Run) -> None:
    fake.job("j1", status("j1", "running", 1200, 3000, kind="embed.batch", pages_available=4))
    listing(fake, row(job_id="other"), row(model_id="mini", client="app", rate=512.04, eta_ms=3515))
    assert run("jobs", "status", "j1").stdout.splitlines() == [
        "Job j1 (embed.batch) is running",
        "  items     1,200 of 3,000, 512/s, 3 s left",
        "  model     mini",
        "  asked by  app",
        f"  since     {when(1_700_000_000_000)}",
        "  pages     4 can be read",
    ]
    said = json.loads(run("jobs", "status", "j1", "--json").stdout)
    assert (said["items_done"], said["rate"], said["eta_ms"], said["pages_available"]) == (1200, 512.04, 3515, 4)


def test_a_failed_job_says_what_to_do_and_exits_with_1(fake: FakeService, run: Run) -> None:
    fake.job("j1", status("j1", "failed", 1, 4, error=FAILED))
    listing(fake, row(terminal_ms=1_700_000_060_000, expires_ms=1_700_086_460_000, items_done=1, items_total=4))
    result = run("jobs", "status", "j1")
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        "Job j1 (model.load) is failed",
        "  items       1 of 4",
        f"  since       {when(1_700_000_000_000)}",
        f"  ended       {when(1_700_000_060_000)}",
        f"  kept until  {when(1_700_086_460_000)}",
        "  error       engine_crashed: the worker ended",
        f"  next        {ADVICE}",
    ]
    assert run("jobs", "status", "j1", "--json").exit_code == 1


def test_a_paused_job_says_what_it_waits_for(fake: FakeService, run: Run) -> None:
    paused = status(
        "j1", "paused_needs_reauth", 1, 4, logical_handle="work-account", resume_deadline_ms=1_700_000_000_000
    )
    fake.job("j1", paused)
    lines = run("jobs", "status", "j1").stdout.splitlines()
    assert "  waits for      the credential work-account" in lines
    assert f"  at most until  {when(1_700_000_000_000)}" in lines


def test_an_unknown_job_is_a_typed_error(fake: FakeService, run: Run) -> None:
    result = run("jobs", "status", "nobody")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "  code: invalid_request" in result.stderr.splitlines()


# --- wait ---


def test_waiting_ends_with_the_job(fake: FakeService, run: Run) -> None:
    job_id = submit(fake)
    result = run("jobs", "wait", job_id)
    assert result.exit_code == 0
    assert result.stdout.splitlines()[:2] == [f"Job {job_id} (embed.batch) is done", "  items  25 of 25"]
    assert result.stderr.splitlines()[-1] == f"Job {job_id}: 100% (25 of 25 items)"
    assert json.loads(run("jobs", "wait", job_id, "--json").stdout)["state"] == "done"


def test_waiting_for_a_job_that_fails_shows_its_error(fake: FakeService, run: Run) -> None:
    fake.job("j1", status("j1", "running", 0, 4), status("j1", "failed", 1, 4, error=FAILED))
    result = run("jobs", "wait", "j1")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.splitlines()[-4:] == [
        "Could not finish job j1: the worker ended",
        "  code: engine_crashed",
        "  reported by job j1 (model.load), which ended as failed",
        f"  next: {ADVICE}",
    ]


def test_waiting_can_be_bounded(fake: FakeService, run: Run) -> None:
    fake.job("j1", status("j1", "running", 0, 4))
    result = run("jobs", "wait", "j1", "--timeout", "0")
    assert result.exit_code == 1
    assert "  code: job_unfinished" in result.stderr.splitlines()
    assert "jobs.cancel" not in fake.methods()


# --- cancel ---


def test_cancelling_says_what_can_still_be_read(fake: FakeService, run: Run) -> None:
    job_id = submit(fake)
    fake.durable.status(job_id)
    fake.durable.working = False
    result = run("jobs", "cancel", job_id)
    assert (result.exit_code, result.stdout.splitlines()) == (
        0,
        [
            f"Job {job_id} is cancelled.",
            "Its 10 finished items stay readable; the same request key takes it up again.",
        ],
    )
    assert json.loads(run("jobs", "cancel", job_id, "--json").stdout)["error"]["code"] == "request_cancelled"


def test_cancelling_what_has_ended_says_that(fake: FakeService, run: Run) -> None:
    job_id = submit(fake, count=5)
    fake.durable.status(job_id)
    assert run("jobs", "cancel", job_id).stdout == f"Job {job_id} had ended before; it is done.\n"
    failed = submit(fake, key="other")
    fake.durable.fail(SynapseError("store_failure", "full"))
    assert run("jobs", "cancel", failed).stdout == f"Job {failed} had ended before; it is failed.\n"


# --- synapse status ---


def test_status_shows_the_jobs_that_havent_ended(fake: FakeService, run: Run) -> None:
    fake.durable.working = False
    ended, live = submit(fake, key="a"), submit(fake, key="b")
    fake.durable.cancel(ended)
    assert run("status").stdout.splitlines()[-1] == f"  job          {live}: embed.batch of mini, queued, 0 of 25"
    assert fake.received[-1] == ("jobs.list", {"states": list(LIVE), "limit": 1000})
    assert [job["job_id"] for job in json.loads(run("status", "--json").stdout)["jobs"]] == [live]


def test_an_error_that_this_version_cant_read_is_shown_as_it_came(fake: FakeService, run: Run) -> None:
    fake.job("j1", msgspec.structs.replace(status("j1", "failed", 1, 4), error={"strange": 1}))
    result = run("jobs", "status", "j1")
    assert (result.exit_code, "  error  {'strange': 1}" in result.stdout.splitlines()) == (1, True)
