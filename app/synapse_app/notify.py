"""Notices: which changes of the picture are worth interrupting somebody for, and showing them.

:func:`notices` is a pure function of two pictures. :class:`Notifier` shows its results through whatever it is given,
and leaves out what the user turned off. Everything a notice says can also be seen in the window: it may never be seen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from synapse_app.i18n import tr
from synapse_app.preferences import Preferences
from synapse_app.state import AppState, StateStore

_ENDED_JOB: Final = ("done", "failed", "needs_reauth_expired")


@dataclass(frozen=True, slots=True)
class Notice:
    """One notice. ``kind`` is one of :data:`synapse_app.preferences.NOTICES`; ``page`` is where to look."""

    kind: str
    key: str
    title: str
    text: str
    page: str
    urgent: bool = False


Shower = Callable[[Notice], object]


def notices(before: AppState, after: AppState) -> list[Notice]:
    """What happened between two pictures. Nothing is reported that was so when the service was first seen."""
    found: list[Notice] = []
    if before.downloads is not after.downloads:
        for download in after.downloads.values():
            old = before.downloads.get(download.job_id)
            if old is None or old.state == download.state or download.state not in ("committed", "failed"):
                continue
            name = _model_name(after, download.catalog_id)
            done = download.state == "committed"
            found.append(
                Notice(
                    "downloads",
                    download.job_id,
                    tr("Model installed") if done else tr("Download failed"),
                    tr("{model} is ready to use.", model=name)
                    if done
                    else tr("{model} could not be downloaded: {reason}", model=name, reason=_reason(download.error)),
                    "models",
                    urgent=not done,
                )
            )
    if before.jobs is not after.jobs:
        for job in after.jobs.values():
            earlier = before.jobs.get(job.job_id)
            if job.kind == "models.download" or earlier is None or earlier.state == job.state:
                continue
            if job.state in _ENDED_JOB:
                done = job.state == "done"
                title = tr("Job done") if done else tr("Job failed")
                text = job.job_id if done else _reason(job.error)
                found.append(Notice("jobs", job.job_id, title, text, "jobs", urgent=not done))
    if before.lanes is not after.lanes:
        for lane in after.lanes.values():
            row = before.lanes.get(lane.model_id)
            if row is None:
                continue
            if lane.self_check.state == "failed" and row.self_check.state != "failed":
                title = tr("Self-check failed")
                text = tr("{model} gives wrong results on this machine and isn't used.", model=lane.model_id)
                found.append(Notice("self_checks", lane.model_id, title, text, "lanes", urgent=True))
            if lane.state == "quarantined" and row.state != "quarantined":
                title = tr("Lane in quarantine")
                text = tr("{model} failed twice in a row and rests for a while.", model=lane.model_id)
                found.append(Notice("quarantine", lane.model_id, title, text, "lanes", urgent=True))
            if row.state == "paused" and lane.state != "paused":
                title = tr("Pause ended")
                text = tr("{model} takes requests again.", model=lane.model_id)
                found.append(Notice("pause_ended", lane.model_id, title, text, "lanes"))
    return found


class Notifier:
    """Watches the store and hands the notices that the user wants to ``show``."""

    def __init__(self, store: StateStore, preferences: Preferences, show: Shower) -> None:
        self._preferences = preferences
        self._show = show
        store.changed.connect(self._changed)

    def _changed(self, before: AppState, after: AppState) -> None:
        for notice in notices(before, after):
            if self._preferences.notices(notice.kind):
                self._show(notice)


def _model_name(state: AppState, catalog_id: str) -> str:
    model = state.catalog.get(catalog_id)
    return model.name if model is not None else catalog_id


def _reason(error: dict[str, Any] | msgspec.UnsetType) -> str:
    return tr("unknown reason") if error is msgspec.UNSET else str(error.get("message") or error.get("code"))
