"""Bringing files in: what arrives is exactly what was pinned, or a typed failure and nothing left behind."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures.clocks import FakeClock
from fixtures.expected_warnings import ExpectedWarnings
from fixtures.mirror import Fault, Mirror, running_mirror
from synapse_service.catalog.blob_leases import BlobLease
from synapse_service.catalog.blobs import BlobStore, BlobWriter
from synapse_service.catalog.fetch import Fetcher
from synapse_service.catalog.http_body import BodyFetcher
from synapse_service.catalog.sources import Source
from synapse_wire.errors import SynapseError
from synapse_wire.results import BlobHolder

BODY = bytes(range(256)) * 8000
SHA = hashlib.sha256(BODY).hexdigest()


@pytest.fixture
def mirror() -> Iterator[Mirror]:
    with running_mirror() as mirror:
        mirror.files["/m"] = BODY
        yield mirror


@pytest.fixture
def store(tmp_path: Path) -> BlobStore:
    store = BlobStore(tmp_path / "cache")
    store.prepare()
    return store


@pytest.fixture
def fetcher(store: BlobStore) -> Fetcher:
    return Fetcher(store, bodies(store))


@pytest.fixture
def lease(store: BlobStore) -> BlobLease:
    return store.leases.take(BlobHolder(kind="job", job_id="job-1"))


def bodies(store: BlobStore) -> BodyFetcher:
    async def no_pause(seconds: float) -> None:
        return None

    return BodyFetcher(
        store, proxy=lambda: None, ca_file=lambda: None, clock=FakeClock(), no_byte_timeout_s=0.3, sleep=no_pause
    )


def source(mirror: Mirror, path: str = "/m", sha256: str = SHA) -> Source:
    return Source("model", "model.safetensors", sha256, url=mirror.base + path)


async def failure(fetcher: Fetcher, lease: BlobLease, wanted: Source) -> SynapseError:
    with pytest.raises(SynapseError) as caught:
        await fetcher.fetch(wanted, lease)
    return caught.value


def left(store: BlobStore) -> list[str]:
    return [path.name for folder in (store.staging, store.blobs) for path in folder.iterdir()]


async def test_a_fetched_file_is_verified_stored_and_held(
    mirror: Mirror, fetcher: Fetcher, store: BlobStore, lease: BlobLease
) -> None:
    blob = await fetcher.fetch(source(mirror), lease)
    assert (blob.sha256, blob.size) == (SHA, len(BODY))
    assert store.path(SHA).read_bytes() == BODY
    assert lease.digests == {SHA}


async def test_a_stored_file_is_not_fetched_again(mirror: Mirror, fetcher: Fetcher, lease: BlobLease) -> None:
    await fetcher.fetch(source(mirror), lease)
    await fetcher.fetch(source(mirror), lease)
    assert len(mirror.requests) == 1


async def test_a_damaged_stored_file_is_fetched_again(
    mirror: Mirror, fetcher: Fetcher, store: BlobStore, lease: BlobLease, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("corrupt_blob")
    await fetcher.fetch(source(mirror), lease)
    store.path(SHA).write_bytes(BODY[:-1] + b"\x00")
    await fetcher.fetch(source(mirror), lease)
    assert store.path(SHA).read_bytes() == BODY
    assert len(mirror.requests) == 2


async def test_a_flipped_byte_is_artifact_invalid_with_both_digests(
    mirror: Mirror, fetcher: Fetcher, store: BlobStore, lease: BlobLease
) -> None:
    mirror.fault = "flip"
    error = await failure(fetcher, lease, source(mirror))
    flipped = BODY[: len(BODY) // 2] + bytes([BODY[len(BODY) // 2] ^ 1]) + BODY[len(BODY) // 2 + 1 :]
    assert error.code == "artifact_invalid"
    assert error.details == {
        "file": "model.safetensors",
        "expected_sha256": SHA,
        "actual_sha256": hashlib.sha256(flipped).hexdigest(),
        "expected_size": None,
        "actual_size": len(BODY),
        "recovery_op": "model.load",
    }
    assert left(store) == []
    mirror.fault = "none"
    await fetcher.fetch(source(mirror), lease)


async def test_an_empty_body_is_artifact_invalid_with_the_digest_of_nothing(
    mirror: Mirror, fetcher: Fetcher, lease: BlobLease
) -> None:
    mirror.fault = "empty"
    error = await failure(fetcher, lease, source(mirror))
    assert error.details is not None
    assert error.details["actual_size"] == 0
    assert error.details["actual_sha256"] == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


@pytest.mark.parametrize("fault", ["early_close", "stall", "gzip"])
async def test_a_broken_transfer_is_download_failed_network(
    mirror: Mirror, fetcher: Fetcher, store: BlobStore, lease: BlobLease, fault: Fault
) -> None:
    mirror.fault = fault
    error = await failure(fetcher, lease, source(mirror))
    assert error.code == "download_failed"
    assert error.details == {"file": "model.safetensors", "reason": "network", "http_status": None}
    assert error.retry_after_ms == 1000
    assert left(store) == []


async def test_redirects_on_this_machine_are_followed(mirror: Mirror, fetcher: Fetcher, lease: BlobLease) -> None:
    mirror.redirects = {"/a": "/b", "/b": f"{mirror.base}/m"}
    assert (await fetcher.fetch(source(mirror, "/a"), lease)).sha256 == SHA


async def test_a_redirect_loop_ends(mirror: Mirror, fetcher: Fetcher, lease: BlobLease) -> None:
    mirror.redirects = {"/a": "/a"}
    error = await failure(fetcher, lease, source(mirror, "/a"))
    assert "5 times" in error.message
    assert len(mirror.requests) == 6


async def test_a_local_file_is_copied_and_held(
    fetcher: Fetcher, store: BlobStore, lease: BlobLease, tmp_path: Path
) -> None:
    file = tmp_path / "config.json"
    file.write_bytes(BODY)
    await fetcher.fetch(Source("config", "config.json", None, path=file), lease)
    assert store.path(SHA).read_bytes() == BODY
    assert lease.digests == {SHA}


async def test_a_local_file_that_is_not_there_names_its_field(
    fetcher: Fetcher, lease: BlobLease, tmp_path: Path
) -> None:
    error = await failure(fetcher, lease, Source("config", "config.json", None, path=tmp_path / "config.json"))
    assert (error.code, error.level, error.details) == ("invalid_request", "semantic", {"field": "files.config"})
    assert str(tmp_path / "config.json") in error.message


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
async def test_a_pipe_in_place_of_a_file_is_refused_and_holds_up_nobody(
    fetcher: Fetcher, lease: BlobLease, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe")
    error = await failure(fetcher, lease, Source("model", "pipe", None, path=tmp_path / "pipe"))
    assert (error.code, error.level, error.details) == ("invalid_request", "semantic", {"field": "files.model"})
    assert error.message == f"the file can't be read: not a regular file: {tmp_path / 'pipe'}"


async def test_a_copy_from_disk_ends_when_nobody_waits_for_it_any_more(
    fetcher: Fetcher, store: BlobStore, lease: BlobLease, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "big").write_bytes(bytes(3 << 20))
    copied: list[int] = []
    cancelled = threading.Event()
    loop = asyncio.get_running_loop()
    write = BlobWriter.write

    def write_and_wait(writer: BlobWriter, data: bytes) -> None:
        write(writer, data)
        copied.append(len(data))
        loop.call_soon_threadsafe(copying.cancel)
        cancelled.wait(5)  # A thread copies on by itself until it is told to stop.

    monkeypatch.setattr(BlobWriter, "write", write_and_wait)
    copying = asyncio.create_task(fetcher.fetch(Source("model", "big", None, path=tmp_path / "big"), lease))
    await asyncio.gather(copying, return_exceptions=True)
    cancelled.set()
    await loop.shutdown_default_executor()
    assert copied == [1 << 20]
    assert left(store) == []


async def test_a_disk_that_can_not_be_written_is_not_taken_for_an_unreadable_source(
    mirror: Mirror,
    fetcher: Fetcher,
    store: BlobStore,
    lease: BlobLease,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    def read_only(self: BlobWriter, data: bytes) -> None:
        raise OSError(errno.EROFS, "Read-only file system", str(store.staging / "x"))

    monkeypatch.setattr(BlobWriter, "write", read_only)
    local = tmp_path / "model.safetensors"
    local.write_bytes(BODY)
    for wanted in (source(mirror), Source("model", "model.safetensors", SHA, path=local)):
        error = await failure(fetcher, lease, wanted)
        assert (error.code, error.details) == ("store_failure", {"reason": "read_only", "path": str(store.root)})


@pytest.mark.parametrize("local", [False, True])
@pytest.mark.parametrize(
    ("method", "error", "reason"),
    [
        ("verify", OSError(errno.EIO, "Input/output error"), "io_error"),
        ("find", OSError(errno.EIO, "Input/output error", "blobs/file"), "io_error"),
        ("quarantine", OSError(errno.EROFS, "Read-only file system", "blobs/file"), "read_only"),
    ],
)
async def test_a_stored_file_that_the_disk_does_not_give_is_a_fault_of_the_disk(
    mirror: Mirror,
    fetcher: Fetcher,
    store: BlobStore,
    lease: BlobLease,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    expected_warnings: ExpectedWarnings,
    method: str,
    error: OSError,
    reason: str,
    local: bool,
) -> None:
    def broken(*_: object) -> None:
        raise error

    await fetcher.fetch(source(mirror), lease)
    store.path(SHA).write_bytes(BODY[:-1] + b"\x00")
    if method == "quarantine":
        expected_warnings("corrupt_blob")
    monkeypatch.setattr(store, method, broken)
    path = tmp_path / "model.safetensors"
    path.write_bytes(BODY)
    wanted = Source("model", "model.safetensors", SHA, path=path) if local else source(mirror)
    found = await failure(fetcher, lease, wanted)
    assert (found.code, found.details) == ("store_failure", {"reason": reason, "path": str(store.root)})


async def test_a_disk_that_is_away_is_said_when_a_file_is_fetched(
    mirror: Mirror, fetcher: Fetcher, store: BlobStore, lease: BlobLease
) -> None:
    store.store_id = "this one"
    shutil.rmtree(store.root)
    error = await failure(fetcher, lease, source(mirror))
    assert (error.code, error.details) == ("store_failure", {"reason": "disk_missing", "path": str(store.root)})
    assert not store.root.exists()


@pytest.mark.parametrize("place", ["nothing", "cache-of-mine/nothing"])
async def test_a_source_that_can_not_be_read_is_the_callers_to_mend(
    fetcher: Fetcher, store: BlobStore, lease: BlobLease, tmp_path: Path, place: str
) -> None:
    assert store.root == tmp_path / "cache"  # The second place only begins with the same letters.
    wanted = Source("model", "model.safetensors", SHA, path=tmp_path / place)
    error = await failure(fetcher, lease, wanted)
    assert (error.code, error.details) == ("invalid_request", {"field": "files.model"})
