"""Similar texts: a few texts, one a line, embedded in one batch and shown as a picture of how alike they are."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, ClassVar, Final

from PySide6.QtWidgets import QHBoxLayout, QPlainTextEdit

from synapse_app.commands import Done, Refused
from synapse_app.i18n import tr
from synapse_app.playground.heat_map import HeatMap
from synapse_app.playground.panel import Panel, lines_of
from synapse_app.playground.text_index import similarities

if TYPE_CHECKING:
    from synapse_app.pages.base import Page

MOST_TEXTS: Final = 12
_DEADLINE_MS: Final = 60_000


class SimilarTexts(Panel):
    """See above."""

    task: ClassVar[str] = "embed"

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self.texts = QPlainTextEdit()
        self.texts.setTabChangesFocus(True)
        self.picture = HeatMap(page.context.theme)
        bar = QHBoxLayout()
        bar.addWidget(self.lane, 1)
        bar.addWidget(self.go)
        self.column.addLayout(bar)
        self.column.addWidget(self.texts, 2)
        self.column.addWidget(self.note)
        self.column.addWidget(self.picture, 3)
        self.go.clicked.connect(self._start)
        self.texts.textChanged.connect(self.refresh)

    @staticmethod
    def label() -> str:
        return tr("Similar texts")

    def retranslate(self) -> None:
        super().retranslate()
        self.texts.setPlaceholderText(tr("Two texts or more, each on a line of its own"))
        self.texts.setAccessibleName(tr("Texts to compare"))
        self.go.setText(tr("Compare"))
        self.picture.retranslate()

    def refresh(self) -> None:
        super().refresh()
        count = len(lines_of(self.texts.toPlainText()))
        self.go.setEnabled(self.go.isEnabled() and count >= 2)
        limit = tr("At most {n} texts are compared.", n=MOST_TEXTS)
        meaning = tr("The stronger the colour, the more alike.")
        self.note.setText(limit if count > MOST_TEXTS else meaning)

    def _start(self) -> None:
        self.run(self._compare(self.chosen_lane, lines_of(self.texts.toPlainText())[:MOST_TEXTS]))

    async def _compare(self, lane: str, texts: list[str]) -> None:
        outcome = await self.page.context.commands.ask(
            lambda client: client.embed_batch(lane, texts, deadline_ms=_DEADLINE_MS)
        )
        if isinstance(outcome, Refused):
            self.refused(outcome)
            return
        assert isinstance(outcome, Done)
        self.picture.show_table(texts, await asyncio.to_thread(similarities, outcome.value.vectors))
