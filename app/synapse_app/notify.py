"""Notices: which changes of the picture are worth interrupting somebody for.

:func:`notices` is a pure function of two pictures. :class:`Notifier` hands its results to whatever shows them, and
leaves out what the user turned off. Everything a notice says can also be seen in the window: it may never be seen.

A job that took less than half a minute ends without a notice, and so does a pause that somebody ended early: whoever
did that knows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec

from synapse_app.i18n import tr
from synapse_app.preferences import Preferences
from synapse_app.state import AppState, StateStore
from synapse_wire import results as r

LONG_JOB_MS: Final = 30_000
_PAUSE_SLACK_MS: Final = 2000
_ENDED_JOB: Final = ("done", "failed", "needs_reauth_expired")
_AT_ONCE: Final = 3
"""More notices of one kind than this at a time become one."""


@dataclass(frozen=True, slots=True)
class Notice:
    """One notice. ``kind`` is one of :data:`synapse_app.preferences.NOTICES`; ``page`` is where to look."""

    kind: str
    key: str
    """What it is about: a later notice with the same key takes its place."""
    title: str
    text: str
    page: str
    urgent: bool = False
    again: str = ""
    """The catalog id of a download that can be tried again."""


Shower = Callable[[Notice], object]


def notices(before: AppState, after: AppState, now_ms: int) -> list[Notice]:
    """What happened between two pictures. Nothing is reported that was so when the service was first seen."""
    return [*_of_downloads(before, after), *_of_jobs(before, after), *_of_lanes(before, after, now_ms)]


def _of_downloads(before: AppState, after: AppState) -> Iterator[Notice]:
    if before.downloads is after.downloads:
        return
    for download in after.downloads.values():
        old = before.downloads.get(download.job_id)
        if old is None or old.state == download.state:
            continue
        name = _model_name(after, download.catalog_id)
        if download.state == "committed":
            text = tr("{model} is ready to use.", model=name)
            yield Notice("downloads", download.job_id, tr("Model installed"), text, "models")
        elif download.state == "failed":
            text = tr("{model} could not be downloaded: {reason}", model=name, reason=_reason(download.error))
            again = download.catalog_id
            yield Notice("downloads", download.job_id, tr("Download failed"), text, "models", again=again)


def _of_jobs(before: AppState, after: AppState) -> Iterator[Notice]:
    if before.jobs is after.jobs:
        return
    for job in after.jobs.values():
        old = before.jobs.get(job.job_id)
        if job.kind == "models.download" or old is None or old.state == job.state or job.state not in _ENDED_JOB:
            continue
        if job.state != "done":
            if not _cancelled(job):
                yield Notice("jobs", job.job_id, tr("Job failed"), _reason(job.error), "jobs")
        elif job.terminal_ms is not msgspec.UNSET and job.terminal_ms - job.created_ms >= LONG_JOB_MS:
            text = tr("{n} items are done.", n=job.items_done)
            yield Notice("jobs", job.job_id, tr("Job done"), text, "jobs")


def _of_lanes(before: AppState, after: AppState, now_ms: int) -> Iterator[Notice]:
    ended = False
    if before.lanes is not after.lanes:
        for lane in after.lanes.values():
            old = before.lanes.get(lane.model_id)
            if old is None:
                continue
            name = lane.model_id
            if lane.self_check.state == "failed" and old.self_check.state != "failed":
                text = tr("{model} gives wrong results on this machine and isn't used.", model=name)
                yield Notice("self_checks", name, tr("Self-check failed"), text, "lanes", urgent=True)
            if lane.state == "quarantined" and old.state != "quarantined":
                text = tr("{model} failed twice in a row and rests for a while.", model=name)
                yield Notice("quarantine", name, tr("Lane in quarantine"), text, "lanes", urgent=True)
            if lane.paused_until_ms is msgspec.UNSET and _ran_out(old.paused_until_ms, now_ms):
                ended = True
    if ended or (_ran_out(_service_pause(before), now_ms) and _service_pause(after) is msgspec.UNSET):
        yield Notice("pause_ended", "pause", tr("Pause ended"), tr("Lanes take requests again."), "lanes")


def _service_pause(state: AppState) -> int | msgspec.UnsetType:
    pause = msgspec.UNSET if state.service is None else state.service.pause
    return msgspec.UNSET if pause is msgspec.UNSET else pause.paused_until_ms


def _ran_out(until_ms: int | msgspec.UnsetType, now_ms: int) -> bool:
    return until_ms is not msgspec.UNSET and now_ms >= until_ms - _PAUSE_SLACK_MS


class Notifier:
    """Watches the store and hands the notices that the user wants to ``show``. ``now_ms`` is the time of day."""

    def __init__(
        self,
        store: StateStore,
        preferences: Preferences,
        show: Shower,
        now_ms: Callable[[], int] = lambda: int(time.time() * 1000),
    ) -> None:
        self._preferences = preferences
        self._show = show
        self._now_ms = now_ms
        store.changed.connect(self._changed)

    def _changed(self, before: AppState, after: AppState) -> None:
        wanted = [one for one in notices(before, after, self._now_ms()) if self._preferences.notices(one.kind)]
        for kind in dict.fromkeys(one.kind for one in wanted):
            alike = [one for one in wanted if one.kind == kind]
            if len(alike) > _AT_ONCE:
                text = f"{alike[0].text} {tr('and {n} more', n=len(alike) - 1)}"
                alike = [replace(alike[0], key=kind, text=text, again="")]
            for notice in alike:
                self._show(notice)


def _model_name(state: AppState, catalog_id: str) -> str:
    model = state.catalog.get(catalog_id)
    return model.name if model is not None else catalog_id


def _cancelled(job: r.JobRow) -> bool:
    return job.error is not msgspec.UNSET and job.error.get("code") == "request_cancelled"


def _reason(error: dict[str, Any] | msgspec.UnsetType) -> str:
    return tr("unknown reason") if error is msgspec.UNSET else str(error.get("message") or error.get("code"))
