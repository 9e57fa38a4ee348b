"""The content-addressed store of model files: one file per SHA-256, verified before a worker maps it.

``<root>/blobs/<sha256>`` holds whole, verified files; ``<root>/staging`` holds files that are still arriving. A file
becomes a blob by a rename after its bytes are on disk, so a blob name never stands for half a file, and staging can
be emptied whenever no writer is alive. All functions block; the service calls them from worker threads.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final
from uuid import uuid4

CHUNK_BYTES: Final = 1 << 20
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})


@dataclass(frozen=True, slots=True)
class Blob:
    """A stored file: its SHA-256 in lower-case hex, and its size in bytes."""

    sha256: str
    size: int


class BlobError(Exception):
    """A file could not be stored or is not what it should be."""


class DigestMismatch(BlobError):
    """The bytes differ from what was expected. ``actual`` is None when there is no file."""

    def __init__(self, name: str, expected_sha256: str, expected_size: int | None, actual: Blob | None) -> None:
        super().__init__(name)
        self.name = name
        self.expected_sha256 = expected_sha256
        self.expected_size = expected_size
        self.actual = actual

    def __str__(self) -> str:
        found = f"has SHA-256 {self.actual.sha256} ({self.actual.size} bytes)" if self.actual else "is missing"
        return f"{self.name} {found}, expected {self.expected_sha256}"


class StorageFull(BlobError):
    """The disk that holds the store has no room left."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        self.path = path

    def __str__(self) -> str:
        return f"no space is left on the disk that holds {self.path}"


class BlobWriter:
    """One arriving file. Feed it with :meth:`write`, then :meth:`publish` or :meth:`discard` it."""

    def __init__(self, store: BlobStore, path: Path, stream: BinaryIO) -> None:
        self._store = store
        self._path = path
        self._stream = stream
        self._hash = hashlib.sha256()
        self.size = 0

    def write(self, data: bytes) -> None:
        """Append ``data``; raises :class:`StorageFull`."""
        with _storage_full(self._path):
            self._stream.write(data)
        self._hash.update(data)
        self.size += len(data)

    def publish(self, name: str, expected_sha256: str | None, expected_size: int | None = None) -> Blob:
        """Check the digest and make the file a blob; a mismatch leaves nothing behind."""
        blob = Blob(self._hash.hexdigest(), self.size)
        wrong_size = expected_size is not None and expected_size != blob.size
        if wrong_size or (expected_sha256 is not None and expected_sha256 != blob.sha256):
            self.discard()
            raise DigestMismatch(name, expected_sha256 or blob.sha256, expected_size, blob)
        with _storage_full(self._path):
            self._stream.flush()
            os.fsync(self._stream.fileno())
            self._stream.close()
            self._path.replace(self._store.path(blob.sha256))
            _sync_folder(self._store.blobs)
        return blob

    def discard(self) -> None:
        """Throw the file away; harmless after either ending."""
        with contextlib.suppress(OSError):
            self._stream.close()
        self._path.unlink(missing_ok=True)


class BlobStore:
    """The files under one cache folder.

    A digest is computed once per file identity (inode, size, modification and change time) and remembered for the
    life of the process, so an untouched file costs one pass and a swapped or rewritten one is always noticed.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.blobs = root / "blobs"
        self.staging = root / "staging"
        self._verified: dict[str, tuple[int, int, int, int]] = {}

    def prepare(self) -> None:
        """Create the folders and empty the staging area that a dead process may have left."""
        for folder in (self.blobs, self.staging):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for leftover in self.staging.iterdir():
            leftover.unlink()

    def path(self, sha256: str) -> Path:
        """Where the blob is, or would be."""
        return self.blobs / sha256

    def find(self, sha256: str) -> Blob | None:
        """The stored blob, judged by its name alone."""
        status = _regular(self.path(sha256))
        return Blob(sha256, status.st_size) if status else None

    def writer(self) -> BlobWriter:
        """A new file in the staging area."""
        path = self.staging / uuid4().hex
        with _storage_full(path):
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        return BlobWriter(self, path, os.fdopen(descriptor, "wb", buffering=0))

    def adopt(self, source: Path, expected_sha256: str | None, on_bytes: Callable[[int], None] | None = None) -> Blob:
        """Copy a file into the store. ``on_bytes`` hears the size of each copied chunk.

        Raises :class:`DigestMismatch`, :class:`StorageFull`, or OSError when ``source`` can't be read.
        """
        with source.open("rb", buffering=0) as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                raise OSError(errno.EINVAL, "not a regular file", str(source))
            writer = self.writer()
            try:
                while chunk := stream.read(CHUNK_BYTES):
                    writer.write(chunk)
                    if on_bytes is not None:
                        on_bytes(len(chunk))
                return writer.publish(source.name, expected_sha256)
            finally:
                writer.discard()

    def verify(self, sha256: str, size: int, name: str) -> Path:
        """The path of a blob whose bytes have just been proven; raises :class:`DigestMismatch`."""
        path = self.path(sha256)
        status = _regular(path)
        if status is None:
            raise DigestMismatch(name, sha256, size, None)
        identity = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        if self._verified.get(sha256) != identity:
            with path.open("rb") as stream:
                actual = hashlib.file_digest(stream, "sha256").hexdigest()
            if actual != sha256 or status.st_size != size:
                self._verified.pop(sha256, None)
                raise DigestMismatch(name, sha256, size, Blob(actual, status.st_size))
            self._verified[sha256] = identity
        return path

    def quarantine(self, sha256: str) -> None:
        """Take a corrupt file out of the store, kept aside under its name so that it can be looked at."""
        aside = self.root / "quarantine"
        aside.mkdir(mode=0o700, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            self.path(sha256).replace(aside / sha256)
        self._verified.pop(sha256, None)


def _regular(path: Path) -> os.stat_result | None:
    # A link in the store was put there by somebody else; it is treated as no blob at all.
    try:
        status = path.lstat()
    except FileNotFoundError:
        return None
    return status if stat.S_ISREG(status.st_mode) else None


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _storage_full(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise StorageFull(path) from error
        raise
