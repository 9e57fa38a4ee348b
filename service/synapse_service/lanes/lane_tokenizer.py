"""A lane's tokenizer: read on first use, shared by those who ask at the same time, let go with the lane's worker."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from synapse_engines.tokenizer import SanitisedTokenizer
from synapse_service.clock import Clock


class LaneTokenizer:
    """Lives on the event loop. ``in_memory`` is the tokenizer while it is there, ``since`` the monotonic time."""

    def __init__(self, lane_id: str, read: Callable[[], Awaitable[SanitisedTokenizer]], clock: Clock) -> None:
        self.in_memory: SanitisedTokenizer | None = None
        self.since: float | None = None
        self._clock = clock
        self._lane_id = lane_id
        self._read = read
        self._reading: asyncio.Task[SanitisedTokenizer] | None = None

    async def get(self) -> SanitisedTokenizer:
        """The tokenizer; several callers share one reading, and its error."""
        if self.in_memory is not None:
            return self.in_memory
        if self._reading is None:
            self._reading = asyncio.create_task(self._remember(), name=f"tokenizer {self._lane_id}")
        return await asyncio.shield(self._reading)

    async def _remember(self) -> SanitisedTokenizer:
        try:
            self.in_memory = await self._read()
            self.since = self._clock.monotonic()
            return self.in_memory
        finally:
            self._reading = None

    def drop(self) -> None:
        """Give its memory back."""
        self.in_memory = self.since = None

    async def close(self) -> None:
        """Give up a reading that is under way."""
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)
