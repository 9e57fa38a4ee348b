"""The Unix-domain socket: bound under the instance lock, open to its owner alone."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable
from typing import Final

from synapse_service.clock import Clock
from synapse_service.instance import BACKLOG, BoundSocket, InstanceLock, bind_socket
from synapse_service.server.peer import Peer, PeerRefused, SocketOptions, read_credentials, require_owner

SEND_BYTES: Final = 1024 * 1024
"""What the system is asked to buffer for each connection; many allow less than half of it."""


class UnixListener:
    """Accepts on a socket path.

    ``owner`` and ``credentials`` are arguments so that a foreign user can be played in a test.
    """

    def __init__(
        self,
        address: str,
        lock: InstanceLock,
        clock: Clock,
        *,
        owner: int | None = None,
        credentials: Callable[[SocketOptions], tuple[int, int]] = read_credentials,
    ) -> None:
        self._address = address
        self._lock = lock
        self._clock = clock
        self._owner = os.geteuid() if owner is None else owner
        self._credentials = credentials
        self._bound: BoundSocket | None = None
        self._server: asyncio.Server | None = None

    async def start(self, accept: Callable[[], asyncio.Protocol]) -> None:
        self._bound = bind_socket(self._address, self._lock)
        loop = asyncio.get_running_loop()
        self._server = await loop.create_unix_server(accept, sock=self._bound.socket, backlog=BACKLOG)

    def peer(self, transport: asyncio.BaseTransport) -> Peer:
        connection = transport.get_extra_info("socket")
        if connection is None:
            raise PeerRefused("the connection has no socket")
        pid, uid = self._credentials(connection)
        require_owner(uid, self._owner)
        return Peer(pid, uid, self._clock.wall_ms())

    def widen(self, transport: asyncio.BaseTransport) -> None:
        connection = transport.get_extra_info("socket")
        if connection is not None:
            # The system's default holds less than half of a page of results, and what doesn't fit is copied twice more.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BYTES)

    def hung_up(self, transport: asyncio.BaseTransport) -> bool:
        connection = transport.get_extra_info("socket")
        if connection is None or connection.fileno() < 0:
            return True
        try:
            # An empty write reaches nobody, but fails once the peer has closed both directions. Polling would not do:
            # some systems report a hang-up already when the peer has only finished sending.
            os.write(connection.fileno(), b"")
        except BlockingIOError:
            return False
        except OSError:
            return True
        return False

    def close(self) -> None:
        if self._server is not None:
            self._server.close()
        if self._bound is not None:
            self._bound.remove()
