"""How long a program waits for ``import synapse_client``, beside ``import msgspec``, which is most of it.

Each time is taken inside a fresh interpreter around the one statement, with compiled bytecode in place as an installed
package has it. The statements alternate.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile

from bench.figures import Report

SECONDS = 8
ROUNDS = 15
STATEMENTS = ("import msgspec", "import synapse_client", "from synapse_client import AsyncClient")


def measure() -> Report:
    """The time of the import."""
    with tempfile.TemporaryDirectory(prefix="synapse-bench-") as bytecode:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        taken: dict[str, list[float]] = {statement: [] for statement in STATEMENTS}
        for statement in STATEMENTS:
            seconds(statement, environment)  # Writes the bytecode.
        for _ in range(ROUNDS):
            for statement in STATEMENTS:
                taken[statement].append(seconds(statement, environment) * 1000)
    ours = taken["import synapse_client"]
    report = Report()
    report.at_most("client: import", statistics.median(ours), "ms", 60.0, f"{min(ours):.0f} to {max(ours):.0f}")
    for statement, times in taken.items():
        report.lines.append(f"{statement}: median {statistics.median(times):.1f} ms, fastest {min(times):.1f} ms")
    return report


def seconds(statement: str, environment: dict[str, str]) -> float:
    """What ``statement`` takes in an interpreter that has done nothing else."""
    program = f"import time; t = time.perf_counter()\n{statement}\nprint(time.perf_counter() - t)"
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=60)
    return float(done.stdout)
