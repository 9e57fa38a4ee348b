"""The window: navigation on one side, the chosen page on the other, and a banner while the service isn't answering.

Pages are made when they are first shown. The window is hidden rather than closed while there is a tray to come back
from; the application tells it whether there is, and whether the session is ending.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from PySide6.QtCore import QEvent, QSize, Qt, Signal
from PySide6.QtGui import QCloseEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QMainWindow,
    QPushButton,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from synapse_app import icons
from synapse_app.i18n import tr
from synapse_app.pages import Page, PageContext
from synapse_app.state import AppState, LinkState
from synapse_app.theme import SPACE
from synapse_app.tray import status_line

_FRAME: Final = QSize(8, 40)
"""What window managers put around a window, about; it isn't known before the window is shown."""
_NAME: Final = int(Qt.ItemDataRole.UserRole)


class Window(QMainWindow):
    """``closed`` is emitted when the user closed the window and ``may_hide`` said that there is nowhere to hide it."""

    closed = Signal()

    def __init__(self, context: PageContext, pages: Sequence[type[Page]], *, may_hide: Callable[[], bool]) -> None:
        super().__init__()
        self._context = context
        self._kinds = {page.name: page for page in pages}
        self._made: dict[str, Page] = {}
        self._may_hide = may_hide
        self.ending = False
        """Set when the session ends: then closing means closing."""
        self.navigation = QListWidget()
        self.navigation.setObjectName("nav")
        self.navigation.setTabKeyNavigation(False)
        for page in pages:
            item = QListWidgetItem()
            item.setData(_NAME, page.name)
            self.navigation.addItem(item)
            item.setHidden(not page.listed)
        self._stack = QStackedWidget()
        self.banner = _Banner()
        self.banner.start.clicked.connect(context.commands.start_service)
        side = QVBoxLayout()
        side.setContentsMargins(0, 0, 0, 0)
        side.setSpacing(0)
        side.addWidget(self.banner)
        side.addWidget(self._stack, 1)
        whole = QHBoxLayout()
        whole.setContentsMargins(0, 0, 0, 0)
        whole.setSpacing(0)
        whole.addWidget(self.navigation)
        whole.addLayout(side, 1)
        centre = QWidget()
        centre.setLayout(whole)
        self.setCentralWidget(centre)
        self.setMinimumSize(640, 420)
        self.resize(fitting(self.screen().availableSize()))
        self.navigation.currentRowChanged.connect(self._chosen)
        self.navigation.itemSelectionChanged.connect(self._selected)
        context.store.changed.connect(self._state_changed)
        context.theme.changed.connect(self._look_changed)
        for number in range(1, sum(page.listed for page in pages) + 1):  # those that aren't listed come last
            QShortcut(
                QKeySequence(f"Ctrl+{number}"), self, lambda number=number: self.navigation.setCurrentRow(number - 1)
            )
        QShortcut(QKeySequence(Qt.Key.Key_Escape), self, self._escaped)
        self.retranslate()
        self._look_changed()
        self.banner.show_state(context.store.state)

    # --- for the application ---

    def open(self, name: str | None = None) -> None:
        """Bring the window to the front, with the page called ``name`` or the one that was shown last."""
        if name is not None and name in self._kinds:
            self.navigation.setCurrentRow(list(self._kinds).index(name))
        elif self.navigation.currentRow() < 0:
            self.navigation.setCurrentRow(0)
        if self.isMinimized():
            self.showNormal()
        self.show()
        self.raise_()
        self.activateWindow()

    def page(self, name: str) -> Page:
        """The page called ``name``, made if it wasn't yet."""
        if name not in self._made:
            page = self._kinds[name](self._context)
            self._made[name] = page
            self._stack.addWidget(page)
        return self._made[name]

    @property
    def current(self) -> str | None:
        """The name of the page that is shown."""
        item = self.navigation.currentItem()
        return None if item is None else str(item.data(_NAME))

    def retranslate(self) -> None:
        self.setWindowTitle("Synapse")
        self.navigation.setAccessibleName(tr("Pages"))
        for at, page in enumerate(self._kinds.values()):
            self.navigation.item(at).setText(page.label())
        self._fit_navigation()

    # --- Qt ---

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() is QEvent.Type.LanguageChange:
            self.retranslate()

    def closeEvent(self, event: QCloseEvent) -> None:
        if not self.ending and self._may_hide():
            event.ignore()
            self.hide()
            return
        event.accept()
        self.closed.emit()

    def _escaped(self) -> None:
        # Only out of sight: a key that is pressed in passing doesn't end the application where closing does.
        if self._may_hide():
            self.hide()

    def show_hosted(self, there: bool) -> None:
        """Say that there is no tray to be in, or take it back."""
        self.banner.no_tray = not there
        self.banner.show_state(self._context.store.state)

    def _state_changed(self, before: AppState, after: AppState) -> None:
        self.banner.show_state(after)

    def _chosen(self, at: int) -> None:
        if at >= 0:
            self._stack.setCurrentWidget(self.page(list(self._kinds)[at]))

    def _selected(self) -> None:
        # A screen reader selects an entry without making it the current one.
        for item in self.navigation.selectedItems():
            self.navigation.setCurrentItem(item)

    def _look_changed(self) -> None:
        for at, page in enumerate(self._kinds.values()):
            self.navigation.item(at).setIcon(icons.page_icon(page.icon, self._context.theme.tokens.text))
        self._fit_navigation()

    def _fit_navigation(self) -> None:
        # A style sheet's padding doesn't enlarge items of a list, so their size is given.
        theme = self._context.theme
        metrics = self.navigation.fontMetrics()
        labels = [page.label() for page in self._kinds.values() if page.listed]
        width = max(map(metrics.horizontalAdvance, labels), default=0) + theme.scaled(20) + 9 * SPACE
        for at in range(self.navigation.count()):
            self.navigation.item(at).setSizeHint(QSize(width, metrics.height() + 2 * SPACE))
        self.navigation.setFixedWidth(max(theme.scaled(150), width + 3 * SPACE))


def fitting(available: QSize) -> QSize:
    """The size of a new window: the usual one, or what a small screen has beside the window's frame."""
    return QSize(1000, 680).boundedTo(available - _FRAME)


class _Banner(QFrame):
    """Says what is wrong with the service, and starts it where that helps."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("banner")
        self.text = QLabel()
        self.text.setWordWrap(True)
        self.text.setTextFormat(Qt.TextFormat.PlainText)
        self.start = QPushButton()
        row = QHBoxLayout(self)
        row.addWidget(self.text, 1)
        row.addWidget(self.start)
        self.no_tray = False
        self._state = AppState()
        self.hide()

    def show_state(self, state: AppState) -> None:
        """Show what is wrong, or nothing."""
        self._state = state
        self.start.setText(tr("Start the service"))
        self.start.setVisible(state.link in (LinkState.DOWN, LinkState.STOPPED))
        texts = [] if state.current else [status_line(state)]
        if state.problem is not None:
            texts.append(state.problem.text())
        if state.current and state.another_version:
            texts.append(tr("Service {version} is another version than this", version=state.version))
        if state.current and state.doubted:
            texts.append(status_line(state))
        if self.no_tray:
            texts.append(
                tr("This desktop shows no tray icons, so closing this window closes Synapse's tray application.")
            )
        self.text.setText("\n".join(texts))
        self.setVisible(bool(texts))

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() is QEvent.Type.LanguageChange:
            self.show_state(self._state)
