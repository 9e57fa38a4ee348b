"""The pipes and the end of a worker's process, as asyncio reports them, told in the words of ``process``.

Used by ``process`` only; touches nothing but the transport of its process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

PARTING_S = 2.0
"""How long a worker may live on after its pipes ended, and how long its pipes may outlive it: processes that an engine
started can hold them open."""


class PipesOwner(Protocol):
    """Who is told; see the methods of the same names in `WorkerProcess`."""

    def on_started(self, transport: asyncio.SubprocessTransport) -> None: ...

    def on_stdout(self, data: bytes) -> None: ...

    def on_stderr(self, data: bytes) -> None: ...

    def on_pipe_end(self) -> None: ...

    def on_exit(self) -> None: ...

    def on_gone(self, returncode: int) -> None: ...


class _Answers(asyncio.Protocol):
    """Takes what comes out of the pipe of answers straight to the owner; asyncio's own protocol for the pipes of a
    process lets a turn of the loop pass before it does. That one still hears of the pipe's end, which it needs."""

    def __init__(self, of_process: asyncio.BaseProtocol, on_data: Callable[[bytes], None]) -> None:
        self._of_process = of_process
        self._on_data = on_data

    def data_received(self, data: bytes) -> None:
        self._on_data(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._of_process.connection_lost(exc)


class WorkerPipes(asyncio.SubprocessProtocol):
    """Hands what asyncio reports about one process to its owner."""

    def __init__(self, worker: PipesOwner) -> None:
        self._worker = worker
        self._transport: asyncio.SubprocessTransport
        self._parting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)
        self._transport = transport
        answers = transport.get_pipe_transport(1)
        assert answers is not None
        answers.set_protocol(_Answers(answers.get_protocol(), self._worker.on_stdout))
        self._worker.on_started(transport)

    def pipe_data_received(self, fd: int, data: bytes | str) -> None:
        assert isinstance(data, bytes)
        if fd == 1:
            self._worker.on_stdout(data)  # Only what came before `connection_made`.
        else:
            self._worker.on_stderr(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd != 2:
            self._worker.on_pipe_end()

    def process_exited(self) -> None:
        """`connection_lost` follows when the pipes are drained, unless somebody else holds them open."""
        self._worker.on_exit()
        self._parting = asyncio.get_running_loop().call_later(PARTING_S, self._report)

    def connection_lost(self, exc: Exception | None) -> None:
        self._report()

    def _report(self) -> None:
        if self._parting is not None:
            self._parting.cancel()
        returncode = self._transport.get_returncode()
        assert returncode is not None
        self._worker.on_gone(returncode)
