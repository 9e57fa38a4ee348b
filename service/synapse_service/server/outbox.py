"""What one connection has said and its peer has not read yet.

Owned by ``connection``, which tells it when the transport takes no more and when it does again. An event loop's
transport copies whatever the socket doesn't take at once, and a page of results is larger than most sockets take. So a
transport gets a long part in pieces, the next one when the last was taken: what waits is the object that was put in.

============  ===================================  ============================================
now           event                                effect
============  ===================================  ============================================
flowing       put                                  pieces go to the transport until it blocks
flowing       the transport takes no more          what is left waits here
blocked       put                                  waits behind the rest
blocked       the transport has sent everything    the next pieces go to it
any           close                                the transport closes when nothing waits here
============  ===================================  ============================================
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final

_PIECE_BYTES: Final = 128 * 1024
"""What is handed to the transport at a time: little to copy if the socket takes none of it, few calls if all."""


class Outbox:
    """Sends in order. ``full`` is true from more than ``high_water`` unsent bytes until only a quarter of that is left.

    Its users stop asking for more while it is full; what is put in nevertheless is kept and sent.
    """

    def __init__(self, transport: asyncio.Transport, high_water: int) -> None:
        # Tell us as soon as anything is left over, and again when all of it has gone.
        transport.set_write_buffer_limits(high=0)
        self.full = False
        self._transport = transport
        self._high_water = high_water
        self._waiting: deque[bytes | memoryview] = deque()
        self._waiting_bytes = 0
        self._blocked = False
        self._closing = False

    @property
    def unsent(self) -> int:
        """Bytes that the peer's socket has not taken."""
        return self._waiting_bytes + self._transport.get_write_buffer_size()

    @property
    def keeps(self) -> bool:
        """Something waits here that the transport doesn't know of yet."""
        return bool(self._waiting)

    @property
    def closing(self) -> bool:
        """Nothing more can be said."""
        return self._closing or self._transport.is_closing()

    def put(self, *parts: bytes) -> None:
        """Send ``parts``, one after the other."""
        for part in parts:
            if self._blocked or self._waiting or len(part) > _PIECE_BYTES:
                self._waiting.append(part)
                self._waiting_bytes += len(part)
                self._send()
            else:
                self._transport.write(part)
        if self._blocked and self.unsent > self._high_water:
            self.full = True

    def block(self) -> None:
        """The transport has more than it can send."""
        self._blocked = True

    def unblock(self) -> None:
        """The transport has sent all that it was given."""
        self._blocked = False
        self._send()
        if self.full and self.unsent <= self._high_water // 4:
            self.full = False

    def close(self) -> None:
        """Close the connection after what was put in has been sent."""
        self._closing = True
        if not self._waiting:
            self._transport.close()

    def abort(self) -> None:
        """Close the connection now."""
        self._closing = True
        self._waiting.clear()
        self._waiting_bytes = 0
        self._transport.abort()

    def _send(self) -> None:
        while self._waiting and not self._blocked and not self._transport.is_closing():
            part = self._waiting.popleft()
            if len(part) > _PIECE_BYTES:
                whole = memoryview(part)
                part = whole[:_PIECE_BYTES]
                self._waiting.appendleft(whole[_PIECE_BYTES:])
            self._waiting_bytes -= len(part)
            self._transport.write(part)
        if self._closing and not self._waiting:
            # A turn later: asyncio calls `unblock` in the middle of its writing, and closes a transport twice that was
            # closed in there.
            asyncio.get_running_loop().call_soon(self._transport.close)
