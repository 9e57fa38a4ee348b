"""First run: what this machine can run and why not the rest, and the few things worth deciding at the beginning.

It is shown once by itself, and again from the settings. Nothing is decided by leaving it: what is chosen here is
changed at once, and everything has a default.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from PySide6.QtGui import QHideEvent
from PySide6.QtWidgets import QCheckBox, QFrame, QLabel, QPushButton, QVBoxLayout, QWidget

from synapse_app import words
from synapse_app.commands import Refused
from synapse_app.i18n import tr
from synapse_app.pages.base import Page, PageContext
from synapse_app.state import AppState
from synapse_app.theme import SPACE
from synapse_app.widgets.autostart_box import AutostartBox
from synapse_app.widgets.details import Fact, FactsGrid
from synapse_app.widgets.flow import Flow
from synapse_app.widgets.storage_folder import StorageFolder
from synapse_app.widgets.text import Wrapping
from synapse_wire import results as r

ENGINES_CHECK = "engines"
CPU = "cpu"


def devices(diagnostics: r.Diagnostics) -> dict[str, str]:
    """Each device that was looked for, and why it can't be used; an empty reason where it can."""
    check = next((check for check in diagnostics.checks if check.check == ENGINES_CHECK), None)
    facts: Any = None if check is None else check.facts
    if not isinstance(facts, Mapping):
        return {}
    found = {}
    for device, evidence in facts.items():
        if isinstance(evidence, Mapping):
            found[str(device)] = "" if evidence.get("runnable") else str(evidence.get("reason") or "unknown")
    return found


def question(found: Mapping[str, str]) -> str:
    """What the answer about the processor depends on."""
    if found.get(CPU):
        return tr("This processor can't compute models.")
    if any(not reason for device, reason in found.items() if device != CPU):
        return tr("This machine has an accelerator, so the processor is only needed for models that don't run there.")
    return tr("No supported accelerator was found, so models can only run on the processor. It is slower, and works.")


class FirstRunPage(Page):
    """See above."""

    name = "first_run"
    icon = "first_run"
    scrolls = True
    listed = False

    @staticmethod
    def label() -> str:
        return tr("Welcome to Synapse")

    def __init__(self, context: PageContext) -> None:
        super().__init__(context)
        self.found: dict[str, str] = {}
        self.intro = Wrapping()
        self.machine = FactsGrid()
        self.problems = FactsGrid()
        self._findings: list[r.Diagnostic] = []
        self.question = Wrapping()
        self.cpu = QCheckBox()
        self.cpu_fixed = Wrapping("muted")
        self.storage = StorageFolder()
        self.start = AutostartBox(context.autostart)
        self.done = QPushButton()
        self.done.setObjectName("primary")
        self.again = QPushButton()
        self._headings: list[tuple[QLabel, Callable[[], str]]] = []
        self.body.addWidget(self.intro)
        self._card(lambda: tr("What this machine can run"), self.machine, self.problems)
        self._card(lambda: tr("Computing on the processor"), self.question, self.cpu, self.cpu_fixed)
        self._card(lambda: tr("Where models are kept"), self.storage)
        self._card(lambda: tr("Starting"), self.start, self.start.failure)
        self.body.addLayout(Flow(self.done, self.again))
        self.body.addStretch(1)
        self.cpu.clicked.connect(self._use_cpu)
        self.storage.chosen.connect(self._storage_chosen)
        self.done.clicked.connect(self._done)
        self.again.clicked.connect(self._look)
        self.retranslate()

    def _card(self, heading: Callable[[], str], *members: QWidget) -> None:
        card = QFrame()
        card.setObjectName("card")
        label = QLabel()
        label.setObjectName("heading")
        self._headings.append((label, heading))
        column = QVBoxLayout(card)
        column.setContentsMargins(2 * SPACE, SPACE, 2 * SPACE, SPACE)
        column.setSpacing(SPACE // 2)
        column.addWidget(label)
        for member in members:
            column.addWidget(member)
        self.body.addWidget(card)

    def retranslate(self) -> None:
        super().retranslate()
        for label, text in self._headings:
            label.setText(text())
        self.intro.setText(
            tr("Synapse runs models on this machine for all your apps. What you choose here can be changed later.")
        )
        self.cpu.setText(tr("Compute on the &processor"))
        self.start.setText(tr("&Start with my session"))
        self.done.setText(tr("&Choose models"))
        self.again.setText(tr("&Look again"))
        self._show_findings()

    def show_state(self, before: AppState | None, after: AppState) -> None:
        if after.current and (before is None or not before.current):
            self._look()
        setting = after.settings.get("cpu_lanes")
        self.cpu.setChecked(setting is not None and bool(setting.value))
        fixed = setting is not None and setting.source == "env"
        self.cpu.setEnabled(after.current and setting is not None and not fixed and not self.found.get(CPU))
        self.cpu_fixed.setText(tr("Fixed by {variable}", variable="SYNAPSE_CPU_LANES") if fixed else "")
        self.cpu_fixed.setVisible(fixed)
        self.storage.show_status(after.storage)
        self.storage.setEnabled(after.current)
        self.again.setEnabled(after.current)
        self.start.show_choice()
        if not self.found:
            self.question.setText(self.missing(after, "service.diagnostics"))

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.context.preferences.first_run_done = True

    def _show_findings(self) -> None:
        if not self.found:
            return
        facts = [
            Fact(words.engine(device), tr("can run models") if not reason else words.reason(reason))
            for device, reason in sorted(self.found.items(), key=lambda item: bool(item[1]))
        ]
        self.machine.show_facts(facts)
        self.question.setText(question(self.found))
        wrong = [check for check in self._findings if check.status != "ok" and check.check != ENGINES_CHECK]
        shown = [
            Fact(check.check, f"{check.summary}. {check.remedy}." if isinstance(check.remedy, str) else check.summary)
            for check in wrong
        ]
        self.problems.show_facts(shown)
        self.problems.setVisible(bool(shown))

    # --- what is chosen ---

    def _look(self) -> None:
        self.spawn(self._looked())

    async def _looked(self) -> None:
        outcome = await self.context.commands.diagnostics()
        if isinstance(outcome, Refused):
            self.show_problem(outcome.problem)
            return
        self.show_problem(None)
        self._findings = outcome.value.checks
        self.found = devices(outcome.value)
        self._show_findings()
        self.show_state(self.context.store.state, self.context.store.state)

    def _use_cpu(self, on: bool) -> None:
        self.spawn(self._change_cpu(on))

    async def _change_cpu(self, on: bool) -> None:
        outcome = await self.context.commands.change_settings({"cpu_lanes": on})
        self.show_problem(outcome.problem if isinstance(outcome, Refused) else None)
        self.show_state(self.context.store.state, self.context.store.state)

    def _storage_chosen(self, wanted: str, path: str) -> None:
        self.spawn(self.storage.carry_out(self.context.commands, wanted, path))

    def _done(self) -> None:
        self.context.open_page("models")
