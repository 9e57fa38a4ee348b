"""What the store of model files asks of the file system: looking at files without following links, removing them."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
_READ_AT_ONCE: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
"""Opening a pipe waits for somebody who writes, and opening a terminal may take it as one's own; these do neither."""

DIGEST: Final = re.compile(r"[0-9a-f]{64}\Z")

Identity = tuple[int, int, int, int]
"""Inode, size, modification and change time of a file: while they stay, its bytes stay."""


class BlobError(Exception):
    """A file could not be stored or is not what it should be."""


class StorageFull(BlobError):
    """The disk that holds the store has no room left."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        self.path = path

    def __str__(self) -> str:
        return f"no space is left on the disk that holds {self.path}"


def regular(path: Path) -> os.stat_result | None:
    """The status of a regular file; None for everything else, and for nothing."""
    # A link in the store was put there by somebody else; it is treated as no blob at all.
    try:
        status = path.lstat()
    except FileNotFoundError:
        return None
    return status if stat.S_ISREG(status.st_mode) else None


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file that somebody has named, or a link to one, for unbuffered reading.

    Raises OSError, for everything that is no regular file too, and never waits for one.
    """
    descriptor = os.open(path, _READ_AT_ONCE)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        return os.fdopen(descriptor, "rb", buffering=0)
    except BaseException:
        os.close(descriptor)
        raise


def identity(status: os.stat_result) -> Identity:
    """What a file keeps for as long as its bytes stay."""
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def sizes_of(folder: Path) -> Iterator[tuple[str, int]]:
    """Every file of a folder that is named after a digest, with its size."""
    for path in folder.iterdir():
        status = regular(path)
        if status is not None and DIGEST.match(path.name):
            yield path.name, status.st_size


def unlink(path: Path) -> int:
    """Remove a file, if it is there; the bytes that this gives back."""
    status = regular(path)
    path.unlink(missing_ok=True)
    return status.st_size if status is not None else 0


def tree_bytes(folder: Path) -> int:
    """Bytes of the files in a folder and below it; none if it isn't there."""
    found = (Path(above, name) for above, _, names in os.walk(folder) for name in names)
    return sum(status.st_size for path in found if (status := regular(path)) is not None)


def remove_tree(path: Path) -> int:
    """Remove a file, a link, or a folder with all that it holds, if it is there; the bytes that this gives back."""
    if path.is_symlink() or not path.is_dir():
        return unlink(path)
    freed = tree_bytes(path)
    shutil.rmtree(path)
    return freed


@contextlib.contextmanager
def full_disks(path: Path) -> Iterator[None]:
    """A ``with`` block in which a full disk is :class:`StorageFull`, and every other fault names the file."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            raise StorageFull(path) from error
        if error.filename is None:
            error.filename = str(path)  # Writing and flushing don't say which file was in trouble.
        raise
