"""Jobs for people: waiting for one with something to look at, and what is said about each.

Used by every command that starts, watches or lists jobs.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec
import typer

from synapse_cli import exits, figures
from synapse_cli.advice import next_step
from synapse_cli.output import Output
from synapse_client import Client, SynapseError
from synapse_client.results import ENDED
from synapse_wire.errors import WireError
from synapse_wire.results import JobRow, JobStatus


def wait(
    client: Client, output: Output, job_id: str, label: str, *, unit: str = "", timeout_s: float | None = None
) -> JobStatus:
    """Wait until the job is done, showing its progress; raises what it failed with.

    Interrupting the wait leaves the job alone, and says so.
    """
    try:
        with output.progress(label, unit=unit) as progress:
            return client.wait_job(
                job_id, lambda status: progress.to(status.items_done, status.items_total), timeout_s=timeout_s
            )
    except KeyboardInterrupt:
        output.note(f"The job goes on in the service; `synapse jobs wait {job_id}` waits for it again.")
        raise


def show(output: Output, status: JobStatus, row: JobRow | None = None) -> None:
    """Print one job; one that ended without its result ends the command with status 1.

    ``row`` is the same job in ``jobs.list``, which knows more about it.
    """
    if output.as_json:
        output.json({**_members(row), **_members(status)})
    else:
        output.line(f"Job {status.job_id} ({status.kind}) is {status.state}")
        output.facts(_facts(status, row))
    if status.state in ENDED and status.state != "done":
        raise typer.Exit(exits.FAILED)


def brief(row: JobRow) -> str:
    """A job in one line, without its id."""
    what = row.kind if not isinstance(row.model_id, str) else f"{row.kind} of {row.model_id}"
    return f"{what}, {row.state}, {progress_of(row)}"


def progress_of(row: JobRow) -> str:
    """How far a job is, and for how much longer it will run."""
    pace = (row.rate, row.eta_ms / 1000) if isinstance(row.rate, float) and isinstance(row.eta_ms, int) else None
    unit = figures.BYTES if row.kind == "models.download" else ""
    return figures.progress(row.items_done, row.items_total, unit, pace)


def error_of(job: JobRow | JobStatus) -> SynapseError | None:
    """What a job failed with; None if it didn't, or if this version can't read it."""
    if not isinstance(job.error, dict):
        return None
    try:
        return SynapseError.from_wire(msgspec.convert(job.error, WireError), level="semantic")
    except msgspec.ValidationError:
        return None


def _facts(status: JobStatus, row: JobRow | None) -> list[tuple[str, str]]:
    facts = [("items", f"{figures.count(status.items_done)} of {figures.count(status.items_total)}")]
    if row is not None:
        facts = [("items", progress_of(row))]
        facts += [
            (name, value)
            for name, value in (("model", row.model_id), ("asked by", row.client))
            if isinstance(value, str)
        ]
        facts.append(("since", _when(row.created_ms)))
        if isinstance(row.terminal_ms, int):
            facts.append(("ended", _when(row.terminal_ms)))
        if isinstance(row.expires_ms, int):
            facts.append(("kept until", _when(row.expires_ms)))
    if isinstance(status.pages_available, int):
        facts.append(("pages", f"{figures.count(status.pages_available)} can be read"))
    if isinstance(status.logical_handle, str):
        facts.append(("waits for", f"the credential {status.logical_handle}"))
    if isinstance(status.resume_deadline_ms, int):
        facts.append(("at most until", _when(status.resume_deadline_ms)))
    if (error := error_of(status)) is not None:
        facts += [("error", f"{error.code}: {error.message}"), ("next", next_step(error))]
    elif isinstance(status.error, dict):
        facts.append(("error", str(status.error)))
    return facts


def _when(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000).isoformat(sep=" ", timespec="seconds")


def _members(job: JobRow | JobStatus | None) -> Mapping[str, Any]:
    return {} if job is None else msgspec.to_builtins(job)
