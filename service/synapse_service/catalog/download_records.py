"""The rows behind downloads: jobs, the request keys that are bound to them, and blobs that are not committed yet.

Every function runs inside a closure of the store, in its one transaction. A job's row says in which state it is, and
its terminal state is written by one statement that finds it in no other: that is the publish fence, and whoever comes
second changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast

import msgspec
from msgspec import UNSET
from peewee import SQL

from synapse_service.catalog.download_job import KIND, TERMINAL, DownloadState, TerminalState, flat_status
from synapse_service.lanes.fingerprint import canonical_sha256
from synapse_service.store.models import DownloadBlob, DownloadKey, Job
from synapse_wire.errors import SynapseError, WireError
from synapse_wire.results import DownloadRow, DownloadStatus


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked for, and by whom."""

    catalog_id: str
    manifest_digest: str
    request_key: str | None
    client: str | None

    @property
    def key(self) -> str:
        return self.request_key or f"{KIND}:{self.catalog_id}:{self.manifest_digest}"

    @property
    def digest(self) -> str:
        """What the key is bound to."""
        return canonical_sha256({"catalog_id": self.catalog_id, "manifest_digest": self.manifest_digest})


@dataclass(frozen=True, slots=True)
class Fresh:
    """The job that is created if there has to be a new one. ``created_ms`` is of the wall clock."""

    job_id: str
    created_ms: int
    generation: int


@dataclass(frozen=True, slots=True)
class End:
    """A terminal state, with the figures that are written beside it. Times as in the job's row."""

    state: TerminalState
    bytes_done: int
    error: WireError | None
    terminal_ms: int
    expires_ms: int


def admit(request: Request, fresh: Fresh, *, live: str | None, complete: bool, now_ms: int) -> tuple[str, str]:
    """Bind the request's key and return the job that serves it, with that job's state.

    That is the job ``live``, unless it has ended by now; else a committed job to which the key is bound, while the
    entry is still ``complete``; else a new one. Raises ``idempotency_conflict``.
    """
    bound = _bound(request.key, now_ms)
    if bound is not None and bound.digest != request.digest:
        raise SynapseError(
            "idempotency_conflict",
            "the request key is bound to another model, or another version of it; use a new key",
            details={"request_key": request.key},
        )
    found = None if live is None else Job.get_or_none(Job.job_id == live, Job.state.not_in(TERMINAL))
    if found is None and bound is not None and complete and bound.job.state == "committed":
        found = bound.job
    if found is None:
        found = Job.create(
            job_id=fresh.job_id,
            kind=KIND,
            state="queued",
            model_id=request.catalog_id,
            client_name=request.client,
            module_generation=fresh.generation,
            created_ms=fresh.created_ms,
        )
    key = {"request_key": request.key, "job": found.job_id, "digest": request.digest}
    DownloadKey.insert(key).on_conflict_replace().execute()
    return found.job_id, found.state


def begin(job_id: str, bytes_total: int, started_ms: int) -> None:
    """Write down that a queued job downloads now."""
    changes: dict[Any, Any] = {Job.state: "downloading", Job.items_total: bytes_total, Job.started_ms: started_ms}
    Job.update(changes).where(Job.job_id == job_id, Job.state == "queued").execute()


def begin_verifying(job_id: str, digests: Iterable[str]) -> bool:
    """Write down which blobs a job is about to publish; False if it has ended."""
    changed = Job.update(state="verifying").where(Job.job_id == job_id, Job.state.not_in(TERMINAL)).execute()
    if changed:
        for sha256 in digests:
            DownloadBlob.create(job=job_id, sha256=sha256)
    return bool(changed)


def end(job_id: str, ended: End, *, only_from: DownloadState | None = None) -> bool:
    """The publish fence: True for the one caller that ends the job.

    ``only_from`` is the state in which a commit has to find it. What is committed no longer belongs to the job.
    """
    changes: dict[Any, Any] = {
        Job.state: ended.state,
        Job.items_done: ended.bytes_done,
        Job.error: None if ended.error is None else msgspec.json.encode(ended.error).decode(),
        Job.terminal_ms: ended.terminal_ms,
        Job.expires_ms: ended.expires_ms,
    }
    is_open = Job.state.not_in(TERMINAL) if only_from is None else Job.state == only_from
    won = bool(Job.update(changes).where(Job.job_id == job_id, is_open).execute())
    if won and ended.state == "committed":
        DownloadBlob.delete().where(DownloadBlob.job == job_id).execute()
    return won


def forget_blobs(job_id: str) -> None:
    """The blobs that a job published and did not commit are gone."""
    DownloadBlob.delete().where(DownloadBlob.job == job_id).execute()


def stored_status(job_id: str, now_ms: int) -> DownloadStatus | None:
    """The flat status of a download by its row; None for another kind of job, and for an unknown or expired one."""
    row = Job.get_or_none(Job.job_id == job_id, Job.kind == KIND, _kept(now_ms))
    if row is None:
        return None
    return flat_status(row.job_id, row.state, row.items_done, row.items_total, _error(row))


def stored_rows(limit: int, now_ms: int) -> list[DownloadRow]:
    """The newest downloads."""
    kept = Job.select().where(Job.kind == KIND, _kept(now_ms)).order_by(SQL("rowid").desc()).limit(limit)
    return [
        DownloadRow(
            job_id=row.job_id,
            catalog_id=str(row.model_id),
            state=row.state,
            bytes_done=row.items_done,
            bytes_total=row.items_total,
            created_ms=row.created_ms,
            client=UNSET if row.client_name is None else row.client_name,
            error=_error(row),
            terminal_ms=UNSET if row.terminal_ms is None else row.terminal_ms,
        )
        for row in kept
    ]


def _bound(request_key: str, now_ms: int) -> DownloadKey | None:
    """The binding of a key, with its job, unless it has expired."""
    found = (
        DownloadKey.select(DownloadKey, Job)
        .join(Job)
        .where(DownloadKey.request_key == request_key, _kept(now_ms))
        .first()
    )
    return cast("DownloadKey | None", found)


def _kept(now_ms: int) -> Any:
    return Job.expires_ms.is_null() | (Job.expires_ms > now_ms)


def _error(row: Job) -> dict[str, Any] | msgspec.UnsetType:
    return UNSET if row.error is None else msgspec.json.decode(row.error, type=dict[str, Any])
