"""The composition root of the tray application: makes every part, connects them, and ends them in order.

``main`` runs one of these. Tests make one with a service of their own and drive it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from PySide6.QtCore import QObject, QTimer
from PySide6.QtGui import QSessionManager
from PySide6.QtWidgets import QApplication, QMessageBox, QSystemTrayIcon

from synapse_app import icons, portal, sleep
from synapse_app.autostart import Autostart, tray_command
from synapse_app.commands import Commands, Refused
from synapse_app.desktop_notices import DesktopNotices
from synapse_app.fingerprints import Fingerprints
from synapse_app.i18n import Languages, tr
from synapse_app.link import ServiceLink
from synapse_app.notify import Notice, Notifier
from synapse_app.pages import PAGES, PageContext
from synapse_app.pages.first_run import FirstRunPage
from synapse_app.preferences import Preferences, preferences_file
from synapse_app.service_process import ServiceProcess
from synapse_app.state import StateStore
from synapse_app.tasks import Tasks
from synapse_app.theme import Theme
from synapse_app.tray import Tray
from synapse_app.window import Window
from synapse_wire.endpoint import Endpoint

TRAY_PATIENCE_MS: Final = 30_000
"""How long an application that was started with the session waits for a tray before it opens its window."""
SESSION_END_MS: Final = 30_000
"""A session that has not ended this long after it was about to isn't going to: somebody called it off."""


class Application(QObject):
    """Everything of one running tray application. ``quit`` is called when it is to end."""

    def __init__(
        self,
        app: QApplication,
        endpoint: Endpoint,
        *,
        home: Path | None = None,
        background: bool = False,
        auto_start: bool = True,
        process: ServiceProcess | None = None,
        autostart: Autostart | None = None,
        tray_available: Callable[[], bool] = QSystemTrayIcon.isSystemTrayAvailable,
        tray_patience_ms: int = TRAY_PATIENCE_MS,
        quit: Callable[[], object] | None = None,
    ) -> None:
        super().__init__(app)
        self._app = app
        self._background = background
        self._quit = app.quit if quit is None else quit
        app.setQuitOnLastWindowClosed(False)
        app.setWindowIcon(icons.app_icon())
        self.preferences = Preferences(preferences_file(home), self)
        self.languages = Languages(app)
        self.languages.use(self.preferences.language)
        self.theme = Theme(app)
        self.theme.percent = self.preferences.text_percent
        self.theme.choose(self.preferences.theme)
        self.store = StateStore(self)
        self.process = process or ServiceProcess(arguments=() if home is None else ("--home", str(home)))
        self.link = ServiceLink(self.store, self.process, endpoint.address, auto_start=auto_start)
        self.commands = Commands(self.link, self.store, self.process)
        self.tasks = Tasks()
        self.reduced_motion = False
        """What the desktop said; the user's own choice is in the preferences."""
        self.tray = Tray(self.store, available=tray_available, parent=self)
        self.desktop = DesktopNotices(self._show_on_icon, self._chosen, icons.app_icon())
        self.notifier = Notifier(self.store, self.preferences, self.desktop.show)
        self._last_notice: Notice | None = None
        self._window: Window | None = None
        self._context = PageContext(
            store=self.store,
            commands=self.commands,
            tasks=self.tasks,
            preferences=self.preferences,
            languages=self.languages,
            theme=self.theme,
            autostart=autostart or Autostart(tray_command(home)),
            fingerprints=Fingerprints(self.store, self.preferences, self),
            open_page=self.open,
        )
        self._called_off = QTimer(self)
        self._called_off.setSingleShot(True)
        self._called_off.setInterval(SESSION_END_MS)
        self._called_off.timeout.connect(self._session_goes_on)
        self._patience = QTimer(self)
        self._patience.setSingleShot(True)
        self._patience.setInterval(tray_patience_ms if background else 0)
        self._patience.timeout.connect(self._open_without_tray)
        self.preferences.changed.connect(self._preference_changed)
        self.languages.changed.connect(lambda _: self.tray.retranslate())
        self.tray.chosen.connect(self._chosen)
        self.tray.hosted.connect(self._hosted)
        self.tray.icon.messageClicked.connect(self._notice_clicked)
        app.commitDataRequest.connect(self._session_ends)

    # --- life ---

    def start(self) -> None:
        """Begin: the loop must be running."""
        self.tasks.spawn(self.link.run())
        self.tasks.spawn(portal.follow(self._desktop_says))
        self.tasks.spawn(sleep.follow_logind(self.link.woke))
        self.tasks.spawn(sleep.follow_clock(self.link.woke))
        self.tasks.spawn(self.desktop.run())
        self.tray.start()
        if not self._background:
            self.open()

    async def close(self) -> None:
        """End everything, once or again. The service stays."""
        self.tray.close()
        if self._window is not None:
            self._window.ending = True
            self._window.close()
        await self.tasks.close()  # what a page began tidies up in the page, which is still there for it
        if self._window is not None:
            self._window.deleteLater()
            self._window = None

    @property
    def window(self) -> Window:
        """The window, made when it is first asked for."""
        if self._window is None:
            self._window = Window(self._context, PAGES, may_hide=lambda: bool(self.tray.is_hosted))
            self._window.closed.connect(self._window_closed)
            self._window.show_hosted(self.tray.is_hosted is not False)
        return self._window

    def open(self, page: str | None = None) -> None:
        """Show the window; without a page the one that was shown last, and the very first time the welcome."""
        self.link.wake()
        if page is None and not self.preferences.first_run_done and self.window.current is None:
            page = FirstRunPage.name
        self.window.open(page)

    # --- what happens ---

    def _chosen(self, act: str, argument: str) -> None:
        match act:
            case "open":
                self.open()
            case "page":
                self.open(argument)
            case "download":
                self.tasks.spawn(self._download(argument))
            case "start":
                self.commands.start_service()
            case "pause":
                self.tasks.spawn(self._pause(int(argument)))
            case "resume":
                self.tasks.spawn(self._resume())
            case "close":
                self._quit()
            case "stop":
                self.tasks.spawn(self._stop_service())

    async def _pause(self, minutes: int) -> None:
        outcome = await self.commands.pause_lanes(minutes, tr("Paused from the tray"))
        if isinstance(outcome, Refused):
            self._tell(outcome.problem.text())

    async def _resume(self) -> None:
        outcome = await self.commands.resume_lanes()
        if isinstance(outcome, Refused):
            self._tell(outcome.problem.text())

    async def _download(self, catalog_id: str) -> None:
        outcome = await self.commands.download(catalog_id)
        if isinstance(outcome, Refused):
            self._tell(outcome.problem.text())

    async def _stop_service(self) -> None:
        outcome = await self.commands.stop_service()
        if isinstance(outcome, Refused) and (held := outcome.problem.details.get("holders")):
            text = tr("{n} things are still loaded or running. Stop the service anyway?", n=len(held))
            self._ask(text, lambda: self.tasks.spawn(self._force_stop()))
        elif isinstance(outcome, Refused):
            self._tell(outcome.problem.text())

    async def _force_stop(self) -> None:
        outcome = await self.commands.stop_service(force=True)
        if isinstance(outcome, Refused):
            self._tell(outcome.problem.text())

    def _ask(self, text: str, agreed: Callable[[], object]) -> None:
        """A question that doesn't block the loop; it is gone when the application ends."""
        box = QMessageBox(QMessageBox.Icon.Question, "Synapse", text, QMessageBox.StandardButton.Cancel, self.window)
        button = box.addButton(tr("Stop the service"), QMessageBox.ButtonRole.AcceptRole)
        button.clicked.connect(lambda: agreed())
        self._show_box(box)

    def _tell(self, text: str) -> None:
        box = QMessageBox(QMessageBox.Icon.Warning, "Synapse", text, QMessageBox.StandardButton.Ok, self.window)
        self._show_box(box)

    def _show_box(self, box: QMessageBox) -> None:
        self.window.open()
        box.finished.connect(lambda _: box.deleteLater())
        box.open()

    def _show_on_icon(self, notice: Notice) -> None:
        self._last_notice = notice
        kind = QSystemTrayIcon.MessageIcon.Warning if notice.urgent else QSystemTrayIcon.MessageIcon.Information
        self.tray.icon.showMessage(notice.title, notice.text, kind)

    def _notice_clicked(self) -> None:
        self.open(self._last_notice.page if self._last_notice is not None else None)

    def _preference_changed(self, name: str) -> None:
        match name:
            case "language":
                self.languages.use(self.preferences.language)
            case "theme":
                self.theme.choose(self.preferences.theme)
            case "text_percent":
                self.theme.set_text_percent(self.preferences.text_percent)

    def _desktop_says(self, key: str, value: int) -> None:
        if key == portal.COLOUR_SCHEME:
            self.theme.desktop_says({1: True, 2: False}.get(value))
        elif key == portal.REDUCED_MOTION:
            self.reduced_motion = value == 1

    def _hosted(self, there: bool) -> None:
        if self._window is not None:
            self._window.show_hosted(there)
        if there:
            self._patience.stop()
        elif not self._patience.isActive():
            self._patience.start()

    def _open_without_tray(self) -> None:
        if not self.tray.is_hosted:
            self.open()

    def _window_closed(self) -> None:
        # Nowhere to come back from: closing the window is closing the application. The service stays.
        self._quit()

    def _session_ends(self, manager: QSessionManager) -> None:
        """Let it: a question that is open would hold the session up, and the window must not merely hide."""
        if self._window is not None:
            self._window.ending = True
        while (asking := self._app.activeModalWidget()) is not None and asking.close():
            pass
        self._called_off.start()

    def _session_goes_on(self) -> None:
        if self._window is not None:
            self._window.ending = False
