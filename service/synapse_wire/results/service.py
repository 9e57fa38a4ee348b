"""Results of the operations on the service itself."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType

from synapse_wire.results.base import Result
from synapse_wire.results.lanes import Pause


class Hello(Result, frozen=True, kw_only=True):
    server_version: str
    protocol: int
    module_generation: int
    operations: list[str]
    extensions: list[str]


class ServiceInfo(Result, frozen=True, kw_only=True):
    server_version: str
    protocol: int
    module_generation: int
    pid: int
    started_at_ms: int
    uptime_ms: int
    socket_path: str
    home: str
    connections: int
    state: str
    pause: Pause | UnsetType = UNSET


class Holder(Result, frozen=True, kw_only=True):
    """Who holds something: a loaded model, a job, a self-check or a request."""

    kind: str
    model_id: str | UnsetType = UNSET
    job_id: str | UnsetType = UNSET
    check_id: str | UnsetType = UNSET
    lease_id: str | UnsetType = UNSET


class ShuttingDown(Result, frozen=True, kw_only=True):
    state: str
    drain_ms: int
    holders: list[Holder]


class Diagnostic(Result, frozen=True, kw_only=True):
    """One finding: what was looked at, ``ok``/``warning``/``error``, and what to do about it."""

    check: str
    status: str
    summary: str
    remedy: str | UnsetType = UNSET
    facts: dict[str, Any] | UnsetType = UNSET


class Diagnostics(Result, frozen=True, kw_only=True):
    module_generation: int
    checks: list[Diagnostic]


class Subscribed(Result, frozen=True, kw_only=True):
    topics: list[str]


class Setting(Result, frozen=True, kw_only=True):
    name: str
    value: Any
    source: str
    default: Any
    needs_restart: bool
    bounds: dict[str, Any]
    description: str


class Settings(Result, frozen=True, kw_only=True):
    settings: list[Setting]


class LogEntry(Result, frozen=True, kw_only=True):
    seq: int
    time_ms: int
    level: str
    event: str
    fields: dict[str, Any]


class LogTail(Result, frozen=True, kw_only=True):
    entries: list[LogEntry]
    next_seq: int
    dropped: int
