"""The tray: which icon and which menu a picture gives (pure functions), and the object that keeps both on the screen.

:func:`icon_state` and :func:`menu` know no Qt. :class:`Tray` renders them, and copes with tray hosts that come late,
go away and return: it looks every two seconds, shows exactly one icon while there is a host, and says when there is
none so that the window is opened instead. Everything important is in the menu, because some desktops open it for
every click.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Literal

from msgspec import UNSET
from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QSystemTrayIcon

from synapse_app import figures, icons
from synapse_app.i18n import tr
from synapse_app.state import AppState, LinkState, StateStore
from synapse_wire import results as r

POLL_MS: Final = 2000
PAUSE_MINUTES: Final = (15, 45, 120)
_SHOWN_ROWS: Final = 6
LONGEST_NAME: Final = 60
"""Characters of a name in the menu; some desktops make it as wide as its longest entry, off the screen."""

Icon = Literal["idle", "working", "paused", "attention", "down"]
Act = Literal["open", "page", "start", "stop", "close", "pause", "resume"]
_LOADED: Final = ("ready", "loading", "paused")


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry. ``act`` with ``argument`` is what choosing it does; without one it informs, or opens ``children``.

    ``key`` is the entry's identity: as long as the keys stay, a menu that is open is updated in place.
    """

    key: str
    text: str = ""
    act: Act | None = None
    argument: str = ""
    children: tuple[Entry, ...] = ()
    enabled: bool = True

    @property
    def separator(self) -> bool:
        return not self.text


def icon_state(state: AppState) -> Icon:
    """What the icon says at a glance. A service that is being looked for or started is not yet a problem."""
    if state.link in (LinkState.DOWN, LinkState.STOPPED, LinkState.STOPPING, LinkState.STARTING, LinkState.SEARCHING):
        return "down"
    if state.link is not LinkState.CONNECTED:
        return "attention"
    lanes = state.lanes.values()
    if any(lane.state == "quarantined" or lane.self_check.state == "failed" for lane in lanes):
        return "attention"
    if _paused(state):
        return "paused"
    if any(map(_running, state.downloads.values())) or any(job.state == "running" for job in state.jobs.values()):
        return "working"
    return "working" if any(lane.state == "loading" for lane in lanes) else "idle"


def status_line(state: AppState) -> str:
    """The state of things in a few words."""
    match state.link:
        case LinkState.SEARCHING:
            return tr("Looking for the service…")
        case LinkState.STARTING:
            return tr("The service is starting…")
        case LinkState.HUNG:
            return tr("The service doesn't answer")
        case LinkState.DOWN:
            return tr("The service is not running")
        case LinkState.REFUSED:
            return tr("The service's socket can't be used")
        case LinkState.INCOMPATIBLE:
            return tr("The service has another version")
        case LinkState.STOPPING:
            return tr("The service is stopping…")
        case LinkState.STOPPED:
            return tr("The service was stopped")
        case LinkState.CONNECTED:
            return tr("Awake again: the lanes are being checked…") if state.doubted else _connected_line(state)


def menu(state: AppState) -> tuple[Entry, ...]:
    """The whole menu."""
    return tuple(_entries(state))


def _entries(state: AppState) -> Iterator[Entry]:
    yield Entry("status", status_line(state), enabled=False)
    if state.current and state.another_version:
        yield Entry(
            "version", tr("Service {version} is another version than this", version=state.version), enabled=False
        )
    loaded = [lane for lane in state.lanes.values() if lane.state in _LOADED]
    if state.current and loaded:
        yield Entry("lanes-separator")
        yield from (_lane(lane, state.work.get(lane.model_id)) for lane in loaded[:_SHOWN_ROWS])
        yield from _more("lanes", len(loaded))
    downloads = [download for download in state.downloads.values() if _running(download)]
    if state.current and downloads:
        yield Entry("downloads-separator")
        yield from (_download(state, download) for download in downloads[:_SHOWN_ROWS])
        yield from _more("downloads", len(downloads))
    yield Entry("open-separator")
    yield Entry("open", tr("Open Synapse"), "open")
    yield Entry("settings", tr("Settings…"), "page", "settings")
    if state.offers_all("service.pause", "service.resume"):
        yield Entry("pause", tr("Pause all lanes"), children=_pauses(), enabled=not _paused(state))
        yield Entry("resume", tr("Resume all lanes"), "resume", enabled=_paused(state))
    yield Entry("end-separator")
    if state.link in (LinkState.DOWN, LinkState.STOPPED):
        yield Entry("start", tr("Start the service"), "start")
    yield Entry("close", tr("Close tray (the service keeps running)") if state.current else tr("Close tray"), "close")
    if state.link in (LinkState.CONNECTED, LinkState.HUNG):
        yield Entry("stop", tr("Stop the service…"), "stop")


def _lane(lane: r.ModelRow, work: r.LaneRow | None) -> Entry:
    words = {
        "ready": tr("ready"),
        "loading": tr("loading"),
        "paused": tr("paused"),
    }
    doing = words[lane.state]
    if work is not None and isinstance(work.rss_bytes, int):
        doing = f"{doing} · {figures.size(work.rss_bytes)}"
    text = tr("{lane} — {state}", lane=_cut(lane.model_id), state=doing)
    return Entry(f"lane:{lane.model_id}", text, "page", "lanes")


def _download(state: AppState, download: r.DownloadRow) -> Entry:
    model = state.catalog.get(download.catalog_id)
    name = model.name if model is not None else download.catalog_id
    progress = figures.share(download.bytes_done, download.bytes_total)
    text = tr("{model} — {progress}", model=_cut(name), progress=progress)
    return Entry(f"download:{download.job_id}", text, "page", "models")


def _more(kind: str, count: int) -> Iterator[Entry]:
    if count > _SHOWN_ROWS:
        yield Entry(f"{kind}-more", tr("and {n} more", n=count - _SHOWN_ROWS), "open")


def _pauses() -> tuple[Entry, ...]:
    return tuple(
        Entry(f"pause-{minutes}", tr("For {n} minutes", n=minutes), "pause", str(minutes)) for minutes in PAUSE_MINUTES
    )


def _paused(state: AppState) -> bool:
    if state.service is not None and state.service.pause is not UNSET:
        return True
    return any(lane.state == "paused" for lane in state.lanes.values())


def _running(download: r.DownloadRow) -> bool:
    return download.state in ("queued", "downloading", "verifying")


def _connected_line(state: AppState) -> str:
    downloads = sum(map(_running, state.downloads.values()))
    if downloads:
        return tr("{n} downloads running", n=downloads)
    jobs = sum(job.state == "running" for job in state.jobs.values())
    if jobs:
        return tr("{n} jobs running", n=jobs)
    loaded = sum(lane.state in _LOADED for lane in state.lanes.values())
    return tr("{n} lanes loaded", n=loaded) if loaded else tr("Ready")


class Tray(QObject):
    """The icon and its menu. ``chosen`` carries (act, argument); ``hosted`` whether there is a tray to be seen in.

    ``available`` tells whether a tray host runs.
    """

    chosen = Signal(str, str)
    hosted = Signal(bool)

    def __init__(
        self,
        store: StateStore,
        *,
        available: Callable[[], bool] = QSystemTrayIcon.isSystemTrayAvailable,
        poll_ms: int = POLL_MS,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._store = store
        self._available = available
        self._entries: tuple[Entry, ...] = ()
        self._actions: dict[str, QAction] = {}
        self._shown_icon = ""
        self.menu = QMenu()
        self.menu.aboutToShow.connect(self._render)
        self.icon = QSystemTrayIcon(self)
        self.icon.setContextMenu(self.menu)
        self.icon.activated.connect(self._activated)
        self.is_hosted: bool | None = None
        """Whether a host was there at the last look; None before the first."""
        store.changed.connect(self._changed)
        self._render()
        self._timer = QTimer(self)
        self._timer.setInterval(poll_ms)
        self._timer.timeout.connect(self.look)

    def start(self) -> None:
        """Show the icon as soon as there is a host, now and from now on."""
        self.look()
        self._timer.start()

    def look(self) -> None:
        """See whether a tray host is there."""
        now = self._available()
        if now and not self.icon.isVisible():
            self.icon.show()
        elif now and self.is_hosted is False:
            self.icon.hide()  # the host that knew this icon has gone; the new one has to be told
            self.icon.show()
        if now is not self.is_hosted:
            self.is_hosted = now
            self.hosted.emit(now)

    def retranslate(self) -> None:
        self._render()

    def close(self) -> None:
        self._timer.stop()
        self.icon.hide()
        self.menu.clear()

    def _changed(self, before: AppState, after: AppState) -> None:
        self._render()

    def _activated(self, reason: QSystemTrayIcon.ActivationReason) -> None:
        if reason in (QSystemTrayIcon.ActivationReason.Trigger, QSystemTrayIcon.ActivationReason.DoubleClick):
            self.chosen.emit("open", "")

    def _render(self) -> None:
        state = self._store.state
        entries = menu(state)
        if entries != self._entries:
            if _keys(entries) == _keys(self._entries):
                self._update(entries)
            else:
                self._rebuild(entries)
            self._entries = entries
        wanted = icon_state(state)
        if wanted != self._shown_icon:
            self._shown_icon = wanted
            self.icon.setIcon(icons.tray_icon(wanted))
        self.icon.setToolTip(f"Synapse — {status_line(state)}")

    def _rebuild(self, entries: tuple[Entry, ...]) -> None:
        self.menu.clear()
        self._actions = {}
        self._add(self.menu, entries)

    def _add(self, menu: QMenu, entries: tuple[Entry, ...]) -> None:
        for entry in entries:
            if entry.separator:
                menu.addSeparator()
            elif entry.children:
                child = menu.addMenu(_escaped(entry.text))
                child.setEnabled(entry.enabled)
                self._actions[entry.key] = child.menuAction()
                self._add(child, entry.children)
            else:
                action = menu.addAction(_escaped(entry.text))
                action.setEnabled(entry.enabled)
                if entry.act is not None:
                    action.triggered.connect(lambda _=False, key=entry.key: self._choose(key))
                self._actions[entry.key] = action

    def _update(self, entries: tuple[Entry, ...]) -> None:
        for entry in entries:
            if (action := self._actions.get(entry.key)) is not None:
                action.setText(_escaped(entry.text))
                action.setEnabled(entry.enabled)
            self._update(entry.children)

    def _choose(self, key: str) -> None:
        entry = next((entry for entry in _flat(self._entries) if entry.key == key), None)
        if entry is not None and entry.act is not None:
            self.chosen.emit(entry.act, entry.argument)


def _flat(entries: tuple[Entry, ...]) -> Iterator[Entry]:
    for entry in entries:
        yield entry
        yield from _flat(entry.children)


def _keys(entries: tuple[Entry, ...]) -> list[tuple[str, Act | None, str]]:
    return [(entry.key, entry.act, entry.argument) for entry in _flat(entries)]


def _cut(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"


def _escaped(text: str) -> str:
    # An ampersand in a name isn't a mnemonic.
    return text.replace("&", "&&")
