"""A lock on hardware that all programs of a machine share: whoever holds it may compute there.

It is an exclusive ``flock`` on a file at a place that every user can reach, made with mode 0666 and never deleted: two
programs could then each hold a lock on a different file of the same name. It belongs to the open file, so the kernel
drops it however its holder ends; the workers of this service inherit that file, so that it stays held while one of
them lives, even when the service itself was killed. Any program in any language can take part, ``flock(1)`` too.
Windows, which has no such hardware, locks a byte of the file instead.

The file's content names the holder for people, and decides nothing. Calls return at once; they wait for nobody.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat
import sys
from pathlib import Path
from typing import Final

import psutil

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

MODE: Final = 0o666

_ATTEMPTS: Final = 10
_WINDOWS_OFFSET: Final = 1 << 30


class LockHeld(Exception):
    """Another process holds the lock. ``pid`` is None when it can't be told which."""

    def __init__(self, path: Path, pid: int | None) -> None:
        who = "another process" if pid is None else f"process {pid}"
        super().__init__(f"{who} holds {path}")
        self.pid = pid


class LockFailed(Exception):
    """The lock can't be taken or given back, for a reason of the system's."""

    def __init__(self, path: Path, what: str, error: OSError | None = None) -> None:
        reason = f": {error.strerror or error}" if error is not None else ""
        super().__init__(f"{path} {what}{reason}")


class HardwareLock:
    """One process's side of the lock."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor = -1

    @property
    def held(self) -> bool:
        return self._descriptor >= 0

    @property
    def descriptor(self) -> int:
        """The open file, for a worker to inherit; only while the lock is held."""
        return self._descriptor

    def acquire(self) -> None:
        """Take the lock, unless this process has it. Raises LockHeld or LockFailed."""
        if self.held:
            return
        for _ in range(_ATTEMPTS):
            descriptor = self._open()
            try:
                _lock(descriptor)
                # Had the file been replaced between opening and locking, this lock would exclude nobody.
                if _is_at(descriptor, self.path):
                    _sign(descriptor)
                    self._descriptor, descriptor = descriptor, -1
                    return
            except OSError as error:
                if error.errno in (errno.EAGAIN, errno.EACCES, errno.EDEADLK):
                    raise LockHeld(self.path, _holder(descriptor)) from None
                raise LockFailed(self.path, "can't be locked", error) from error
            finally:
                if descriptor >= 0:
                    os.close(descriptor)
        raise LockFailed(self.path, "is replaced again and again")

    def release(self) -> None:
        """Give the lock back; harmless when it isn't held.

        Raises LockFailed when the system refuses, and then the descriptor is retained, so that it can be tried again.
        """
        if not self.held:
            return
        try:
            _unlock(self._descriptor)
        except OSError as error:
            raise LockFailed(self.path, "can't be unlocked", error) from error
        # Not to be tried again: whatever closing says, the number may belong to another file afterwards.
        descriptor, self._descriptor = self._descriptor, -1
        os.close(descriptor)

    def _open(self) -> int:
        flags = os.O_RDWR | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
        try:
            descriptor = _open_or_make(self.path, flags)
        except OSError as error:
            raise LockFailed(self.path, "can't be opened", error) from error
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise LockFailed(self.path, "is not a file")
        return descriptor


def _open_or_make(path: Path, flags: int) -> int:
    # Never both in one call: in a folder that all may write to, Linux lets nobody "create" a file of someone else's.
    try:
        return os.open(path, flags)
    except FileNotFoundError:
        pass
    try:
        descriptor = os.open(path, flags | os.O_CREAT | os.O_EXCL, MODE)
    except FileExistsError:
        return os.open(path, flags)  # Another process was faster.
    if os.name != "nt":
        os.fchmod(descriptor, MODE)  # Whatever the mask of this user is, others have to be able to open it.
    return descriptor


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        here, there = os.fstat(descriptor), path.stat()
    except FileNotFoundError:
        return False
    return (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino)


if sys.platform == "win32":

    def _lock(descriptor: int) -> None:
        os.lseek(descriptor, _WINDOWS_OFFSET, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

    def _unlock(descriptor: int) -> None:
        os.lseek(descriptor, _WINDOWS_OFFSET, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _unlock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


def _sign(descriptor: int) -> None:
    signature = json.dumps({"pid": os.getpid(), "started": psutil.Process().create_time()}).encode()
    with contextlib.suppress(OSError):  # A full disk doesn't keep anybody from holding the lock.
        os.ftruncate(descriptor, 0)
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.write(descriptor, signature)


def _holder(descriptor: int) -> int | None:
    """The process that signed last, if it still lives: it is a hint, since not every program signs."""
    try:
        os.lseek(descriptor, 0, os.SEEK_SET)
        signed = json.loads(os.read(descriptor, 256))
        pid = int(signed["pid"])
        lives = psutil.Process(pid).create_time() == signed["started"]
    except (OSError, ValueError, TypeError, KeyError, OverflowError, psutil.Error):
        return None
    return pid if lives else None
