"""Moving the models: refused while somebody holds them, proven on the way, taken back when it fails."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fixtures.expected_warnings import ExpectedWarnings
from fixtures.faulty_disks import small_disk
from fixtures.storage_desk import StorageDesk, files_in, storage_desk
from synapse_service.catalog import storage_files as files
from synapse_service.catalog import storage_records as records
from synapse_service.catalog.pins import set_pins
from synapse_service.catalog.store_marker import read_marker
from synapse_service.instance import lock_models
from synapse_service.store.errors import StoreError
from synapse_wire.errors import SynapseError
from synapse_wire.results import BlobHolder, Holder


@pytest.fixture
async def desk(quick_dir: Path) -> AsyncIterator[StorageDesk]:
    async with storage_desk(quick_dir) as desk:
        desk.install("alpha")
        desk.install("beta")
        yield desk


@pytest.fixture
def copying(monkeypatch: pytest.MonkeyPatch) -> None:
    """As between two file systems."""
    monkeypatch.setattr(files, "_may_link", lambda *_: False)


def listing(folder: Path) -> list[Path]:
    return list(folder.iterdir())


def everything(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*"))


async def refused(desk: StorageDesk, path: Path | None, mode: Any = "move") -> SynapseError:
    with pytest.raises(SynapseError) as caught:
        await desk.moves.start(None if path is None else str(path), mode)
    assert (desk.moves.live, desk.pending, desk.blobs.leases.closed) == (None, None, None)
    return caught.value


# --- moving ---


async def test_a_move_within_a_file_system_copies_no_byte(desk: StorageDesk, quick_dir: Path) -> None:
    inodes = {path.name: path.stat().st_ino for path in (desk.default / "blobs").iterdir()}
    store_id = desk.blobs.store_id
    ended = await desk.move(quick_dir / "disk")
    assert (ended.state, ended.files_done, ended.files_total) == ("done", 5, 5)
    assert ended.bytes_done == ended.bytes_total == sum(desk.blobs.sizes().values())
    assert {path.name: path.stat().st_ino for path in (quick_dir / "disk" / "blobs").iterdir()} == inodes
    assert read_marker(quick_dir / "disk") == store_id
    assert files_in(desk.default) == set()
    assert not (desk.default / "models.lock").exists()
    assert (desk.usable("alpha"), desk.usable("beta")) == (True, True)
    assert desk.settings.stored("storage_dir") == str(quick_dir / "disk")
    assert desk.told[-1].state == "ready"
    assert next(told.move.state for told in desk.told) == "bringing"


async def test_a_file_system_without_links_gets_copies(
    desk: StorageDesk, quick_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_right(*_: object) -> None:
        raise OSError(errno.EPERM, "A required privilege is not held by the client")

    monkeypatch.setattr(os, "link", no_right)
    monkeypatch.setattr(os, "symlink", no_right)
    inodes = {path.name: path.stat().st_ino for path in listing(desk.default / "blobs")}
    ended = await desk.move(quick_dir / "disk")
    assert (ended.state, ended.files_done) == ("done", 5)
    assert all(path.stat().st_ino != inodes[path.name] for path in listing(quick_dir / "disk" / "blobs"))
    assert (files_in(desk.default), desk.usable("alpha"), desk.usable("beta")) == (set(), True, True)


async def test_a_collection_that_began_before_a_move_ends_well(desk: StorageDesk, quick_dir: Path) -> None:
    collecting = asyncio.create_task(desk.collector.collect())
    await asyncio.sleep(0)
    await desk.moves.start(str(quick_dir / "disk"), "move")
    collected, survey = await collecting
    assert (collected.digests, set(survey.sizes)) == ((), desk.digests("alpha", "beta"))
    assert (await desk.settled()).state == "done"


async def test_a_move_to_another_file_system_and_back_to_the_usual_folder(
    desk: StorageDesk, tmp_path: Path, quick_dir: Path
) -> None:
    with small_disk(tmp_path / "mount", 40) as mount:
        disk = mount / "models"
        ended = await desk.move(disk)
        assert (ended.state, desk.storage.root) == ("done", disk)
        assert {path.name for path in (disk / "blobs").iterdir()} == desk.digests("alpha", "beta")
        assert files_in(desk.default) == set()
        assert desk.usable("alpha")
        back = await desk.move(None)
        assert (back.state, back.to_path, desk.storage.root) == ("done", str(desk.default), desk.default)
        assert files_in(disk) == set()
    assert desk.settings.stored("storage_dir") is None
    assert (desk.usable("alpha"), desk.usable("beta")) == (True, True)


async def test_other_files_of_the_old_folder_stay(desk: StorageDesk, quick_dir: Path) -> None:
    (desk.default / "notes.txt").write_text("mine")
    (desk.default / "blobs" / "notes.txt").write_text("mine, too")
    await desk.move(quick_dir / "disk")
    assert files_in(desk.default) == {"notes.txt", "blobs/notes.txt"}


async def test_what_was_unpacked_is_unpacked_again_where_it_is_needed(desk: StorageDesk, quick_dir: Path) -> None:
    model = desk.small.digests("alpha")["model"]
    for root, name in ((desk.default, "ours"), (quick_dir / "disk", "theirs")):
        unpacked = root / "packages" / model
        unpacked.mkdir(parents=True)
        (unpacked / name).write_text("a compiled graph")
    (quick_dir / "disk").chmod(0o700)
    (quick_dir / "disk" / "store.json").write_text(f'{{"format":1,"store_id":"{desk.blobs.store_id}"}}')
    assert (await desk.move(quick_dir / "disk")).state == "done"
    assert files_in(desk.default) == set()
    assert not (quick_dir / "disk" / "packages" / model).exists()
    assert desk.usable("alpha")


async def test_a_corrupt_file_is_not_copied_as_a_good_one(desk: StorageDesk, quick_dir: Path, copying: None) -> None:
    sha256 = desk.small.digests("alpha")["model"]
    size = desk.blobs.path(sha256).stat().st_size
    desk.blobs.path(sha256).write_bytes(bytes(size))
    ended = await desk.move(quick_dir / "disk")
    assert (ended.state, ended.corrupt) == ("done", [sha256])
    assert (quick_dir / "disk" / "quarantine" / sha256).read_bytes() == bytes(size)
    assert desk.blobs.find(sha256) is None
    await desk.detached.close()
    assert desk.installs.install_state(desk.entry("alpha")) == "not_installed"
    assert desk.usable("beta")


async def test_what_lies_in_the_new_folder_is_proven_before_it_counts(
    desk: StorageDesk, quick_dir: Path, copying: None
) -> None:
    good, bad = desk.small.digests("alpha")["model"], desk.small.digests("beta")["model"]
    blobs = quick_dir / "disk" / "blobs"
    blobs.mkdir(mode=0o700, parents=True)
    blobs.parent.chmod(0o700)
    shutil.copy(desk.blobs.path(good), blobs / good)
    inode = (blobs / good).stat().st_ino
    (blobs / bad).write_bytes(bytes(desk.blobs.path(bad).stat().st_size))
    ended = await desk.move(quick_dir / "disk")
    assert (ended.state, ended.corrupt) == ("done", [bad])
    assert (blobs / good).stat().st_ino == inode
    assert (desk.usable("alpha"), desk.usable("beta")) == (True, True)


@pytest.mark.parametrize("links", [True, False])
async def test_a_proven_file_of_the_new_folder_stands_for_one_that_is_damaged_in_the_old(
    desk: StorageDesk, quick_dir: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    monkeypatch.setattr(files, "_may_link", lambda *_: links)
    damaged, spoiled = desk.small.digests("alpha")["model"], desk.small.digests("beta")["model"]
    blobs = quick_dir / "disk" / "blobs"
    blobs.mkdir(mode=0o700, parents=True)
    blobs.parent.chmod(0o700)
    for sha256 in (damaged, spoiled):
        shutil.copy(desk.blobs.path(sha256), blobs / sha256)
    truncate(desk.blobs.path(damaged))
    truncate(blobs / spoiled)
    there = sum(path.stat().st_size for path in listing(blobs))
    brought = sum(size for sha256, size in desk.blobs.file_sizes().items() if sha256 != damaged)
    ended = await desk.move(quick_dir / "disk")
    assert (ended.state, ended.corrupt, ended.missing) == ("done", [spoiled], [])
    assert ended.bytes_done == ended.bytes_total == there + brought
    assert (files_in(desk.default), desk.usable("alpha"), desk.usable("beta")) == (set(), True, True)


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-5])


async def test_an_old_file_stays_while_the_new_one_is_not_proven(
    desk: StorageDesk, quick_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sha256, other = desk.small.digests("alpha")["model"], desk.small.digests("beta")["model"]
    sync_folder = files.sync_folder

    def spoil(folder: Path) -> None:
        sync_folder(folder)
        (folder / sha256).unlink()
        (folder / sha256).write_bytes(b"cut")

    monkeypatch.setattr(files, "sync_folder", spoil)
    assert (await desk.move(quick_dir / "disk")).state == "done"
    assert files_in(desk.default) == {f"blobs/{sha256}"}
    assert other in {path.name for path in listing(quick_dir / "disk" / "blobs")}


async def test_while_the_models_move_nobody_gets_a_file(
    desk: StorageDesk, quick_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []
    bring = files.bring

    def looking(*arguments: Any) -> None:
        for ask in (
            lambda: desk.blobs.leases.take(BlobHolder(kind="job", job_id="late")),
            desk.blobs.leases.using().__enter__,
        ):
            with pytest.raises(SynapseError) as caught:
                ask()
            seen.append((caught.value.code, caught.value.class_, caught.value.details))
        seen.append(desk.moves.status().state)
        bring(*arguments)

    monkeypatch.setattr(files, "bring", looking)
    await desk.move(quick_dir / "disk")
    refusal = ("store_failure", "transient", {"reason": "moving", "path": str(desk.default)})
    assert seen == [refusal, refusal, "moving"]
    desk.blobs.leases.take(BlobHolder(kind="job", job_id="later")).release()


async def test_a_move_waits_for_those_who_are_about_to_end(desk: StorageDesk, quick_dir: Path) -> None:
    with desk.blobs.leases.using():
        asking = asyncio.create_task(desk.moves.start(str(quick_dir / "disk"), "move"))
        await asyncio.sleep(0.05)
        assert not asking.done()
        assert not (quick_dir / "disk").exists()
    await asking
    assert (await desk.settled()).state == "done"


async def test_an_old_folder_that_can_not_be_emptied_leaves_the_models_in_the_new_one(
    desk: StorageDesk, quick_dir: Path, monkeypatch: pytest.MonkeyPatch, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("old_folder_not_cleared")

    def read_only(path: Path) -> int:
        raise OSError(errno.EROFS, "Read-only file system", str(path))

    monkeypatch.setattr(files, "unlink", read_only)
    ended = await desk.move(quick_dir / "disk")
    assert (ended.state, desk.storage.root, desk.pending) == ("done", quick_dir / "disk", None)
    assert isinstance(ended.error, dict)
    assert "Read-only file system" in ended.error["message"]
    assert (desk.usable("alpha"), desk.usable("beta")) == (True, True)
    # What is left is no store, and nobody has it locked.
    assert read_marker(desk.default) is None
    lock_models(desk.default).release()


# --- refusals ---


async def test_holders_are_named_and_nothing_moves(desk: StorageDesk, quick_dir: Path) -> None:
    desk.holders = [Holder(kind="loaded", model_id="alpha-cpu"), Holder(kind="job", job_id="job-1")]
    error = await refused(desk, quick_dir / "disk")
    assert (error.code, error.details) == (
        "model_in_use",
        {
            "catalog_id": None,
            "holders": [{"kind": "loaded", "model_id": "alpha-cpu"}, {"kind": "job", "job_id": "job-1"}],
        },
    )
    assert not (quick_dir / "disk").exists()


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("cache", "same"),
        ("alias", "same"),
        ("cache/inside", "nested"),
        (".", "nested"),
        ("gone/disk", "missing"),
        ("file", "unusable"),
        ("open", "unusable"),
        ("foreign", "foreign"),
        ("store", "another_store"),
        ("loop", "unusable"),
        ("loop/disk", "missing"),
        ("n" * 300, "unusable"),
    ],
)
async def test_a_folder_that_will_not_do_is_refused_before_the_first_byte(
    desk: StorageDesk, quick_dir: Path, path: str, reason: str
) -> None:
    (quick_dir / "file").write_text("x")
    (quick_dir / "alias").symlink_to(desk.default)
    (quick_dir / "loop").symlink_to(quick_dir / "loop")
    (quick_dir / "open").mkdir()
    (quick_dir / "open").chmod(0o755)
    (quick_dir / "foreign" / "staging" / "mine").mkdir(parents=True)
    (quick_dir / "foreign").chmod(0o700)
    (quick_dir / "store").mkdir(mode=0o700)
    (quick_dir / "store" / "store.json").write_text('{"format":1,"store_id":"other"}')
    target = quick_dir / path
    before = everything(quick_dir)
    error = await refused(desk, target)
    assert (error.code, error.level) == ("invalid_request", "semantic")
    assert error.details == {"field": "path", "path": str(target), "reason": reason}
    assert everything(quick_dir) == before
    assert desk.usable("alpha")


async def test_models_leave_a_folder_that_leads_nowhere(quick_dir: Path, expected_warnings: ExpectedWarnings) -> None:
    expected_warnings("models_unavailable")
    (quick_dir / "loop").symlink_to(quick_dir / "loop")
    (quick_dir / "disk").mkdir(mode=0o700)
    (quick_dir / "config.toml").write_text(f'storage_dir = "{quick_dir / "loop"}"\n')
    async with storage_desk(quick_dir) as desk:
        assert desk.storage.problem is not None
        assert (await desk.move(quick_dir / "disk", "adopt")).state == "done"
        assert desk.storage.problem is None


async def test_a_disk_that_answers_only_with_errors_is_one_that_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(path: Path) -> bool:
        raise OSError(errno.EIO, "Input/output error", str(path))

    fault = OSError(errno.EIO, "Input/output error", str(tmp_path / "blobs"))
    monkeypatch.setattr(Path, "is_dir", failing)
    assert files.refusal(fault, tmp_path).details == {"reason": "io_error", "path": str(tmp_path)}


async def test_a_relative_path_is_a_wrong_parameter(desk: StorageDesk) -> None:
    error = await refused(desk, Path("models"))
    assert (error.code, error.level, error.details) == ("invalid_request", "channel", {"field": "path"})


async def test_a_folder_that_the_environment_fixes_is_not_moved(quick_dir: Path) -> None:
    (quick_dir / "fixed").mkdir(mode=0o700)
    async with storage_desk(quick_dir, environ={"SYNAPSE_STORAGE_DIR": str(quick_dir / "fixed")}) as desk:
        error = await refused(desk, quick_dir / "disk")
    assert error.details == {"setting": "storage_dir", "source": "env"}


async def test_a_folder_that_another_service_uses_is_refused(desk: StorageDesk, quick_dir: Path) -> None:
    (quick_dir / "disk").mkdir(mode=0o700)
    lock = lock_models(quick_dir / "disk")
    error = await refused(desk, quick_dir / "disk")
    lock.release()
    assert error.details == {"field": "path", "path": str(quick_dir / "disk"), "reason": "in_use"}
    assert files_in(quick_dir / "disk") == set()


async def test_a_disk_that_is_too_small_is_refused_with_both_numbers(desk: StorageDesk, tmp_path: Path) -> None:
    with small_disk(tmp_path / "mount", 8) as mount:
        error = await refused(desk, mount / "models")
        assert list(mount.iterdir()) == []
    assert (error.code, error.details) == ("store_failure", {"reason": "storage_full", "path": str(mount / "models")})
    assert "the models need 0 MiB and" in error.message
    assert desk.usable("alpha")


async def test_a_second_move_is_refused_while_one_is_under_way(
    desk: StorageDesk, quick_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bring, refusals = files.bring, []
    loop = asyncio.get_running_loop()

    def asking(*arguments: Any) -> None:
        second = asyncio.run_coroutine_threadsafe(desk.moves.start(str(quick_dir / "other"), "move"), loop)
        refusals.append(second.exception(10))
        bring(*arguments)

    monkeypatch.setattr(files, "bring", asking)
    await desk.move(quick_dir / "disk")
    (refusal,) = refusals
    assert isinstance(refusal, SynapseError)
    assert (refusal.code, refusal.details) == ("invalid_request", {"reason": "moving"})


# --- failing, and being cancelled ---


async def test_a_disk_that_fills_up_on_the_way_is_given_back(
    desk: StorageDesk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("move_failed")
    with small_disk(tmp_path / "mount", 40) as mount:
        # From outside, after the look at the free space.
        monkeypatch.setattr(files, "prove", lambda *_: _fill(mount))
        ended = await desk.move(mount / "models")
        assert ended.state == "failed"
        assert isinstance(ended.error, dict)
        assert (ended.error["code"], ended.error["details"]) == (
            "store_failure",
            {"reason": "storage_full", "path": str(mount / "models")},
        )
        assert [path.name for path in mount.iterdir()] == ["filler"]
    assert (desk.storage.root, desk.pending, desk.moves.status().state) == (desk.default, None, "ready")
    assert (desk.usable("alpha"), desk.usable("beta")) == (True, True)
    assert desk.settings.stored("storage_dir") is None


def _fill(mount: Path) -> None:
    free = shutil.disk_usage(mount).free
    with (mount / "filler").open("wb") as filler:
        filler.write(bytes(free - 8192))


async def test_a_disk_that_gives_back_other_bytes_is_noticed(
    desk: StorageDesk,
    quick_dir: Path,
    copying: None,
    monkeypatch: pytest.MonkeyPatch,
    expected_warnings: ExpectedWarnings,
) -> None:
    expected_warnings("move_failed")

    def spoil(path: Path) -> None:
        path.write_bytes(bytes(path.stat().st_size))

    monkeypatch.setattr(files, "_forget_cached", spoil)
    ended = await desk.move(quick_dir / "disk")
    assert ended.state == "failed"
    assert isinstance(ended.error, dict)
    assert ended.error["details"] == {"reason": "io_error", "path": str(quick_dir / "disk")}
    assert not (quick_dir / "disk").exists()
    assert desk.usable("alpha")


async def test_a_setting_that_can_not_be_written_takes_the_move_back(
    desk: StorageDesk, quick_dir: Path, monkeypatch: pytest.MonkeyPatch, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("move_failed")
    (quick_dir / "disk" / "blobs").mkdir(parents=True)
    (quick_dir / "disk").chmod(0o700)
    (quick_dir / "disk" / "blobs" / "theirs").write_text("x")

    def full(values: Any) -> None:
        raise SynapseError("store_failure", "the disk is full", details={"reason": "storage_full"})

    monkeypatch.setattr(desk.settings, "set", full)
    ended = await desk.move(quick_dir / "disk")
    assert (ended.state, ended.error["message"] if isinstance(ended.error, dict) else None) == (
        "failed",
        "the disk is full",
    )
    assert files_in(quick_dir / "disk") == {"blobs/theirs"}
    assert (desk.storage.root, desk.usable("alpha"), desk.pending) == (desk.default, True, None)


async def test_a_setting_that_was_written_although_the_disk_complained_counts(
    desk: StorageDesk, quick_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = desk.settings.set

    def complaining(values: Any) -> None:
        put(values)
        raise SynapseError("store_failure", "the folder can't be flushed", details={"reason": "io_error"})

    monkeypatch.setattr(desk.settings, "set", complaining)
    assert (await desk.move(quick_dir / "disk")).state == "done"
    assert desk.storage.root == quick_dir / "disk"
    assert desk.usable("alpha")


async def test_a_place_that_can_not_be_recorded_is_recorded_by_the_next_start(
    quick_dir: Path, monkeypatch: pytest.MonkeyPatch, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("move_not_recorded")
    async with storage_desk(quick_dir) as desk:
        desk.install("alpha")

        def full(*_: object) -> None:
            raise StoreError("storage_full", desk.store.path)

        with monkeypatch.context() as patch:
            patch.setattr(records, "remember_store", full)
            ended = await desk.move(quick_dir / "disk")
        assert isinstance(ended.error, dict)
        assert (ended.state, ended.error["code"], desk.pending) == ("done", "store_failure", "switching")
        assert (desk.storage.root, desk.usable("alpha")) == (quick_dir / "disk", True)
        assert len(files_in(desk.default)) == 4
    async with storage_desk(quick_dir) as again:
        assert ((await again.settled()).state, again.pending, files_in(again.default)) == ("done", None, set())
        assert again.usable("alpha")


async def test_a_cancelled_move_leaves_everything_as_it_was(
    desk: StorageDesk, quick_dir: Path, copying: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied, loop = files._copied, asyncio.get_running_loop()
    cancelling: list[Any] = []

    def then_cancel(*arguments: Any) -> bool:
        done = copied(*arguments)
        if not cancelling:
            cancelling.append(asyncio.run_coroutine_threadsafe(desk.moves.cancel(), loop))
            assert desk.moves.latest is not None
            desk.moves.latest.stop.wait(10)
        return done

    monkeypatch.setattr(files, "_copied", then_cancel)
    ended = await desk.move(quick_dir / "disk")
    answered = await asyncio.wrap_future(cancelling[0])
    assert (ended.state, answered.state) == ("cancelled", "cancelled")
    assert not (quick_dir / "disk").exists()
    assert (desk.usable("alpha"), desk.pending, desk.moves.status().state) == (True, None, "ready")
    with pytest.raises(SynapseError) as caught:
        await desk.moves.cancel()
    assert caught.value.details == {"reason": "no_move"}


async def test_a_service_that_stops_in_a_move_goes_on_with_it_at_its_next_start(
    quick_dir: Path, copying: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = StorageDesk(quick_dir)
    desk.boot()
    desk.install("alpha")
    copied = files._copied

    def then_stop(*arguments: Any) -> bool:
        assert desk.moves.latest is not None
        desk.moves.latest.stop.set()
        return copied(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(files, "_copied", then_stop)
        await desk.moves.start(str(quick_dir / "disk"), "move")
        await desk.close()
    again = StorageDesk(quick_dir)
    assert again.pending == "bringing"
    again.boot()
    assert again.moves.status().state == "moving"
    assert (await again.settled()).state == "done"
    assert again.usable("alpha")
    await again.close()


# --- adopting ---


async def test_an_adopted_folder_is_proven_and_says_what_it_lacks(desk: StorageDesk, quick_dir: Path) -> None:
    disk = quick_dir / "disk"
    shutil.copytree(desk.default / "blobs", disk / "blobs")
    disk.chmod(0o700)
    (disk / "store.json").write_text('{"format":1,"store_id":"from elsewhere"}')
    missing, corrupt = desk.small.digests("alpha")["model"], desk.small.digests("beta")["config"]
    (disk / "blobs" / missing).unlink()
    (disk / "blobs" / corrupt).write_bytes(b"other")
    desk.store.write_sync(lambda: set_pins("me", "alpha", [missing]))
    desk.pins.restore()
    before = files_in(desk.default)
    ended = await desk.move(disk, "adopt")
    assert (ended.state, ended.corrupt, ended.missing) == ("done", [corrupt], sorted([missing, corrupt]))
    assert {name: desk.installs.install_state(desk.entry(name)) for name in ("alpha", "beta")} == {
        "alpha": "not_installed",
        "beta": "not_installed",
    }
    assert not desk.pins.has("alpha")
    assert files_in(desk.default) == before
    marker = read_marker(disk)
    assert marker == desk.blobs.store_id
    assert marker != "from elsewhere"
    # The way back: the folder that was left has everything.
    assert (await desk.move(desk.default, "adopt")).missing == []


async def test_an_empty_folder_is_not_adopted_in_place_of_models_that_are_here(
    desk: StorageDesk, quick_dir: Path
) -> None:
    (quick_dir / "empty").mkdir(mode=0o700)
    error = await refused(desk, quick_dir / "empty", "adopt")
    assert error.details is not None
    assert error.details["reason"] == "nothing_there"
    assert list((quick_dir / "empty").iterdir()) == []


async def test_a_read_only_disk_is_refused(desk: StorageDesk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "models"
    target.mkdir(mode=0o700)
    monkeypatch.setattr(files, "os", SimpleNamespace(**{**vars(os), "access": lambda *_: False}))
    error = await refused(desk, target)
    assert error.details == {"field": "path", "path": str(target), "reason": "read_only"}
