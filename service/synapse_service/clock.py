"""Where time comes from. Everything that waits, expires or stamps takes a :class:`Clock` instead of reading one."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Two times that must not be confused.

    Durations and deadlines use ``monotonic``, which no clock change moves. ``wall_ms`` is for stamps that people
    read or that must mean something after a restart.
    """

    def monotonic(self) -> float:
        """Seconds since some fixed moment of this process."""
        ...

    def wall_ms(self) -> int:
        """Milliseconds since 1970 in UTC."""
        ...


class SystemClock:
    """The clocks of the operating system."""

    def monotonic(self) -> float:
        return time.monotonic()

    def wall_ms(self) -> int:
        return time.time_ns() // 1_000_000
