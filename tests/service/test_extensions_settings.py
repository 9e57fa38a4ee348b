"""``settings.*`` and ``logs.tail`` on a real socket, and their topics."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fixtures.clocks import FakeClock
from fixtures.socket_server import Serving, serving
from synapse_service.events import INTERVAL_S, EventHub
from synapse_service.logs import LogRing
from synapse_service.operations.extensions import events, logs, settings
from synapse_service.server.router import Router
from synapse_service.settings.store import SettingsStore
from synapse_wire.results import LogTail


@pytest.fixture
def store(tmp_path: Path) -> SettingsStore:
    (tmp_path / "config.toml").write_text("inline_max_items = 32\n")
    return SettingsStore.load(tmp_path / "config.toml", {"SYNAPSE_CPU_LANES": "true"})


@pytest.fixture
def ring() -> LogRing:
    return LogRing(capacity=150)


@pytest.fixture
async def served(store: SettingsStore, ring: LogRing) -> AsyncIterator[Serving]:
    loop, router = asyncio.get_running_loop(), Router()
    hub = EventHub(FakeClock(), loop.call_later)
    events.register(router, hub)
    settings.register(router, store, hub)
    logs.register(router, ring, hub, loop)
    async with serving(router) as running:
        yield running


# --- settings ---


async def test_get_tells_where_each_value_comes_from(served: Serving) -> None:
    client = await served.connect()
    found = await client.result("settings.get", {"names": ["inline_max_items", "cpu_lanes", "idle_unload_ms"]})
    assert [(row["name"], row["value"], row["source"], row["default"]) for row in found["settings"]] == [
        ("inline_max_items", 32, "file", 64),
        ("cpu_lanes", True, "env", False),
        ("idle_unload_ms", 900_000, "default", 900_000),
    ]
    assert found["settings"][0]["bounds"] == {"type": "integer", "min": 1, "max": 4096}
    assert found["settings"][0]["needs_restart"] is False
    assert len((await client.result("settings.get"))["settings"]) > 20


async def test_set_changes_the_value_and_the_file(served: Serving, store: SettingsStore, tmp_path: Path) -> None:
    client = await served.connect()
    changed = await client.result("settings.set", {"values": {"inline_max_items": 16, "log_level": "debug"}})
    assert [(row["name"], row["value"], row["source"]) for row in changed["settings"]] == [
        ("inline_max_items", 16, "file"),
        ("log_level", "debug", "file"),
    ]
    assert store.current.inline_max_items == 16
    assert "inline_max_items = 16" in (tmp_path / "config.toml").read_text()


async def test_a_set_with_one_wrong_value_changes_nothing(served: Serving, store: SettingsStore) -> None:
    client = await served.connect()
    error = await client.error("settings.set", {"values": {"inline_max_items": 8, "queue_capacity": 0}})
    assert (error["number"], error["details"]["field"]) == (-32602, "values.queue_capacity")
    error = await client.error("settings.set", {"values": {"inline_max_items": 8, "cpu_lanes": False}})
    assert error["details"] == {"setting": "cpu_lanes", "source": "env"}
    assert "number" not in error
    assert store.current.inline_max_items == 32


async def test_a_change_reaches_the_topic_settings(served: Serving) -> None:
    listening, other = await served.connect(), await served.connect()
    await listening.result("events.subscribe", {"topics": ["settings"]})
    snapshot = (await listening.reply())["params"]
    assert snapshot["kind"] == "snapshot"
    await other.result("settings.set", {"values": {"inline_max_items": 5}})
    change = (await listening.reply())["params"]
    assert (change["seq"], change["kind"]) == (2, "change")
    values = {row["name"]: row["value"] for row in change["data"]["settings"]}
    assert values["inline_max_items"] == 5


# --- the log ---


def fill(ring: LogRing, count: int) -> None:
    for number in range(count):
        ring.append(number, "error" if number % 2 else "info", f"event-{number}", {"n": number})


async def test_tail_pages_through_the_ring_and_counts_what_it_lost(served: Serving, ring: LogRing) -> None:
    fill(ring, 200)
    client = await served.connect()
    first = await client.result("logs.tail", {"limit": 2})
    assert first == {
        "entries": [
            {"seq": 51, "time_ms": 50, "level": "info", "event": "event-50", "fields": {"n": 50}},
            {"seq": 52, "time_ms": 51, "level": "error", "event": "event-51", "fields": {"n": 51}},
        ],
        "next_seq": 52,
        "dropped": 50,
    }
    second = await client.result("logs.tail", {"after_seq": 52, "level": "error", "limit": 1})
    assert [entry["seq"] for entry in second["entries"]] == [54]
    assert second["dropped"] == 0
    assert len((await client.result("logs.tail"))["entries"]) == 150


async def test_the_topic_log_starts_with_the_newest_and_goes_on_in_batches(served: Serving, ring: LogRing) -> None:
    fill(ring, 120)
    client = await served.connect()
    await client.result("events.subscribe", {"topics": ["log"]})
    snapshot = (await client.reply())["params"]
    assert [entry["seq"] for entry in snapshot["data"]["entries"]] == list(range(21, 121))
    assert (snapshot["data"]["next_seq"], snapshot["data"]["dropped"]) == (120, 20)


class StillLoop:
    """Keeps what it is asked to call, until the test says so."""

    def __init__(self) -> None:
        self.soon: list[Callable[[], None]] = []
        self.later: list[Callable[[], None]] = []

    def call_soon_threadsafe(self, callback: Callable[..., None], *arguments: Any) -> None:
        self.soon.append(partial(callback, *arguments))

    def call_later(self, delay: float, callback: Callable[..., None]) -> None:
        assert delay == INTERVAL_S
        self.later.append(callback)

    def run(self, waiting: list[Callable[[], None]]) -> None:
        while waiting:
            waiting.pop(0)()


def test_entries_of_a_moment_make_one_event_and_too_many_are_counted(ring: LogRing) -> None:
    loop: Any = StillLoop()
    hub: Any = SimpleNamespace(
        register_topic=lambda topic, snapshot: None, publish=lambda *event: published.append(event)
    )
    published: list[tuple[str, LogTail]] = []
    logs.register(Router(), ring, hub, loop)
    for count, expected in ((5, (1, 5, 5, 0)), (300, (106, 305, 305, 100))):
        fill(ring, count)
        loop.run(loop.soon)
        assert len(loop.later) == 1
        loop.run(loop.later)
        topic, batch = published.pop()
        assert topic == "log"
        assert (batch.entries[0].seq, batch.entries[-1].seq, batch.next_seq, batch.dropped) == expected
    assert published == []


def test_an_entry_after_the_loop_ended_is_nobodys_trouble(ring: LogRing) -> None:
    loop = asyncio.new_event_loop()
    logs.register(Router(), ring, EventHub(FakeClock(), loop.call_later), loop)
    loop.close()
    fill(ring, 1)
    assert ring.tail().next_seq == 1


async def test_the_folder_of_the_models_is_not_changed_without_the_models(
    served: Serving, store: SettingsStore
) -> None:
    client = await served.connect()
    error = await client.error("settings.set", {"values": {"inline_max_items": 16, "storage_dir": "/elsewhere"}})
    assert (error["code"], error["details"]) == (
        "invalid_request",
        {"setting": "storage_dir", "operation": "storage.move"},
    )
    assert (store.current.inline_max_items, store.current.storage_dir) == (32, None)
