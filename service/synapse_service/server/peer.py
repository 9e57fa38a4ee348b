"""Who is at the other end of a connection: process id and user as the kernel reports them.

The transports call it when a connection is accepted. Program path and start time cost a look into the process table,
so they are read only when something asks for them, such as the approval of an artifact by an operator.
"""

from __future__ import annotations

import struct
import sys
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Protocol

_START_TOLERANCE_MS: Final = 1000
"""Process start times are rounded to a clock tick, so a start this much after the accept is still the same process."""


class PeerRefused(Exception):
    """The other end is another user, or the system does not say who it is."""


class SocketOptions(Protocol):
    """The one method of a socket that credentials are read with."""

    def getsockopt(self, level: int, option: int, length: int, /) -> bytes: ...


@dataclass(frozen=True)
class Peer:
    """The process that connected. ``uid`` is None on Windows, where the pipe itself admits only its owner.

    ``accepted_ms`` is when the connection was accepted: a process that started later only inherited the number of the
    one that connected, and nothing is said about it.
    """

    pid: int | None
    uid: int | None
    accepted_ms: int

    @property
    def executable(self) -> str | None:
        """Path of the peer's program, or None when it can't be known."""
        return self._process[0]

    @property
    def started_ms(self) -> int | None:
        """When the peer's process started, in milliseconds since 1970, or None when it can't be known."""
        return self._process[1]

    @cached_property
    def _process(self) -> tuple[str | None, int | None]:
        import psutil  # takes longer to import than everything else that the socket needs

        if self.pid is None:
            return None, None
        try:
            process = psutil.Process(self.pid)
            started_ms = int(process.create_time() * 1000)
        except psutil.Error:
            return None, None
        if started_ms > self.accepted_ms + _START_TOLERANCE_MS:
            return None, None
        try:
            return process.exe() or None, started_ms
        except psutil.Error:
            return None, started_ms


# From <sys/un.h> and <sys/ucred.h> of macOS; the socket module does not name them.
_SOL_LOCAL: Final = 0
_LOCAL_PEERCRED: Final = 1
_LOCAL_PEERPID: Final = 2
_XUCRED_BYTES: Final = 76
_SO_PEERCRED: Final = 17
_SOL_SOCKET: Final = 1


def read_credentials(connection: SocketOptions, *, platform: str = sys.platform) -> tuple[int, int]:
    """Process id and user id of the other end of a Unix socket, as they were when it connected.

    Raises PeerRefused when the system doesn't tell.
    """
    try:
        if platform == "darwin":
            credentials = connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, _XUCRED_BYTES)
            _, uid = struct.unpack_from("=II", credentials)
            (pid,) = struct.unpack("=i", connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERPID, 4))
        elif platform == "linux":
            pid, uid, _ = struct.unpack("=iII", connection.getsockopt(_SOL_SOCKET, _SO_PEERCRED, 12))
        else:
            raise PeerRefused(f"no way is known to ask {platform} who connected")
    except (OSError, struct.error) as error:
        raise PeerRefused(f"the system does not say who connected: {error}") from error
    return int(pid), int(uid)


def require_owner(uid: int, owner: int) -> None:
    """Raise PeerRefused unless the peer is the user whose service this is. Not even root is an exception."""
    if uid != owner:
        raise PeerRefused(f"user {uid} connected to the service of user {owner}")
