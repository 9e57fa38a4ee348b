"""Rerank: candidates, one a line, scored against a question; the best first, with bars of the model's raw scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from PySide6.QtCore import QLocale
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QPlainTextEdit

from synapse_app.commands import Done, Refused
from synapse_app.i18n import isolated, tr
from synapse_app.playground.panel import Panel, lines_of
from synapse_app.widgets.delegate import Look
from synapse_app.widgets.lists import RowsView
from synapse_app.widgets.rows import RowsModel

if TYPE_CHECKING:
    from synapse_app.pages.base import Page

MOST_CANDIDATES: Final = 50
_DEADLINE_MS: Final = 60_000


@dataclass(frozen=True, slots=True)
class Scored:
    """One candidate with what the model says of it; ``place`` is its line."""

    place: int
    text: str
    score: float


class Ranking(Panel):
    """See above."""

    task: ClassVar[str] = "rerank"

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self.query = QLineEdit()
        self.candidates = QPlainTextEdit()
        self.candidates.setTabChangesFocus(True)
        self.model: RowsModel[Scored] = RowsModel(lambda row: str(row.place), spoken, self)
        self.view = RowsView(self.model, page.context.theme, look)
        bar = QHBoxLayout()
        bar.addWidget(self.lane, 1)
        bar.addWidget(self.go)
        self.column.addLayout(bar)
        self.column.addWidget(self.query)
        self.column.addWidget(self.candidates, 2)
        self.column.addWidget(self.note)
        self.column.addWidget(self.view, 3)
        self.go.clicked.connect(self._start)
        self.query.returnPressed.connect(self._start)
        self.query.textChanged.connect(self.refresh)
        self.candidates.textChanged.connect(self.refresh)

    @staticmethod
    def label() -> str:
        return tr("Rerank")

    def retranslate(self) -> None:
        super().retranslate()
        self.query.setPlaceholderText(tr("A question"))
        self.query.setAccessibleName(tr("Question"))
        self.candidates.setPlaceholderText(tr("Possible answers, each on a line of its own"))
        self.candidates.setAccessibleName(tr("Possible answers"))
        self.view.setAccessibleName(tr("Answers by score"))
        self.go.setText(tr("Score"))

    def refresh(self) -> None:
        super().refresh()
        count = len(lines_of(self.candidates.toPlainText()))
        ready = bool(self.query.text().strip()) and count > 0
        self.go.setEnabled(self.go.isEnabled() and ready)
        limit = tr("At most {n} answers are scored.", n=MOST_CANDIDATES)
        meaning = tr("Scores are the model's own, from 0 to 1, and can't be compared with those of another model.")
        self.note.setText(limit if count > MOST_CANDIDATES else meaning)

    def _start(self) -> None:
        if self.go.isEnabled():
            texts = lines_of(self.candidates.toPlainText())[:MOST_CANDIDATES]
            self.run(self._score(self.chosen_lane, self.query.text().strip(), texts))

    async def _score(self, lane: str, query: str, texts: list[str]) -> None:
        outcome = await self.page.context.commands.ask(
            lambda client: client.rerank(lane, query, texts, deadline_ms=_DEADLINE_MS)
        )
        if isinstance(outcome, Refused):
            self.refused(outcome)
            return
        assert isinstance(outcome, Done)
        self.model.show([Scored(int(place), texts[int(place)], score) for place, score in outcome.value.best_first()])
        self.view.scrollToTop()


def score_text(score: float) -> str:
    """A score in four significant digits: small ones differ far behind the point."""
    return isolated(QLocale().toString(score, "g", 4))


def spoken(row: Scored) -> str:
    return f"{score_text(row.score)} {row.text}"


def look(row: Scored) -> Look:
    return Look(title=row.text, detail=score_text(row.score), progress=row.score, tone="accent")
