"""Blocking work on files, off the event loop, that is never left behind.

A thread can't be cancelled. If its caller went on without it, the file that it writes to would be closed under it, and
the number of that file might already belong to another one.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from functools import partial
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


async def disk_work(fn: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run ``fn`` in a thread. A caller that is cancelled goes on, cancelled, only when the thread has ended."""
    work = asyncio.get_running_loop().run_in_executor(None, partial(fn, *args, **kwargs))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        while not work.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait([work])
        if not work.cancelled():
            work.exception()  # Asked for once, so that asyncio doesn't report it as lost.
        raise
