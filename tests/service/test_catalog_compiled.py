"""The compiled catalog: what it pins, the identities that follow, and the documents that it refuses."""

from __future__ import annotations

import copy
import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import synapse_resources
from synapse_engines.composition import Instructed, Pair, Single
from synapse_engines.readout import Sigmoid, YesNo
from synapse_engines.tokenizer import SANITISER_REVISION
from synapse_service.catalog.compiled import (
    DERIVED_BACKENDS,
    ENGINES,
    Catalog,
    CatalogError,
    shipped_catalog,
)
from synapse_service.engine_builds import ENGINE_BUILDS

DOCS = Path(__file__).parents[2] / "docs"
BUILDS = {"owned-cpu": "openvino-1/f32-1", "owned-metal": "mlx-1/f32-1"}

GTE, GTE_RERANKER, QWEN, QWEN_RERANKER = IDS = (
    "gte-modernbert-base",
    "gte-reranker-modernbert-base",
    "qwen3-embedding-0.6b",
    "qwen3-reranker-0.6b",
)

FILES = {
    GTE: [
        ("config.json", 1184, "8ba54dc3d35d7194f5178a4194b649f146753e02dabd22bdca5c5cbac15069ed"),
        ("model.safetensors", 298041568, "3e85899d5728cb7de79781c0c3acfb91ccef9f875f1f7e0b3c9f3dd4b6a724ba"),
        ("tokenizer.json", 3583228, "6c8aaa9a542084f2457eab775d4eeb51f92a70c0fd9de28d5edb0ddec3c08d30"),
    ],
    GTE_RERANKER: [
        ("config.json", 1333, "c9316ff715158502dad782f35454eee18de984160618dc30afe7508feb46b7ce"),
        ("model.safetensors", 598436708, "13c533d902d6a48fa97375c6856c3e60854f9228ea760e3fc18ebde057e0cf31"),
        ("tokenizer.json", 3583499, "2aea6ff4701d063e7e029b6be695a1659f2caaa2ae4fb0e8b18285818271becd"),
    ],
    QWEN: [
        ("config.json", 727, "b5bf1f51fc45be473a54718cef92448d90a1be001bf9b9a44b8c7f10a19feaa9"),
        ("model.safetensors", 1191586416, "0437e45c94563b09e13cb7a64478fc406947a93cb34a7e05870fc8dcd48e23fd"),
        ("tokenizer.json", 11423705, "def76fb086971c7867b829c23a26261e38d9d74e02139253b38aeb9df8b4b50a"),
    ],
    QWEN_RERANKER: [
        ("config.json", 727, "d479c427a9ca5295218063d4f9aca4f297ab4ac27487cca7af42c84643d51ef0"),
        ("model.safetensors", 1191588280, "27cd75a405b9c1b46b59abfd88aaa209e6fed2a1972cde9b70e7659537c5e65b"),
        ("tokenizer.json", 11422654, "aeb13307a71acd8fe81861d94ad54ab689df773318809eed3cbe794b4492dae4"),
    ],
}

MANIFESTS = {
    GTE: "7b2e0232161143db18734bb44a9fcaefb7e0ed2eea27942c9510b92b50f255df",
    GTE_RERANKER: "b6b378ed4d5c2dc59ea7f76da3408a9febcd14234b72a1c26b16e131473204ad",
    QWEN: "5668fa1a6ad0a4a006cb9d619adb3b77bb763ce3439830aab4545b2625e563a2",
    QWEN_RERANKER: "255154e21d1bcf08f9f56967f71a49dc8eed5c24aa273067843373418717caca",
}
"""Changing one of these tells every machine that what it installed is stale."""


@pytest.fixture
def document() -> dict[str, Any]:
    """The shipped document, free to be changed."""
    found: dict[str, Any] = json.loads(synapse_resources.read("catalog.json"))
    return found


def parsed(document: dict[str, Any]) -> Catalog:
    return Catalog.parse(json.dumps(document).encode(), BUILDS)


def canonical(value: object) -> str:
    """Canonical JSON for values without fractions and with ASCII keys, written without the library under test."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


# --- what ships ---


def test_the_four_entries_are_those_of_the_contract() -> None:
    page = (DOCS / "wire-contract-v1.md").read_text(encoding="utf-8")
    said = re.findall(r"^\| ([a-z0-9.-]+) \| (embed|rerank) \| (\S+/\S+) \| ([0-9a-f]{40}) \|$", page, re.MULTILINE)
    specs = [entry.spec for entry in shipped_catalog().entries]
    assert [(spec.id, spec.task, spec.upstream.hf_repo, spec.upstream.revision) for spec in specs] == said
    assert tuple(spec.id for spec in specs) == IDS
    assert {spec.upstream.licence for spec in specs} == {"Apache-2.0"}


def test_the_gte_entries_are_the_defaults_of_their_tasks() -> None:
    defaults = {entry.spec.task: entry.id for entry in shipped_catalog().entries if entry.spec.default_for_task}
    assert defaults == {"embed": GTE, "rerank": GTE_RERANKER}


@pytest.mark.parametrize("catalog_id", IDS)
def test_each_entry_pins_exactly_its_three_files(catalog_id: str) -> None:
    entry = shipped_catalog().entry(catalog_id)
    assert entry is not None
    files = entry.spec.files.by_role()
    assert [role for role, _ in files] == ["config", "model", "tokenizer"]
    assert [(file.path, file.size, file.sha256) for _, file in files] == FILES[catalog_id]


def test_three_entries_declare_metal_and_all_of_them_a_last_cpu_row() -> None:
    lanes = {
        entry.id: [(lane.backend, lane.spec.dtype, lane.spec.lengths, lane.spec.max_tokens) for lane in entry.lanes]
        for entry in shipped_catalog().entries
    }
    metal = ("metal", "f32", "ladder", 8192)
    assert lanes == {
        GTE: [metal, ("cpu", "f32", "exact", 8192)],
        GTE_RERANKER: [metal, ("cpu", "f32", "exact", 8192)],
        QWEN: [metal, ("cpu", "f32", "exact", 2048)],
        QWEN_RERANKER: [("cpu", "f32", "exact", 2048)],
    }


def test_the_numeric_profiles_are_those_of_the_models() -> None:
    numerics = {entry.id: entry.spec.numerics for entry in shipped_catalog().entries}
    assert {
        catalog_id: (found.family, found.vocab, found.dims, found.pooling, found.normalization)
        for catalog_id, found in numerics.items()
    } == {
        GTE: ("modernbert", 50368, 768, "cls", "l2"),
        GTE_RERANKER: ("modernbert", 50368, None, "mean", "none"),
        QWEN: ("qwen3", 151669, 1024, "last", "l2"),
        QWEN_RERANKER: ("qwen3", 151669, None, "last", "none"),
    }
    assert numerics[GTE].composition == Single(prefix_ids=(50281,), suffix_ids=(50282,))
    assert numerics[GTE_RERANKER].composition == Pair(prefix_ids=(50281,), between_ids=(50282,), suffix_ids=(50282,))
    assert numerics[QWEN].composition == Single(prefix_ids=(), suffix_ids=(151643,))
    assert numerics[GTE_RERANKER].readout == Sigmoid()
    assert numerics[QWEN_RERANKER].readout == YesNo(yes_id=9693, no_id=2152)


def test_the_instructed_composition_has_its_places_and_lengths() -> None:
    entry = shipped_catalog().entry(QWEN_RERANKER)
    assert entry is not None
    composition = entry.spec.numerics.composition
    assert isinstance(composition, Instructed)
    assert (len(composition.prefix_ids), len(composition.suffix_ids)) == (39, 9)
    filled = composition.body.format(instruction=composition.instruction, query="q", document="d")
    assert filled == (
        "<Instruct>: Given a web search query, retrieve relevant passages that answer the query\n<Query>: q\n"
        "<Document>: d"
    )


def test_only_the_qwen_embedder_recommends_prompts() -> None:
    prompts = {entry.id: entry.spec.prompts for entry in shipped_catalog().entries if entry.spec.prompts}
    query = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
    assert prompts == {QWEN: {"query": query, "document": ""}}


# --- identities ---


def test_the_manifest_digests_are_stable() -> None:
    assert {entry.id: entry.manifest_digest for entry in shipped_catalog().entries} == MANIFESTS


def test_a_manifest_digest_is_that_of_the_entry_as_it_stands(document: dict[str, Any]) -> None:
    assert {entry["id"]: sha256(canonical(entry)) for entry in document["entries"]} == MANIFESTS


def test_the_manifest_digest_covers_the_cpu_row(document: dict[str, Any]) -> None:
    document["entries"][0]["backends"][-1]["max_tokens"] = 4096
    digests = [entry.manifest_digest for entry in parsed(document).entries]
    assert digests[0] != MANIFESTS[GTE]
    assert digests[1:] == list(MANIFESTS.values())[1:]


def fingerprint_by_hand(catalog_id: str, tokenizer: str, members: dict[str, str]) -> str:
    config, model, _ = FILES[catalog_id]
    weights = sha256(canonical([{"role": "config", "sha256": config[2]}, {"role": "model", "sha256": model[2]}]))
    tokenizer_digest = sha256(canonical({"sanitiser_revision": SANITISER_REVISION, "source_sha256": tokenizer}))
    profile = {"dtype": "f32", "thread_class": "any", "tokenizer_digest": tokenizer_digest, **members}
    identity = {"model_digest": weights, "quant": "none", "numeric_profile_id": sha256(canonical(profile))}
    return "syn1-" + sha256(canonical(identity))


def test_an_embedding_lane_has_the_documented_fingerprint(document: dict[str, Any]) -> None:
    catalog = parsed(document)
    common = {"pooling": "cls", "normalization": "l2"}
    cpu = {"engine": "owned-cpu", "engine_build": BUILDS["owned-cpu"], "shape_envelope": "exact:1-8192"}
    metal = {"engine": "owned-metal", "engine_build": BUILDS["owned-metal"], "shape_envelope": "ladder:1-8192"}
    tokenizer = FILES[GTE][2][2]
    found = [catalog.lane(f"{GTE}-{backend}") for backend in ("cpu", "metal")]
    assert [lane.fingerprint if lane else None for lane in found] == [
        fingerprint_by_hand(GTE, tokenizer, common | cpu),
        fingerprint_by_hand(GTE, tokenizer, common | metal),
    ]


def test_composition_and_readout_are_part_of_a_reranking_lanes_fingerprint(document: dict[str, Any]) -> None:
    numerics = document["entries"][3]["numerics"]
    members = {
        "engine": "owned-cpu",
        "engine_build": BUILDS["owned-cpu"],
        "shape_envelope": "exact:1-2048",
        "pooling": "last",
        "normalization": "none",
        "template": sha256(canonical(numerics["composition"])),
        "readout": sha256(canonical(numerics["readout"])),
    }
    lane = parsed(document).lane("qwen3-reranker-0.6b-cpu")
    assert lane is not None
    assert lane.fingerprint == fingerprint_by_hand(QWEN_RERANKER, FILES[QWEN_RERANKER][2][2], members)


def test_an_engines_build_moves_the_fingerprints_of_its_own_lanes_only(document: dict[str, Any]) -> None:
    text = json.dumps(document).encode()
    before, after = Catalog.parse(text, BUILDS), Catalog.parse(text, {**BUILDS, "owned-cpu": "openvino-2/f32-1"})
    moved = [
        old.lane_id
        for entry, other in zip(before.entries, after.entries, strict=True)
        for old, new in zip(entry.lanes, other.lanes, strict=True)
        if old.fingerprint != new.fingerprint
    ]
    assert moved == [f"{catalog_id}-cpu" for catalog_id in IDS]


def test_a_changed_description_moves_no_fingerprint(document: dict[str, Any]) -> None:
    before = [lane.fingerprint for entry in parsed(document).entries for lane in entry.lanes]
    document["entries"][0]["description"] = "Another one."
    assert [lane.fingerprint for entry in parsed(document).entries for lane in entry.lanes] == before


def test_the_shipped_lanes_carry_the_builds_that_this_release_declares() -> None:
    lanes = [lane for entry in shipped_catalog().entries for lane in entry.lanes]
    assert {lane.engine: lane.profile.engine_build for lane in lanes} == {
        engine: ENGINE_BUILDS[engine] for engine in ("owned-metal", "owned-cpu")
    }


# --- finding things ---


def test_a_lane_is_found_by_id_and_by_fingerprint_and_carries_its_manifest() -> None:
    catalog = shipped_catalog()
    lane = catalog.lane("qwen3-embedding-0.6b-metal")
    assert lane is not None
    assert (lane.catalog_id, lane.backend, lane.engine) == (QWEN, "metal", "owned-metal")
    assert lane.manifest_digest == MANIFESTS[QWEN]
    assert catalog.lane_of_fingerprint(lane.fingerprint) is lane
    assert catalog.lane("qwen3-reranker-0.6b-metal") is None
    assert catalog.lane(QWEN) is None
    assert catalog.lane_of_fingerprint("syn1-" + "0" * 64) is None
    assert catalog.entry("qwen3-embedding-0.6b-metal") is None


def test_every_entry_reserves_an_id_for_each_backend_declared_or_not() -> None:
    assert DERIVED_BACKENDS == ("metal", "ane", "cuda", "vulkan", "cpu")
    assert set(ENGINES) == set(DERIVED_BACKENDS)
    derived = {f"{catalog_id}-{backend}": catalog_id for catalog_id in IDS for backend in DERIVED_BACKENDS}
    assert {*IDS, *derived} == shipped_catalog().reserved_ids
    assert {name: shipped_catalog().owner(name) for name in derived} == derived
    assert shipped_catalog().owner(GTE) is None
    assert shipped_catalog().owner("gte-modernbert-base-f16") is None


# --- documents that contradict themselves ---


def without_cpu(entries: list[dict[str, Any]]) -> None:
    del entries[0]["backends"][-1]


def cpu_first(entries: list[dict[str, Any]]) -> None:
    entries[0]["backends"].reverse()


def metal_twice(entries: list[dict[str, Any]]) -> None:
    entries[0]["backends"].insert(0, entries[0]["backends"][0])


def on_ane(entries: list[dict[str, Any]]) -> None:
    entries[0]["backends"][0]["backend"] = "ane"


def special_outside(entries: list[dict[str, Any]]) -> None:
    entries[0]["numerics"]["composition"]["suffix_ids"] = [50368]


def readout_outside(entries: list[dict[str, Any]]) -> None:
    entries[3]["numerics"]["readout"]["yes_id"] = 151669


def embedder_with_readout(entries: list[dict[str, Any]]) -> None:
    entries[0]["numerics"]["readout"] = {"kind": "sigmoid"}


def reranker_with_dims(entries: list[dict[str, Any]]) -> None:
    entries[1]["numerics"]["dims"] = 768


def reranker_as_embedder(entries: list[dict[str, Any]]) -> None:
    entries[1]["task"] = "embed"
    entries[1]["default_for_task"] = False


def unknown_family(entries: list[dict[str, Any]]) -> None:
    entries[0]["numerics"]["family"] = "gpt2"


def same_file(entries: list[dict[str, Any]]) -> None:
    entries[0]["files"]["config"]["sha256"] = entries[0]["files"]["model"]["sha256"]


def second_default(entries: list[dict[str, Any]]) -> None:
    entries[2]["default_for_task"] = True


def out_of_order(entries: list[dict[str, Any]]) -> None:
    entries.reverse()


def id_of_a_lane(entries: list[dict[str, Any]]) -> None:
    entries[1]["id"] = "gte-modernbert-base-ane"


def same_model_twice(entries: list[dict[str, Any]]) -> None:
    entries[1] = {**copy.deepcopy(entries[0]), "id": entries[1]["id"], "default_for_task": False}


def nothing_pinned(entries: list[dict[str, Any]]) -> None:
    del entries[0]["files"]["config"]["size"]


def floating_revision(entries: list[dict[str, Any]]) -> None:
    entries[0]["upstream"]["revision"] = "main"


def surplus_member(entries: list[dict[str, Any]]) -> None:
    entries[0]["numerics"]["quant"] = "int8"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (without_cpu, "gte-modernbert-base: the cpu backend is not the last one"),
        (cpu_first, "gte-modernbert-base: the cpu backend is not the last one"),
        (metal_twice, "gte-modernbert-base: a backend stands twice"),
        (on_ane, "gte-modernbert-base: no engine of this release computes on ane"),
        (special_outside, "gte-modernbert-base: a special token lies outside the vocabulary of 50368"),
        (readout_outside, "qwen3-reranker-0.6b: a special token lies outside the vocabulary of 151669"),
        (embedder_with_readout, "gte-modernbert-base: composition, dims and readout are not those of task embed"),
        (reranker_with_dims, "composition, dims and readout are not those of task rerank"),
        (reranker_as_embedder, "composition, dims and readout are not those of task embed"),
        (unknown_family, "the family gpt2 is not one of bert, modernbert, qwen3"),
        (same_file, "gte-modernbert-base: two of its files are the same"),
        (second_default, "a task has more than one default"),
        (out_of_order, "the entries are not ordered by id, or one stands twice"),
        (same_model_twice, "two lanes are the same model on the same engine"),
        (nothing_pinned, "missing required field `size` - at `$.entries[0].files.config`"),
        (floating_revision, "at `$.entries[0].upstream.revision`"),
        (surplus_member, "unknown field `quant` - at `$.entries[0].numerics`"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_document_that_contradicts_itself_is_refused(
    document: dict[str, Any], change: Callable[[list[dict[str, Any]]], None], message: str
) -> None:
    change(document["entries"])
    with pytest.raises(CatalogError, match=re.escape(message)):
        parsed(document)


def test_a_model_can_not_have_the_id_of_another_ones_lane(document: dict[str, Any]) -> None:
    id_of_a_lane(document["entries"])
    document["self_checks"]["gte-modernbert-base-ane"] = document["self_checks"].pop(GTE_RERANKER)
    with pytest.raises(CatalogError, match="gte-modernbert-base-ane is a model and the lane of another"):
        parsed(document)


def test_every_entry_needs_a_sealed_self_check(document: dict[str, Any]) -> None:
    del document["self_checks"][QWEN]
    with pytest.raises(CatalogError, match="self_checks doesn't name exactly the entries"):
        parsed(document)


def test_another_kind_of_document_is_refused(document: dict[str, Any]) -> None:
    document["schema"] = "synapse-catalog/2"
    with pytest.raises(CatalogError, match="synapse-catalog/2"):
        parsed(document)
    with pytest.raises(CatalogError, match="the catalog can't be read"):
        Catalog.parse(b"{", BUILDS)
