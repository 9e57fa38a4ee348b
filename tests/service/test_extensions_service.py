"""``service.*``: who is greeted, what is told, and when a stop is refused."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import Any

import pytest

from fixtures.clocks import FakeClock
from fixtures.pauses import idle_pause
from fixtures.socket_server import GENERATION, serving
from synapse_service.events import EventHub
from synapse_service.operations.extensions import events, service
from synapse_service.server.connection import Connection
from synapse_service.server.router import Router
from synapse_service.server.socket_server import SocketServer
from synapse_wire.endpoint import Endpoint
from synapse_wire.results import Holder


class Parts:
    """The operations of ``service.*`` around a server, with what a test looks at."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.router = Router()
        self.held: list[Holder] = []
        self.stops: list[float] = []
        self.request_stop: Callable[[float], None] = self.stops.append
        self.connections: list[Connection] = []
        self.about: service.AboutService

    def prepare(self, server: SocketServer, endpoint: Endpoint) -> None:
        hub = EventHub(self.clock, asyncio.get_running_loop().call_later)
        self.about = service.AboutService(
            hub,
            server,
            self.clock,
            version="0.1.0",
            module_generation=lambda: GENERATION,
            socket_path=endpoint.address,
            home="/home/\udcff",
            everything=idle_pause(self.clock),
        )
        service.register(
            self.router,
            self.about,
            version="0.1.0",
            module_generation=lambda: GENERATION,
            holders=lambda: self.held,
            request_stop=lambda seconds: self.request_stop(seconds),
        )
        events.register(self.router, hub)
        self.router.add_inline("models.list", lambda call, params: self.connections.append(call.connection))


@pytest.fixture
def parts() -> Parts:
    return Parts(FakeClock(monotonic=10.0, wall_ms=1_800_000_000_000))


async def test_hello_tells_what_is_served(parts: Parts) -> None:
    async with serving(parts.router, prepare=parts.prepare) as running:
        client = await running.connect()
        scope = {"project_root": "/p", "harness": "h", "session": "s"}
        greeting = {"client": {"name": "editor", "version": "1.2"}, "protocol": 1, "scope": scope}
        assert await client.result("service.hello", greeting) == {
            "server_version": "0.1.0",
            "protocol": 1,
            "module_generation": GENERATION,
            "operations": ["models.list"],
            "extensions": [
                "service.hello",
                "service.info",
                "service.shutdown",
                "service.pause",
                "service.resume",
                "events.subscribe",
            ],
        }
        await client.call("models.list")
        connection = parts.connections[0]
        assert connection.greeted
        assert connection.client is not None
        assert (connection.client.name, connection.client.version) == ("editor", "1.2")
        assert connection.scope is not None
        assert (connection.scope.project_root, connection.scope.flow_id) == ("/p", None)
        assert (connection.peer.pid, connection.peer.uid) == (os.getpid(), os.geteuid())


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({}, "client"),
        ({"client": {}}, "client.name"),
        ({"client": {"name": ""}}, "client.name"),
        ({"client": {"name": "a\x00b"}}, "client.name"),
        ({"client": {"name": "a"}, "protocol": 2}, "protocol"),
        ({"client": {"name": "a"}, "protocol": "1"}, "protocol"),
        ({"client": {"name": "a"}, "scope": {"flow": "f"}}, "scope.flow"),
        ({"client": {"name": "a"}, "scope": {"flow_id": ""}}, "scope.flow_id"),
        ({"client": {"name": "a"}, "token": "t"}, "token"),
    ],
)
async def test_a_wrong_greeting_is_refused_by_field(parts: Parts, params: dict[str, Any], field: str) -> None:
    async with serving(parts.router, prepare=parts.prepare) as running:
        error = await (await running.connect()).error("service.hello", params)
        assert (error["number"], error["details"]["field"]) == (-32602, field)


async def test_info_tells_the_state_without_a_greeting(parts: Parts) -> None:
    async with serving(parts.router, prepare=parts.prepare) as running:
        client = await running.connect()
        parts.clock.advance(2.5)
        assert await client.result("service.info") == {
            "server_version": "0.1.0",
            "protocol": 1,
            "module_generation": GENERATION,
            "pid": os.getpid(),
            "started_at_ms": 1_800_000_000_000,
            "uptime_ms": 2500,
            "socket_path": running.endpoint.address,
            "home": "/home/?",
            "connections": 1,
            "state": "running",
        }


async def test_shutdown_is_refused_while_something_is_held_and_names_it(parts: Parts) -> None:
    parts.held = [Holder(kind="job", job_id="j1"), Holder(kind="request", lease_id="l1")]
    async with serving(parts.router, prepare=parts.prepare) as running:
        client = await running.connect()
        error = await client.error("service.shutdown", {"drain_ms": 500})
        assert error["code"] == "invalid_request"
        assert "number" not in error  # the state of the service refused it, not its parameters
        assert error["details"] == {"holders": [{"kind": "job", "job_id": "j1"}, {"kind": "request", "lease_id": "l1"}]}
        assert parts.stops == []
        forced = await client.result("service.shutdown", {"drain_ms": 500, "force": True})
        assert forced == {"state": "stopping", "drain_ms": 500, "holders": error["details"]["holders"]}
        await client.call("service.info")
        assert parts.stops == [0.5]


async def test_shutdown_answers_before_anything_stops(parts: Parts) -> None:
    # Goes red when the stop is asked for inside the handler: this one leaves no reply behind.
    def stop_hard(seconds: float) -> None:
        for connection in parts.connections:
            connection.abort()

    parts.request_stop = stop_hard
    async with serving(parts.router, prepare=parts.prepare) as running:
        client = await running.connect()
        await client.call("models.list")
        assert await client.result("service.shutdown") == {"state": "stopping", "drain_ms": 10_000, "holders": []}
        assert await client.at_end()


@pytest.mark.parametrize("drain_ms", [-1, 600_001, 1.5, "10"])
async def test_shutdown_checks_its_time(parts: Parts, drain_ms: Any) -> None:
    async with serving(parts.router, prepare=parts.prepare) as running:
        error = await (await running.connect()).error("service.shutdown", {"drain_ms": drain_ms})
        assert error["details"] == {"field": "drain_ms"}
        assert parts.stops == []


async def test_the_topic_service_tells_that_it_stops(parts: Parts) -> None:
    async with serving(parts.router, prepare=parts.prepare) as running:
        client = await running.connect()
        await client.result("events.subscribe", {"topics": ["service"]})
        snapshot = (await client.reply())["params"]
        assert (snapshot["kind"], snapshot["data"]["state"]) == ("snapshot", "running")
        parts.clock.advance(1.0)
        running.server.begin_stop()
        parts.about.announce(terminal=True)
        change = (await client.reply())["params"]
        assert (change["seq"], change["kind"], change["data"]["state"]) == (2, "change", "stopping")


async def test_a_pause_is_told_by_info_and_to_those_who_follow_the_service(parts: Parts) -> None:
    async with serving(parts.router, prepare=parts.prepare) as running:
        client = await running.connect()
        assert "pause" not in await client.result("service.info")
        answer = await client.result("service.pause", {"until_resumed": True, "reason": "a film"})
        assert answer == {"phase": "draining", "hardware_free": False, "lane_ids": [], "reason": "a film"}
        await client.result("service.info")
        assert (await client.result("service.info"))["pause"] == {"phase": "paused", "reason": "a film"}
        error = await client.error("service.pause", {"duration_ms": 1000, "reason": "another"})
        assert (error["code"], error["details"]) == ("invalid_request", {"phase": "paused", "reason": "a film"})
        assert await client.result("service.resume") == {"phase": "running", "hardware_free": False, "lane_ids": []}
        assert await client.result("service.resume") == {"phase": "running", "hardware_free": False, "lane_ids": []}
        assert "pause" not in await client.result("service.info")
