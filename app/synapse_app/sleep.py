"""Notices that the machine slept, so that what is shown is looked at again instead of believed.

Where logind runs (Linux) it says so as the machine wakes. Everywhere else, and where the signal is missed, a clock that
counts sleep has jumped between two looks. Both may tell of the same sleep; looking twice does no harm.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Final

from synapse_app import bus

LOOK_S: Final = 5.0
JUMP_S: Final = 20.0
"""A look that comes this much later than it should: the machine slept, or this process was stopped as long."""
_PATH: Final = "/org/freedesktop/login1"
_INTERFACE: Final = "org.freedesktop.login1.Manager"


def wall_clock() -> float:
    """Seconds that go on counting while the machine sleeps, and that setting the time doesn't change if possible."""
    if sys.platform.startswith("linux"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.time()


async def follow_logind(woke: Callable[[], object]) -> None:
    """Call ``woke`` whenever logind says that the machine is awake again, until cancelled. Returns without logind."""
    if not sys.platform.startswith("linux"):
        return
    from jeepney import MatchRule

    rule = MatchRule(type="signal", interface=_INTERFACE, member="PrepareForSleep", path=_PATH)
    try:
        async with bus.opened("SYSTEM") as system:
            signals = await system.listen(rule)
            while True:
                _, begins = await signals.next()
                if begins == (False,):
                    woke()
    except bus.NoBus:
        return


async def follow_clock(
    woke: Callable[[], object],
    *,
    clock: Callable[[], float] = wall_clock,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Call ``woke`` whenever ``clock`` has jumped ahead, until cancelled."""
    last = clock()
    while True:
        await sleep(LOOK_S)
        now = clock()
        if now - last > LOOK_S + JUMP_S:
            woke()
        last = now
