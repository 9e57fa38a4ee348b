"""The Windows half of :mod:`synapse_client.transport`: a named pipe, with time limits on reading and writing.

Uses the interpreter's own ``_winapi`` module, handed in as an argument, so the order of its calls can be tested on
any system. The pipe is opened so that whoever serves it may identify this user, but not act in the user's name.
"""

from __future__ import annotations

from typing import Any, Final

from synapse_client.errors import Busy, EndpointRefused, ServiceNotRunning

ERROR_FILE_NOT_FOUND: Final = 2
ERROR_BROKEN_PIPE: Final = 109
ERROR_PIPE_BUSY: Final = 231
ERROR_OPERATION_ABORTED: Final = 995
ERROR_IO_PENDING: Final = 997

_GENERIC_READ_WRITE: Final = 0x8000_0000 | 0x4000_0000
_OPEN_EXISTING: Final = 3
_FLAGS: Final = 0x4000_0000 | 0x0010_0000 | 0x0001_0000  # overlapped, with security facts: identification only
_WAIT_OBJECT_0: Final = 0

RECEIVE_BYTES: Final = 64 * 1024
_SLICE_S: Final = 0.1
"""Longest uninterrupted wait. Nothing can wake a waiting thread from outside, so it looks up this often."""


def open_pipe(address: str, winapi: Any = None) -> PipeStream:
    """Connect to the pipe ``address``; raises like :func:`synapse_client.transport.open_stream`."""
    if winapi is None:
        import _winapi

        winapi = _winapi
    try:
        handle = winapi.CreateFile(address, _GENERIC_READ_WRITE, 0, 0, _OPEN_EXISTING, _FLAGS, 0)
    except OSError as error:
        number = getattr(error, "winerror", None)
        if number == ERROR_FILE_NOT_FOUND:
            raise ServiceNotRunning(address, "there is no such pipe") from None
        if number == ERROR_PIPE_BUSY:
            raise Busy("all instances of the pipe are taken") from error
        raise EndpointRefused(address, error.strerror or str(error)) from error
    return PipeStream(handle, winapi)


class PipeStream:
    """An open named pipe in byte mode, read and written with overlapped operations."""

    def __init__(self, handle: int, winapi: Any) -> None:
        self._handle = handle
        self._winapi = winapi
        self._ended = False

    def send(self, data: memoryview, timeout_s: float) -> int:
        operation, state = self._winapi.WriteFile(self._handle, bytes(data[:RECEIVE_BYTES]), overlapped=True)
        written, _ = self._finish(operation, state, timeout_s)
        return written

    def receive(self, timeout_s: float) -> bytes | None:
        try:
            operation, state = self._winapi.ReadFile(self._handle, RECEIVE_BYTES, overlapped=True)
            count, aborted = self._finish(operation, state, timeout_s)
        except OSError as error:
            if getattr(error, "winerror", None) == ERROR_BROKEN_PIPE:
                return b""
            raise
        if aborted:
            return b"" if self._ended else None
        return bytes(operation.getbuffer()[:count])

    def interrupt(self) -> None:
        self._ended = True

    def close(self) -> None:
        self._winapi.CloseHandle(self._handle)

    def _finish(self, operation: Any, state: int, timeout_s: float) -> tuple[int, bool]:
        """Wait for an operation or take it back; returns the bytes moved and whether it was taken back."""
        finished = state != ERROR_IO_PENDING
        try:
            while not finished and not self._ended:
                pause = min(max(timeout_s, 0.0), _SLICE_S)
                finished = self._winapi.WaitForMultipleObjects([operation.event], False, round(pause * 1000)) == (
                    _WAIT_OBJECT_0
                )
                timeout_s -= pause
                if timeout_s <= 0:
                    break
        finally:
            if not finished:
                operation.cancel()
            # Also after taking it back: bytes that moved in that very moment count.
            count, end = operation.GetOverlappedResult(True)
        return count, end == ERROR_OPERATION_ABORTED
