"""The demonstration without its service and its model: what it prints, and what it makes of docstrings."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import psutil
import pytest
from typer.testing import CliRunner, Result

from fixtures.fake_service import DIMS, FINGERPRINT, FakeService, vector_of
from fixtures.processes import alive
from synapse_cli import demo, docstrings
from synapse_cli.docstrings import Passage, passages_under
from synapse_cli.main import app
from synapse_client import Client, Progress

Run = Callable[..., Result]
PASSAGES = [Passage(f"mod.f{number}", "x" * (number * 37 % 101), f"Does   {number}.") for number in range(150)]


@pytest.fixture
def run(fake: FakeService, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs `synapse demo` with the fake service in the place of a fresh one, and files in the place of the model's."""

    @contextmanager
    def fresh_service() -> Iterator[tuple[Path, float]]:
        yield home, 0.25

    for name, _ in demo.FILES.values():
        (tmp_path / name).write_text("")
    monkeypatch.setattr(demo, "fresh_service", fresh_service)
    monkeypatch.setattr(demo, "model_folder", lambda: tmp_path)
    monkeypatch.setattr(docstrings, "standard_library", lambda: PASSAGES)

    def invoke(*arguments: str) -> Result:
        result = CliRunner().invoke(app, ["demo", *arguments], env={"SYNAPSE_HOME": str(home)})
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return invoke


def without_times(text: str) -> list[str]:
    """The lines, those of the steps without their seconds."""
    return [line[11:] if line[7:11] == " s  " else line for line in text.splitlines()]


def test_the_corpus_is_embedded_by_a_job_and_the_answers_are_printed(fake: FakeService, run: Run) -> None:
    result = run("--ask", "x" * 100)
    assert result.exit_code == 0
    lines = without_times(result.stdout)
    assert lines[:8] == [
        "started the service",
        "loaded all-minilm-l6-v2",
        "proved its numbers on this machine",
        "read the docstrings of the standard library",
        "embedded 150 passages",
        "answered 1 question",
        "",
        "x" * 100,
    ]
    longest = [passage for passage in PASSAGES if len(passage.text) == 100]
    assert longest
    assert lines[8].split("  ", 2)[2] == f"{longest[0].name}: Does {longest[0].name[5:]}."
    assert lines[11:14] == [
        "",
        f"Fingerprint of these vectors: {FINGERPRINT}",
        "Keep it with an index; another fingerprint is another vector space.",
    ]
    assert lines[15] == "To go on:"
    assert fake.durable.keys() == ["demo/0"]
    assert result.stderr == ""  # Nothing but the result where nobody watches a bar.


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_demonstration_that_is_told_to_end_leaves_nothing_behind(number: signal.Signals) -> None:
    # The signal may be ignored for all that a terminal which hung up, or nohup, has left behind.
    program = f"""
import signal, sys, time
from synapse_cli import demo
signal.signal({number:d}, signal.SIG_DFL)
demo.service_command = lambda: [sys.executable, "-c", "import time; time.sleep(60)"]
demo._wait_until_it_answers = lambda home, process: print(process.pid, home, flush=True)
with demo.fresh_service():
    time.sleep(60)
"""
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    pid, home = process.stdout.readline().split()
    service = psutil.Process(int(pid))
    process.send_signal(number)
    process.communicate()
    left = alive(service), Path(home).exists()
    if any(left):
        service.kill()
    assert (process.returncode, *left) == (128 + number, False, False)


def test_five_questions_are_asked_when_none_is_given(run: Run) -> None:
    lines = run("--limit", "70").stdout.splitlines()
    assert set(demo.QUESTIONS) <= set(lines)
    assert len(demo.QUESTIONS) == 5
    assert "embedded 70 passages" in without_times("\n".join(lines))


def test_loading_only_ends_with_the_id_of_the_model(fake: FakeService, run: Run) -> None:
    assert without_times(run("--load-only").stdout) == [
        "loaded all-minilm-l6-v2",
        "proved its numbers on this machine",
        "all-minilm-l6-v2",
    ]
    assert "embed.batch" not in fake.methods()


def test_each_vector_stands_at_the_place_of_its_passage(fake: FakeService, home: Path) -> None:
    fake.models[demo.MODEL_ID] = fake.models["mini"]
    seen: list[Progress] = []
    with Client(home=home) as client:
        matrix, fingerprint = demo.embed_passages(client, PASSAGES, seen.append)
    assert fake.durable.computed != [str(index) for index in range(150)]
    assert (matrix.shape, matrix.dtype, fingerprint) == ((150, DIMS), np.dtype(np.float32), FINGERPRINT)
    assert matrix.tolist() == [vector_of(passage.text) for passage in PASSAGES]
    assert seen[-1].received == 150


def test_a_passage_knows_how_its_docstring_begins(tmp_path: Path) -> None:
    paragraph = "word " * 150
    (tmp_path / "mod.py").write_text(
        f'"""Too short."""\n\ndef f():\n    """Does this\n    and that.\n\n    {paragraph}\n\n    {paragraph}\n"""\n'
    )
    found = list(passages_under(tmp_path))
    assert [(passage.name, passage.summary) for passage in found] == [("mod.f", "Does this and that.")] * 2
    assert found[1].text == paragraph.strip()
