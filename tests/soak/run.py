"""Long fault runs: ``make soak``, or ``run.py [NAME ...]`` for some of them. Prints what it counted; exits with 1 if
anything was lost, doubled or torn. ``--cycles`` sets how often each fault strikes, ``--seed`` when.
"""

from __future__ import annotations

import argparse
import importlib
import random
import sys
import time
from pathlib import Path

sys.path[0] = str(Path(__file__).parents[1])

RUNS = ("kills",)
"""Each a module beside this one, with ``strike(cycles, chance)``, which returns ``Tally``."""

CYCLES = 500


def main(argv: list[str] | None = None) -> int:
    """Run, print, and say whether everything held."""
    parser = argparse.ArgumentParser(description="Strikes a running service again and again, and counts the damage.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(RUNS)}; default: all")
    parser.add_argument("--cycles", type=int, default=CYCLES, help=f"how often each fault strikes; default {CYCLES}")
    parser.add_argument("--seed", type=int, default=None, help="repeats the moments of an earlier run")
    arguments = parser.parse_args(argv)
    names = arguments.names or list(RUNS)
    if unknown := sorted(set(names) - set(RUNS)):
        parser.error(f"no such run: {', '.join(unknown)}")
    seed = random.randrange(2**32) if arguments.seed is None else arguments.seed
    print(f"seed {seed}")
    damaged = 0
    for name in names:
        began = time.monotonic()
        tally = importlib.import_module(f"soak.{name}").strike(arguments.cycles, random.Random(seed))
        print(f"{name}: {time.monotonic() - began:.0f} s")
        for what, count in tally.happened.items():
            print(f"  {what}: {count:,}")
        for what, count in tally.damage.items():
            print(f"  {what}: {count}{'' if count == 0 else '   <-- must be 0'}")
        damaged += sum(tally.damage.values())
    return 1 if damaged else 0


if __name__ == "__main__":
    sys.exit(main())
