"""The programs in `examples/`, each as its own process, against the fake service."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fixtures.fake_service import DIMS, FINGERPRINT, FakeService

EXAMPLES = Path(__file__).parents[2] / "examples"

NC = f"""#!{sys.executable}
import socket, sys, threading
if "-h" in sys.argv:
    sys.exit("-U use a Unix socket")
peer = socket.socket(socket.AF_UNIX)
peer.connect(sys.argv[2])
def copy():
    while data := sys.stdin.buffer.raw.read(65536):
        peer.sendall(data)
threading.Thread(target=copy, daemon=True).start()
while data := peer.recv(65536):
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
"""
"""As much of nc as the shell example uses, for machines that have neither it nor socat."""


@pytest.fixture
def tools(tmp_path: Path) -> dict[str, str]:
    """An environment whose PATH always has an nc."""
    if not (shutil.which("nc") or shutil.which("socat")):
        (tmp_path / "nc").write_text(NC)
        (tmp_path / "nc").chmod(0o755)
    return {**os.environ, "PATH": f"{os.environ['PATH']}{os.pathsep}{tmp_path}"}


def command(example: str) -> list[str]:
    program = {".py": sys.executable, ".mjs": shutil.which("node"), ".sh": shutil.which("sh")}[Path(example).suffix]
    if program is None:
        pytest.skip(f"nothing here runs {example}")
    return [program, str(EXAMPLES / example)]


def run(example: str, *arguments: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*command(example), *arguments], env=environment, capture_output=True, text=True, timeout=60, check=False
    )


ALL = pytest.mark.parametrize("example", ["embed.py", "embed.mjs", "embed.sh"])
TEXT = 'a "quoted" \\ text, ä'


@ALL
@pytest.mark.parametrize("by", ["SYNAPSE_SOCKET", "SYNAPSE_RUNTIME_DIR", "SYNAPSE_HOME"])
def test_an_example_embeds_and_prints(fake: FakeService, tools: dict[str, str], example: str, by: str) -> None:
    where = {
        "SYNAPSE_SOCKET": fake.address,
        "SYNAPSE_RUNTIME_DIR": str(fake.directory),
        "SYNAPSE_HOME": str(fake.directory.parent),
    }[by]
    done = run(example, "mini", TEXT, environment={**tools, by: where})
    assert (done.returncode, done.stderr) == (0, "")
    numbers, fingerprint = done.stdout.splitlines()
    shown = [float(number) for number in numbers.removeprefix("numbers: ").split(" ...")[0].split()]
    assert shown == pytest.approx([len(TEXT) / 8, -len(TEXT) / 4, 0.5, 1e-5])
    assert numbers.endswith(f"({DIMS} in all)")
    assert fingerprint == f"fingerprint: {FINGERPRINT}"
    method, params = fake.received[-1]
    assert (method, params["model"], params["text"]) == ("embed.query", "mini", TEXT)
    assert fake.methods()[0] == "service.hello"


@ALL
def test_an_example_reports_a_refusal(fake: FakeService, tools: dict[str, str], example: str) -> None:
    done = run(example, "nobody", environment={**tools, "SYNAPSE_SOCKET": fake.address})
    assert (done.returncode, done.stdout) == (1, "")
    assert "unknown_model" in done.stderr


@ALL
def test_an_example_reports_that_nobody_is_there(home: Path, tools: dict[str, str], example: str) -> None:
    done = run(example, "mini", environment={**tools, "SYNAPSE_HOME": str(home)})
    assert (done.returncode, done.stdout) == (1, "")
    assert str(home / "run" / "service.sock") in done.stderr
    assert "connect E" not in done.stderr  # which says nothing to those who don't know Node
    assert len(done.stderr.splitlines()) == 1


@ALL
def test_an_example_without_a_model_says_how_it_is_used(tools: dict[str, str], example: str) -> None:
    done = run(example, environment=tools)
    assert done.returncode == 2
    assert f"{example} MODEL_ID [TEXT]" in done.stderr
