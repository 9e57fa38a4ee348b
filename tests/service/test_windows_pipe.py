"""The named pipe, with Windows played: who may open it, which instances exist, and what a lost client costs."""

from __future__ import annotations

import asyncio
import ctypes
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from fixtures.clocks import FakeClock
from fixtures.expected_warnings import ExpectedWarnings
from synapse_service.instance import StartFailed
from synapse_service.server.peer import PeerRefused
from synapse_service.server.transports import windows_pipe
from synapse_service.server.transports.windows_pipe import (
    FILE_FLAG_FIRST_PIPE_INSTANCE,
    FILE_FLAG_OVERLAPPED,
    PIPE_ACCESS_DUPLEX,
    PIPE_REJECT_REMOTE_CLIENTS,
    PipeListener,
    ProactorPipes,
    WindowsCalls,
)

NAME = r"\\.\pipe\synapse-test"
SID = "S-1-5-21-1-2-3-1001"


class FakePipe:
    def __init__(self, number: int) -> None:
        self.number = number
        self.closed = False

    def fileno(self) -> int:
        return self.number

    def close(self) -> None:
        self.closed = True


class FakePipes:
    """Windows and the loop in one; a test lets clients come with ``arrive``."""

    def __init__(self) -> None:
        self.created: list[tuple[str, bool]] = []
        self.pipes: list[FakePipe] = []
        self.waiting: list[asyncio.Future[Any]] = []
        self.attached: list[tuple[FakePipe, asyncio.Protocol]] = []
        self.failure: OSError | None = None

    def create(self, name: str, *, first: bool) -> FakePipe:
        if self.failure is not None:
            raise self.failure
        self.created.append((name, first))
        self.pipes.append(FakePipe(len(self.pipes)))
        return self.pipes[-1]

    def wait(self, pipe: Any) -> asyncio.Future[Any]:
        self.waiting.append(asyncio.get_running_loop().create_future())
        return self.waiting[-1]

    def attach(self, pipe: Any, protocol: asyncio.Protocol) -> None:
        self.attached.append((pipe, protocol))

    def client_pid(self, pipe: Any) -> int:
        if self.failure is not None:
            raise self.failure
        return 4711

    async def arrive(self, error: OSError | None = None) -> None:
        if error is None:
            self.waiting[-1].set_result(None)
        else:
            self.waiting[-1].set_exception(error)
        await asyncio.sleep(0)
        await asyncio.sleep(0)


@pytest.fixture
def pipes() -> FakePipes:
    return FakePipes()


def listener_on(pipes: FakePipes) -> PipeListener:
    return PipeListener(NAME, FakeClock(), pipes)


async def test_one_instance_waits_and_only_the_first_claims_the_name(pipes: FakePipes) -> None:
    listener = listener_on(pipes)
    await listener.start(asyncio.Protocol)
    assert pipes.created == [(NAME, True)]
    await pipes.arrive()
    await pipes.arrive()
    assert pipes.created == [(NAME, True), (NAME, False), (NAME, False)]
    assert [pipe.number for pipe, _ in pipes.attached] == [0, 1]
    assert not any(pipe.closed for pipe in pipes.pipes)


async def test_a_name_in_use_fails_the_start(pipes: FakePipes) -> None:
    pipes.failure = OSError("CreateNamedPipeW failed with Windows error 5")
    with pytest.raises(StartFailed, match="Windows error 5"):
        await listener_on(pipes).start(asyncio.Protocol)


async def test_a_client_that_leaves_at_once_costs_only_its_instance(pipes: FakePipes) -> None:
    listener = listener_on(pipes)
    await listener.start(asyncio.Protocol)
    await pipes.arrive(BrokenPipeError())
    assert (pipes.pipes[0].closed, pipes.attached, len(pipes.created)) == (True, [], 2)
    await pipes.arrive()
    assert [pipe.number for pipe, _ in pipes.attached] == [1]


async def test_an_instance_that_cannot_be_made_is_tried_again(
    pipes: FakePipes, monkeypatch: pytest.MonkeyPatch, expected_warnings: ExpectedWarnings
) -> None:
    monkeypatch.setattr(windows_pipe, "_RETRY_S", 0.0)
    expected_warnings("pipe_not_created")
    listener = listener_on(pipes)
    await listener.start(asyncio.Protocol)
    pipes.failure = OSError("no more handles")
    await pipes.arrive()
    assert len(pipes.created) == 1
    pipes.failure = None
    await asyncio.sleep(0.01)
    assert pipes.created == [(NAME, True), (NAME, False)]


async def test_close_ends_the_waiting_and_a_client_in_flight_is_not_attached(pipes: FakePipes) -> None:
    listener = listener_on(pipes)
    await listener.start(asyncio.Protocol)
    pipes.waiting[0].set_result(None)
    listener.close()
    listener.close()
    await asyncio.sleep(0)
    assert (pipes.pipes[0].closed, pipes.attached, len(pipes.created)) == (True, [], 1)


async def test_a_peer_is_a_process_and_the_end_of_input_is_the_end(pipes: FakePipes) -> None:
    listener = listener_on(pipes)
    transport: Any = SimpleNamespace(get_extra_info=lambda name: FakePipe(1))
    peer = listener.peer(transport)
    assert (peer.pid, peer.uid) == (4711, None)
    assert listener.hung_up(transport) is True
    pipes.failure = OSError("gone")
    with pytest.raises(PeerRefused):
        listener.peer(transport)


# --- the calls to Windows ---


def through(reference: Any) -> Any:
    """What a ``byref`` argument points at."""
    return reference._obj


class FakeWindows:
    """``kernel32`` and ``advapi32`` as far as they are used; every argument is kept, and everything freed counted."""

    def __init__(self, **failing: int) -> None:
        self.descriptors: list[str] = []
        self.pipes: list[tuple[str, int, int, int]] = []
        self.freed = 0
        self.closed = 0
        self.failing = failing
        self.kernel32 = SimpleNamespace(
            CreateNamedPipeW=self._function("CreateNamedPipeW", self.create),
            GetCurrentProcess=self._function("GetCurrentProcess", lambda: -1),
            GetNamedPipeClientProcessId=self._function("GetNamedPipeClientProcessId", self.client),
            LocalFree=self._function("LocalFree", self.free),
            CloseHandle=self._function("CloseHandle", self.close),
        )
        self.advapi32 = SimpleNamespace(
            OpenProcessToken=self._function("OpenProcessToken", lambda process, access, token: 1),
            GetTokenInformation=self._function("GetTokenInformation", self.token),
            ConvertSidToStringSidW=self._function("ConvertSidToStringSidW", self.sid),
            ConvertStringSecurityDescriptorToSecurityDescriptorW=self._function("Convert", self.descriptor),
        )

    def _function(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            return self.failing[name] if name in self.failing else function(*arguments)

        return call

    def calls(self) -> WindowsCalls:
        return WindowsCalls(self.kernel32, self.advapi32, lambda: 5)

    def token(self, token: Any, kind: int, buffer: Any, size: Any, needed: Any) -> int:
        through(needed).value = ctypes.sizeof(ctypes.c_void_p)
        return 0 if buffer is None else 1

    def sid(self, sid: Any, text: Any) -> int:
        through(text).value = SID
        return 1

    def descriptor(self, sddl: str, revision: Any, descriptor: Any, size: Any) -> int:
        self.descriptors.append(sddl)
        through(descriptor).value = 0x1000
        return 1

    def create(self, name: str, mode: Any, kind: Any, most: Any, out: Any, into: Any, wait: Any, security: Any) -> int:
        attributes = through(security)
        assert attributes.nLength == ctypes.sizeof(attributes)
        assert attributes.bInheritHandle == 0
        self.pipes.append((name, mode.value, kind.value, attributes.lpSecurityDescriptor))
        return 77

    def client(self, handle: Any, pid: Any) -> int:
        through(pid).value = handle.value + 1000
        return 1

    def free(self, memory: Any) -> None:
        self.freed += 1

    def close(self, handle: Any) -> None:
        self.closed += 1


def test_the_pipe_is_the_users_alone_and_this_machines() -> None:
    windows = FakeWindows()
    calls = windows.calls()
    assert calls.create_pipe(NAME, first=True) == 77
    assert calls.create_pipe(NAME, first=False) == 77
    assert windows.descriptors == [f"D:P(A;;GA;;;{SID})"] * 2
    duplex = PIPE_ACCESS_DUPLEX | FILE_FLAG_OVERLAPPED
    assert windows.pipes == [
        (NAME, duplex | FILE_FLAG_FIRST_PIPE_INSTANCE, PIPE_REJECT_REMOTE_CLIENTS, 0x1000),
        (NAME, duplex, PIPE_REJECT_REMOTE_CLIENTS, 0x1000),
    ]
    assert (windows.freed, windows.closed) == (4, 2)


@pytest.mark.parametrize(
    ("function", "answer"),
    [
        ("CreateNamedPipeW", ctypes.c_void_p(-1).value),
        ("CreateNamedPipeW", None),
        ("OpenProcessToken", 0),
        ("GetTokenInformation", 0),
        ("ConvertSidToStringSidW", 0),
        ("Convert", 0),
    ],
)
def test_a_refusal_by_windows_names_the_function_and_the_error(function: str, answer: Any) -> None:
    windows = FakeWindows(**{function: answer})
    with pytest.raises(OSError, match="failed with Windows error 5"):
        windows.calls().create_pipe(NAME, first=True)


def test_the_client_of_a_pipe_is_asked_for_by_its_handle() -> None:
    pipes = ProactorPipes(FakeWindows().calls(), lambda handle: FakePipe(handle))
    pipe = pipes.create(NAME, first=True)
    assert pipe.fileno() == 77
    assert pipes.client_pid(pipe) == 1077
    with pytest.raises(OSError, match="GetNamedPipeClientProcessId"):
        FakeWindows(GetNamedPipeClientProcessId=0).calls().client_pid(1)
