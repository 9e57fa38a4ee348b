"""The socket server: accepts, keeps the connections, and stops without losing a reply.

``boot`` makes one, with the handlers in a :class:`Router` and the instance lock in its hand.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from functools import partial
from typing import Final

from synapse_service.clock import Clock
from synapse_service.instance import InstanceLock
from synapse_service.server.connection import Connection
from synapse_service.server.host import Host, Limits
from synapse_service.server.router import Router
from synapse_service.server.transports import Listener, open_listener
from synapse_wire.endpoint import Endpoint

_CANCEL_GRACE_S: Final = 2.0
"""How long cancelled requests may take to clean up after themselves."""
_SEND_GRACE_S: Final = 1.0
"""How long the last replies may take to reach their readers."""


class SocketServer:
    """Serves ``router`` at ``endpoint`` to the user whose service this is.

    ``state`` is ``running``, or ``stopping`` once a stop has begun. ``listener`` and ``new_id`` are arguments for
    tests; by default the listener is the operating system's, and an id is 32 hex digits.
    """

    def __init__(
        self,
        router: Router,
        endpoint: Endpoint,
        lock: InstanceLock,
        limits: Limits,
        clock: Clock,
        module_generation: Callable[[], int],
        *,
        listener: Listener | None = None,
        new_id: Callable[[], str] = lambda: uuid.uuid4().hex,
    ) -> None:
        self.state = "running"
        self._host = Host(
            router=router,
            listener=open_listener(endpoint, lock, clock) if listener is None else listener,
            limits=limits,
            clock=clock,
            module_generation=module_generation,
            new_id=new_id,
        )

    @property
    def connections(self) -> int:
        """Open connections."""
        return len(self._host.connections)

    @property
    def in_flight(self) -> int:
        """Requests that run as tasks, on all connections."""
        return sum(connection.in_flight for connection in self._host.connections.values())

    async def start(self) -> None:
        """Begin to accept. Raises StartFailed when the address can't be bound."""
        await self._host.listener.start(lambda: Connection(self._host))

    def begin_stop(self) -> None:
        """Stop accepting, and refuse requests that would need a task; those that answer at once are still served."""
        self.state = "stopping"
        self._host.stopping = True
        self._host.listener.close()

    async def stop(self, drain_s: float) -> None:
        """Let running requests finish for at most ``drain_s`` seconds, then close every connection.

        What still runs then is cancelled and answered ``request_cancelled``. A request must not await this.
        """
        self.begin_stop()
        await self._finish(drain_s)
        for task in self._running():
            task.cancel()
        await self._finish(_CANCEL_GRACE_S)
        for connection in self._open():
            connection.close()
        await self._wait_until_closed(_SEND_GRACE_S)
        for connection in self._open():
            connection.abort()
        await self._wait_until_closed(_SEND_GRACE_S)

    def _open(self) -> list[Connection]:
        return list(self._host.connections.values())

    def _running(self) -> list[asyncio.Task[object]]:
        return [task for connection in self._open() for task in connection.tasks]

    async def _finish(self, seconds: float) -> None:
        if running := self._running():
            await asyncio.wait(running, timeout=seconds)

    async def _wait_until_closed(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        closed = []
        for connection in self._open():
            closed.append(future := loop.create_future())
            connection.on_close(partial(future.set_result, None))
        if closed:
            await asyncio.wait(closed, timeout=seconds)
