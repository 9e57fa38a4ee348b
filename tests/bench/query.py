"""One short text: what the socket adds to the engine, and how it compares with sentence-transformers in process.

The engines take short turns, so that whatever else the machine does hits them alike.
"""

from __future__ import annotations

import statistics

from bench.corpus import MODEL, QUERY, minilm_service
from bench.figures import Report, ratio, spread
from bench.peers import running, times_ms

SECONDS = 60
ROUNDS = 15
CALLS = 80
PART_CALLS = 200

OVER_SOCKET, IN_PROCESS, PEER, EMPTY = "over the socket", "engine in process", "sentence-transformers", "service.info"


def measure() -> Report:
    """The two figures of ``embed.query``."""
    with (
        minilm_service() as service,
        service.client() as client,
        running("engine", "sentence-transformers") as (engine, peer),
    ):
        assert client.embed_query(MODEL, QUERY).token_counts == [12]
        turns = {
            OVER_SOCKET: lambda: times_ms(CALLS, lambda: client.embed_query(MODEL, QUERY)),
            IN_PROCESS: lambda: engine.query_ms(CALLS),
            PEER: lambda: peer.query_ms(CALLS),
            EMPTY: lambda: times_ms(CALLS, client.info),
        }
        for turn in turns.values():
            turn()  # Everything's first calls.
        taken: dict[str, list[list[float]]] = {name: [] for name in turns}
        for _ in range(ROUNDS):
            for name, turn in turns.items():
                taken[name].append(turn())
        parts = engine.parts_ms(PART_CALLS)
    medians = {name: [statistics.median(times) for times in rounds] for name, rounds in taken.items()}
    added = [socket - engine for socket, engine in zip(medians[OVER_SOCKET], medians[IN_PROCESS], strict=True)]
    report = Report()
    report.at_most(
        "embed.query of 12 tokens: socket p50 less the engine's in process",
        statistics.median(added),
        "ms",
        1.0,
        f"rounds {min(added):.2f} to {max(added):.2f}",
    )
    report.at_most(
        "embed.query of 12 tokens: p50, of sentence-transformers' encode",
        ratio(medians[OVER_SOCKET], medians[PEER]),
        "x",
        0.35,
        spread(medians[OVER_SOCKET], medians[PEER]),
    )
    for name, rounds in taken.items():
        times = sorted(time for times in rounds for time in times)
        half, tenth = (times[len(times) * share // 100] for share in (50, 10))
        report.lines.append(f"{name}: p50 {half:.2f} ms, the fastest tenth under {tenth:.2f} ms")
    report.lines += [
        f"of the engine's: tokenizer {parts['tokenizer']:.2f} ms, graph {parts['graph']:.2f} ms",
        "what the socket adds beyond an empty call (service.info): admission, hashing, and two pipes to the worker",
    ]
    return report
