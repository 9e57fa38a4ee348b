"""What the jobs page says about a job, in its list and in its card: pure functions of the row and the time."""

from __future__ import annotations

from typing import Final, Literal

from synapse_app import figures, words
from synapse_app.i18n import tr
from synapse_app.pages.model_rows import problem_in
from synapse_app.widgets.delegate import Look
from synapse_app.widgets.details import Fact
from synapse_client.results import LIVE
from synapse_wire import results as r

DOWNLOAD: Final = "models.download"

Filter = Literal["all", "going_on", "ended"]
FILTERS: Final[tuple[Filter, ...]] = ("all", "going_on", "ended")


def going_on(job: r.JobRow) -> bool:
    """Whether it can still be cancelled."""
    return job.state in LIVE


def passes(job: r.JobRow, which: Filter) -> bool:
    return which == "all" or going_on(job) is (which == "going_on")


def title(job: r.JobRow) -> str:
    kind = words.job_kind(job.kind)
    return f"{kind} — {job.model_id}" if isinstance(job.model_id, str) else kind


def spoken(job: r.JobRow) -> str:
    parts = [title(job), words.job_state(job.state)]
    if going_on(job) and job.items_total:
        parts.append(figures.share(job.items_done, job.items_total))
    return ", ".join(parts)


def look(job: r.JobRow, now_ms: int) -> Look:
    """How the list paints it."""
    live = going_on(job)
    parts = [job.client] if isinstance(job.client, str) and job.client else []
    if live or not job.items_total:
        parts.append(_done(job))
    if live:
        parts += _speed(job)
    elif job.state in ("failed", "needs_reauth_expired"):
        parts.append(problem_in(job.error).text())
    return Look(
        title=title(job),
        detail=" · ".join(part for part in parts if part),
        side=figures.moment(job.created_ms, now_ms),
        badge=words.job_state(job.state),
        tone=words.job_tone(job.state),
        progress=(job.items_done / job.items_total if job.items_total else 0.0) if live else None,
    )


def note(job: r.JobRow) -> tuple[str, bool]:
    """What has to be said first, and whether it is a problem."""
    if job.state not in ("failed", "needs_reauth_expired"):
        return "", False
    problem = problem_in(job.error)
    text = problem.text()
    if problem.code == "request_cancelled":
        return tr("It was cancelled. What it had committed stays readable."), False
    return (f"{text}\n{problem.message}" if problem.message and problem.message != text else text), True


def facts(job: r.JobRow, now_ms: int) -> list[Fact]:
    """What is known about it, in the order in which people ask."""
    found = [Fact(tr("State"), words.job_state(job.state))]
    if isinstance(job.client, str):
        found.append(Fact(tr("Asked for by"), job.client or tr("an app without a name")))
    if isinstance(job.model_id, str):
        found.append(Fact(tr("Model"), job.model_id))
    if job.items_total:
        share = figures.share(job.items_done, job.items_total)
        found.append(Fact(tr("Progress"), f"{_done(job)} ({share})"))
    if going_on(job) and (speed := _speed(job)):
        found.append(Fact(tr("Speed"), " · ".join(speed)))
    found.append(Fact(tr("Begun"), figures.moment(job.created_ms, now_ms)))
    if isinstance(job.terminal_ms, int):
        found.append(Fact(tr("Ended"), figures.moment(job.terminal_ms, now_ms)))
    if isinstance(job.pages_available, int):
        found.append(Fact(tr("Pages that can be read"), figures.count(job.pages_available)))
    if isinstance(job.expires_ms, int):
        found.append(Fact(tr("Kept until"), figures.moment(job.expires_ms, now_ms)))
    found.append(Fact(tr("Identifier"), job.job_id, copies=True))
    return found


def _done(job: r.JobRow) -> str:
    if not job.items_total:
        return ""
    if job.kind == DOWNLOAD:
        return tr("{done} of {total}", done=figures.size(job.items_done), total=figures.size(job.items_total))
    return tr("{done} of {total}", done=figures.count(job.items_done), total=figures.count(job.items_total))


def _speed(job: r.JobRow) -> list[str]:
    parts = []
    if isinstance(job.rate, float):
        per_second = tr("{count} a second", count=figures.count(round(job.rate)))
        parts.append(figures.rate(job.rate) if job.kind == DOWNLOAD else per_second)
    if isinstance(job.eta_ms, int):
        parts.append(tr("{time} left", time=figures.duration(job.eta_ms)))
    return parts
