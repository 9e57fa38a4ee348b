"""What an unloaded lane gives back: memory of the service and everything it started, before, with and after a model.

Counted is what belongs to these processes alone (USS), so that shared libraries and the mapped file don't blur it.
"""

from __future__ import annotations

import statistics
import time

import psutil

from bench.corpus import MODEL, QUERY, minilm_service, texts
from bench.figures import Report

SECONDS = 20
ROUNDS = 3
WORKER_GONE_S = 10.0


def measure() -> Report:
    """The share of a lane's memory that comes back at unload."""
    returned, held, resident = [], [], []
    with minilm_service() as service, service.client() as client:
        batch = texts()[:64]
        for _ in range(ROUNDS):
            client.model_unload(MODEL)
            before = own_memory(service.pid)
            client.embed_query(MODEL, QUERY)
            client.embed_batch(MODEL, batch)
            loaded = own_memory(service.pid)
            workers = psutil.Process(service.pid).children()
            client.model_unload(MODEL)
            psutil.wait_procs(workers, timeout=WORKER_GONE_S)
            time.sleep(0.2)  # The kernel counts a while longer.
            after = own_memory(service.pid)
            held.append((before, loaded, after))
            resident.append(psutil.Process(service.pid).memory_info().rss / 1e6)
            returned.append((loaded - after) / (loaded - before))
    report = Report()
    report.at_least(
        "unload: share of a lane's own memory that is back",
        statistics.median(returned),
        "x",
        0.95,
        f"{min(returned):.3f} to {max(returned):.3f}",
    )
    report.at_most(
        "unload: resident memory of the service afterwards",
        statistics.median(resident),
        "MB",
        60.0,
        f"{min(resident):.1f} to {max(resident):.1f}",
    )
    before, loaded, after = (statistics.median(each) / 1e6 for each in zip(*held, strict=True))
    report.lines.append(f"unloaded {before:.1f} MB, loaded {loaded:.1f} MB, unloaded again {after:.1f} MB (USS)")
    return report


def own_memory(pid: int) -> int:
    """Bytes that only a process and its children have."""
    process = psutil.Process(pid)
    return sum(each.memory_full_info().uss for each in (process, *process.children(recursive=True)))
