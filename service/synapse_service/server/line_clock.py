"""How long a peer may take to end a line that it has begun.

Owned by ``connection``. One timer for each connection at most, set again only when it rings: a busy connection ends
lines all the time and would otherwise set and cancel a timer for each of its reads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class LineClock:
    """Calls ``too_slow`` once a line has been open for ``seconds``.

    ``reading`` tells whether the connection is read just now; while it isn't, no time runs.
    """

    def __init__(self, seconds: float, reading: Callable[[], bool], too_slow: Callable[[], None]) -> None:
        self._seconds = seconds
        self._reading = reading
        self._too_slow = too_slow
        self._since: float | None = None
        self._timer: asyncio.TimerHandle | None = None

    def open(self, *, fresh: bool) -> None:
        """A line is open; ``fresh`` when it isn't the one that was open before."""
        loop = asyncio.get_running_loop()
        if fresh or self._since is None:
            self._since = loop.time()
        if self._timer is None:
            self._timer = loop.call_later(self._seconds, self._look)

    def ended(self) -> None:
        """No line is open."""
        self._since = None

    def stop(self) -> None:
        """The connection is gone."""
        self._since = None
        if self._timer is not None:
            self._timer.cancel()

    def _look(self) -> None:
        self._timer = None
        if self._since is None:
            return
        loop = asyncio.get_running_loop()
        if not self._reading():
            self._since = loop.time()  # the peer can't end its line while nothing is read
        left = self._since + self._seconds - loop.time()
        if left > 0:
            self._timer = loop.call_later(left, self._look)
        else:
            self._too_slow()
