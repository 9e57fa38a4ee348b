"""One million short texts through ``embed_all``: whether the memory of the service and of its client stays flat.

The client is a process of its own that makes each text when it is asked for and lets go of each vector once it has
looked at it: every id has to come exactly once, and now and then a vector is compared with a single query's. The model
is a tiny one of the tests, so that a million of its vectors take minutes; what could pile up, such as jobs, requests,
digests, pages and leases, does so for each item or job, whatever the model.

The worker's memory is shown without a target. OpenVINO keeps what it prepared for each shape that it has met, rows by
tokens, so a worker grows until it has met them all.

The variable ``BENCH_MILLION_ITEMS`` changes how many texts there are. By hand: ``run.py million``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parents[1])

from bench.corpus import THREADS
from bench.figures import Report
from fixtures.durable_jobs import spelled
from fixtures.model_files import tiny_model
from fixtures.service_process import ServiceProcess, load_and_probe, running_service
from synapse_client import Client

ITEMS = int(os.environ.get("BENCH_MILLION_ITEMS", "1000000"))
SECONDS = ITEMS // 3000
MODEL = "tiny"
JOB_ITEMS = min(10_000, max(1, ITEMS // 20))
"""The client's own default, or less, so that even a short run has twenty jobs."""
WARM_ITEMS = 5 * JOB_ITEMS
"""By then one job is being read, two more are queued, the next is collected, and the first has gone from the client."""
STEPS = 100
"""How often the client tells how far it is."""
COMPARE_EVERY = 9973
SAMPLE_S = 0.05
FLAT_MB = 32.0

Sizes = dict[str, int]


def measure() -> Report:
    """How much each process grows once everything is under way."""
    report = Report()
    with tempfile.TemporaryDirectory(prefix="synapse-bench-") as folder:
        home, environ = Path(folder), {"SYNAPSE_WORKER_THREADS": str(THREADS)}
        with running_service(home, arguments=("--cpu-lanes",), environ=environ) as service:
            with service.client() as client:
                load_and_probe(client, MODEL, tiny_model("bert"), max_tokens=128)
            began = time.perf_counter()
            steps = [(0, resident(processes(service))), *followed(service)]
            seconds = time.perf_counter() - began
        stored = sum(path.stat().st_size for path in (home / "data").iterdir() if path.is_file())
    for name in ("service", "client"):
        warm = max(sizes[name] for received, sizes in steps if name in sizes and received <= WARM_ITEMS)
        later = max(sizes[name] for received, sizes in steps if received > WARM_ITEMS)
        report.at_most(
            f"{ITEMS:,} items through embed_all: growth of the {name} after the first {WARM_ITEMS:,}",
            (later - warm) / 1e6,
            "MB",
            FLAT_MB,
            f"at most {warm / 1e6:.0f} MB until then, {later / 1e6:.0f} MB afterwards",
        )
    report.lines.append(
        f"{ITEMS:,} items in jobs of {JOB_ITEMS:,}: {seconds:.0f} s, {ITEMS / seconds:,.0f} items a second,"
        f" database {stored / 1e6:,.0f} MB"
    )
    for received, sizes in [steps[0], *steps[STEPS // 10 :: STEPS // 10]]:
        report.lines.append(
            f"resident at {received:>9,} items: "
            + ", ".join(f"{name} {size / 1e6:.0f} MB" for name, size in sizes.items())
        )
    return report


def processes(service: ServiceProcess) -> dict[str, psutil.Process]:
    """The service and its worker."""
    process = psutil.Process(service.pid)
    (worker,) = process.children()
    return {"service": process, "worker": worker}


def resident(watched: dict[str, psutil.Process]) -> Sizes:
    """Bytes that each process has in memory."""
    return {name: process.memory_info().rss for name, process in watched.items()}


def followed(service: ServiceProcess) -> Iterator[tuple[int, Sizes]]:
    """Run the client; after each step, how many vectors it had and the largest size of each process since the last."""
    command = [sys.executable, __file__, service.address, str(ITEMS), str(JOB_ITEMS)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as client:
        assert client.stdout is not None
        client.stdout.readline()  # It has imported what it needs and is connected.
        watched = processes(service) | {"client": psutil.Process(client.pid)}
        with largest(watched) as peaks:
            for line in client.stdout:
                yield json.loads(line), peaks.take()
    if client.returncode != 0:
        raise SystemExit("the client ended early")


class Peaks:
    """The largest sizes that were seen since they were last taken."""

    def __init__(self, watched: dict[str, psutil.Process]) -> None:
        self._watched = watched
        self._lock = threading.Lock()
        self._sizes: Sizes = {}

    def look(self) -> None:
        with self._lock:
            for name, size in resident(self._watched).items():
                self._sizes[name] = max(size, self._sizes.get(name, 0))

    def take(self) -> Sizes:
        self.look()
        with self._lock:
            sizes, self._sizes = self._sizes, {}
        return sizes


@contextmanager
def largest(watched: dict[str, psutil.Process]) -> Iterator[Peaks]:
    """Watch processes for the length of a ``with`` block."""
    peaks, over = Peaks(watched), threading.Event()

    def watch() -> None:
        while not over.wait(SAMPLE_S):
            peaks.look()

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield peaks
    finally:
        over.set()
        watcher.join()


# --- the client ---


def text(number: int) -> str:
    """A text that no other number has."""
    return f"{spelled(number)} " + "the " * (number % 11)


def embed(address: str, count: int, job_items: int) -> None:
    """Ask for ``count`` vectors, and print how many have come, a hundred times on the way."""
    seen = bytearray(count)
    received = 0
    with Client(address, name="million", timeout_s=600) as client, Client(address, name="single") as other:
        print(client.embed_query(MODEL, text(0)).dims, flush=True)
        texts = ((str(number), text(number)) for number in range(count))
        for item in client.embed_all(MODEL, texts, request_key="million", max_job_items=job_items):
            number = int(item.id)
            if seen[number]:
                raise SystemExit(f"{item.id} came twice")
            seen[number] = 1
            received += 1
            if number % COMPARE_EVERY == 0 and item.vector != other.embed_query(MODEL, text(number)).vector:
                raise SystemExit(f"the vector of {item.id} is not that of its text")
            if received * STEPS // count > (received - 1) * STEPS // count:
                print(received, flush=True)
    if received != count:
        raise SystemExit(f"{count - received} of {count} did not come")


if __name__ == "__main__":
    embed(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
