"""Bringing a free-form model in: what is fetched, proven, refused, joined and replaced."""

from __future__ import annotations

import asyncio
import hashlib
import json
import shutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fixtures.clocks import FakeClock
from fixtures.lanes import until
from fixtures.model_files import tiny_model
from fixtures.onboarding_desk import OnboardingDesk
from fixtures.service_process import file_manifest
from synapse_engines.composition import Single
from synapse_service.lanes import model, onboarding
from synapse_service.store.database import Store
from synapse_wire.errors import SynapseError
from synapse_wire.results import JobStatus

POSITIONS = 2048
"""What the tiny model defines."""


@pytest.fixture
async def desk(quick_dir: Path) -> AsyncIterator[OnboardingDesk]:
    store = Store.open(quick_dir / "synapse.db", FakeClock())
    desk = OnboardingDesk(quick_dir, store)
    yield desk
    await desk.book.close()
    await desk.lanes.close()
    await store.close()


def failure(status: JobStatus) -> dict[str, Any]:
    assert status.state == "failed"
    assert not isinstance(status.error, msgspec.UnsetType)
    return status.error


async def test_a_model_is_registered_when_its_files_and_its_first_load_were_in_order(desk: OnboardingDesk) -> None:
    status = await desk.load(max_tokens=256)
    assert (status.kind, status.state, status.items_done, status.items_total) == ("model.load", "done", 5, 5)
    lane = desk.lanes.get("m")
    assert lane.state == "ready"
    assert (lane.model.family, lane.model.profile.pooling, lane.model.dims) == ("bert", "mean", 64)
    assert (lane.model.max_tokens, lane.model.vocab, lane.model.normalize) == (256, 512, True)
    assert lane.model.composition == Single(prefix_ids=(2,), suffix_ids=(3,))
    digests = {role: each["sha256"] for role, each in file_manifest(desk.folder).items()}
    assert {file.role: file.sha256 for file in lane.model.files} == digests
    assert all(desk.blobs.path(digest).stat().st_size for digest in digests.values())
    assert desk.rows() == ["m"]


async def test_without_a_limit_a_model_takes_what_it_defines(desk: OnboardingDesk) -> None:
    await desk.load()
    assert desk.lanes.get("m").model.max_tokens == POSITIONS


async def test_the_same_manifest_joins_the_load_that_runs(desk: OnboardingDesk) -> None:
    desk.loader.hold = asyncio.Event()
    first = await desk.start()
    assert await desk.start() is first
    await until(lambda: desk.loader.loads)
    assert await desk.start() is first
    desk.loader.hold.set()
    await until(lambda: not desk.book.live())
    assert desk.loader.loads == 1


async def test_the_same_manifest_again_finds_the_model_and_loads_it(desk: OnboardingDesk) -> None:
    await desk.load()
    lane = desk.lanes.get("m")
    assert (await desk.load()).state == "done"
    assert (desk.lanes.get("m"), desk.loader.loads) == (lane, 1)
    await lane.unload()
    assert (await desk.load()).state == "done"
    assert (desk.lanes.get("m"), lane.state, desk.loader.loads) == (lane, "ready", 2)


async def test_another_manifest_while_a_load_runs_is_refused_naming_its_job(desk: OnboardingDesk) -> None:
    desk.loader.hold = asyncio.Event()
    job = await desk.start()
    error = await desk.refusal(pooling="cls")
    assert (error.code, error.class_, error.level) == ("model_in_use", "permanent", "semantic")
    assert error.details == {"catalog_id": None, "holders": [{"kind": "job", "job_id": job.job_id}]}


async def test_another_manifest_under_an_id_that_is_held_is_refused_naming_the_holders(desk: OnboardingDesk) -> None:
    await desk.load()
    desk.leases.take("m")
    error = await desk.refusal(pooling="cls")
    loaded, request = {"kind": "loaded", "model_id": "m"}, {"kind": "request", "lease_id": "lease-1"}
    assert (error.code, error.details) == ("model_in_use", {"catalog_id": None, "holders": [loaded, request]})
    await desk.lanes.get("m").unload()
    error = await desk.refusal(pooling="cls")
    assert error.details == {"catalog_id": None, "holders": [request]}


async def test_an_unloaded_model_that_nobody_holds_is_replaced(desk: OnboardingDesk) -> None:
    await desk.load()
    old = desk.lanes.get("m")
    await old.unload()
    assert (await desk.load(pooling="cls")).state == "done"
    new = desk.lanes.get("m")
    assert new is not old
    assert new.model.profile.pooling == "cls"
    assert new.fingerprint != old.fingerprint


async def test_the_id_of_a_hidden_cpu_lane_is_not_given_away(desk: OnboardingDesk) -> None:
    await desk.load()
    await desk.lanes.get("m").unload()
    desk.cpu_lanes = False
    error = await desk.refusal(pooling="cls")
    assert (error.code, error.level, error.details) == ("invalid_request", "semantic", {"model_id": "m"})
    desk.cpu_lanes = True
    assert desk.lanes.get("m").model.profile.pooling == "mean"


async def test_a_file_with_another_digest_fails_the_job_and_registers_nothing(desk: OnboardingDesk) -> None:
    files = file_manifest(desk.folder)
    actual = files["tokenizer"]["sha256"]
    files["tokenizer"]["sha256"] = "0" * 64
    error = failure(await desk.load(files=files))
    assert error["code"] == "artifact_invalid"
    assert error["details"] == {
        "file": "tokenizer.json",
        "expected_sha256": "0" * 64,
        "actual_sha256": actual,
        "expected_size": None,
        "actual_size": (desk.folder / "tokenizer.json").stat().st_size,
        "recovery_op": "model.load",
    }
    assert (desk.lanes.visible(), desk.rows(), desk.loader.loads) == ([], [], 0)


async def test_truncated_weights_fail_the_job_before_anything_is_loaded(desk: OnboardingDesk) -> None:
    weights = desk.folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    error = failure(await desk.load())
    assert (error["code"], error["details"]) == (
        "artifact_invalid",
        {"model_id": "m", "file": "model.safetensors", "reason": "truncated"},
    )
    assert desk.loader.loads == 0


def rewrite(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    document = json.loads(path.read_bytes())
    change(document)
    path.write_text(json.dumps(document))


def end_before_each_candidate(processor: dict[str, Any], token_id: int) -> None:
    processor["special_tokens"]["end"] = {"id": "end", "ids": [token_id], "tokens": ["end"]}
    processor["pair"][2] = {"SpecialToken": {"id": "end", "type_id": 0}}


@pytest.mark.parametrize(
    ("change", "token_id"),
    [
        (lambda processor: end_before_each_candidate(processor, 512), 512),
        (lambda processor: end_before_each_candidate(processor, -1), -1),
        (lambda processor: processor["special_tokens"]["[CLS]"].update(ids=[-5]), -5),
        (lambda processor: processor["special_tokens"]["[SEP]"].update(ids=[2**40]), 2**40),
    ],
)
async def test_a_reranker_whose_frame_the_model_does_not_have_is_not_registered(
    desk: OnboardingDesk, change: Callable[[dict[str, Any]], object], token_id: int
) -> None:
    shutil.rmtree(desk.folder)
    shutil.copytree(tiny_model("modernbert-reranker"), desk.folder)
    rewrite(desk.folder / "tokenizer.json", lambda document: change(document["post_processor"]))
    error = failure(await desk.load(task="rerank"))
    assert (error["code"], error["details"]) == (
        "artifact_invalid",
        {"model_id": "m", "file": "tokenizer.json", "reason": "bad_tokenizer"},
    )
    assert f"the template needs the token {token_id}, the model has 512" in error["message"]
    assert (desk.rows(), desk.loader.loads) == ([], 0)


async def test_a_configuration_that_no_worker_can_be_sent_is_refused_by_name(desk: OnboardingDesk) -> None:
    rewrite(desk.folder / "config.json", lambda config: config.update(comment="\ud800"))
    error = failure(await desk.load())
    assert (error["code"], error["details"]) == (
        "artifact_invalid",
        {"model_id": "m", "file": "config.json", "reason": "bad_config"},
    )
    assert "surrogates not allowed" in error["message"]
    rewrite(desk.folder / "config.json", lambda config: config.update(comment="é", limit=10**30, other=float("nan")))
    assert (await desk.load()).state == "done"


async def test_a_tokenizer_larger_than_any_is_refused_before_it_is_read(
    desk: OnboardingDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = (desk.folder / "tokenizer.json").stat().st_size
    monkeypatch.setattr(model, "MAX_TOKENIZER_BYTES", size - 1)
    error = failure(await desk.load())
    assert (error["code"], error["details"]) == (
        "artifact_invalid",
        {"model_id": "m", "file": "tokenizer.json", "reason": "bad_tokenizer"},
    )
    assert f"it has {size} bytes, at most {size - 1} are read" in error["message"]
    monkeypatch.setattr(model, "MAX_TOKENIZER_BYTES", size)
    assert (await desk.load()).state == "done"


@pytest.mark.parametrize(
    ("max_tokens", "details"),
    [
        (POSITIONS + 1, {"field": "max_tokens", "max_tokens": POSITIONS + 1, "max_positions": POSITIONS}),
        (2, {"field": "max_tokens", "max_tokens": 2, "special_tokens": 2}),
        (1, {"field": "max_tokens", "max_tokens": 1, "special_tokens": 2}),
    ],
)
async def test_a_limit_that_the_model_can_not_have_is_refused_with_both_numbers(
    desk: OnboardingDesk, max_tokens: int, details: dict[str, Any]
) -> None:
    error = failure(await desk.load(max_tokens=max_tokens))
    assert (error["code"], error["details"]) == ("invalid_request", details)
    assert desk.rows() == []


async def test_a_limit_of_one_token_beside_the_special_ones_is_enough(desk: OnboardingDesk) -> None:
    assert (await desk.load(max_tokens=3)).state == "done"


async def test_a_disk_that_fails_while_the_files_are_looked_at_is_told_as_such(
    desk: OnboardingDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(onboarding, "examine", broken)
    error = failure(await desk.load())
    details = {"reason": "io_error", "path": str(desk.blobs.root)}
    assert (error["code"], error["details"]) == ("store_failure", details)
    assert desk.rows() == []


async def test_a_model_whose_first_load_fails_is_not_registered(desk: OnboardingDesk) -> None:
    details = {"lane_id": "m", "reason": "self_test"}
    desk.loader.errors.append(SynapseError("engine_crashed", "wrong numbers", details=details))
    error = failure(await desk.load())
    assert (error["code"], error["details"]) == ("engine_crashed", details)
    assert (desk.lanes.visible(), desk.rows()) == ([], [])
    # The files are there already, and a second try proves the model anew.
    assert (await desk.load()).state == "done"


async def test_a_failed_replacement_keeps_the_old_model(desk: OnboardingDesk) -> None:
    await desk.load()
    old = desk.lanes.get("m")
    await old.unload()
    details = {"lane_id": "m", "reason": "self_test"}
    desk.loader.errors.append(SynapseError("engine_crashed", "wrong numbers", details=details))
    failure(await desk.load(pooling="cls"))
    assert desk.lanes.get("m") is old
    await old.ensure_ready()


async def test_a_model_whose_files_changed_on_disk_is_registered_anew(desk: OnboardingDesk) -> None:
    files = {role: {"url": each["url"]} for role, each in file_manifest(desk.folder).items()}
    await desk.load(files=files)
    before = desk.lanes.get("m")
    config = desk.folder / "config.json"
    config.write_text(config.read_text() + "\n")
    assert (await desk.load(files=files)).state == "done"
    after = desk.lanes.get("m")
    assert after is not before
    assert after.model.file("config").sha256 == hashlib.sha256(config.read_bytes()).hexdigest()
    assert after.fingerprint != before.fingerprint
    await until(lambda: before.state == "unloaded")


async def test_stopping_during_the_first_load_leaves_no_worker_and_no_registration(desk: OnboardingDesk) -> None:
    desk.loader.hold = asyncio.Event()
    await desk.start()
    await until(lambda: desk.loader.loads)
    await desk.book.close()
    assert (desk.lanes.visible(), desk.rows(), desk.loader.workers) == ([], [], [])
