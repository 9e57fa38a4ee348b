"""`synapse` as a real process: in a terminal, interrupted, and writing to a pipe that nobody reads."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from fixtures.fake_service import FakeCall, FakeService, model_row, status
from synapse_wire import results as r

SYNAPSE = [sys.executable, "-c", "from synapse_cli.main import run; run()"]


def in_terminal(home: Path, *arguments: str, columns: int = 120) -> str:
    """What `synapse` writes when its output is a terminal."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "SYNAPSE_HOME": str(home), "COLUMNS": str(columns), "TERM": "xterm"}
    process = subprocess.Popen([*SYNAPSE, *arguments], stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    written = b""
    while True:
        try:
            data = os.read(ours, 65536)
        except OSError:  # how Linux says that the other side is closed
            break
        if not data:
            break
        written += data
    os.close(ours)
    assert process.wait(30) == 0
    return written.decode()


def test_a_terminal_gets_a_drawn_table_and_readable_json(fake: FakeService, home: Path) -> None:
    fake.models["m[red]"] = model_row("m[red]")
    table = in_terminal(home, "models")
    assert "────" in table
    assert "m[red]" in table
    as_json = in_terminal(home, "call", "models.list")
    assert json.loads(as_json)["table_epoch"] == 0
    assert '\n  "table_epoch": 0,' in as_json.replace("\r", "")


def test_no_word_is_broken_in_a_narrow_terminal(fake: FakeService, home: Path) -> None:
    ids = [f"job-{number}-" + "x" * 30 for number in range(2)]
    row: dict[str, Any] = {
        "kind": "embed.batch",
        "state": "running",
        "items_total": 30,
        "items_done": 12,
        "model_id": "mini",
    }
    jobs = [
        r.JobRow(job_id=job_id, module_generation=1, created_ms=1, client="an app of mine", **row) for job_id in ids
    ]
    fake.on("jobs.list", lambda call: r.JobsList(jobs=jobs))
    drawn, folded, narrow = (
        re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", in_terminal(home, "jobs", columns=columns)) for columns in (110, 96, 60)
    )
    assert "────" in drawn
    assert "an app of mine" in drawn
    assert set(ids) <= set(drawn.split())
    assert max(map(len, drawn.splitlines())) <= 110
    assert {*ids, "embed.batch"} <= set(folded.split())
    assert "an app of mine" not in folded
    assert max(map(len, folded.splitlines())) <= 96
    blocks = narrow.splitlines()
    assert blocks[:7] == [
        f"  job       {jobs[0].job_id}",
        "  kind      embed.batch",
        "  model     mini",
        "  asked by  an app of mine",
        "  state     running",
        "  items     12 of 30",
        "  error     -",
    ]
    assert (blocks[7], blocks[8]) == ("", f"  job       {jobs[1].job_id}")


def test_a_terminal_gets_a_progress_bar(fake: FakeService, home: Path) -> None:
    written = in_terminal(home, "probe", "start", "mini")
    assert "Probing mini" in written
    assert "100%" in written
    assert "certified" in written


def test_a_terminal_sees_the_rate_of_a_long_embedding(fake: FakeService, home: Path, tmp_path: Path) -> None:
    (tmp_path / "n.jsonl").write_text("".join(f'"{"x" * number}"\n' for number in range(300)))

    def page(call: FakeCall) -> Any:
        time.sleep(0.02)  # A bar is drawn ten times a second; it should be seen on its way.
        return fake.durable.page(call.params)

    fake.on("embed.result", page)
    written = in_terminal(home, "embed", "--file", str(tmp_path / "n.jsonl"), "--out", str(tmp_path / "n.npy"))
    written = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", written)
    assert re.search(r"Embedding n\.jsonl \S+ +\d+% \d+ of 300 texts, [\d,.]+/s, \d+ (ms|s) left", written)
    assert "100% 300 of 300 texts" in written


def test_interrupting_a_wait_leaves_the_job_alone_and_says_so(fake: FakeService, home: Path) -> None:
    fake.on("probe.start", lambda _: {"job_id": "p1", "state": "queued"})
    fake.job("p1", status("p1", "running", 0, 2, kind="probe"))
    environment = {**os.environ, "SYNAPSE_HOME": str(home)}
    process = subprocess.Popen([*SYNAPSE, "probe", "start", "mini"], stderr=subprocess.PIPE, text=True, env=environment)
    fake.wait_for(lambda: "model.status" in fake.methods())
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "The job goes on in the service; `synapse jobs wait p1` waits for it again." in errors
    assert "Traceback" not in errors


def test_a_reader_that_goes_away_is_no_traceback(fake: FakeService, home: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    environment = {**os.environ, "SYNAPSE_HOME": str(home)}
    done = subprocess.run(
        [*SYNAPSE, "models"], stdout=writer, stderr=subprocess.PIPE, text=True, env=environment, timeout=30, check=False
    )
    os.close(writer)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("arguments", [["models", "--json"], ["models"], ["--help"]])
def test_a_result_that_cannot_be_written_says_so_in_one_line(
    fake: FakeService, home: Path, arguments: list[str]
) -> None:
    environment = {**os.environ, "SYNAPSE_HOME": str(home)}
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*SYNAPSE, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, env=environment, check=False
        )
    assert done.stderr == "The output could not be written: No space left on device. Make room, or send it elsewhere.\n"
    assert done.returncode == 1
