"""Judging what a lane answered: every gate of the assets, and the figures that a record keeps. Pure functions.

Of each answer everything that is wrong is told, not only the first thing: a run on rare hardware is expensive.
"""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from synapse_cli.certification.assets import (
    Assets,
    EmbedAssets,
    EmbedFixture,
    EmbedGates,
    RerankAssets,
    RerankFixture,
)


@dataclass(frozen=True, slots=True)
class Judged:
    """One fixture: its figures for the record, and what is wrong with it."""

    figures: dict[str, Any]
    problems: list[str]


def judge(
    assets: Assets, fixture: EmbedFixture | RerankFixture, answer: Mapping[str, Any], fingerprint: str, dtype: str
) -> Judged:
    """Hold an answer against its fixture, the catalog's pin and the gates."""
    problems = []
    if answer["fingerprint"] != fingerprint:
        problems.append(f"{fixture.id}: answered with the fingerprint {answer['fingerprint']}, not the catalog's pin")
    observed = answer.get("observation")
    if not isinstance(observed, Mapping):
        problems.append(f"{fixture.id}: the answer doesn't say what the engine got, although it is observed")
        observed = {}
    if isinstance(fixture, EmbedFixture):
        assert isinstance(assets, EmbedAssets)
        judged = _embedded(assets.gates, fixture, answer)
        wanted = [list(fixture.input_ids)]
    else:
        assert isinstance(assets, RerankAssets)
        judged = _scored(assets, fixture, answer, dtype)
        wanted = [list(each.input_ids) for each in fixture.candidates]
        if tuple(observed.get("readout_ids", ())) != assets.readout_ids:
            problems.append(f"{fixture.id}: the score was read from other tokens than {list(assets.readout_ids)}")
    if observed and observed.get("input_ids") != wanted:
        problems.append(f"{fixture.id}: the engine got other token ids than the fixture has")
    return Judged({"id": fixture.id, **judged.figures}, problems + judged.problems)


def _embedded(gates: EmbedGates, fixture: EmbedFixture, answer: Mapping[str, Any]) -> Judged:
    vector = [float(each) for each in answer["vectors"][0]["vector"]]
    figures = {"vector_sha256": hashlib.sha256(struct.pack(f"<{len(vector)}f", *vector)).hexdigest()}
    if len(vector) != len(fixture.vector):
        return Judged(figures, [f"{fixture.id}: {len(vector)} numbers, not {len(fixture.vector)}"])
    norm = math.hypot(*vector)
    dot = math.fsum(a * b for a, b in zip(vector, fixture.vector, strict=True))
    cosine = dot / (norm * math.hypot(*fixture.vector)) if norm else 0.0
    problems = []
    if not abs(norm - 1) <= gates.norm_error_max:
        problems.append(f"{fixture.id}: the vector's length is {norm:.6f}")
    if not cosine >= gates.cosine_min:
        problems.append(f"{fixture.id}: the cosine is {cosine:.6f}, at least {gates.cosine_min} is needed")
    return Judged({**figures, "cosine": cosine, "norm_error": abs(norm - 1)}, problems)


def _scored(assets: RerankAssets, fixture: RerankFixture, answer: Mapping[str, Any], dtype: str) -> Judged:
    scores = {each["id"]: float(each["score"]) for each in answer["scores"]}
    text = ",".join(repr(scores.get(each.id)) for each in fixture.candidates)
    figures: dict[str, Any] = {"scores_sha256": hashlib.sha256(text.encode()).hexdigest()}
    if set(scores) != {each.id for each in fixture.candidates}:
        return Judged(figures, [f"{fixture.id}: other candidates were scored than were asked"])
    limit = {str(name): gate for name, gate in assets.gates.score_error_max.items()}.get(dtype)
    if limit is None:
        return Judged(figures, [f"{fixture.id}: the assets have no gate for {dtype}"])
    problems = []
    worst = 0.0
    for each in fixture.candidates:
        error = abs(scores[each.id] - each.score)
        worst = max(worst, error) if error == error else math.nan
        if not error <= limit:
            problems.append(f"{fixture.id}/{each.id}: the score is {error:.6f} off, at most {limit} is allowed")
    for left, right in combinations(fixture.candidates, 2):
        higher, lower = (left, right) if left.score > right.score else (right, left)
        graded = higher.score - lower.score >= assets.gates.graded_gap
        if graded and not scores[higher.id] > scores[lower.id]:
            problems.append(f"{fixture.id}: {higher.id} doesn't score above {lower.id}")
    return Judged({**figures, "score_error": worst}, problems)


def worst(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Of all fixtures, how near they came to the gates."""
    found: dict[str, float] = {}
    for name, name_of_worst, choose in (
        ("cosine", "min_cosine", min),
        ("norm_error", "max_norm_error", max),
        ("score_error", "max_score_error", max),
    ):
        values = [row[name] for row in rows if name in row]
        if values:
            found[name_of_worst] = choose(values)
    return found


def judge_observations(record: Mapping[str, Any], lane_id: str, fixtures: int, *, neural_engine: bool) -> list[str]:
    """What is wrong with what was observed. A record that isn't available is never read as an empty one."""
    if record.get("available") is not True:
        return ["the observations are not available, so nothing is known about what was left out"]
    problems = []
    asked = record["worker_requests"].get(lane_id, 0)
    if asked < fixtures:
        problems.append(f"the workers of {lane_id} were asked {asked} times for {fixtures} fixtures")
    inventories, admitted = record["inventories"], record["admitted_count"]
    if len(inventories) != admitted:
        problems.append(f"{admitted} admissions, and {len(inventories)} inventories of them")
    mine = [each for each in inventories if each.get("lane_id") == lane_id]
    if neural_engine and not mine:
        problems.append(f"{lane_id} was never admitted to the Neural Engine")
    if not neural_engine and (inventories or admitted):
        problems.append("something was admitted to the Neural Engine, which this row has nothing to do with")
    return problems
