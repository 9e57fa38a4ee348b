"""One short text: what the socket adds to the engine, and how it compares with sentence-transformers in process."""

from __future__ import annotations

import statistics

from bench.corpus import MODEL, QUERY, minilm_service
from bench.figures import Report, ratio, spread
from bench.peers import median_ms, running

SECONDS = 60
ROUNDS = 9
CALLS = 60


def measure() -> Report:
    """The two figures of ``embed.query``."""
    over_socket, in_process, peers, infos = [], [], [], []
    with (
        minilm_service() as service,
        service.client() as client,
        running("engine", "sentence-transformers") as (engine, peer),
    ):

        def ask() -> object:
            return client.embed_query(MODEL, QUERY)

        assert client.embed_query(MODEL, QUERY).token_counts == [12]
        for round_ in range(ROUNDS + 1):
            figures = median_ms(CALLS, ask), engine.query_ms(CALLS), peer.query_ms(CALLS), median_ms(CALLS, client.info)
            if round_ == 0:
                continue  # Everything's first calls.
            for series, figure in zip((over_socket, in_process, peers, infos), figures, strict=True):
                series.append(figure)
        parts = engine.parts_ms(CALLS)
    added = [socket - engine_alone for socket, engine_alone in zip(over_socket, in_process, strict=True)]
    report = Report()
    report.at_most(
        "embed.query of 12 tokens: socket p50 less the engine's in process",
        statistics.median(added),
        "ms",
        1.0,
        f"rounds {min(added):.2f} to {max(added):.2f}",
    )
    report.at_most(
        "embed.query of 12 tokens, of sentence-transformers' encode",
        ratio(over_socket, peers),
        "x",
        0.35,
        spread(over_socket, peers),
    )
    report.lines += [
        f"p50: over the socket {statistics.median(over_socket):.2f} ms, engine in process"
        f" {statistics.median(in_process):.2f} ms, sentence-transformers {statistics.median(peers):.2f} ms",
        f"of the engine's: tokenizer {parts['tokenizer']:.2f} ms, graph {parts['graph']:.2f} ms",
        f"of what the socket adds: {statistics.median(infos):.2f} ms are an empty call by the same client"
        " (service.info), the rest is admission, two pipes to the worker, and hashing",
    ]
    return report
