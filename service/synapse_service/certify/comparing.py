"""How the numbers of a lane are held against the reference: which rows, which figures, and the gates for each task.

Called by ``probe``, once a probe. Embeddings are compared by direction and by who is near whom; the arithmetic is the
reference worker's, because the service has no array library. Scores are compared by their very values and by the order
of the best: a read-out that is applied twice keeps every order and fails by the values.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from synapse_engines.errors import ArtifactError, InputError
from synapse_engines.tokenizer import Encoding, SanitisedTokenizer
from synapse_service.certify.fixture import PairRow, embed_fixture, fixture_rows, pair_rows, rerank_fixture
from synapse_service.lanes.model import LaneModel, artifact_refusal
from synapse_service.lanes.refusals import non_finite
from synapse_service.lanes.serving import pack_scores, unpack_scores
from synapse_service.workers.process import WorkerProcess

Figures = dict[str, float]

REFERENCE_STALL_S: Final = 600.0
"""How long the reference may be silent: it is slow."""

SCORE_ERROR_MAX: Final[Mapping[str, float]] = {"f32": 0.005, "f16": 0.02, "bf16": 0.02}
"""Largest error of a score, by the lane's number format."""

TOP: Final = 10
"""Candidates of a pool whose order counts."""

_TIE: Final = 1e-5
"""Scores closer than this have no order: two correct float32 computations differ by so much."""


@dataclass(frozen=True, slots=True)
class Gates:
    """What the figures must reach, and what they may not exceed."""

    at_least: Mapping[str, float]
    at_most: Mapping[str, float]

    def missed(self, figures: Mapping[str, float]) -> list[str]:
        """The gates that aren't reached, by name. Written so that a figure that is no number misses its gate too."""
        low = [name for name, gate in self.at_least.items() if not figures[name] >= gate]
        return sorted(low + [name for name, gate in self.at_most.items() if not figures[name] <= gate])

    def evidence(self) -> dict[str, float]:
        """All gates under their names."""
        return {**self.at_least, **self.at_most}


EMBED_GATES: Final = Gates({"mean_cosine": 0.999, "min_cosine": 0.99, "worst_decile_overlap": 0.9}, {})
"""What a lane must reach against the reference: cosines over all rows, and the top-10 overlap of the worst tenth."""


class Comparison(Protocol):
    """What a probe of one lane computes and how it is judged.

    ``rows`` are computed by the lane and by the reference alike. ``reference`` gives one row of bytes for each of some
    rows, ``figures`` compares the two sets of them, both in the order of ``rows``.
    """

    gates: Gates
    fixture_revision: int
    rows: Sequence[Encoding]

    async def reference(self, worker: WorkerProcess, lengths: list[int], ids: bytes, done: int) -> list[bytes]: ...

    async def figures(self, worker: WorkerProcess, candidate: list[bytes], reference: list[bytes]) -> Figures: ...


def comparison(model: LaneModel, tokenizer: SanitisedTokenizer) -> Comparison:
    """The comparison of a lane's task; raises ``artifact_invalid``. Tokenizes the fixture, so it blocks for a while."""
    try:
        return _Scores(model, tokenizer) if model.task == "rerank" else _Vectors(model, tokenizer)
    except InputError as error:
        damage = ArtifactError("bad_tokenizer", f"a text of the fixture is {error.detail}")
        raise artifact_refusal(model.lane_id, damage, file=model.file("tokenizer").name) from error


class _Vectors:
    def __init__(self, model: LaneModel, tokenizer: SanitisedTokenizer) -> None:
        self.gates = EMBED_GATES
        self.fixture_revision = embed_fixture().revision
        self.rows: Sequence[Encoding] = fixture_rows(tokenizer, model.max_tokens)
        self._dims = model.dims

    async def reference(self, worker: WorkerProcess, lengths: list[int], ids: bytes, done: int) -> list[bytes]:
        answer = await worker.embed(lengths, ids, "f32", stall_limit_s=REFERENCE_STALL_S)
        if answer.non_finite:
            raise non_finite(f"probe-{done + answer.non_finite[0]}")
        return answer.rows

    async def figures(self, worker: WorkerProcess, candidate: list[bytes], reference: list[bytes]) -> Figures:
        measured = await worker.measure(self._dims, b"".join(candidate), b"".join(reference))
        return {
            "mean_cosine": measured.mean_cosine,
            "min_cosine": measured.min_cosine,
            "worst_decile_overlap": measured.worst_decile_overlap,
        }


class _Scores:
    def __init__(self, model: LaneModel, tokenizer: SanitisedTokenizer) -> None:
        limit = SCORE_ERROR_MAX[model.profile.dtype]
        self.gates = Gates({"worst_decile_overlap": 0.9}, {"max_score_error": limit})
        self.fixture_revision = rerank_fixture().revision
        self._pairs = pair_rows(tokenizer, model)
        self.rows: Sequence[Encoding] = [pair.encoding for pair in self._pairs]

    async def reference(self, worker: WorkerProcess, lengths: list[int], ids: bytes, done: int) -> list[bytes]:
        answer = await worker.score(lengths, ids, stall_limit_s=REFERENCE_STALL_S)
        if answer.non_finite:
            raise non_finite(f"probe-{done + answer.non_finite[0]}")
        return pack_scores(answer)

    async def figures(self, worker: WorkerProcess, candidate: list[bytes], reference: list[bytes]) -> Figures:
        return score_figures(
            self._pairs, [unpack_scores(row)[0] for row in candidate], [unpack_scores(row)[0] for row in reference]
        )


def score_figures(pairs: Sequence[PairRow], candidate: Sequence[float], reference: Sequence[float]) -> Figures:
    """Errors over all rows, and over the pools how many of a lane's best are among the reference's best.

    ``worst_decile_overlap`` is the mean over the tenth of the pools (rounded up) that overlap least, as it is for
    embeddings; candidates that the reference scores alike count as equally good.
    """
    errors = [abs(ours - theirs) for ours, theirs in zip(candidate, reference, strict=True)]
    pools: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for pair, ours, theirs in zip(pairs, candidate, reference, strict=True):
        if pair.pool is not None:
            pools[pair.pool].append((ours, theirs))
    overlaps = sorted(_overlap(pool) for pool in pools.values())
    worst = overlaps[: math.ceil(len(overlaps) / 10)]
    return {
        "max_score_error": max(errors, default=0.0),
        "mean_score_error": sum(errors) / len(errors) if errors else 0.0,
        "worst_decile_overlap": sum(worst) / len(worst) if worst else 1.0,
    }


def _overlap(pool: Sequence[tuple[float, float]]) -> float:
    best = sorted(pool, key=lambda scores: -scores[0])[:TOP]
    threshold = sorted((theirs for _, theirs in pool), reverse=True)[len(best) - 1]
    return sum(theirs >= threshold - _TIE for _, theirs in best) / len(best)
