"""Work that runs beside the window: started from a signal, kept alive until it ends, cancelled at the end.

What somebody was told will happen is not cancelled but waited for, though not for long.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, Final

FINISH_S: Final = 5.0
"""How long the end waits for work that was promised."""

_log = logging.getLogger(__name__)


class Tasks:
    """The tasks of the application. ``spawn`` may be called from any Qt signal while the loop runs."""

    def __init__(self, finish_s: float = FINISH_S) -> None:
        self.finish_s = finish_s
        self._promised: set[asyncio.Task[object]] = set()
        self._running: set[asyncio.Task[object]] = set()

    @property
    def idle(self) -> bool:
        """True when nothing runs."""
        return not self._running

    def spawn(self, work: Coroutine[Any, Any, object], *, promised: bool = False) -> asyncio.Task[object]:
        """Begin ``work``. What is ``promised`` has ``finish_s`` to finish when everything ends."""
        task: asyncio.Task[object] = asyncio.get_event_loop().create_task(work)
        if promised:
            self._promised.add(task)
        self._running.add(task)
        task.add_done_callback(self._ended)
        return task

    async def close(self) -> None:
        """Let what was promised finish, cancel everything else, and wait until it has ended."""
        if self._promised:
            await asyncio.wait(self._promised, timeout=self.finish_s)
        running = list(self._running)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    def _ended(self, task: asyncio.Task[object]) -> None:
        self._running.discard(task)
        self._promised.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("task_failed", exc_info=error)
