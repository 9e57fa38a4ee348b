"""Waiting for a job with something to look at."""

from __future__ import annotations

from synapse_cli.output import Output
from synapse_client import Client
from synapse_wire.results import JobStatus


def wait(client: Client, output: Output, job_id: str, label: str) -> JobStatus:
    """Wait until the job is done, showing its progress; raises what it failed with.

    Interrupting the wait leaves the job alone, and says so.
    """
    try:
        with output.progress(label) as progress:
            return client.wait_job(job_id, lambda status: progress.to(status.items_done, status.items_total))
    except KeyboardInterrupt:
        output.note(f"The job goes on in the service; `synapse models status --job {job_id}` shows how far it is.")
        raise
