"""Pages of results: what it costs to commit one, and how fast a stored one is read, against what the system can do.

Commits go through the store as the service uses it, on the disk that holds temporary files, and alternate with the
floor: as many bytes appended to a file and flushed. Reading goes through a whole service, and alternates with a server
that sends the very same bytes from memory. It goes over few pages, which the service then has in memory too, and over
more than it keeps, each of which comes out of the database.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parents[1])

from bench.corpus import MODEL, minilm_service
from bench.figures import Report, ratio, spread
from bench.info import connect, own_cores
from fixtures.submissions import binding
from synapse_client import Client
from synapse_service.jobs.page_reader import KEPT_BYTES
from synapse_service.jobs.pages import PAGE_BYTES

SECONDS = 60
COMMIT_ROUNDS = 24
COMMITS = 8
READ_ROUNDS = 9
READS = 100
AHEAD = 4
ITEMS = int(os.environ.get("BENCH_PAGE_ITEMS", "5000"))
"""Items of the job whose pages are read: more full pages than the service keeps in memory."""
FEW = 8


def measure() -> Report:
    """The figures of writing and of reading."""
    report = Report()
    measure_commits(report)
    measure_reads(report)
    return report


# --- writing ---


def measure_commits(report: Report) -> None:
    """Milliseconds of a commit beside those of the floor."""
    with tempfile.TemporaryDirectory(prefix="synapse-bench-") as folder:
        commits, floors = asyncio.run(commit_rounds(Path(folder)))
    report.at_most(
        "commit of a 512 KiB page, of writing and flushing as much",
        ratio(commits, floors),
        "x",
        2.2,
    )
    for name, times in (("a page commit", commits), ("its floor", floors)):
        median, mean = statistics.median(times), statistics.mean(times)
        report.lines.append(f"{name} takes {median:.2f} ms, in the mean {mean:.2f} ms, at worst {max(times):.1f} ms")
    report.lines.append("commits without a pause wait for the log to be merged, once in sixteen: hence the mean")


async def commit_rounds(folder: Path) -> tuple[list[float], list[float]]:
    """Milliseconds of each commit and of as many writes of the floor; ``COMMITS`` of the one, then of the other."""
    from synapse_service.clock import SystemClock
    from synapse_service.jobs import submissions
    from synapse_service.jobs.pages import Page
    from synapse_service.store.database import Store

    payload = os.urandom(PAGE_BYTES)
    page = Page(array("I", range(110)), payload)
    store = Store.open(folder / "synapse.db", SystemClock())
    request = submissions.Request("job", "submission", None, 1, 0)
    await store.write(lambda: submissions.accept(binding(items_total=10**6), request, now_ms=0))
    commits, floors = [], []
    index = 0
    with (folder / "floor").open("wb", buffering=0) as floor:
        for round_ in range(COMMIT_ROUNDS + 1):
            if round_ == 1:
                commits, floors = [], []  # Everything's first time.
            for _ in range(COMMITS):
                number, index = index, index + 1
                began = time.perf_counter()
                await store.write(
                    lambda number=number: submissions.commit_page("submission", "job", number, page, number, "syn1-a")
                )
                commits.append((time.perf_counter() - began) * 1000)
            for _ in range(COMMITS):
                began = time.perf_counter()
                floor.write(payload)
                os.fdatasync(floor.fileno())
                floors.append((time.perf_counter() - began) * 1000)
    await store.close()
    return commits, floors


# --- reading ---


def measure_reads(report: Report) -> None:
    """Bytes a second of stored pages beside those of the same bytes out of memory."""
    rates: dict[tuple[str, int], list[float]] = {}
    with minilm_service() as service, service.client() as client:
        job_id, pages = finished_job(client)
        if pages * PAGE_BYTES <= KEPT_BYTES:
            raise SystemExit(f"{pages} pages are too few")
        few, many = turns(job_id, FEW), turns(job_id, pages)
        page = reply(service.address, few[0])
        with copier(page) as (address, pid), own_cores([service.pid, pid]):
            for round_ in range(READ_ROUNDS + 1):
                for ahead in (AHEAD, 1):
                    for name, where, requests in (
                        ("embed.result", service.address, few),
                        ("bare copy", address, few),
                        ("embed.result out of the database", service.address, many),
                    ):
                        rate = bytes_per_second(where, requests, ahead)
                        if round_ > 0:
                            rates.setdefault((name, ahead), []).append(rate)
    stored, bare = rates["embed.result", AHEAD], rates["bare copy", AHEAD]
    report.at_least(
        f"embed.result of stored pages, {AHEAD} requests under way: bytes a second, of a bare copy's",
        ratio(stored, bare),
        "x",
        0.8,
        spread(stored, bare),
    )
    for (name, ahead), series in rates.items():
        median = statistics.median(series)
        report.lines.append(
            f"{name}, {ahead} under way: {median / 1e6:,.0f} MB/s, {len(page) / median * 1000:.2f} ms a page"
        )


def finished_job(client: Client) -> tuple[str, int]:
    """The id of a job, and how many full pages it has."""
    items = [{"id": str(index), "text": f"text number {index}"} for index in range(ITEMS)]
    reply = client.call("embed.batch", {"model": MODEL, "items": items, "vector_encoding": "base64"})
    job_id = str(reply["job"]["job_id"])
    pages = client.wait_job(job_id, timeout_s=300).pages_available
    assert isinstance(pages, int)
    return job_id, pages - 1  # The last one isn't full.


def turns(job_id: str, pages: int) -> list[bytes]:
    """Requests for the first pages in their order, twice as many as are ever under way: their ids have to differ."""
    return [line(number, job_id, number % pages) for number in range(2 * pages * AHEAD)]


def line(number: int, job_id: str, cursor: int) -> bytes:
    """One request."""
    params = {"job_id": job_id, "cursor": cursor}
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": "embed.result", "params": params}).encode() + b"\n"


def reply(address: str, request: bytes) -> bytes:
    """One reply, newline included."""
    with connect(address) as connection:
        connection.sendall(request)
        data = b""
        while not data.endswith(b"\n"):
            data += connection.recv(1 << 20)
    return data


def bytes_per_second(address: str, requests: Sequence[bytes], ahead: int) -> float:
    """What one connection gets that has ``ahead`` requests under way, so that it never waits for a turnaround."""
    received = answered = 0
    buffer = bytearray(1 << 20)
    lines = itertools.cycle(requests)
    with connect(address) as connection:
        began = time.perf_counter()
        connection.sendall(b"".join(next(lines) for _ in range(ahead)))
        while answered < READS:
            size = connection.recv_into(buffer)
            received += size
            ended = buffer.count(b"\n", 0, size)
            if ended:
                answered += ended
                connection.sendall(b"".join(next(lines) for _ in range(ended)))
        return received / (time.perf_counter() - began)


@contextmanager
def copier(page: bytes) -> Iterator[tuple[str, int]]:
    """A server in a process of its own that answers each line with ``page``: its address and its process id."""
    with tempfile.TemporaryDirectory(prefix="synapse-copy-") as folder:
        (Path(folder) / "page").write_bytes(page)
        process = subprocess.Popen([sys.executable, __file__, folder], stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout is not None
            if process.stdout.readline() != "ready\n":
                raise SystemExit("the copying server did not start")
            yield str(Path(folder) / "copy.sock"), process.pid
        finally:
            process.terminate()
            process.communicate()


def serve_copies(folder: Path) -> None:
    page = (folder / "page").read_bytes()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "copy.sock"))
        listener.listen()
        print("ready", flush=True)
        while True:
            connection, _ = listener.accept()
            # The reader leaves with requests under way.
            with connection, contextlib.suppress(BrokenPipeError, ConnectionResetError):
                while lines := connection.recv(65536).count(b"\n"):
                    for _ in range(lines):
                        connection.sendall(page)


if __name__ == "__main__":
    serve_copies(Path(sys.argv[1]))
