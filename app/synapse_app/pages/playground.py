"""Playground: try a model without writing a program. Three panels, each in a tab of its own.

The panels live in :mod:`synapse_app.playground`.
"""

from __future__ import annotations

from typing import cast

from PySide6.QtWidgets import QTabWidget

from synapse_app.i18n import tr
from synapse_app.pages.base import Page, PageContext
from synapse_app.playground.panel import Panel
from synapse_app.playground.ranking import Ranking
from synapse_app.playground.searching import FolderSearch
from synapse_app.playground.similar import SimilarTexts
from synapse_app.state import AppState


class PlaygroundPage(Page):
    """See above."""

    name = "playground"
    icon = "playground"

    @staticmethod
    def label() -> str:
        return tr("Playground")

    def __init__(self, context: PageContext) -> None:
        super().__init__(context)
        self.similar = SimilarTexts(self)
        self.ranking = Ranking(self)
        self.searching = FolderSearch(self)
        self.tabs = QTabWidget()
        self.tabs.setDocumentMode(True)
        self.tabs.tabBar().setDrawBase(False)
        for panel in self._panels():
            self.tabs.addTab(panel, "")
        self.body.addWidget(self.tabs, 1)
        self.retranslate()

    def retranslate(self) -> None:
        super().retranslate()
        self.tabs.setAccessibleName(self.label())
        for at, panel in enumerate(self._panels()):
            self.tabs.setTabText(at, panel.label())
            panel.setAccessibleName(panel.label())
            panel.retranslate()

    def show_state(self, before: AppState | None, after: AppState) -> None:
        if before is None or before.lanes is not after.lanes or before.link is not after.link:
            for panel in self._panels():
                panel.show_lanes(after)

    def _panels(self) -> tuple[Panel, ...]:
        return cast(tuple[Panel, ...], (self.similar, self.ranking, self.searching))
