"""When a lane's engine compiled instead of computing, and which of those who waited were kept from it by that.

A worker of the Neural Engine compiles the graph for each length of rows when that length is first used, which takes
tens of seconds, and computes nothing meanwhile. A lane owns one of these logs; its worker's messages are noted here.
"""

from __future__ import annotations


class CompileLog:
    """Every compile of a lane, by number."""

    def __init__(self) -> None:
        self._begun = 0
        self._latest = 0
        self._running = False

    def note(self, shape: int, begun: bool) -> None:
        """The worker begins to compile for rows of ``shape`` tokens, or is done with it."""
        if begun:
            self._begun += 1
            self._latest = shape
        self._running = begun

    def interrupted(self) -> None:
        """The worker is gone, whatever it was doing."""
        self._running = False

    @property
    def running(self) -> int | None:
        """The length that is being compiled for."""
        return self._latest if self._running else None

    def mark(self) -> int:
        """Where a wait begins; a compile that runs now is a part of it."""
        return self._begun - (1 if self._running else 0)

    def blocked(self, mark: int, *, computing: bool) -> int | None:
        """The length whose compile stood in the way of a wait that began at ``mark`` and ends now; None for no compile.

        Who still waits for the worker was held up by every compile since then, and of several the latest is told, also
        when there were more than anybody could keep apart. Whose rows are with the worker (``computing``) is held up
        only by a compile that goes on.
        """
        if self.running is not None:
            return self.running
        return self._latest if self._begun > mark and not computing else None
