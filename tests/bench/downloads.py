"""A large download against curl, a pass of SHA-256 and a sync over the same bytes; cancelling; browsing the catalog."""

from __future__ import annotations

import hashlib
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bench import file_server
from bench.figures import Report, ratio, spread
from fixtures.catalog import NAMES, SmallCatalog, some_bytes
from fixtures.service_process import ServiceProcess, running_service
from synapse_client import Client

SECONDS = 60
ROUNDS = 3
BYTES = 500 * 1000 * 1000
CANCELS = 10
CALLS = 300
ENTRY = "large"


def measure() -> Report:
    """How a download compares, how long a cancellation takes, and a look at the catalog."""
    report = Report()
    with tempfile.TemporaryDirectory() as name, _service(Path(name)) as (service, base):
        ours, theirs = [], []
        with service.client() as client:
            calls = [_timed(client.models_catalog) for _ in range(CALLS)]
            for _ in range(ROUNDS):
                theirs.append(_by_hand(f"{base}/{NAMES['model']}", Path(name) / "by-hand"))
                ours.append(_download(client))
                client.models_remove(ENTRY)
            cancels = [_cancel(client) for _ in range(CANCELS)]
    note = f"{BYTES // 1_000_000} MB in {statistics.median(ours):.2f} s, {spread(ours, theirs)}"
    report.at_most("download: over curl, SHA-256 and sync", ratio(ours, theirs), "x", 1.25, note)
    milliseconds = [1000 * seconds for seconds in cancels]
    report.at_most(
        "download: cancelled, and its files gone",
        max(milliseconds),
        "ms",
        100,
        f"median {statistics.median(milliseconds):.0f} ms",
    )
    report.at_most("models.catalog, median", 1000 * statistics.median(calls), "ms", 1, f"{CALLS} calls")
    return report


def _download(client: Client) -> float:
    began = time.perf_counter()
    job_id = client.models_download(ENTRY).job_id
    while client.download_status(job_id).state != "committed":
        time.sleep(0.005)
    return time.perf_counter() - began


def _cancel(client: Client) -> float:
    """Seconds from the request to the answer, in the middle of a transfer."""
    job_id = client.models_download(ENTRY).job_id
    while True:
        done = client.download_status(job_id).bytes_done
        if isinstance(done, int) and done > BYTES // 10:
            break
        time.sleep(0.001)
    return _timed(lambda: client.models_download_cancel(job_id))


def _by_hand(url: str, path: Path) -> float:
    """What the same costs with the usual tools, one after the other."""
    began = time.perf_counter()
    subprocess.run(["curl", "--silent", "--fail", "--output", str(path), url], check=True)
    with path.open("rb") as stream:
        hashlib.file_digest(stream, "sha256")
        os.fsync(stream.fileno())
    seconds = time.perf_counter() - began
    path.unlink()
    return seconds


def _timed(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


@contextmanager
def _service(folder: Path) -> Iterator[tuple[ServiceProcess, str]]:
    """A service whose catalog has one large model, and the address of its files."""
    if shutil.which("curl") is None:
        raise SystemExit("this measurement needs curl")
    contents = {"config": some_bytes("config", 700), "model": os.urandom(BYTES), "tokenizer": some_bytes("t", 20_000)}
    files = folder / "files"
    files.mkdir()
    for role, body in contents.items():
        (files / NAMES[role]).write_bytes(body)
    small = SmallCatalog().add(ENTRY, contents)
    document = small.write(folder / "catalog")
    command = [sys.executable, file_server.__file__, str(files)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        base = f"http://127.0.0.1:{int(server.stdout.readline())}"
        arguments = ("--cpu-lanes", "--catalog", str(document))
        try:
            with running_service(
                folder / "home", environ={"SYNAPSE_HF_BASE_URL": base}, arguments=arguments
            ) as service:
                yield service, base
        finally:
            server.kill()
