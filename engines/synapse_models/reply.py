"""A successful reply inside an exchange: its document, or its events as they come, each within its time.

Made by :mod:`synapse_models.pool`, which decides what a reply means and who may wait for it; read by ``model.py``.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from typing import Final

from synapse_models.connection import OpenReply
from synapse_models.errors import IdleTimeout, ModelError, ProtocolViolation, TotalTimeout
from synapse_models.failures import request_id_of
from synapse_models.response import Attempt
from synapse_models.sse import SseEvent, SseParser

MAX_REPLY_BYTES: Final = 256 << 20
"""Largest document that a provider may answer with."""

MAX_EXCERPT_BYTES: Final = 64 << 10
"""How much of a failing reply is read; the rest says nothing new."""

SETTLE_S: Final = 0.25
"""How long the end of a reply is awaited after the end of what it said."""


class Reply:
    """A successful reply inside an exchange: a document in ``body``, or events from :meth:`next_events`.

    ``attempts`` are the tries so far, the successful one last.
    """

    def __init__(self, opened: OpenReply, attempts: tuple[Attempt, ...], deadline: float, idle_s: float) -> None:
        self.status = opened.status
        self.headers: Mapping[str, str] = opened.headers
        self.provider_request_id = request_id_of(opened.headers)
        self.attempts = attempts
        self.body = b""
        self._opened = opened
        self._deadline = deadline
        self._idle_s = idle_s
        self._parser = SseParser()
        self._first: list[SseEvent] = []
        self._ended = False

    async def next_events(self) -> list[SseEvent]:
        """The events that came next, at least one; none at the end of the stream.

        Raises:
            IdleTimeout, TotalTimeout: nothing came for too long.
            ConnectionFailed: the connection broke.
            ProtocolViolation: an event is too large.
        """
        if self._first:
            first, self._first = self._first, []
            return first
        while not self._ended:
            chunk = await self._read_in_time()
            self._ended = not chunk
            if events := self._parser.feed(chunk):
                return events
        return []

    async def begin_stream(self) -> None:
        """Waits for the first events, within the time of the attempt."""
        while not self._first and not self._ended:
            chunk = await self._opened.read()
            self._ended = not chunk
            self._first = self._parser.feed(chunk)

    async def read_document(self) -> bytes:
        """The whole body. Once it has begun, no silence may be longer than ``idle_s``.

        Raises:
            ProtocolViolation: it is larger than :data:`MAX_REPLY_BYTES`.
        """
        body = await self._read_up_to(MAX_REPLY_BYTES)
        if len(body) > MAX_REPLY_BYTES:
            raise ProtocolViolation(f"the reply is larger than {MAX_REPLY_BYTES} bytes")
        return body

    async def read_excerpt(self) -> bytes:
        """The body of a reply that is no answer, or as much of it as says something."""
        return await self._read_up_to(MAX_EXCERPT_BYTES)

    async def _read_up_to(self, limit: int) -> bytes:
        """The body, or more than ``limit`` bytes of it."""
        pieces = [await self._opened.read()]
        size = len(pieces[0])
        while pieces[-1] and size <= limit:
            pieces.append(await self._read_in_time())
            size += len(pieces[-1])
        return b"".join(pieces)

    async def settle(self) -> None:
        """Reads what is left after the protocol's own end, so that the connection can be used again.

        A server that doesn't end the reply soon loses its connection, and nobody waits for it.
        """
        with contextlib.suppress(TimeoutError, ModelError):
            async with asyncio.timeout(SETTLE_S):
                while not self._ended:
                    self._ended = not await self._opened.read()

    def close(self) -> None:
        """Gives the connection back, or breaks it off when the reply wasn't read to its end."""
        self._opened.close()

    async def _read_in_time(self) -> bytes:
        now = asyncio.get_running_loop().time()
        idle = now + self._idle_s
        scope = asyncio.timeout_at(min(idle, self._deadline))
        try:
            async with scope:
                return await self._opened.read()
        except TimeoutError:
            pass
        if idle < self._deadline:
            raise IdleTimeout(f"the reply fell silent for {self._idle_s:g} s")
        raise TotalTimeout("the reply took longer than the whole call may")
