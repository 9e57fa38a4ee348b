"""How long a program waits for ``import synapse_client``, beside ``import msgspec``, which is most of it.

Run it with ``python tests/bench/bench_client_import.py [rounds]``. Each figure is the time inside a fresh interpreter
around the one statement, with compiled bytecode in place as an installed package has it. The statements alternate, so
that a noisy machine disturbs them alike. Exits with 1 when the median is over the goal of 60 ms.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile

GOAL_MS = 60.0
STATEMENTS = ("import msgspec", "import synapse_client", "from synapse_client import AsyncClient")


def measure(statement: str, environment: dict[str, str]) -> float:
    """Milliseconds of wall clock that ``statement`` takes in an interpreter that has done nothing else."""
    program = f"import time; t = time.perf_counter()\n{statement}\nprint((time.perf_counter() - t) * 1000)"
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    return float(done.stdout)


def main(rounds: int) -> int:
    with tempfile.TemporaryDirectory() as bytecode:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        figures: dict[str, list[float]] = {statement: [] for statement in STATEMENTS}
        for statement in STATEMENTS:
            measure(statement, environment)  # writes the bytecode
        for _ in range(rounds):
            for statement in STATEMENTS:
                figures[statement].append(measure(statement, environment))
    for statement, times in figures.items():
        print(f"{statement:40} median {statistics.median(times):6.1f} ms   fastest {min(times):6.1f} ms")
    median = statistics.median(figures["import synapse_client"])
    verdict = "reached" if median <= GOAL_MS else "missed"
    print(f"goal: at most {GOAL_MS:.0f} ms; {verdict} ({median:.1f} ms)")
    return 0 if median <= GOAL_MS else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 21))
