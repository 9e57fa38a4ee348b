"""Many texts: docstrings of the standard library through the socket, against peers that compute in process.

Every pass is the same corpus in the same order. *One after another* sends a batch when the last one was answered;
*pipelined* keeps four in flight, which the service merges by length.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import psutil

from bench.corpus import BATCH, MODEL, batches, minilm_service, texts
from bench.figures import Report, ratio, spread
from bench.peers import Vectors, running
from synapse_client import Client

SECONDS = 180
ROUNDS = 5
IN_FLIGHT = 4
PATIENCE_MS = 300_000

Pass = Callable[[], float]


def measure() -> Report:
    """Three figures of ``embed.batch``."""
    corpus = texts()
    with (
        minilm_service() as service,
        service.client() as client,
        running("engine", "sentence-transformers", "onnxruntime") as (engine, transformers, onnxruntime),
    ):
        passes: dict[str, Pass] = {
            "one after another": lambda: one_after_another(client, corpus),
            "pipelined": lambda: pipelined(client, corpus),
            "sentence-transformers": transformers.pass_s,
            "onnxruntime": onnxruntime.pass_s,
            "engine in process": engine.pass_s,
        }
        (worker,) = psutil.Process(service.pid).children()
        ours = {"client": os.getpid(), "service": service.pid, "worker": worker.pid}
        theirs = {"sentence-transformers": transformers.pid, "onnxruntime": onnxruntime.pid, "engine": engine.pid}
        taken: dict[str, list[float]] = {name: [] for name in passes}
        used: dict[str, list[dict[str, float]]] = {name: [] for name in passes}
        for _ in range(ROUNDS):
            for name, run in passes.items():
                before = processor_seconds(ours | theirs)
                taken[name].append(run())
                after = processor_seconds(ours | theirs)
                used[name].append({who: after[who] - before[who] for who in after})
        (row,) = client.models_list().models
    report = Report()
    for name, peer, target in (
        ("one after another", "sentence-transformers", 1.6),
        ("pipelined", "sentence-transformers", 1.8),
        ("pipelined", "onnxruntime", 1.0),
    ):
        report.at_least(
            f"docstrings, batches of {BATCH} {name}: items a second, of {peer}'s",
            ratio(taken[peer], taken[name]),
            "x",
            target,
            spread(taken[peer], taken[name]),
        )
    for name, seconds in taken.items():
        median = statistics.median(seconds)
        report.lines.append(f"{name}: {median:.2f} s a pass, {len(corpus) / median:.0f} texts a second")
    for name, rounds in used.items():
        medians = {who: statistics.median(each[who] for each in rounds) for who in rounds[0]}
        parts = ", ".join(f"{who} {seconds:.2f} s" for who, seconds in medians.items() if seconds >= 0.005)
        report.lines.append(f"{name}: processor time of a pass: {parts}")
    report.lines.append(f"{len(corpus)} texts on engine {row.engine}")
    return report


def one_after_another(client: Client, corpus: list[str]) -> float:
    """Seconds for the corpus with one batch in flight, vectors decoded."""
    began = time.perf_counter()
    for batch in batches(corpus):
        embed(client, batch)
    return time.perf_counter() - began


def pipelined(client: Client, corpus: list[str]) -> float:
    """Seconds for the corpus with four batches in flight, vectors decoded."""
    with ThreadPoolExecutor(IN_FLIGHT) as pool:
        began = time.perf_counter()
        list(pool.map(lambda batch: embed(client, batch), batches(corpus)))
        return time.perf_counter() - began


def embed(client: Client, batch: list[str]) -> Vectors:
    """The vectors of one batch. A busy machine may take as long as it likes."""
    vectors: Vectors = client.embed_batch(MODEL, batch, max_queue_ms=PATIENCE_MS, deadline_ms=PATIENCE_MS).numpy()
    return vectors


def processor_seconds(pids: dict[str, int]) -> dict[str, float]:
    """Processor time so far of each process."""
    return {who: sum(psutil.Process(pid).cpu_times()[:2]) for who, pid in pids.items()}
