"""The store of model files: nothing half-written, nothing unverified, nothing swapped goes unnoticed."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from fixtures.expected_warnings import ExpectedWarnings
from synapse_service.catalog import blobs as module
from synapse_service.catalog.blob_files import StorageFull
from synapse_service.catalog.blobs import BlobStore, DigestMismatch
from synapse_wire.results import BlobHolder

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


def test_a_file_that_can_not_be_thrown_away_is_a_mismatch_all_the_same(
    store: BlobStore, monkeypatch: pytest.MonkeyPatch, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("staged_file_not_removed")
    writer = store.writer()
    writer.write(b"other bytes")

    def refused(path: Path, missing_ok: bool = False) -> None:
        raise OSError(errno.EROFS, "Read-only file system", str(path))

    monkeypatch.setattr(Path, "unlink", refused)
    with pytest.raises(DigestMismatch):
        writer.check("model.safetensors", SHA)
    (left,) = store.staging.iterdir()
    assert expected_warnings.fields("staged_file_not_removed") == {"path": str(left), "reason": "Read-only file system"}


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


def test_a_folder_is_not_adopted(store: BlobStore, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(OSError, match=re.escape(str(folder))):
        store.adopt(folder, None)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_not_adopted_and_not_waited_for(store: BlobStore, tmp_path: Path) -> None:
    # Nobody writes into it: without O_NONBLOCK in `open_regular` this never ends.
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a regular file"):
        store.adopt(tmp_path / "pipe", None)
    assert list(store.staging.iterdir()) == []


def test_a_link_to_a_file_is_adopted_as_the_file(store: BlobStore, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(CONTENT)
    (tmp_path / "link").symlink_to(tmp_path / "file")
    assert store.adopt(tmp_path / "link", SHA).size == len(CONTENT)


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


def put(store: BlobStore, content: bytes = CONTENT) -> str:
    """Store a file; its digest."""
    writer = store.writer()
    writer.write(content)
    return writer.publish("m", None).sha256


def test_a_disk_that_takes_only_a_part_of_the_bytes_is_given_the_rest(
    store: BlobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Goes red without the loop in `BlobWriter.write`: the rest would be missing under a digest that covers it.
    opened = module.os.fdopen

    class Hesitant:
        def __init__(self, stream: BinaryIO) -> None:
            self._stream = stream

        def write(self, data: memoryview) -> int:
            return self._stream.write(data[:3])

        def __getattr__(self, name: str) -> Any:
            return getattr(self._stream, name)

    monkeypatch.setattr(module.os, "fdopen", lambda *a, **k: Hesitant(opened(*a, **k)))
    assert store.path(put(store, b"ten bytes!")).read_bytes() == b"ten bytes!"


def test_a_file_that_begins_anew_has_nothing_of_its_first_beginning(store: BlobStore) -> None:
    writer = store.writer()
    writer.write(b"a much longer beginning")
    writer.restart()
    writer.write(b"short")
    assert writer.size == 5
    blob = writer.publish("m", hashlib.sha256(b"short").hexdigest(), 5)
    assert store.path(blob.sha256).read_bytes() == b"short"


def test_a_writer_that_got_no_byte_makes_no_file(store: BlobStore) -> None:
    writer = store.writer()
    assert list(store.staging.iterdir()) == []
    writer.discard()


def test_a_folder_left_in_staging_is_removed_at_start_and_a_link_is_not_followed(
    store: BlobStore, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_bytes(b"x")
    (store.staging / "folder").mkdir()
    (store.staging / "folder" / "file").write_bytes(b"x")
    (store.staging / "link").symlink_to(outside)
    store.prepare()
    assert list(store.staging.iterdir()) == []
    assert (outside / "precious").exists()


def test_publishing_replaces_a_link_and_not_what_it_leads_to(store: BlobStore, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(b"precious")
    store.path(SHA).symlink_to(outside)
    put(store)
    assert store.path(SHA).read_bytes() == CONTENT
    assert not store.path(SHA).is_symlink()
    assert outside.read_bytes() == b"precious"


def test_only_whole_files_named_by_a_digest_are_counted(store: BlobStore, tmp_path: Path) -> None:
    put(store)
    (store.blobs / "note.txt").write_bytes(b"x")
    (store.blobs / ("a" * 64)).symlink_to(tmp_path)
    (store.blobs / ("b" * 64)).mkdir()
    assert store.sizes() == {SHA: len(CONTENT)}


# --- damage ---


def corrupt(store: BlobStore) -> None:
    with pytest.raises(DigestMismatch):
        store.verify(SHA, len(CONTENT), "m")


def test_quarantine_keeps_the_corrupt_file_aside_and_tells(store: BlobStore) -> None:
    told: list[str] = []
    store.on_quarantine(told.append)
    store.path(SHA).write_bytes(b"corrupt")
    corrupt(store)
    store.quarantine(SHA)
    assert store.find(SHA) is None
    assert store.quarantined() == {SHA: 7}
    assert told == [SHA]
    assert store.forget_quarantined(SHA) == 7
    assert store.quarantined() == {}


def test_a_file_that_is_gone_is_told_like_a_corrupt_one(store: BlobStore) -> None:
    told: list[str] = []
    store.on_quarantine(told.append)
    corrupt(store)
    store.quarantine(SHA)
    assert told == [SHA]


def test_a_file_that_was_gone_and_is_back_before_quarantine_stays(store: BlobStore) -> None:
    told: list[str] = []
    store.on_quarantine(told.append)
    corrupt(store)
    put(store)
    store.quarantine(SHA)
    assert store.path(SHA).read_bytes() == CONTENT
    assert (store.quarantined(), told) == ({}, [])


def test_a_file_that_was_mended_between_finding_and_quarantine_stays(store: BlobStore) -> None:
    # Goes red without the comparison of identities in `quarantine`: a repair that ran meanwhile would be undone.
    store.path(SHA).write_bytes(b"corrupt")
    corrupt(store)
    put(store)
    store.quarantine(SHA)
    assert store.path(SHA).read_bytes() == CONTENT


# --- removal ---


def test_a_condemned_file_is_out_of_the_store_and_can_be_put_back(store: BlobStore) -> None:
    put(store)
    condemned = store.condemn(SHA)
    assert condemned is not None
    assert (store.find(SHA), condemned.size, store.condemned()) == (None, len(CONTENT), [condemned])
    store.restore(condemned)
    assert store.path(SHA).read_bytes() == CONTENT
    assert store.condemned() == []


def test_a_condemned_file_is_removed_once_and_counted_once(store: BlobStore) -> None:
    put(store)
    condemned = store.condemn(SHA)
    assert condemned is not None
    assert [store.destroy(condemned), store.destroy(condemned)] == [len(CONTENT), 0]
    assert store.condemn(SHA) is None


def test_a_file_that_was_stored_anew_is_not_overwritten_by_the_old_one(store: BlobStore) -> None:
    put(store)
    condemned = store.condemn(SHA)
    assert condemned is not None
    put(store)
    store.restore(condemned)
    assert store.condemned() == []
    assert store.path(SHA).read_bytes() == CONTENT


def test_a_file_that_somebody_holds_is_not_condemned(store: BlobStore) -> None:
    # Goes red without `unless_held` in `condemn`.
    put(store)
    with store.leases.take(BlobHolder(kind="job", job_id="j"), [SHA]):
        assert store.condemn(SHA) is None
    assert store.condemn(SHA) is not None


def test_a_lease_holds_a_file_from_before_it_is_there(store: BlobStore) -> None:
    lease = store.leases.take(BlobHolder(kind="job", job_id="j"))
    writer = store.writer()
    writer.write(CONTENT)
    writer.publish("m", SHA, lease=lease)
    assert lease.digests == {SHA}
    assert store.leases.holders() == {SHA: [BlobHolder(kind="job", job_id="j")]}
    lease.release()
    lease.release()
    assert store.leases.holders() == {}


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
