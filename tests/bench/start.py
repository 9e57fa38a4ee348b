"""The service alone: how soon it answers, and how much memory it takes, with no lane loaded."""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

import psutil

from bench.figures import Report
from fixtures.service_process import ServiceProcess

SECONDS = 15
ROUNDS = 9


def measure() -> Report:
    """Time to the first answer, and resident memory."""
    ready, processor, resident = [], [], []
    for round_ in range(ROUNDS + 1):
        with tempfile.TemporaryDirectory(prefix="synapse-bench-") as home:
            service = ServiceProcess(Path(home))
            began = time.perf_counter()
            service.start()
            taken = time.perf_counter() - began
            with service.client() as client:
                client.info()
            process = psutil.Process(service.pid)
            if round_ > 0:  # The first one reads the disk, and compiles what has changed.
                ready.append(taken)
                processor.append(sum(process.cpu_times()[:2]))
                resident.append(process.memory_info().rss / 1e6)
            service.stop()
    report = Report()
    report.at_most(
        "service: from exec to a socket that accepts",
        statistics.median(ready),
        "s",
        0.6,
        f"{min(ready):.2f} to {max(ready):.2f}",
    )
    report.at_most(
        "service: resident memory with no lane loaded",
        statistics.median(resident),
        "MB",
        60.0,
        f"{min(resident):.1f} to {max(resident):.1f}",
    )
    report.lines.append(f"processor time of a start: {statistics.median(processor):.2f} s, nearly all of it imports")
    return report
