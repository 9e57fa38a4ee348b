"""How connections reach the service: a Unix socket, or on Windows a named pipe, behind one seam.

``socket_server`` is the only one to open them. A listener says who connected and whether that peer is still there; it
knows nothing of lines and messages.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import Protocol

from synapse_service.clock import Clock
from synapse_service.instance import InstanceLock
from synapse_service.server.peer import Peer
from synapse_wire.endpoint import Endpoint


class Listener(Protocol):
    """One address of this machine at which clients connect."""

    async def start(self, accept: Callable[[], asyncio.Protocol]) -> None:
        """Begin to accept; ``accept`` makes the protocol of each connection. Raises StartFailed."""
        ...

    def peer(self, transport: asyncio.BaseTransport) -> Peer:
        """Who connected. Raises PeerRefused for anyone but the user whose service this is."""
        ...

    def widen(self, transport: asyncio.BaseTransport) -> None:
        """Give a connection room for a whole large reply, as far as the system allows."""
        ...

    def hung_up(self, transport: asyncio.BaseTransport) -> bool:
        """After the end of input: True when the peer is gone, False when it only finished sending."""
        ...

    def close(self) -> None:
        """Stop accepting and remove the address. Connections stay."""
        ...


def open_listener(endpoint: Endpoint, lock: InstanceLock, clock: Clock) -> Listener:
    """The listener of this operating system for ``endpoint``."""
    if sys.platform == "win32":
        from synapse_service.server.transports.windows_pipe import PipeListener, proactor_pipes

        return PipeListener(endpoint.address, clock, proactor_pipes())
    from synapse_service.server.transports.unix import UnixListener

    return UnixListener(endpoint.address, lock, clock)
