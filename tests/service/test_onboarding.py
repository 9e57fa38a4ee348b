"""Bringing a free-form model in: what is fetched, proven, refused, joined and replaced."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fixtures.clocks import FakeClock
from fixtures.lanes import StubLoader, make_lane, no_catalog, until
from fixtures.model_files import tiny_model
from fixtures.service_process import file_manifest
from synapse_engines.composition import Single
from synapse_service.admission.leases import LeaseBook
from synapse_service.catalog.blobs import BlobStore
from synapse_service.catalog.fetch import Fetcher
from synapse_service.catalog.http_body import BodyFetcher
from synapse_service.jobs.book import JobBook
from synapse_service.jobs.live import LiveJob
from synapse_service.lanes.lane import Lane
from synapse_service.lanes.manifest import Manifest, check
from synapse_service.lanes.onboarding import Onboarding
from synapse_service.lanes.records import StoredLanes
from synapse_service.lanes.registration import Registration
from synapse_service.lanes.registry import LaneRegistry
from synapse_service.store.database import Store
from synapse_service.store.models import Model
from synapse_wire.errors import SynapseError
from synapse_wire.params import ModelLoad
from synapse_wire.results import JobStatus

POSITIONS = 2048
"""What the tiny model defines."""


class Desk:
    """Everything behind ``model.load``, with a real store and lanes whose workers are stubs."""

    def __init__(self, folder: Path, store: Store) -> None:
        clock = FakeClock()
        jobs, leases = itertools.count(1), itertools.count(1)
        self.folder = folder / "model"
        shutil.copytree(tiny_model("bert"), self.folder)
        self.store = store
        self.loader = StubLoader()
        self.cpu_lanes = True
        self.leases = LeaseBook(lambda: f"lease-{next(leases)}")
        self.blobs = BlobStore(folder / "cache")
        self.blobs.prepare()
        self.lanes = LaneRegistry(
            StoredLanes(store, clock),
            self._make,
            catalog=no_catalog(),
            leases=self.leases,
            cpu_lanes=lambda: self.cpu_lanes,
        )
        self.book = JobBook(
            store,
            self.leases,
            clock=clock,
            new_id=lambda: f"job-{next(jobs)}",
            module_generation=1,
            retention_ms=lambda: 60_000,
            publish=lambda *_: None,
        )
        self.clock = clock
        self.onboarding = Onboarding(
            lanes=self.lanes,
            jobs=self.book,
            leases=self.leases,
            fetcher=Fetcher(self.blobs, BodyFetcher(self.blobs, proxy=lambda: None, ca_file=lambda: None, clock=clock)),
            blobs=self.blobs,
            hf_base_url=lambda: "https://huggingface.co",
        )

    def _make(self, registration: Registration, quarantined: str | None) -> Lane:
        return make_lane(self.loader, self.clock, registration, quarantined=quarantined)

    def manifest(self, model_id: str = "m", **changes: Any) -> Manifest:
        request = {
            "model_id": model_id,
            "task": "embed",
            "engine": "owned-cpu",
            "source": "file",
            "files": file_manifest(self.folder),
        }
        return check(msgspec.convert(request | changes, ModelLoad), cpu_lanes=True, reserved_ids=())

    async def start(self, **changes: Any) -> LiveJob:
        return await self.onboarding.start(self.manifest(**changes), "test")

    async def load(self, **changes: Any) -> JobStatus:
        job = await self.start(**changes)
        await until(lambda: job not in self.book.live())
        return await self.book.status(job.job_id)

    async def refusal(self, **changes: Any) -> SynapseError:
        with pytest.raises(SynapseError) as caught:
            await self.start(**changes)
        return caught.value

    def rows(self) -> list[str]:
        return self.store.read_sync(lambda: [row.model_id for row in Model.select()])


@pytest.fixture
async def desk(quick_dir: Path) -> AsyncIterator[Desk]:
    store = Store.open(quick_dir / "synapse.db", FakeClock())
    desk = Desk(quick_dir, store)
    yield desk
    await desk.book.close()
    await desk.lanes.close()
    await store.close()


def failure(status: JobStatus) -> dict[str, Any]:
    assert status.state == "failed"
    assert not isinstance(status.error, msgspec.UnsetType)
    return status.error


async def test_a_model_is_registered_when_its_files_and_its_first_load_were_in_order(desk: Desk) -> None:
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


async def test_without_a_limit_a_model_takes_what_it_defines(desk: Desk) -> None:
    await desk.load()
    assert desk.lanes.get("m").model.max_tokens == POSITIONS


async def test_the_same_manifest_joins_the_load_that_runs(desk: Desk) -> None:
    desk.loader.hold = asyncio.Event()
    first = await desk.start()
    assert await desk.start() is first
    await until(lambda: desk.loader.loads)
    assert await desk.start() is first
    desk.loader.hold.set()
    await until(lambda: not desk.book.live())
    assert desk.loader.loads == 1


async def test_the_same_manifest_again_finds_the_model_and_loads_it(desk: Desk) -> None:
    await desk.load()
    lane = desk.lanes.get("m")
    assert (await desk.load()).state == "done"
    assert (desk.lanes.get("m"), desk.loader.loads) == (lane, 1)
    await lane.unload()
    assert (await desk.load()).state == "done"
    assert (desk.lanes.get("m"), lane.state, desk.loader.loads) == (lane, "ready", 2)


async def test_another_manifest_while_a_load_runs_is_refused_naming_its_job(desk: Desk) -> None:
    desk.loader.hold = asyncio.Event()
    job = await desk.start()
    error = await desk.refusal(pooling="cls")
    assert (error.code, error.class_, error.level) == ("model_in_use", "permanent", "semantic")
    assert error.details == {"catalog_id": None, "holders": [{"kind": "job", "job_id": job.job_id}]}


async def test_another_manifest_under_an_id_that_is_held_is_refused_naming_the_holders(desk: Desk) -> None:
    await desk.load()
    desk.leases.take("m")
    error = await desk.refusal(pooling="cls")
    loaded, request = {"kind": "loaded", "model_id": "m"}, {"kind": "request", "lease_id": "lease-1"}
    assert (error.code, error.details) == ("model_in_use", {"catalog_id": None, "holders": [loaded, request]})
    await desk.lanes.get("m").unload()
    error = await desk.refusal(pooling="cls")
    assert error.details == {"catalog_id": None, "holders": [request]}


async def test_an_unloaded_model_that_nobody_holds_is_replaced(desk: Desk) -> None:
    await desk.load()
    old = desk.lanes.get("m")
    await old.unload()
    assert (await desk.load(pooling="cls")).state == "done"
    new = desk.lanes.get("m")
    assert new is not old
    assert new.model.profile.pooling == "cls"
    assert new.fingerprint != old.fingerprint


async def test_the_id_of_a_hidden_cpu_lane_is_not_given_away(desk: Desk) -> None:
    await desk.load()
    await desk.lanes.get("m").unload()
    desk.cpu_lanes = False
    error = await desk.refusal(pooling="cls")
    assert (error.code, error.level, error.details) == ("invalid_request", "semantic", {"model_id": "m"})
    desk.cpu_lanes = True
    assert desk.lanes.get("m").model.profile.pooling == "mean"


async def test_a_file_with_another_digest_fails_the_job_and_registers_nothing(desk: Desk) -> None:
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


async def test_truncated_weights_fail_the_job_before_anything_is_loaded(desk: Desk) -> None:
    weights = desk.folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    error = failure(await desk.load())
    assert (error["code"], error["details"]) == (
        "artifact_invalid",
        {"model_id": "m", "file": "model.safetensors", "reason": "truncated"},
    )
    assert desk.loader.loads == 0


@pytest.mark.parametrize(
    ("max_tokens", "details"),
    [
        (POSITIONS + 1, {"field": "max_tokens", "max_tokens": POSITIONS + 1, "max_positions": POSITIONS}),
        (2, {"field": "max_tokens", "max_tokens": 2, "special_tokens": 2}),
        (1, {"field": "max_tokens", "max_tokens": 1, "special_tokens": 2}),
    ],
)
async def test_a_limit_that_the_model_can_not_have_is_refused_with_both_numbers(
    desk: Desk, max_tokens: int, details: dict[str, Any]
) -> None:
    error = failure(await desk.load(max_tokens=max_tokens))
    assert (error["code"], error["details"]) == ("invalid_request", details)
    assert desk.rows() == []


async def test_a_limit_of_one_token_beside_the_special_ones_is_enough(desk: Desk) -> None:
    assert (await desk.load(max_tokens=3)).state == "done"


async def test_a_model_whose_first_load_fails_is_not_registered(desk: Desk) -> None:
    details = {"lane_id": "m", "reason": "self_test"}
    desk.loader.errors.append(SynapseError("engine_crashed", "wrong numbers", details=details))
    error = failure(await desk.load())
    assert (error["code"], error["details"]) == ("engine_crashed", details)
    assert (desk.lanes.visible(), desk.rows()) == ([], [])
    # The files are there already, and a second try proves the model anew.
    assert (await desk.load()).state == "done"


async def test_a_failed_replacement_keeps_the_old_model(desk: Desk) -> None:
    await desk.load()
    old = desk.lanes.get("m")
    await old.unload()
    details = {"lane_id": "m", "reason": "self_test"}
    desk.loader.errors.append(SynapseError("engine_crashed", "wrong numbers", details=details))
    failure(await desk.load(pooling="cls"))
    assert desk.lanes.get("m") is old
    await old.ensure_ready()


async def test_a_model_whose_files_changed_on_disk_is_registered_anew(desk: Desk) -> None:
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


async def test_stopping_during_the_first_load_leaves_no_worker_and_no_registration(desk: Desk) -> None:
    desk.loader.hold = asyncio.Event()
    await desk.start()
    await until(lambda: desk.loader.loads)
    await desk.book.close()
    assert (desk.lanes.visible(), desk.rows(), desk.loader.workers) == ([], [], [])
