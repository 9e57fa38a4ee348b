"""Downloads from acceptance to their end: states, sharing, keys, reuse, and that nothing is left behind."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import os
import shutil
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
import rfc8785

from fixtures.catalog import path_of
from fixtures.download_desk import RETENTION_MS, DownloadDesk, download_desk
from fixtures.expected_warnings import ExpectedWarnings
from fixtures.mirror import Fault
from fixtures.socket_server import until
from synapse_service.catalog import download_files
from synapse_service.catalog import downloads as module
from synapse_service.catalog.blob_files import StorageFull
from synapse_service.catalog.blobs import BlobWriter
from synapse_service.catalog.http_body import MAX_RETRIES
from synapse_service.catalog.installs import InstalledManifest, erase_installs
from synapse_service.jobs.retention import Retention
from synapse_service.jobs.submissions import expire
from synapse_service.store.errors import StoreError
from synapse_service.store.models import DownloadKey
from synapse_wire.errors import SynapseError
from synapse_wire.results import DownloadStatus

MODEL = path_of("alpha", "model")


@pytest.fixture
async def desk(quick_dir: Path) -> AsyncIterator[DownloadDesk]:
    async with download_desk(quick_dir) as desk:
        yield desk


def flat(status: DownloadStatus) -> dict[str, Any]:
    """The status as it goes over the wire."""
    found: dict[str, Any] = msgspec.to_builtins(status)
    return found


def error(status: DownloadStatus) -> dict[str, Any]:
    assert status.state == "failed"
    assert isinstance(status.error, dict)
    return status.error


def untouched(desk: DownloadDesk) -> bool:
    """True when a download left no trace but its job."""
    return (desk.stored(), desk.left_over(), desk.rows()["blobs"], desk.blobs.leases.holders()) == (set(), [], [], {})


def beside_the_store(desk: DownloadDesk) -> set[Path]:
    return {path for path in desk.folder.iterdir() if path != desk.blobs.root}


async def forget(desk: DownloadDesk, catalog_id: str) -> None:
    """Remove an installed model with its files."""

    def erase() -> tuple[list[InstalledManifest], list[str]]:
        erased = erase_installs(catalog_id)
        return erased, [sha256 for manifest in erased for sha256 in manifest.blobs]

    erased, _ = await desk.collector.remove(erase)
    desk.installs.erased(erased)


# --- the way to an install ---


async def test_a_download_goes_through_its_states_and_installs_the_entry(desk: DownloadDesk) -> None:
    accepted = await desk.start("alpha")
    assert flat(accepted) == {"job_id": "job-1-1", "state": "queued"}
    assert flat(await desk.end("job-1-1")) == {"job_id": "job-1-1", "state": "committed"}
    assert desk.states() == ["queued", "downloading", "verifying", "committed"]
    assert desk.installs.install_state(desk.entry("alpha")) == "installed"
    assert desk.stored() == desk.files("alpha")
    assert (desk.left_over(), desk.rows()["blobs"], desk.blobs.leases.holders()) == ([], [], {})
    assert (desk.counters.minted, desk.counters.completed, desk.counters.failed) == (1, 1, 0)


async def test_while_it_downloads_the_status_has_bytes_that_never_fall(desk: DownloadDesk) -> None:
    desk.mirror.plan[MODEL] = ["early_close", "ignore_range"]
    config = len(desk.small.contents["alpha"]["config"])
    desk.mirror.taken = lambda: desk.told[-1].bytes_done - config
    await desk.download("alpha")
    downloading = [row for row in desk.told if row.state == "downloading"]
    done = [row.bytes_done for row in downloading]
    assert done == sorted(done)
    assert {row.bytes_total for row in downloading} == {desk.small.size("alpha")}
    assert done[-1] == desk.small.size("alpha")


async def test_the_flat_status_of_a_running_download_has_exactly_its_members(desk: DownloadDesk) -> None:
    gate = desk.mirror.hold(MODEL)
    job_id = (await desk.start("alpha")).job_id
    await desk.until_state(job_id, "downloading")
    assert set(flat(await desk.status(job_id))) == {"job_id", "state", "bytes_done", "bytes_total"}
    gate.set()
    await desk.end(job_id)


async def test_a_row_has_the_rate_and_the_time_that_is_left(desk: DownloadDesk) -> None:
    gate = desk.mirror.hold(MODEL)
    job_id = (await desk.start("alpha")).job_id
    await desk.until_state(job_id, "downloading")
    job = desk.downloads.of(desk.entry("alpha"))
    assert job is not None
    job.meter.at(0)
    desk.clock.advance(2)
    job.bytes_total, job.bytes_done = 10_000, 4_000
    job.meter.at(4_000)
    row = job.row()
    assert (row.catalog_id, row.client, row.rate, row.eta_ms) == ("alpha", "test", 2000.0, 3000)
    job.progress(1_000)  # The file began anew.
    assert job.row().bytes_done == 4_000
    gate.set()
    await desk.end(job_id)
    (ended,) = await desk.downloads.rows(10)
    assert (ended.state, ended.rate, ended.eta_ms) == ("committed", msgspec.UNSET, msgspec.UNSET)


async def test_a_complete_entry_goes_from_queued_to_committed_without_the_network(desk: DownloadDesk) -> None:
    for body in desk.small.contents["alpha"].values():
        writer = desk.blobs.writer()
        writer.write(body)
        writer.publish("m", None)
    await desk.download("alpha")
    assert desk.states() == ["queued", "committed"]
    assert desk.mirror.requests == []
    assert desk.installs.install_state(desk.entry("alpha")) == "installed"


async def test_only_missing_and_wrong_sized_files_are_fetched(desk: DownloadDesk) -> None:
    await desk.download("beta")
    digests = desk.small.digests("alpha")
    desk.blobs.path(digests["config"]).write_bytes(b"truncated")
    desk.mirror.requests.clear()
    await desk.download("alpha")
    assert [path for path, _ in desk.mirror.requests] == [path_of("alpha", "config"), MODEL]
    assert hashlib.sha256(desk.blobs.path(digests["config"]).read_bytes()).hexdigest() == digests["config"]


async def test_a_link_in_place_of_a_blob_is_replaced_and_not_followed(desk: DownloadDesk, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(desk.small.contents["alpha"]["model"])
    link = desk.blobs.path(desk.small.digests("alpha")["model"])
    link.symlink_to(outside)
    await desk.download("alpha")
    assert not link.is_symlink()
    assert outside.exists()


# --- sharing and keys ---


async def test_no_link_is_needed_and_nothing_is_written_beside_the_store(
    desk: DownloadDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_right(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, "A required privilege is not held by the client")

    monkeypatch.setattr(os, "symlink", no_right)
    monkeypatch.setattr(os, "link", no_right)
    beside = {path for path in beside_the_store(desk) if not path.name.startswith("synapse.db")}
    for _ in range(20):
        jobs = await asyncio.gather(*(desk.start(name) for name in ("alpha", "beta")))
        assert [(await desk.end(job.job_id)).state for job in jobs] == ["committed", "committed"]
        assert all(desk.installs.complete(desk.entry(name)) for name in ("alpha", "beta"))
        assert desk.stored() == desk.files("alpha", "beta")
        assert sum(desk.blobs.sizes().values()) < desk.small.size("alpha") + desk.small.size("beta")
        for name in ("alpha", "beta"):
            await forget(desk, name)
        assert (desk.stored(), desk.left_over()) == (set(), [])
    assert {path for path in beside_the_store(desk) if not path.name.startswith("synapse.db")} == beside


async def test_callers_share_the_running_job_of_a_manifest_whatever_their_keys(desk: DownloadDesk) -> None:
    gate = desk.mirror.hold(MODEL)
    first, second, third = await asyncio.gather(
        desk.start("alpha"), desk.start("alpha", "mine"), desk.start("alpha", "yours")
    )
    assert {first.job_id, second.job_id, third.job_id} == {"job-1-1"}
    gate.set()
    await desk.end("job-1-1")
    default = f"models.download:alpha:{desk.entry('alpha').manifest_digest}"
    assert desk.rows()["keys"] == [("mine", "job-1-1"), (default, "job-1-1"), ("yours", "job-1-1")]
    assert desk.counters.minted == 1


async def test_a_key_is_bound_to_the_canonical_digest_of_what_was_asked(desk: DownloadDesk) -> None:
    await desk.download("alpha", "k")
    content = {"catalog_id": "alpha", "manifest_digest": desk.entry("alpha").manifest_digest}
    bound = desk.store.read_sync(lambda: DownloadKey.get_by_id("k").digest)
    assert bound == hashlib.sha256(rfc8785.dumps(content)).hexdigest()


@pytest.mark.parametrize("running", [True, False])
async def test_a_key_that_is_bound_to_another_model_is_a_conflict(desk: DownloadDesk, running: bool) -> None:
    await desk.download("alpha", "k")
    if running:
        desk.mirror.hold(path_of("beta", "model"))
        await desk.start("beta")
    with pytest.raises(SynapseError) as caught:
        await desk.start("beta", "k")
    assert (caught.value.code, caught.value.details) == ("idempotency_conflict", {"request_key": "k"})
    assert caught.value.safe_to_retry_same_request is False
    if running:
        desk.mirror.held[path_of("beta", "model")].set()
        await desk.end("job-1-2")


async def test_a_committed_job_answers_its_key_while_the_entry_is_complete(desk: DownloadDesk) -> None:
    first = await desk.download("alpha")
    assert flat(await desk.start("alpha")) == {"job_id": first.job_id, "state": "committed"}
    desk.blobs.path(desk.small.digests("alpha")["config"]).unlink()
    again = await desk.download("alpha")
    assert (again.job_id, again.state) == ("job-1-3", "committed")
    assert desk.mirror.asked(path_of("alpha", "config")) == [None, None]


async def test_another_key_for_a_complete_entry_gets_a_job_of_its_own(desk: DownloadDesk) -> None:
    await desk.download("alpha", "k")
    requests = len(desk.mirror.requests)
    other = await desk.download("alpha", "other")
    assert (other.job_id, other.state, len(desk.mirror.requests)) == ("job-1-2", "committed", requests)


async def test_after_a_failure_the_same_key_begins_a_new_job(desk: DownloadDesk) -> None:
    desk.mirror.fault = "flip"
    failed = await desk.download("alpha", "k")
    desk.mirror.fault = "none"
    again = await desk.download("alpha", "k")
    assert (failed.state, again.state) == ("failed", "committed")
    assert failed.job_id != again.job_id
    assert (await desk.status(failed.job_id)).state == "failed"


@pytest.mark.parametrize(
    ("fault", "code"),
    [("empty", "artifact_invalid"), ("flip", "artifact_invalid"), ("early_close", "download_failed")],
)
@pytest.mark.parametrize("same_key", [True, False])
async def test_what_arrived_damaged_is_mended_by_the_next_download_and_spoils_nothing_else(
    desk: DownloadDesk, fault: Fault, code: str, same_key: bool
) -> None:
    await desk.download("beta")
    before = desk.stored()
    desk.mirror.plan[MODEL] = [fault] * (MAX_RETRIES + 1)
    failed = error(await desk.download("alpha", "k"))
    assert failed["code"] == code
    if code == "artifact_invalid":
        sizes = {"empty": 0, "flip": failed["details"]["expected_size"]}
        assert failed["details"]["actual_size"] == sizes[fault]
    else:
        assert failed["details"]["reason"] == "network"
    assert (desk.stored(), desk.left_over()) == (before, [])
    assert desk.installs.complete(desk.entry("beta"))
    assert desk.installs.install_state(desk.entry("alpha")) == "not_installed"
    desk.mirror.plan.clear()
    assert (await desk.download("alpha", "k" if same_key else "another")).state == "committed"
    assert all(desk.installs.complete(desk.entry(name)) for name in ("alpha", "beta"))


async def test_a_caller_that_leaves_does_not_take_the_job_along(desk: DownloadDesk) -> None:
    # Goes red without `Detached` in `start`: the job would have a row and no work.
    asking = asyncio.create_task(desk.start("alpha"))
    await asyncio.sleep(0)
    asking.cancel()
    await asyncio.wait([asking])
    await until(lambda: bool(desk.told))
    assert (await desk.end("job-1-1")).state == "committed"


async def test_jobs_and_keys_expire_together(desk: DownloadDesk) -> None:
    job_id = (await desk.download("alpha", "k")).job_id
    desk.clock.advance(RETENTION_MS / 1000 + 1)
    assert await desk.downloads.find(job_id) is None
    assert (await desk.download("alpha", "k")).job_id == "job-1-2"
    desk.clock.advance(RETENTION_MS / 1000 + 1)
    desk.store.write_sync(lambda: expire(desk.clock.steady_ms(), 1))
    assert desk.rows() == {"jobs": [], "keys": [], "blobs": []}
    assert desk.installs.install_state(desk.entry("alpha")) == "installed"


async def test_a_key_whose_job_has_expired_is_free_for_another_model(desk: DownloadDesk) -> None:
    await desk.download("alpha", "k")
    desk.clock.advance(RETENTION_MS / 1000 + 1)
    assert (await desk.download("beta", "k")).state == "committed"


# --- faults ---


async def test_a_flipped_byte_fails_with_both_digests_and_leaves_nothing(desk: DownloadDesk) -> None:
    desk.mirror.plan[MODEL] = ["flip"]
    status = await desk.download("alpha")
    body = desk.small.contents["alpha"]["model"]
    middle = len(body) // 2
    flipped = body[:middle] + bytes([body[middle] ^ 1]) + body[middle + 1 :]
    found = error(status)
    assert (found["code"], found["class"], found["safe_to_retry_same_request"]) == (
        "artifact_invalid",
        "permanent",
        False,
    )
    assert found["details"] == {
        "file": "model.safetensors",
        "expected_sha256": hashlib.sha256(body).hexdigest(),
        "actual_sha256": hashlib.sha256(flipped).hexdigest(),
        "expected_size": len(body),
        "actual_size": len(body),
        "recovery_op": "models.download",
    }
    assert untouched(desk)
    assert desk.installs.install_state(desk.entry("alpha")) == "not_installed"
    assert (await desk.download("alpha")).state == "committed"


async def test_an_empty_body_fails_with_the_digest_of_nothing(desk: DownloadDesk) -> None:
    desk.mirror.plan[MODEL] = ["empty"]
    details = error(await desk.download("alpha"))["details"]
    assert details["actual_size"] == 0
    assert details["actual_sha256"] == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert untouched(desk)


@pytest.mark.parametrize(("fault", "larger"), [("short", False), ("endless", True)])
async def test_a_body_of_another_length_fails_with_both_sizes(desk: DownloadDesk, fault: Fault, larger: bool) -> None:
    desk.mirror.plan[MODEL] = [fault]
    details = error(await desk.download("alpha"))["details"]
    assert details["expected_size"] == len(desk.small.contents["alpha"]["model"])
    assert (details["actual_size"] > details["expected_size"]) == larger
    assert untouched(desk)


@pytest.mark.parametrize("fault", ["early_close", "gzip", "silent_close"])
async def test_a_broken_transfer_fails_as_network(desk: DownloadDesk, fault: Fault) -> None:
    desk.mirror.fault = fault
    found = error(await desk.download("alpha"))
    assert (found["code"], found["class"], found["retry_after_ms"], found["safe_to_retry_same_request"]) == (
        "download_failed",
        "transient",
        1000,
        True,
    )
    assert found["details"] == {"file": "config.json", "reason": "network", "http_status": None}
    assert untouched(desk)


async def test_an_error_status_fails_as_such(desk: DownloadDesk) -> None:
    del desk.mirror.files[MODEL]
    found = error(await desk.download("alpha"))
    assert found["details"] == {"file": "model.safetensors", "reason": "http_status", "http_status": 404}
    assert untouched(desk)
    assert (desk.counters.minted, desk.counters.failed) == (1, 1)


async def test_what_cannot_fit_is_refused_before_the_first_byte(
    desk: DownloadDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    needed = desk.small.size("alpha") + download_files.RESERVE_BYTES
    free(monkeypatch, needed - 1)
    found = error(await desk.download("alpha"))
    assert found["details"] == {"file": "model.safetensors", "reason": "storage_full", "http_status": None}
    assert desk.mirror.requests == []
    free(monkeypatch, needed)
    assert (await desk.download("alpha")).state == "committed"


async def test_what_another_download_still_has_to_write_is_not_free(
    desk: DownloadDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = desk.mirror.hold(path_of("alpha", "config"))
    running = (await desk.start("alpha")).job_id
    await desk.until_state(running, "downloading")
    free(monkeypatch, desk.small.size("beta") + download_files.RESERVE_BYTES + 1000)
    refused = (await desk.start("beta")).job_id
    await desk.until_state(refused, "failed")
    assert error(await desk.status(refused))["details"]["reason"] == "storage_full"
    gate.set()
    assert (await desk.end(running)).state == "committed"


@pytest.mark.parametrize("room_for", [1, 2])
async def test_of_downloads_that_begin_together_only_those_are_accepted_that_fit_together(
    desk: DownloadDesk, monkeypatch: pytest.MonkeyPatch, room_for: int
) -> None:
    # Goes red when a job counts only once it downloads, or when the promises are added up before the disk has answered.
    free(monkeypatch, room_for * desk.small.size("alpha") + download_files.RESERVE_BYTES + 1000)
    usage, both = shutil.disk_usage, threading.Barrier(2)

    def asked_together(path: Path) -> Any:
        both.wait(20)
        return usage(path)

    monkeypatch.setattr(download_files.shutil, "disk_usage", asked_together)
    gates = [desk.mirror.hold(path_of(catalog_id, "config")) for catalog_id in ("alpha", "beta")]
    jobs = [(await desk.start(catalog_id)).job_id for catalog_id in ("alpha", "beta")]
    async with asyncio.timeout(20):
        while len(desk.ended) < 2 - room_for or any(job.state == "queued" for job in desk.downloads.live()):  # noqa: ASYNC110
            await asyncio.sleep(0.002)
    for gate in gates:
        gate.set()
    states = [(await desk.end(job_id)).state for job_id in jobs]
    assert sorted(states) == ["committed"] * room_for + ["failed"] * (2 - room_for)


def free(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    usage = download_files.shutil._ntuple_diskusage(1 << 40, 0, size)  # type: ignore[attr-defined]
    monkeypatch.setattr(download_files.shutil, "disk_usage", lambda _: usage)


@pytest.mark.parametrize("method", ["write", "publish"])
async def test_a_disk_that_fills_up_meanwhile_fails_and_is_given_back(
    desk: DownloadDesk, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    original = getattr(BlobWriter, method)

    def full(writer: BlobWriter, *args: Any, **options: Any) -> Any:
        # How many bytes a write brings is the network's choice: all of them may come at once.
        if method == "publish" or writer.size + len(args[0]) > 50_000:
            raise StorageFull(desk.blobs.root)
        return original(writer, *args, **options)

    monkeypatch.setattr(BlobWriter, method, full)
    found = error(await desk.download("alpha"))
    file = "config.json" if method == "publish" else "model.safetensors"
    assert found["details"] == {"file": file, "reason": "storage_full", "http_status": None}
    assert untouched(desk)
    monkeypatch.undo()
    assert (await desk.download("alpha")).state == "committed"


async def test_a_disk_that_reports_an_error_fails_as_store_failure(
    desk: DownloadDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(writer: BlobWriter, data: bytes) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(BlobWriter, "write", broken)
    found = error(await desk.download("alpha"))
    assert (found["code"], found["details"]["reason"]) == ("store_failure", "io_error")
    assert untouched(desk)


async def test_a_disk_that_turns_read_only_ends_the_job_although_nothing_can_be_removed(
    desk: DownloadDesk, monkeypatch: pytest.MonkeyPatch, expected_warnings: ExpectedWarnings
) -> None:
    # Goes red when `discard` lets the error out: the job stayed live, and could be neither cancelled nor begun anew.
    expected_warnings("staged_file_not_removed")
    write, unlink = BlobWriter.write, Path.unlink

    def refused(path: Path) -> OSError:
        return OSError(errno.EROFS, "Read-only file system", str(path))

    def writing(writer: BlobWriter, data: bytes) -> None:
        if list(desk.blobs.staging.iterdir()) and writer.size == 0:  # The second file.
            raise refused(desk.blobs.staging)
        write(writer, data)

    def unlinking(path: Path, missing_ok: bool = False) -> None:
        if path.parent == desk.blobs.staging:
            raise refused(path)
        unlink(path, missing_ok)

    monkeypatch.setattr(BlobWriter, "write", writing)
    monkeypatch.setattr(Path, "unlink", unlinking)
    failed = await desk.download("alpha")
    details = {"reason": "read_only", "path": str(desk.blobs.root)}
    assert (error(failed)["code"], error(failed)["details"]) == ("store_failure", details)
    assert desk.downloads.live() == []
    assert desk.rows()["jobs"] == [(failed.job_id, "failed")]
    assert (await desk.downloads.cancel(failed.job_id)).state == "failed"
    monkeypatch.undo()
    assert len(desk.left_over()) == 1
    desk.blobs.prepare()  # As the next start does.
    assert untouched(desk)
    assert (await desk.download("alpha")).state == "committed"


async def test_a_disk_that_is_gone_is_called_that_and_not_a_defect(desk: DownloadDesk, quick_dir: Path) -> None:
    (quick_dir / "cache").rename(quick_dir / "unplugged")
    found = error(await desk.download("alpha"))
    assert (found["code"], found["details"]["reason"]) == ("store_failure", "io_error")
    assert str(quick_dir / "cache") in found["message"]
    with pytest.raises(SynapseError, match="look at the disk that holds the models"):
        await desk.collector.collect()
    (quick_dir / "unplugged").rename(quick_dir / "cache")
    assert (await desk.download("alpha")).state == "committed"


async def test_a_database_that_is_full_at_the_commit_fails_the_job_and_takes_the_blobs_back(
    desk: DownloadDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise StoreError("storage_full", desk.store.path)

    monkeypatch.setattr(module, "record_install", full)
    found = error(await desk.download("alpha"))
    assert found["details"] == {"file": "model.safetensors", "reason": "storage_full", "http_status": None}
    assert untouched(desk)
    assert desk.installs.install_state(desk.entry("alpha")) == "not_installed"


async def test_an_end_that_the_disk_does_not_take_holds_and_is_written_later(
    desk: DownloadDesk, monkeypatch: pytest.MonkeyPatch, expected_warnings: Any
) -> None:
    expected_warnings("download_end_not_written")
    desk.mirror.fault = "flip"
    end = module.records.end

    def full(*args: Any, **options: Any) -> bool:
        raise StoreError("storage_full", desk.store.path)

    monkeypatch.setattr(module.records, "end", full)
    failed = await desk.download("alpha")
    assert error(failed)["code"] == "artifact_invalid"
    assert desk.rows()["jobs"] == [(failed.job_id, "downloading")]
    assert [row.state for row in await desk.downloads.rows(10)] == ["failed"]
    monkeypatch.setattr(module.records, "end", end)
    book: Any = SimpleNamespace(settle=desk.detached.close)
    await Retention(store=desk.store, book=book, clock=desk.clock, settle=[desk.downloads.settle]).sweep()
    assert desk.rows()["jobs"] == [(failed.job_id, "failed")]
    desk.mirror.fault = "none"
    assert (await desk.download("alpha")).state == "committed"


async def test_a_defect_ends_the_job_and_names_a_reference(
    desk: DownloadDesk, monkeypatch: pytest.MonkeyPatch, expected_warnings: Any
) -> None:
    expected_warnings("download_lost")

    def defective(*_: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(download_files, "missing_files", defective)
    status = await desk.download("alpha")
    assert error(status)["details"] == {"reference": status.job_id}
    assert untouched(desk)


# --- cancelling ---


async def test_a_cancelled_download_is_gone_when_the_answer_comes(desk: DownloadDesk) -> None:
    desk.mirror.hold(MODEL)
    job_id = (await desk.start("alpha")).job_id
    await desk.until_state(job_id, "downloading")
    assert flat(await desk.downloads.cancel(job_id)) == {"job_id": job_id, "state": "cancelled"}
    assert untouched(desk)
    assert flat(await desk.downloads.cancel(job_id)) == {"job_id": job_id, "state": "cancelled"}
    assert desk.ended == [job_id]
    assert (desk.counters.minted, desk.counters.failed) == (1, 1)


async def test_a_cancellation_holds_for_everyone_and_the_next_request_begins_anew(desk: DownloadDesk) -> None:
    gate = desk.mirror.hold(MODEL)
    first = await desk.start("alpha", "a")
    second = await desk.start("alpha", "b")
    await desk.downloads.cancel(second.job_id)
    assert (await desk.status(first.job_id)).state == "cancelled"
    gate.set()
    again = await desk.download("alpha", "a")
    assert (again.job_id != first.job_id, again.state) == (True, "committed")


async def test_a_committed_download_stays_committed(desk: DownloadDesk) -> None:
    job_id = (await desk.download("alpha")).job_id
    assert flat(await desk.downloads.cancel(job_id)) == {"job_id": job_id, "state": "committed"}
    assert desk.stored() == desk.files("alpha")


async def test_an_unknown_job_cannot_be_cancelled(desk: DownloadDesk) -> None:
    with pytest.raises(SynapseError) as caught:
        await desk.downloads.cancel("job-9")
    assert (caught.value.code, caught.value.level) == ("invalid_request", "semantic")
    assert caught.value.details == {"job_id": "job-9"}


async def test_cancelling_while_files_are_published_takes_back_the_new_ones_only(
    desk: DownloadDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    await desk.download("beta")
    publish, published = BlobWriter.publish, asyncio.Event()
    loop = asyncio.get_running_loop()

    def slow(writer: BlobWriter, name: str, *args: Any, **options: Any) -> Any:
        blob = publish(writer, name, *args, **options)
        if name == "model.safetensors":
            loop.call_soon_threadsafe(published.set)
            asyncio.run_coroutine_threadsafe(cancelled.wait(), loop).result(5)
        return blob

    cancelled = asyncio.Event()
    monkeypatch.setattr(BlobWriter, "publish", slow)
    job_id = (await desk.start("alpha")).job_id
    await published.wait()
    assert desk.rows()["blobs"] != []
    cancelling = asyncio.create_task(desk.downloads.cancel(job_id))
    await desk.until_state(job_id, "cancelled")
    cancelled.set()
    assert (await cancelling).state == "cancelled"
    assert desk.stored() == desk.files("beta")
    assert (desk.left_over(), desk.rows()["blobs"]) == ([], [])


async def test_a_cancellation_that_cannot_be_written_changes_nothing(
    desk: DownloadDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = desk.mirror.hold(MODEL)
    job_id = (await desk.start("alpha")).job_id
    await desk.until_state(job_id, "downloading")

    def full(*_: Any, **__: Any) -> bool:
        raise StoreError("storage_full", desk.store.path)

    with monkeypatch.context() as patched:
        patched.setattr(module.records, "end", full)
        with pytest.raises(StoreError):
            await desk.downloads.cancel(job_id)
    gate.set()
    assert (await desk.end(job_id)).state == "committed"


async def test_stopping_leaves_the_job_to_the_next_start_and_no_file(desk: DownloadDesk) -> None:
    desk.mirror.hold(MODEL)
    job_id = (await desk.start("alpha")).job_id
    await desk.until_state(job_id, "downloading")
    await desk.downloads.close()
    assert desk.rows()["jobs"] == [(job_id, "downloading")]
    assert (desk.stored(), desk.left_over(), desk.ended) == (set(), [], [])
