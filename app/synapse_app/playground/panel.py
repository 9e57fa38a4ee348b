"""What the three panels of the playground share: a choice of lanes that serve their task, and a button that is busy."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, ClassVar

from PySide6.QtCore import QSignalBlocker
from PySide6.QtWidgets import QComboBox, QLabel, QPushButton, QVBoxLayout, QWidget

from synapse_app.commands import Refused
from synapse_app.i18n import tr
from synapse_app.state import AppState
from synapse_app.theme import SPACE
from synapse_wire import results as r

if TYPE_CHECKING:
    from synapse_app.pages.base import Page


def serves(lane: r.ModelRow, task: str) -> bool:
    """Whether a request of ``task`` to this lane has a chance: it may be asleep, but not unproven or resting."""
    return (
        lane.task == task
        and lane.state != "quarantined"
        and lane.self_check.state != "failed"
        and lane.certified is not False
        and lane.serving_admission != "disabled"
    )


class Panel(QWidget):
    """One thing to try. A subclass has its ``task``, its texts, and what ``go`` starts."""

    task: ClassVar[str]

    def __init__(self, page: Page) -> None:
        super().__init__()
        self.page = page
        self.busy = False
        self.working: asyncio.Task[object] | None = None
        self._offered = False
        self.lane = QComboBox()
        self.lane.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.lane.setMinimumContentsLength(18)
        self.go = QPushButton()
        self.go.setObjectName("primary")
        self.note = QLabel()
        self.note.setObjectName("muted")
        self.note.setWordWrap(True)
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(SPACE, SPACE, SPACE, SPACE)
        self.column.setSpacing(SPACE)

    @staticmethod
    def label() -> str:
        """What the panel's tab is called."""
        raise NotImplementedError

    @property
    def chosen_lane(self) -> str:
        """The lane that is asked; empty when none serves."""
        return str(self.lane.currentData() or "")

    def show_lanes(self, state: AppState) -> None:
        """Offer the lanes that serve now; the one that was chosen stays chosen while it is among them."""
        names = (
            sorted(lane.model_id for lane in state.lanes.values() if serves(lane, self.task)) if state.current else []
        )
        if self._offered and [self.lane.itemData(at) for at in range(self.lane.count())] == (names or [""]):
            return
        self._offered = True
        chosen = self.chosen_lane
        with QSignalBlocker(self.lane):
            self.lane.clear()
            for name in names:
                self.lane.addItem(name, name)
            if not names:
                self.lane.addItem(tr("No model serves this yet"), "")
            self.lane.setCurrentIndex(max(0, self.lane.findData(chosen)))
        self.refresh()

    def retranslate(self) -> None:
        self.lane.setAccessibleName(tr("Model"))
        self._offered = False
        self.refresh()

    def refresh(self) -> None:
        """Enable what can be used now. Panels with more controls extend it."""
        self.go.setEnabled(bool(self.chosen_lane) and not self.busy)
        self.lane.setEnabled(bool(self.chosen_lane) and not self.busy)

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        """Carry out ``work`` with the panel shown as busy."""
        self.page.show_problem(None)
        self.busy = True
        self.refresh()
        self.working = self.page.context.tasks.spawn(self._to_the_end(work))

    async def _to_the_end(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        finally:
            self.busy = False
            self.refresh()

    def refused(self, outcome: Refused) -> None:
        """Say why nothing came of it."""
        self.page.show_problem(outcome.problem)


def lines_of(text: str) -> list[str]:
    """The texts that somebody entered, one a line; empty lines are none."""
    return [line.strip() for line in text.split("\n") if line.strip()]
