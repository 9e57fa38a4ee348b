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
from bench.peers import running
from synapse_client import Client

SECONDS = 180
ROUNDS = 5
IN_FLIGHT = 4

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
        taken: dict[str, list[float]] = {name: [] for name in passes}
        used: dict[str, dict[str, float]] = {}
        for _ in range(ROUNDS):
            for name, run in passes.items():
                before = processor_seconds(service.pid)
                taken[name].append(run())
                used[name] = {who: value - before[who] for who, value in processor_seconds(service.pid).items()}
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
    for name in ("one after another", "pipelined"):
        parts = ", ".join(f"{who} {seconds:.2f} s" for who, seconds in used[name].items())
        report.lines.append(f"processor time of a pass {name}: {parts}")
    report.lines.append(f"{len(corpus)} texts on engine {row.engine}")
    return report


def one_after_another(client: Client, corpus: list[str]) -> float:
    """Seconds for the corpus with one batch in flight, vectors decoded."""
    began = time.perf_counter()
    for batch in batches(corpus):
        client.embed_batch(MODEL, batch).numpy()
    return time.perf_counter() - began


def pipelined(client: Client, corpus: list[str]) -> float:
    """Seconds for the corpus with four batches in flight, vectors decoded."""
    with ThreadPoolExecutor(IN_FLIGHT) as pool:
        began = time.perf_counter()
        for answer in pool.map(lambda batch: client.embed_batch(MODEL, batch), batches(corpus)):
            answer.numpy()
        return time.perf_counter() - began


def processor_seconds(service_pid: int) -> dict[str, float]:
    """Processor time so far of the client, the service and its worker."""
    service = psutil.Process(service_pid)
    processes = {"client": psutil.Process(os.getpid()), "service": service}
    processes |= {"worker": child for child in service.children()}
    return {who: sum(process.cpu_times()[:2]) for who, process in processes.items()}
