"""Bytes to lines and back, without I/O: one JSON message a line, UTF-8, ended by a newline.

:class:`LineSplitter` is fed whatever the transport delivered and yields whole lines. A line over the limit is
reported once and skipped up to its newline, so one oversized message costs its sender a reply, not the connection.
A line that never ended is never delivered: half a request must not run because its half happens to be valid JSON.
"""

from __future__ import annotations

from typing import Final

MAX_LINE_BYTES: Final = 16 * 1024 * 1024
"""Longest accepted line, its newline not counted."""


class Overlong:
    """A line that passed the limit; its bytes are gone. ``limit`` is the limit in bytes."""

    __slots__ = ("limit",)

    def __init__(self, limit: int) -> None:
        self.limit = limit

    def __repr__(self) -> str:
        return f"Overlong(limit={self.limit})"


class LineSplitter:
    """Collects bytes into lines.

    ``pending`` tells whether a line has started and not ended, which is when a peer's time to finish it runs.
    """

    __slots__ = ("_buffer", "_limit", "_scanned", "_skipping")

    def __init__(self, limit: int = MAX_LINE_BYTES) -> None:
        self._limit = limit
        self._buffer = bytearray()
        self._scanned = 0
        self._skipping = False

    @property
    def pending(self) -> bool:
        return self._skipping or bool(self._buffer)

    def feed(self, data: bytes | bytearray | memoryview) -> list[bytes | Overlong]:
        """Take ``data`` and return the lines that it completed, in order, without their newlines."""
        buffer = self._buffer
        if not buffer and not self._skipping and len(data) <= self._limit:
            # Usually everything that arrives is whole lines, and then nothing needs to be kept.
            *whole, rest = bytes(data).split(b"\n")
            buffer += rest
            self._scanned = len(rest)
            return [*whole]
        lines: list[bytes | Overlong] = []
        buffer += data
        start = 0
        while True:
            end = buffer.find(b"\n", max(start, self._scanned))
            if end < 0:
                break
            if self._skipping:
                self._skipping = False
            elif end - start > self._limit:
                lines.append(Overlong(self._limit))
            else:
                lines.append(bytes(buffer[start:end]))
            start = end + 1
            self._scanned = start
        if start:
            del buffer[:start]
        if self._skipping:
            buffer.clear()
        elif len(buffer) > self._limit:
            buffer.clear()
            self._skipping = True
            lines.append(Overlong(self._limit))
        self._scanned = len(buffer)
        return lines
