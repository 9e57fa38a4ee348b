"""What only real processes can show: two services at once, crashes, a stopped service, memory, and another user."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from fixtures import socket_service
from fixtures.socket_server import short_folder

REQUEST = b'{"jsonrpc":"2.0","id":1,"method":"models.list"}\n'
LATER = b'{"jsonrpc":"2.0","id":%d,"method":"embed.query","params":{"model":"m","text":"t"}}\n'
STARTS_AT_ONCE = int(os.environ.get("STARTS_AT_ONCE", "10"))
"""How many times two services are started at once; set the variable for a longer run."""

NOBODY = 65534


class Services:
    """Service processes in one folder; none outlives its test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.address = str(folder / "service.sock")
        self.started: list[subprocess.Popen[str]] = []

    def launch(self, *arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, socket_service.__file__, str(self.folder), *arguments]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.started.append(process)
        return process

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        process = self.launch(*arguments)
        assert first_line(process) == "ready\n"
        return process

    def connect(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(10)
        connection.connect(self.address)
        return connection

    def answers(self) -> bool:
        with self.connect() as connection:
            connection.sendall(REQUEST)
            return connection.makefile("rb").readline().startswith(b'{"id":1,"result":"xxx')

    def end(self) -> None:
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.communicate()


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def send_until_nobody_takes_more(connection: socket.socket, data: bytes) -> None:
    try:
        while True:
            connection.sendall(data)
    except (TimeoutError, BrokenPipeError):
        return


@pytest.fixture
def services() -> Iterator[Services]:
    with short_folder() as folder:
        running = Services(folder)
        yield running
        running.end()


@pytest.mark.slow
def test_of_two_started_at_once_exactly_one_serves(services: Services) -> None:
    for _ in range(STARTS_AT_ONCE):
        pair = [services.launch(), services.launch()]
        lines = [first_line(process) for process in pair]
        assert sorted(line == "ready\n" for line in lines) == [False, True], lines
        won = lines.index("ready\n")
        winner, loser = pair[won], pair[1 - won]
        assert loser.wait(10) == 3
        assert f"already running: process {winner.pid} holds the lock" in lines[1 - won]
        assert services.answers()
        winner.terminate()
        assert winner.wait(10) == 0
        assert not Path(services.address).exists()


def test_a_killed_services_socket_does_not_block_the_next(services: Services) -> None:
    killed = services.start()
    killed.kill()
    killed.wait()
    assert Path(services.address).is_socket()
    services.start()
    assert services.answers()


def test_a_stopped_service_keeps_its_place_and_its_socket(services: Services) -> None:
    first = services.start()
    first.send_signal(signal.SIGSTOP)
    second = services.launch()
    line = first_line(second)
    assert second.wait(10) == 3
    assert f"process {first.pid} holds the lock for {services.address}" in line
    assert "end that process" in line
    first.send_signal(signal.SIGCONT)
    assert services.answers()


def test_a_service_whose_lock_file_was_deleted_keeps_its_socket(services: Services) -> None:
    # Goes red without the attempt to connect before the path is removed: the second would take the first one's place.
    services.start()
    (services.folder / "service.lock").unlink()
    second = services.launch()
    assert "another program accepts connections" in first_line(second)
    assert second.wait(10) == 1
    assert services.answers()


@pytest.mark.parametrize("lines", [REQUEST * 4000, b"".join(LATER % number for number in range(4000))])
def test_a_client_that_never_reads_cannot_make_the_service_grow(services: Services, lines: bytes) -> None:
    # 4000 requests of 256 KiB each would be a gigabyte. Goes red when pause_writing does not stop the serving.
    service = psutil.Process(services.start().pid)
    assert services.answers()
    before = service.memory_info().rss
    with services.connect() as silent:
        silent.settimeout(0.5)
        send_until_nobody_takes_more(silent, lines)
        peak = before
        for _ in range(10):
            peak = max(peak, service.memory_info().rss)
            time.sleep(0.02)
        assert services.answers()  # the others are served as ever
        assert (peak - before) / 2**20 < 64


def test_a_client_that_reads_late_gets_every_reply(services: Services) -> None:
    services.start()
    with services.connect() as late:
        late.sendall(REQUEST * 200)
        time.sleep(0.2)
        reader = late.makefile("rb")
        for _ in range(200):
            assert len(json.loads(reader.readline())["result"]) == len(socket_service.REPLY)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_is_disconnected_even_where_the_folder_lets_it_in(services: Services) -> None:
    # Goes red without the check of the peer's credentials: this folder and this socket are open to the user.
    services.start(str(NOBODY))
    guest = (
        "import os, socket, sys; os.setgid(int(sys.argv[2])); os.setuid(int(sys.argv[2]));"
        "s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.settimeout(10)\n"
        "try: s.sendall(sys.stdin.buffer.read()); print(s.recv(10))\n"
        "except (BrokenPipeError, ConnectionResetError): print(b'')"
    )
    command = [sys.executable, "-I", "-S", "-c", guest, services.address, str(NOBODY)]
    finished = subprocess.run(command, input=REQUEST, capture_output=True, check=True)
    assert finished.stdout == b"b''\n"
    assert services.answers()
