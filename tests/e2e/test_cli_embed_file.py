"""`synapse embed --file` with a real service that is killed under it: run again, it ends as if nothing had happened."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from fixtures.model_files import tiny_model
from fixtures.processes import wait_until, worker_of
from fixtures.service_process import ServiceProcess, load_and_probe, running_service
from synapse_client import Client
from synapse_wire.results import JobRow

SYNAPSE = [sys.executable, "-c", "from synapse_cli.main import run; run()"]
TEXTS = {f"note-{number}": f"note number {number} " + "and more " * (number % 23) for number in range(3000)}


@pytest.fixture
def service(tmp_path: Path) -> Iterator[ServiceProcess]:
    """A service that computes a few rows at a time, so that there is a middle in which it can be killed."""
    environ = {"SYNAPSE_BULK_QUANTUM_TOKENS": "64"}
    with running_service(tmp_path / "home", arguments=("--cpu-lanes",), environ=environ) as service:
        with service.client() as client:
            load_and_probe(client, "tiny", tiny_model("bert"))
        yield service


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "notes.jsonl"
    path.write_text("".join(json.dumps({"id": item_id, "text": text}) + "\n" for item_id, text in TEXTS.items()))
    return path


def embed(service: ServiceProcess, source: Path, target: Path) -> subprocess.Popen[str]:
    command = [*SYNAPSE, "embed", "--file", str(source), "--out", str(target)]
    return subprocess.Popen(
        command, env=service.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=source.parent
    )


def jobs(client: Client) -> list[JobRow]:
    """The embedding jobs, newest first."""
    return [row for row in client.jobs_list().jobs if row.kind == "embed.batch"]


@pytest.mark.slow
def test_a_service_that_is_killed_in_the_middle_costs_nothing_but_time(
    service: ServiceProcess, source: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    running = embed(service, source, out / "v.npy")
    with service.client() as client:
        wait_until(lambda: any(row.pages_available for row in jobs(client)), "a page is committed", limit_s=60)
        worker_of(service.pid).suspend()
        (cut,) = jobs(client)
    service.kill()
    assert (cut.state, 0 < cut.items_done < 3000) == ("running", True)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "Run the same command to take up what is there" in said
    assert list(out.iterdir()) == []

    service.start()
    again = embed(service, source, out / "v.npy")
    told, said = again.communicate(timeout=120)
    assert again.returncode == 0, said
    assert told.startswith("3,000 vectors of ")
    with service.client() as client:
        states = [(row.state, row.items_total) for row in jobs(client)]
        assert states == [("done", 3000), ("failed", 3000)]
        sample = list(TEXTS)[::50]
        expected = client.embed_batch("tiny", [TEXTS[item_id] for item_id in sample], ids=sample, deadline_ms=60_000)
    matrix = np.load(out / "v.npy")
    ids = [json.loads(line) for line in (out / "v.npy.ids.jsonl").read_text().splitlines()]
    assert ids == list(TEXTS)
    np.testing.assert_array_equal(matrix[::50], expected.numpy())
    assert np.isfinite(matrix).all()
    facts = json.loads((out / "v.npy.json").read_text())
    assert (facts["count"], facts["dims"], facts["fingerprint"]) == (3000, matrix.shape[1], expected.fingerprint)

    lines = embed(service, source, out / "v.jsonl")
    _, said = lines.communicate(timeout=60)
    assert lines.returncode == 0, said
    rows = {row["id"]: row for row in map(json.loads, (out / "v.jsonl").read_text().splitlines())}
    assert rows.keys() == TEXTS.keys()
    written = np.asarray([rows[item_id]["vector"] for item_id in ids], dtype=np.float32)
    np.testing.assert_array_equal(written, matrix)
    with service.client() as client:
        assert len(jobs(client)) == 2  # The pages that are there were read; nothing was computed for the second file.
