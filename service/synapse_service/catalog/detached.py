"""Work that goes on when the request that began it is gone.

A client that leaves, or cancels, must not stop a change half-way. The service waits for such work when it stops.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Detached:
    """The work of one service that nobody's leaving stops."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of ``work``, which goes on although its caller is cancelled."""
        return await asyncio.shield(self.begin(work))

    def begin(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Start ``work``; an error of it is reported by asyncio unless somebody waits for it."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def close(self) -> None:
        """Wait for all of it."""
        while self._tasks:
            await asyncio.wait(self._tasks)
