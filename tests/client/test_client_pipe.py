"""The Windows pipe behind the client, with the system calls replaced by a recording."""

from __future__ import annotations

from typing import Any

import pytest

from synapse_client.errors import Busy, EndpointRefused, ServiceNotRunning
from synapse_client.pipe import (
    ERROR_BROKEN_PIPE,
    ERROR_FILE_NOT_FOUND,
    ERROR_IO_PENDING,
    ERROR_OPERATION_ABORTED,
    ERROR_PIPE_BUSY,
    PipeStream,
    open_pipe,
)

WAIT_TIMEOUT = 258


def windows_error(number: int) -> OSError:
    error = OSError(number, f"windows error {number}")
    error.winerror = number  # type: ignore[attr-defined,unused-ignore]
    return error


class Operation:
    """An overlapped operation that ends after ``waits`` waits, or never."""

    def __init__(self, data: bytes, waits: int | None, count: int | None = None) -> None:
        self.event = 77
        self.data = data
        self.waits = waits
        self.count = len(data) if count is None else count
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True

    def GetOverlappedResult(self, wait: bool) -> tuple[int, int]:
        assert wait
        return (0, ERROR_OPERATION_ABORTED) if self.cancelled else (self.count, 0)

    def getbuffer(self) -> bytes:
        return self.data + bytes(8)


class RecordedApi:
    """The few functions of ``_winapi`` that the pipe uses."""

    def __init__(self, operation: Operation | None = None, error: OSError | None = None) -> None:
        self.operation = operation
        self.error = error
        self.calls: list[tuple[Any, ...]] = []

    def CreateFile(self, *arguments: Any) -> int:
        self.calls.append(("CreateFile", *arguments))
        if self.error is not None:
            raise self.error
        return 42

    def ReadFile(self, handle: int, size: int, overlapped: bool) -> tuple[Operation, int]:
        return self._started("ReadFile", handle)

    def WriteFile(self, handle: int, data: bytes, overlapped: bool) -> tuple[Operation, int]:
        return self._started("WriteFile", handle, data)

    def _started(self, *call: Any) -> tuple[Operation, int]:
        self.calls.append(call)
        if self.error is not None:
            raise self.error
        assert self.operation is not None
        return self.operation, 0 if self.operation.waits == 0 else ERROR_IO_PENDING

    def WaitForMultipleObjects(self, events: list[int], wait_all: bool, timeout_ms: int) -> int:
        assert (events, wait_all) == ([77], False)
        self.calls.append(("wait", timeout_ms))
        assert self.operation is not None
        if self.operation.waits is None:
            return WAIT_TIMEOUT
        self.operation.waits -= 1
        return 0 if self.operation.waits == 0 else WAIT_TIMEOUT

    def CloseHandle(self, handle: int) -> None:
        self.calls.append(("CloseHandle", handle))


def test_the_pipe_is_opened_without_letting_its_server_act_as_this_user() -> None:
    api = RecordedApi()
    open_pipe(r"\\.\pipe\synapse-x", api).close()
    (_, name, access, share, security, creation, flags, template), closed = api.calls
    assert (name, access, share, security, creation, template) == (r"\\.\pipe\synapse-x", 0xC0000000, 0, 0, 3, 0)
    assert flags == 0x40000000 | 0x00100000 | 0x00010000  # overlapped; security facts given; identification only
    assert closed == ("CloseHandle", 42)


@pytest.mark.parametrize(
    ("number", "expected"), [(ERROR_FILE_NOT_FOUND, ServiceNotRunning), (ERROR_PIPE_BUSY, Busy), (5, EndpointRefused)]
)
def test_each_failure_to_open_is_told_apart(number: int, expected: type[Exception]) -> None:
    with pytest.raises(expected):
        open_pipe("p", RecordedApi(error=windows_error(number)))


@pytest.mark.parametrize("waits", [0, 1, 3])
def test_a_read_returns_what_arrived(waits: int) -> None:
    assert PipeStream(42, RecordedApi(Operation(b"reply\n", waits))).receive(5) == b"reply\n"


def test_a_read_that_takes_too_long_is_taken_back() -> None:
    operation = Operation(b"", None)
    api = RecordedApi(operation)
    assert PipeStream(42, api).receive(0.25) is None
    assert operation.cancelled
    assert [call for call in api.calls if call[0] == "wait"] == [("wait", 100), ("wait", 100), ("wait", 50)]


def test_bytes_that_arrive_while_a_read_is_taken_back_are_kept() -> None:
    class Late(Operation):
        def GetOverlappedResult(self, wait: bool) -> tuple[int, int]:
            return 3, 0

    assert PipeStream(42, RecordedApi(Late(b"abc", None))).receive(0) == b"abc"


def test_a_broken_pipe_is_the_end_of_the_stream_and_other_errors_are_errors() -> None:
    assert PipeStream(42, RecordedApi(error=windows_error(ERROR_BROKEN_PIPE))).receive(1) == b""
    with pytest.raises(OSError, match="windows error 6"):
        PipeStream(42, RecordedApi(error=windows_error(6))).receive(1)


def test_an_interrupted_stream_reads_its_end() -> None:
    operation = Operation(b"", None)
    stream = PipeStream(42, RecordedApi(operation))
    stream.interrupt()
    assert stream.receive(60) == b""
    assert operation.cancelled


def test_a_write_says_how_much_was_taken() -> None:
    api = RecordedApi(Operation(b"", 0, count=4))
    assert PipeStream(42, api).send(memoryview(b"request\n"), 1) == 4
    assert api.calls == [("WriteFile", 42, b"request\n")]
