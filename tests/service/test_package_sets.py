"""``model.load`` of package sets: one file a bucket, one identity for all, and what a worker is told of them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fixtures.certifications import ledger_for
from fixtures.clocks import FakeClock
from fixtures.onboarding_desk import OnboardingDesk
from fixtures.packages import sha256_of, write_package
from fixtures.service_process import file_manifest
from synapse_engines.coreml.build import ENGINE_BUILD
from synapse_service.lanes.fingerprint import model_digest
from synapse_service.lanes.lane import Lane
from synapse_service.lanes.model_rows import model_row
from synapse_service.lanes.package_sets import package_files
from synapse_service.store.database import Store
from synapse_service.store.models import ModelFile
from synapse_wire.results import JobStatus, RecommendedBatch

DIMS = 64


@pytest.fixture
async def desk(quick_dir: Path) -> AsyncIterator[OnboardingDesk]:
    store = Store.open(quick_dir / "synapse.db", FakeClock())
    desk = OnboardingDesk(quick_dir, store)
    yield desk
    await desk.book.close()
    await desk.lanes.close()
    await store.close()


def set_files(desk: OnboardingDesk, *packages: Path) -> dict[str, Any]:
    """The files of a manifest: the first package, and the others in order."""
    specs = [{"url": path.as_uri(), "sha256": sha256_of(path)} for path in packages]
    files = {role: file_manifest(desk.folder)[role] for role in ("config", "tokenizer")}
    return files | {"model": specs[0], "extra": specs[1:]}


def packages(desk: OnboardingDesk, *lengths: int, dims: int = DIMS) -> list[Path]:
    return [write_package(desk.folder, length, dims) for length in lengths]


async def load(desk: OnboardingDesk, *paths: Path, **changes: Any) -> JobStatus:
    return await desk.load(engine="ane", files=set_files(desk, *paths), **changes)


def failure(status: JobStatus) -> dict[str, Any]:
    assert status.state == "failed"
    assert not isinstance(status.error, msgspec.UnsetType)
    return status.error


def row(lane: Lane) -> dict[str, Any]:
    ledger = ledger_for(None, "machine")  # type: ignore[arg-type]
    return dict(msgspec.to_builtins(model_row(lane, ledger, RecommendedBatch(rows=1, token_budget=1), False, [])))


async def test_a_set_is_registered_with_every_file_and_the_buckets_that_its_packages_have(
    desk: OnboardingDesk,
) -> None:
    paths = packages(desk, 256, 128, 512)
    status = await load(desk, *paths)
    assert (status.state, status.items_done, status.items_total) == ("done", 7, 7)
    lane = desk.lanes.get("m")
    assert (lane.model.ladder, lane.model.max_tokens, lane.model.dims) == ((128, 256, 512), 512, DIMS)
    profile = lane.model.profile
    assert (profile.engine, profile.engine_build, profile.dtype) == ("ane", "build-1", "f16")
    assert profile.shape_envelope == "buckets(128,256,512):1-512"
    stored = desk.store.read_sync(lambda: [(each.role, each.position, each.sha256) for each in ModelFile.select()])
    assert stored[2:] == [
        ("model", 2, sha256_of(paths[0])),
        ("extra", 3, sha256_of(paths[1])),
        ("extra", 4, sha256_of(paths[2])),
    ]
    assert all(desk.blobs.find(sha256_of(path)) is not None for path in paths)


async def test_one_digest_over_the_ordered_roles_goes_into_the_fingerprint(desk: OnboardingDesk) -> None:
    first, second, third = packages(desk, 128, 256, 512)
    await load(desk, first, second, third, model_id="a")
    await load(desk, first, third, second, model_id="b")
    await load(desk, first, second, model_id="c")
    a, b, c = (desk.lanes.get(name).model for name in "abc")
    config = a.file("config").sha256
    roles = [("config", config), ("model", sha256_of(first)), ("extra", sha256_of(second)), ("extra", sha256_of(third))]
    assert a.model_digest == model_digest(roles)
    assert len({each.model_digest for each in (a, b, c)}) == 3
    assert len({each.fingerprint for each in (a, b, c)}) == 3


async def test_a_set_of_one_package_is_a_set(desk: OnboardingDesk) -> None:
    (path,) = packages(desk, 128)
    assert (await load(desk, path)).state == "done"
    assert desk.lanes.get("m").model.ladder == (128,)


async def test_the_row_shows_the_buckets_while_the_worker_enforces_them(desk: OnboardingDesk) -> None:
    await load(desk, *packages(desk, 128, 512), max_tokens=300)
    lane = desk.lanes.get("m")
    shown = row(lane)
    assert (shown["max_tokens"], shown["max_tokens_source"], shown["bucket_ladder"]) == (
        300,
        "worker_bucket",
        [128, 512],
    )
    assert (shown["device_class"], shown["dtype"]) == ("ane", "f16")
    await lane.unload()
    shown = row(lane)
    assert (shown["max_tokens_source"], "bucket_ladder" in shown) == ("catalog_unloaded", False)


async def test_the_worker_is_told_the_packages_in_the_order_of_the_manifest(desk: OnboardingDesk) -> None:
    paths = packages(desk, 256, 128)
    await load(desk, *paths)
    told = package_files(desk.lanes.get("m").model, desk.blobs)
    assert [(each.path, each.sha256) for each in told] == [
        (str(desk.blobs.path(sha256_of(path))), sha256_of(path)) for path in paths
    ]


@pytest.mark.parametrize(("max_tokens", "longest"), [(513, 512), (100_000, 512)])
async def test_a_limit_beyond_the_largest_package_is_refused_with_both_numbers(
    desk: OnboardingDesk, max_tokens: int, longest: int
) -> None:
    error = failure(await load(desk, *packages(desk, 128, 512), max_tokens=max_tokens))
    assert error["code"] == "invalid_request"
    assert error["details"] == {"field": "max_tokens", "max_tokens": max_tokens, "max_positions": longest}


async def test_a_package_that_repeats_a_bucket_is_refused_by_name_and_nothing_is_registered(
    desk: OnboardingDesk,
) -> None:
    first = write_package(desk.folder, 128)
    second = desk.folder / "again.zip"
    second.write_bytes(write_package(desk.folder, 128, DIMS, method="other").read_bytes())
    first = write_package(desk.folder, 128)
    error = failure(await load(desk, first, second))
    assert (error["code"], error["details"]) == (
        "artifact_invalid",
        {"model_id": "m", "file": "again.zip", "reason": "bad_package"},
    )
    assert (desk.rows(), desk.loader.loads) == ([], 0)


@pytest.mark.parametrize(
    ("body", "reason"), [(b"no archive", "bad_archive"), (b"PK\x05\x06" + bytes(18), "bad_archive")]
)
async def test_a_file_that_is_no_package_is_refused_by_name(desk: OnboardingDesk, body: bytes, reason: str) -> None:
    (first,) = packages(desk, 128)
    second = desk.folder / "second.zip"
    second.write_bytes(body)
    error = failure(await load(desk, first, second))
    assert error["details"] == {"model_id": "m", "file": "second.zip", "reason": reason}


async def test_every_package_is_held_to_its_own_digest(desk: OnboardingDesk) -> None:
    paths = packages(desk, 128, 256)
    files = set_files(desk, *paths)
    files["extra"][0]["sha256"] = "0" * 64
    error = failure(await desk.load(engine="ane", files=files))
    assert error["code"] == "artifact_invalid"
    assert (error["details"]["file"], error["details"]["expected_sha256"]) == (paths[1].name, "0" * 64)
    assert error["details"]["actual_sha256"] == sha256_of(paths[1])


def test_the_release_declares_which_build_opens_packages() -> None:
    assert ENGINE_BUILD == "coreml-9.0/f16-1"


# --- what was unpacked goes with its archive ---


async def test_what_was_unpacked_from_a_package_goes_when_the_package_does(desk: OnboardingDesk) -> None:
    (path,) = packages(desk, 128)
    blob = desk.blobs.adopt(path, None)
    unpacked = desk.blobs.packages / blob.sha256 / "model.mlmodelc"
    unpacked.mkdir(parents=True)
    (unpacked / "model.mil").write_bytes(bytes(1000))
    assert desk.blobs.sizes()[blob.sha256] == blob.size + 1000
    condemned = desk.blobs.condemn(blob.sha256)
    assert condemned is not None
    assert desk.blobs.destroy(condemned) == blob.size + 1000
    assert list(desk.blobs.packages.iterdir()) == []


async def test_at_start_only_what_belongs_to_a_stored_package_stays(desk: OnboardingDesk) -> None:
    (path,) = packages(desk, 128)
    blob = desk.blobs.adopt(path, None)
    for name in (blob.sha256, "0" * 64, ".unpacking-abc"):
        (desk.blobs.packages / name).mkdir()
        (desk.blobs.packages / name / "file").write_bytes(b"x")
    (desk.blobs.packages / ("1" * 64)).symlink_to(desk.folder)
    desk.blobs.prepare()
    assert [each.name for each in desk.blobs.packages.iterdir()] == [blob.sha256]
    assert (desk.folder / "config.json").is_file()
