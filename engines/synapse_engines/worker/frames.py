"""Frames of the pipe between the service and a worker: bytes in, frames out, no I/O.

Both ends use this module. A frame is two little-endian u32 lengths, then a head (one compact JSON object), then a
payload of raw bytes:

    <u32 head length> <u32 payload length> <head> <payload>

A wrong length leaves no way to find the next frame, so every fault here is final for its stream.
"""

from __future__ import annotations

import struct
from typing import ClassVar, NamedTuple

from synapse_engines.errors import EngineError

PREFIX = struct.Struct("<II")
"""Lengths in bytes of the head and of the payload."""

MAX_HEAD = 1 << 20
"""Largest head, in bytes."""

MAX_PAYLOAD = 256 << 20
"""Largest payload, in bytes: 87,000 vectors of 768 numbers, far above any request that is admitted."""


class ProtocolError(EngineError):
    """The bytes on the pipe are not what the other end may send; the stream cannot be read any further."""

    kind: ClassVar[str] = "protocol"


class Frame(NamedTuple):
    """One frame as it was on the pipe. The head is JSON text that has not been looked at yet."""

    head: bytes
    payload: bytes


def encode_frame(head: bytes, payload: bytes = b"") -> bytes:
    """The bytes of one frame.

    Raises:
        ProtocolError: the head or the payload is over its limit.
    """
    _check_lengths(len(head), len(payload))
    return b"".join((PREFIX.pack(len(head), len(payload)), head, payload))


class FrameDecoder:
    """Cuts a stream of bytes into frames, however the bytes were split on their way.

    Feed it what arrived, then take frames until there is none. Lengths are checked as soon as they are there, so
    that a broken prefix cannot make the reader collect gigabytes.
    """

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._start = 0  # where the next frame begins in the buffer

    def feed(self, data: bytes) -> None:
        """Adds bytes in the order in which they were read."""
        del self._buffer[: self._start]
        self._start = 0
        self._buffer += data

    def next_frame(self) -> Frame | None:
        """The oldest frame that is complete, None while its bytes are still coming.

        Raises:
            ProtocolError: a length is over its limit, or a head is empty. Every later call raises it again.
        """
        available = len(self._buffer) - self._start
        if available < PREFIX.size:
            return None
        head_length, payload_length = PREFIX.unpack_from(self._buffer, self._start)
        _check_lengths(head_length, payload_length)
        head_start = self._start + PREFIX.size
        payload_start = head_start + head_length
        end = payload_start + payload_length
        if len(self._buffer) < end:
            return None
        with memoryview(self._buffer) as view:
            frame = Frame(bytes(view[head_start:payload_start]), bytes(view[payload_start:end]))
        self._start = end
        return frame


def _check_lengths(head_length: int, payload_length: int) -> None:
    if not 0 < head_length <= MAX_HEAD:
        raise ProtocolError(f"a frame's head has {head_length} bytes; 1 to {MAX_HEAD} are allowed")
    if payload_length > MAX_PAYLOAD:
        raise ProtocolError(f"a frame's payload has {payload_length} bytes; {MAX_PAYLOAD} are allowed")
