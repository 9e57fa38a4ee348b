"""How bytes reach the service: a Unix socket, or a named pipe on Windows.

Connecting looks before it trusts: a socket that another user owns could be a trap that collects texts, so it is
refused. Nothing here knows what the bytes mean.
"""

from __future__ import annotations

import errno
import os
import select
import socket
import stat
import sys
from typing import Final, Protocol

from synapse_client.errors import Busy, EndpointRefused, ServiceNotRunning

RECEIVE_BYTES: Final = 256 * 1024

_LONGEST_WAIT_S: Final = 3600.0
"""The system takes no waiting time of more than some weeks; whoever has longer asks again."""


class Stream(Protocol):
    """A connected two-way byte stream that two threads may use, one for each direction."""

    def send(self, data: memoryview, timeout_s: float) -> int:
        """Hand over some of ``data`` and return how much; 0 when none could be taken in time. Raises ``OSError``."""

    def receive(self, timeout_s: float) -> bytes | None:
        """What has arrived, ``b""`` at the end of the stream, None when nothing came in time. Raises ``OSError``."""

    def interrupt(self) -> None:
        """End the stream, so that a thread waiting in it returns. The stream must still be closed."""

    def close(self) -> None:
        """Let go of the handle. No thread may be in the stream."""


class UnixStream:
    """A Unix-domain stream socket. Never blocking by itself, because time limits differ between its two users."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected

    def send(self, data: memoryview, timeout_s: float) -> int:
        try:
            return self._socket.send(data)
        except BlockingIOError:
            pass
        if not self._ready(select.POLLOUT, timeout_s):
            return 0
        try:
            return self._socket.send(data)
        except BlockingIOError:
            return 0

    def receive(self, timeout_s: float) -> bytes | None:
        if not self._ready(select.POLLIN, timeout_s):
            return None
        try:
            return self._socket.recv(RECEIVE_BYTES)
        except BlockingIOError:
            return None

    def interrupt(self) -> None:
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # the other side was faster

    def close(self) -> None:
        self._socket.close()

    def _ready(self, event: int, timeout_s: float) -> bool:
        waiter = select.poll()
        waiter.register(self._socket, event)
        return bool(waiter.poll(min(max(0.0, timeout_s), _LONGEST_WAIT_S) * 1000))


def open_stream(address: str) -> Stream:
    """Connect to the service at ``address``.

    Raises :class:`ServiceNotRunning`, :class:`EndpointRefused`, or :class:`Busy` when it is worth trying again.
    """
    if sys.platform == "win32":
        from synapse_client.pipe import open_pipe

        return open_pipe(address)
    return UnixStream(connect_unix(address))


def connect_unix(address: str, uid: int | None = None) -> socket.socket:
    """A connected, non-blocking socket. ``uid`` is who must own the socket file, by default this process's user."""
    owner = os.getuid() if uid is None else uid
    try:
        found = os.stat(address)  # noqa: PTH116 - pathlib is slower and an address is text
    except (FileNotFoundError, NotADirectoryError):
        raise ServiceNotRunning(address, "there is no socket") from None
    except OSError as error:
        raise EndpointRefused(address, error.strerror or str(error)) from error
    if not stat.S_ISSOCK(found.st_mode):
        raise EndpointRefused(address, "it is not a socket")
    if found.st_uid != owner:
        raise EndpointRefused(address, f"it belongs to user {found.st_uid}, not to you ({owner})")
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.setblocking(False)
        connection.connect(address)
    except OSError as error:
        connection.close()
        raise _explained(address, error) from error
    return connection


def _explained(address: str, error: OSError) -> Exception:
    if error.errno == errno.ECONNREFUSED:
        return ServiceNotRunning(address, "nothing listens on the socket that a former service left")
    if error.errno == errno.ENOENT:
        return ServiceNotRunning(address, "there is no socket")
    if error.errno in (errno.EAGAIN, errno.EINTR, errno.EWOULDBLOCK):
        return Busy(error.strerror or str(error))
    return EndpointRefused(address, error.strerror or str(error))
