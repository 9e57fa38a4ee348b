"""What a page is, and what it is given.

A page is one file with one class derived from :class:`Page`, and one line in ``pages/__init__.py``. It

- has a ``name`` (stable, for code and tests), a static :meth:`Page.label` (translated, for the navigation) and an
  ``icon`` (a file of ``resources/synapse_resources/icons`` without ``.svg``);
- builds its widgets in ``__init__`` without texts, and gives every one of them its text in :meth:`Page.retranslate`,
  which is called after construction and whenever the language changes;
- draws from :meth:`Page.show_state`, which gets the picture shown before and the present one. It is called when the
  page becomes visible (with ``before`` None) and after each change while it is. Compare parts by identity
  (``before is None or before.jobs is not after.jobs``) and leave alone what didn't change;
- asks the service for something through ``self.context.commands`` inside ``self.spawn(coroutine)``, and shows a
  :class:`~synapse_app.commands.Refused` with :meth:`Page.show_problem`. It never knows the socket, never blocks, and
  never changes the picture itself.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, ClassVar

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QLabel, QScrollArea, QVBoxLayout, QWidget

from synapse_app.autostart import Autostart
from synapse_app.commands import Commands
from synapse_app.fingerprints import Fingerprints
from synapse_app.i18n import Languages, tr
from synapse_app.preferences import Preferences
from synapse_app.problems import Problem
from synapse_app.state import AppState, StateStore
from synapse_app.tasks import Tasks
from synapse_app.theme import SPACE, Theme
from synapse_app.tray import status_line


@dataclass(frozen=True)
class PageContext:
    """What pages share. ``open_page`` shows another page by its name."""

    store: StateStore
    commands: Commands
    tasks: Tasks
    preferences: Preferences
    languages: Languages
    theme: Theme
    autostart: Autostart
    fingerprints: Fingerprints
    open_page: Callable[[str], None]


class Page(QWidget):
    """The base of every page: a title, a line for problems, and ``self.body`` below them for what the page adds."""

    name: ClassVar[str]
    icon: ClassVar[str]
    listed: ClassVar[bool] = True
    """Whether the navigation offers the page; one that isn't is opened by name."""
    scrolls: ClassVar[bool] = False
    """Whether the page as a whole scrolls where the window is too small for it, at large text for instance."""

    @staticmethod
    def label() -> str:
        """What the navigation calls the page."""
        raise NotImplementedError

    def __init__(self, context: PageContext) -> None:
        super().__init__()
        self.context = context
        self._shown: AppState | None = None
        self._title = QLabel()
        self._title.setObjectName("title")
        self._problem = QLabel()
        self._problem.setObjectName("bad")
        self._problem.setWordWrap(True)
        self._problem.setMinimumWidth(1)
        self._problem.setTextFormat(Qt.TextFormat.PlainText)
        self._problem.hide()
        self.body = QVBoxLayout()
        self.body.setSpacing(SPACE)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(3 * SPACE, 2 * SPACE, 3 * SPACE, 2 * SPACE)
        whole.setSpacing(SPACE)
        whole.addWidget(self._title)
        whole.addWidget(self._problem)
        if self.scrolls:
            whole.addWidget(_scrolling(self.body), 1)
        else:
            whole.addLayout(self.body, 1)
        context.store.changed.connect(self._changed)

    # --- for pages ---

    def retranslate(self) -> None:
        """Give every widget its text. Pages extend this and call ``super().retranslate()``."""
        self._title.setText(self.label())
        self.setAccessibleName(self.label())

    def show_state(self, before: AppState | None, after: AppState) -> None:
        """Draw ``after``; ``before`` is what was drawn last, or None when nothing or another language was."""
        raise NotImplementedError

    def missing(self, state: AppState, listing: str) -> str:
        """Why ``listing`` can't be shown, as a sentence that says what to do; empty when it was read."""
        if listing in state.read:
            return ""
        if not state.current:
            return tr("There is no connection to the service: {state}.", state=status_line(state))
        if listing not in state.offers:
            return tr("The service is older than this application. Install both in one version.")
        return tr("Reading…")

    def spawn(self, work: Coroutine[Any, Any, object]) -> None:
        """Run ``work`` beside everything else; it is cancelled when the application ends."""
        self.context.tasks.spawn(work)

    def show_problem(self, problem: Problem | None) -> None:
        """Say what went wrong above the page's content, or take that back."""
        self._problem.setText("" if problem is None else problem.text())
        self._problem.setToolTip("" if problem is None else problem.message)
        self._problem.setVisible(problem is not None)

    # --- Qt ---

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._draw()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() is QEvent.Type.LanguageChange:
            self.retranslate()
            self._shown = None
            if self.isVisible():
                self._draw()

    def _changed(self, before: AppState, after: AppState) -> None:
        if self.isVisible():
            self._draw()

    def _draw(self) -> None:
        before, self._shown = self._shown, self.context.store.state
        if before is not self._shown:
            self.show_state(before, self._shown)


def _scrolling(body: QVBoxLayout) -> QScrollArea:
    inside = QWidget()
    inside.setLayout(body)
    body.setContentsMargins(0, 0, 0, 0)
    area = QScrollArea()
    area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    area.setWidgetResizable(True)
    area.setWidget(inside)
    return area
