"""Parameters of the operations on jobs."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from synapse_wire.params.base import Name, Params


class JobRef(Params, frozen=True, kw_only=True):
    """An operation about one job."""

    job_id: Name


JobState = Literal[
    "queued",
    "running",
    "paused_needs_reauth",
    "done",
    "failed",
    "needs_reauth_expired",
    "downloading",
    "verifying",
    "committed",
    "cancelled",
]
"""The last four are those of downloads."""


class JobsList(Params, frozen=True, kw_only=True):
    """``jobs.list``: the newest jobs first, all of them or those in some states."""

    states: Annotated[list[JobState], Meta(min_length=1, max_length=16)] | None = None
    limit: Annotated[int, Meta(ge=1, le=1000)] | None = None
