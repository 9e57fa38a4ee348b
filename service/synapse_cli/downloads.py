"""Downloads for people: waiting for one, and what is said about it.

Used by every command that starts, watches or lists downloads.
"""

from __future__ import annotations

import msgspec
import typer

from synapse_cli import exits, figures
from synapse_cli.advice import next_step
from synapse_cli.jobs import error_of
from synapse_cli.output import Output
from synapse_client import Client
from synapse_wire.results import DownloadRow, DownloadStatus, JobRow

ENDED = ("committed", "failed", "cancelled")
"""States in which a download stays."""


def wait(client: Client, output: Output, job_id: str, label: str, *, timeout_s: float | None = None) -> DownloadStatus:
    """Wait until a download is committed, showing bytes, rate and time left; raises what it failed with.

    Interrupting the wait leaves the download alone, and says so.
    """
    try:
        with output.progress(label, unit=figures.BYTES) as progress:

            def show(status: DownloadStatus) -> None:
                if isinstance(status.bytes_done, int) and isinstance(status.bytes_total, int):
                    progress.to(status.bytes_done, status.bytes_total)

            return client.wait_download(job_id, show, timeout_s=timeout_s)
    except KeyboardInterrupt:
        output.note(f"It goes on in the service. `synapse jobs wait {job_id}` waits for it again;")
        output.note(f"`synapse models cancel {job_id}` ends it.")
        raise


def running(client: Client, wanted: str) -> DownloadRow | None:
    """The download with this job id, or of this model while it runs."""
    rows = client.downloads_list(limit=1000).downloads
    named = (row for row in rows if row.job_id == wanted or (row.catalog_id == wanted and row.state not in ENDED))
    return next(named, None)


def show(output: Output, status: DownloadStatus, row: JobRow | None) -> None:
    """Print one download; one that ended without being committed ends the command with status 1.

    ``row`` is the same job in ``jobs.list``, which knows more about it.
    """
    if output.as_json:
        output.json({**({} if row is None else msgspec.to_builtins(row)), **msgspec.to_builtins(status)})
    else:
        model = row.model_id if row is not None and isinstance(row.model_id, str) else "a model"
        output.line(f"Download {status.job_id} of {model} is {status.state}")
        output.facts(_facts(row))
    if status.state in ENDED and status.state != "committed":
        raise typer.Exit(exits.FAILED)


def show_cancelled(output: Output, status: DownloadStatus) -> None:
    """Print what a cancellation came to."""
    if output.as_json:
        output.json(status)
    elif status.state == "cancelled":
        output.line(f"Download {status.job_id} is cancelled, and its files are gone.")
    else:
        output.line(f"Download {status.job_id} had ended before; it is {status.state}.")


def _facts(row: JobRow | None) -> list[tuple[str, str]]:
    if row is None:
        return []
    facts = []
    if row.items_total:
        pace = (row.rate, row.eta_ms / 1000) if isinstance(row.rate, float) and isinstance(row.eta_ms, int) else None
        facts.append(("fetched", figures.progress(row.items_done, row.items_total, figures.BYTES, pace)))
    if (error := error_of(row)) is not None:
        facts += [("error", f"{error.code}: {error.message}"), ("next", next_step(error))]
    return facts
