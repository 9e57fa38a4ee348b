"""``events.subscribe`` on a real socket: nothing unasked, the reply first, then gapless numbers for each topic."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from fixtures.clocks import FakeClock
from fixtures.socket_server import RawClient, Serving, serving, until
from synapse_service.events import INTERVAL_S, EventHub
from synapse_service.operations.extensions import events
from synapse_service.server.router import Router


class Published:
    """Two topics, a clock, and what was published."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.hub = EventHub(self.clock, self.clock.call_later)
        self.hub.register_topic("lanes", lambda: ["all lanes"])
        self.hub.register_topic("jobs", lambda: ["all jobs"])
        self.router = Router()
        self.router.add_inline("models.list", lambda call, params: "pong")
        events.register(self.router, self.hub)

    async def advance(self, seconds: float = INTERVAL_S) -> None:
        self.clock.advance(seconds)
        await asyncio.sleep(0)


@pytest.fixture
def published() -> Published:
    return Published()


async def subscribed(running: Serving, published: Published, *topics: str) -> RawClient:
    """A client that has its subscription's reply and the snapshots."""
    client = await running.connect()
    assert await client.result("events.subscribe", {"topics": list(topics)}) == {"topics": list(topics)}
    await published.advance(0.0)
    for topic in topics:
        assert await event(client) == {"topic": topic, "seq": 1, "kind": "snapshot", "data": [f"all {topic}"]}
    await published.advance()
    return client


async def event(client: RawClient) -> dict[str, Any]:
    message = await client.reply()
    assert (message["jsonrpc"], message["method"], "id" in message) == ("2.0", "event", False)
    params: dict[str, Any] = message["params"]
    return params


async def test_who_did_not_subscribe_hears_nothing(published: Published) -> None:
    async with serving(published.router) as running:
        listening, silent = await subscribed(running, published, "lanes"), await running.connect()
        assert await silent.result("models.list") == "pong"
        published.hub.publish("lanes", "changed")
        assert (await event(listening))["data"] == "changed"
        # The next line of the other connection is its reply, and of this one nothing from the other topic.
        assert await silent.result("models.list") == "pong"
        published.hub.publish("jobs", "not asked for")
        assert await listening.result("models.list") == "pong"


async def test_numbers_count_within_a_topic(published: Published) -> None:
    async with serving(published.router) as running:
        client = await subscribed(running, published, "lanes", "jobs")
        for number in (2, 3, 4):
            published.hub.publish("lanes", number)
            published.hub.publish("jobs", -number)
            await published.advance()
            assert [(e["topic"], e["seq"], e["data"]) for e in [await event(client), await event(client)]] == [
                ("lanes", number, number),
                ("jobs", number, -number),
            ]


async def test_a_further_subscription_adds_and_a_repeated_one_starts_anew(published: Published) -> None:
    async with serving(published.router) as running:
        client = await subscribed(running, published, "lanes")
        published.hub.publish("lanes", "a")
        assert (await event(client))["seq"] == 2
        assert await client.result("events.subscribe", {"topics": ["jobs", "lanes"]}) == {"topics": ["jobs", "lanes"]}
        await published.advance(0.0)
        assert [(e["topic"], e["seq"], e["kind"]) for e in [await event(client), await event(client)]] == [
            ("jobs", 1, "snapshot"),
            ("lanes", 1, "snapshot"),
        ]
        await published.advance()
        published.hub.publish("lanes", "b")
        assert [(await event(client))["data"], await client.result("models.list")] == ["b", "pong"]


async def test_a_topic_this_version_does_not_have_is_refused_whole(published: Published) -> None:
    async with serving(published.router) as running:
        client = await running.connect()
        error = await client.error("events.subscribe", {"topics": ["lanes", "downloads", "settings"]})
        assert (error["code"], error["details"]) == ("invalid_request", {"topics": ["downloads", "settings"]})
        assert "number" not in error
        await published.advance()
        assert await client.result("models.list") == "pong"


@pytest.mark.parametrize("topics", [[], ["weather"], "lanes", ["lanes", 1], None])
async def test_wrong_topics_are_refused_by_field(published: Published, topics: Any) -> None:
    async with serving(published.router) as running:
        error = await (await running.connect()).error("events.subscribe", {"topics": topics})
        assert error["number"] == -32602
        assert error["details"]["field"].startswith("topics")


async def test_a_connection_that_ends_takes_its_subscriptions_with_it(published: Published) -> None:
    async with serving(published.router) as running:
        client = await subscribed(running, published, "lanes", "jobs")
        assert len(published.hub._subscriptions) == 2
        await client.close()
        await until(lambda: running.server.connections == 0)
        assert not published.hub._subscriptions
        published.hub.publish("lanes", "nobody listens")


async def test_a_listener_that_does_not_read_misses_events_sees_the_gap_and_catches_up(published: Published) -> None:
    async with serving(published.router) as running:
        client = await subscribed(running, published, "lanes")
        client.writer.transport.pause_reading()  # type: ignore[attr-defined]
        sent = 1
        while sent < 100:
            published.hub.publish("lanes", "x" * 64 * 1024)
            await published.advance()
            sent += 1
        client.writer.transport.resume_reading()  # type: ignore[attr-defined]
        await until(
            lambda: next(iter(running.server._host.connections.values()))._transport.get_write_buffer_size() == 0
        )
        await published.advance(2.0)
        seqs: list[int] = []
        while True:
            got = await event(client)
            if got["kind"] == "snapshot":
                break
            seqs.append(got["seq"])
        assert seqs == list(range(2, 2 + len(seqs)))
        assert len(seqs) < sent - 1  # How many got through depends on the buffers of the system.
        assert got["seq"] > seqs[-1] + 1
        assert got["data"] == ["all lanes"]
