"""Activity: the service's structured log as it grows, with filters, and a report to copy that holds no secrets."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

import msgspec
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QLineEdit, QPushButton

from synapse_app import figures
from synapse_app.commands import Done, Refused
from synapse_app.i18n import tr
from synapse_app.pages.base import Page, PageContext
from synapse_app.state import AppState
from synapse_app.widgets.delegate import Look, Tone
from synapse_app.widgets.lists import RowsView
from synapse_app.widgets.rows import RowsModel
from synapse_wire import results as r

LEVELS: Final = ("debug", "info", "warning", "error")
_TONES: Final[dict[str, Tone]] = {"debug": "plain", "info": "accent", "warning": "warning", "error": "bad"}


class ActivityPage(Page):
    """Newest entries at the end; the view follows them for as long as it is scrolled down."""

    name = "activity"
    icon = "activity"

    @staticmethod
    def label() -> str:
        return tr("Activity")

    def __init__(self, context: PageContext) -> None:
        super().__init__(context)
        self.level = QComboBox()
        for level in LEVELS:
            self.level.addItem("", level)
        self.level.setCurrentIndex(LEVELS.index("info"))
        self.search = QLineEdit()
        self.search.setClearButtonEnabled(True)
        self.copy = QPushButton()
        self.note = QLabel()
        self.note.setObjectName("muted")
        self.model: RowsModel[r.LogEntry] = RowsModel(lambda entry: str(entry.seq), spoken, self)
        self.view = RowsView(self.model, context.theme, look, lines=1)
        bar = QHBoxLayout()
        bar.addWidget(self.level)
        bar.addWidget(self.search, 1)
        bar.addWidget(self.copy)
        self.body.addLayout(bar)
        self.body.addWidget(self.view, 1)
        self.body.addWidget(self.note)
        self.level.currentIndexChanged.connect(lambda _: self._show(self.context.store.state))
        self.search.textChanged.connect(lambda _: self._show(self.context.store.state))
        self.copy.clicked.connect(lambda: self.spawn(self._copy()))
        self.retranslate()

    def retranslate(self) -> None:
        super().retranslate()
        names = {
            "debug": tr("Everything"),
            "info": tr("Information and above"),
            "warning": tr("Warnings and errors"),
            "error": tr("Errors only"),
        }
        for at, level in enumerate(LEVELS):
            self.level.setItemText(at, names[level])
        self.level.setAccessibleName(tr("Level"))
        self.search.setPlaceholderText(tr("Search the log"))
        self.search.setAccessibleName(tr("Search the log"))
        self.copy.setText(tr("&Copy diagnostics"))
        self.view.setAccessibleName(tr("Log entries"))

    def show_state(self, before: AppState | None, after: AppState) -> None:
        if before is None or before.log is not after.log:
            self._show(after)

    def _show(self, state: AppState) -> None:
        bar = self.view.verticalScrollBar()
        follows = bar.value() >= bar.maximum() - 2
        entries = filtered(state.log.entries, str(self.level.currentData()), self.search.text())
        self.model.show(entries)
        if follows:
            self.view.scrollToBottom()
        shown = tr("{n} entries", n=len(entries))
        lost = tr("{n} entries were dropped because they came too fast", n=state.log.dropped)
        self.note.setText(f"{shown} · {lost}" if state.log.dropped else shown)

    async def _copy(self) -> None:
        outcome = await self.context.commands.diagnostics()
        if isinstance(outcome, Refused):
            self.show_problem(outcome.problem)
            return
        assert isinstance(outcome, Done)
        self.show_problem(None)
        QGuiApplication.clipboard().setText(report(self.context.store.state, outcome.value))
        self.note.setText(tr("Diagnostics copied."))


def filtered(entries: Sequence[r.LogEntry], level: str, text: str) -> list[r.LogEntry]:
    """Entries of ``level`` and above in which ``text`` occurs, in any case."""
    least = LEVELS.index(level)
    needle = text.strip().casefold()
    return [
        entry
        for entry in entries
        if (entry.level not in LEVELS or LEVELS.index(entry.level) >= least)
        and (not needle or needle in spoken(entry).casefold())
    ]


def spoken(entry: r.LogEntry) -> str:
    """One entry as a line of text."""
    facts = " ".join(f"{name}={value}" for name, value in entry.fields.items())
    return f"{entry.level} {entry.event} {facts}".rstrip()


def look(entry: r.LogEntry) -> Look:
    """How an entry is painted. Events and facts are for machines and people alike, and stay as they are."""
    facts = " ".join(f"{name}={value}" for name, value in entry.fields.items())
    return Look(
        title=f"{entry.event}  {facts}".rstrip(),
        side=figures.clock_time(entry.time_ms),
        badge="" if entry.level in ("info", "debug") else entry.level,
        tone=_TONES.get(entry.level, "plain"),
        fixed_width=True,
    )


def report(state: AppState, diagnostics: r.Diagnostics) -> str:
    """What is put on the clipboard: findings, settings that aren't defaults, and the latest log. No secret is in any.

    The service blacks out secrets in what it reports, and no log entry holds one.
    """
    changed = {name: setting.value for name, setting in state.settings.items() if setting.source != "default"}
    document = {
        "version": state.version,
        "checks": msgspec.to_builtins(diagnostics.checks),
        "settings": changed,
        "log": [spoken(entry) for entry in state.log.entries[-100:]],
    }
    return json.dumps(document, indent=2, ensure_ascii=False)
