"""Results of the operations on jobs."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType

from synapse_wire.results.base import Result


class JobRow(Result, frozen=True, kw_only=True):
    """One job in ``jobs.list``. ``rate`` is in items a second; it and ``eta_ms`` need a running job."""

    job_id: str
    kind: str
    state: str
    items_total: int
    items_done: int
    module_generation: int
    created_ms: int
    model_id: str | UnsetType = UNSET
    client: str | UnsetType = UNSET
    pages_available: int | UnsetType = UNSET
    rate: float | UnsetType = UNSET
    eta_ms: int | UnsetType = UNSET
    error: dict[str, Any] | UnsetType = UNSET
    terminal_ms: int | UnsetType = UNSET
    expires_ms: int | UnsetType = UNSET


class JobsList(Result, frozen=True, kw_only=True):
    jobs: list[JobRow]


class JobAccepted(Result, frozen=True, kw_only=True):
    """A job was minted, or an equal one joined."""

    job_id: str
    state: str


class JobStatus(Result, frozen=True, kw_only=True):
    """``model.status`` and ``probe.status`` of a job; the last four members only while it is paused."""

    job_id: str
    kind: str
    state: str
    items_total: int
    items_done: int
    module_generation: int
    error: dict[str, Any] | UnsetType = UNSET
    pages_available: int | UnsetType = UNSET
    logical_handle: str | UnsetType = UNSET
    paused_at_ms: int | UnsetType = UNSET
    resume_deadline_ms: int | UnsetType = UNSET
    action: str | UnsetType = UNSET
