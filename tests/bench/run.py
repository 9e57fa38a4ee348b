"""Every figure that the documentation states, in one table: ``make bench``, or ``run.py [NAME ...]`` for some of them.

Exits with 1 when a figure misses its target. On a busy machine times grow and ratios wobble, so the load is printed.
"""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import sys
import time
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parents[1])

from bench.figures import Figure, Report

MEASUREMENTS = (
    "start",
    "client_import",
    "info",
    "query",
    "docstrings",
    "pages",
    "jobs",
    "million",
    "downloads",
    "unload",
    "pauses",
    "accuracy",
    "full_size",
    "rerank",
    "model_calls",
    "tray",
)
"""Each a module beside this one, with ``measure()`` and ``SECONDS``, about how long it takes on two quiet cores."""

NAME_WIDTH = 88


def main(argv: list[str] | None = None) -> int:
    """Measure, print, and say whether every target was reached."""
    parser = argparse.ArgumentParser(description="Measures Synapse against named peers, within one run.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(MEASUREMENTS)}; default: all")
    names = parser.parse_args(argv).names or list(MEASUREMENTS)
    if unknown := sorted(set(names) - set(MEASUREMENTS)):
        parser.error(f"no such measurement: {', '.join(unknown)}")
    modules = {name: importlib.import_module(f"bench.{name}") for name in names}
    total = sum(module.SECONDS for module in modules.values())
    print(f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}, load {load()}")
    print(f"takes about {total // 60} min {total % 60} s on two quiet cores\n")
    print(f"{'figure':{NAME_WIDTH}}  {'measured':>11}  {'target':>20}  ok")
    reports: dict[str, Report] = {}
    for name, module in modules.items():
        print(f"{name}: about {module.SECONDS} s ...", file=sys.stderr, flush=True)
        began = time.monotonic()
        reports[name] = module.measure()
        for figure in reports[name].figures:
            print_row(figure)
        print(f"{name}: took {time.monotonic() - began:.0f} s, load {load()}", file=sys.stderr)
    print("\nwhere it goes")
    for name, report in reports.items():
        for line in report.lines:
            print(f"  {name}: {line}")
    figures = [figure for report in reports.values() for figure in report.figures]
    reached = sum(figure.reached for figure in figures)
    print(f"\n{reached} of {len(figures)} figures reached their targets; load {load()}")
    return 0 if reached == len(figures) else 1


def print_row(figure: Figure) -> None:
    """One line of the table."""
    measured = f"{shown(figure.value)} {figure.unit}".strip()
    target = f"{figure.bound} {shown(figure.target)} {figure.unit}".strip()
    note = f"  ({figure.note})" if figure.note else ""
    verdict = "yes" if figure.reached else "NO "
    print(f"{figure.name:{NAME_WIDTH}}  {measured:>11}  {target:>20}  {verdict}{note}", flush=True)


def shown(value: float) -> str:
    """A number in as many digits as say something."""
    return f"{value:.1e}" if 0 < abs(value) < 0.001 else f"{value:.2f}".rstrip("0").rstrip(".")


def load() -> str:
    """How many processes want a core, over the last minute."""
    return f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"


if __name__ == "__main__":
    sys.exit(main())
