"""A durable job of many short texts: its speed beside a loop in process, its memory, and what queries notice of it.

The loop is Synapse's own tokenizer and engine called as functions, in a process of its own: it tokenizes all texts and
computes them in groups of about one length, and keeps nothing. A job does that too, and answers queries in between,
writes every vector twice over (into pages, and to disk), and could be killed at any moment.

The variable ``BENCH_JOB_ITEMS`` changes how many texts there are.
"""

from __future__ import annotations

import itertools
import os
import random
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psutil

from bench.corpus import MODEL, QUERY, minilm_service
from bench.figures import Report, ratio, spread
from bench.peers import running
from fixtures.service_process import ServiceProcess
from synapse_cli.docstrings import standard_library
from synapse_client import Client, SynapseError

ITEMS = int(os.environ.get("BENCH_JOB_ITEMS", "50000"))
SECONDS = ITEMS // 100
ROUNDS = 2
QUERIES = 300
WORDS = 8
SAMPLE_S = 0.1
POLL_S = 0.1

_numbers = itertools.count()


def short_texts(count: int) -> list[str]:
    """Runs of some eight words from the docstrings of the standard library, the same on every run of this Python."""
    words = [word for piece in standard_library() for word in piece.text.split()]
    chance = random.Random(0)
    texts = []
    for _ in range(count):
        length = chance.randint(WORDS // 2, 3 * WORDS // 2)
        start = chance.randrange(len(words) - length)
        texts.append(" ".join(words[start : start + length]))
    return texts


def measure() -> Report:
    """The figures of a job."""
    texts = short_texts(ITEMS)
    items = [{"id": str(index), "text": text} for index, text in enumerate(texts)]
    report = Report()
    with minilm_service() as service, service.client(timeout_s=120) as client, running("engine") as (engine,):
        decoded = memory_of_decoding(service, client, items)
        loops, jobs, grown, used = [], [], [], []
        for _ in range(ROUNDS):
            loops.append(engine.embed_s(texts))
            before = processor_seconds(service.pid)
            with peak_memory(service.pid) as memory:
                began = time.perf_counter()
                job_id = submit(client, items)
                wait(client, job_id)
                jobs.append(time.perf_counter() - began)
            grown.append((memory.peak - decoded) / 1e6)
            used.append({name: value - before[name] for name, value in processor_seconds(service.pid).items()})
        alone = query_times(client, QUERIES)
        job_id = submit(client, items)
        busy = query_times(client, QUERIES)
        still = client.job_status(job_id).state
        client.jobs_cancel(job_id)
    report.at_least(
        f"durable job of {ITEMS:,} short texts: items a second, of a loop's in process",
        ratio(loops, jobs),
        "x",
        0.93,
        spread(loops, jobs),
    )
    report.at_most("the same: growth of the service's memory after the request is decoded", max(grown), "MB", 64.0)
    report.at_most(
        "embed.query beside such a job: p99 less its p99 alone",
        percentile(busy, 99) - percentile(alone, 99),
        "ms",
        250.0,
        f"the job was {still} when the last of {QUERIES} was answered",
    )
    for name, series in (("loop in process", loops), ("durable job", jobs)):
        median = statistics.median(series)
        report.lines.append(f"{name}: {median:.1f} s, {ITEMS / median:,.0f} items a second")
    report.lines.append(
        "processor time of a job: "
        + ", ".join(f"{name} {statistics.median(each[name] for each in used):.1f} s" for name in used[0])
    )
    for name, series in (("alone", alone), ("beside a job", busy)):
        report.lines.append(
            f"embed.query {name}: p50 {percentile(series, 50):.1f} ms, p99 {percentile(series, 99):.1f} ms"
        )
    return report


def submit(client: Client, items: list[dict[str, str]]) -> str:
    """Start a job as ``embed_all`` does; returns its id."""
    params: dict[str, Any] = {
        "model": MODEL,
        "items": items,
        "vector_encoding": "base64",
        "request_key": f"bench-{next(_numbers)}",
        "deadline_ms": 120_000,
    }
    return str(client.call("embed.batch", params)["job"]["job_id"])


def wait(client: Client, job_id: str) -> None:
    """Until a job is done, asking seldom."""
    while (status := client.job_status(job_id)).state in ("queued", "running"):
        time.sleep(POLL_S)
    if status.state != "done" or status.items_done != ITEMS:
        raise SystemExit(f"the job ended as {status}")


def query_times(client: Client, count: int) -> list[float]:
    """Milliseconds of so many queries, one after another, with a little thought in between."""
    times = []
    for _ in range(count):
        began = time.perf_counter()
        client.embed_query(MODEL, QUERY)
        times.append((time.perf_counter() - began) * 1000)
        time.sleep(0.005)
    return times


def percentile(values: list[float], percent: int) -> float:
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]


def processor_seconds(service_pid: int) -> dict[str, float]:
    """Processor time so far of the service and its worker."""
    service = psutil.Process(service_pid)
    (worker,) = service.children()
    processes = {"service": service, "worker": worker}
    return {name: sum(process.cpu_times()[:2]) for name, process in processes.items()}


# --- memory ---


class Memory:
    """The largest resident size that was seen."""

    peak = 0


@contextmanager
def peak_memory(pid: int) -> Iterator[Memory]:
    """Watch a process's resident size for the length of a ``with`` block."""
    memory, process, over = Memory(), psutil.Process(pid), threading.Event()

    def watch() -> None:
        while not over.is_set():
            memory.peak = max(memory.peak, process.memory_info().rss)
            over.wait(SAMPLE_S)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield memory
    finally:
        over.set()
        watcher.join()


def memory_of_decoding(service: ServiceProcess, client: Client, items: list[dict[str, str]]) -> int:
    """The service's resident size when it has decoded the request and done nothing else with it."""
    client.embed_query(MODEL, QUERY)
    with peak_memory(service.pid) as memory:
        for _ in range(3):
            with suppress(SynapseError):
                client.call("embed.batch", {"model": "there is none", "items": items})
    return memory.peak
