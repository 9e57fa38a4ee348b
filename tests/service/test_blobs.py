"""The store of model files: nothing half-written, nothing unverified, nothing swapped goes unnoticed."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from pathlib import Path

import pytest

from synapse_service.catalog import blobs as module
from synapse_service.catalog.blobs import BlobStore, DigestMismatch, StorageFull

CONTENT = b"weights " * 1000
SHA = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def store(tmp_path: Path) -> BlobStore:
    store = BlobStore(tmp_path / "cache")
    store.prepare()
    return store


def test_a_published_file_is_found_by_its_digest_and_only_its_owner_may_read_it(store: BlobStore) -> None:
    writer = store.writer()
    writer.write(CONTENT[:10])
    writer.write(CONTENT[10:])
    blob = writer.publish("model.safetensors", SHA)
    assert (blob.sha256, blob.size) == (SHA, len(CONTENT))
    assert store.find(SHA) == blob
    assert stat.S_IMODE(store.path(SHA).stat().st_mode) == 0o600
    assert list(store.staging.iterdir()) == []


def test_a_wrong_digest_leaves_nothing_behind_and_reports_both(store: BlobStore) -> None:
    writer = store.writer()
    writer.write(b"other bytes")
    with pytest.raises(DigestMismatch) as caught:
        writer.publish("model.safetensors", SHA)
    assert caught.value.actual is not None
    assert caught.value.actual.sha256 == hashlib.sha256(b"other bytes").hexdigest()
    assert caught.value.actual.size == 11
    assert list(store.staging.iterdir()) == []
    assert list(store.blobs.iterdir()) == []


def test_an_empty_body_has_the_digest_of_nothing(store: BlobStore) -> None:
    with pytest.raises(DigestMismatch) as caught:
        store.writer().publish("model.safetensors", SHA)
    assert caught.value.actual is not None
    assert caught.value.actual.sha256 == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert caught.value.actual.size == 0


def test_adopting_a_file_copies_it_and_tells_how_far_it_is(store: BlobStore, tmp_path: Path) -> None:
    source = tmp_path / "model.safetensors"
    source.write_bytes(CONTENT)
    seen: list[int] = []
    blob = store.adopt(source, SHA, seen.append)
    assert sum(seen) == len(CONTENT)
    source.unlink()
    assert store.path(blob.sha256).read_bytes() == CONTENT


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_not_adopted(store: BlobStore, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(OSError, match=r"regular file|directory"):
        store.adopt(folder, None)


def test_leftovers_in_staging_are_removed_at_start(store: BlobStore) -> None:
    (store.staging / "half").write_bytes(b"x")
    store.prepare()
    assert list(store.staging.iterdir()) == []


def test_a_verified_file_is_not_read_again_until_it_changes(
    store: BlobStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "m"
    source.write_bytes(CONTENT)
    store.adopt(source, SHA)
    reads: list[str] = []
    digest = hashlib.file_digest

    def counting(stream: object, name: str) -> object:
        reads.append(name)
        return digest(stream, name)  # type: ignore[arg-type]

    monkeypatch.setattr(module.hashlib, "file_digest", counting)
    store.verify(SHA, len(CONTENT), "m")
    store.verify(SHA, len(CONTENT), "m")
    assert len(reads) == 1
    os.utime(store.path(SHA), ns=(1, 1))
    store.verify(SHA, len(CONTENT), "m")
    assert len(reads) == 2


def test_a_blob_swapped_for_one_of_equal_size_is_noticed_even_with_its_old_times(
    store: BlobStore, tmp_path: Path
) -> None:
    source = tmp_path / "m"
    source.write_bytes(CONTENT)
    store.adopt(source, SHA)
    path = store.verify(SHA, len(CONTENT), "m")
    before = path.stat()
    swapped = CONTENT[:-1] + b"X"
    path.write_bytes(swapped)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(DigestMismatch) as caught:
        store.verify(SHA, len(CONTENT), "m")
    assert caught.value.actual is not None
    assert caught.value.actual.sha256 == hashlib.sha256(swapped).hexdigest()


def test_a_missing_blob_and_a_link_are_no_blobs(store: BlobStore, tmp_path: Path) -> None:
    with pytest.raises(DigestMismatch) as caught:
        store.verify(SHA, len(CONTENT), "m")
    assert caught.value.actual is None
    outside = tmp_path / "outside"
    outside.write_bytes(CONTENT)
    store.path(SHA).symlink_to(outside)
    assert store.find(SHA) is None
    with pytest.raises(DigestMismatch):
        store.verify(SHA, len(CONTENT), "m")


def test_quarantine_keeps_the_corrupt_file_aside(store: BlobStore) -> None:
    store.path(SHA).write_bytes(b"corrupt")
    store.quarantine(SHA)
    assert store.find(SHA) is None
    assert (store.root / "quarantine" / SHA).read_bytes() == b"corrupt"
    store.quarantine(SHA)


def test_a_full_disk_is_called_a_full_disk(store: BlobStore, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = store.writer()

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    writer.write(b"x")
    monkeypatch.setattr(module.os, "fsync", full)
    with pytest.raises(StorageFull):
        writer.publish("m", None)
    writer.discard()
    assert list(store.staging.iterdir()) == []
