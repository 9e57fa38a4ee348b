"""`synapse models catalog|download|cancel|remove|pin|gc|usage` against the fake service."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner, Result

from fixtures.fake_catalog import JOB, MODEL, FakeCatalog
from fixtures.fake_service import FakeService
from synapse_cli import figures
from synapse_cli.main import app
from synapse_wire import results as r
from synapse_wire.errors import SynapseError

Run = Callable[..., Result]


@pytest.fixture
def catalog(fake: FakeService) -> FakeCatalog:
    return FakeCatalog(fake)


@pytest.fixture
def run(home: Path) -> Run:
    """Runs `synapse` with arguments, for the service of the test's home."""

    def invoke(*arguments: str) -> Result:
        result = CliRunner().invoke(app, list(arguments), env={"SYNAPSE_HOME": str(home)})
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return invoke


def sent(fake: FakeService, method: str) -> list[dict[str, Any]]:
    return [params for name, params in fake.received if name == method]


@pytest.mark.parametrize(
    "arguments",
    [
        ["catalog"],
        ["download", MODEL],
        ["cancel", JOB],
        ["remove", MODEL],
        ["pin", MODEL],
        ["gc"],
        ["usage"],
    ],
)
def test_without_a_service_every_command_exits_with_3(run: Run, arguments: list[str]) -> None:
    result = run("models", *arguments)
    assert (result.exit_code, result.stdout) == (3, "")


def test_the_catalog_is_a_table_with_what_runs_here(catalog: FakeCatalog, run: Run) -> None:
    result = run("models", "catalog")
    assert [line.split() for line in result.stdout.splitlines()] == [
        ["model", "task", "size", "runs", "on", "state"],
        [MODEL, "embed", "2.5", "MB", "cpu", "not", "installed"],
    ]


def test_filters_are_sent_only_when_they_are_given(fake: FakeService, catalog: FakeCatalog, run: Run) -> None:
    run("models", "catalog", "tiny", "--task", "embed", "--here", "--installed")
    run("models", "catalog", "--json")
    assert sent(fake, "models.catalog") == [
        {"query": "tiny", "task": "embed", "runnable_here": True, "installed": True},
        {},
    ]


def test_a_catalog_without_anything_to_run_says_whom_to_ask(catalog: FakeCatalog, run: Run) -> None:
    result = run("models", "catalog", "nothing")
    assert "`synapse doctor`" in result.stdout


def test_a_download_shows_how_far_it_is_and_ends_well(catalog: FakeCatalog, run: Run) -> None:
    result = run("models", "download", MODEL)
    assert (result.exit_code, result.stdout) == (0, f"{MODEL} is installed.\n")
    shown = result.stderr.splitlines()
    assert shown[0] == f"Downloading {MODEL}: 0% (0 bytes of 2.5 MB)"
    assert shown[-1].startswith(f"Downloading {MODEL}: 100% (2.5 MB of 2.5 MB")


def test_a_download_as_json_prints_only_the_last_status(catalog: FakeCatalog, run: Run) -> None:
    result = run("models", "download", MODEL, "--json")
    assert json.loads(result.stdout) == {"job_id": JOB, "kind": "models.download", "state": "committed"}
    assert result.stderr == ""


def test_a_download_that_nobody_waits_for_names_its_job(fake: FakeService, catalog: FakeCatalog, run: Run) -> None:
    result = run("models", "download", MODEL, "--no-wait")
    assert result.stdout == f"Download {JOB} is queued. `synapse jobs wait {JOB}` waits for it.\n"
    assert sent(fake, "model.status") == []


def test_a_failed_download_says_what_to_do(catalog: FakeCatalog, run: Run) -> None:
    details = {"file": "model.safetensors", "reason": "network", "http_status": None}
    catalog.fail(SynapseError("download_failed", "the connection broke", details=details))
    result = run("models", "download", MODEL)
    assert result.exit_code == 1
    assert f"Could not download {MODEL}: the connection broke" in result.stderr
    assert "  file: model.safetensors\n" in result.stderr
    assert "`synapse models usage`" in result.stderr


def test_an_unknown_model_is_refused_with_its_code(catalog: FakeCatalog, run: Run) -> None:
    result = run("models", "download", "other", "--json")
    assert (result.exit_code, json.loads(result.stderr)["code"]) == (1, "unknown_model")


@pytest.mark.parametrize("wanted", [JOB, MODEL])
def test_a_download_is_cancelled_by_its_id_or_its_model(
    fake: FakeService, catalog: FakeCatalog, run: Run, wanted: str
) -> None:
    result = run("models", "cancel", wanted)
    assert result.stdout == f"Download {JOB} is cancelled, and its files are gone.\n"
    assert sent(fake, "models.download.cancel") == [{"job_id": JOB}]


def test_a_download_that_had_ended_is_left_as_it_is(catalog: FakeCatalog, run: Run) -> None:
    del catalog.looks[:-1]
    assert run("models", "cancel", JOB).stdout == f"Download {JOB} had ended before; it is committed.\n"


def test_a_removal_says_what_it_gave_back(catalog: FakeCatalog, run: Run) -> None:
    assert run("models", "remove", MODEL).stdout == f"{MODEL} is removed; 2.5 MB are free again.\n"
    assert json.loads(run("models", "remove", MODEL, "--json").stdout)["freed_bytes"] == 2_500_000


def test_a_removal_of_what_was_not_installed_says_so(fake: FakeService, catalog: FakeCatalog, run: Run) -> None:
    fake.on("models.remove", lambda call: r.ModelRemoved(catalog_id=MODEL, removed_manifests=[], freed_bytes=0))
    assert run("models", "remove", MODEL).stdout == f"{MODEL} was not installed.\n"


@pytest.mark.parametrize(("model", "member"), [(MODEL, "catalog_id"), ("mini", "model_id")])
def test_a_pin_goes_to_the_model_of_the_catalog_or_the_registered_one(
    fake: FakeService, catalog: FakeCatalog, run: Run, model: str, member: str
) -> None:
    assert run("models", "pin", model).stdout == f"The files of {model} are kept for user.\n"
    assert run("models", "pin", model, "--off", "--owner", "me").stdout == f"Nobody keeps the files of {model}.\n"
    assert sent(fake, "cache.pin") == [
        {member: model, "pinned": True},
        {member: model, "pinned": False, "owner": "me"},
    ]


def test_a_collection_says_what_went_and_what_is_needed(fake: FakeService, catalog: FakeCatalog, run: Run) -> None:
    assert run("models", "gc").stdout == "2 files removed, which gives back 1.2 GB. 1 are needed.\n"
    assert run("models", "gc", "--dry-run").stdout == "2 files would go, and give back 1.2 GB. 1 are needed.\n"
    assert sent(fake, "cache.gc") == [{"dry_run": False}, {"dry_run": True}]


def test_usage_is_a_report_with_a_row_for_each_model(catalog: FakeCatalog, run: Run) -> None:
    assert run("models", "usage").stdout.splitlines() == [
        "Models in /models",
        "  used               2.5 MB",
        "  needed by nobody   900 bytes; `synapse models gc` removes it",
        "  arriving           0 bytes",
        "  free on this disk  75 GB",
        "model       used    shared   reclaimable  pinned",
        "tiny-embed  2.5 MB  0 bytes  2.5 MB       no",
        "mini        1 kB    0 bytes  0 bytes      yes",
    ]
    assert json.loads(run("models", "usage", "--json").stdout)["limit_bytes"] == 32 * 1024**3


def test_usage_over_the_limit_advises_to_remove_something(catalog: FakeCatalog, run: Run) -> None:
    catalog.usage = msgspec.structs.replace(catalog.usage, limit_bytes=1_000_000)
    assert run("models", "usage").stdout.splitlines()[-1] == (
        "That is more than the 1 MB of the setting cache_max_bytes; remove a model."
    )


# --- downloads among the jobs ---


def test_a_download_is_shown_among_the_jobs_with_bytes_and_rate(catalog: FakeCatalog, run: Run) -> None:
    listing = run("jobs", "list").stdout
    assert "1.25 MB of 2.5 MB, 250 kB/s, 5 s left" in listing
    shown = run("jobs", "status", JOB)
    assert shown.stdout.splitlines() == [
        f"Download {JOB} of {MODEL} is queued",
        "  fetched  1.25 MB of 2.5 MB, 250 kB/s, 5 s left",
    ]


def test_waiting_for_a_job_that_is_a_download_waits_for_its_commit(catalog: FakeCatalog, run: Run) -> None:
    result = run("jobs", "wait", JOB)
    assert result.exit_code == 0
    assert result.stdout.splitlines()[0] == f"Download {JOB} of {MODEL} is committed"


def test_cancelling_a_job_that_is_a_download_cancels_it(fake: FakeService, catalog: FakeCatalog, run: Run) -> None:
    assert run("jobs", "cancel", JOB).stdout == f"Download {JOB} is cancelled, and its files are gone.\n"
    assert sent(fake, "models.download.cancel") == [{"job_id": JOB}]


def test_a_failed_download_exits_with_1_and_says_why(catalog: FakeCatalog, run: Run) -> None:
    details = {"file": "m", "reason": "network", "http_status": None}
    error = SynapseError("download_failed", "the connection broke", details=details)
    catalog.fail(error)
    catalog.looks.pop(0)
    catalog.job_row = msgspec.structs.replace(
        catalog.job_row, state="failed", rate=msgspec.UNSET, eta_ms=msgspec.UNSET, error=catalog.looks[0].error
    )
    result = run("jobs", "status", JOB)
    assert result.exit_code == 1
    assert "  error    download_failed: the connection broke\n" in result.stdout


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1 kB"),
        (298_041_568, "298 MB"),
        (1_191_586_416, "1.19 GB"),
        (2e13, "20 TB"),
    ],
)
def test_bytes_read_in_the_unit_that_fits(number: float, text: str) -> None:
    assert figures.size(number) == text
