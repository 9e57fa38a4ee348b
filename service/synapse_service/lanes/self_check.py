"""The self-check of a catalog lane: fixed rows of token ids, the numbers that must come out, and the judgement.

The figures ship with the release, one file for each catalog model, sealed by a digest in the catalog. A lane computes
the rows when it is first loaded; :func:`evaluate_embed` or :func:`evaluate_rerank` compares, and the outcome is kept
under :class:`SelfCheckKey`. Everything here is pure: running the rows and keeping the outcome belong to the caller.
Plain Python numbers, because the service process has no array library.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, Final, Literal, TypeAlias

import msgspec
from msgspec import Meta

import synapse_resources
from synapse_engines.composition import TokenIds
from synapse_engines.devices import Device
from synapse_engines.readout import Readout
from synapse_service.catalog.compiled import (
    CatalogEntry,
    CatalogError,
    CatalogId,
    CatalogLane,
    Positive,
    Revision,
    Sha256,
    Text,
)
from synapse_service.lanes.fingerprint import canonical_sha256
from synapse_wire.results import EngineIdentity

CEILING_S: Final = 2.0
"""How long a self-check may take."""

CPU_CEILING_S: Final = 60.0
"""The same on a CPU lane."""

Reason = Literal[
    "case_missing",
    "ids_differ",
    "readout_differs",
    "dims_differ",
    "non_finite",
    "not_normalised",
    "cosine_too_low",
    "score_differs",
    "order_differs",
]
"""The gate that a lane failed."""

Gate = Annotated[float, Meta(gt=0, lt=1)]


class _Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of a file's objects."""


class ModelIdentity(_Part, frozen=True, kw_only=True):
    """Which files the figures were computed from."""

    revision: Revision
    model_sha256: Sha256
    tokenizer_sha256: Sha256


class Fixture(_Part, frozen=True, kw_only=True):
    """The full set of cases, as its publisher names and seals it, that those of a file were drawn from."""

    set: Text
    sha256: Sha256


class EmbedGates(_Part, frozen=True, kw_only=True):
    """Lowest cosine to the expected vector, and how far from 1 a vector's length may lie."""

    cosine_min: Gate
    norm_error_max: Gate


class RerankGates(_Part, frozen=True, kw_only=True):
    """Largest error of a score by the lane's number format, and the gap from which two scores have an order."""

    score_error_max: dict[Literal["f32", "f16", "bf16"], Gate]
    graded_gap: Gate


class EmbedCase(_Part, frozen=True, kw_only=True):
    """One row: its token ids, special tokens included, and the vector that belongs to it."""

    id: Text
    ids: TokenIds
    vector: tuple[float, ...]


class RerankCase(_Part, frozen=True, kw_only=True):
    """One row and its score. Rows of one ``pool`` answer the same query, so that their order counts."""

    id: Text
    ids: TokenIds
    score: float
    pool: Text | None


class _File(_Part, frozen=True, kw_only=True):
    schema: Literal["synapse-self-check/1"]
    catalog_id: CatalogId
    revision: Positive
    source: Text
    precision: Text
    model: ModelIdentity
    fixture: Fixture


class EmbedCheck(_File, frozen=True, kw_only=True, tag_field="task", tag="embed"):
    """The check of an embedding model."""

    gates: EmbedGates
    cases: Annotated[tuple[EmbedCase, ...], Meta(min_length=1)]


class RerankCheck(_File, frozen=True, kw_only=True, tag_field="task", tag="rerank"):
    """The check of a reranking model."""

    gates: RerankGates
    cases: Annotated[tuple[RerankCase, ...], Meta(min_length=1)]


SelfCheck: TypeAlias = EmbedCheck | RerankCheck


@dataclass(frozen=True, slots=True)
class EmbeddedCase:
    """What a lane made of an embedding case: the ids that it used, and the vector."""

    ids: Sequence[int]
    vector: Sequence[float]


@dataclass(frozen=True, slots=True)
class ScoredCase:
    """What a lane made of a reranking case. ``readout_ids`` are (yes, no) where the score is read from two tokens."""

    ids: Sequence[int]
    score: float
    readout_ids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome. ``reason`` and ``message`` are of the first gate that failed, None when all of them held.

    ``evidence`` holds the worst figures seen: how far a passed check was from its gates, or where a failed one stopped.
    """

    reason: Reason | None
    message: str | None
    evidence: dict[str, float]

    @property
    def passed(self) -> bool:
        return self.reason is None


class SelfCheckKey(msgspec.Struct, frozen=True, kw_only=True):
    """What an outcome is valid for. When any of the seven parts changes, the check is pending again."""

    catalog_id: str
    manifest_digest: str
    backend: Device
    fingerprint: str
    engine_identity: EngineIdentity
    os_build: str
    fixture_revision: int

    @property
    def subject(self) -> str:
        """What the outcome is about."""
        return self.catalog_id

    @property
    def check_id(self) -> str:
        """The key in one word: SHA-256 of its canonical JSON."""
        return canonical_sha256(msgspec.to_builtins(self))


def self_check_key(lane: CatalogLane, os_build: str, fixture_revision: int) -> SelfCheckKey:
    """The key of a lane's check on this operating system."""
    return SelfCheckKey(
        catalog_id=lane.catalog_id,
        manifest_digest=lane.manifest_digest,
        backend=lane.backend,
        fingerprint=lane.fingerprint,
        engine_identity=EngineIdentity(engine=lane.engine, version=lane.profile.engine_build, build_flags={}),
        os_build=os_build,
        fixture_revision=fixture_revision,
    )


def ceiling_s(backend: Device) -> float:
    """How long the check of a lane may take, in seconds."""
    return CPU_CEILING_S if backend == "cpu" else CEILING_S


def load_self_check(entry: CatalogEntry, read: Callable[[str], bytes] = synapse_resources.read) -> SelfCheck:
    """The figures of an entry, proven to be those that the catalog sealed and to be about the entry's files.

    Blocks for some tens of milliseconds. Raises :class:`CatalogError`: a release whose figures are damaged can't
    prove any lane of the entry.
    """
    name = f"self_check/{entry.id}.json"
    try:
        data = read(name)
        check: SelfCheck = msgspec.json.decode(data, type=SelfCheck)
    except (OSError, msgspec.MsgspecError) as error:
        raise CatalogError(f"{name} can't be read: {error}") from error
    if canonical_sha256(msgspec.json.decode(data)) != entry.self_check.sha256:
        raise CatalogError(f"{name} is not what the catalog sealed")
    files = entry.spec.files
    model = ModelIdentity(
        revision=entry.spec.upstream.revision,
        model_sha256=files.model.sha256,
        tokenizer_sha256=files.tokenizer.sha256,
    )
    if (check.catalog_id, check.revision, check.model) != (entry.id, entry.self_check.revision, model):
        raise CatalogError(f"{name} is about another model or revision")
    if problem := _problem(check, entry):
        raise CatalogError(f"{name}: {problem}")
    return check


def _problem(check: SelfCheck, entry: CatalogEntry) -> str | None:
    numerics = entry.spec.numerics
    if isinstance(check, EmbedCheck) != (entry.spec.task == "embed"):
        return f"these are not cases of task {entry.spec.task}"
    if len({case.id for case in check.cases}) < len(check.cases):
        return "a case stands twice"
    for case in check.cases:
        if not case.ids or max(case.ids) >= numerics.vocab:
            return f"the ids of {case.id} are not in the vocabulary"
        if isinstance(case, EmbedCase) and len(case.vector) != numerics.dims:
            return f"the vector of {case.id} does not have {numerics.dims} numbers"
    return None


def evaluate_embed(check: EmbedCheck, observed: Mapping[str, EmbeddedCase]) -> Verdict:
    """Judge what a lane computed; ``observed`` is by case id."""
    evidence: dict[str, float] = {"cases": 0, "min_cosine": 1.0, "max_norm_error": 0.0}
    for case in check.cases:
        seen = observed.get(case.id)
        if seen is None:
            return _missing(case, evidence)
        if tuple(seen.ids) != case.ids:
            return _other_ids(case, evidence)
        if len(seen.vector) != len(case.vector):
            message = f"{case.id}: a vector of {len(seen.vector)} numbers, not of {len(case.vector)}"
            return Verdict("dims_differ", message, evidence)
        if not all(map(math.isfinite, seen.vector)):
            return Verdict("non_finite", f"{case.id}: the vector holds numbers that are not finite", evidence)
        norm_error = abs(_norm(seen.vector) - 1)
        evidence["max_norm_error"] = max(evidence["max_norm_error"], norm_error)
        if norm_error > check.gates.norm_error_max:
            message = f"{case.id}: the vector's length is {norm_error:.6f} off 1"
            return Verdict("not_normalised", message, evidence)
        cosine = _cosine(seen.vector, case.vector)
        evidence["min_cosine"] = min(evidence["min_cosine"], cosine)
        if cosine < check.gates.cosine_min:
            message = f"{case.id}: the cosine is {cosine:.6f}, at least {check.gates.cosine_min} is needed"
            return Verdict("cosine_too_low", message, evidence)
        evidence["cases"] += 1
    return Verdict(None, None, evidence)


def evaluate_rerank(
    check: RerankCheck,
    observed: Mapping[str, ScoredCase],
    *,
    dtype: Literal["f32", "f16", "bf16"],
    readout: Readout,
) -> Verdict:
    """Judge what a lane computed; ``observed`` is by case id.

    ``dtype`` is the lane's number format, ``readout`` says from which tokens its score has to be read, if from any.
    """
    limit = check.gates.score_error_max[dtype]
    evidence: dict[str, float] = {"cases": 0, "max_score_error": 0.0, "graded_pairs": 0}
    for case in check.cases:
        seen = observed.get(case.id)
        if seen is None:
            return _missing(case, evidence)
        if tuple(seen.ids) != case.ids:
            return _other_ids(case, evidence)
        if seen.readout_ids != readout.token_ids:
            wanted = list(readout.token_ids)
            message = f"{case.id}: the score was read from the tokens {list(seen.readout_ids)}, not {wanted}"
            return Verdict("readout_differs", message, evidence)
        if not math.isfinite(seen.score):
            return Verdict("non_finite", f"{case.id}: the score is not finite", evidence)
        error = abs(seen.score - case.score)
        evidence["max_score_error"] = max(evidence["max_score_error"], error)
        if error > limit:
            message = f"{case.id}: the score is {error:.6f} off, at most {limit} is allowed"
            return Verdict("score_differs", message, evidence)
        evidence["cases"] += 1
    for higher, lower in graded_pairs(check):
        if observed[higher.id].score <= observed[lower.id].score:
            return Verdict("order_differs", f"{higher.id} doesn't score above {lower.id}", evidence)
        evidence["graded_pairs"] += 1
    return Verdict(None, None, evidence)


def graded_pairs(check: RerankCheck) -> Iterator[tuple[RerankCase, RerankCase]]:
    """Pairs (higher, lower) of one pool whose expected scores are far enough apart to have an order."""
    for left, right in combinations((case for case in check.cases if case.pool is not None), 2):
        higher, lower = (left, right) if left.score > right.score else (right, left)
        if left.pool == right.pool and higher.score - lower.score >= check.gates.graded_gap:
            yield higher, lower


def _missing(case: EmbedCase | RerankCase, evidence: dict[str, float]) -> Verdict:
    return Verdict("case_missing", f"{case.id} was not computed", evidence)


def _other_ids(case: EmbedCase | RerankCase, evidence: dict[str, float]) -> Verdict:
    return Verdict("ids_differ", f"{case.id}: other token ids were used than the case has", evidence)


def _norm(vector: Sequence[float]) -> float:
    return math.hypot(*vector)


def _cosine(left: Sequence[float], right: Sequence[float]) -> float:
    return math.fsum(a * b for a, b in zip(left, right, strict=True)) / (_norm(left) * _norm(right))
