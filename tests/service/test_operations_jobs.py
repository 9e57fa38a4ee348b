"""The operations about jobs over a socket: pages as they are stored, cursors, lists, cancels, events, counters."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fixtures.certifications import ledger_for
from fixtures.durable_jobs import LANE, Room, words
from fixtures.lanes import until
from fixtures.pauses import idle_pause
from fixtures.socket_server import RawClient, Serving, serving
from synapse_service.events import EventHub
from synapse_service.operations.admission import AdmissionOperations
from synapse_service.operations.extensions import events as extension_events
from synapse_service.operations.extensions import jobs as extension_jobs
from synapse_service.operations.extensions import service as extension_service
from synapse_service.server.router import Router
from synapse_service.store.models import Job, ResultPage

TEXTS = words(300)


@pytest.fixture
async def room(quick_dir: Path) -> AsyncIterator[Room]:
    room = Room(quick_dir / "synapse.db")
    yield room
    await room.leave()


@pytest.fixture
async def running(room: Room) -> AsyncIterator[Serving]:
    """A server with the operations of the room, and with those that watch it."""
    router = Router()
    room.embed.register(router)
    room.operations.register(router)
    lanes = SimpleNamespace(visible=lambda: [room.lane])
    ledger = ledger_for(SimpleNamespace(), "machine")
    admission = AdmissionOperations(lanes=lanes, book=room.book, ledger=ledger, knob=lambda: "quiet")  # type: ignore[arg-type]
    admission.register(router)
    hub = EventHub(room.clock, room.clock.call_later)
    room.book._publish = lambda row, terminal: hub.publish("jobs", row, terminal=terminal, key=row.job_id)
    downloads = SimpleNamespace(job_rows=dict)
    extension_jobs.register(router, room.book, downloads, hub)  # type: ignore[arg-type]
    extension_events.register(router, hub)

    def prepare(server: Any, endpoint: Any) -> None:
        about = extension_service.AboutService(
            EventHub(room.clock, room.clock.call_later),
            server,
            room.clock,
            version="0",
            module_generation=lambda: 1,
            socket_path=endpoint.address,
            home="",
            everything=idle_pause(room.clock),
        )
        extension_service.register(
            router, about, version="0", module_generation=lambda: 1, holders=list, request_stop=lambda seconds: None
        )

    # The room's clock for both: deadlines count from when a line was received.
    async with serving(router, prepare=prepare, clock=room.clock) as running:
        yield running


@pytest.fixture
async def client(running: Serving) -> RawClient:
    return await running.connect()


def batch(texts: list[str], **more: Any) -> dict[str, Any]:
    items = [{"id": f"item-{index}", "text": text} for index, text in enumerate(texts)]
    return {"model": LANE, "items": items, **more}


async def submitted(client: RawClient, key: str = "key", texts: list[str] = TEXTS) -> str:
    reply = await client.result("embed.batch", batch(texts, request_key=key))
    assert list(reply) == ["job"]
    assert list(reply["job"]) == ["job_id"]
    return str(reply["job"]["job_id"])


async def cancelled(client: RawClient, job_id: str) -> Any:
    """The status with which a cancel answers. It has an error as a refusal has, but it is none."""
    return (await client.call("jobs.cancel", {"job_id": job_id}))["result"]


def stored(room: Room, index: int) -> bytes:
    return bytes(room.store.read_sync(lambda: ResultPage.get(ResultPage.page_index == index).payload))


# --- embed.result ---


async def test_a_page_is_sent_as_it_is_stored_in_the_whole_envelope(room: Room, client: RawClient) -> None:
    job_id = await submitted(client)
    await room.ended(job_id)
    client.request("embed.result", {"job_id": job_id, "cursor": 1}, id=1)
    line = await client.reader.readline()
    # Byte for byte: it was encoded once, when it was committed.
    assert b'"items":' + stored(room, 1) + b"," in line
    result = json.loads(line)["result"]
    items = result.pop("items")
    pages = room.store.read_sync(lambda: ResultPage.select().count())
    assert result == {
        "fingerprint": room.lane.fingerprint,
        "table_epoch": 0,
        "dims": 4,
        "provenance": {"engine": {"engine": "owned-cpu", "version": "build-1", "build_flags": {}}},
        "module_generation": 1,
        "equivalent_to": [],
        "job_id": job_id,
        "state": "done",
        "page_index": 1,
        "pages_available": pages,
        "next_cursor": 2,
    }
    assert set(items[0]) == {
        "id",
        "vector",
        "content_sha256",
        "submitted_sha256",
        "real_token_count",
        "truncation",
    }
    assert set(items[0]["truncation"]) == {"submitted_tokens", "effective_tokens", "truncated"}


async def test_the_cursor_leads_through_a_job_while_it_runs_and_ends_with_it(room: Room, client: RawClient) -> None:
    job_id = await room.hold(TEXTS)
    cursor, found = 0, 0
    released = False
    while True:
        reply = await client.result("embed.result", {"job_id": job_id, "cursor": cursor})
        assert reply["page_index"] == cursor
        found += len(reply["items"])
        if reply["next_cursor"] is None:
            break
        if reply["next_cursor"] == cursor:
            # Nothing more for now: the same question again.
            assert (reply["items"], reply["pages_available"]) == ([], cursor)
            assert reply["state"] in ("queued", "running")
            assert released or found > 0
            room.loader.gate_open.set()
            released = True
        cursor = reply["next_cursor"]
    assert (reply["state"], found, released) == ("done", 300, True)


async def test_the_cursor_of_a_failed_job_ends_where_its_pages_do(room: Room, client: RawClient) -> None:
    job_id = await room.hold(TEXTS)
    status = await cancelled(client, job_id)
    pages = status["pages_available"]
    last = await client.result("embed.result", {"job_id": job_id, "cursor": pages - 1})
    assert (last["state"], last["next_cursor"], bool(last["items"])) == ("failed", None, True)
    beyond = await client.result("embed.result", {"job_id": job_id, "cursor": pages})
    assert (beyond["state"], beyond["next_cursor"], beyond["items"]) == ("failed", None, [])


async def test_a_cursor_beyond_the_pages_and_an_unknown_job_are_refused(room: Room, client: RawClient) -> None:
    job_id = await room.hold(TEXTS)
    pages = room.book.live()[0].pages_available
    error = await client.error("embed.result", {"job_id": job_id, "cursor": pages + 1})
    assert (error["code"], error["class"]) == ("invalid_request", "permanent")
    assert error["details"] == {"field": "cursor", "cursor": pages + 1, "pages_available": pages}
    error = await client.error("embed.result", {"job_id": "unknown"})
    assert (error["code"], error["details"]) == ("invalid_request", {"job_id": "unknown"})
    for params in ({"job_id": job_id, "cursor": -1}, {"job_id": job_id, "max_page_bytes": 0}, {"job_id": ""}, {}):
        assert (await client.error("embed.result", params))["number"] == -32602


async def test_a_page_larger_than_wanted_is_refused_with_both_sizes(room: Room, client: RawClient) -> None:
    job_id = await submitted(client)
    await room.ended(job_id)
    size = len(stored(room, 0))
    error = await client.error("embed.result", {"job_id": job_id, "max_page_bytes": size - 1})
    assert error["code"] == "invalid_request"
    assert error["details"] == {"field": "max_page_bytes", "page_bytes": size, "max_page_bytes": size - 1}
    assert (await client.result("embed.result", {"job_id": job_id, "max_page_bytes": size}))["items"]


async def test_the_pages_can_be_read_while_the_disk_is_full(room: Room, client: RawClient) -> None:
    job_id = await room.hold(TEXTS)
    room.store.refusal = lambda number: True
    assert (await client.result("embed.result", {"job_id": job_id}))["items"]


# --- job.resume ---


async def test_a_job_that_is_not_paused_is_not_resumed(room: Room, client: RawClient) -> None:
    job_id = await room.hold(TEXTS)
    error = await client.error("job.resume", {"job_id": job_id})
    assert (error["code"], error["details"]) == ("invalid_request", {"job_id": job_id, "state": "running"})
    room.loader.gate_open.set()
    await room.ended(job_id)
    error = await client.error("job.resume", {"job_id": job_id})
    assert error["details"] == {"job_id": job_id, "state": "done"}
    assert (await client.error("job.resume", {"job_id": "unknown"}))["details"] == {"job_id": "unknown"}


# --- jobs.list, jobs.cancel ---


async def test_jobs_are_listed_newest_first_by_state_and_up_to_a_limit(room: Room, running: Serving) -> None:
    client = await running.connect()
    await client.result("service.hello", {"client": {"name": "Ünïcode"}})
    first = await submitted(client, "a")
    await room.ended(first)
    second = await submitted(client, "b")
    await room.ended(second)
    room.clock.advance(1)
    room.loader.hold_after = room.loader.calls + 20
    third = await submitted(client, "c")
    await room.at_rest()
    room.clock.advance(2)

    async def listed(**params: Any) -> list[str]:
        return [job["job_id"] for job in (await client.result("jobs.list", params))["jobs"]]

    assert await listed() == [third, second, first]
    assert await listed(limit=2) == [third, second]
    assert await listed(states=["done"]) == [second, first]
    assert await listed(states=["running", "queued"]) == [third]
    assert await listed(states=["failed"]) == []
    (live,) = (await client.result("jobs.list", {"states": ["running"]}))["jobs"]
    done = live["items_done"]
    assert 0 < done < 300
    assert live["rate"] == done / 2
    assert live["eta_ms"] == round(1000 * (300 - done) / (done / 2))
    assert (live["kind"], live["model_id"], live["client"], live["items_total"]) == (
        "embed.batch",
        LANE,
        "Ünïcode",
        300,
    )
    ended = (await client.result("jobs.list", {"states": ["done"]}))["jobs"][0]
    assert set(ended) == set(live) - {"rate", "eta_ms"} | {"terminal_ms", "expires_ms"}
    assert ended["expires_ms"] - ended["terminal_ms"] == 24 * 3600 * 1000


async def test_cancelling_answers_how_the_job_ended(room: Room, client: RawClient) -> None:
    job_id = await room.hold(TEXTS)
    status = await cancelled(client, job_id)
    assert (status["state"], status["error"]["code"]) == ("failed", "request_cancelled")
    assert await cancelled(client, job_id) == status
    assert (await client.error("jobs.cancel", {"job_id": "unknown"}))["details"] == {"job_id": "unknown"}


async def test_a_client_that_leaves_while_it_cancels_leaves_a_cancelled_job(room: Room, running: Serving) -> None:
    client = await running.connect()
    job_id = await room.hold(TEXTS)
    client.request("jobs.cancel", {"job_id": job_id})
    await client.close()
    assert (await room.ended(job_id)).state == "failed"


# --- the topic ---


async def test_the_topic_begins_with_what_runs_and_tells_how_it_ends(room: Room, running: Serving) -> None:
    client, watcher = await running.connect(), await running.connect()
    old = await submitted(client, "old")
    await room.ended(old)
    job_id = await room.hold(TEXTS, "new")
    await watcher.result("events.subscribe", {"topics": ["jobs"]})
    room.clock.advance(0)
    snapshot = (await watcher.reply())["params"]
    assert (snapshot["topic"], snapshot["seq"], snapshot["kind"]) == ("jobs", 1, "snapshot")
    assert [(job["job_id"], job["state"]) for job in snapshot["data"]] == [(job_id, "running")]
    await cancelled(client, job_id)
    seen: list[Any] = []
    while not seen or seen[-1]["data"]["state"] == "running":
        room.clock.advance(1)
        seen.append((await watcher.reply())["params"])
    assert [event["seq"] for event in seen] == list(range(2, 2 + len(seen)))
    assert {event["kind"] for event in seen} == {"change"}
    last = seen[-1]["data"]
    assert (last["job_id"], last["state"], last["error"]["code"]) == (job_id, "failed", "request_cancelled")


# --- flows ---


async def test_a_flow_reads_pages_and_does_nothing_else_about_jobs(room: Room, running: Serving) -> None:
    client, flow = await running.connect(), await running.connect()
    job_id = await submitted(client)
    await room.ended(job_id)
    await flow.result("service.hello", {"client": {"name": "f"}, "scope": {"flow_id": "flow"}})
    assert (await flow.result("embed.result", {"job_id": job_id}))["items"]
    assert (await flow.result("embed.batch", batch(words(3))))["vectors"]
    for method, params in (
        ("embed.batch", batch(TEXTS, request_key="key")),
        ("job.resume", {"job_id": job_id}),
        ("jobs.list", {}),
        ("jobs.cancel", {"job_id": job_id}),
        ("events.subscribe", {"topics": ["jobs"]}),
    ):
        error = await flow.error(method, params)
        assert (error["code"], error["number"]) == ("flow_scope_refused", -32001)
        assert error["details"] == {"method": method, "flow_id": "flow"}
    assert room.store.read_sync(lambda: Job.select().count()) == 1


# --- admission.status ---


async def test_the_counters_always_add_up(room: Room, running: Serving, quick_dir: Path) -> None:
    client = await running.connect()

    async def counters() -> dict[str, int]:
        status = await client.result("admission.status")
        found = {name: status[f"jobs_{name}"] for name in ("minted", "completed", "failed", "inherited", "open")}
        assert found["open"] == found["minted"] + found["inherited"] - found["completed"] - found["failed"]
        return found

    assert await counters() == {"minted": 0, "completed": 0, "failed": 0, "inherited": 0, "open": 0}
    job_id = await room.hold(TEXTS)
    assert await submitted(client) == job_id  # Joining mints nothing.
    assert await counters() == {"minted": 1, "completed": 0, "failed": 0, "inherited": 0, "open": 1}
    await cancelled(client, job_id)
    room.loader.gate_open.set()
    await room.ended(await submitted(client))
    assert await counters() == {"minted": 2, "completed": 1, "failed": 1, "inherited": 0, "open": 0}
    room.store.write_sync(lambda: Job.update(state="running").execute())
    await room.leave()
    after = Room(quick_dir / "synapse.db")
    inherited = after.book.counters
    assert (inherited.minted, inherited.completed, inherited.failed, inherited.inherited) == (0, 0, 2, 2)
    assert inherited.open == 0
    await after.leave()


async def test_a_lane_shows_who_waits_and_who_is_computed(room: Room, client: RawClient) -> None:
    status = await client.result("admission.status")
    assert status["lanes"] == []  # Nothing is loaded.
    await room.hold(TEXTS)
    status = await client.result("admission.status")
    (lane,) = status["lanes"]
    assert (lane["lane_id"], lane["in_flight"], lane["meeting_deadlines"]) == (LANE, 1, True)
    assert lane["waiters"] == status["queues"]["bulk"] == 1
    assert status["queues"]["interactive"] == 0


async def test_only_the_waits_of_requests_count_as_delays(room: Room, client: RawClient) -> None:
    async def delay() -> float:
        (lane,) = (await client.result("admission.status"))["lanes"]
        return float(lane["start_delay_ms"])

    job_id = await room.hold(TEXTS)
    request = asyncio.create_task(room.batch(words(3)))
    await until(lambda: room.lane.queue.depth("bulk") == 2)
    room.clock.advance(2)
    assert await delay() == 0.0
    room.loader.gate_open.set()
    await room.ended(job_id)
    await request
    assert await delay() == 2000.0
