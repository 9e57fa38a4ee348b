"""``kill -9`` around the commits of the table of equivalences: no acknowledged change is lost, and none is torn."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fixtures import alias_processes

CYCLES = 15


@pytest.mark.skipif(sys.platform == "win32", reason="kills forked processes")
def test_kills_lose_and_tear_no_change_of_the_table(quick_dir: Path) -> None:
    program = Path(alias_processes.__file__)
    done = subprocess.run(
        [sys.executable, str(program), str(quick_dir / "synapse.db"), str(CYCLES), "20260411"],
        env={**os.environ, "PYTHONPATH": str(program.parents[1])},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["lost"], found["torn"], found["differs"]) == (0, 0, 0)
    assert found["epoch"] >= CYCLES
