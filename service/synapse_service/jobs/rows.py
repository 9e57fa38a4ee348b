"""Jobs in the shapes of the wire: live ones from memory, ended ones from their row."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET

from synapse_service.jobs.live import LiveJob
from synapse_wire.results import JobRow, JobStatus


def live_status(job: LiveJob, generation: int) -> JobStatus:
    """Where a live job stands."""
    pause = job.pause
    return JobStatus(
        job_id=job.job_id,
        kind=job.kind,
        state=job.state,
        items_total=job.items_total,
        items_done=job.items_done,
        module_generation=generation,
        error=UNSET if job.error is None else msgspec.to_builtins(job.error),
        pages_available=UNSET if job.submission_id is None else job.pages_available,
        logical_handle=UNSET if pause is None else pause.logical_handle,
        paused_at_ms=UNSET if pause is None else pause.paused_at_ms,
        resume_deadline_ms=UNSET if pause is None else pause.resume_deadline_ms,
        action=UNSET if pause is None else "reauth",
    )


def live_row(job: LiveJob, generation: int) -> JobRow:
    """A live job for people, with its rate."""
    rate, eta_ms = job.rate, job.eta_ms
    return JobRow(
        job_id=job.job_id,
        kind=job.kind,
        state=job.state,
        items_total=job.items_total,
        items_done=job.items_done,
        module_generation=generation,
        created_ms=job.created_ms,
        model_id=job.model_id,
        client=UNSET if job.client is None else job.client,
        pages_available=UNSET if job.submission_id is None else job.pages_available,
        rate=UNSET if rate is None else round(rate, 2),
        eta_ms=UNSET if eta_ms is None else eta_ms,
        error=UNSET if job.error is None else msgspec.to_builtins(job.error),
    )


def job_status(row: Any, generation: int) -> JobStatus:
    """Where a job stands by its row, which carries ``pages`` of its submission. ``generation`` is that of the reply."""
    return JobStatus(
        job_id=row.job_id,
        kind=row.kind,
        state=row.state,
        items_total=row.items_total,
        items_done=row.items_done,
        module_generation=generation,
        error=_error(row),
        pages_available=UNSET if row.pages is None else row.pages,
    )


def job_row(row: Any, ahead_ms: int) -> JobRow:
    """A job for people by its row. The wall clock is ``ahead_ms`` ahead of the clock by which jobs expire."""
    return JobRow(
        job_id=row.job_id,
        kind=row.kind,
        state=row.state,
        items_total=row.items_total,
        items_done=row.items_done,
        module_generation=row.module_generation,
        created_ms=row.created_ms,
        model_id=UNSET if row.model_id is None else row.model_id,
        client=UNSET if row.client_name is None else row.client_name,
        pages_available=UNSET if row.pages is None else row.pages,
        error=_error(row),
        terminal_ms=UNSET if row.terminal_ms is None else row.terminal_ms,
        expires_ms=UNSET if row.expires_ms is None else row.expires_ms + ahead_ms,
    )


def _error(row: Any) -> dict[str, Any] | msgspec.UnsetType:
    return UNSET if row.error is None else msgspec.json.decode(row.error, type=dict[str, Any])
