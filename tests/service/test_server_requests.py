"""What a client gets for what it sends: order of replies, cancelling, identities, limits, and the checks' order."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from fixtures.clocks import FakeClock
from fixtures.expected_warnings import ExpectedWarnings
from fixtures.socket_server import GENERATION, Serving, serving, until, wire_error
from synapse_service.server.host import Limits
from synapse_service.server.router import Call, Router
from synapse_wire.errors import SynapseError, invalid_state
from synapse_wire.operations import CONTRACT, OPERATIONS, Operation
from synapse_wire.params import EmbedQuery, NoParams, ProbeReport

TINY = Limits(in_flight=2, line_bytes=4096)


class Handlers:
    """Two operations to play with: ``probe.report`` answers at once, ``embed.query`` when the test lets it.

    ``embed.query`` waits for the event named by its ``model`` and returns its ``text``.
    """

    def __init__(self) -> None:
        self.router = Router()
        self.calls: list[Call] = []
        self.gates: dict[str, asyncio.Event] = {}
        self.ended: list[str] = []
        self.router.add_inline("probe.report", self.report)
        self.router.add("embed.query", self.embed)

    def report(self, call: Call, params: ProbeReport) -> dict[str, Any]:
        self.calls.append(call)
        return {"model_id": params.model_id}

    async def embed(self, call: Call, params: EmbedQuery) -> str:
        self.calls.append(call)
        try:
            await self.gates.setdefault(params.model, asyncio.Event()).wait()
            return params.text
        except asyncio.CancelledError:
            self.ended.append(f"cancelled {params.model}")
            raise

    def release(self, model: str) -> None:
        self.gates.setdefault(model, asyncio.Event()).set()


@pytest.fixture
def handlers() -> Handlers:
    return Handlers()


@pytest.fixture
async def served(handlers: Handlers) -> AsyncIterator[Serving]:
    async with serving(handlers.router, limits=TINY) as running:
        yield running


def query(model: str, text: str = "text") -> dict[str, str]:
    return {"model": model, "text": text}


# --- replies and their order ---


async def test_a_quick_request_overtakes_a_slow_one(served: Serving, handlers: Handlers) -> None:
    client = await served.connect()
    client.request("embed.query", query("slow", "late"), id="slow")
    client.request("probe.report", {"model_id": "m"}, id="quick")
    assert await client.reply() == {"jsonrpc": "2.0", "id": "quick", "result": {"model_id": "m"}}
    handlers.release("slow")
    assert await client.reply() == {"jsonrpc": "2.0", "id": "slow", "result": "late"}


async def test_many_requests_in_one_write_are_all_answered_in_order(served: Serving) -> None:
    client = await served.connect()
    for number in range(500):
        client.request("probe.report", {"model_id": f"m{number}"}, id=number)
    replies = [await client.reply() for _ in range(500)]
    assert [(reply["id"], reply["result"]["model_id"]) for reply in replies] == [(n, f"m{n}") for n in range(500)]


async def test_one_byte_at_a_time_is_a_request_like_any_other(served: Serving) -> None:
    client = await served.connect()
    for byte in b'{"jsonrpc":"2.0","id":1,"method":"probe.report"}\n':
        client.send(bytes([byte]))
        await client.writer.drain()
        await asyncio.sleep(0)
    assert (await client.reply())["result"] == {"model_id": None}


async def test_equal_ids_of_different_types_are_different_ids(served: Serving, handlers: Handlers) -> None:
    client = await served.connect()
    client.request("embed.query", query("a", "number"), id=1)
    client.request("embed.query", query("b", "text"), id="1")
    handlers.release("b")
    assert await client.reply() == {"jsonrpc": "2.0", "id": "1", "result": "text"}
    handlers.release("a")
    assert await client.reply() == {"jsonrpc": "2.0", "id": 1, "result": "number"}


async def test_an_id_in_use_is_refused_without_an_id_and_the_first_request_goes_on(
    served: Serving, handlers: Handlers
) -> None:
    client = await served.connect()
    client.request("embed.query", query("slow", "first"), id=5)
    client.request("embed.query", query("other", "second"), id=5)
    reply = await client.reply()
    assert (reply["id"], reply["error"]["code"]) == (None, -32600)
    assert "still running" in reply["error"]["message"]
    handlers.release("slow")
    assert await client.reply() == {"jsonrpc": "2.0", "id": 5, "result": "first"}
    assert [call.method for call in handlers.calls] == ["embed.query"]


async def test_a_call_carries_the_time_and_size_of_its_line(handlers: Handlers) -> None:
    clock = FakeClock(monotonic=50.0)
    async with serving(handlers.router, clock=clock) as running:
        client = await running.connect()
        await client.result("probe.report")
        clock.advance(1.5)
        await client.result("probe.report", {"model_id": "m"})
    assert [(call.received_at, call.line_bytes) for call in handlers.calls] == [(50.0, 55), (51.5, 84)]


# --- cancelling ---


async def test_cancel_answers_request_cancelled(served: Serving, handlers: Handlers) -> None:
    client = await served.connect()
    client.request("embed.query", query("slow"), id=1)
    await until(lambda: bool(handlers.calls))
    client.cancel(1)
    error = wire_error(await client.reply())
    assert error == {
        "code": "request_cancelled",
        "class": "permanent",
        "safe_to_retry_same_request": True,
        "message": "the request was cancelled",
    }
    assert handlers.ended == ["cancelled slow"]


async def test_a_request_cancelled_before_its_first_step_is_answered_too(served: Serving, handlers: Handlers) -> None:
    # Both lines arrive in one read, so the task has not run when the cancel comes. Goes red if the reply is made by a
    # coroutine around the handler instead of by the task's callback.
    client = await served.connect()
    client.request("embed.query", query("slow"), id=1)
    client.cancel(1)
    assert wire_error(await client.reply())["code"] == "request_cancelled"
    assert handlers.calls == []


async def test_cancel_reaches_only_the_request_it_names(served: Serving, handlers: Handlers) -> None:
    one, other = await served.connect(), await served.connect()
    one.request("embed.query", query("a", "kept"), id=1)
    other.request("embed.query", query("b", "kept too"), id=1)
    one.request("embed.query", query("c"), id=2)
    await until(lambda: len(handlers.calls) == 3)
    one.cancel(2)
    assert (await one.reply())["id"] == 2
    handlers.release("a")
    handlers.release("b")
    assert (await one.reply())["result"] == "kept"
    assert (await other.reply())["result"] == "kept too"


async def test_cancel_of_an_unknown_or_finished_request_says_nothing(served: Serving) -> None:
    client = await served.connect()
    client.cancel((await client.call("probe.report"))["id"])
    client.cancel("never sent")
    assert await client.result("probe.report") == {"model_id": None}


async def test_a_malformed_cancel_is_refused_without_an_id(served: Serving) -> None:
    client = await served.connect()
    client.send({"jsonrpc": "2.0", "method": "$/cancel", "params": {"request": 1}})
    reply = await client.reply()
    assert (reply["id"], reply["error"]["code"]) == (None, -32602)
    assert reply["error"]["data"]["details"] == {"field": "request"}


async def test_a_handler_that_finishes_in_spite_of_a_cancel_is_answered_with_its_result() -> None:
    router, started = Router(), asyncio.Event()

    async def commit(call: Call, params: NoParams) -> str:
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "committed"
        return "never"

    router.add("models.list", commit)
    async with serving(router) as running:
        client = await running.connect()
        client.request("models.list", id=1)
        await started.wait()
        client.cancel(1)
        assert (await client.reply())["result"] == "committed"


# --- the end of a connection ---


async def test_closing_a_connection_cancels_its_requests_and_no_others(served: Serving, handlers: Handlers) -> None:
    leaver, stayer = await served.connect(), await served.connect()
    leaver.request("embed.query", query("left"))
    stayer.request("embed.query", query("kept", "here"))
    await until(lambda: len(handlers.calls) == 2)
    await leaver.close()
    await until(lambda: handlers.ended == ["cancelled left"])
    assert served.server.in_flight == 1
    handlers.release("kept")
    assert (await stayer.reply())["result"] == "here"


async def test_a_hundred_clients_that_ask_and_leave_leave_nothing_behind(served: Serving, handlers: Handlers) -> None:
    for number in range(100):
        client = await served.connect()
        client.request("embed.query", query(f"m{number}"))
        await client.close()
    await until(lambda: served.server.connections == 0)
    assert served.server.in_flight == 0
    assert all(ended.startswith("cancelled") for ended in handlers.ended)
    assert await (await served.connect()).result("probe.report") == {"model_id": None}


async def test_a_peer_that_finished_sending_still_gets_its_replies(served: Serving, handlers: Handlers) -> None:
    # What `printf ... | nc -N -U service.sock` does.
    client = await served.connect()
    client.request("embed.query", query("slow", "late"), id=1)
    client.writer.write_eof()
    await until(lambda: bool(handlers.calls))
    await asyncio.sleep(0.05)
    handlers.release("slow")
    assert (await client.reply())["result"] == "late"
    assert await client.at_end()


async def test_a_half_closed_peer_that_goes_away_cancels_its_requests(served: Serving, handlers: Handlers) -> None:
    client = await served.connect()
    client.request("embed.query", query("slow"))
    client.writer.write_eof()
    await until(lambda: bool(handlers.calls))
    await client.close()
    await until(lambda: handlers.ended == ["cancelled slow"])
    await until(lambda: served.server.connections == 0)


@pytest.mark.parametrize(
    "half",
    [
        b'{"jsonrpc":"2.0","id":1,"method":"probe.report"}',  # a whole request, but for its newline
        b'{"jsonrpc":"2.0","id":1,"method":"probe.rep',
    ],
)
async def test_half_a_line_at_the_end_is_dropped(served: Serving, handlers: Handlers, half: bytes) -> None:
    client = await served.connect()
    client.send(half)
    client.writer.write_eof()
    assert await client.at_end()
    assert handlers.calls == []


# --- lines that are no requests ---


async def test_a_bad_line_costs_one_reply_and_the_next_line_is_served(served: Serving) -> None:
    client = await served.connect()
    client.send(b'{"jsonrpc":"2.0","id":1,\n\x00\xff\n[]\n')
    replies = [await client.reply() for _ in range(3)]
    assert [(reply["id"], reply["error"]["code"]) for reply in replies] == [
        (None, -32700),
        (None, -32700),
        (None, -32600),
    ]
    assert {reply["error"]["data"]["code"] for reply in replies} == {"invalid_request"}
    assert await client.result("probe.report") == {"model_id": None}


async def test_a_line_over_the_limit_is_refused_once_and_skipped(served: Serving) -> None:
    client = await served.connect()
    client.send(b'"' + b"x" * 100_000 + b'"\n')
    reply = await client.reply()
    assert (reply["id"], reply["error"]["code"]) == (None, -32600)
    assert reply["error"]["message"] == "the line is longer than 4096 bytes"
    assert await client.result("probe.report") == {"model_id": None}


async def test_sixteen_mebibytes_pass_and_one_byte_more_does_not(handlers: Handlers) -> None:
    async with serving(handlers.router) as running:
        client = await running.connect()
        head, tail = b'{"jsonrpc":"2.0","id":1,"method":"embed.query","params":{"model":"m","text":"', b'"}}'
        room = 16 * 1024 * 1024 - len(head) - len(tail)
        handlers.release("m")
        client.send(head + b"x" * room + tail + b"\n")
        assert (await client.reply())["result"] == "x" * room
        client.send(head + b"x" * (room + 1) + tail + b"\n")
        assert (await client.reply())["error"]["message"] == "the line is longer than 16777216 bytes"
        assert await client.result("probe.report") == {"model_id": None}


async def test_a_line_that_does_not_end_costs_the_connection(handlers: Handlers) -> None:
    async with serving(handlers.router, limits=Limits(line_seconds=0.05)) as running:
        client = await running.connect()
        assert await client.result("probe.report") == {"model_id": None}
        client.send(b'{"jsonrpc":')
        reply = await client.reply()
        assert (reply["id"], reply["error"]["code"]) == (None, -32600)
        assert reply["error"]["message"] == "a line that had begun did not end within 0.05 s"
        assert await client.at_end()


async def test_a_trickle_of_bytes_does_not_extend_the_time_of_a_line(handlers: Handlers) -> None:
    async with serving(handlers.router, limits=Limits(line_seconds=0.2)) as running:
        client = await running.connect()

        async def trickle() -> None:
            while True:
                client.send(b" ")
                await asyncio.sleep(0.02)

        task = asyncio.create_task(trickle())
        assert "did not end" in (await client.reply())["error"]["message"]
        task.cancel()


async def test_an_idle_connection_is_not_a_line_that_does_not_end(handlers: Handlers) -> None:
    async with serving(handlers.router, limits=Limits(line_seconds=0.3)) as running:
        client = await running.connect()
        client.send(b'{"jsonrpc":"2.0","id":1,"method":"probe.report"')
        await asyncio.sleep(0.01)  # a read of its own, so that the service sees a line begin
        client.send(b"}\n")
        assert (await client.reply())["id"] == 1
        await asyncio.sleep(0.5)
        assert (await client.call("probe.report"))["result"] == {"model_id": None}


async def test_a_message_without_an_id_is_refused_and_never_executed(served: Serving, handlers: Handlers) -> None:
    client = await served.connect()
    client.send({"jsonrpc": "2.0", "method": "probe.report"})
    reply = await client.reply()
    assert (reply["id"], reply["error"]["code"]) == (None, -32600)
    assert "needs an id" in reply["error"]["message"]
    assert handlers.calls == []


async def test_cancel_sent_as_a_request_is_an_unknown_method(served: Serving) -> None:
    client = await served.connect()
    assert (await client.error("$/cancel", {"id": 1}))["number"] == -32601


@pytest.mark.parametrize("method", ["no.such", "embed.result", "owned_decode.decode", "Probe.report"])
async def test_a_method_without_a_handler_is_unknown(served: Serving, method: str) -> None:
    client = await served.connect()
    error = await client.error(method)
    assert (error["number"], error["code"], error["class"]) == (-32601, "invalid_request", "permanent")


async def test_messages_are_cut_to_512_characters(served: Serving) -> None:
    client = await served.connect()
    error = await client.error("probe.report", {"k" * 3000: 1})
    assert len(error["message"]) == 512
    assert error["details"] == {"field": "k" * 128}


async def test_params_of_null_are_absent_params(served: Serving) -> None:
    client = await served.connect()
    client.send(b'{"jsonrpc":"2.0","id":1,"method":"probe.report","params":null}\n')
    assert (await client.reply())["result"] == {"model_id": None}


# --- errors of handlers ---


async def test_refusals_travel_at_their_level() -> None:
    router = Router()

    def refuse(call: Call, params: ProbeReport) -> None:
        raise invalid_state("no such job", job_id="j")

    async def fail(call: Call, params: NoParams) -> None:
        raise SynapseError("engine_crashed", "gone", details={"lane_id": "l", "reason": "exit"})

    router.add_inline("probe.report", refuse)
    router.add("models.list", fail)
    async with serving(router) as running:
        client = await running.connect()
        assert await client.call("probe.report") == {
            "jsonrpc": "2.0",
            "id": 101,
            "result": {
                "module_generation": GENERATION,
                "error": {
                    "code": "invalid_request",
                    "class": "permanent",
                    "safe_to_retry_same_request": False,
                    "message": "no such job",
                    "details": {"job_id": "j"},
                },
            },
        }
        assert (await client.call("models.list"))["result"]["error"] == {
            "code": "engine_crashed",
            "class": "transient",
            "safe_to_retry_same_request": True,
            "message": "gone",
            "retry_after_ms": 250,
            "details": {"lane_id": "l", "reason": "exit"},
        }


@pytest.mark.parametrize("inline", [True, False])
async def test_a_defect_costs_one_reply_and_its_log_entry_quotes_nothing(
    inline: bool, expected_warnings: ExpectedWarnings
) -> None:
    router = Router()

    def break_down(call: Call, params: EmbedQuery) -> None:
        try:
            raise KeyError(params.text)
        except KeyError as error:
            raise ValueError(f"bad text {params.text}") from error

    async def break_down_later(call: Call, params: EmbedQuery) -> None:
        break_down(call, params)

    if inline:
        router.add_inline("embed.query", break_down)
    else:
        router.add("embed.query", break_down_later)
    expected_warnings("request_failed")
    async with serving(router, new_id=lambda: "ref-9") as running:
        client = await running.connect()
        error = await client.error("embed.query", query("m", "a private text"))
        assert (error["number"], error["code"], error["details"]) == (-32603, "internal_error", {"reference": "ref-9"})
        assert "private" not in error["message"]
        assert (await client.error("no.such"))["number"] == -32601
    fields = expected_warnings.fields("request_failed")
    assert (fields["what"], fields["reference"]) == ("embed.query", "ref-9")
    where = str(fields["where"])
    assert where.startswith("ValueError at ")
    assert "; from KeyError at " in where
    assert "in break_down" in where
    assert "private" not in json.dumps(fields)


@pytest.mark.parametrize("inline", [True, False])
async def test_a_panic_in_a_library_costs_one_reply_too(inline: bool, expected_warnings: ExpectedWarnings) -> None:
    router = Router()

    class Panic(BaseException):
        """As a library that is written in Rust raises it: no Exception."""

    def panic(call: Call, params: NoParams) -> None:
        raise Panic("a private text")

    async def panic_later(call: Call, params: NoParams) -> None:
        panic(call, params)

    if inline:
        router.add_inline("models.list", panic)
    else:
        router.add("models.list", panic_later)
    expected_warnings("request_failed")
    async with serving(router, new_id=lambda: "ref-9") as running:
        client = await running.connect()
        for _ in range(2):
            error = await client.error("models.list")
            assert (error["code"], error["details"]) == ("internal_error", {"reference": "ref-9"})
        assert running.server.in_flight == 0
    assert "private" not in str(expected_warnings.fields("request_failed"))


@pytest.mark.parametrize("inline", [True, False])
async def test_a_result_that_cannot_be_encoded_is_a_defect(inline: bool, expected_warnings: ExpectedWarnings) -> None:
    router = Router()

    def lone_surrogate(call: Call, params: NoParams) -> str:
        return "\ud800"

    async def later(call: Call, params: NoParams) -> str:
        return "\ud800"

    if inline:
        router.add_inline("models.list", lone_surrogate)
    else:
        router.add("models.list", later)
    expected_warnings("request_failed")
    async with serving(router) as running:
        client = await running.connect()
        assert (await client.error("models.list"))["code"] == "internal_error"


async def test_an_error_that_cannot_be_encoded_is_a_defect(expected_warnings: ExpectedWarnings) -> None:
    router = Router()

    def refuse(call: Call, params: NoParams) -> None:
        raise invalid_state("not readable", path="/home/\udcff")

    router.add_inline("models.list", refuse)
    expected_warnings("request_failed")
    async with serving(router) as running:
        client = await running.connect()
        assert (await client.error("models.list"))["details"] == {"reference": "reference-1"}
        assert (await client.error("models.list"))["code"] == "internal_error"
    assert expected_warnings.fields("request_failed")["what"] == "invalid_request"


# --- how much one client may ask for ---


async def test_past_the_requests_in_flight_a_connection_is_overloaded(served: Serving, handlers: Handlers) -> None:
    client, other = await served.connect(), await served.connect()
    client.request("embed.query", query("a", "one"), id=1)
    client.request("embed.query", query("b", "two"), id=2)
    client.request("embed.query", query("c"), id=3)
    reply = await client.reply()
    assert reply["id"] == 3
    assert wire_error(reply) == {
        "number": -32003,
        "code": "overloaded",
        "class": "transient",
        "safe_to_retry_same_request": True,
        "retry_after_ms": 100,
        "message": "2 requests of this connection are in flight, which is the limit",
        "details": {"limit": 2, "in_flight": 2},
    }
    # An operation that answers at once takes no place, and other connections have places of their own.
    assert (await client.call("probe.report"))["result"] == {"model_id": None}
    other.request("embed.query", query("d", "elsewhere"), id=1)
    handlers.release("d")
    assert (await other.reply())["result"] == "elsewhere"
    # A place that became free is free.
    handlers.release("a")
    assert (await client.reply())["result"] == "one"
    client.request("embed.query", query("a", "again"), id=9)
    assert (await client.reply())["result"] == "again"


async def test_what_can_never_succeed_is_refused_before_overload(served: Serving) -> None:
    client = await served.connect()
    client.request("embed.query", query("a"), id=1)
    client.request("embed.query", query("b"), id=2)
    client.request("embed.query", {"model": "c"}, id=3)
    client.request("no.such", id=4)
    assert [(await client.reply())["error"]["code"] for _ in range(2)] == [-32602, -32601]


async def test_past_the_connections_a_client_is_told_and_closed(handlers: Handlers) -> None:
    async with serving(handlers.router, limits=Limits(connections=2)) as running:
        first, second = await running.connect(), await running.connect()
        await first.result("probe.report")
        await second.result("probe.report")
        third = await running.connect()
        reply = await third.reply()
        assert reply["id"] is None
        assert (reply["error"]["code"], reply["error"]["data"]["details"]) == (-32003, {"limit": 2, "in_flight": 2})
        assert await third.at_end()
        await first.close()
        await until(lambda: running.server.connections == 1)
        assert await (await running.connect()).result("probe.report") == {"model_id": None}


async def test_a_flood_on_one_connection_lets_the_others_have_their_turns() -> None:
    router, order = Router(), list[str]()
    router.add_inline("probe.report", lambda call, params: order.append("flood"))
    router.add_inline("probe.status", lambda call, params: order.append("other"))
    async with serving(router) as running:
        flood, other = await running.connect(), await running.connect()
        flood.send(b'{"jsonrpc":"2.0","id":1,"method":"probe.report"}\n' * 3000)
        other.request("probe.status", {"job_id": "j"})
        await other.reply()
        for _ in range(3000):
            await flood.reply()
    assert order.index("other") <= 128
    assert len(order) == 3001


# --- scope ---


def scoped_router() -> Router:
    """A handler for every operation that has shapes; each tells its name."""
    from synapse_service.operations.extensions import service

    router = Router()
    for name, operation in OPERATIONS.items():
        if operation.served and not name.startswith("service."):
            router.add_inline(name, lambda call, params: call.method)

    class About:
        def info(self) -> str:
            return "service.info"

    service.register(
        router,
        About(),  # type: ignore[arg-type]
        version="1",
        module_generation=lambda: GENERATION,
        holders=list,
        request_stop=lambda seconds: None,
    )
    return router


def hello(**scope: str) -> dict[str, Any]:
    return {"client": {"name": "test"}, "protocol": 1, **({"scope": scope} if scope else {})}


@pytest.mark.parametrize("method", [*OPERATIONS, "no.such", "events.unsubscribe"])
async def test_a_flow_gets_the_contracts_queries_and_service_info_only(method: str) -> None:
    row = CONTRACT.get(method)
    may = method == "service.info" or (row is not None and row.kind == "query")
    async with serving(scoped_router()) as running:
        client = await running.connect()
        await client.result("service.hello", hello(flow_id="flow-1", harness="h"))
        error = wire_error(await client.call(method, {"member": 1}))
        if may:
            # It passed the scope and failed on what comes next: no handler yet, or the unknown member.
            assert error["number"] == (-32602 if OPERATIONS[method].served else -32601)
        else:
            assert error == {
                "number": -32001,
                "code": "flow_scope_refused",
                "class": "permanent",
                "safe_to_retry_same_request": False,
                "message": f"{method} is not served on a connection that is bound to the flow flow-1",
                "details": {"method": method, "flow_id": "flow-1"},
            }


async def test_a_flow_is_served_its_queries() -> None:
    async with serving(scoped_router()) as running:
        client = await running.connect()
        await client.result("service.hello", hello(flow_id="flow-1"))
        assert await client.result("embed.query", query("m")) == "embed.query"
        assert await client.result("service.info") == "service.info"


async def test_a_scope_without_a_flow_restricts_nothing() -> None:
    async with serving(scoped_router()) as running:
        client = await running.connect()
        await client.result("service.hello", hello(project_root="/p", session="s"))
        assert await client.result("probe.start", {"model_id": "m"}) == "probe.start"


async def test_the_first_greeting_binds_and_a_second_is_refused() -> None:
    async with serving(scoped_router()) as running:
        client = await running.connect()
        await client.result("service.hello", hello())
        error = await client.error("service.hello", hello(flow_id="flow-1"))
        assert (error["number"], error["message"]) == (-32602, "this connection was greeted before")
        assert await client.result("probe.start", {"model_id": "m"}) == "probe.start"


async def test_a_greeting_after_another_request_is_refused() -> None:
    async with serving(scoped_router()) as running:
        client = await running.connect()
        await client.error("no.such")
        error = await client.error("service.hello", hello(flow_id="flow-1"))
        assert error["number"] == -32602
        assert "before every other request" in error["message"]


async def test_a_greeting_that_was_refused_may_be_corrected() -> None:
    async with serving(scoped_router()) as running:
        client = await running.connect()
        assert (await client.error("service.hello", {"client": {"name": "x"}, "protocol": 2}))["number"] == -32602
        greeting = await client.result("service.hello", hello())
        assert greeting["operations"] == [name for name, row in CONTRACT.items() if row.served]


# --- who may connect ---


async def test_another_user_is_disconnected_without_a_word(
    handlers: Handlers, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("connection_refused")
    async with serving(handlers.router, owner=4242) as running:
        client = await running.connect()
        client.request("probe.report")
        assert await client.at_end()
        assert running.server.connections == 0
    assert handlers.calls == []
    assert "connected to the service of user 4242" in str(expected_warnings.fields("connection_refused")["reason"])


# --- stopping ---


async def test_stop_lets_running_requests_finish_and_answers_them(handlers: Handlers) -> None:
    async with serving(handlers.router) as running:
        client = await running.connect()
        client.request("embed.query", query("slow", "finished"), id=1)
        await until(lambda: bool(handlers.calls))
        stopping = asyncio.create_task(running.server.stop(10))
        await until(lambda: running.server.state == "stopping")
        # The address is gone, a new task is refused, and what answers at once is still answered.
        with pytest.raises(FileNotFoundError):
            await running.connect()
        error = await client.error("embed.query", query("new"))
        assert (error["code"], error["details"]) == ("overloaded", {"reason": "stopping"})
        assert await client.result("probe.report") == {"model_id": None}
        handlers.release("slow")
        assert (await client.reply())["result"] == "finished"
        await stopping
        assert await client.at_end()


async def test_stop_cancels_what_outlasts_the_drain_and_says_so(handlers: Handlers) -> None:
    async with serving(handlers.router) as running:
        client = await running.connect()
        client.request("embed.query", query("slow"), id=1)
        await until(lambda: bool(handlers.calls))
        await running.server.stop(0.01)
        assert wire_error(await client.reply())["code"] == "request_cancelled"
        assert await client.at_end()
    assert handlers.ended == ["cancelled slow"]


# --- the router ---


def test_only_registered_operations_with_shapes_take_one_handler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(OPERATIONS, "later.one", Operation("later.one", "query"))
    router = Router()
    router.add_inline("probe.start", lambda call, params: None)
    with pytest.raises(ValueError, match="already has a handler"):
        router.add_inline("probe.start", lambda call, params: None)
    with pytest.raises(ValueError, match=r"no shapes for later\.one"):
        router.add_inline("later.one", lambda call, params: None)
    with pytest.raises(KeyError):
        router.add_inline("no.such", lambda call, params: None)


def test_served_lists_what_has_a_handler_in_the_registrys_order() -> None:
    router = Router()
    for method in ("service.info", "probe.start", "embed.query", "service.hello"):
        router.add_inline(method, lambda call, params: None)
    assert router.served() == (["embed.query", "probe.start"], ["service.hello", "service.info"])
