"""A loopback server that says again what a real one once said, byte for byte and in the same pieces.

It stands in for the server of a recording, so that the whole way from request to response can be run where that server
can't. It checks nothing: whoever replays compares what was ``seen`` with what was recorded.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Sequence

_LENGTH = re.compile(rb"(?i)\r\ncontent-length: *(\d+)")


class Replay:
    """``async with Replay(replies) as server``: the n-th request gets the n-th of the replies, which are pieces."""

    def __init__(self, replies: Sequence[Sequence[bytes]]) -> None:
        self._replies = list(replies)
        self.seen: list[bytes] = []

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    async def __aenter__(self) -> Replay:
        self._server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        await self._server.wait_closed()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, OSError):
            while self._replies:
                head = await reader.readuntil(b"\r\n\r\n")
                length = _LENGTH.search(head)
                self.seen.append(head + await reader.readexactly(int(length[1]) if length else 0))
                reply = self._replies.pop(0)
                for piece in reply:
                    writer.write(piece)
                    await writer.drain()
                    await asyncio.sleep(0)
                if b"connection: close" in b"".join(reply).lower().partition(b"\r\n\r\n")[0]:
                    break
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
