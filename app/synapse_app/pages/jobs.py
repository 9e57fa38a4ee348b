"""Jobs: what runs for which app, how far it is, cancelling it, and what to do about one that failed."""

from __future__ import annotations

import time
from typing import Any

from PySide6.QtWidgets import QComboBox, QPushButton

from synapse_app import figures, reducers
from synapse_app.commands import Outcome, Refused
from synapse_app.i18n import tr
from synapse_app.pages import job_rows
from synapse_app.pages.base import Page, PageContext
from synapse_app.state import AppState
from synapse_app.widgets.browser import Browser
from synapse_app.widgets.delegate import Look
from synapse_app.widgets.flow import Flow
from synapse_app.widgets.text import Wrapping
from synapse_wire import results as r


class JobsPage(Page):
    """Newest first, in the service's own order."""

    name = "jobs"
    icon = "jobs"
    scrolls = True

    @staticmethod
    def label() -> str:
        return tr("Jobs")

    def __init__(self, context: PageContext) -> None:
        super().__init__(context)
        self.filter = QComboBox()
        for which in job_rows.FILTERS:
            self.filter.addItem("", which)
        self.cancel = QPushButton()
        self.cut = Wrapping("muted")
        self.browser: Browser[r.JobRow] = Browser(context.theme, _key, job_rows.spoken, _look, self.cancel)
        self.body.addLayout(Flow(self.filter))
        self.body.addWidget(self.browser, 1)
        self.body.addWidget(self.cut)
        self.filter.currentIndexChanged.connect(self._narrowed)
        self.cancel.clicked.connect(self._cancel)
        self.browser.selected.connect(self._selected)
        self.retranslate()

    def retranslate(self) -> None:
        super().retranslate()
        names = {"all": tr("All jobs"), "going_on": tr("Going on"), "ended": tr("Ended", about="jobs")}
        for at, which in enumerate(job_rows.FILTERS):
            self.filter.setItemText(at, names[which])
        self.filter.setAccessibleName(tr("Which jobs are shown"))
        self.cancel.setText(tr("&Cancel the job"))
        newest = figures.count(reducers.NEWEST)
        self.cut.setText(tr("The newest {count} jobs are shown, and all that are going on.", count=newest))
        self.browser.view.setAccessibleName(self.label())

    def show_state(self, before: AppState | None, after: AppState) -> None:
        parts = ("jobs", "jobs_cut", "link", "read")
        if before is None or any(getattr(before, part) is not getattr(after, part) for part in parts):
            self._show_rows(after)

    def _show_rows(self, state: AppState) -> None:
        rows = [job for job in state.jobs.values() if job_rows.passes(job, self.filter.currentData())]
        if rows:
            self.browser.show_rows(rows)
        elif state.jobs:
            self.browser.show_instead(tr("There is no such job. Choose “All jobs” to see the others."))
        elif missing := self.missing(state, reducers.JOBS):
            self.browser.show_instead(missing)
        else:
            text = tr("Nothing has run yet. Downloads, probes and large batches of apps appear here by themselves.")
            self.browser.show_instead(text)
        self.cut.setVisible(state.jobs_cut and self.filter.currentData() != "going_on")
        self._show_job()

    def _show_job(self) -> None:
        job = self.browser.row
        if job is None:
            return
        note, bad = job_rows.note(job)
        self.browser.card.show_facts(job_rows.title(job), job_rows.facts(job, _now_ms()), note=note, bad=bad)
        self.cancel.setVisible(job_rows.going_on(job))
        self.cancel.setEnabled(self.context.store.state.current)

    def _narrowed(self) -> None:
        self._show_rows(self.context.store.state)

    def _selected(self) -> None:
        self.show_problem(None)
        self._show_job()

    def _cancel(self) -> None:
        if (job := self.browser.row) is not None:
            self.spawn(self._cancelled(job))

    async def _cancelled(self, job: r.JobRow) -> None:
        self.show_problem(None)
        commands = self.context.commands
        outcome: Outcome[Any]
        if job.kind == job_rows.DOWNLOAD:
            outcome = await commands.cancel_download(job.job_id)
        else:
            outcome = await commands.cancel_job(job.job_id)
        if isinstance(outcome, Refused):
            self.show_problem(outcome.problem)


def _key(job: r.JobRow) -> str:
    return job.job_id


def _look(job: Any) -> Look:
    return job_rows.look(job, _now_ms())


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
