"""Downloads on a disk that is really full: before the first byte, in the middle, and when the database needs it too.

The database lies on the same disk. These tests mount a small file system and need root; elsewhere they are skipped.
"""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fixtures.catalog import SmallCatalog, path_of, small_files
from fixtures.download_desk import DownloadDesk
from fixtures.expected_warnings import ExpectedWarnings
from fixtures.faulty_disks import small_disk
from fixtures.mirror import running_mirror
from synapse_service.catalog import download_files
from synapse_service.catalog import downloads as module
from synapse_wire.results import DownloadStatus

MIB = 1 << 20
DISK_MIB = 12
MODEL_BYTES = 5 * MIB
MODEL = path_of("big", "model")


@pytest.fixture
async def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[DownloadDesk]:
    """A desk on a small disk, with one model that fits once."""
    monkeypatch.setattr(download_files, "RESERVE_BYTES", MIB)
    small = SmallCatalog().add("big", small_files("big", MODEL_BYTES))
    with small_disk(tmp_path / "disk", DISK_MIB) as disk, running_mirror() as mirror:
        small.serve(mirror)
        desk = DownloadDesk(disk, small, mirror)
        yield desk
        await desk.close()


def free(desk: DownloadDesk) -> int:
    return shutil.disk_usage(desk.folder).free


@contextmanager
def filled(desk: DownloadDesk, leaving: int) -> Iterator[None]:
    """A ``with`` block in which something else takes all of the disk but ``leaving`` bytes."""
    other = desk.folder / "something else"
    with other.open("wb") as stream:
        left = free(desk) - leaving
        while left > 0:
            left -= stream.write(bytes(min(left, MIB)))
    yield
    other.unlink()


def refused_for_space(status: DownloadStatus) -> str:
    """The file that a failed download names."""
    assert status.state == "failed"
    assert isinstance(status.error, dict)
    details = status.error["details"]
    assert (status.error["code"], details["reason"], details["http_status"]) == (
        "download_failed",
        "storage_full",
        None,
    )
    return str(details["file"])


async def test_a_disk_that_is_full_beforehand_is_not_asked_for_a_byte(desk: DownloadDesk) -> None:
    with filled(desk, leaving=3 * MIB):
        before = free(desk)
        assert refused_for_space(await desk.download("big")) == "model.safetensors"
        assert desk.mirror.requests == []
        assert abs(free(desk) - before) < MIB
    assert (await desk.download("big")).state == "committed"


async def test_a_disk_that_fills_up_meanwhile_is_given_back_and_the_database_stays_usable(desk: DownloadDesk) -> None:
    before = free(desk)
    gate = desk.mirror.hold(MODEL)
    job_id = (await desk.start("big")).job_id
    await desk.until_state(job_id, "downloading")
    with filled(desk, leaving=64 * 1024):
        gate.set()
        assert refused_for_space(await desk.end(job_id)) == "model.safetensors"
        assert (desk.stored(), desk.left_over()) == (set(), [])
        # Nothing but the job is left, and the disk took that.
        await desk.downloads.settle()
        assert desk.rows()["jobs"] == [(job_id, "failed")]
    assert abs(free(desk) - before) < MIB
    assert (await desk.download("big")).state == "committed"


@pytest.mark.parametrize("moment", ["verifying", "commit"])
async def test_a_disk_that_is_full_at_the_end_commits_nothing_by_halves(
    desk: DownloadDesk, monkeypatch: pytest.MonkeyPatch, expected_warnings: ExpectedWarnings, moment: str
) -> None:
    # Goes red when `_unpublish` changes rows before it has made room: the published files would keep the disk full.
    before = free(desk)
    other = filled(desk, leaving=0)
    if moment == "verifying":
        step = module.records.begin_verifying
        monkeypatch.setattr(module.records, "begin_verifying", lambda *args: other.__enter__() or step(*args))
    else:
        record = module.record_install
        monkeypatch.setattr(module, "record_install", lambda *args: other.__enter__() or record(*args))
    status = await desk.download("big")
    monkeypatch.undo()
    monkeypatch.setattr(download_files, "RESERVE_BYTES", MIB)
    expected_warnings(*(set(expected_warnings.seen) & {"download_end_not_written"}))
    if status.state == "committed":  # The database had room left in files that it had already.
        assert desk.installs.complete(desk.entry("big"))
    else:
        assert refused_for_space(status) == "model.safetensors"
        assert (desk.stored(), desk.left_over()) == (set(), [])
    other.__exit__(None, None, None)
    await desk.downloads.settle()
    assert desk.rows()["jobs"] == [(status.job_id, status.state)]
    if status.state == "failed":
        assert abs(free(desk) - before) < MIB
        assert (await desk.download("big")).state == "committed"
