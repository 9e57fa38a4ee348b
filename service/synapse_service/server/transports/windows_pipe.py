"""The named pipe of Windows: an access list that names the user alone, and no clients from other machines.

asyncio can serve a pipe, but only with the default access list, which lets other users read. So the pipe instances
are made here through the Windows interface, and only waiting and reading are asyncio's. Everything that calls Windows
is behind :class:`Pipes`, and that class's own calls go to libraries it is given, so that both can be tested anywhere.
"""

from __future__ import annotations

import asyncio
import ctypes
from collections.abc import Callable
from ctypes import wintypes
from typing import Any, Final, Protocol

from synapse_service.clock import Clock
from synapse_service.instance import StartFailed
from synapse_service.logs import get_logger
from synapse_service.server.peer import Peer, PeerRefused

PIPE_ACCESS_DUPLEX: Final = 0x3
FILE_FLAG_OVERLAPPED: Final = 0x40000000
FILE_FLAG_FIRST_PIPE_INSTANCE: Final = 0x00080000
PIPE_REJECT_REMOTE_CLIENTS: Final = 0x8
PIPE_UNLIMITED_INSTANCES: Final = 255

_TOKEN_QUERY: Final = 0x8
_TOKEN_USER: Final = 1
_SDDL_REVISION: Final = 1
_BUFFER_BYTES: Final = 64 * 1024
_RETRY_S: Final = 1.0
_INVALID_HANDLE: Final = ctypes.c_void_p(-1).value

log = get_logger(__name__)


class Pipe(Protocol):
    """One instance of a pipe; asyncio's ``PipeHandle``."""

    def fileno(self) -> int: ...

    def close(self) -> None: ...


class Pipes(Protocol):
    """What the listener needs of Windows and of the event loop."""

    def create(self, name: str, *, first: bool) -> Pipe:
        """A new instance. ``first`` demands that the name is not in use. Raises OSError."""
        ...

    def wait(self, pipe: Pipe) -> asyncio.Future[Any]:
        """Done when a client has connected to ``pipe``."""
        ...

    def attach(self, pipe: Pipe, protocol: asyncio.Protocol) -> None:
        """Let the event loop read and write ``pipe`` for ``protocol``."""
        ...

    def client_pid(self, pipe: Pipe) -> int:
        """The process at the other end. Raises OSError."""
        ...


class PipeListener:
    """Accepts on a named pipe: one instance always waits, and each client takes one away."""

    def __init__(self, address: str, clock: Clock, pipes: Pipes) -> None:
        self._address = address
        self._clock = clock
        self._pipes = pipes
        self._accept: Callable[[], asyncio.Protocol] | None = None
        self._waiting: tuple[Pipe, asyncio.Future[Any]] | None = None
        self._closed = False

    async def start(self, accept: Callable[[], asyncio.Protocol]) -> None:
        self._accept = accept
        try:
            self._wait_for_client(first=True)
        except OSError as error:
            message = f"the pipe {self._address} can't be created ({error})"
            raise StartFailed(message, "Find the program that uses this name, and stop it") from error

    def peer(self, transport: asyncio.BaseTransport) -> Peer:
        # The access list admitted only this user, so what is left to learn is which process it is.
        pipe = transport.get_extra_info("pipe")
        try:
            pid = self._pipes.client_pid(pipe)
        except OSError as error:
            raise PeerRefused(f"the system does not say who connected: {error}") from error
        return Peer(pid, None, self._clock.wall_ms())

    def widen(self, transport: asyncio.BaseTransport) -> None:
        """The size of a pipe's buffers is fixed when it is made."""

    def hung_up(self, transport: asyncio.BaseTransport) -> bool:
        return True  # A pipe has no half-closed state.

    def close(self) -> None:
        self._closed = True
        if self._waiting is not None:
            pipe, connected = self._waiting
            self._waiting = None
            connected.cancel()
            pipe.close()

    def _wait_for_client(self, *, first: bool) -> None:
        pipe = self._pipes.create(self._address, first=first)
        connected = self._pipes.wait(pipe)
        self._waiting = pipe, connected
        connected.add_done_callback(lambda _: self._connected(pipe, connected))

    def _connected(self, pipe: Pipe, connected: asyncio.Future[Any]) -> None:
        if self._closed or self._accept is None:
            return
        self._waiting = None
        if connected.cancelled() or connected.exception() is not None:
            pipe.close()  # The client left again before it was served.
        else:
            self._pipes.attach(pipe, self._accept())
        self._next_client()

    def _next_client(self) -> None:
        if self._closed:
            return
        try:
            self._wait_for_client(first=False)
        except OSError as error:
            log.error("pipe_not_created", reason=str(error))
            asyncio.get_running_loop().call_later(_RETRY_S, self._next_client)


class _SecurityAttributes(ctypes.Structure):
    _fields_ = (
        ("nLength", wintypes.DWORD),
        ("lpSecurityDescriptor", wintypes.LPVOID),
        ("bInheritHandle", wintypes.BOOL),
    )


class WindowsCalls:
    """The calls that asyncio has no wrapper for. ``kernel32`` and ``advapi32`` are the loaded libraries."""

    def __init__(self, kernel32: Any, advapi32: Any, last_error: Callable[[], int]) -> None:
        kernel32.CreateNamedPipeW.restype = wintypes.HANDLE
        kernel32.GetCurrentProcess.restype = wintypes.HANDLE
        self._kernel32 = kernel32
        self._advapi32 = advapi32
        self._last_error = last_error

    def create_pipe(self, name: str, *, first: bool) -> int:
        """A handle of a new pipe instance that this user alone may open. Raises OSError."""
        descriptor = wintypes.LPVOID()
        self._check(
            self._advapi32.ConvertStringSecurityDescriptorToSecurityDescriptorW(
                self.owner_only(), wintypes.DWORD(_SDDL_REVISION), ctypes.byref(descriptor), None
            ),
            "ConvertStringSecurityDescriptorToSecurityDescriptorW",
        )
        try:
            security = _SecurityAttributes(ctypes.sizeof(_SecurityAttributes), descriptor, False)
            handle = self._kernel32.CreateNamedPipeW(
                name,
                wintypes.DWORD(
                    PIPE_ACCESS_DUPLEX | FILE_FLAG_OVERLAPPED | (FILE_FLAG_FIRST_PIPE_INSTANCE if first else 0)
                ),
                wintypes.DWORD(PIPE_REJECT_REMOTE_CLIENTS),
                wintypes.DWORD(PIPE_UNLIMITED_INSTANCES),
                wintypes.DWORD(_BUFFER_BYTES),
                wintypes.DWORD(_BUFFER_BYTES),
                wintypes.DWORD(0),
                ctypes.byref(security),
            )
            self._check(handle is not None and handle != _INVALID_HANDLE, "CreateNamedPipeW")
            return int(handle)
        finally:
            self._kernel32.LocalFree(descriptor)

    def client_pid(self, handle: int) -> int:
        """The process at the other end of a pipe. Raises OSError."""
        pid = wintypes.ULONG()
        found = self._kernel32.GetNamedPipeClientProcessId(wintypes.HANDLE(handle), ctypes.byref(pid))
        self._check(found, "GetNamedPipeClientProcessId")
        return pid.value

    def owner_only(self) -> str:
        """The access list: nothing inherited, all rights to this user, none to anyone else."""
        return f"D:P(A;;GA;;;{self._user_sid()})"

    def _user_sid(self) -> str:
        token = wintypes.HANDLE()
        process = wintypes.HANDLE(self._kernel32.GetCurrentProcess())
        opened = self._advapi32.OpenProcessToken(process, wintypes.DWORD(_TOKEN_QUERY), ctypes.byref(token))
        self._check(opened, "OpenProcessToken")
        try:
            size = wintypes.DWORD()
            # The first call only tells the size.
            self._advapi32.GetTokenInformation(token, _TOKEN_USER, None, wintypes.DWORD(0), ctypes.byref(size))
            buffer = ctypes.create_string_buffer(size.value)
            filled = self._advapi32.GetTokenInformation(token, _TOKEN_USER, buffer, size, ctypes.byref(size))
            self._check(filled, "GetTokenInformation")
            sid = ctypes.cast(buffer, ctypes.POINTER(wintypes.LPVOID)).contents
            text = wintypes.LPWSTR()
            converted = self._advapi32.ConvertSidToStringSidW(sid, ctypes.byref(text))
            self._check(converted, "ConvertSidToStringSidW")
            try:
                return text.value or ""
            finally:
                self._kernel32.LocalFree(text)
        finally:
            self._kernel32.CloseHandle(token)

    def _check(self, success: object, function: str) -> None:
        if not success:
            raise OSError(f"{function} failed with Windows error {self._last_error()}")


class ProactorPipes:
    """:class:`Pipes` on asyncio's proactor loop."""

    def __init__(self, calls: WindowsCalls, handle: Callable[[int], Pipe]) -> None:
        self._calls = calls
        self._handle = handle

    def create(self, name: str, *, first: bool) -> Pipe:
        return self._handle(self._calls.create_pipe(name, first=first))

    def wait(self, pipe: Pipe) -> asyncio.Future[Any]:
        loop: Any = asyncio.get_running_loop()
        connected: asyncio.Future[Any] = loop._proactor.accept_pipe(pipe)
        return connected

    def attach(self, pipe: Pipe, protocol: asyncio.Protocol) -> None:
        loop: Any = asyncio.get_running_loop()
        loop._make_duplex_pipe_transport(pipe, protocol)

    def client_pid(self, pipe: Pipe) -> int:
        return self._calls.client_pid(pipe.fileno())


def proactor_pipes() -> ProactorPipes:
    """The real thing; works on Windows only."""
    from asyncio import windows_utils

    library: Any = ctypes
    calls = WindowsCalls(
        library.WinDLL("kernel32", use_last_error=True),
        library.WinDLL("advapi32", use_last_error=True),
        library.get_last_error,
    )
    make: Any = windows_utils
    return ProactorPipes(calls, make.PipeHandle)
