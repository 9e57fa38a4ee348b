"""A list view over :class:`RowsModel`, set up the same way everywhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import QAbstractListModel, QEvent, QSize, Qt
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QAbstractItemView, QListView, QWidget

from synapse_app.theme import Theme
from synapse_app.widgets.delegate import Look, RowDelegate
from synapse_app.widgets.rows import Index


class RowsView(QListView):
    """Rows of one height, one of which may be selected. Tab leaves the list; the arrow keys move in it."""

    def __init__(
        self,
        model: QAbstractListModel,
        theme: Theme,
        look: Callable[[Any], Look],
        *,
        lines: int = 2,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setModel(model)
        self.setItemDelegate(RowDelegate(theme, look, lines=lines, parent=self))
        self.setUniformItemSizes(True)
        self.setMouseTracking(True)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setTabKeyNavigation(False)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        theme.changed.connect(self._look_changed)

    def dataChanged(self, first: Index, last: Index, roles: Sequence[int] = ()) -> None:
        # Qt lays the whole list out again for every row that changed; ours are of one height, so those rows are painted
        # and nothing else. A screen reader is told by Qt's own way.
        if QAccessible.isActive():
            super().dataChanged(first, last, roles)
            return
        shown = self.viewport().rect()
        for at in range(first.row(), last.row() + 1):
            place = self.visualRect(self.model().index(at, 0))
            if place.intersects(shown):
                self.viewport().update(place)

    def sizeHint(self) -> QSize:
        return QSize(320, 3 * max(1, self.sizeHintForRow(0)))

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.LanguageChange, QEvent.Type.FontChange):
            self._look_changed()

    def _look_changed(self) -> None:
        self.scheduleDelayedItemsLayout()
        self.viewport().update()
