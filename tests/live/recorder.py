"""A loopback proxy that hands bytes on and keeps them, as they were and in the pieces in which they came.

It reads nothing of what it carries, so what it kept is what was on the wire: no client, no server and no HTTP library
has a say in it.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field


@dataclass
class Recorded:
    """What went one way and then came back on one connection: a request and its reply, in pieces."""

    sent: list[bytes] = field(default_factory=list)
    received: list[bytes] = field(default_factory=list)


class Recorder:
    """``async with Recorder(host, port) as recorder``: carries everything to that server and back.

    ``exchanges`` are all that were seen, oldest first. A connection that is used again begins another one when its
    client speaks after the server did.
    """

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self.exchanges: list[Recorded] = []
        self._carriers: set[asyncio.Task[None]] = set()

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    async def __aenter__(self) -> Recorder:
        self._server = await asyncio.start_server(self._carry, "127.0.0.1", 0)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for carrier in self._carriers:
            carrier.cancel()
        await asyncio.gather(*self._carriers, return_exceptions=True)
        await self._server.wait_closed()

    async def _carry(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._carriers.add(task)
        server, to_server = await asyncio.open_connection(*self._target)
        seen: list[Recorded] = []
        try:
            await asyncio.gather(
                self._pump(client, to_server, seen, from_client=True),
                self._pump(server, to_client, seen, from_client=False),
            )
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            self._carriers.discard(task)
            for writer in (to_server, to_client):
                writer.close()
                with contextlib.suppress(OSError, asyncio.CancelledError):
                    await writer.wait_closed()

    async def _pump(
        self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, seen: list[Recorded], *, from_client: bool
    ) -> None:
        while piece := await source.read(1 << 16):
            if from_client and (not seen or seen[-1].received):
                seen.append(Recorded())
                self.exchanges.append(seen[-1])
            (seen[-1].sent if from_client else seen[-1].received).append(piece)
            sink.write(piece)
            await sink.drain()
        if sink.can_write_eof():
            sink.write_eof()
