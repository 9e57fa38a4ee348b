"""Back-pressure inside the service: what waits for a peer that doesn't read, and who pays for it."""

from __future__ import annotations

import asyncio
from typing import Any

from fixtures.expected_warnings import ExpectedWarnings
from fixtures.socket_server import serving, until
from synapse_service.server.connection import Connection
from synapse_service.server.host import Limits
from synapse_service.server.router import Call, Router
from synapse_wire.params import EmbedQuery, NoParams

KIB = 1024
REQUEST = b'{"jsonrpc":"2.0","id":1,"method":"models.list"}\n'


async def test_requests_wait_while_their_peer_does_not_read_and_are_served_when_it_does() -> None:
    router, served = Router(), list[int]()

    def big(call: Call, params: NoParams) -> str:
        served.append(1)
        return "x" * (64 * KIB)

    router.add_inline("models.list", big)
    async with serving(router, limits=Limits(high_water=256 * KIB)) as running:
        client = await running.connect()
        # The client's own reader would take replies off the socket; here only the transport's buffer may fill.
        client.writer.transport.pause_reading()  # type: ignore[attr-defined]
        client.send(REQUEST * 500)
        await until(lambda: bool(served))
        await asyncio.sleep(0.1)
        # The kernel's buffer and ours hold a few replies; the other requests wait as lines.
        assert len(served) < 50
        client.writer.transport.resume_reading()  # type: ignore[attr-defined]
        for _ in range(500):
            assert len((await client.reply())["result"]) == 64 * KIB
        assert len(served) == 500


async def test_a_peer_that_leaves_too_much_unread_loses_its_connection(expected_warnings: ExpectedWarnings) -> None:
    router, gate, waiting = Router(), asyncio.Event(), list[str]()

    async def big(call: Call, params: EmbedQuery) -> str:
        waiting.append(params.text)
        await gate.wait()
        return "x" * (64 * KIB)

    router.add("embed.query", big)
    expected_warnings("connection_dropped")
    async with serving(router, limits=Limits(high_water=64 * KIB, unsent_bytes=256 * KIB)) as running:
        client = await running.connect()
        client.writer.transport.pause_reading()  # type: ignore[attr-defined]
        for number in range(40):
            client.request("embed.query", {"model": "m", "text": "t"}, id=number)
        await until(lambda: len(waiting) == 40)
        gate.set()
        await until(lambda: running.server.connections == 0)
        assert running.server.in_flight == 0
    unread = expected_warnings.fields("connection_dropped")["unread_bytes"]
    assert isinstance(unread, int)
    assert 256 * KIB < unread < 256 * KIB + 65 * KIB


async def test_one_reply_may_be_larger_than_what_may_wait() -> None:
    router = Router()
    router.add_inline("models.list", lambda call, params: "x" * (2048 * KIB))
    async with serving(router, limits=Limits(high_water=KIB, unsent_bytes=KIB)) as running:
        client = await running.connect()
        assert len(await client.result("models.list")) == 2048 * KIB


async def test_a_peer_that_has_said_all_gets_every_reply_however_slowly_it_reads() -> None:
    # Goes red when the end of what it says closes the transport: what waits for the transport would be lost.
    router, connections = Router(), list[Connection]()

    def big(call: Call, params: NoParams) -> str:
        connections.append(call.connection)
        return "x" * (4096 * KIB)  # More than the system buffers.

    router.add_inline("models.list", big)
    async with serving(router, limits=Limits(high_water=8192 * KIB)) as running:
        client = await running.connect()
        client.writer.transport.pause_reading()  # type: ignore[attr-defined]
        client.send(REQUEST)
        await until(lambda: bool(connections))
        assert connections[0]._outbox.keeps
        client.writer.write_eof()
        await until(lambda: connections[0]._ended)
        client.writer.transport.resume_reading()  # type: ignore[attr-defined]
        assert len((await client.reply())["result"]) == 4096 * KIB
        assert await client.at_end()


async def test_events_are_refused_long_before_replies_are() -> None:
    router, connections = Router(), list[Connection]()

    def keep(call: Call, params: NoParams) -> str:
        connections.append(call.connection)
        return "x" * (4096 * KIB)  # More than the system buffers.

    router.add_inline("models.list", keep)
    async with serving(router, limits=Limits(event_bytes=64 * KIB)) as running:
        client = await running.connect()
        client.writer.transport.pause_reading()  # type: ignore[attr-defined]
        client.send(REQUEST)
        await until(lambda: bool(connections))
        connection = connections[0]
        assert connection.send_event({"topic": "log", "seq": 1}) is False
        client.writer.transport.resume_reading()  # type: ignore[attr-defined]
        assert (await client.reply())["id"] == 1
        assert connection.send_event({"topic": "log", "seq": 2}) is True
        assert await client.reply() == {
            "jsonrpc": "2.0",
            "method": "event",
            "params": {"topic": "log", "seq": 2},
        }
        await client.close()
        await until(lambda: connection.closed)
        assert connection.send_event({"topic": "log", "seq": 3}) is False


async def test_close_callbacks_run_once_and_at_once_when_it_is_too_late() -> None:
    router, connections, called = Router(), list[Connection](), list[str]()

    def watch(call: Call, params: NoParams) -> None:
        connections.append(call.connection)
        call.connection.on_close(lambda: called.append("closed"))

    router.add_inline("models.list", watch)
    async with serving(router) as running:
        client = await running.connect()
        await client.call("models.list")
        assert called == []
        await client.close()
        await until(lambda: called == ["closed"])
        connections[0].on_close(lambda: called.append("late"))
        assert called == ["closed", "late"]


async def test_replies_of_one_turn_are_written_together(monkeypatch: Any) -> None:
    router, writes = Router(), list[int]()
    router.add_inline("models.list", lambda call, params: "small")
    original = Connection._write

    def counted(self: Connection, data: bytes) -> None:
        writes.append(data.count(b"\n"))
        original(self, data)

    monkeypatch.setattr(Connection, "_write", counted)
    async with serving(router) as running:
        client = await running.connect()
        client.send(REQUEST * 20)
        for _ in range(20):
            await client.reply()
    assert writes == [20]
