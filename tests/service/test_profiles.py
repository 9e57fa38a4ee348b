"""Models registered under a certification profile: proven by a sealed subset, and refused for good if wrong."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

import synapse_resources
from fixtures.catalog import SmallCatalog, tiny_files
from fixtures.certifications import ledger_for
from fixtures.clocks import FakeClock
from fixtures.expected_warnings import ExpectedWarnings
from fixtures.lanes import StubWorker, make_lane, no_catalog
from fixtures.onboarding_desk import OnboardingDesk
from synapse_engines.composition import Instructed
from synapse_engines.devices import Device
from synapse_engines.templates import TEMPLATES, Prompt
from synapse_engines.worker.scripted import scripted_vector
from synapse_service.aliases.table import AliasTable
from synapse_service.catalog.compiled import Catalog, shipped_catalog
from synapse_service.catalog.detached import Detached
from synapse_service.lanes.device_gate import BACKENDS
from synapse_service.lanes.lane import Lane
from synapse_service.lanes.model_rows import model_row
from synapse_service.lanes.profiles import ProfileCheckKey, ProfileError, Profiles
from synapse_service.lanes.records import StoredLanes, StoredSelfChecks
from synapse_service.lanes.registration import Registration
from synapse_service.lanes.registry import LaneRegistry
from synapse_service.lanes.self_check import ceiling_s
from synapse_service.lanes.self_check_runs import SelfChecks
from synapse_service.operations.choosing import LaneChoice
from synapse_service.store.database import Store
from synapse_service.store.models import SelfCheck
from synapse_service.workers.process import EmbeddedRows
from synapse_wire.errors import SynapseError
from synapse_wire.params import Constraints
from synapse_wire.results import EngineIdentity, JobStatus, RecommendedBatch

MODELS = ("gte-modernbert-base", "gte-reranker-modernbert-base", "qwen3-embedding-0.6b", "qwen3-reranker-0.6b")
SIXTEEN = [f"{model}.{lane}" for model in MODELS for lane in ("metal", "ane", "cuda", "vulkan")]
EMBED_CASES = ("short-0", "boundary-127", "boundary-128", "boundary-129")
FIXTURES = {
    "gte-modernbert-base": "cc56f6651638744de7bd54bf2c7823be3d73a0276120c52bf1e8be014b7aa6eb",
    "gte-reranker-modernbert-base": "e6a888c099cef7facb7d543dc987a0080ddb010bcfa1c26b73121840c87ffb52",
    "qwen3-embedding-0.6b": "794fa9e182e2aaa6e2378699d7115bdd3f0d213c0b4a576212b63fa88aef215f",
    "qwen3-reranker-0.6b": "b2657ed8c361a13d271887f190e673517ddc1486a34abcdfb0a119cb75924437",
}
"""Digests of the full sets, as their publisher seals them."""


# --- what ships ---


def tokenizer_of(profile: str) -> str:
    entry = shipped_catalog().entry(profile.rpartition(".")[0])
    assert entry is not None
    return entry.spec.files.tokenizer.sha256


def test_there_are_sixteen_profiles() -> None:
    assert sorted(Profiles.read(shipped_catalog()).names()) == sorted(SIXTEEN)


@pytest.mark.parametrize("profile", SIXTEEN)
def test_every_profile_has_the_sealed_subset_of_its_own_model(profile: str) -> None:
    profiles = Profiles.read(shipped_catalog())
    model = profile.rpartition(".")[0]
    entry, check = profiles.figures(profile, tokenizer_of(profile))
    assert (entry.id, check.catalog_id, check.fixture.sha256) == (model, model, FIXTURES[model])
    assert check.model.revision == entry.spec.upstream.revision
    pooled = ("pool10-000", "pool10-001", "pool10-002") if entry.spec.task == "rerank" else ()
    assert tuple(case.id for case in check.cases) == (*EMBED_CASES, *pooled)
    others = [other for other in SIXTEEN if not other.startswith(f"{model}.")]
    assert all(profiles.figures(other, tokenizer_of(other))[1].cases != check.cases for other in others)
    siblings = [other for other in SIXTEEN if other.startswith(f"{model}.")]
    assert {profiles.seal(other) for other in siblings} == {entry.self_check.sha256}
    assert profiles.problem(profile) is None


def tampered(name: str, change: Any) -> Catalog:
    """The shipped catalog with one resource beside it changed."""

    def read(asked: str) -> bytes:
        data = synapse_resources.read(asked)
        if asked != name:
            return data
        document = json.loads(data)
        change(document)
        return json.dumps(document).encode()

    return Catalog.parse(synapse_resources.read("catalog.json"), resource=read)


@pytest.mark.parametrize("profile", SIXTEEN)
def test_a_tampered_subset_refuses_and_names_the_profile(profile: str) -> None:
    model = profile.rpartition(".")[0]

    def change(document: dict[str, Any]) -> None:
        document["cases"][0]["ids"][0] += 1

    profiles = Profiles.read(tampered(f"self_check/{model}.json", change))
    with pytest.raises(ProfileError) as refusal:
        profiles.figures(profile, tokenizer_of(profile))
    assert refusal.value.reason == "seal_invalid"
    others = [other for other in MODELS if other != model]
    for other in others:
        profiles.figures(f"{other}.metal", tokenizer_of(f"{other}.metal"))


PROFILE = "gte-modernbert-base.metal"


def _seal(document: dict[str, Any]) -> None:
    document["subsets"]["gte-modernbert-base"]["sha256"] = "0" * 64


def _fixture(document: dict[str, Any]) -> None:
    document["subsets"]["gte-modernbert-base"]["fixture"]["sha256"] = "0" * 64


def _cases(document: dict[str, Any]) -> None:
    document["subsets"]["gte-modernbert-base"]["cases"].pop()


@pytest.mark.parametrize(
    ("change", "reason"), [(_seal, "seal_invalid"), (_fixture, "source_differs"), (_cases, "seal_invalid")]
)
def test_an_index_that_seals_something_else_refuses(change: Any, reason: str) -> None:
    profiles = Profiles.read(tampered("self_check/profiles.json", change))
    with pytest.raises(ProfileError) as refusal:
        profiles.figures(PROFILE, tokenizer_of(PROFILE))
    assert refusal.value.reason == reason


@pytest.mark.parametrize(
    "profile", ["gte-modernbert-base.tpu", "gte-modernbert-large.metal", "gte-modernbert-base", "metal", ".metal"]
)
def test_a_profile_without_a_reference_is_known_before_anything_is_read(profile: str) -> None:
    profiles = Profiles.read(shipped_catalog())
    assert (profiles.problem(profile), profiles.seal(profile)) == ("reference_absent", "")
    with pytest.raises(ProfileError) as refusal:
        profiles.figures(profile, "0" * 64)
    assert refusal.value.reason == "reference_absent"


def test_the_processor_has_a_profile_of_every_subset() -> None:
    profiles = Profiles.read(shipped_catalog())
    for model in MODELS:
        profile = f"{model}.cpu"
        assert profiles.seal(profile) == profiles.seal(f"{model}.metal")
        assert profiles.figures(profile, tokenizer_of(profile))[0].id == model


def test_a_prompt_that_users_name_is_that_of_the_cases() -> None:
    """Red if one of the two is reworded: the cases would no longer prove what is served."""
    entry = shipped_catalog().entry("qwen3-reranker-0.6b")
    assert entry is not None
    ours, template = entry.spec.numerics.composition, TEMPLATES["qwen3-reranker"]
    assert isinstance(ours, Instructed)
    assert isinstance(template, Prompt)
    parts = ("prefix", "body", "instruction", "suffix")
    assert [getattr(ours, part) for part in parts] == [getattr(template, part) for part in parts]


def test_another_tokenizer_is_another_model() -> None:
    with pytest.raises(ProfileError) as refusal:
        Profiles.read(shipped_catalog()).figures(PROFILE, "0" * 64)
    assert refusal.value.reason == "identity_differs"


def test_an_index_that_can_not_be_read_refuses_every_profile(expected_warnings: ExpectedWarnings) -> None:
    expected_warnings("profiles_unusable")
    profiles = Profiles.read(tampered("self_check/profiles.json", lambda document: document.pop("subsets")))
    assert {profiles.problem(profile) for profile in SIXTEEN} == {"seal_invalid"}
    with pytest.raises(ProfileError) as refusal:
        profiles.figures(PROFILE, tokenizer_of(PROFILE))
    assert refusal.value.reason == "seal_invalid"


def test_every_part_of_the_key_counts() -> None:
    def key(**changes: Any) -> str:
        parts: dict[str, Any] = {
            "profile": PROFILE,
            "backend": "metal",
            "fingerprint": "syn1-1",
            "engine_identity": EngineIdentity(engine="owned-metal", version="1", build_flags={}),
            "os_build": "24A1",
            "manifest_digest": "a",
            "subset_seal": "b",
        }
        return ProfileCheckKey(**(parts | changes)).check_id

    changed = [
        {"profile": "gte-modernbert-base.ane"},
        {"backend": "ane"},
        {"fingerprint": "syn1-2"},
        {"engine_identity": EngineIdentity(engine="owned-metal", version="2", build_flags={})},
        {"os_build": "24A2"},
        {"manifest_digest": "c"},
        {"subset_seal": "d"},
    ]
    assert len({key(), *(key(**change) for change in changed)}) == 8


# --- at work ---

CASES = {"short-0": [2, 40, 41, 3], "boundary-127": [2, *range(20, 145), 3]}
DIMS = 64


def small_catalog(wrong: str | None = None) -> SmallCatalog:
    """One model, the tiny BERT, whose figures are those that stub workers give."""
    catalog = SmallCatalog()
    catalog.add("tiny", tiny_files("bert"))
    cases = [
        {"id": name, "ids": ids, "vector": (scripted_vector(ids, DIMS) * (-1 if name == wrong else 1)).tolist()}
        for name, ids in CASES.items()
    ]
    return catalog.check("tiny", cases, {"cosine_min": 0.999, "norm_error_max": 0.001})


class WideWorker(StubWorker):
    """A stub whose vectors are as long as the model's."""

    async def embed(self, lengths: Sequence[int], ids: bytes, encoding: str, **_: Any) -> EmbeddedRows:
        await super().embed(lengths, ids, encoding)
        numbers = memoryview(ids).cast("i").tolist()
        ends = list(itertools.accumulate(lengths))
        rows = [numbers[end - length : end] for end, length in zip(ends, lengths, strict=True)]
        return EmbeddedRows([scripted_vector(row, DIMS).tobytes() for row in rows], (), 0.1)


class Desk(OnboardingDesk):
    """``restart`` is what a new process finds, after what decides about outcomes was changed."""

    def __init__(self, folder: Path, store: Store) -> None:
        super().__init__(folder, store)
        self.source = small_catalog()
        self.os_build = "debian-12"
        self.ceiling_s: Callable[[Device], float] = ceiling_s
        self.every = [self.lanes]
        self.loader.make_worker = WideWorker
        self.ledger = ledger_for(SimpleNamespace(), "machine")  # type: ignore[arg-type]
        self.aliases = AliasTable(store, self.clock, Detached())
        self.restart()

    def restart(self) -> None:
        catalog = self.source.parsed()
        outcomes = StoredSelfChecks(self.store, self.clock)
        self.profiles = Profiles.read(catalog)
        self.self_checks = SelfChecks(
            outcomes, self.leases, self.os_build, outcomes.load_all(), catalog.resource, self.ceiling_s
        )
        records = StoredLanes(self.store, self.clock)
        lanes = LaneRegistry(records, self._make, catalog=no_catalog(), leases=self.leases, cpu_lanes=lambda: True)
        lanes.restore(records.load_all())
        self.every.append(lanes)
        self.lanes = self.onboarding._lanes = lanes

    def _make(self, registration: Registration, quarantined: str | None) -> Lane:
        manifest = registration.manifest
        check = None
        if manifest.profile is not None:
            model = registration.lane_model("build-1")
            check = self.self_checks.of_profile(manifest.profile, self.profiles, model, manifest.digest)
        return make_lane(self.loader, self.clock, registration, quarantined=quarantined, self_check=check)

    @property
    def computed(self) -> int:
        """How many calls workers were asked for."""
        return sum(len(worker.calls) for worker in self.loader.workers)

    def choose(self, model: str = "m") -> Lane:
        choice = LaneChoice(lanes=self.lanes, certifications=self.ledger, aliases=self.aliases)
        return choice.choose(model, "embed", Constraints())

    def refused(self, model: str = "m") -> SynapseError:
        with pytest.raises(SynapseError) as caught:
            self.choose(model)
        return caught.value

    def row(self) -> dict[str, Any]:
        batch = RecommendedBatch(rows=1, token_budget=1)
        return dict(msgspec.to_builtins(model_row(self.lanes.get("m"), self.ledger, batch, False, [])))

    def stored(self) -> list[tuple[Any, ...]]:
        columns = (SelfCheck.catalog_id, SelfCheck.backend, SelfCheck.state, SelfCheck.reason)
        return self.store.read_sync(lambda: list(SelfCheck.select(*columns).order_by(SelfCheck.checked_ms).tuples()))


@pytest.fixture
async def desk(quick_dir: Path) -> AsyncIterator[Desk]:
    store = Store.open(quick_dir / "synapse.db", FakeClock())
    desk = Desk(quick_dir, store)
    yield desk
    await desk.book.close()
    for lanes in desk.every:
        await lanes.close()
    await store.close()


def failure(status: JobStatus) -> dict[str, Any]:
    assert status.state == "failed"
    assert not isinstance(status.error, msgspec.UnsetType)
    return status.error


async def test_a_model_that_gives_the_right_numbers_serves_without_a_probe(desk: Desk) -> None:
    assert (await desk.load(profile="tiny.cpu")).state == "done"
    assert desk.choose() is desk.lanes.get("m")
    assert desk.stored() == [("tiny.cpu", "cpu", "passed", None)]
    row = desk.row()
    assert (row["self_check"]["state"], row["self_check"]["evidence"]["cases"]) == ("passed", 2)
    assert (row["certified"], "serving_admission" in row) == (True, False)
    await desk.lanes.get("m").unload()
    await desk.lanes.get("m").ensure_ready()
    desk.restart()
    assert desk.choose() is desk.lanes.get("m")
    await desk.lanes.get("m").ensure_ready()
    assert desk.computed == 1


async def test_without_a_profile_the_probe_gate_stays(desk: Desk) -> None:
    assert (await desk.load()).state == "done"
    error = desk.refused()
    assert (error.code, error.details) == ("probe_required", {"model_id": "m"})
    assert (desk.row()["self_check"], desk.computed) == ({"state": "not_applicable"}, 0)


async def test_wrong_numbers_refuse_for_good_and_name_the_profile(
    desk: Desk, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("self_check_failed")
    desk.source = small_catalog(wrong="boundary-127")
    desk.restart()
    details = {"profile": "tiny.cpu", "reason": "cosine_too_low"}
    error = failure(await desk.load(profile="tiny.cpu"))
    assert (error["code"], error["class"], error["safe_to_retry_same_request"]) == (
        "self_check_failed",
        "permanent",
        False,
    )
    assert error["details"] == details
    assert "tiny.cpu" in error["message"]
    assert desk.stored() == [("tiny.cpu", "cpu", "failed", "cosine_too_low")]
    refusal = desk.refused()
    assert (refusal.code, refusal.details) == ("self_check_failed", details)
    assert (desk.row()["state"], desk.row()["self_check"]["state"], desk.row()["certified"]) == (
        "unloaded",
        "failed",
        False,
    )
    loads = desk.loader.loads
    # Neither the same manifest again nor another process computes anything.
    assert failure(await desk.load(profile="tiny.cpu"))["details"] == details
    desk.restart()
    assert desk.refused().details == details
    assert failure(await desk.load(profile="tiny.cpu"))["details"] == details
    with pytest.raises(SynapseError) as loaded:
        await desk.lanes.get("m").ensure_ready()
    assert loaded.value.details == details
    assert (desk.loader.loads, desk.computed) == (loads, 1)


async def test_a_failure_stays_with_the_numbers_not_with_the_id(
    desk: Desk, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("self_check_failed")
    desk.source = small_catalog(wrong="short-0")
    desk.restart()
    failure(await desk.load(profile="tiny.cpu"))
    # Each of these is another key, so each is computed; the first again is not.
    for computed, changes in enumerate(({"max_tokens": 256}, {"overlength": "truncate"}, {}), start=2):
        failure(await desk.load(profile="tiny.cpu", **changes))
        assert desk.computed == min(computed, 3)
    desk.os_build = "debian-13"
    desk.restart()
    failure(await desk.load(profile="tiny.cpu"))
    assert desk.computed == 4
    desk.source = small_catalog()
    desk.restart()
    assert (await desk.load(profile="tiny.cpu")).state == "done"
    assert desk.computed == 5


async def test_a_failed_replacement_leaves_the_model_that_served(
    desk: Desk, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("self_check_failed")
    assert (await desk.load(profile="tiny.cpu")).state == "done"
    served = desk.lanes.get("m")
    await served.unload()
    desk.loader.make_worker = Negated
    error = failure(await desk.load(profile="tiny.cpu", max_tokens=256))
    assert error["code"] == "self_check_failed"
    assert desk.lanes.get("m") is served
    assert desk.choose() is served


class Negated(WideWorker):
    """A stub whose vectors point the other way."""

    async def embed(self, lengths: Sequence[int], ids: bytes, encoding: str, **_: Any) -> EmbeddedRows:
        answer = await super().embed(lengths, ids, encoding)
        return EmbeddedRows(
            [bytes(b ^ (0x80 if at % 4 == 3 else 0) for at, b in enumerate(row)) for row in answer.rows], (), 0.1
        )


async def test_a_profile_without_a_reference_refuses_before_a_worker_exists(desk: Desk) -> None:
    error = failure(await desk.load(profile="large.cpu"))
    assert (error["code"], error["details"]) == (
        "self_check_failed",
        {"profile": "large.cpu", "reason": "reference_absent"},
    )
    assert desk.loader.loads == 0
    assert desk.refused().details == error["details"]
    assert desk.stored() == []


@pytest.mark.parametrize(
    "changes",
    [
        {"composition": {"form": "single", "prefix_ids": [4], "suffix_ids": [3]}},
        {"composition": {"form": "single", "prefix_ids": [2], "suffix_ids": []}},
    ],
)
async def test_cases_for_rows_that_are_composed_in_another_way_prove_nothing(
    desk: Desk, changes: dict[str, Any], expected_warnings: ExpectedWarnings
) -> None:
    """Red without the comparison of compositions: the cases are ids, and say nothing about how texts become ids."""
    expected_warnings("self_check_unusable")
    desk.source.entries[0]["numerics"] |= changes
    desk.restart()
    error = failure(await desk.load(profile="tiny.cpu"))
    assert error["details"] == {"profile": "tiny.cpu", "reason": "identity_differs"}
    assert desk.computed == 0


async def test_a_subset_that_was_tampered_with_refuses_once_and_for_the_life_of_the_process(
    desk: Desk, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("self_check_unusable")
    desk.source.figures["tiny"]["cases"][0]["ids"][1] += 1
    error = failure(await desk.load(profile="tiny.cpu"))
    assert error["details"] == {"profile": "tiny.cpu", "reason": "seal_invalid"}
    loads = desk.loader.loads
    assert desk.refused().details == error["details"]
    with pytest.raises(SynapseError):
        await desk.lanes.get("m").ensure_ready()
    assert desk.loader.loads == loads
    # Nothing is held against the model: the release was damaged.
    assert desk.stored() == []
    desk.source.figures["tiny"]["cases"][0]["ids"][1] -= 1
    desk.restart()
    assert (await desk.load(profile="tiny.cpu")).state == "done"


class Silent(WideWorker):
    """A stub that never answers."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = asyncio.Event()


async def test_a_check_that_does_not_end_is_no_outcome(desk: Desk) -> None:
    desk.ceiling_s = lambda backend: 0.01
    desk.restart()
    desk.loader.make_worker = Silent
    error = failure(await desk.load(profile="tiny.cpu"))
    assert (error["code"], error["details"]) == ("engine_crashed", {"lane_id": "m", "reason": "self_check_ceiling"})
    assert (desk.stored(), desk.rows()) == ([], [])
    desk.loader.make_worker = WideWorker
    assert (await desk.load(profile="tiny.cpu")).state == "done"


def test_engines_and_profiles_speak_of_the_same_kinds_of_device() -> None:
    assert {profile.rpartition(".")[2] for profile in SIXTEEN} == set(BACKENDS.values()) - {"cpu"}
