"""Vectors that came over the socket, against transformers and sentence-transformers in float32, value by value."""

from __future__ import annotations

import numpy as np

from bench.corpus import MODEL, batches, minilm_service, texts
from bench.docstrings import embed
from bench.figures import Report
from bench.peers import Vectors, running
from fixtures.model_files import MINILM_TEXTS

SECONDS = 60
TOLERANCE = 1e-5


def measure() -> Report:
    """The largest differences, and whether a text's vector depends on its mates."""
    corpus = [*MINILM_TEXTS, *texts()]
    with (
        minilm_service() as service,
        service.client() as client,
        running("transformers", "sentence-transformers") as peers,
    ):
        ours: Vectors = np.concatenate([embed(client, batch) for batch in batches(corpus)])
        alone: Vectors = np.concatenate([client.embed_query(MODEL, text).numpy() for text in corpus])
        theirs = [peer.vectors(corpus) for peer in peers]
    report = Report()
    for name, vectors in zip(("transformers", "sentence-transformers"), theirs, strict=True):
        report.at_most(f"MiniLM: largest difference from {name}", largest(ours, vectors), "", TOLERANCE)
    report.at_most("MiniLM: largest difference of batches from single texts", largest(ours, alone), "", 0.0)
    report.lines.append(f"{len(corpus)} texts, normalised vectors of {ours.shape[1]} numbers")
    return report


def largest(one: Vectors, other: Vectors) -> float:
    """The largest absolute difference."""
    return float(np.abs(one - other).max())
