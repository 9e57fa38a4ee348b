"""The asyncio client against the fake service: pipelining, cancellation, time limits, lost connections, events."""

from __future__ import annotations

import asyncio
import socket
from array import array
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from fixtures.fake_service import DIMS, FULL, HELD, Drop, FakeCall, FakeService, embedded, status, vector_of
from synapse_client import (
    AsyncClient,
    ClientClosed,
    ConnectionLost,
    EndpointRefused,
    JobUnfinished,
    NoReply,
    ProtocolViolation,
    ServiceNotRunning,
    SynapseError,
)
from synapse_client.events import QUEUE_HIGH, QUEUE_LOW
from synapse_client.link import Link
from synapse_wire import messages


def pausing(asked: list[float], during: Callable[[int], object] | None = None) -> Callable[[float], Awaitable[None]]:
    """Stands for ``asyncio.sleep``: records how long, and may do something meanwhile."""

    async def sleep(seconds: float) -> None:
        asked.append(seconds)
        if during is not None:
            during(len(asked))
        await asyncio.sleep(0)

    return sleep


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - what it looks at changes in the fake's threads
            await asyncio.sleep(0.005)


# --- calls ---


async def test_embedding_gives_typed_vectors(fake: FakeService) -> None:
    async with AsyncClient(fake.address) as client:
        one = await client.embed_query("mini", "text", deadline_ms=1000)
        many = await client.embed_batch("mini", ["a", "bb"], ids=["x", "y"])
    assert one.vector == array("f", vector_of("text"))
    assert many.by_id()["y"] == array("f", vector_of("bb"))


async def test_every_method_of_the_blocking_client_is_there(fake: FakeService) -> None:
    async with AsyncClient(fake.address) as client:
        loaded = await client.model_load(
            "new",
            task="embed",
            engine="owned-cpu",
            files={"model": {"url": "file:///m"}, "tokenizer": {"url": "file:///t"}},
        )
        assert loaded.job_id == "load-new"
        assert (await client.model_status("mini")).state == "ready"
        assert len((await client.models_list()).models) == 2
        assert (await client.model_unload("mini")).state == "unloaded"
        assert (await client.probe_start("mini")).job_id == "probe-mini"
        assert (await client.probe_status("probe-mini")).kind == "probe"
        assert len((await client.probe_report()).lanes) == 2
        assert (await client.settings_set({"log_level": "debug"})).settings[0].value == "debug"
        assert (await client.settings_get(["log_level"])).settings[0].value == "debug"
        assert len((await client.logs_tail()).entries) == 5
        assert (await client.diagnostics()).checks[1].status == "warning"
        assert (await client.info()).state == "serving"
        assert (await client.shutdown(force=True)).state == "stopping"
        assert (await client.call("models.list"))["aliases"] == []
        assert bytes(await client.call_raw("service.info")).startswith(b'{"server_version"')


async def test_pipelined_replies_come_back_in_any_order(fake: FakeService) -> None:
    fake.on("embed.query", lambda _: HELD)
    async with AsyncClient(fake.address) as client:
        asked = [asyncio.create_task(client.embed_query("mini", "x" * length)) for length in range(1, 9)]
        await until(lambda: len(fake.held) == 8)
        for call in reversed(fake.held):
            call.reply(embedded(call, [("0", call.params.text)]))
        answers = [(await task).vector for task in asked]
    assert answers == [array("f", vector_of("x" * length)) for length in range(1, 9)]
    assert fake.methods().count("service.hello") == 1


async def test_many_requests_never_exceed_what_the_service_accepts(fake: FakeService) -> None:
    fake.on("embed.query", lambda _: HELD)
    async with AsyncClient(fake.address) as client:
        asked = [asyncio.create_task(client.embed_query("mini", "x")) for _ in range(70)]
        await until(lambda: len(fake.held) == 64)
        await asyncio.sleep(0.05)
        assert fake.methods().count("embed.query") == 64
        fake.on("embed.query", lambda call: embedded(call, [("0", "x")]))
        for call in list(fake.held):
            call.reply(embedded(call, [("0", "x")]))
        assert [(await task).dims for task in asked] == [DIMS] * 70


async def test_a_refusal_is_raised_typed(fake: FakeService) -> None:
    async with AsyncClient(fake.address) as client:
        with pytest.raises(SynapseError) as refused:
            await client.embed_query("nobody", "x")
    assert (refused.value.code, refused.value.details) == ("unknown_model", {"model_id": "nobody"})


# --- cancellation and time ---


async def test_cancelling_a_task_cancels_its_request(fake: FakeService) -> None:
    fake.on("embed.query", lambda _: HELD)
    async with AsyncClient(fake.address) as client:
        asked = asyncio.create_task(client.embed_query("mini", "x"))
        await until(lambda: len(fake.held) == 1)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        await until(lambda: len(fake.cancelled) == 1)
        assert fake.cancelled == [fake.held[0].id]
        fake.held[0].refuse(SynapseError("request_cancelled", "cancelled"))
        assert (await client.info()).state == "serving"
    assert fake.methods().count("service.hello") == 1


async def test_a_cancelled_request_holds_its_place_until_it_is_answered(fake: FakeService) -> None:
    fake.on("embed.query", lambda _: HELD)
    async with AsyncClient(fake.address) as client:
        asked = [asyncio.create_task(client.embed_query("mini", "x")) for _ in range(64)]
        await until(lambda: len(fake.held) == 64)
        asked[0].cancel()
        another = asyncio.create_task(client.info())
        await until(lambda: len(fake.cancelled) == 1)
        await asyncio.sleep(0.05)
        assert "service.info" not in fake.methods()
        fake.held[0].refuse(SynapseError("request_cancelled", "cancelled"))
        assert (await another).state == "serving"
        for call in fake.held[1:]:
            call.reply(embedded(call, [("0", "x")]))
        await asyncio.gather(*asked[1:])


async def test_a_call_without_an_answer_ends_in_time_and_is_cancelled(fake: FakeService) -> None:
    fake.on("service.info", lambda _: HELD)
    async with AsyncClient(fake.address, timeout_s=0.2) as client:
        with pytest.raises(NoReply, match=r"service\.info"):
            await client.info()
        await until(lambda: len(fake.cancelled) == 1)


async def test_the_wait_of_an_inference_follows_its_deadline(
    fake: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("synapse_client.calls.DEADLINE_GRACE_S", 0.1)
    fake.on("embed.query", lambda _: HELD)
    async with AsyncClient(fake.address, timeout_s=3600) as client:
        with pytest.raises(NoReply):
            await client.embed_query("mini", "x", deadline_ms=100)


async def test_a_service_that_accepts_and_says_nothing_is_reported_as_silent(home: Path) -> None:
    address = str(home / "silent.sock")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(address)
        listener.listen(1)
        with pytest.raises(NoReply, match=r"service\.hello"):
            await AsyncClient(address, timeout_s=0.2).info()


# --- connecting and losing the connection ---


async def test_a_service_at_its_limit_is_asked_again_for_a_while(fake: FakeService) -> None:
    fake.full = 2
    asked: list[float] = []
    async with AsyncClient(fake.address, sleep=pausing(asked)) as client:
        assert (await client.info()).server_version == "0.0-fake"
    assert asked == [0.02, 0.04]


async def test_a_service_that_stays_at_its_limit_says_so_itself(
    fake: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("synapse_client.aio.BUSY_S", 0.0)
    fake.full = 1000
    with pytest.raises(SynapseError) as refusal:
        await AsyncClient(fake.address).info()
    assert (refusal.value.code, refusal.value.details) == ("overloaded", FULL)


async def test_why_a_service_hung_up_is_heard_although_it_takes_nothing_more() -> None:
    ours, theirs = socket.socketpair()
    theirs.sendall(messages.encode_error(None, SynapseError("overloaded", "full", details=FULL), 1))
    theirs.close()
    ours.setblocking(False)
    _, link = await asyncio.get_running_loop().create_unix_connection(lambda: Link(None), sock=ours)
    with pytest.raises(SynapseError) as caught:
        await link.request("service.hello", {}, 5)
    assert caught.value.code == "overloaded"
    await link.close()


async def test_nobody_there_is_an_error_with_a_remedy(home: Path) -> None:
    with pytest.raises(ServiceNotRunning, match="synapse serve"):
        await AsyncClient(home=home).info()
    (home / "file").write_text("")
    with pytest.raises(EndpointRefused, match="not a socket"):
        await AsyncClient(str(home / "file")).info()


async def test_reconnecting_waits_for_a_service_that_comes_back(fake: FakeService) -> None:
    asked: list[float] = []
    sleep = pausing(asked, lambda count: fake.start() if count == 2 else None)
    async with AsyncClient(fake.address, sleep=sleep) as client:
        await client.info()
        fake.stop()
        await until(lambda: client._link is not None and client._link.lost is not None)
        assert (await client.model_unload("mini")).state == "unloaded"
    assert asked == [0.02, 0.04]


async def test_a_question_is_asked_again_and_a_change_is_not(fake: FakeService) -> None:
    def drop_first(method: str) -> None:
        original = fake.handlers[method]

        def handler(call: FakeCall) -> Any:
            if fake.methods().count(method) == 1:
                raise Drop
            return original(call)

        fake.on(method, handler)

    drop_first("embed.query")
    drop_first("model.unload")
    async with AsyncClient(fake.address) as client:
        assert (await client.embed_query("mini", "x")).dims == DIMS
        with pytest.raises(ConnectionLost, match=r"model\.unload") as lost:
            await client.model_unload("mini")
    assert lost.value.sent
    assert (fake.methods().count("embed.query"), fake.methods().count("model.unload")) == (2, 1)


async def test_a_question_that_ends_the_connection_every_time_is_given_up(fake: FakeService) -> None:
    def drop(call: FakeCall) -> Any:
        raise Drop

    fake.on("embed.query", drop)
    async with AsyncClient(fake.address) as client, asyncio.timeout(10):
        with pytest.raises(ConnectionLost):
            await client.embed_query("mini", "x")
    assert fake.methods().count("embed.query") == 2


async def test_all_that_wait_learn_that_the_connection_is_gone(fake: FakeService) -> None:
    fake.on("model.unload", lambda _: HELD)
    async with AsyncClient(fake.address) as client:
        asked = [asyncio.create_task(client.model_unload("mini")) for _ in range(5)]
        await until(lambda: len(fake.held) == 5)
        fake.connections[0].drop()
        ends = await asyncio.gather(*asked, return_exceptions=True)
    assert [type(end) for end in ends] == [ConnectionLost] * 5


async def test_a_line_that_is_no_message_is_a_protocol_violation(fake: FakeService) -> None:
    def garbage(call: FakeCall) -> Any:
        call.connection.write(b"<html>\n")
        return HELD

    fake.on("service.info", garbage)
    async with AsyncClient(fake.address) as client:
        with pytest.raises(ProtocolViolation, match="not a JSON-RPC message"):
            await client.info()


async def test_a_closed_client_stays_closed(fake: FakeService) -> None:
    client = AsyncClient(fake.address)
    await client.info()
    await client.close()
    with pytest.raises(ClientClosed):
        await client.info()


async def test_a_large_batch_crosses_whole(fake: FakeService) -> None:
    fake.durable.inline_items = 4096
    texts = [f"{index} " + "word " * 2000 for index in range(300)]
    async with AsyncClient(fake.address) as client:
        both = await asyncio.gather(client.embed_batch("mini", texts), client.embed_batch("mini", texts))
    assert both[0].vectors == both[1].vectors == [array("f", vector_of(text)) for text in texts]


# --- jobs ---


async def test_waiting_for_a_job(fake: FakeService) -> None:
    fake.job("j", status("j", "running", 1, 2), status("j", "done", 2, 2))
    fake.job("slow", status("slow", "running", 1, 2))
    seen: list[int] = []
    async with AsyncClient(fake.address, sleep=pausing([])) as client:
        assert (await client.wait_job("j", lambda look: seen.append(look.items_done))).state == "done"
        with pytest.raises(JobUnfinished):
            await client.wait_job("slow", timeout_s=0)
    assert seen == [1, 2]


# --- events ---


async def test_events_come_in_order_and_tell_of_gaps(fake: FakeService) -> None:
    async with AsyncClient(fake.address) as client, client.subscribe("jobs", "log") as events:
        assert fake.received[-1] == ("events.subscribe", {"topics": ["jobs", "log"]})
        fake.event("jobs", 1, "snapshot", {"jobs": []})
        fake.event("log", 1, "snapshot", None)
        fake.event("jobs", 2, "change", {"job_id": "j"})
        fake.event("jobs", 6, "change", {"job_id": "k"})
        got = [await anext(events) for _ in range(4)]
    assert [(event.topic, event.seq, event.kind, event.missed) for event in got] == [
        ("jobs", 1, "snapshot", 0),
        ("log", 1, "snapshot", 0),
        ("jobs", 2, "change", 0),
        ("jobs", 6, "change", 3),
    ]
    assert got[2].data == {"job_id": "j"}


async def test_events_begin_anew_after_a_restart(fake: FakeService) -> None:
    async with AsyncClient(fake.address) as client, client.subscribe("jobs") as events:
        for seq, kind in ((1, "snapshot"), (2, "change")):
            fake.event("jobs", seq, kind, "old")
            assert (await anext(events)).data == "old"
        waiting = asyncio.ensure_future(anext(events))
        await asyncio.sleep(0.01)
        fake.stop()
        fake.start()
        await until(lambda: fake.methods().count("events.subscribe") == 2)
        # The new service counts from 1, so its number 3 means that two were missed, whatever was seen before.
        fake.event("jobs", 3, "change", "new")
        event = await waiting
    assert (event.data, event.missed) == ("new", 2)


async def test_events_end_with_an_error_when_the_service_stays_away(fake: FakeService) -> None:
    async with AsyncClient(fake.address, reconnect_s=0) as client, client.subscribe("jobs") as events:
        fake.stop()
        with pytest.raises(ServiceNotRunning):
            await anext(events)


async def test_a_refused_subscription_is_raised_at_once(fake: FakeService) -> None:
    async with AsyncClient(fake.address) as client:
        with pytest.raises(SynapseError, match="topics"):
            async with client.subscribe("weather"):
                pytest.fail("the subscription was refused")


async def test_an_event_of_an_unknown_shape_ends_the_stream(fake: FakeService) -> None:
    async with AsyncClient(fake.address) as client, client.subscribe("jobs") as events:
        fake.event("jobs", 1, "rumour", None)
        with pytest.raises(ProtocolViolation, match="unknown shape"):
            await anext(events)


async def test_a_slow_reader_of_events_holds_the_connection_back(fake: FakeService) -> None:
    async with AsyncClient(fake.address) as client, client.subscribe("log") as events:
        link = events._link
        assert link is not None
        filler = "x" * 2048
        sent = QUEUE_HIGH * 2
        sending = asyncio.create_task(
            asyncio.to_thread(lambda: [fake.event("log", seq, "change", filler) for seq in range(1, sent + 1)])
        )
        await until(lambda: not link._transport.is_reading())
        # Nothing more is read, whatever the service writes: memory on this side stays bounded.
        held = len(events._queue)
        await asyncio.sleep(0.05)
        assert QUEUE_HIGH <= held == len(events._queue) < sent
        while len(events._queue) > QUEUE_LOW:
            await anext(events)
        assert link._transport.is_reading()
        last = 0
        while last < sent:
            last = (await anext(events)).seq
        await sending
