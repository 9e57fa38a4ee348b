"""The worker process itself, spoken to frame by frame over real pipes."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from fixtures.model_files import Name, expected, tiny_config, tiny_model
from fixtures.workers import expected_text, pack_rows, scripted_spec
from synapse_engines.worker.frames import PREFIX, Frame, FrameDecoder
from synapse_engines.worker.protocol import (
    BackendName,
    Embed,
    Embedded,
    Failed,
    Load,
    LoadSpec,
    Ping,
    Pong,
    Progress,
    Ready,
    Reply,
    Request,
    Shutdown,
    decode_reply,
    encode,
)

COMMAND = (sys.executable, "-I", "-m", "synapse_engines.worker", "--parent", str(os.getpid()))


class Peer:
    """The service's end of a worker's pipes, blocking."""

    def __init__(self, *arguments: str, **options: Any) -> None:
        self.process = subprocess.Popen(
            (*COMMAND, *arguments),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **options,
        )
        self._decoder = FrameDecoder()

    def send(self, request: Request, payload: bytes = b"") -> None:
        self.send_raw(encode(request, payload))

    def send_raw(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def end_input(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def receive(self) -> tuple[Reply, bytes]:
        """The next message that is no Progress, and its payload."""
        assert self.process.stdout is not None
        while True:
            frame: Frame | None = self._decoder.next_frame()
            if frame is None:
                data = os.read(self.process.stdout.fileno(), 65536)
                assert data, "the worker's pipe ended"
                self._decoder.feed(data)
                continue
            reply = decode_reply(frame)
            if not isinstance(reply, Progress):
                return reply, frame.payload

    def ask(self, request: Request, payload: bytes = b"") -> tuple[Reply, bytes]:
        self.send(request, payload)
        return self.receive()

    def embed(self, id: int, rows: list[list[int]], encoding: str = "json") -> tuple[Reply, bytes]:
        lengths, ids = pack_rows(rows)
        return self.ask(Embed(id, lengths, encoding), ids)  # type: ignore[arg-type]

    def ended(self) -> tuple[int, str]:
        """Waits for the end; the exit status and what was written to standard error."""
        assert self.process.stderr is not None
        text = self.process.stderr.read().decode()
        return self.process.wait(20), text


MakePeer = Callable[..., Peer]


@pytest.fixture
def peer(tmp_path: Path) -> Iterator[MakePeer]:
    """Starts workers: with `script=` a scripted one, else one that loads real models."""
    peers: list[Peer] = []

    def make(script: dict[str, Any] | None = None, **options: Any) -> Peer:
        arguments = []
        if script is not None:
            path = tmp_path / "script.json"
            path.write_text(json.dumps(script))
            arguments = ["--scripted", str(path)]
        peers.append(Peer(*arguments, **options))
        return peers[-1]

    yield make
    for each in peers:
        each.process.kill()
        # Also closes the pipes.
        with each.process:
            pass


def spec_of(name: Name, backend: BackendName, **changes: Any) -> LoadSpec:
    values: dict[str, Any] = {
        "backend": backend,
        "model_path": str(tiny_model(name) / "model.safetensors"),
        "config": tiny_config(name),
        "family": name,
        "pooling": "mean",
        "normalize": False,
        "max_tokens": 512,
        "threads": 1,
    }
    return LoadSpec(**{**values, **changes})


# Requests and their order.


def test_a_request_while_another_is_served_is_refused_and_disturbs_nothing(peer: MakePeer) -> None:
    worker = peer({"calls": [{"delay_s": 0.2}]})
    worker.ask(Load(1, scripted_spec()))
    worker.send(Embed(2, [1], "json"), pack_rows([[5]])[1])
    refused, _ = worker.ask(Embed(3, [1], "json"), pack_rows([[6]])[1])
    assert isinstance(refused, Failed)
    assert (refused.id, refused.kind) == (3, "protocol")
    answer, payload = worker.receive()
    assert answer.id == 2
    assert payload == expected_text([5])


def test_ping_is_answered_during_a_computation_and_says_with_what(peer: MakePeer) -> None:
    worker = peer({"then": {"delay_s": 0.2}})
    worker.ask(Load(1, scripted_spec()))
    worker.send(Embed(2, [1], "json"), pack_rows([[5]])[1])
    assert worker.ask(Ping(3))[0] == Pong(3, busy_with=2)
    assert worker.receive()[0].id == 2
    assert worker.ask(Ping(4))[0] == Pong(4, busy_with=None)


def test_requests_of_every_duration_are_answered_in_turn_and_pings_in_between(peer: MakePeer) -> None:
    """Which of the worker's threads reads depends on how long a request takes; nothing may get lost between them."""
    waits = itertools.cycle([0.0, 0.0, 0.024, 0.0, 0.026, 0.05, 0.001, 0.08])
    delays = list(itertools.islice(waits, 64))
    worker = peer({"calls": [{"delay_s": delay} for delay in delays]})
    worker.ask(Load(1, scripted_spec()))
    for number in range(len(delays)):
        request, ping = 10 * number + 10, 10 * number + 11
        worker.send_raw(encode(Embed(request, [1], "json"), pack_rows([[number]])[1]) + encode(Ping(ping)))
        replies = dict([_by_id(worker.receive()), _by_id(worker.receive())])
        assert replies[request] == expected_text([number])
        assert replies[ping] == b""
    worker.send(Shutdown(3))
    assert worker.ended() == (0, "")


def _by_id(received: tuple[Reply, bytes]) -> tuple[int, bytes]:
    reply, payload = received
    return reply.id, payload


def test_requests_that_make_no_sense_are_refused_and_the_worker_serves_on(peer: MakePeer) -> None:
    worker = peer({"vocab": 10})
    refusals = [
        worker.embed(1, [[1]])[0],
        worker.ask(Load(2, scripted_spec(max_tokens=2)))[0] and worker.ask(Load(3, scripted_spec()))[0],
        worker.ask(Embed(4, [2], "json"), b"\0\0\0\0")[0],
        worker.embed(5, [[1], []])[0],
        worker.embed(6, [[1, 2, 3]])[0],
        worker.embed(7, [[1], [-1]])[0],
    ]
    assert [(reply.id, reply.kind, reply.details) for reply in refusals if isinstance(reply, Failed)] == [
        (1, "protocol", {}),
        (3, "protocol", {}),
        (4, "protocol", {}),
        (5, "input", {"reason": "empty", "row": 1}),
        (6, "input", {"reason": "too_long", "row": 0}),
        (7, "input", {"reason": "bad_id", "row": 1}),
    ]
    assert worker.embed(8, [[9]])[1] == expected_text([9])


def test_an_empty_request_has_an_empty_answer(peer: MakePeer) -> None:
    worker = peer({})
    worker.ask(Load(1, scripted_spec()))
    answer, payload = worker.embed(2, [])
    assert isinstance(answer, Embedded)
    assert (answer.sizes, payload) == ([], b"")


# Ends.


def test_shutdown_ends_the_worker_in_good_order_after_the_request_in_hand(peer: MakePeer) -> None:
    worker = peer({"then": {"delay_s": 0.1}})
    worker.ask(Load(1, scripted_spec()))
    worker.send(Embed(2, [1], "json"), pack_rows([[5]])[1])
    worker.send(Shutdown(3))
    worker.end_input()
    assert worker.receive()[0].id == 2
    assert worker.ended() == (0, "")


def test_the_end_of_the_pipe_ends_a_worker_that_computes(peer: MakePeer) -> None:
    worker = peer({"then": {"hang": True}})
    worker.ask(Load(1, scripted_spec()))
    worker.send(Embed(2, [1], "json"), pack_rows([[5]])[1])
    worker.ask(Ping(3))
    worker.end_input()
    assert worker.ended()[0] == 75


@pytest.mark.parametrize(
    "data", [b"GET / HTTP/1.1\r\n\r\n", PREFIX.pack(4, 0) + b"null"], ids=["no frame", "no request"]
)
def test_bytes_that_are_no_request_end_the_worker(peer: MakePeer, data: bytes) -> None:
    worker = peer()
    worker.send_raw(data)
    answer, _ = worker.receive()
    assert isinstance(answer, Failed)
    assert (answer.id, answer.kind) == (0, "protocol")
    assert worker.ended()[0] == 76


def test_a_worker_whose_parent_is_another_process_ends_at_once() -> None:
    command = (*COMMAND[:-1], "1")
    assert subprocess.run(command, stdin=subprocess.PIPE, capture_output=True, timeout=20).returncode == 75


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_kernel_is_told_to_kill_the_worker_with_its_parent(peer: MakePeer) -> None:
    program = (
        "import ctypes, os, sys\n"
        "from synapse_engines.worker.parent_watch import die_with_parent\n"
        "die_with_parent(os.getppid())\n"
        "signal = ctypes.c_int()\n"
        "ctypes.CDLL(None).prctl(2, ctypes.byref(signal), 0, 0, 0)\n"
        "print(signal.value)\n"
    )
    finished = subprocess.run((sys.executable, "-c", program), capture_output=True, text=True, timeout=20)
    assert finished.stdout == f"{int(signal.SIGKILL)}\n"


# What a worker may not do.


@pytest.mark.parametrize(
    "deed",
    [
        "socket.socket()",
        "socket.create_connection(('127.0.0.1', 9))",
        "socket.getaddrinfo('localhost', 80)",
        "socket.socketpair()",
        "__import__('urllib.request').request.urlopen('http://127.0.0.1:9/')",
    ],
)
def test_a_worker_has_no_network(deed: str) -> None:
    program = (
        "import socket\n"
        "from synapse_engines.worker.confinement import NetworkRefused, refuse_network\n"
        "refuse_network()\n"
        f"try:\n    {deed}\n"
        "except NetworkRefused as refused:\n    print(refused)\n"
    )
    finished = subprocess.run((sys.executable, "-c", program), capture_output=True, text=True, timeout=20)
    assert finished.stdout.startswith("a worker has no network (socket.")


# Real models.


@pytest.mark.parametrize("backend", ["reference", "openvino"])
def test_a_real_model_gives_the_expected_vectors(peer: MakePeer, backend: BackendName) -> None:
    stored = expected("bert")
    lengths = (40, 1, 128)
    worker = peer()
    ready, _ = worker.ask(Load(1, spec_of("bert", backend)))
    assert isinstance(ready, Ready)
    assert ready.dims == 64
    assert ready.facts["engine"] == backend
    answer, payload = worker.embed(2, [stored.row(length).tolist() for length in lengths])
    assert isinstance(answer, Embedded)
    vectors = np.array(json.loads(b"[" + b",".join(_pieces(payload, answer.sizes)) + b"]"), np.float32)
    wanted = np.stack([stored.vector(length, "mean") for length in lengths])
    assert np.max(np.abs(vectors - wanted)) < 1e-5


def test_self_test_values_are_computed_once_and_then_held_against(peer: MakePeer) -> None:
    ready, _ = peer().ask(Load(1, spec_of("bert", "openvino")))
    assert isinstance(ready, Ready)
    kept = ready.self_test_values
    assert kept is not None
    again, _ = peer().ask(Load(1, spec_of("bert", "openvino", self_test_values=kept)))
    assert isinstance(again, Ready)
    assert again.self_test_values is None
    # The values of another lane: same model, other pooling.
    failed, _ = peer().ask(Load(1, spec_of("bert", "openvino", pooling="cls", self_test_values=kept)))
    assert isinstance(failed, Failed)
    assert failed.kind == "self_test"
    assert failed.details["length"] == 128
    assert failed.details["max_abs_diff"] > 1e-2


@pytest.mark.parametrize(
    ("changes", "details"),
    [
        ({"family": "qwen3"}, {"reason": "bad_config", "file": None}),
        ({"max_tokens": 4096}, {"reason": "bad_config", "file": None}),
        ({"config": {"model_type": "t5"}}, {"reason": "unsupported", "file": None}),
    ],
    ids=["family", "length", "type"],
)
def test_a_model_that_is_not_what_was_said_is_refused(
    peer: MakePeer, changes: dict[str, Any], details: dict[str, Any]
) -> None:
    failed, _ = peer().ask(Load(1, spec_of("bert", "reference", **changes)))
    assert isinstance(failed, Failed)
    assert (failed.kind, failed.details) == ("artifact", details)


def test_loading_openvino_leaves_no_trace_in_the_home_folder(peer: MakePeer, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    worker = peer(env={"HOME": str(home), "PATH": os.environ["PATH"]})
    assert isinstance(worker.ask(Load(1, spec_of("bert", "openvino")))[0], Ready)
    worker.send(Shutdown(2))
    assert worker.ended() == (0, "")
    assert list(home.rglob("*")) == []


def test_the_telemetry_package_is_never_imported() -> None:
    program = (
        "import sys, msgspec\n"
        "from synapse_engines.worker.confinement import refuse_network\n"
        "from synapse_engines.worker.loading import load_model\n"
        "from synapse_engines.worker.protocol import LoadSpec\n"
        "refuse_network()\n"
        "load_model(msgspec.json.decode(sys.argv[1], type=LoadSpec), lambda rows, tokens: None)\n"
        # A module that came from a file is the real one; the inert one that stands in for it did not.
        "print([name for name, module in sys.modules.items()\n"
        "    if name.startswith('openvino_telemetry') and getattr(module, '__file__', None)])\n"
    )
    spec = msgspec.json.encode(spec_of("bert", "openvino")).decode()
    finished = subprocess.run((sys.executable, "-c", program, spec), capture_output=True, text=True, timeout=60)
    assert (finished.stdout, finished.stderr) == ("[]\n", "")


def _pieces(payload: bytes, sizes: list[int]) -> list[bytes]:
    ends = np.cumsum([0, *sizes]).tolist()
    return [payload[start:end] for start, end in itertools.pairwise(ends)]
