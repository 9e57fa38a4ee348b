"""One service for each user: first the locks, then the clean-up, then the socket.

``boot`` takes two before it touches the database: one beside the socket, under which the Unix transport binds, and one
beside the database. The folder of the socket may be another one at the next start, or vanish when the user logs out,
and a second service would end the jobs of the first. A lock belongs to the open file, so the kernel drops it however
the process ends, and what a killed service leaves behind is only a socket path and numbers in lock files. A lock file
is never deleted: two services could then each hold a lock on a different file of the same name.

A socket path is removed only while the lock is held, and only if it is a socket of this user at which nobody answers.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from synapse_service.paths import PathError, ensure_private_dir
from synapse_wire.endpoint import Endpoint

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

BACKLOG: Final = 128
"""Connections that may wait to be accepted."""

_LOCK_ATTEMPTS: Final = 10
_PID_ATTEMPTS: Final = 10
_PID_PAUSE_S: Final = 0.01
_WINDOWS_LOCK_OFFSET: Final = 1 << 30
"""Windows locks bytes against reading too, so a byte far behind the content is locked and the number stays readable."""


class InstanceError(Exception):
    """This process did not become the service. ``message`` says why, ``remedy`` what the user can do."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message, remedy)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message}. {self.remedy}"


class AlreadyRunning(InstanceError):
    """Another process is the service of this user. ``pid`` is None when it can't be told which."""

    def __init__(self, address: str, pid: int | None) -> None:
        who = "another process" if pid is None else f"process {pid}"
        super().__init__(
            f"the service is already running: {who} holds the lock for {address}",
            "Use that one, or stop it first; if it doesn't react, end that process",
        )
        self.address = address
        self.pid = pid


class DataInUse(AlreadyRunning):
    """Another process is the service of these data, at a socket that this one doesn't look for."""

    def __init__(self, folder: Path, pid: int | None) -> None:
        super().__init__(str(folder), pid)


class StartFailed(InstanceError):
    """The folder, the lock file or the address can't be used."""


class ModelsInUse(InstanceError):
    """Another service keeps its models in the same folder: each would remove what it doesn't know."""

    def __init__(self, folder: Path, pid: int | None) -> None:
        who = "another service" if pid is None else f"another service (process {pid})"
        super().__init__(
            f"the models in {folder} are used by {who}",
            "Stop that one, or give this one a folder of its own with the setting storage_dir",
        )


class _Held(Exception):
    """Another process has the lock. ``pid`` is None when it can't be told which."""

    def __init__(self, pid: int | None) -> None:
        super().__init__(pid)
        self.pid = pid


class InstanceLock:
    """The held lock; made by :func:`acquire_lock`."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor

    @property
    def held(self) -> bool:
        return self._descriptor >= 0

    @property
    def intact(self) -> bool:
        """False when the lock file was deleted or replaced: a second service could then start."""
        return self.held and _same_file(self.path, self._descriptor)

    def release(self) -> None:
        """Give the lock back; harmless when it was given back before."""
        if self._descriptor < 0:
            return
        descriptor, self._descriptor = self._descriptor, -1
        with contextlib.suppress(OSError):  # The disk of the file may have gone.
            os.ftruncate(descriptor, 0)
        os.close(descriptor)  # ends the lock, too

    def remove(self) -> None:
        """Remove the file and give the lock back. Whoever waits for it sees that the file is another one."""
        with contextlib.suppress(OSError):
            self.path.unlink(missing_ok=True)
        self.release()


def acquire_lock(endpoint: Endpoint, lock_file: Path) -> InstanceLock:
    """Become the one service of this user, without waiting. Raises AlreadyRunning or StartFailed."""
    try:
        ensure_private_dir(endpoint.directory)
    except PathError as error:
        raise StartFailed(f"{error.path} {error.problem}", error.remedy) from error
    try:
        return _take_lock(lock_file)
    except _Held as held:
        raise AlreadyRunning(endpoint.address, held.pid) from None


def lock_data(folder: Path) -> InstanceLock:
    """Become the one service that keeps its database in ``folder``. Raises DataInUse or StartFailed."""
    try:
        return _take_lock(folder / "synapse.lock")
    except _Held as held:
        raise DataInUse(folder, held.pid) from None


def lock_models(folder: Path) -> InstanceLock:
    """Become the one service that keeps its models in ``folder``. Raises ModelsInUse or StartFailed."""
    try:
        return _take_lock(folder / "models.lock")
    except _Held as held:
        raise ModelsInUse(folder, held.pid) from None


def _take_lock(lock_file: Path) -> InstanceLock:
    for _ in range(_LOCK_ATTEMPTS):
        descriptor = _open_lock_file(lock_file)
        try:
            if not _try_lock(descriptor, lock_file):
                raise _Held(_wait_for_holder(descriptor))
            # Had the file been replaced between opening and locking, this lock would exclude nobody.
            if _same_file(lock_file, descriptor):
                with contextlib.suppress(OSError):  # It only tells people who has the lock, which a full disk can't.
                    os.ftruncate(descriptor, 0)
                    os.write(descriptor, f"{os.getpid()}\n".encode())
                lock, descriptor = InstanceLock(lock_file, descriptor), -1
                return lock
        finally:
            if descriptor >= 0:
                os.close(descriptor)
    raise StartFailed(f"{lock_file} is replaced again and again", "Find the program that does it, and stop it")


@dataclass(frozen=True, slots=True)
class BoundSocket:
    """A bound socket of this process and the file that stands for it."""

    socket: socket.socket
    path: Path
    device: int
    inode: int

    def remove(self) -> None:
        """Remove the path if it is still this socket's; another service's socket stays."""
        try:
            status = self.path.lstat()
            if (status.st_dev, status.st_ino) == (self.device, self.inode):
                self.path.unlink()
        except FileNotFoundError:
            return


def bind_socket(address: str, lock: InstanceLock) -> BoundSocket:
    """Bind ``address`` with mode 0600, after removing what a killed service left there. Raises StartFailed."""
    if not lock.held:
        raise RuntimeError("a socket is bound only under the instance lock")
    path = Path(address)
    _remove_stale(path, lock)
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        bound.setblocking(False)
        bound.bind(address)
        path.chmod(0o600)  # before anyone can connect: nobody listens yet
        bound.listen(BACKLOG)
        status = path.lstat()
    except OSError as error:
        bound.close()
        reason = error.strerror or str(error)
        raise StartFailed(f"the socket {address} can't be bound ({reason})", "Check its folder and the disk") from error
    return BoundSocket(bound, path, status.st_dev, status.st_ino)


def _remove_stale(path: Path, lock: InstanceLock) -> None:
    try:
        status = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(status.st_mode):
        raise StartFailed(f"{path} is {_kind(status.st_mode)}, not a socket, and was left alone", "Move it away")
    if status.st_uid != os.geteuid():
        raise StartFailed(f"the socket {path} belongs to user {status.st_uid}", "Choose another SYNAPSE_RUNTIME_DIR")
    if _answers(path):
        # The lock file was deleted under its holder, so this lock proves nothing about that process.
        raise StartFailed(
            f"another program accepts connections at {path}, although {lock.path} is free", "Stop that program"
        )
    path.unlink()


def _kind(mode: int) -> str:
    if stat.S_ISLNK(mode):
        return "a symbolic link"
    if stat.S_ISDIR(mode):
        return "a folder"
    return "a regular file" if stat.S_ISREG(mode) else "a special file"


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except OSError:
            return True  # a full queue, say: somebody is there
    return True


def _open_lock_file(path: Path) -> int:
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        descriptor = os.open(path, flags, 0o600)
    except OSError as error:
        reason = error.strerror or str(error)
        message = f"the lock file {path} can't be opened ({reason})"
        raise StartFailed(message, "Check its folder and the disk") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise StartFailed(f"the lock file {path} is not a regular file", "Move it away")
    return descriptor


def _try_lock(descriptor: int, path: Path) -> bool:
    try:
        if sys.platform == "win32":
            os.lseek(descriptor, _WINDOWS_LOCK_OFFSET, os.SEEK_SET)
            try:
                msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
            finally:
                os.lseek(descriptor, 0, os.SEEK_SET)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError as error:
        reason = error.strerror or str(error)
        message = f"the lock file {path} can't be locked ({reason})"
        raise StartFailed(message, "Choose a folder on a local disk instead") from error
    return True


def _same_file(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.lstat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _wait_for_holder(descriptor: int) -> int | None:
    # The winner of a race writes its number just after it has the lock; until then the file is empty, or names a
    # process that was killed.
    for attempt in range(_PID_ATTEMPTS):
        if attempt:
            time.sleep(_PID_PAUSE_S)
        os.lseek(descriptor, 0, os.SEEK_SET)
        pid = _parse_pid(os.read(descriptor, 32))
        if pid is not None and _lives(pid):
            return pid
    return None


def _parse_pid(content: bytes) -> int | None:
    text = content.strip()
    return int(text) if text.isdigit() else None


def _lives(pid: int) -> bool:
    if sys.platform == "win32":
        return True  # signal 0 would end the process there
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
