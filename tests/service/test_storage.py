"""The folder of the models at the start and later: a disk that is away is told from a store in which nothing is."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from fixtures.expected_warnings import ExpectedWarnings
from fixtures.faulty_disks import small_disk
from fixtures.storage_desk import StorageDesk, files_in, storage_desk
from synapse_service.catalog import blobs, storage_files, storage_records
from synapse_service.catalog.blobs import DigestMismatch
from synapse_service.catalog.installs import missing_files
from synapse_service.catalog.storage_records import known_store
from synapse_service.catalog.store_marker import StorageUnavailable, read_marker
from synapse_service.instance import ModelsInUse, lock_models
from synapse_service.paths import PathError
from synapse_service.store.errors import StoreError
from synapse_wire.errors import SynapseError
from synapse_wire.results import BlobHolder


def problem(desk: StorageDesk) -> tuple[str, str] | None:
    found = desk.storage.problem
    if found is None:
        return None
    assert (found.code, found.class_, found.safe_to_retry_same_request) == ("store_failure", "transient", True)
    assert found.details == {"reason": found.reason, "path": str(desk.storage.root)}
    return found.reason, found.message


def shift(folder: Path, to: Path) -> None:
    """What unplugging a disk does to its path, or plugging it in."""
    if to.is_dir() and not any(to.iterdir()):
        to.rmdir()
    folder.rename(to)


def without_database(folder: Path) -> None:
    for path in folder.glob("synapse.db*"):
        path.unlink()


def empty(folder: Path, mode: int = 0o700) -> None:
    folder.mkdir(mode=mode)


def content(folder: Path) -> list[str] | None:
    """The names in a folder, or None when there is no folder."""
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else None


async def interrupted(folder: Path, target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A service that ended as soon as it had accepted a move."""
    desk = StorageDesk(folder)
    desk.boot()

    async def nothing(move: object) -> None:
        await asyncio.sleep(0)

    monkeypatch.setattr(desk.moves, "_run", nothing)
    await desk.moves.start(str(target), "move")
    assert desk.moves.latest is not None
    assert desk.moves.latest.target is not None
    desk.moves.latest.target.lock.release()
    await desk.close()


def chosen(folder: Path, disk: Path) -> None:
    """The setting, as a person writes it into the file."""
    (folder / "config.toml").write_text(f'storage_dir = "{disk}"\n')


@pytest.fixture
async def moved(quick_dir: Path) -> Path:
    """A disk to which a store with two models was moved; its service has ended."""
    async with storage_desk(quick_dir) as desk:
        desk.install("alpha")
        desk.install("beta")
        await desk.move(quick_dir / "disk")
    return quick_dir / "disk"


# --- the first start, and usual ones ---


async def test_the_first_start_makes_a_store_in_the_usual_folder(quick_dir: Path) -> None:
    async with storage_desk(quick_dir) as desk:
        status = desk.moves.status()
        assert (status.state, status.path, status.store_id) == ("ready", str(desk.default), read_marker(desk.default))
        known = desk.store.read_sync(known_store)
        assert known is not None
        assert (known.path, known.store_id) == (str(desk.default), status.store_id)
        desk.install("alpha")
    async with storage_desk(quick_dir) as again:
        assert again.moves.status().store_id == status.store_id
        assert again.usable("alpha")


async def test_a_store_that_was_there_before_markers_gets_one(quick_dir: Path) -> None:
    (quick_dir / "cache" / "blobs").mkdir(mode=0o700, parents=True)
    (quick_dir / "cache").chmod(0o700)
    (quick_dir / "cache" / "blobs" / ("a" * 64)).write_bytes(b"x")
    async with storage_desk(quick_dir) as desk:
        assert desk.blobs.sizes() == {"a" * 64: 1}
        assert read_marker(desk.default) == desk.blobs.store_id


async def test_a_new_database_takes_the_store_that_is_there(quick_dir: Path, moved: Path) -> None:
    store_id = read_marker(moved)
    without_database(quick_dir)
    async with storage_desk(quick_dir, name="b") as desk:
        assert (desk.storage.root, desk.blobs.store_id) == (moved, store_id)
        assert missing_files(desk.blobs, desk.entry("alpha")) == []


async def test_the_usual_folder_is_made_again_when_something_cleaned_it_up(quick_dir: Path) -> None:
    async with storage_desk(quick_dir) as desk:
        desk.install("alpha")
    shutil.rmtree(desk.default)
    async with storage_desk(quick_dir, name="b") as again:
        assert (problem(again), again.blobs.sizes()) == (None, {})
        assert again.blobs.store_id == read_marker(again.default)


async def test_a_chosen_folder_that_exists_becomes_the_store_of_a_new_service(quick_dir: Path) -> None:
    disk = quick_dir / "disk"
    disk.mkdir(mode=0o700)
    chosen(quick_dir, disk)
    async with storage_desk(quick_dir) as desk:
        assert (problem(desk), desk.storage.root) == (None, disk)
    assert not (quick_dir / "cache").exists()


async def test_a_store_that_was_carried_to_another_path_by_hand_is_found_there(quick_dir: Path, moved: Path) -> None:
    elsewhere = quick_dir / "elsewhere"
    shift(moved, elsewhere)
    chosen(quick_dir, elsewhere)
    async with storage_desk(quick_dir) as desk:
        assert (problem(desk), desk.usable("alpha")) == (None, True)


# --- a disk that is away ---


@pytest.mark.parametrize("mount_point", [True, False], ids=["its mount point is there", "nothing is there"])
async def test_a_disk_that_is_away_at_the_start_is_a_clear_problem_and_no_store_is_begun(
    quick_dir: Path, moved: Path, mount_point: bool, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("models_unavailable")
    away = quick_dir / "away"
    shift(moved, away)
    if mount_point:
        empty(moved, 0o755)
    async with storage_desk(quick_dir) as desk:
        assert problem(desk) == (
            "disk_missing",
            f"{moved}: the models are not there; plug in or mount their disk, or choose another folder with "
            "storage.move",
        )
        status = desk.moves.status()
        assert (status.state, isinstance(status.error, dict)) == ("unavailable", True)
        for ask in (
            lambda: desk.blobs.leases.take(BlobHolder(kind="job", job_id="x")),
            desk.blobs.leases.using().__enter__,
        ):
            with pytest.raises(StorageUnavailable) as caught:
                ask()
            assert caught.value.reason == "disk_missing"
        with pytest.raises(StorageUnavailable):
            await desk.collector.survey()
        with pytest.raises(StorageUnavailable):
            await desk.moves.start(str(quick_dir / "other"), "move")
        assert desk.installs.installed(desk.entry("alpha"))
        assert content(moved) == ([] if mount_point else None)
        # Plugging it in is enough.
        shift(away, moved)
        await desk.storage.look()
        assert problem(desk) is None
        assert desk.told[-1].state == "ready"
        assert (desk.usable("alpha"), desk.usable("beta")) == (True, True)


async def test_a_disk_that_goes_later_costs_no_install(
    quick_dir: Path, moved: Path, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("models_unavailable")
    async with storage_desk(quick_dir) as desk:
        entry = desk.entry("alpha")
        model = entry.spec.files.model
        shift(moved, quick_dir / "away")
        empty(moved)
        # Before anybody looked: a missing file is not taken for a damaged one.
        for ask in (
            lambda: desk.blobs.verify(model.sha256, model.size, model.path),
            lambda: desk.blobs.quarantine(model.sha256),
            lambda: missing_files(desk.blobs, entry),
        ):
            with pytest.raises(StorageUnavailable) as caught:
                ask()
            assert caught.value.reason == "disk_missing"
        with pytest.raises(StorageUnavailable):
            await desk.collector.remove(lambda: (None, [model.sha256]))
        await desk.storage.look()
        assert desk.told[-1].state == "unavailable"
        assert content(moved) == []
        shift(quick_dir / "away", moved)
        await desk.storage.look()
        assert (problem(desk), desk.usable("alpha")) == (None, True)
        with pytest.raises(ModelsInUse):
            lock_models(moved)


async def test_several_who_look_at_once_find_the_disk_once(
    quick_dir: Path, moved: Path, expected_warnings: ExpectedWarnings
) -> None:
    # Goes red without the lock in `look`: the second one would meet the first one's lock on the folder.
    expected_warnings("models_unavailable")
    shift(moved, quick_dir / "away")
    async with storage_desk(quick_dir) as desk:
        shift(quick_dir / "away", moved)
        await asyncio.gather(*(desk.storage.look() for _ in range(8)))
        assert (problem(desk), [told.state for told in desk.told]) == (None, ["ready"])


async def test_a_lock_file_that_was_removed_is_taken_again_and_disturbs_nobody(quick_dir: Path, moved: Path) -> None:
    async with storage_desk(quick_dir) as desk:
        writer = desk.blobs.writer()
        writer.write(b"half of a file")
        (moved / "models.lock").unlink()
        await desk.storage.look()
        assert problem(desk) is None
        with pytest.raises(ModelsInUse):
            lock_models(moved)
        assert [path.stat().st_size for path in desk.blobs.staging.iterdir()] == [14]
        writer.discard()


async def test_a_database_in_trouble_is_no_reason_to_stop_looking(
    quick_dir: Path, moved: Path, monkeypatch: pytest.MonkeyPatch, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("models_unavailable")
    shift(moved, quick_dir / "away")
    async with storage_desk(quick_dir) as desk:
        shift(quick_dir / "away", moved)

        def full() -> None:
            raise StoreError("storage_full", desk.store.path)

        with monkeypatch.context() as patch:
            patch.setattr(desk.storage, "_recover", full)
            await desk.storage.look()
            assert problem(desk) is not None
        await desk.storage.look()
        assert (problem(desk), desk.usable("alpha")) == (None, True)


async def test_a_marker_that_can_not_be_read_for_a_moment_costs_nobody_at_work_a_file(
    quick_dir: Path, moved: Path, monkeypatch: pytest.MonkeyPatch, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("models_unavailable")
    async with storage_desk(quick_dir) as desk:
        lease = desk.blobs.leases.take(BlobHolder(kind="job", job_id="download"))
        writer = desk.blobs.writer()
        writer.write(b"half of ")
        await hiccup(desk, monkeypatch)
        writer.write(b"a file")
        assert writer.publish("file", None, lease=lease).size == 14
        lease.release()
        unpacking = desk.blobs.packages / ".unpacking-x"
        with desk.blobs.leases.using():
            empty(unpacking)
            await hiccup(desk, monkeypatch)
            assert content(unpacking) == []
        # Nobody is at work: what lies there is what a dead process left.
        await hiccup(desk, monkeypatch)
        assert content(desk.blobs.packages) == []


async def hiccup(desk: StorageDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two looks at the disk; at the first it doesn't answer."""

    def failing(root: Path) -> str | None:
        raise OSError(errno.EIO, "Input/output error", str(root))

    with monkeypatch.context() as patch:
        patch.setattr(blobs, "read_marker", failing)
        await desk.storage.look()
        assert (problem(desk) or [None])[0] == "unusable"
    await desk.storage.look()
    assert problem(desk) is None


async def test_a_folder_that_was_cleaned_up_while_somebody_holds_a_file_is_made_whole_again(
    quick_dir: Path, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("models_unavailable")
    async with storage_desk(quick_dir) as desk:
        with desk.blobs.leases.take(BlobHolder(kind="job", job_id="download")) as lease:
            shutil.rmtree(desk.default)
            await desk.storage.look()
            await desk.storage.look()
            writer = desk.blobs.writer()
            writer.write(b"a file")
            assert (writer.publish("file", None, lease=lease).size, problem(desk)) == (6, None)


async def test_what_the_database_keeps_from_being_followed_is_followed_at_the_next_look(
    quick_dir: Path, moved: Path, monkeypatch: pytest.MonkeyPatch, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("models_unavailable", "models_change_not_followed")
    await interrupted(quick_dir, quick_dir / "third", monkeypatch)
    shift(moved, quick_dir / "away")
    async with storage_desk(quick_dir) as again:
        shift(quick_dir / "away", moved)

        def busy(*_: object) -> None:
            raise StoreError("busy", again.store.path)

        with monkeypatch.context() as patch:
            patch.setattr(storage_records, "pending_move", busy)
            await again.storage.look()
        assert (problem(again), again.moves.live) == (None, None)
        await again.storage.look()
        assert ((await again.settled()).state, again.usable("alpha")) == ("done", True)
        told = len(again.told)
        await again.storage.look()
        assert len(again.told) == told


async def test_after_a_move_that_failed_nobody_gets_a_file_of_a_disk_that_is_away(
    quick_dir: Path, moved: Path, monkeypatch: pytest.MonkeyPatch, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("models_unavailable", "move_failed")
    shift(moved, quick_dir / "away")
    empty(quick_dir / "new")
    opened: list[str] = []

    def failing(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    async with storage_desk(quick_dir) as desk:
        monkeypatch.setattr(storage_files, "prove", failing)
        monkeypatch.setattr(desk.blobs.leases, "open", lambda: opened.append("open"))
        assert (await desk.move(quick_dir / "new", "adopt")).state == "failed"
        assert ((problem(desk) or [None])[0], opened) == ("disk_missing", [])


async def test_a_file_that_is_missing_while_the_disk_is_there_is_a_damaged_one(quick_dir: Path, moved: Path) -> None:
    async with storage_desk(quick_dir) as desk:
        model = desk.entry("alpha").spec.files.model
        desk.blobs.path(model.sha256).unlink()
        with pytest.raises(DigestMismatch):
            desk.blobs.verify(model.sha256, model.size, model.path)


async def test_a_disk_without_its_store_is_replaced_by_an_empty_folder_only_when_somebody_says_so(
    quick_dir: Path, moved: Path, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("models_unavailable")
    shift(moved, quick_dir / "away")
    (quick_dir / "new").mkdir(mode=0o700)
    async with storage_desk(quick_dir) as desk:
        ended = await desk.move(quick_dir / "new", "adopt")
        assert (ended.state, ended.missing) == ("done", sorted(desk.digests("alpha", "beta")))
        assert (problem(desk), desk.installs.install_state(desk.entry("alpha"))) == (None, "not_installed")
        desk.install("alpha")
    assert len(files_in(quick_dir / "away")) == 6


async def test_a_read_only_disk_is_a_clear_problem(tmp_path: Path, expected_warnings: ExpectedWarnings) -> None:
    expected_warnings("models_unavailable")
    with small_disk(tmp_path / "mount", 40) as mount:
        async with storage_desk(tmp_path) as desk:
            desk.install("alpha")
            await desk.move(mount / "models")
        remount(mount, "ro")
        async with storage_desk(tmp_path) as desk:
            assert problem(desk) == (
                "read_only",
                f"{mount / 'models'}: the disk of the models can't be written; mount it writable, or choose another "
                "with storage.move",
            )
            remount(mount, "rw")
            await desk.storage.look()
            assert (problem(desk), desk.usable("alpha")) == (None, True)


def remount(mount: Path, how: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{how}", str(mount)], check=True, timeout=30)


# --- the wrong folder ---


async def test_another_store_in_place_of_the_right_one_is_not_used(
    quick_dir: Path, moved: Path, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("models_unavailable")
    (moved / "store.json").write_text('{"format":1,"store_id":"other"}')
    async with storage_desk(quick_dir) as desk:
        found = problem(desk)
        assert found is not None
        assert found[0] == "another_store"
        # It may be taken over where it is.
        ended = await desk.move(moved, "adopt")
        assert (ended.state, ended.missing, problem(desk)) == ("done", [], None)
        assert desk.usable("alpha")


@pytest.mark.parametrize("marker", ['{"format":1,"store_id":"other"}', ""], ids=["other", "unreadable"])
@pytest.mark.parametrize("usual", [True, False])
async def test_another_store_that_comes_while_the_service_runs_is_told_apart_and_may_be_adopted(
    quick_dir: Path, marker: str, usual: bool, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("models_unavailable")
    async with storage_desk(quick_dir) as desk:
        desk.install("alpha")
        (desk.default / "store.json").unlink()
        await desk.storage.look()
        assert (problem(desk) or [None])[0] == "disk_missing"
        (desk.default / "store.json").write_text(marker)
        await desk.storage.look()
        assert (problem(desk) or [None])[0] == "another_store"
        assert [told.error["details"]["reason"] for told in desk.told] == ["disk_missing", "another_store"]
        with pytest.raises(StorageUnavailable) as caught:
            desk.blobs.require_present()
        assert caught.value.reason == "another_store"
        ended = await desk.move(None if usual else desk.default, "adopt")
        assert (ended.state, ended.missing, problem(desk)) == ("done", [], None)
        assert desk.usable("alpha")
        with pytest.raises(ModelsInUse):
            lock_models(desk.default)


async def test_an_adoption_that_is_refused_leaves_the_folder_locked_when_its_disk_is_back(
    quick_dir: Path, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("models_unavailable")
    async with storage_desk(quick_dir) as desk:
        marker = (desk.default / "store.json").rename(quick_dir / "away.json")
        await desk.storage.look()
        with pytest.raises(SynapseError):
            await desk.moves.start(str(quick_dir / "gone" / "disk"), "adopt")
        assert (problem(desk) or [None])[0] == "disk_missing"
        marker.rename(desk.default / "store.json")
        await desk.storage.look()
        assert problem(desk) is None
        with pytest.raises(ModelsInUse):
            lock_models(desk.default)


async def test_an_unreadable_marker_is_replaced_where_the_database_knows_no_store(quick_dir: Path) -> None:
    empty(quick_dir / "cache")
    (quick_dir / "cache" / "store.json").touch()
    async with storage_desk(quick_dir) as desk:
        assert (problem(desk), read_marker(desk.default)) == (None, desk.blobs.store_id)
        await desk.storage.look()
        assert problem(desk) is None


async def test_an_unreadable_marker_does_not_leave_the_models_behind(
    quick_dir: Path, moved: Path, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("models_unavailable")
    empty(quick_dir / "other")
    (quick_dir / "other" / "store.json").touch()
    chosen(quick_dir, quick_dir / "other")
    async with storage_desk(quick_dir) as desk:
        assert (problem(desk) or [None])[0] == "not_moved"
    assert content(quick_dir / "other") == ["store.json"]


async def test_a_name_that_no_folder_can_have_is_a_clear_problem(
    quick_dir: Path, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("models_unavailable")
    chosen(quick_dir, quick_dir / ("n" * 300))
    async with storage_desk(quick_dir) as desk:
        assert (problem(desk) or [None])[0] == "unusable"


def test_a_marker_that_nobody_can_read_is_that_of_an_unknown_store(tmp_path: Path) -> None:
    (tmp_path / "store.json").write_text('{"store_id":' * 100_000)
    assert read_marker(tmp_path) == ""


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_in_place_of_the_marker_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "store.json")
    with pytest.raises(OSError, match="not a regular file"):
        read_marker(tmp_path)


async def test_a_setting_that_was_changed_by_hand_does_not_leave_the_models_behind(
    quick_dir: Path, moved: Path, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("models_unavailable")
    other = quick_dir / "other"
    other.mkdir(mode=0o700)
    chosen(quick_dir, other)
    async with storage_desk(quick_dir) as desk:
        found = problem(desk)
        assert found is not None
        assert found[0] == "not_moved"
        assert list(other.iterdir()) == []
        await desk.storage.look()
        assert problem(desk) == found
    chosen(quick_dir, moved)
    async with storage_desk(quick_dir) as desk:
        assert (problem(desk), desk.usable("alpha")) == (None, True)


async def test_a_folder_with_other_peoples_files_is_not_emptied(
    quick_dir: Path, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("models_unavailable")
    disk = quick_dir / "disk"
    (disk / "staging").mkdir(parents=True)
    disk.chmod(0o700)
    (disk / "staging" / "thesis.tex").write_text("mine")
    chosen(quick_dir, disk)
    async with storage_desk(quick_dir) as desk:
        found = problem(desk)
        assert found is not None
        assert (found[0], "choose another folder" in found[1]) == ("unusable", True)
    assert files_in(disk) == {"staging/thesis.tex"}


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps access lists instead of modes")
async def test_a_folder_that_is_open_to_others_is_a_problem_and_the_usual_one_stops_the_start(
    quick_dir: Path, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("models_unavailable")
    disk = quick_dir / "disk"
    disk.mkdir(mode=0o755)
    disk.chmod(0o755)
    chosen(quick_dir, disk)
    async with storage_desk(quick_dir) as desk:
        found = problem(desk)
        assert found is not None
        assert (found[0], f"chmod 700 '{disk}'" in found[1]) == ("unusable", True)
    (quick_dir / "config.toml").unlink()
    (quick_dir / "cache").mkdir(mode=0o755)
    (quick_dir / "cache").chmod(0o755)
    with pytest.raises(PathError):
        async with storage_desk(quick_dir):
            pass


async def test_two_services_do_not_use_one_store(quick_dir: Path, moved: Path) -> None:
    async with storage_desk(quick_dir) as first:
        second = quick_dir / "second"
        second.mkdir()
        chosen(second, moved)
        other = StorageDesk(second)
        with pytest.raises(ModelsInUse, match="are used by another service"):
            other.boot()
        await other.store.close()
        assert first.usable("alpha")


async def test_an_interrupted_move_whose_folders_the_setting_no_longer_names_waits_for_a_person(
    quick_dir: Path, moved: Path, monkeypatch: pytest.MonkeyPatch, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("models_unavailable")
    await interrupted(quick_dir, quick_dir / "third", monkeypatch)
    chosen(quick_dir, quick_dir / "fourth")
    (quick_dir / "fourth").mkdir(mode=0o700)
    async with storage_desk(quick_dir) as again:
        found = problem(again)
        assert found is not None
        assert found[0] == "not_moved"
        assert f"set storage_dir to {moved} and start again" in found[1]
        assert again.pending == "bringing"
    chosen(quick_dir, moved)
    async with storage_desk(quick_dir) as again:
        assert ((await again.settled()).state, again.storage.root) == ("done", quick_dir / "third")
        assert again.usable("alpha")


async def test_a_move_whose_disk_is_away_waits_for_it(
    quick_dir: Path, moved: Path, monkeypatch: pytest.MonkeyPatch, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("models_unavailable")
    await interrupted(quick_dir, quick_dir / "third", monkeypatch)
    shift(moved, quick_dir / "away")
    async with storage_desk(quick_dir) as again:
        assert (again.moves.live, again.pending) == (None, "bringing")
        shift(quick_dir / "away", moved)
        await again.storage.look()
        assert ((await again.settled()).state, again.usable("alpha")) == ("done", True)


async def test_a_refusal_for_one_caller_is_not_the_exception_of_another(
    quick_dir: Path, moved: Path, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("models_unavailable")
    shift(moved, quick_dir / "away")
    async with storage_desk(quick_dir) as desk:
        raised: list[SynapseError] = []
        for _ in range(2):
            with pytest.raises(SynapseError) as caught:
                desk.blobs.leases.take(BlobHolder(kind="job", job_id="x"))
            raised.append(caught.value)
        assert raised[0] is not raised[1]
        assert raised[0].to_wire() == raised[1].to_wire()
