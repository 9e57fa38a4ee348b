"""Freed memory goes back to the system. Measured in a process of its own, whose heap nobody else uses."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

PROGRAM = """
import psutil
from synapse_service.lanes.memory import give_back
resident = lambda: psutil.Process().memory_info().rss
blocks = [bytes(1000) for _ in range(50_000)]
full = resident()
last = blocks[-1]  # Stays at the top of the heap, so that freeing the others alone returns nothing.
del blocks
freed = resident()
give_back()
print(full - freed, freed - resident())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other allocators need no asking")
def test_what_was_freed_under_something_that_stays_is_returned() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=60)
    by_itself, when_asked = (int(count) for count in done.stdout.split())
    assert by_itself < 5_000_000
    assert when_asked > 40_000_000
