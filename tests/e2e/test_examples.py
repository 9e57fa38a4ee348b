"""The programs in ``examples/`` against a real service: each prints the numbers that the service gave."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fixtures.service_process import ServiceProcess

EXAMPLES = Path(__file__).parents[2] / "examples"
PROGRAMS = {"embed.py": sys.executable, "embed.mjs": shutil.which("node"), "embed.sh": shutil.which("sh")}
TEXT = 'a "quoted" \\ text, ä'


@pytest.mark.parametrize("example", PROGRAMS)
def test_an_example_prints_the_vector_that_the_service_gives(tiny_service: ServiceProcess, example: str) -> None:
    program = PROGRAMS[example]
    if program is None:
        pytest.skip(f"nothing here runs {example}")
    if example == "embed.sh" and not (shutil.which("socat") or shutil.which("nc")):
        pytest.skip("needs socat or nc")
    done = subprocess.run(
        [program, str(EXAMPLES / example), "tiny", TEXT],
        env={**os.environ, "SYNAPSE_SOCKET": tiny_service.address},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    with tiny_service.client() as client:
        expected = client.embed_query("tiny", TEXT)
    numbers, fingerprint = done.stdout.splitlines()
    shown = [float(number) for number in numbers.removeprefix("numbers: ").split(" ...")[0].split()]
    assert shown == pytest.approx(list(expected.vector[:4]), abs=1e-6)
    assert numbers.endswith(f"({expected.dims} in all)")
    assert fingerprint == f"fingerprint: {expected.fingerprint}"
