"""The probes against a real llama.cpp server. Skipped where its package and model aren't installed: ``make live``."""

from __future__ import annotations

import asyncio
import importlib.metadata
from pathlib import Path

import pytest

from live import evidence
from live.probes import LIVE
from live.run import KEY, llama_server, missing, model_file, observed, run
from synapse_models.deployment import ServingFacts

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(missing() is not None, reason=f"{missing()} is not installed"),
]


def test_every_probe_shows_what_it_is_expected_to_show(tmp_path: Path) -> None:
    model = model_file()
    assert model is not None
    server = evidence.Server(
        engine="llama_cpp", version=None, package=f"xllamacpp {importlib.metadata.version('xllamacpp')}"
    )
    with llama_server(model) as address:
        facts, _ = asyncio.run(observed(address, "llama_cpp", KEY))
        wrong = asyncio.run(run(address, KEY, server, LIVE, tmp_path))
    assert wrong == []
    # A build that doesn't name itself has no version, and nothing that holds in a range of versions is taken to hold.
    assert facts == ServingFacts(tokenizer_available=True)
    assert len(list(evidence.load(tmp_path))) == len(LIVE)
