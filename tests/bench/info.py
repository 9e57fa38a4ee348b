"""How much of a small call's time the service adds to the socket: ``service.info`` against a bare echo.

Three processes: this client, a whole service without models, and a server that writes back what it reads. Both servers
are asyncio protocol classes on a Unix socket, both get the very same request bytes, and both keep to one core while
this process keeps to another.
"""

from __future__ import annotations

import asyncio
import os
import selectors
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parents[1])

from bench.corpus import service
from bench.figures import Report, ratio, spread

SECONDS = 30
ROUNDS = 21
REQUEST = b'{"jsonrpc":"2.0","id":1,"method":"service.info","params":{}}\n'
CALLS = 2000
CONNECTIONS = 16
DEPTH = 8
BURSTS = 200


def measure() -> Report:
    """The two figures of the socket."""
    latency: dict[str, list[float]] = {"echo": [], "info": []}
    rate: dict[str, list[float]] = {"echo": [], "info": []}
    gathered: dict[str, list[float]] = {"echo": [], "info": []}
    with echo() as (echo_address, echo_pid), service() as running, own_cores([echo_pid, running.pid]):
        for _ in range(ROUNDS):
            for kind, address in (("echo", echo_address), ("info", running.address)):
                latency[kind].append(round_trip_us(address))
                rate[kind].append(calls_per_second(address, gather=False))
                gathered[kind].append(calls_per_second(address, gather=True))
    report = Report()
    report.at_most(
        "service.info round trip, of an echo's",
        ratio(latency["info"], latency["echo"]),
        "x",
        2.0,
        spread(latency["info"], latency["echo"]),
    )
    report.at_least(
        f"service.info calls a second, {CONNECTIONS} connections x {DEPTH}, of an echo's",
        ratio(rate["info"], rate["echo"]),
        "x",
        0.3,
        spread(rate["info"], rate["echo"]),
    )
    for kind in latency:
        microseconds, calls = statistics.median(latency[kind]), statistics.median(rate[kind])
        report.lines.append(f"{kind}: p50 {microseconds:.0f} us; pipelined {calls:,.0f} calls a second")
    report.lines.append(
        f"with all {DEPTH} calls of a connection in one write, which an echo answers with one: "
        f"{ratio(gathered['info'], gathered['echo']):.2f}x, {statistics.median(gathered['info']):,.0f} calls a second"
    )
    return report


def round_trip_us(address: str) -> float:
    """Median time of one call on one connection, in microseconds."""
    times = []
    with connect(address) as connection:
        for _ in range(CALLS):
            start = time.perf_counter()
            connection.send(REQUEST)
            read_lines(connection, 1)
            times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6


def calls_per_second(address: str, *, gather: bool) -> float:
    """Calls a second with ``CONNECTIONS`` connections that each keep ``DEPTH`` calls in flight.

    Each call is a write of its own, as it is for a client whose callers know nothing of each other; or ``gather`` puts
    a connection's calls into one.
    """
    writes = [REQUEST * DEPTH] if gather else [REQUEST] * DEPTH
    left = {connect(address): BURSTS for _ in range(CONNECTIONS)}
    missing = dict.fromkeys(left, DEPTH)
    with selectors.DefaultSelector() as selector:
        start = time.perf_counter()
        for connection in left:
            selector.register(connection, selectors.EVENT_READ)
            send(connection, writes)
        while left:
            for key, _ in selector.select():
                connection = key.fileobj
                assert isinstance(connection, socket.socket)
                missing[connection] -= connection.recv(65536).count(b"\n")
                if missing[connection]:
                    continue
                left[connection] -= 1
                if left[connection]:
                    missing[connection] = DEPTH
                    send(connection, writes)
                else:
                    selector.unregister(connection)
                    connection.close()
                    del left[connection]
        elapsed = time.perf_counter() - start
    return CONNECTIONS * DEPTH * BURSTS / elapsed


def send(connection: socket.socket, writes: list[bytes]) -> None:
    for data in writes:
        connection.send(data)


def connect(address: str) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.connect(address)
    return connection


def read_lines(connection: socket.socket, count: int) -> None:
    while count > 0:
        data = connection.recv(65536)
        if not data:
            raise ConnectionError("the server closed the connection")
        count -= data.count(b"\n")


@contextmanager
def own_cores(servers: list[int]) -> Iterator[None]:
    """This process on the first core and the servers on the second, where the system lets us choose."""
    if not hasattr(os, "sched_setaffinity") or (os.cpu_count() or 1) < 2:
        yield
        return
    before = os.sched_getaffinity(0)
    for pid in servers:
        os.sched_setaffinity(pid, {1})
    os.sched_setaffinity(0, {0})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextmanager
def echo() -> Iterator[tuple[str, int]]:
    """An echo server in a process of its own: its address and its process id."""
    with tempfile.TemporaryDirectory(prefix="synapse-echo-") as folder:
        address = str(Path(folder) / "echo.sock")
        process = subprocess.Popen([sys.executable, __file__, address], stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout is not None
            if process.stdout.readline() != "ready\n":
                raise SystemExit("the echo server did not start")
            yield address, process.pid
        finally:
            process.terminate()
            process.communicate()


class Echo(asyncio.Protocol):
    """Writes back what it reads."""

    transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.transport.write(data)


async def serve_echo(address: str) -> None:
    server = await asyncio.get_running_loop().create_unix_server(Echo, address)
    print("ready", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve_echo(sys.argv[1]))
