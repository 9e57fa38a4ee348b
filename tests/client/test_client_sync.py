"""The blocking client against the fake service: calls, errors, time limits, lost connections, threads."""

from __future__ import annotations

import math
import os
import socket
import threading
import time
from array import array
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fixtures.fake_service import (
    DIMS,
    FINGERPRINT,
    FULL,
    HELD,
    Drop,
    FakeCall,
    FakeService,
    embedded,
    status,
    vector_of,
)
from synapse_client import (
    Client,
    ClientClosed,
    ConnectionLost,
    EndpointRefused,
    JobUnfinished,
    NoReply,
    ProtocolViolation,
    ServiceNotRunning,
    SynapseError,
)
from synapse_client.backoff import pauses
from synapse_client.connection import Connection
from synapse_client.transport import Stream, open_stream
from synapse_wire import messages


class Pauses:
    """Stands for ``time.sleep``: records how long it was asked to sleep, and may do something meanwhile."""

    def __init__(self, during: Any = None) -> None:
        self.asked: list[float] = []
        self._during = during

    def __call__(self, seconds: float) -> None:
        self.asked.append(seconds)
        if self._during is not None:
            self._during(len(self.asked))


# --- what a call gives ---


def test_embed_query_gives_the_vector_and_its_identity(fake: FakeService) -> None:
    with Client(fake.address) as client:
        answer = client.embed_query("mini", "a little text")
    assert answer.vector == array("f", vector_of("a little text"))
    assert (answer.ids, answer.dims, answer.token_counts) == (["0"], DIMS, [5])
    assert (answer.fingerprint, answer.table_epoch, answer.module_generation) == (FINGERPRINT, 0, 1)
    assert (answer.engine.engine, answer.equivalent_to) == ("owned-cpu", [])
    assert answer.submitted_sha256 == answer.content_sha256
    assert not answer.truncations[0].truncated


def test_embed_batch_keeps_the_order_and_the_ids(fake: FakeService) -> None:
    with Client(fake.address) as client:
        named = client.embed_batch("mini", ["one", "three"], ids=["a", "b"])
        numbered = client.embed_batch("mini", ("one", "three"))
    assert named.by_id() == {"a": array("f", vector_of("one")), "b": array("f", vector_of("three"))}
    assert numbered.ids == ["0", "1"]
    with pytest.raises(ValueError, match="2 vectors"):
        _ = named.vector


def test_the_rows_become_one_float32_array_on_request(fake: FakeService) -> None:
    with Client(fake.address) as client:
        matrix = client.embed_batch("mini", ["one", "three", "seven"]).numpy()
    assert (matrix.shape, str(matrix.dtype)) == ((3, DIMS), "float32")
    assert matrix.tolist() == [vector_of(text) for text in ("one", "three", "seven")]


def test_an_embed_request_carries_what_was_demanded_and_nothing_else(fake: FakeService) -> None:
    with Client(fake.address) as client:
        client.embed_query("mini", "x", deadline_ms=900, required_epoch=0, allow_equivalent=False)
        client.embed_batch("mini", ["x"], max_queue_ms=0, required_fingerprint=FINGERPRINT, request_key="k")
    assert fake.received[1:] == [
        (
            "embed.query",
            {
                "model": "mini",
                "text": "x",
                "vector_encoding": "base64",
                "deadline_ms": 900,
                "required_epoch": 0,
                "allow_equivalent": False,
            },
        ),
        (
            "embed.batch",
            {
                "model": "mini",
                "items": [{"id": "0", "text": "x"}],
                "vector_encoding": "base64",
                "max_queue_ms": 0,
                "required_fingerprint": FINGERPRINT,
                "request_key": "k",
            },
        ),
    ]


def test_a_batch_of_one_string_is_refused_before_it_is_sent(fake: FakeService) -> None:
    with Client(fake.address) as client:
        with pytest.raises(SynapseError, match="one string") as one:
            client.embed_batch("mini", "text")
        with pytest.raises(SynapseError, match="1 ids for 2 texts"):
            client.embed_batch("mini", ["a", "b"], ids=["1"])
    assert one.value.code == "invalid_request"
    assert fake.methods() == ["service.hello"]


def test_the_greeting_says_who_calls_and_tells_what_the_service_is(fake: FakeService) -> None:
    scope = {"flow_id": "f1"}
    with Client(fake.address, name="tester", version="2", scope=scope) as client:
        assert client.service is not None
        assert (client.service.server_version, client.service.module_generation) == ("0.0-fake", 1)
        assert "embed.query" in client.service.operations
    expected = {"client": {"name": "tester", "version": "2"}, "protocol": 1, "scope": scope}
    assert fake.received == [("service.hello", expected)]


def test_a_tool_may_greet_by_itself(fake: FakeService) -> None:
    with Client(fake.address, greet=False) as client:
        answer = client.call("service.hello", {"client": {"name": "raw"}})
    assert answer["protocol"] == 1
    assert fake.received == [("service.hello", {"client": {"name": "raw"}})]


def test_management_methods_send_the_contracts_parameters(fake: FakeService) -> None:
    with Client(fake.address) as client:
        accepted = client.model_load(
            "new",
            task="embed",
            engine="owned-cpu",
            files={"model": {"url": "file:///m"}, "tokenizer": {"url": "file:///t", "sha256": "0" * 64}},
            pooling="mean",
            normalize=False,
        )
        assert (accepted.job_id, accepted.state) == ("load-new", "queued")
        assert client.model_status("mini").state == "ready"
        assert [row.model_id for row in client.models_list().models] == ["mini", "new"]
        assert client.model_unload("mini").state == "unloaded"
        assert client.probe_start("mini").job_id == "probe-mini"
        assert client.probe_status("probe-mini").kind == "probe"
        assert [lane.model_id for lane in client.probe_report("mini").lanes] == ["mini"]
        assert len(client.probe_report().lanes) == 2
        assert client.settings_set({"log_level": None}).settings[0].name == "log_level"
        assert [setting.name for setting in client.settings_get(["cpu_lanes"]).settings] == ["cpu_lanes"]
        assert [entry.seq for entry in client.logs_tail(3, level="info").entries] == [4, 5]
        assert client.diagnostics().checks[0].status == "ok"
        assert client.info().socket_path == fake.address
        assert client.shutdown(drain_ms=5).drain_ms == 5
    sent = dict(fake.received)
    assert sent["model.load"] == {
        "model_id": "new",
        "task": "embed",
        "engine": "owned-cpu",
        "source": "file",
        "files": {"model": {"url": "file:///m"}, "tokenizer": {"url": "file:///t", "sha256": "0" * 64}},
        "pooling": "mean",
        "normalize": False,
    }
    assert sent["settings.set"] == {"values": {"log_level": None}}
    assert sent["service.shutdown"] == {"drain_ms": 5}


def test_call_raw_leaves_the_numbers_text_alone(fake: FakeService) -> None:
    fake.on("service.info", lambda _: msgspec.Raw(b'{"x":1e-05,"y":0.10}'))
    with Client(fake.address) as client:
        assert bytes(client.call_raw("service.info")) == b'{"x":1e-05,"y":0.10}'
        assert client.call("service.info") == {"x": 1e-05, "y": 0.1}


# --- what the service refuses ---


def test_a_semantic_refusal_is_raised_with_all_its_members(fake: FakeService) -> None:
    with Client(fake.address) as client, pytest.raises(SynapseError) as refused:
        client.embed_query("nobody", "x")
    error = refused.value
    assert (error.code, error.level, error.class_) == ("unknown_model", "semantic", "permanent")
    assert error.details == {"model_id": "nobody"}
    assert str(error) == "unknown_model: no model is called 'nobody'"


def test_a_channel_error_keeps_its_number_and_its_retry_advice(fake: FakeService) -> None:
    def overloaded(call: FakeCall) -> Any:
        raise SynapseError("overloaded", "too much", details={"limit": 64, "in_flight": 64})

    fake.on("service.info", overloaded)
    with Client(fake.address) as client:
        with pytest.raises(SynapseError) as refused:
            client.info()
        with pytest.raises(SynapseError) as unknown:
            client.call("no.such.method")
    assert (refused.value.level, refused.value.number, refused.value.retry_after_ms) == ("channel", -32003, 100)
    assert refused.value.safe_to_retry_same_request
    assert (unknown.value.code, unknown.value.number) == ("invalid_request", -32601)


def test_an_error_code_from_a_later_version_keeps_its_name(fake: FakeService) -> None:
    fake.on(
        "service.info",
        lambda _: msgspec.Raw(
            b'{"module_generation":1,"error":{"code":"new_in_v9","class":"transient",'
            b'"safe_to_retry_same_request":true,"message":"later"}}'
        ),
    )
    with Client(fake.address) as client, pytest.raises(SynapseError) as refused:
        client.info()
    assert (refused.value.code, refused.value.class_) == ("new_in_v9", "transient")


def test_a_job_status_with_an_error_is_not_a_refusal(fake: FakeService) -> None:
    failed = {"code": "artifact_invalid", "class": "permanent", "safe_to_retry_same_request": False, "message": "no"}
    fake.job("j", status("j", "failed", 1, 3, error=failed))
    with Client(fake.address) as client:
        assert client.job_status("j").error == failed


def test_a_result_of_an_unknown_shape_is_a_protocol_violation(fake: FakeService) -> None:
    fake.on("service.info", lambda _: {"pid": "not a number"})
    with Client(fake.address) as client, pytest.raises(ProtocolViolation, match="ServiceInfo"):
        client.info()


def test_a_vector_of_the_wrong_length_is_a_protocol_violation(fake: FakeService) -> None:
    def short(call: FakeCall) -> Any:
        return msgspec.structs.replace(embedded(call, [("0", "x")]), dims=DIMS + 1)

    fake.on("embed.query", short)
    with Client(fake.address) as client, pytest.raises(ProtocolViolation, match="16 bytes where 5 float32"):
        client.embed_query("mini", "x")


def test_a_line_that_is_no_message_ends_the_connection(fake: FakeService) -> None:
    def garbage(call: FakeCall) -> Any:
        call.connection.write(b"<html>\n")
        return HELD

    fake.on("service.info", garbage)
    with Client(fake.address) as client:
        with pytest.raises(ProtocolViolation, match="not a JSON-RPC message"):
            client.info()
        assert client.models_list().module_generation == 1
    assert fake.methods().count("service.hello") == 2


def test_a_reply_to_nothing_ends_the_connection(fake: FakeService) -> None:
    def other(call: FakeCall) -> Any:
        call.id = 4711
        return {}

    fake.on("service.info", other)
    with Client(fake.address) as client, pytest.raises(ProtocolViolation, match="4711"):
        client.info()


def test_text_that_is_not_unicode_is_refused_before_it_is_sent(fake: FakeService) -> None:
    with Client(fake.address) as client:
        with pytest.raises(SynapseError) as refused:
            client.embed_query("mini", "\ud800")
        assert client.embed_query("mini", "fine").dims == DIMS
    assert refused.value.code == "invalid_request"
    assert fake.methods() == ["service.hello", "embed.query"]


def test_a_request_over_the_line_limit_is_refused_before_it_is_sent(fake: FakeService) -> None:
    with Client(fake.address) as client, pytest.raises(SynapseError, match="16777216") as refused:
        client.embed_query("mini", "x" * (16 * 1024 * 1024))
    assert refused.value.code == "invalid_request"
    assert refused.value.details is not None
    assert refused.value.details["max_bytes"] == 16 * 1024 * 1024
    assert fake.methods() == ["service.hello"]


def test_a_large_request_and_a_large_reply_cross_whole(fake: FakeService) -> None:
    fake.durable.inline_items = 4096
    texts = [f"{index} " + "word " * 2000 for index in range(400)]
    with Client(fake.address) as client:
        answer = client.embed_batch("mini", texts)
    assert answer.vectors == [array("f", vector_of(text)) for text in texts]


# --- time ---


def test_a_call_without_an_answer_ends_in_time_and_is_cancelled(fake: FakeService) -> None:
    fake.on("service.info", lambda _: HELD)
    with Client(fake.address, timeout_s=0.2) as client:
        with pytest.raises(NoReply) as late:
            client.info()
        fake.wait_for(lambda: len(fake.cancelled) == 1)
    assert late.value.method == "service.info"
    assert late.value.waited_s >= 0.2
    assert isinstance(late.value, TimeoutError)
    assert fake.cancelled == [fake.held[0].id]


def test_a_late_answer_reaches_nobody(fake: FakeService) -> None:
    fake.on("service.info", lambda _: HELD)
    with Client(fake.address, timeout_s=0.2) as client:
        with pytest.raises(NoReply):
            client.info()
        fake.held[0].reply({"stale": True})
        assert client.call("models.list", timeout_s=10)["module_generation"] == 1
    assert fake.methods().count("service.hello") == 1


def test_the_wait_of_an_inference_follows_its_deadline(fake: FakeService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("synapse_client.calls.DEADLINE_GRACE_S", 0.1)
    fake.on("embed.query", lambda _: HELD)
    with Client(fake.address, timeout_s=3600) as client, pytest.raises(NoReply):
        client.embed_query("mini", "x", deadline_ms=100)
    assert fake.received[-1][1]["deadline_ms"] == 100


def test_the_services_own_deadline_error_is_passed_on(fake: FakeService) -> None:
    def expired(call: FakeCall) -> Any:
        raise SynapseError("deadline_exceeded", "out of time")

    fake.on("embed.query", expired)
    with Client(fake.address) as client, pytest.raises(SynapseError) as refused:
        client.embed_query("mini", "x", deadline_ms=1)
    assert (refused.value.code, refused.value.safe_to_retry_same_request) == ("deadline_exceeded", False)


def test_a_service_that_accepts_and_says_nothing_is_reported_as_silent(home: Path) -> None:
    address = str(home / "silent.sock")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(address)
        listener.listen(1)
        with pytest.raises(NoReply, match=r"service\.hello"):
            Client(address, timeout_s=0.2).info()


# --- connecting ---


def test_no_socket_means_the_service_is_not_running(home: Path) -> None:
    pauses_taken = Pauses()
    with pytest.raises(ServiceNotRunning, match="synapse serve") as missing:
        Client(home=home, sleep=pauses_taken).info()
    assert missing.value.address == str(home / "run" / "service.sock")
    assert pauses_taken.asked == []


def test_a_socket_left_behind_means_the_service_is_not_running(fake: FakeService) -> None:
    fake.stop(leave_socket=True)
    with pytest.raises(ServiceNotRunning, match="former service left"):
        Client(fake.address).info()


def test_a_file_in_the_place_of_the_socket_is_refused(home: Path) -> None:
    (home / "service.sock").write_text("no socket")
    with pytest.raises(EndpointRefused, match="not a socket"):
        Client(str(home / "service.sock")).info()
    assert (home / "service.sock").read_text() == "no socket"


def test_a_socket_of_another_user_is_refused(fake: FakeService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 4242)
    with pytest.raises(EndpointRefused, match="not to you \\(4242\\)"):
        Client(fake.address).info()
    assert fake.received == []


def test_the_first_connection_waits_when_told_to(home: Path) -> None:
    service = FakeService(home / "run")
    started = Pauses(during=lambda count: service.start() if count == 3 else None)
    client = Client(service.address, connect_s=5, sleep=started)
    try:
        assert client.info().server_version == "0.0-fake"
        assert started.asked == [0.02, 0.04, 0.08]
    finally:
        client.close()
        service.stop()


def test_pauses_between_attempts_grow_up_to_a_ceiling() -> None:
    growing = pauses()
    assert [round(next(growing), 2) for _ in range(7)] == [0.02, 0.04, 0.08, 0.16, 0.32, 0.5, 0.5]


def test_an_idle_client_reconnects_after_a_restart(fake: FakeService) -> None:
    with Client(fake.address) as client:
        client.info()
        fake.stop()
        fake.generation = 2
        fake.start()
        assert client.model_unload("mini").module_generation == 2
        assert client.service is not None
        assert client.service.module_generation == 2


def test_reconnecting_waits_for_a_service_that_comes_back(fake: FakeService) -> None:
    restarting = Pauses(during=lambda count: fake.start() if count == 2 else None)
    with Client(fake.address, sleep=restarting) as client:
        client.info()
        fake.stop()
        assert client.info().server_version == "0.0-fake"
    assert restarting.asked == [0.02, 0.04]


def test_reconnecting_gives_up_when_nobody_comes_back(fake: FakeService) -> None:
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    client = Client(fake.address, reconnect_s=1.0, clock=lambda: now[0], sleep=sleep)
    client.info()
    fake.stop()
    with pytest.raises(ServiceNotRunning):
        client.info()
    assert 0.5 < now[0] <= 1.0
    before = now[0]
    with pytest.raises(ServiceNotRunning):
        client.info()
    assert now[0] == before
    client.close()


# --- a connection that drops under a request ---


def _drop_first(fake: FakeService, method: str) -> None:
    original = fake.handlers[method]

    def handler(call: FakeCall) -> Any:
        if fake.methods().count(method) == 1:
            raise Drop
        return original(call)

    fake.on(method, handler)


def test_a_question_is_asked_again_after_the_connection_dropped(fake: FakeService) -> None:
    _drop_first(fake, "embed.query")
    with Client(fake.address) as client:
        assert client.embed_query("mini", "x").dims == DIMS
    assert fake.methods() == ["service.hello", "embed.query", "service.hello", "embed.query"]


def test_a_change_is_not_sent_twice_after_the_connection_dropped(fake: FakeService) -> None:
    _drop_first(fake, "model.unload")
    with Client(fake.address) as client:
        with pytest.raises(ConnectionLost, match=r"model\.unload") as lost:
            client.model_unload("mini")
        assert lost.value.sent
        assert fake.methods().count("model.unload") == 1
        assert client.model_unload("mini").state == "unloaded"


def test_a_method_that_the_registry_does_not_know_is_not_sent_twice(fake: FakeService) -> None:
    class Unknown(dict[str, Any]):
        def get(self, key: str, default: Any = None) -> Any:
            if key == "later.version":
                raise Drop
            return super().get(key, default)

    fake.handlers = Unknown(fake.handlers)
    with Client(fake.address) as client, pytest.raises(ConnectionLost):
        client.call("later.version")
    assert fake.methods().count("later.version") == 1


def test_a_question_that_ends_the_connection_every_time_is_given_up(fake: FakeService) -> None:
    def drop(call: FakeCall) -> Any:
        raise Drop

    fake.on("embed.query", drop)
    with Client(fake.address) as client, pytest.raises(ConnectionLost) as lost:
        client.embed_query("mini", "x")
    assert lost.value.sent
    assert fake.methods().count("embed.query") == 2


def test_a_change_that_was_not_written_whole_is_sent_again(fake: FakeService) -> None:
    class CutStream:
        """Passes half a line on, once, and then breaks like a socket whose peer has gone."""

        def __init__(self, inner: Stream) -> None:
            self.inner = inner
            self.receive = inner.receive
            self.interrupt = inner.interrupt
            self.close = inner.close

        def send(self, data: memoryview, timeout_s: float) -> int:
            if b"model.unload" in bytes(data) and not cut:
                cut.append(True)
                self.inner.send(data[:20], timeout_s)
                raise BrokenPipeError(32, "Broken pipe")
            return self.inner.send(data, timeout_s)

    cut: list[bool] = []
    with Client(fake.address, open_stream=lambda address: CutStream(open_stream(address))) as client:
        assert client.model_unload("mini").state == "unloaded"
    assert fake.methods().count("model.unload") == 1


def test_a_request_that_was_never_written_is_not_cancelled(fake: FakeService) -> None:
    class FullStream:
        """Takes nothing of one request, like a socket whose peer doesn't read."""

        def __init__(self, inner: Stream) -> None:
            self.inner = inner
            self.receive = inner.receive
            self.interrupt = inner.interrupt
            self.close = inner.close

        def send(self, data: memoryview, timeout_s: float) -> int:
            return 0 if b"model.unload" in bytes(data) else self.inner.send(data, timeout_s)

    with Client(fake.address, open_stream=lambda address: FullStream(open_stream(address)), timeout_s=0.1) as client:
        with pytest.raises(NoReply):
            client.model_unload("mini")
        assert client.call("service.info", timeout_s=10)["state"] == "serving"
    assert (fake.methods(), fake.cancelled) == (["service.hello", "service.info"], [])


def test_a_service_that_hangs_up_on_the_greeting_is_reported(fake: FakeService) -> None:
    def drop(call: FakeCall) -> Any:
        raise Drop

    fake.on("service.hello", drop)
    with pytest.raises(ConnectionLost, match=r"service\.hello"):
        Client(fake.address).info()


def test_a_service_at_its_limit_is_asked_again_for_a_while(fake: FakeService) -> None:
    fake.full = 2
    pauses = Pauses()
    with Client(fake.address, sleep=pauses) as client:
        assert client.info().server_version == "0.0-fake"
    assert pauses.asked == [0.02, 0.04]


def test_a_service_that_stays_at_its_limit_says_so_itself(fake: FakeService) -> None:
    fake.full = 1000
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    with pytest.raises(SynapseError) as refusal:
        Client(fake.address, clock=lambda: now[0], sleep=sleep).info()
    error = refusal.value
    assert (error.code, error.details, error.retry_after_ms) == ("overloaded", FULL, 100)
    assert 0 < now[0] < 10


def test_why_a_service_hung_up_is_heard_although_it_takes_nothing_more() -> None:
    refusal = SynapseError("overloaded", "full", details=FULL)

    class Deaf:
        def __init__(self) -> None:
            self.said = [messages.encode_error(None, refusal, 1), b""]

        def send(self, data: memoryview, timeout_s: float) -> int:
            raise BrokenPipeError(32, "Broken pipe")

        def receive(self, timeout_s: float) -> bytes:
            return self.said.pop(0)

        def interrupt(self) -> None: ...

        def close(self) -> None: ...

    with pytest.raises(SynapseError) as caught:
        Connection(Deaf(), time.monotonic).request("service.hello", {}, time.monotonic() + 5)
    assert caught.value.code == "overloaded"


def test_waits_may_be_as_long_as_anybody_likes(fake: FakeService) -> None:
    with Client(fake.address, timeout_s=math.inf) as client:
        assert client.info().server_version == "0.0-fake"
        assert client.embed_query("mini", "a", deadline_ms=2**53 - 1).dims


# --- threads, forks, closing ---


def test_replies_find_their_threads_in_any_order(fake: FakeService) -> None:
    fake.on("embed.query", lambda _: HELD)
    answers: dict[str, array[float]] = {}
    with Client(fake.address) as client:

        def ask(text: str) -> None:
            answers[text] = client.embed_query("mini", text).vector

        threads = [threading.Thread(target=ask, args=("x" * length,)) for length in range(1, 9)]
        for thread in threads:
            thread.start()
        fake.wait_for(lambda: len(fake.held) == 8)
        for call in reversed(fake.held):
            call.reply(embedded(call, [("0", call.params.text)]))
        for thread in threads:
            thread.join(10)
    assert answers == {text: array("f", vector_of(text)) for text in ("x" * length for length in range(1, 9))}
    assert fake.methods().count("service.hello") == 1


def test_a_thread_whose_time_is_up_leaves_the_others_waiting(fake: FakeService) -> None:
    fake.on("embed.query", lambda _: HELD)
    answers: list[int] = []
    with Client(fake.address) as client:
        patient = threading.Thread(target=lambda: answers.append(client.embed_query("mini", "x").dims))
        patient.start()
        fake.wait_for(lambda: len(fake.held) == 1)
        fake.on("service.info", lambda _: HELD)
        with pytest.raises(NoReply):
            client.call("service.info", timeout_s=0.1)
        call = fake.held[0]
        call.reply(embedded(call, [("0", "x")]))
        patient.join(10)
    assert answers == [DIMS]


def test_no_more_requests_are_open_than_the_service_accepts(fake: FakeService) -> None:
    fake.on("embed.query", lambda _: HELD)
    answers: list[int] = []
    with Client(fake.address) as client:
        threads = [
            threading.Thread(target=lambda: answers.append(client.embed_query("mini", "x").dims)) for _ in range(70)
        ]
        for thread in threads:
            thread.start()
        fake.wait_for(lambda: len(fake.held) == 64)
        time.sleep(0.05)
        assert fake.methods().count("embed.query") == 64
        fake.on("embed.query", lambda call: embedded(call, [("0", "x")]))
        for call in list(fake.held):
            call.reply(embedded(call, [("0", "x")]))
        for thread in threads:
            thread.join(10)
    assert answers == [DIMS] * 70


def test_closing_ends_what_waits_and_what_comes(fake: FakeService) -> None:
    fake.on("embed.query", lambda _: HELD)
    ends: list[BaseException] = []
    client = Client(fake.address)

    def ask() -> None:
        try:
            client.embed_query("mini", "x")
        except ConnectionLost as error:
            ends.append(error)

    waiting = threading.Thread(target=ask)
    waiting.start()
    fake.wait_for(lambda: len(fake.held) == 1)
    client.close()
    waiting.join(10)
    assert len(ends) == 1
    with pytest.raises(ClientClosed):
        client.info()
    client.close()


def test_an_interrupted_call_is_cancelled_and_the_client_goes_on(fake: FakeService) -> None:
    class InterruptedStream:
        """Raises what Ctrl-C raises, at the first attempt to read the reply to ``service.info``."""

        def __init__(self, inner: Stream) -> None:
            self.inner = inner
            self.send = inner.send
            self.interrupt = inner.interrupt
            self.close = inner.close

        def receive(self, timeout_s: float) -> bytes | None:
            if fake.held and not interrupted:
                interrupted.append(True)
                raise KeyboardInterrupt
            return self.inner.receive(0.05)

    interrupted: list[bool] = []
    fake.on("service.info", lambda _: HELD)
    with Client(fake.address, open_stream=lambda address: InterruptedStream(open_stream(address))) as client:
        with pytest.raises(KeyboardInterrupt):
            client.info()
        fake.wait_for(lambda: len(fake.cancelled) == 1)
        fake.held[0].reply({})
        assert client.models_list().module_generation == 1
    assert fake.methods().count("service.hello") == 1


def test_a_forked_child_opens_a_connection_of_its_own(fake: FakeService, monkeypatch: pytest.MonkeyPatch) -> None:
    with Client(fake.address) as client:
        client.info()
        parent = os.getpid()
        inherited = client._connection
        assert inherited is not None
        # What a child sees: another process number, and a copy of the parent's connection.
        monkeypatch.setattr(os, "getpid", lambda: parent + 1)
        client.info()
        assert client._connection is not inherited
    assert fake.methods() == ["service.hello", "service.info"] * 2


# --- jobs ---


def test_waiting_for_a_job_reports_every_look_and_ends_with_the_last(fake: FakeService) -> None:
    fake.job("j", status("j", "queued", 0, 2), status("j", "running", 1, 2), status("j", "done", 2, 2))
    seen: list[tuple[str, int]] = []
    taken = Pauses()
    with Client(fake.address, sleep=taken) as client:
        final = client.wait_job("j", lambda look: seen.append((look.state, look.items_done)))
    assert seen == [("queued", 0), ("running", 1), ("done", 2)]
    assert (final.state, final.items_done) == ("done", 2)
    assert taken.asked == [0.05, pytest.approx(0.075)]


def test_a_failed_job_raises_what_it_failed_with(fake: FakeService) -> None:
    failed = {
        "code": "artifact_invalid",
        "class": "permanent",
        "safe_to_retry_same_request": False,
        "message": "wrong digest",
        "details": {"model_id": "m", "file": "model", "reason": "digest"},
    }
    fake.job("j", status("j", "failed", 1, 3, error=failed))
    with Client(fake.address) as client, pytest.raises(SynapseError) as ended:
        client.wait_job("j")
    assert (ended.value.code, ended.value.message) == ("artifact_invalid", "wrong digest")
    assert ended.value.details == failed["details"]
    assert ended.value.__notes__ == ["reported by job j (model.load), which ended as failed"]


def test_waiting_for_a_job_ends_in_time(fake: FakeService) -> None:
    fake.job("j", status("j", "running", 1, 2))
    with Client(fake.address, sleep=Pauses()) as client, pytest.raises(JobUnfinished) as unfinished:
        client.wait_job("j", timeout_s=0)
    assert unfinished.value.status.items_done == 1


def test_a_paused_job_is_not_over(fake: FakeService) -> None:
    fake.job("j", status("j", "paused_needs_reauth", 1, 2), status("j", "done", 2, 2))
    with Client(fake.address, sleep=Pauses()) as client:
        assert client.wait_job("j").state == "done"
