"""The content-addressed store of model files: one file per SHA-256, verified before a worker maps it.

``<root>/blobs/<sha256>`` holds whole, verified files; ``<root>/staging`` holds files that are still arriving. A file
becomes a blob by a rename after its bytes are on disk, so a blob name never stands for half a file, and staging can be
emptied whenever no writer is alive. ``<root>/packages/<sha256>`` is what a worker unpacked from a blob, and goes when
the blob does; what one that has died was unpacking goes with the next collection. A file leaves in two steps: a rename
into ``<root>/condemned``, which can be taken back, then the removal. ``<root>/quarantine`` keeps corrupt files. Only
regular files count as blobs; links and folders that somebody put there are never followed. Whether the folder is a
store at all is told by its marker, see ``store_marker``.

All functions block, except making a writer; the service calls them from worker threads. One service at a time may use
a root.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final
from uuid import uuid4

import psutil

from synapse_engines.coreml.archives import UNPACKING
from synapse_service.catalog.blob_files import (
    DIGEST,
    BlobError,
    Identity,
    full_disks,
    identity,
    open_regular,
    regular,
    remove_tree,
    sizes_of,
    tree_bytes,
    unlink,
)
from synapse_service.catalog.blob_leases import BlobLease, BlobLeases
from synapse_service.catalog.store_marker import StorageUnavailable, read_marker
from synapse_service.durable_files import sync_file, sync_folder
from synapse_service.logs import get_logger

CHUNK_BYTES: Final = 1 << 20
_NO_FOLLOW: Final = getattr(os, "O_NOFOLLOW", 0)

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Blob:
    """A stored file: its SHA-256 in lower-case hex, and its size in bytes."""

    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class Condemned:
    """A file that was taken out of the store and is still on the disk, at ``path``."""

    sha256: str
    size: int
    path: Path


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


class BlobWriter:
    """One arriving file. Feed it with :meth:`write`, then :meth:`publish` or :meth:`discard` it.

    ``size`` is the number of bytes that have arrived. The file is made when the first of them does. ``published`` is
    true once it is a blob.
    """

    def __init__(self, store: BlobStore, path: Path) -> None:
        self._store = store
        self._path = path
        self._stream: BinaryIO | None = None
        self._hash = hashlib.sha256()
        self.size = 0
        self.published = False

    def write(self, data: bytes) -> None:
        """Append ``data``; raises :class:`StorageFull`."""
        rest = memoryview(data)
        with full_disks(self._path):
            stream = self._open()
            while rest:
                # A disk that is nearly full takes a part of the bytes and says so only in this number.
                rest = rest[stream.write(rest) :]
        self._hash.update(data)
        self.size += len(data)

    def restart(self) -> None:
        """Forget what has arrived: the file begins anew."""
        if self._stream is not None:
            self._stream.seek(0)
            self._stream.truncate()
        self._hash = hashlib.sha256()
        self.size = 0

    def check(self, name: str, expected_sha256: str | None, expected_size: int | None = None) -> Blob:
        """What has arrived, if it is what was expected; a mismatch raises and leaves nothing behind."""
        blob = Blob(self._hash.hexdigest(), self.size)
        wrong_size = expected_size is not None and expected_size != blob.size
        if wrong_size or (expected_sha256 is not None and expected_sha256 != blob.sha256):
            self.discard()
            raise DigestMismatch(name, expected_sha256 or blob.sha256, expected_size, blob)
        return blob

    def publish(
        self,
        name: str,
        expected_sha256: str | None,
        expected_size: int | None = None,
        *,
        lease: BlobLease | None = None,
    ) -> Blob:
        """Check the file and make it a blob, which ``lease`` then holds; a mismatch leaves nothing behind."""
        blob = self.check(name, expected_sha256, expected_size)
        with full_disks(self._path):
            stream = self._open()
            sync_file(stream)
            stream.close()
            if lease is not None:
                lease.add(blob.sha256)
            self._path.replace(self._store.path(blob.sha256))
            self.published = True
            sync_folder(self._store.blobs)
        return blob

    def discard(self) -> None:
        """Throw the file away; harmless after either ending. What the disk keeps is removed at the next start."""
        if self._stream is None or self.published:
            return
        with contextlib.suppress(OSError):
            self._stream.close()
        try:
            self._path.unlink(missing_ok=True)
        except OSError as error:
            # What went wrong before is what has to be told, and whoever cleans up has more to do.
            _log.warning("staged_file_not_removed", path=str(self._path), reason=error.strerror)

    def _open(self) -> BinaryIO:
        if self._stream is None:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            self._stream = os.fdopen(descriptor, "wb", buffering=0)
        return self._stream


class BlobStore:
    """The files under one cache folder, and in ``leases`` who holds them.

    A digest is computed once per file identity (inode, size, modification and change time) and remembered for the
    life of the process, so an untouched file costs one pass and a swapped or rewritten one is always noticed.
    """

    def __init__(self, root: Path) -> None:
        self.leases = BlobLeases()
        self.store_id: str | None = None
        self._on_quarantine: list[Callable[[str], None]] = []
        self.relocate(root)

    def relocate(self, root: Path, like: BlobStore | None = None) -> None:
        """Go on under another folder, with what ``like``, a store there, has verified. Nobody may hold a file."""
        self.root = root
        self.blobs = root / "blobs"
        self.staging = root / "staging"
        self.packages = root / "packages"
        self._condemned = root / "condemned"
        self._quarantine = root / "quarantine"
        self._verified: dict[str, Identity] = {} if like is None else dict(like._verified)
        self._found_corrupt: dict[str, Identity] = {}

    def require_present(self) -> None:
        """Raise StorageUnavailable when the folder isn't this store's any more: what is missing then isn't gone.

        A store without an id is always there.
        """
        if self.store_id is not None and (marker := read_marker(self.root)) != self.store_id:
            raise StorageUnavailable("disk_missing" if marker is None else "another_store", self.root)

    def make_folders(self) -> None:
        """Create the folders that aren't there."""
        for folder in (self.blobs, self.staging, self.packages, self._condemned):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def prepare(self) -> None:
        """Create the folders, empty the staging area that a dead process may have left, and drop stray packages."""
        self.make_folders()
        for unpacked in self.packages.iterdir():
            if not DIGEST.match(unpacked.name) or self.find(unpacked.name) is None:
                remove_tree(unpacked)
        for leftover in self.staging.iterdir():
            remove_tree(leftover)

    def path(self, sha256: str) -> Path:
        """Where the blob is, or would be."""
        return self.blobs / sha256

    def find(self, sha256: str) -> Blob | None:
        """The stored blob, judged by its name alone."""
        status = regular(self.path(sha256))
        return Blob(sha256, status.st_size) if status else None

    def sizes(self) -> dict[str, int]:
        """Every blob with the bytes that it takes, those of what was unpacked from it included."""
        return {sha256: size + tree_bytes(self.packages / sha256) for sha256, size in sizes_of(self.blobs)}

    def file_sizes(self) -> dict[str, int]:
        """Every blob with the size of its own file."""
        return dict(sizes_of(self.blobs))

    def staged_bytes(self) -> int:
        """Bytes of files that are arriving."""
        return sum(status.st_size for path in self.staging.iterdir() if (status := regular(path)) is not None)

    def abandoned_bytes(self) -> int:
        """Bytes of what workers were unpacking when they died."""
        return sum(map(tree_bytes, self._abandoned()))

    def remove_abandoned(self) -> int:
        """Remove what workers were unpacking when they died; the bytes that this gives back."""
        return sum(map(remove_tree, self._abandoned()))

    def _abandoned(self) -> list[Path]:
        found = []
        for folder in self.packages.glob(f"{UNPACKING}*"):
            process = folder.name.removeprefix(UNPACKING).partition("-")[0]
            if not process.isdecimal() or not psutil.pid_exists(int(process)):
                found.append(folder)
        return found

    def writer(self) -> BlobWriter:
        """A new file in the staging area."""
        return BlobWriter(self, self.staging / uuid4().hex)

    def adopt(
        self,
        source: Path,
        expected_sha256: str | None,
        on_bytes: Callable[[int], None] | None = None,
        *,
        lease: BlobLease | None = None,
    ) -> Blob:
        """Copy a file into the store. ``on_bytes`` hears the size of each copied chunk.

        Raises :class:`DigestMismatch`, :class:`StorageFull`, or OSError when ``source`` can't be read.
        """
        with open_regular(source) as stream:
            writer = self.writer()
            try:
                while chunk := stream.read(CHUNK_BYTES):
                    writer.write(chunk)
                    if on_bytes is not None:
                        on_bytes(len(chunk))
                return writer.publish(source.name, expected_sha256, lease=lease)
            finally:
                writer.discard()

    # --- damage ---

    def verify(self, sha256: str, size: int, name: str) -> Path:
        """The path of a blob whose bytes have just been proven; raises :class:`DigestMismatch`."""
        path = self.path(sha256)
        status = regular(path)
        if status is None:
            self.require_present()
            raise DigestMismatch(name, sha256, size, None)
        found = identity(status)
        if self._verified.get(sha256) != found:
            with os.fdopen(os.open(path, os.O_RDONLY | _NO_FOLLOW), "rb") as stream:
                actual = hashlib.file_digest(stream, "sha256").hexdigest()
            if actual != sha256 or status.st_size != size:
                self._verified.pop(sha256, None)
                self._found_corrupt[sha256] = found
                raise DigestMismatch(name, sha256, size, Blob(actual, status.st_size))
            self._verified[sha256] = found
        return path

    def quarantine(self, sha256: str) -> None:
        """Take a file that :meth:`verify` found corrupt, or gone, out of the store, and tell those who rely on it.

        It is kept aside under its name so that it can be looked at. A file that has been replaced since, or put back,
        is left alone.
        """
        self.require_present()
        path = self.path(sha256)
        corrupt = self._found_corrupt.pop(sha256, None)
        status = regular(path)
        if status is not None and (corrupt is None or identity(status) != corrupt):
            return
        self._quarantine.mkdir(mode=0o700, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            path.replace(self._quarantine / sha256)
        self._verified.pop(sha256, None)
        for tell in self._on_quarantine:
            tell(sha256)

    def on_quarantine(self, callback: Callable[[str], None]) -> None:
        """Call ``callback`` with the digest of each file that is taken out as corrupt, from the thread that does it."""
        self._on_quarantine.append(callback)

    def quarantined(self) -> dict[str, int]:
        """The corrupt files that are kept aside, with their sizes."""
        return dict(sizes_of(self._quarantine)) if self._quarantine.is_dir() else {}

    def forget_quarantined(self, sha256: str) -> int:
        """Remove a corrupt file; the bytes that this gives back."""
        return unlink(self._quarantine / sha256)

    # --- removal ---

    def condemn(self, sha256: str) -> Condemned | None:
        """Take a blob out of the store, unless somebody holds it. The caller knows that nothing stored needs it."""
        path = self.path(sha256)
        with self.leases.unless_held(sha256) as free:
            status = regular(path)
            if not free or status is None:
                return None
            condemned = Condemned(sha256, status.st_size, self._condemned / f"{sha256}.{uuid4().hex}")
            path.rename(condemned.path)
        self._verified.pop(sha256, None)
        return condemned

    def condemned(self) -> list[Condemned]:
        """Files that a dead process had condemned and not removed."""
        found = []
        for path in self._condemned.iterdir():
            status = regular(path)
            sha256 = path.name.partition(".")[0]
            if status is not None and DIGEST.match(sha256):
                found.append(Condemned(sha256, status.st_size, path))
        return found

    def restore(self, condemned: Condemned) -> None:
        """Put a condemned file back. If the blob has been stored anew meanwhile, the old file goes."""
        if self.find(condemned.sha256) is None:
            condemned.path.replace(self.path(condemned.sha256))
        else:
            condemned.path.unlink(missing_ok=True)

    def destroy(self, condemned: Condemned) -> int:
        """Remove a condemned file for good, and what was unpacked from it; the bytes that this gives back."""
        freed = unlink(condemned.path)
        if self.find(condemned.sha256) is None:
            freed += remove_tree(self.packages / condemned.sha256)
        return freed
