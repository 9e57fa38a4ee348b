"""Collection: nothing goes that anybody needs, everything else does, and a failure in the middle changes nothing."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from fixtures.catalog import path_of, some_bytes
from fixtures.download_desk import DownloadDesk, digest, download_desk
from fixtures.expected_warnings import ExpectedWarnings
from synapse_service.catalog.blobs import BlobStore
from synapse_service.catalog.installs import erase_installs
from synapse_service.catalog.pins import pins_of, set_pins
from synapse_service.catalog.roots import LaneFiles
from synapse_service.catalog.usage import usage
from synapse_service.store.errors import StoreError
from synapse_service.store.models import DownloadBlob, Job, Model, ModelFile
from synapse_wire.errors import SynapseError
from synapse_wire.results import BlobHolder, ModelPin, ModelUsage


@pytest.fixture
async def desk(quick_dir: Path) -> AsyncIterator[DownloadDesk]:
    async with download_desk(quick_dir) as desk:
        yield desk


def put(desk: DownloadDesk, seed: str, size: int = 1000) -> str:
    """Store a file; its digest."""
    writer = desk.blobs.writer()
    writer.write(some_bytes(seed, size))
    return writer.publish(seed, None).sha256


def register(desk: DownloadDesk, model_id: str, *digests: str) -> None:
    """Rows of a free-form model with these files."""

    def step() -> None:
        Model.create(
            model_id=model_id,
            task="embed",
            engine="owned-cpu",
            manifest="{}",
            model_digest="",
            tokenizer_digest="",
            fingerprint="",
            profile="{}",
            created_ms=0,
        )
        for position, sha256 in enumerate(digests):
            ModelFile.create(model=model_id, role="model", position=position, sha256=sha256, size=1, name="m")

    desk.store.write_sync(step)


def ended_process() -> int:
    """The id of a process that has just ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        return ended.pid


async def collected(desk: DownloadDesk) -> tuple[set[str], int]:
    found, _ = await desk.collector.collect()
    return set(found.digests), found.freed_bytes


async def test_files_that_nobody_needs_go_and_their_bytes_are_counted(desk: DownloadDesk) -> None:
    await desk.download("alpha")
    loose = {put(desk, "one", 1000), put(desk, "two", 2000)}
    assert await collected(desk) == (loose, 3000)
    assert desk.stored() == desk.files("alpha")
    assert await collected(desk) == (set(), 0)
    assert desk.left_over() == []


async def test_what_a_dead_worker_was_unpacking_goes_and_what_a_living_one_is_stays(desk: DownloadDesk) -> None:
    folders = {pid: desk.blobs.packages / f".unpacking-{pid}-abc" for pid in (ended_process(), os.getpid())}
    for folder in folders.values():
        (folder / "model.mlmodelc").mkdir(parents=True)
        (folder / "model.mlmodelc" / "model.mil").write_bytes(bytes(1000))
    assert (await desk.collector.survey()).reclaimable_bytes == 1000
    assert await collected(desk) == (set(), 1000)
    assert list(desk.blobs.packages.iterdir()) == [folders[os.getpid()]]
    assert (await desk.collector.survey()).reclaimable_bytes == 0


@pytest.mark.parametrize("kind", ["registration", "install", "pin", "loaded", "job"])
async def test_a_file_stays_for_each_kind_of_holder_which_is_named(desk: DownloadDesk, kind: str) -> None:
    kept = put(desk, "kept")
    if kind == "registration":
        register(desk, "mine", kept)
        holder = BlobHolder(kind=kind, model_id="mine")
    elif kind == "install":
        await desk.download("alpha")
        kept = desk.small.digests("alpha")["model"]
        holder = BlobHolder(kind=kind, catalog_id="alpha")
    elif kind == "pin":
        desk.store.write_sync(lambda: set_pins("somebody else", "mine", [kept]))
        holder = BlobHolder(kind=kind, owner="somebody else")
    elif kind == "loaded":
        desk.lanes.append(LaneFiles("lane", frozenset([kept])))
        holder = BlobHolder(kind=kind, model_id="lane")
    else:
        holder = BlobHolder(kind=kind, job_id="j")
        desk.blobs.leases.take(holder, [kept])
    found, survey = await desk.collector.collect()
    assert kept not in found.digests
    assert desk.blobs.find(kept) is not None
    assert survey.holders[kept] == [holder]


async def test_the_files_of_a_running_download_stay_also_those_that_were_here_before(desk: DownloadDesk) -> None:
    config = desk.small.contents["alpha"]["config"]
    writer = desk.blobs.writer()
    writer.write(config)
    writer.publish("config.json", None)
    gate = desk.mirror.hold(path_of("alpha", "model"))
    job_id = (await desk.start("alpha")).job_id
    await desk.until_state(job_id, "downloading")
    found, survey = await desk.collector.collect()
    assert found.digests == ()
    assert survey.holders[digest(config)] == [BlobHolder(kind="job", job_id=job_id)]
    gate.set()
    assert (await desk.end(job_id)).state == "committed"


async def test_corrupt_files_that_are_kept_aside_go_too(desk: DownloadDesk) -> None:
    sha256 = put(desk, "one")
    desk.blobs.path(sha256).write_bytes(b"corrupt")
    with pytest.raises(Exception, match="one has SHA-256"):
        desk.blobs.verify(sha256, 1000, "one")
    desk.blobs.quarantine(sha256)
    survey = await desk.collector.survey()
    assert (survey.quarantined, survey.unneeded) == ({sha256: 7}, {})
    assert await collected(desk) == ({sha256}, 7)


async def test_links_and_folders_in_the_store_are_left_alone(desk: DownloadDesk, tmp_path: Path) -> None:
    outside = tmp_path / "precious"
    outside.write_bytes(b"x")
    link, folder = desk.blobs.path("a" * 64), desk.blobs.path("b" * 64)
    link.symlink_to(outside)
    folder.mkdir()
    assert await collected(desk) == (set(), 0)
    assert (link.is_symlink(), folder.is_dir(), outside.exists()) == (True, True, True)


async def test_a_removal_whose_commit_fails_puts_the_files_back(
    desk: DownloadDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Goes red without `restore` in `remove`: installed files would be gone.
    await desk.download("alpha")
    write = desk.store.write

    async def write_and_fail(fn: Any) -> Any:
        def failing() -> Any:
            fn()
            raise StoreError("storage_full", desk.store.path)

        return await write(failing)

    monkeypatch.setattr(desk.store, "write", write_and_fail)
    with pytest.raises(StoreError):
        await desk.collector.remove(
            lambda: (None, [sha256 for manifest in erase_installs("alpha") for sha256 in manifest.blobs])
        )
    assert (desk.stored(), desk.left_over()) == (desk.files("alpha"), [])
    assert len(desk.store.read_sync(lambda: list(Job.select()))) == 1


async def test_a_file_that_cannot_be_moved_changes_nothing(desk: DownloadDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    await desk.download("alpha")
    one = put(desk, "one")

    def refuse(store: BlobStore, sha256: str) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(BlobStore, "condemn", refuse)
    with pytest.raises(SynapseError) as caught:
        await desk.collector.collect()
    assert (caught.value.code, (caught.value.details or {})["reason"]) == ("store_failure", "read_only")
    assert desk.stored() == desk.files("alpha") | {one}


async def test_a_file_that_cannot_be_removed_is_not_counted_and_goes_at_the_next_start(
    desk: DownloadDesk, monkeypatch: pytest.MonkeyPatch, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("file_not_removed")
    put(desk, "one")

    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr(BlobStore, "destroy", refuse)
        found, _ = await desk.collector.collect()
    assert found.freed_bytes == 0
    assert len(desk.left_over()) == 1
    desk.collector.recover()
    assert desk.left_over() == []


# --- after a crash ---


async def test_a_start_puts_back_what_is_needed_and_removes_the_rest(desk: DownloadDesk) -> None:
    await desk.download("alpha")
    needed, loose = desk.small.digests("alpha")["model"], put(desk, "loose")
    assert desk.blobs.condemn(needed) is not None
    assert desk.blobs.condemn(loose) is not None
    desk.collector.recover()
    assert desk.stored() == desk.files("alpha")
    assert desk.left_over() == []


async def test_a_start_removes_what_a_download_had_published_unless_somebody_needs_it(desk: DownloadDesk) -> None:
    await desk.download("alpha")
    shared, fresh, other = desk.small.digests("alpha")["tokenizer"], put(desk, "fresh"), put(desk, "other")

    def crashed() -> None:
        Job.create(job_id="j", kind="models.download", state="verifying", module_generation=1, created_ms=0)
        for sha256 in (shared, fresh):
            DownloadBlob.create(job="j", sha256=sha256)

    desk.store.write_sync(crashed)
    desk.collector.recover()
    assert desk.stored() == desk.files("alpha") | {other}
    assert desk.rows()["blobs"] == []


# --- pins and usage ---


async def test_a_pin_belongs_to_an_owner_and_a_model(desk: DownloadDesk) -> None:
    def step() -> tuple[list[ModelPin], list[ModelPin]]:
        set_pins("me", "a", ["1" * 64, "2" * 64])
        set_pins("you", "a", ["1" * 64])
        set_pins("me", "b", ["2" * 64])
        set_pins("me", "a", [])
        return pins_of("a"), pins_of("b")

    assert desk.store.write_sync(step) == (
        [ModelPin(owner="you", blob="1" * 64)],
        [ModelPin(owner="me", blob="2" * 64)],
    )


async def test_usage_tells_what_is_shared_and_what_removing_gives_back(desk: DownloadDesk) -> None:
    await desk.download("alpha")
    await desk.download("beta")
    own = put(desk, "own", 500)
    alpha = desk.small.digests("alpha")
    register(desk, "mine", own, alpha["config"])
    desk.store.write_sync(lambda: set_pins("me", "alpha", [alpha["model"]]))
    sizes = {role: len(body) for role, body in desk.small.contents["alpha"].items()}
    total, tokenizer, config, model = sum(sizes.values()), sizes["tokenizer"], sizes["config"], sizes["model"]
    assert usage(await desk.collector.survey()) == [
        ModelUsage(
            catalog_id="alpha",
            used_bytes=total,
            shared_bytes=tokenizer + config,
            reclaimable_bytes=0,
            pinned=True,
        ),
        ModelUsage(
            catalog_id="beta",
            used_bytes=total,
            shared_bytes=tokenizer,
            reclaimable_bytes=model + config,
            pinned=False,
        ),
        ModelUsage(model_id="mine", used_bytes=500 + config, shared_bytes=config, reclaimable_bytes=500, pinned=False),
    ]


async def test_a_collection_that_nobody_waits_for_any_more_goes_on(desk: DownloadDesk) -> None:
    put(desk, "one")
    asking = asyncio.create_task(desk.detached.run(desk.collector.collect()))
    await asyncio.sleep(0)
    asking.cancel()
    await asyncio.wait([asking])
    await desk.detached.close()
    assert (desk.stored(), desk.left_over()) == (set(), [])
