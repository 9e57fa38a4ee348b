"""Models: the catalog and the user's own models, what to do with each, the disk, and fingerprints that changed."""

from __future__ import annotations

import time
from collections.abc import Awaitable
from typing import Any, Final

from PySide6.QtCore import QSize, QTimer
from PySide6.QtGui import QHideEvent
from PySide6.QtWidgets import (
    QComboBox,
    QFrame,
    QHBoxLayout,
    QLineEdit,
    QPushButton,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from synapse_app import certificates, reducers
from synapse_app.commands import Done, Outcome, Refused
from synapse_app.i18n import tr
from synapse_app.pages import model_rows
from synapse_app.pages.base import Page, PageContext
from synapse_app.pages.model_rows import FILTERS, ModelEntry
from synapse_app.pages.own_model import OwnModel
from synapse_app.problems import Problem
from synapse_app.state import AppState
from synapse_app.theme import SPACE
from synapse_app.widgets.browser import Browser
from synapse_app.widgets.flow import Flow
from synapse_app.widgets.text import Wrapping
from synapse_wire import results as r

UNDO_MS: Final = 8000
"""For how long a removal can be undone. The service is asked only after that: what it removes is gone."""


class ModelsPage(Page):
    """See above. ``removals`` counts down to what was asked to be removed."""

    name = "models"
    icon = "models"
    scrolls = True

    @staticmethod
    def label() -> str:
        return tr("Models")

    def __init__(self, context: PageContext) -> None:
        super().__init__(context)
        self._certificate: tuple[str, r.ProbeReport] | None = None
        self.search = SearchLine()
        self.filter = QComboBox()
        for which in FILTERS:
            self.filter.addItem("", which)
        self.add = QPushButton()
        self.fingerprints = Strip("banner")
        self.undo = Strip("banner")
        self.disk = Wrapping("muted")
        self.low = Wrapping("bad")
        self.download, self.cancel, self.load, self.unload = (QPushButton() for _ in range(4))
        self.probe, self.certificate, self.remove = (QPushButton() for _ in range(3))
        self.browser: Browser[ModelEntry] = Browser(
            context.theme,
            _key,
            model_rows.spoken,
            model_rows.look,
            self.download,
            self.cancel,
            self.load,
            self.unload,
            self.probe,
            self.certificate,
            self.remove,
        )
        self.own = OwnModel(context)
        listing = QWidget()
        self._stack = QStackedWidget()
        self._lay_out(listing)
        self._stack.addWidget(listing)
        self._stack.addWidget(self.own)
        self.body.addWidget(self._stack, 1)
        self._removal = QTimer(self)
        self._removal.setSingleShot(True)
        self._removal.setInterval(UNDO_MS)
        self._leaving = ""
        self._connect()
        self.retranslate()

    def _lay_out(self, listing: QWidget) -> None:
        column = QVBoxLayout(listing)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(SPACE)
        column.addLayout(Flow(self.search, self.filter, self.add))
        for widget in (self.fingerprints, self.undo):
            column.addWidget(widget)
        column.addWidget(self.browser, 1)
        column.addWidget(self.low)
        column.addWidget(self.disk)

    def _connect(self) -> None:
        self.search.textChanged.connect(self._narrowed)
        self.filter.currentIndexChanged.connect(self._narrowed)
        self.add.clicked.connect(self._add)
        self.own.closed.connect(self._added)
        self.browser.selected.connect(self._selected)
        self.browser.view.activated.connect(self._activated)
        self.fingerprints.button.clicked.connect(self.context.fingerprints.acknowledge)
        self.context.fingerprints.changed.connect(self._show_news)
        self.undo.button.clicked.connect(self._undo)
        self._removal.timeout.connect(self._carry_out_removal)
        self.download.clicked.connect(self._download)
        self.cancel.clicked.connect(self._cancel)
        self.load.clicked.connect(self._load)
        self.unload.clicked.connect(self._unload)
        self.probe.clicked.connect(self._probe)
        self.certificate.clicked.connect(self._ask_certificate)
        self.remove.clicked.connect(self._remove)

    # --- drawing ---

    def retranslate(self) -> None:
        super().retranslate()
        self.search.setPlaceholderText(tr("Search the models"))
        self.search.setAccessibleName(tr("Search the models"))
        names = {
            "all": tr("All models"),
            "installed": tr("On this machine"),
            "runnable": tr("Can run here"),
            "embed": tr("For embedding"),
            "rerank": tr("For reranking"),
            "own": tr("Your own"),
        }
        for at, which in enumerate(FILTERS):
            self.filter.setItemText(at, names[which])
        self.filter.setAccessibleName(tr("Which models are shown"))
        self.add.setText(tr("&Add your own model…"))
        self.cancel.setText(tr("&Cancel the download"))
        self.load.setText(tr("&Load"))
        self.unload.setText(tr("&Unload"))
        self.probe.setText(tr("&Probe"))
        self.certificate.setText(tr("&Certificate"))
        self.remove.setText(tr("&Remove"))
        self.undo.button.setText(tr("&Undo"))
        self.fingerprints.button.setText(tr("&I know"))
        self.browser.view.setAccessibleName(self.label())
        self.own.retranslate()

    def show_state(self, before: AppState | None, after: AppState) -> None:
        parts = ("catalog", "lanes", "work", "downloads", "usage", "link", "read")
        if before is None or any(getattr(before, part) is not getattr(after, part) for part in parts):
            self._show_rows(after)
        if before is None or before.usage is not after.usage:
            self._show_disk(after)
        if before is None:
            self._show_news()
        self.own.show_state(after)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._carry_out_removal()

    def _show_rows(self, state: AppState) -> None:
        everything = model_rows.entries(state, frozenset((self._leaving,)))
        rows = model_rows.chosen(everything, self.search.text(), self.filter.currentData())
        if rows:
            self.browser.show_rows(rows)
        elif not everything and (missing := self.missing(state, reducers.CATALOG)):
            self.browser.show_instead(missing)
        else:
            self.browser.show_instead(tr("No model matches. Change the search, or choose “All models”."))
        leaving = next((entry for entry in everything if entry.leaving), None)
        text = "" if leaving is None else tr("{model} is about to be removed from the disk.", model=leaving.name)
        self.undo.show_text(text)
        self._show_model()

    def _show_disk(self, state: AppState) -> None:
        usage = state.usage
        warning = "" if usage is None else model_rows.disk_warning(usage)
        self.disk.setText("" if usage is None else model_rows.disk_line(usage))
        self.low.setText(warning)
        self.low.setVisible(bool(warning))

    def _show_news(self) -> None:
        news = self.context.fingerprints.news
        names = ", ".join(change.lane_id for change in news)
        text = tr(
            "The fingerprint of {models} changed. Indexes that were made with the old one need re-embedding.",
            models=names,
        )
        self.fingerprints.show_text(text if news else "")
        self.fingerprints.setToolTip("\n".join(f"{change.old} → {change.new}" for change in news))

    def _show_model(self) -> None:
        entry = self.browser.row
        if entry is None:
            return
        state = self.context.store.state
        note, bad = model_rows.note(entry, None if state.usage is None else state.usage.free_bytes)
        facts = model_rows.facts(entry)
        if self._certificate is not None and self._certificate[0] == entry.key:
            shown = [fact for fact in facts if fact.name != tr("Certificate")]
            facts = [*shown, *certificates.report_facts(self._certificate[1], time.time_ns() // 1_000_000)]
        self.browser.card.show_facts(entry.name, facts, note=note, bad=bad)
        current, lane, model = state.current, entry.lane, entry.model
        self.download.setText(tr("Try &again") if model_rows.failed(entry) is not None else tr("&Download"))
        self.download.setVisible(model is not None and not entry.here and not entry.downloading)
        self.download.setEnabled(current)
        self.cancel.setVisible(entry.downloading)
        self.cancel.setEnabled(current)
        loadable = entry.here and not entry.leaving and lane is not None
        self.load.setVisible(loadable and lane is not None and lane.state != "ready")
        self.load.setEnabled(current and lane is not None and lane.state == "unloaded" and entry.runnable)
        self.unload.setVisible(loadable and lane is not None and lane.state == "ready")
        self.unload.setEnabled(current)
        self.probe.setVisible(entry.own is not None)
        self.probe.setEnabled(current)
        self.certificate.setVisible(entry.own is not None)
        self.certificate.setEnabled(current)
        self.remove.setVisible(model is not None and model.install_state != "not_installed" and not entry.leaving)
        self.remove.setEnabled(current and not entry.downloading)

    # --- what is chosen ---

    def _narrowed(self) -> None:
        self._show_rows(self.context.store.state)

    def _selected(self) -> None:
        self.show_problem(None)
        self._certificate = None
        self._show_model()

    def _activated(self) -> None:
        """Enter or a double click does what comes first: download, else load."""
        for button in (self.download, self.load):
            if button.isVisible() and button.isEnabled():
                button.click()
                return

    def _add(self) -> None:
        self._stack.setCurrentWidget(self.own)
        self.own.begin()

    def _added(self, model_id: str) -> None:
        self._stack.setCurrentIndex(0)
        self._narrowed()
        self.browser.select(model_id)
        self.browser.view.setFocus()

    def _download(self) -> None:
        if (entry := self.browser.row) is not None:
            self.spawn(self._show_outcome(self.context.commands.download(entry.key)))

    def _cancel(self) -> None:
        entry = self.browser.row
        if entry is not None and entry.download is not None:
            self.spawn(self._show_outcome(self.context.commands.cancel_download(entry.download.job_id)))

    def _load(self) -> None:
        entry = self.browser.row
        if entry is not None and entry.lane is not None:
            self.spawn(self._show_outcome(self.context.commands.load_lane(entry.lane.lane_id)))

    def _unload(self) -> None:
        entry = self.browser.row
        if entry is not None and entry.lane is not None:
            self.spawn(self._show_outcome(self.context.commands.unload(entry.lane.lane_id)))

    def _probe(self) -> None:
        if (entry := self.browser.row) is not None:
            self.spawn(self._probed(entry.key))

    def _ask_certificate(self) -> None:
        if (entry := self.browser.row) is not None:
            self.spawn(self._show_certificate(entry.key))

    async def _probed(self, model_id: str) -> None:
        self.show_problem(None)
        outcome: Outcome[Any] = await self.context.commands.probe(model_id)
        if isinstance(outcome, Done):
            outcome = await self.context.commands.job_ended(outcome.value.job_id)
        if isinstance(outcome, Refused):
            self.show_problem(outcome.problem)
        await self._show_certificate(model_id)

    async def _show_certificate(self, model_id: str) -> None:
        outcome = await self.context.commands.probe_report(model_id)
        if isinstance(outcome, Refused):
            self.show_problem(outcome.problem)
            return
        self._certificate = (model_id, outcome.value)
        self._show_model()

    async def _show_outcome(self, asked: Awaitable[Outcome[Any]]) -> None:
        self.show_problem(None)
        outcome = await asked
        if isinstance(outcome, Refused):
            self.show_problem(outcome.problem)
        self._show_model()

    # --- removal ---

    def _remove(self) -> None:
        entry = self.browser.row
        if entry is None:
            return
        self._carry_out_removal()  # one that was asked for before
        if held := model_rows.holders(entry):
            text = tr("{model} is in use ({holders}). Unload it and let its work end first.", model=entry.name,
                      holders=", ".join(held))  # fmt: skip
            self.show_problem(Problem("in_use_here", text))
            return
        self.show_problem(None)
        self._leaving = entry.key
        self._removal.start()
        self._narrowed()

    def _undo(self) -> None:
        self._removal.stop()
        self._leaving = ""
        self._narrowed()
        self.browser.view.setFocus()

    def _carry_out_removal(self) -> None:
        catalog_id, self._leaving = self._leaving, ""
        self._removal.stop()
        self.undo.show_text("")
        if catalog_id:
            self.context.tasks.spawn(self._removed(catalog_id), promised=True)

    async def _removed(self, catalog_id: str) -> None:
        outcome = await self.context.commands.remove(catalog_id)
        if isinstance(outcome, Refused):
            problem = outcome.problem
            if held := model_rows.holders_text(problem):
                text = tr("It is held by {holders}. Unload it and let its work end first.", holders=held)
                problem = Problem(f"{problem.code}_named", text, problem.details)
            self.show_problem(problem)
        self._narrowed()


class SearchLine(QLineEdit):
    """As wide as a few words, and narrower where there is no room for them."""

    def __init__(self) -> None:
        super().__init__()
        self.setClearButtonEnabled(True)

    def sizeHint(self) -> QSize:
        return QSize(32 * self.fontMetrics().averageCharWidth(), super().sizeHint().height())


class Strip(QFrame):
    """A sentence with a button, there only while it has something to say."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self.text = Wrapping()
        self.button = QPushButton()
        row = QHBoxLayout(self)
        row.addWidget(self.text, 1)
        row.addWidget(self.button)
        self.hide()

    def show_text(self, text: str) -> None:
        self.text.setText(text)
        self.setVisible(bool(text))


def _key(entry: ModelEntry) -> str:
    return entry.key
