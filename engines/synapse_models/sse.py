"""Server-sent events: bytes in, events out, no I/O.

The rules are those of the WHATWG HTML standard, section "Server-sent events", with two differences. The data of an
event stays bytes, because what follows is JSON and its decoder refuses broken UTF-8, where replacing it would alter an
answer. And an event has a largest size. As in the standard, an event that no empty line has ended is no event.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from synapse_models.errors import ProtocolViolation

MAX_EVENT_BYTES: Final = 16 << 20
"""Most bytes of one event, and of one line, that are collected before the stream is given up."""

_BOM: Final = b"\xef\xbb\xbf"


class SseEvent(NamedTuple):
    """One event: its ``event`` field, empty when there was none, and its ``data`` lines joined by newlines."""

    event: str
    data: bytes


class SseParser:
    """Cuts a stream of bytes into events, however the bytes were split on their way and whatever ends its lines."""

    def __init__(self, *, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._limit = max_event_bytes
        self._rest = bytearray()  # the line that has begun
        self._skip_newline = False  # the last byte was a CR: a LF that follows belongs to it
        self._at_start = True
        self._event = ""
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """The events that these bytes complete.

        Raises:
            ProtocolViolation: an event is larger than it may be.
        """
        if not chunk:
            return []
        if self._at_start:
            chunk = self._without_bom(chunk)
        if b"\r" in chunk or self._skip_newline:
            chunk = self._with_newlines(chunk)
        events: list[SseEvent] = []
        *lines, rest = chunk.split(b"\n")
        if lines and self._rest:
            lines[0] = bytes(self._rest + lines[0])
            self._rest.clear()
        self._rest += rest
        if len(self._rest) > self._limit:
            raise self._too_large()
        for line in lines:
            if line:
                self._field(line)
                continue
            if self._data:
                events.append(SseEvent(self._event, self._data[0] if len(self._data) == 1 else b"\n".join(self._data)))
                self._data = []
                self._size = 0
            self._event = ""
        return events

    def _without_bom(self, chunk: bytes) -> bytes:
        head = bytes(self._rest + chunk)
        self._rest.clear()
        if len(head) < len(_BOM) and _BOM.startswith(head):
            self._rest += head
            return b""
        self._at_start = False
        return head.removeprefix(_BOM)

    def _with_newlines(self, chunk: bytes) -> bytes:
        if self._skip_newline and chunk:
            chunk = chunk.removeprefix(b"\n")
        self._skip_newline = chunk.endswith(b"\r")
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        if value.startswith(b" "):
            value = value[1:]
        if name == b"data":
            self._size += len(value) + 1
            if self._size > self._limit:
                raise self._too_large()
            self._data.append(value)
        elif name == b"event":
            self._event = value.decode("utf-8", "replace")
        # Comments (an empty name), ids and reconnection times mean nothing to a reply that is read once.

    def _too_large(self) -> ProtocolViolation:
        return ProtocolViolation(f"an event of the stream is larger than {self._limit} bytes")
