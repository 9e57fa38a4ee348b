"""Where time comes from. Everything that waits, expires or stamps takes a :class:`Clock` instead of reading one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Protocol


class Clock(Protocol):
    """Three times that must not be confused.

    Durations and deadlines use ``monotonic``, which no clock change moves. ``wall_ms`` is for stamps that people
    read. ``steady_ms`` is for how long something is kept: a wall clock that is set while the process runs doesn't
    move it, and it stands still while the machine sleeps. Each process begins it at its wall clock, so the store
    notes how far the two have come apart, and moves what it keeps when the next process begins.
    """

    def monotonic(self) -> float:
        """Seconds since some fixed moment of this process."""
        ...

    def wall_ms(self) -> int:
        """Milliseconds since 1970 in UTC."""
        ...

    def steady_ms(self) -> int:
        """``wall_ms`` as it was when the process started, plus the monotonic time since."""
        ...


class SystemClock:
    """The clocks of the operating system."""

    def __init__(self) -> None:
        self._offset_ms = self.wall_ms() - round(time.monotonic() * 1000)

    def monotonic(self) -> float:
        return time.monotonic()

    def wall_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def steady_ms(self) -> int:
        return self._offset_ms + round(time.monotonic() * 1000)


class Timer(Protocol):
    def cancel(self) -> None: ...


CallLater = Callable[[float, Callable[[], None]], Timer]
"""``loop.call_later``."""


async def sleep_on(call_later: CallLater, seconds: float) -> None:
    """Sleep by the timers of ``call_later``, which a test may move."""
    over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def wake() -> None:
        if not over.done():
            over.set_result(None)

    timer = call_later(seconds, wake)
    try:
        await over
    finally:
        timer.cancel()
