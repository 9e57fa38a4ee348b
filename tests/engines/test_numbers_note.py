"""The demonstration in the note on numbers runs as it stands there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

NOTE = Path(__file__).parents[2] / "docs" / "design" / "numbers.md"


def test_the_demonstration_shows_that_a_mask_keeps_attention_right() -> None:
    """How wrong attention without a mask gets depends on the processor; with one it must be right on all."""
    (script,) = re.findall(r"```python\n(.*?)```", NOTE.read_text(encoding="utf-8"), flags=re.DOTALL)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    lines = dict(line.split() for line in done.stdout.splitlines())
    assert list(lines) == ["bare", "masked"]
    assert float(lines["masked"]) < 1e-5
