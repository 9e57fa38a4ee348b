"""`synapse jobs`: what the service is working on and what became of it; wait for it, or cancel it."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Final

import typer

from synapse_cli.options import Home, Json

if TYPE_CHECKING:
    from synapse_cli.output import Output
    from synapse_client import Client
    from synapse_wire.results import JobRow

DOWNLOAD: Final = "models.download"
"""The kind of job that has a status and operations of its own."""

NEWEST: Final = 1000
"""Jobs that the service lists at a time, at most."""

JobId = Annotated[str, typer.Argument(metavar="JOB_ID", help="The id of a job, as `synapse jobs` shows it.")]


class State(StrEnum):
    """Those of jobs, and then those that only downloads have."""

    queued = "queued"
    running = "running"
    paused_needs_reauth = "paused_needs_reauth"
    done = "done"
    failed = "failed"
    needs_reauth_expired = "needs_reauth_expired"
    downloading = "downloading"
    verifying = "verifying"
    committed = "committed"
    cancelled = "cancelled"


def register(app: typer.Typer) -> None:
    jobs = typer.Typer(help="List jobs, look at one, wait for it, cancel it.", invoke_without_command=True)
    jobs.callback()(default)
    jobs.command("list")(list_jobs)
    jobs.command()(status)
    jobs.command()(wait)
    jobs.command()(cancel)
    app.add_typer(jobs, name="jobs")


def default(context: typer.Context, home: Home = None, as_json: Json = False) -> None:
    """List jobs, look at one, wait for it, cancel it. Without a subcommand: list."""
    if context.invoked_subcommand is None:
        list_jobs(None, 20, home, as_json)


def list_jobs(
    state: Annotated[list[State] | None, typer.Option(help="Only jobs in this state; may be given again.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=NEWEST, help="How many of the newest.")] = 20,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """List the newest jobs, whoever started them, and all that go on.

    A job that has ended is kept as long as its results.
    """
    from synapse_cli.output import Output
    from synapse_cli.reporting import open_client, reporting
    from synapse_wire.results import JobsList

    output = Output(as_json)
    with reporting(output, "list the jobs"), open_client(home) as client:
        listing = client.jobs_list(None if not state else [each.value for each in state], limit=limit)
        cut = len(listing.jobs) == limit
        if cut and not state:
            listing = JobsList(jobs=_with_live(listing.jobs, client))
    if as_json:
        output.json(listing)
    elif listing.jobs:
        _table(output, listing.jobs)
        if cut:
            shown = f"The newest {limit} are shown" + ("" if state else ", and all that go on")
            output.note(f"{shown}; `synapse jobs list --limit N` shows more.")
    else:
        output.line("There are no such jobs." if state else "There are no jobs.")


def status(job_id: JobId, home: Home = None, as_json: Json = False) -> None:
    """Show one job. Exits with 1 when it ended without its result."""
    from synapse_cli import downloads
    from synapse_cli.jobs import show
    from synapse_cli.output import Output
    from synapse_cli.reporting import open_client, reporting

    output = Output(as_json)
    with reporting(output, "look at the job"), open_client(home) as client:
        row = _row(client, job_id)
        if row is not None and row.kind == DOWNLOAD:
            downloads.show(output, client.download_status(job_id), row)
        else:
            show(output, client.job_status(job_id), row)


def wait(
    job_id: JobId,
    timeout: Annotated[float | None, typer.Option("--timeout", min=0, help="Seconds to wait at most.")] = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Wait until a job has ended. Exits with 1 when it fails, or isn't done in time. Ctrl-C leaves it running."""
    from synapse_cli import downloads
    from synapse_cli.jobs import show
    from synapse_cli.jobs import wait as wait_for
    from synapse_cli.output import Output
    from synapse_cli.reporting import open_client, reporting

    output = Output(as_json)
    with reporting(output, f"finish job {job_id}"), open_client(home) as client:
        row = _row(client, job_id)
        if row is not None and row.kind == DOWNLOAD:
            ended = downloads.wait(client, output, job_id, f"Downloading {row.model_id}", timeout_s=timeout)
            downloads.show(output, ended, _row(client, job_id))
            return
        final = wait_for(client, output, job_id, f"Job {job_id}", unit="items", timeout_s=timeout)
        show(output, final, _row(client, job_id))


def cancel(job_id: JobId, home: Home = None, as_json: Json = False) -> None:
    """End a job. What it has committed stays readable, and the same work under its request key takes it up again."""
    from synapse_cli import downloads
    from synapse_cli.jobs import error_of
    from synapse_cli.output import Output
    from synapse_cli.reporting import open_client, reporting

    output = Output(as_json)
    with reporting(output, f"cancel job {job_id}"), open_client(home) as client:
        row = _row(client, job_id)
        if row is not None and row.kind == DOWNLOAD:
            downloads.show_cancelled(output, client.models_download_cancel(job_id))
            return
        ended = client.jobs_cancel(job_id)
    if as_json:
        output.json(ended)
        return
    error = error_of(ended)
    if error is None or error.code != "request_cancelled":
        output.line(f"Job {job_id} had ended before; it is {ended.state}.")
        return
    output.line(f"Job {job_id} is cancelled.")
    if isinstance(ended.pages_available, int) and ended.pages_available:
        output.line(f"Its {ended.items_done} finished items stay readable; the same request key takes it up again.")


def _row(client: Client, job_id: str) -> JobRow | None:
    """The job in the list, if it is among the newest or goes on."""
    rows = client.jobs_list(limit=NEWEST).jobs
    if len(rows) == NEWEST:
        rows = _with_live(rows, client)
    return next((row for row in rows if row.job_id == job_id), None)


def _with_live(newest: list[JobRow], client: Client) -> list[JobRow]:
    """``newest``, and then the older jobs that go on."""
    from synapse_client.results import LIVE

    listed = {row.job_id for row in newest}
    return [*newest, *(row for row in client.jobs_list(LIVE, limit=NEWEST).jobs if row.job_id not in listed)]


def _table(output: Output, rows: list[JobRow]) -> None:
    from synapse_cli.advice import next_step
    from synapse_cli.jobs import error_of, progress_of

    errors = {row.job_id: error_of(row) for row in rows}
    output.table(
        ["job", "kind", "model", "asked by", "state", "items", "error"],
        [
            [
                row.job_id,
                row.kind,
                row.model_id if isinstance(row.model_id, str) else "-",
                row.client if isinstance(row.client, str) else "-",
                row.state,
                progress_of(row),
                error.code if (error := errors[row.job_id]) is not None else "-",
            ]
            for row in rows
        ],
    )
    seen: set[str] = set()
    for error in errors.values():
        if error is not None and error.code not in seen:
            seen.add(error.code)
            output.line(f"{error.code}: {next_step(error)}")
