"""Lanes: what each one does and uses, loading and unloading, keeping warm, and the pause of all of them."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

from msgspec import UNSET
from PySide6.QtCore import QTimer
from PySide6.QtGui import QHideEvent
from PySide6.QtWidgets import QCheckBox, QComboBox, QFrame, QLineEdit, QPushButton, QVBoxLayout

from synapse_app import reducers
from synapse_app.commands import Outcome, Refused
from synapse_app.i18n import tr
from synapse_app.pages import lane_rows
from synapse_app.pages.base import Page, PageContext
from synapse_app.state import AppState
from synapse_app.theme import SPACE
from synapse_app.tray import PAUSE_MINUTES
from synapse_app.widgets.browser import Browser
from synapse_app.widgets.delegate import Look
from synapse_app.widgets.flow import Flow
from synapse_app.widgets.text import Wrapping
from synapse_wire import results as r

SECOND_MS: Final = 1000


class LanesPage(Page):
    """See above. ``now_ms`` is the time of day; what counts down is drawn again every second."""

    name = "lanes"
    icon = "lanes"
    scrolls = True

    @staticmethod
    def label() -> str:
        return tr("Lanes")

    def __init__(self, context: PageContext) -> None:
        super().__init__(context)
        self.now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000
        self.pause = PauseBar()
        self.pause.pause.clicked.connect(self._pause)
        self.pause.reason.returnPressed.connect(self._pause)
        self.pause.resume.clicked.connect(self._resume)
        self.load = QPushButton()
        self.unload = QPushButton()
        self.keep = QCheckBox()
        self.load.clicked.connect(self._load)
        self.unload.clicked.connect(self._unload)
        self.keep.clicked.connect(self._keep)
        self.browser: Browser[r.LaneRow] = Browser(
            context.theme,
            lambda row: row.lane_id,
            lane_rows.spoken,
            self._look,
            self.load,
            self.unload,
            self.keep,
        )
        self.browser.selected.connect(self._selected)
        self.browser.view.activated.connect(self._activated)
        self.browser.instead.button.clicked.connect(self._to_models)
        self.body.addWidget(self.pause)
        self.body.addWidget(self.browser, 1)
        self._clock = QTimer(self)
        self._clock.setInterval(SECOND_MS)
        self._clock.timeout.connect(self.tick)
        self.retranslate()

    def retranslate(self) -> None:
        super().retranslate()
        self.load.setText(tr("&Load"))
        self.unload.setText(tr("&Unload"))
        self.keep.setText(tr("&Keep it loaded"))
        self.browser.view.setAccessibleName(self.label())
        self.pause.retranslate()

    def show_state(self, before: AppState | None, after: AppState) -> None:
        parts = ("work", "link", "read")
        if before is None or any(getattr(before, part) is not getattr(after, part) for part in parts):
            self._show_rows(after)
        self._show_pause(after)
        self._show_lane()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._clock.stop()

    def tick(self) -> None:
        """A second has passed."""
        self._show_pause(self.context.store.state)
        self._show_lane()
        self.browser.view.viewport().update()

    # --- drawing ---

    def _look(self, row: Any) -> Look:
        return lane_rows.look(row, self.now_ms())

    def _show_rows(self, state: AppState) -> None:
        if not state.work and (missing := self.missing(state, reducers.LANES)):
            self.browser.show_instead(missing)
        elif not state.work:
            text = tr("No model is installed yet, so there is no lane. Install one, or add a model of your own.")
            self.browser.show_instead(text, tr("Open the models"))
        else:
            self.browser.show_rows(list(state.work.values()))
        paused = state.service is not None and state.service.pause is not UNSET
        if paused or any(map(lane_rows.counts_down, state.work.values())):
            self._clock.start()
        else:
            self._clock.stop()

    def _show_pause(self, state: AppState) -> None:
        pause = state.service.pause if state.service is not None else UNSET
        text = "" if pause is UNSET else lane_rows.pause_line(pause, self.now_ms())
        self.pause.show_pause(text, possible=state.offers_all("service.pause", "service.resume"))
        if text and not self._clock.isActive():
            self._clock.start()

    def _show_lane(self) -> None:
        row = self.browser.row
        current = self.context.store.state.current
        if row is None:
            return
        note, bad = lane_rows.note(row, self.now_ms())
        self.browser.card.show_facts(row.lane_id, lane_rows.facts(row, self.now_ms()), note=note, bad=bad)
        self.load.setEnabled(current and row.state == "unloaded" and row.pause is UNSET)
        self.unload.setEnabled(current and row.state == "ready")
        self.keep.setEnabled(current)
        self.keep.setChecked(row.keep_warm)

    # --- what is chosen ---

    def _selected(self) -> None:
        self.show_problem(None)
        self._show_lane()

    def _activated(self) -> None:
        """Enter or a double click: load what isn't loaded."""
        if self.load.isEnabled():
            self._load()

    def _load(self) -> None:
        self._act(self.context.commands.load_lane)

    def _unload(self) -> None:
        self._act(self.context.commands.unload)

    def _keep(self, on: bool) -> None:
        row = self.browser.row
        if row is not None:
            self.spawn(self._show_outcome(self.context.commands.keep_warm(row.lane_id, on)))

    def _act(self, command: Callable[[str], Awaitable[Outcome[Any]]]) -> None:
        row = self.browser.row
        if row is not None:
            self.spawn(self._show_outcome(command(row.lane_id)))

    def _pause(self) -> None:
        if self.pause.pause.isEnabled():
            reason = self.pause.reason.text().strip() or tr("Paused in the window")
            self.spawn(self._show_outcome(self.context.commands.pause_lanes(self.pause.minutes, reason)))

    def _resume(self) -> None:
        self.spawn(self._show_outcome(self.context.commands.resume_lanes()))

    def _to_models(self) -> None:
        self.context.open_page("models")

    async def _show_outcome(self, asked: Awaitable[Outcome[Any]]) -> None:
        self.show_problem(None)
        outcome = await asked
        if isinstance(outcome, Refused):
            self.show_problem(outcome.problem)
        self._show_lane()


class PauseBar(QFrame):
    """Takes all lanes out of use for a while: why, for how long, and back again. The page carries it out."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("card")
        self.text = Wrapping()
        self.reason = QLineEdit()
        self.reason.setMaxLength(200)
        self.reason.setMinimumWidth(200)
        self.duration = QComboBox()
        for minutes in (*PAUSE_MINUTES, None):
            self.duration.addItem("", minutes)
        self.pause = QPushButton()
        self.resume = QPushButton()
        column = QVBoxLayout(self)
        column.setContentsMargins(2 * SPACE, SPACE, 2 * SPACE, SPACE)
        column.setSpacing(SPACE)
        column.addWidget(self.text)
        column.addLayout(Flow(self.reason, self.duration, self.pause, self.resume))
        self._paused = ""

    @property
    def minutes(self) -> int | None:
        """For how long; None until somebody resumes."""
        minutes: int | None = self.duration.currentData()
        return minutes

    def show_pause(self, paused: str, *, possible: bool) -> None:
        """``paused`` is the present pause in words, or empty."""
        self._paused = paused
        self.text.setText(paused or tr("Pause all lanes to have this machine's memory for something else."))
        for widget in (self.reason, self.duration, self.pause):
            widget.setVisible(not paused)
            widget.setEnabled(possible)
        self.resume.setVisible(bool(paused))
        self.resume.setEnabled(possible)

    def retranslate(self) -> None:
        self.reason.setPlaceholderText(tr("Reason, for others to read"))
        self.reason.setAccessibleName(tr("Reason of the pause"))
        self.duration.setAccessibleName(tr("Length of the pause"))
        for at, minutes in enumerate(PAUSE_MINUTES):
            self.duration.setItemText(at, tr("For {n} minutes", n=minutes))
        self.duration.setItemText(len(PAUSE_MINUTES), tr("Until resumed"))
        self.pause.setText(tr("&Pause all lanes"))
        self.resume.setText(tr("&Resume all lanes"))
