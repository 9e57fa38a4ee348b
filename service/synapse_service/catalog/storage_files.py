"""The files of a move: making the new folder ready, bringing every file there, and clearing one of the two folders.

Everything here blocks and runs in a thread. Until the setting is replaced nothing leaves the old folder: on the same
file system a file is brought as a second name for the same bytes, elsewhere as a copy that is flushed to the disk,
read back from it and compared. So there is always one whole store, whatever ends the work. What workers unpacked stays
behind: it is unpacked again where it is needed.

What the new folder holds already is never trusted: each file is hashed, and one that isn't what its name says goes to
the quarantine there.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from uuid import uuid4

from synapse_service.catalog.blob_files import (
    DIGEST,
    FULL,
    StorageFull,
    full_disks,
    regular,
    remove_tree,
    unlink,
)
from synapse_service.catalog.blobs import BlobStore, DigestMismatch
from synapse_service.catalog.download_files import RESERVE_BYTES
from synapse_service.catalog.storage import foreign, foreign_message
from synapse_service.catalog.storage_records import Mode
from synapse_service.catalog.store_marker import (
    MARKER,
    StorageUnavailable,
    read_marker,
    remove_marker,
    write_marker,
)
from synapse_service.durable_files import sync_file, sync_folder
from synapse_service.instance import InstanceError, InstanceLock, lock_models
from synapse_service.logs import get_logger
from synapse_service.paths import PathError, ensure_private_dir
from synapse_wire.errors import SynapseError, invalid_state

FOLDERS: Final = ("blobs", "quarantine", "packages", "staging", "condemned")
_LOCK: Final = "models.lock"
_NO_FOLDER: Final = frozenset({errno.ELOOP, errno.ENAMETOOLONG, errno.EACCES, errno.EPERM})
"""What looking at a folder ends with when its path is at fault, and not the disk."""

_log = get_logger(__name__)


class Stopped(Exception):
    """The service ends, or somebody cancelled the move."""


@dataclass(slots=True)
class Target:
    """The new folder, locked. ``before`` are the names that it had, ``marker`` the id of the store that it was."""

    blobs: BlobStore
    lock: InstanceLock
    made_root: bool
    before: list[str]
    marker: str | None
    links: bool = False


@dataclass(slots=True)
class Brought:
    """How far it is. ``step`` hears of each piece of bytes and may raise :class:`Stopped`."""

    step: Callable[[int], None]
    files: int = 0
    corrupt: list[str] = field(default_factory=list)


# --- the new folder ---


def require_apart(source: Path, target: Path, *, here: bool) -> None:
    """Refuse a new folder that is the old one, where the models are ``here``, or lies in it, or around it."""
    # Unlike Path.resolve, this takes a name that leads nowhere as it is; open_target refuses it.
    old, new = (Path(os.path.realpath(path)) for path in (source, target))
    if old == new and here:
        raise _refused(target, "same", f"the models are in {target} already")
    if old != new and (old in new.parents or new in old.parents):
        text = f"{target} and {source}, where the models are, lie inside each other; choose a folder beside it"
        raise _refused(target, "nested", text)


def open_target(root: Path, mode: Mode, store_id: str | None, source: BlobStore | None) -> Target:
    """Lock the new folder and look whether it will do. ``source`` is None when the old folder isn't there.

    Raises ``invalid_request`` (semantic) naming the path, ``store_failure`` for a disk that is too small; then the
    folder is as it was.
    """
    try:
        if not root.parent.is_dir():
            raise _refused(root, "missing", f"{root.parent} isn't there; plug in its disk, or create it")
        made_root = not root.exists()
        marker = read_marker(root)
        if mode == "move" and marker is not None and marker != store_id:
            raise _refused(root, "another_store", f"{root} holds another store; take it over with the mode adopt")
        if mode == "adopt" and source is not None and not (root / "blobs").is_dir():
            raise _refused(root, "nothing_there", f"{root} holds no models; use the mode move to take yours there")
        if foreign(root):
            raise _refused(root, "foreign", foreign_message(root))
        before = names(root)
        ensure_private_dir(root)
        if not os.access(root, os.W_OK):
            raise _refused(root, "read_only", f"{root} can't be written; mount its disk writable")
        target = Target(BlobStore(root), lock_models(root), made_root, before, marker)
    except PathError as error:
        raise _refused(root, "unusable", str(error)) from error
    except InstanceError as error:
        raise _refused(root, "in_use", str(error)) from error
    except OSError as error:
        if error.errno not in _NO_FOLDER:
            raise
        raise _refused(root, "unusable", f"{root} can't be used ({error.strerror}); choose another folder") from error
    try:
        target.blobs.prepare()
        if mode == "move" and source is not None:
            target.links = _may_link(source, target.blobs)
            if not target.links:
                _require_space(source, target.blobs)
    except BaseException:
        abandon(target)
        raise
    return target


def reopen_target(root: Path, made_root: bool, before: list[str], marker: str | None, links: bool) -> Target:
    """The new folder of a move that an earlier process began. Raises InstanceError or OSError.

    That process has left its lock file. Without it the disk is away, and what is there is what it is plugged in to.
    """
    if not (root / _LOCK).is_file():
        raise FileNotFoundError(errno.ENOENT, "is not there; plug in its disk", str(root))
    target = Target(BlobStore(root), lock_models(root), made_root, before, marker, links)
    target.blobs.prepare()
    return target


def names(root: Path) -> list[str]:
    """The files that a folder has of those that a store has, relative to it."""
    found = [name for name in (MARKER, _LOCK) if (root / name).exists()]
    for folder in ("blobs", "quarantine"):
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            found += [f"{folder}/{path.name}" for path in (root / folder).iterdir()]
    return found


def _may_link(source: BlobStore, target: BlobStore) -> bool:
    """True when a file of one folder can have a second name in the other: the same file system, and one with links."""
    probe = source.staging / uuid4().hex
    second = target.staging / probe.name
    try:
        probe.touch(0o600)
        os.link(probe, second)
    except OSError:
        return False
    finally:
        for path in (probe, second):
            path.unlink(missing_ok=True)
    return True


def _require_space(source: BlobStore, target: BlobStore) -> None:
    there = target.file_sizes()
    # Nothing there is proven yet: of two sizes that differ, that of the new file may be the wrong one.
    needed = sum(size for sha256, size in source.file_sizes().items() if there.get(sha256) != size)
    needed += sum(source.quarantined().values())
    free = shutil.disk_usage(target.root).free
    if free < needed + RESERVE_BYTES:
        raise too_small(
            target.root, f"the models need {needed >> 20} MiB and {free >> 20} MiB are free in {target.root}"
        )


def too_small(root: Path, fact: str) -> SynapseError:
    """``store_failure`` for a new disk without room."""
    details = {"reason": "storage_full", "path": str(root)}
    return SynapseError("store_failure", f"{fact}; free some space there, or choose another disk", details=details)


def _refused(root: Path, reason: str, message: str) -> SynapseError:
    return invalid_state(message, field="path", path=str(root), reason=reason)


# --- bringing ---


def prove(target: BlobStore, brought: Brought) -> None:
    """Hash what the new folder holds already. What was unpacked there can't be proven, and is unpacked again."""
    for unpacked in _files(target.packages):
        remove_tree(unpacked)
    for sha256, size in sorted(target.file_sizes().items()):
        brought.step(0)
        try:
            target.verify(sha256, size, sha256)
        except DigestMismatch:
            _log.info("corrupt_file_found", sha256=sha256, path=str(target.root))
            target.quarantine(sha256)
            brought.corrupt.append(sha256)
        brought.step(size)


def bring(source: BlobStore, target: Target, brought: Brought) -> None:
    """Bring every file of the old folder that the new one hasn't got. ``prove`` has seen those that it has."""
    there = target.blobs.file_sizes()
    for sha256, size in sorted(source.file_sizes().items()):
        brought.step(0)
        if sha256 not in there:  # Whatever its size here: that one may be damaged.
            if target.links:
                os.link(source.path(sha256), target.blobs.path(sha256))
                brought.step(size)
            elif not _copied(source, target.blobs, sha256, size, brought):
                continue
        brought.files += 1
    for sha256 in source.quarantined():
        _bring_quarantined(source, target, sha256)
    for folder in ("blobs", "quarantine"):
        if (target.blobs.root / folder).is_dir():
            sync_folder(target.blobs.root / folder)


def _copied(source: BlobStore, target: BlobStore, sha256: str, size: int, brought: Brought) -> bool:
    """Copy one file and read it back from the new disk; False if it was corrupt, and is in the quarantine now."""
    try:
        target.adopt(source.path(sha256), sha256, brought.step)
    except DigestMismatch:
        try:
            source.verify(sha256, size, sha256)
        except DigestMismatch:
            _log.info("corrupt_file_found", sha256=sha256, path=str(source.root))
            source.quarantine(sha256)
            brought.corrupt.append(sha256)
            return False
        raise _unreliable(source.root, sha256) from None
    _forget_cached(target.path(sha256))
    try:
        target.verify(sha256, size, sha256)
    except DigestMismatch:
        target.path(sha256).unlink(missing_ok=True)
        raise _unreliable(target.root, sha256) from None
    return True


def _unreliable(root: Path, sha256: str) -> SynapseError:
    message = f"the disk of {root} gives back other bytes than it was given ({sha256}); use another one"
    return SynapseError("store_failure", message, details={"reason": "io_error", "path": str(root)})


def _forget_cached(path: Path) -> None:
    """Let the system forget the bytes that it has in memory, so that reading them asks the disk."""
    if not hasattr(os, "posix_fadvise"):
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)


def _bring_quarantined(source: BlobStore, target: Target, sha256: str) -> None:
    """A corrupt file goes along as it is; somebody may want to look at it."""
    old, new = (root / "quarantine" / sha256 for root in (source.root, target.blobs.root))
    new.parent.mkdir(mode=0o700, exist_ok=True)
    if regular(new) is not None:
        return
    if target.links:
        os.link(old, new)
        return
    arriving = target.blobs.staging / uuid4().hex
    with full_disks(arriving):
        with old.open("rb") as stream, arriving.open("xb") as copy:
            shutil.copyfileobj(stream, copy)
            copy.flush()
            sync_file(copy)
        arriving.replace(new)


def mark(target: Target, store_id: str) -> None:
    """Make the new folder the store."""
    write_marker(target.blobs.root, store_id)
    target.blobs.store_id = store_id


# --- clearing ---


def clear(source: Path, target: BlobStore, lock: InstanceLock | None) -> None:
    """Remove the old folder's files, each only if the new one has it. What is not of the store stays.

    The marker goes first, so that nobody takes the rest for a store; one of another store means that somebody uses
    the folder anew. ``lock`` is the lock on the folder, if this process has it. Raises OSError and InstanceError.
    """
    if not source.is_dir() or read_marker(source) not in (None, target.store_id):
        return
    lock = lock or lock_models(source)
    try:
        _clear(source, target)
        lock.remove()
    finally:
        lock.release()


def _clear(source: Path, target: BlobStore) -> None:
    remove_marker(source)
    for folder in ("blobs", "quarantine"):
        for path in _files(source / folder):
            if _has(target, folder, path):
                unlink(path)
    for folder in ("staging", "condemned"):
        for path in _files(source / folder):
            unlink(path)
    for unpacked in _files(source / "packages"):
        if DIGEST.match(unpacked.name):
            remove_tree(unpacked)
    _remove_folders(source)


def _has(target: BlobStore, folder: str, path: Path) -> bool:
    """True when the new folder has an old file: as many bytes, or, where the old one was damaged, the right ones."""
    old, new = regular(path), regular(target.root / folder / path.name)
    if old is None or new is None:
        return False
    if new.st_size != old.st_size and folder == "blobs":
        try:
            target.verify(path.name, new.st_size, path.name)
        except (DigestMismatch, StorageUnavailable):
            return False
        return True
    return new.st_size == old.st_size


def undo(source: BlobStore | None, target: Target) -> None:
    """Give the new folder back as it was. The caller knows that the old one is still the store."""
    root = target.blobs.root
    for folder in ("blobs", "quarantine"):
        for path in _files(root / folder):
            ours = source is not None and regular(source.root / folder / path.name) is not None
            if ours and f"{folder}/{path.name}" not in target.before:
                unlink(path)
    if target.marker is not None:
        write_marker(root, target.marker)
    else:
        remove_marker(root)
    abandon(target)


def abandon(target: Target) -> None:
    """Unlock the new folder, and remove what was made to lock it."""
    root = target.blobs.root
    for path in _files(root / "staging"):
        unlink(path)
    _remove_folders(root)
    if _LOCK in target.before:
        target.lock.release()
    else:
        target.lock.remove()
    if target.made_root:
        with contextlib.suppress(OSError):
            root.rmdir()


def _files(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []


def _remove_folders(root: Path) -> None:
    for folder in FOLDERS:
        with contextlib.suppress(OSError):  # Not there, or not empty: then somebody else's files are in it.
            (root / folder).rmdir()


def refusal(error: Exception, root: Path) -> SynapseError:
    """A fault of the work as the wire error that the move ends with."""
    if isinstance(error, SynapseError):
        return error
    if isinstance(error, Stopped):
        details = {"reason": "interrupted", "path": str(root)}
        return SynapseError("store_failure", "the service ended while a move was taken back", details=details)
    if isinstance(error, StorageFull):
        return too_small(root, str(error))
    if isinstance(error, OSError) and error.errno in FULL:
        return too_small(root, f"no space is left on the disk that holds {root}")
    if isinstance(error, OSError):
        reason = "io_error" if _answers(root) else "disk_missing"
        message = f"{error.filename or root}: {error.strerror or error}; look at the disk, then move the models again"
        return SynapseError("store_failure", message, details={"reason": reason, "path": str(root)})
    return StorageUnavailable("unusable", root, str(error))


def _answers(root: Path) -> bool:
    """True when something is there, if only errors."""
    try:
        return root.is_dir()
    except OSError:
        return True
