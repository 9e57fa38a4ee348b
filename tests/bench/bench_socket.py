"""How much of a small call's time the service adds to the socket: ``service.info`` against a bare echo.

Run it with ``python tests/bench/bench_socket.py [rounds]``. Three processes: this client, a server that answers through
the real connection, router and handler, and one that reads the same requests and writes lines as long as those replies,
without looking at anything. Both servers are asyncio protocol classes on a Unix socket.

Pipelined calls are measured twice. *One by one*: each of the calls in flight is written by itself as soon as its
predecessor is answered, as independent callers in one program do. *Together*: all calls of a connection in one write,
and the next ones when all are answered; then the echo handles eight calls with one read and one write, so that the
figure is the bare cost of decoding, serving and encoding.

Rounds alternate; the ratios are medians over the rounds, which a noisy machine moves less than the times themselves.
"""

from __future__ import annotations

import asyncio
import selectors
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REQUEST = b'{"jsonrpc":"2.0","id":1,"method":"service.info","params":{}}\n'
REPLY_BYTES = 330
CALLS = 3000
CONNECTIONS = 16
DEPTH = 8
BURSTS = 150


class Echo(asyncio.Protocol):
    """Writes a line of the same length for every line that it reads."""

    transport: asyncio.Transport
    line = b"x" * REPLY_BYTES + b"\n"

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.transport.write(self.line * data.count(b"\n"))


async def serve_echo(directory: Path) -> None:
    server = await asyncio.get_running_loop().create_unix_server(Echo, str(directory / "service.sock"))
    print("ready", flush=True)
    await server.serve_forever()


async def serve_info(directory: Path) -> None:
    from synapse_service.clock import SystemClock
    from synapse_service.events import EventHub
    from synapse_service.instance import acquire_lock
    from synapse_service.operations.extensions.service import AboutService, register
    from synapse_service.server import Limits, Router, SocketServer
    from synapse_wire.endpoint import Endpoint

    endpoint = Endpoint(str(directory / "service.sock"), directory)
    router, clock = Router(), SystemClock()
    lock = acquire_lock(endpoint, directory / "service.lock")
    server = SocketServer(router, endpoint, lock, Limits(), clock, lambda: 1)
    hub = EventHub(clock, asyncio.get_running_loop().call_later)
    about = AboutService(
        hub,
        server,
        clock,
        version="0.1.0",
        module_generation=lambda: 1,
        socket_path=endpoint.address,
        home=str(directory),
    )
    register(router, about, version="0.1.0", module_generation=lambda: 1, holders=list, request_stop=lambda _: None)
    await server.start()
    print("ready", flush=True)
    await asyncio.Event().wait()


def connect(path: Path) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.connect(str(path))
    return connection


def read_lines(connection: socket.socket, count: int) -> None:
    while count > 0:
        data = connection.recv(65536)
        if not data:
            raise ConnectionError("the server closed the connection")
        count -= data.count(b"\n")


def round_trip_us(path: Path) -> float:
    """Median time of one call on one connection, in microseconds."""
    times = []
    with connect(path) as connection:
        for _ in range(CALLS):
            start = time.perf_counter()
            connection.send(REQUEST)
            read_lines(connection, 1)
            times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6


def calls_per_second(path: Path, *, together: bool) -> float:
    """Calls a second with ``CONNECTIONS`` connections that each keep ``DEPTH`` calls in flight."""
    to_send = dict.fromkeys([connect(path) for _ in range(CONNECTIONS)], DEPTH * (BURSTS - 1))
    to_read = dict.fromkeys(to_send, DEPTH * BURSTS)
    with selectors.DefaultSelector() as selector:
        start = time.perf_counter()
        for opened in to_send:
            selector.register(opened, selectors.EVENT_READ)
            send(opened, DEPTH, together)
        while to_read:
            for key, _ in selector.select():
                connection = key.fileobj
                assert isinstance(connection, socket.socket)
                answered = connection.recv(65536).count(b"\n")
                to_read[connection] -= answered
                if not to_read[connection]:
                    selector.unregister(connection)
                    connection.close()
                    del to_read[connection]
                elif not together:
                    send(connection, min(answered, to_send[connection]), together)
                    to_send[connection] -= min(answered, to_send[connection])
                elif to_read[connection] == to_send[connection]:
                    send(connection, DEPTH, together)
                    to_send[connection] -= DEPTH
        elapsed = time.perf_counter() - start
    return CONNECTIONS * DEPTH * BURSTS / elapsed


def send(connection: socket.socket, count: int, together: bool) -> None:
    if together:
        connection.send(REQUEST * count)
        return
    for _ in range(count):
        connection.send(REQUEST)


def start_server(kind: str, directory: Path) -> subprocess.Popen[str]:
    command = [sys.executable, __file__, "--serve", kind, str(directory)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    if process.stdout.readline() != "ready\n":
        raise RuntimeError(f"the {kind} server did not start")
    return process


def measure(rounds: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        servers: dict[str, tuple[Path, subprocess.Popen[str]]] = {}
        try:
            for kind in ("echo", "info"):
                directory = Path(name) / kind
                directory.mkdir(mode=0o700)
                servers[kind] = directory / "service.sock", start_server(kind, directory)
            latency, singly, together = (dict[str, list[float]](echo=[], info=[]) for _ in range(3))
            for _ in range(rounds):
                for kind, (path, _) in servers.items():
                    latency[kind].append(round_trip_us(path))
                    singly[kind].append(calls_per_second(path, together=False))
                    together[kind].append(calls_per_second(path, together=True))
        finally:
            for _, process in servers.values():
                process.terminate()
                process.wait()
    report("p50 of a call, us", latency, "at most 2.0")
    report(f"calls a second, {CONNECTIONS}x{DEPTH}, one by one", singly, "at least 0.3")
    report(f"calls a second, {CONNECTIONS}x{DEPTH}, together", together, "at least 0.3")


def report(title: str, figures: dict[str, list[float]], target: str) -> None:
    ratios = [info / echo for info, echo in zip(figures["info"], figures["echo"], strict=True)]
    echo, info = (statistics.median(figures[kind]) for kind in ("echo", "info"))
    spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
    print(f"{title}: echo {echo:,.1f}, service.info {info:,.1f}")
    print(f"  ratio {statistics.median(ratios):.2f} (rounds {spread}; wanted {target})")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        asyncio.run({"echo": serve_echo, "info": serve_info}[sys.argv[2]](Path(sys.argv[3])))
    else:
        measure(int(sys.argv[1]) if len(sys.argv) > 1 else 7)
