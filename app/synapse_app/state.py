"""AppState: an immutable picture of what the service said last, and the store that holds the latest one.

Every menu entry and every page is drawn from this. It changes only through the functions of
:mod:`synapse_app.reducers`; ``link`` calls them, and no widget knows the socket. Each part is replaced as a whole when
something in it changes, so ``before.jobs is after.jobs`` says that nothing there did.

The link to the service is in one of these states:

==================  =======================================================  =======================
state               meaning                                                  leads to
==================  =======================================================  =======================
``searching``       looking for a service; the start of everything           all others
``starting``        a service process was started and doesn't answer yet     connected, down
``connected``       greeted; what is shown is current                        hung, down, stopping
``hung``            connected, but it answers nothing                        connected, down
``down``            nobody is there; looked for again with growing pauses    searching
``refused``         something is at the address that isn't ours to use       searching
``incompatible``    it speaks another protocol                               searching
``stopping``        the user asked it to stop; its process still runs        stopped, connected
``stopped``         it was stopped on request, and isn't started by itself   searching
==================  =======================================================  =======================
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

from PySide6.QtCore import QObject, QTimer, Signal

from synapse_app.problems import Problem
from synapse_wire import __version__
from synapse_wire import results as r

DRAW_PAUSE_S: Final = 0.2
"""Least time between two announcements of a stream of changes."""
LOG_ENTRIES: Final = 2000
"""Log entries that are kept for the activity page; older ones leave and are counted."""


class LinkState(Enum):
    """See the table above."""

    SEARCHING = "searching"
    STARTING = "starting"
    CONNECTED = "connected"
    HUNG = "hung"
    DOWN = "down"
    REFUSED = "refused"
    INCOMPATIBLE = "incompatible"
    STOPPING = "stopping"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class LogPicture:
    """The latest log entries, oldest first. ``dropped`` is how many the service or this side had to let go."""

    entries: tuple[r.LogEntry, ...] = ()
    dropped: int = 0

    @property
    def last_seq(self) -> int:
        return self.entries[-1].seq if self.entries else 0


@dataclass(frozen=True, slots=True)
class AppState:
    """What is known. While nothing is connected, what was said last stays, and ``current`` is False."""

    link: LinkState = LinkState.SEARCHING
    problem: Problem | None = None
    service: r.ServiceInfo | None = None
    version: str = ""
    offers: frozenset[str] = frozenset()
    """Names of the operations that this service serves, extensions included."""
    settings: Mapping[str, r.Setting] = field(default_factory=dict)
    lanes: Mapping[str, r.ModelRow] = field(default_factory=dict)
    """By lane id: the lanes of the catalog and the user's own models, ``paused`` and ``quarantined`` ones too."""
    work: Mapping[str, r.LaneRow] = field(default_factory=dict)
    """By lane id: what each lane does, uses and waits for."""
    told: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """By lane id: what an event said last about it. Anything new here makes the listing be read again."""
    catalog: Mapping[str, r.CatalogModel] = field(default_factory=dict)
    downloads: Mapping[str, r.DownloadRow] = field(default_factory=dict)
    """By job id, newest first when read."""
    jobs: Mapping[str, r.JobRow] = field(default_factory=dict)
    """By job id, newest first when read: the newest, and all that go on."""
    jobs_cut: bool = False
    """True when there are jobs that have ended and weren't read."""
    log: LogPicture = LogPicture()
    usage: r.CacheUsage | None = None
    storage: r.StorageStatus | None = None
    """Where the models are; None from a service that can't move them."""
    read: frozenset[str] = frozenset()
    """The listings that were read since the connection came up: a page tells "none" from "not known yet" by it."""
    doubted: frozenset[str] = frozenset()
    """The listings that haven't been read again since the machine woke up."""

    @property
    def current(self) -> bool:
        """True while what is shown is what the service says now."""
        return self.link is LinkState.CONNECTED

    @property
    def another_version(self) -> bool:
        """True when a service of another version than this application answers."""
        return bool(self.version) and self.version != __version__

    def offers_all(self, *operations: str) -> bool:
        """True when connected to a service that serves all of ``operations``."""
        return self.current and self.offers.issuperset(operations)


Reducer = Callable[[AppState], AppState]


class StateStore(QObject):
    """Holds the latest picture. ``changed`` carries the picture shown before and the new one.

    Several changes within one turn of the event loop are announced together: what arrives in one read of the socket
    is drawn once. A change that comes alone is announced at once; of a stream of them, at most five a second, because
    events of several topics arrive ten times a second each, and drawing costs more than reading them.
    """

    changed = Signal(object, object)

    def __init__(self, parent: QObject | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(parent)
        self._clock = clock
        self._announced_at = float("-inf")
        self._state = self._announced = AppState()
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self.announce)

    @property
    def state(self) -> AppState:
        return self._state

    def apply(self, reducer: Reducer) -> AppState:
        """Replace the picture by what ``reducer`` makes of it, and announce it soon if that is another one."""
        self._state = reducer(self._state)
        if self._state is not self._announced and not self._timer.isActive():
            rest_s = DRAW_PAUSE_S - (self._clock() - self._announced_at)
            self._timer.start(round(1000 * max(0.0, rest_s)))
        return self._state

    def announce(self) -> None:
        """Tell listeners now about what was applied."""
        self._timer.stop()
        self._announced_at = self._clock()
        before, self._announced = self._announced, self._state
        if before is not self._state:
            self.changed.emit(before, self._state)
