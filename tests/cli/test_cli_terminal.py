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

from fixtures.fake_service import FakeCall, FakeService, model_row, status

SYNAPSE = [sys.executable, "-c", "from synapse_cli.main import run; run()"]


def in_terminal(home: Path, *arguments: str) -> str:
    """What `synapse` writes when its output is a terminal of 120 columns."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "SYNAPSE_HOME": str(home), "COLUMNS": "120", "TERM": "xterm"}
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
