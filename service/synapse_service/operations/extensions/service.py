"""The operations ``service.*`` but for ``service.diagnostics``, and the topic ``service``."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import Protocol

import msgspec
from msgspec import UNSET

from synapse_service.clock import Clock
from synapse_service.events import EventHub
from synapse_service.lanes.pause import LanePause
from synapse_service.server.router import Call, Router
from synapse_wire import PROTOCOL
from synapse_wire.errors import invalid_state
from synapse_wire.params import DEFAULT_DRAIN_MS, NoParams, ServiceHello, ServicePause, ServiceShutdown
from synapse_wire.results import Hello, Holder, PauseStatus, ServiceInfo, ShuttingDown


class Serving(Protocol):
    """What is told about the socket server: ``SocketServer`` has it."""

    @property
    def connections(self) -> int: ...

    @property
    def state(self) -> str: ...


class AboutService:
    """What ``service.info`` says. ``everything`` is the pause of all local lanes.

    ``announce`` tells the subscribers of the topic ``service`` that it changed.
    """

    def __init__(
        self,
        hub: EventHub,
        serving: Serving,
        clock: Clock,
        *,
        version: str,
        module_generation: Callable[[], int],
        socket_path: str,
        home: str,
        everything: LanePause,
    ) -> None:
        self._hub = hub
        self.everything = everything
        self._serving = serving
        self._clock = clock
        self._started = clock.monotonic()
        self._at_start = ServiceInfo(
            server_version=version,
            protocol=PROTOCOL,
            module_generation=module_generation(),
            pid=os.getpid(),
            started_at_ms=clock.wall_ms(),
            uptime_ms=0,
            socket_path=_printable(socket_path),
            home=_printable(home),
            connections=0,
            state=serving.state,
        )
        hub.register_topic("service", self.info)

    def info(self) -> ServiceInfo:
        pause = self.everything.current
        return msgspec.structs.replace(
            self._at_start,
            uptime_ms=round((self._clock.monotonic() - self._started) * 1000),
            connections=self._serving.connections,
            state=self._serving.state,
            pause=UNSET if pause is None else pause,
        )

    def announce(self, *, terminal: bool = False) -> None:
        """Publish the present state; ``terminal`` for one that nothing later may replace."""
        self._hub.publish("service", self.info(), terminal=terminal, key="service")


def register(
    router: Router,
    about: AboutService,
    *,
    version: str,
    module_generation: Callable[[], int],
    holders: Callable[[], list[Holder]],
    request_stop: Callable[[float], None],
) -> None:
    """Serve the operations.

    ``holders`` lists what a stop would cut off. ``request_stop`` is called with the seconds to drain, after the reply
    has been written; a repeated call must be harmless.
    """

    def hello(call: Call, params: ServiceHello) -> Hello:
        call.connection.greet(params.client, params.scope)
        operations, extensions = router.served()
        return Hello(
            server_version=version,
            protocol=PROTOCOL,
            module_generation=module_generation(),
            operations=operations,
            extensions=extensions,
        )

    def info(call: Call, params: NoParams) -> ServiceInfo:
        return about.info()

    def shutdown(call: Call, params: ServiceShutdown) -> ShuttingDown:
        held = holders()
        if held and not params.force:
            raise invalid_state(
                f"{len(held)} holders would be cut off; let them finish, or stop with force",
                holders=msgspec.to_builtins(held),
            )
        drain_ms = DEFAULT_DRAIN_MS if params.drain_ms is None else params.drain_ms
        asyncio.get_running_loop().call_soon(request_stop, drain_ms / 1000)
        return ShuttingDown(state="stopping", drain_ms=drain_ms, holders=held)

    def pause(call: Call, params: ServicePause) -> PauseStatus:
        return about.everything.begin(params.reason, None if params.duration_ms is None else params.duration_ms / 1000)

    def resume(call: Call, params: NoParams) -> PauseStatus:
        return about.everything.end()

    router.add_inline("service.hello", hello)
    router.add_inline("service.info", info)
    router.add_inline("service.shutdown", shutdown)
    router.add_inline("service.pause", pause)
    router.add_inline("service.resume", resume)


def _printable(path: str) -> str:
    # A path may hold bytes that are not text; they come as lone surrogates, which JSON can't carry.
    return path.encode("utf-8", "replace").decode()
