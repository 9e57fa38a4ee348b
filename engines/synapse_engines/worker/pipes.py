"""The worker's ends of its two pipes, as plain file descriptors that nothing else in the process can touch.

Used by `main` and the loop. Libraries print to standard output and read standard input as they please; a single stray
byte between two frames would end the worker. So the pipes move to private descriptors before any library is imported:
descriptor 1 then leads to standard error, descriptor 0 to nothing.
"""

from __future__ import annotations

import os
import sys
import threading
from dataclasses import dataclass

from synapse_engines.worker.protocol import Reply, encode

READ_SIZE = 1 << 16
"""Bytes taken from the pipe at a time: as much as a pipe usually holds."""


@dataclass(frozen=True, slots=True)
class PrivatePipes:
    """Descriptors of the pipe from the service and of the pipe to it."""

    incoming: int
    outgoing: int


def take_standard_pipes() -> PrivatePipes:
    """Moves descriptors 0 and 1 out of the way of everybody else. Children do not inherit the new ones."""
    pipes = PrivatePipes(os.dup(0), os.dup(1))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    if sys.platform == "win32":
        import msvcrt

        for descriptor in (pipes.incoming, pipes.outgoing):
            msvcrt.setmode(descriptor, os.O_BINARY)
    return pipes


class ReplyWriter:
    """Writes whole frames to the service; safe to call from several threads."""

    def __init__(self, outgoing: int) -> None:
        self._outgoing = outgoing
        self._lock = threading.Lock()

    def send(self, message: Reply, payload: bytes = b"") -> None:
        """Writes one frame.

        Raises:
            ProtocolError: the message is too large for a frame; nothing was written.
            BrokenPipeError: the service is gone.
        """
        rest = memoryview(encode(message, payload))
        with self._lock:
            while rest:
                rest = rest[os.write(self._outgoing, rest) :]
