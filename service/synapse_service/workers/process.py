"""One worker process as the service sees it: started, asked, watched and ended from the event loop.

Owned by a lane's supervisor, which decides about strikes, restarts and waiting; this file knows none of that. It
touches one child process through three pipes and holds at most one request in flight. Everything runs on the loop's
thread, and a worker must be started from there: on Linux it ends with the thread that started it.

A worker ends for good in one of three ways, each a WorkerFault: it is gone (WorkerCrashed), it sent something that
makes no sense (WorkerProtocolFault), or it completed no work for too long (WorkerHung). The last two kill it. A request
that the worker refuses (WorkerRefused) leaves it in good order.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import psutil

from synapse_engines.worker.frames import ProtocolError
from synapse_engines.worker.protocol import (
    Embed,
    Embedded,
    Encoding,
    Load,
    LoadSpec,
    Measure,
    Measured,
    Message,
    Pong,
    Ready,
    Score,
    Scored,
    Shutdown,
    encode,
)
from synapse_service.clock import Clock
from synapse_service.workers.dialogue import Dialogue, OnProgress, Question
from synapse_service.workers.faults import (
    WorkerCrashed,
    WorkerFault,
    WorkerNotGone,
)
from synapse_service.workers.launch import (
    SPAWN_OPTIONS,
    Launch,
    ProcessGroup,
    process_group,
    widen_pipe,
)
from synapse_service.workers.pipes import PARTING_S, WorkerPipes
from synapse_service.workers.scores import ScoredRows, scored_rows
from synapse_service.workers.watch import NOBODY, WorkerWatch

_Answer = TypeVar("_Answer", bound=Message)

STDERR_TAIL = 8192
"""Bytes of standard error that are kept."""

LOAD_STALL_S = 600.0
"""Without progress for this long, loading counts as hung."""

SERVE_STALL_S = 120.0
"""Without progress for this long, a request counts as hung, unless the caller knows better."""


@dataclass(frozen=True, slots=True)
class EmbeddedRows:
    """Vectors as the worker encoded them.

    Attributes:
        rows: in request order: the text of a JSON array each, or raw little-endian float32; empty if not finite.
        non_finite: indices of the rows that are not finite, ascending.
        compute_ms: time inside the engine.
    """

    rows: list[bytes]
    non_finite: tuple[int, ...]
    compute_ms: float


class WorkerProcess:
    """A running worker.

    Attributes:
        pid: its process id.
    """

    def __init__(self, clock: Clock, check_every_s: float, watch: WorkerWatch) -> None:
        """Use `start`."""
        self._watch = watch
        self._loop = asyncio.get_running_loop()
        self._stderr = bytearray()
        self._gone: asyncio.Future[int] = self._loop.create_future()
        self._closing: asyncio.Task[int] | None = None
        self._group: ProcessGroup | None = None
        self._exited = False
        self._transport: asyncio.SubprocessTransport
        self._dialogue = Dialogue(self._write, lambda: self.stderr_tail, self._kill, clock, check_every_s)
        self.pid = 0

    @classmethod
    async def start(
        cls, launch: Launch, *, clock: Clock, check_every_s: float = 1.0, watch: WorkerWatch = NOBODY
    ) -> WorkerProcess:
        """Starts a process. It holds no model until `load`.

        Args:
            launch: what to execute.
            clock: measures how long the worker went without progress.
            check_every_s: how often, in real seconds, `clock` is looked at.
            watch: told of the load's answer and of each request to compute.

        Raises:
            WorkerCrashed: the process could not be started.
        """
        worker = cls(clock, check_every_s, watch)
        try:
            await worker._loop.subprocess_exec(
                lambda: WorkerPipes(worker),
                *launch.command,
                env=dict(launch.environment),
                pass_fds=launch.inherited,
                **SPAWN_OPTIONS,
            )
            worker._group = process_group(worker.pid)
            if worker._exited:
                # Its end was reported before there was a group to kill.
                worker._group.kill()
        except OSError as error:
            if worker.pid:
                worker._transport.close()
            raise WorkerCrashed(None, str(error)) from error
        return worker

    @property
    def fault(self) -> WorkerFault | None:
        """What ended the worker's usefulness, None while it serves. After `close` it is WorkerCrashed."""
        return self._dialogue.fault

    def follow_compiles(self, on_compile: Callable[[int, bool], None]) -> None:
        """Have this told for rows of which length the worker compiles: True when it begins, False when it is done."""
        self._dialogue.on_compile = on_compile

    @property
    def stderr_tail(self) -> str:
        """The last 8 KiB that the worker wrote to standard error."""
        return self._stderr.decode("utf-8", "replace")

    def rss(self) -> int | None:
        """Resident memory in bytes, None once the process is gone."""
        try:
            return int(psutil.Process(self.pid).memory_info().rss)
        except psutil.NoSuchProcess:
            return None

    async def load(self, spec: LoadSpec, *, stall_limit_s: float = LOAD_STALL_S) -> Ready:
        """Loads the model; once in a worker's life.

        Raises:
            WorkerRefused: the artifact, the engine or the self-test is not in order.
            WorkerFault: see the module.
        """
        self._require_open()
        question = Question(lambda id: Load(id, spec), b"", Ready, _alone, stall_limit_s)
        answer: Ready = await self._dialogue.ask(question)
        self._watch.ready(answer.facts)
        return answer

    def embed(
        self,
        lengths: Sequence[int],
        ids: bytes,
        encoding: Encoding,
        *,
        stall_limit_s: float = SERVE_STALL_S,
        on_progress: OnProgress | None = None,
    ) -> asyncio.Future[EmbeddedRows]:
        """Computes vectors. The request is on its way when this returns.

        A cancelled future neither stops the worker nor gets in the way of the next: the request runs to its end,
        its answer is dropped, and a request made meanwhile waits for that. The future may end with:

            WorkerRefused: the engine will not have these ids.
            WorkerFault: see the module.

        Args:
            lengths: tokens of each row.
            ids: all rows one after the other, little-endian int32.
            encoding: form of the rows that come back.
            stall_limit_s: seconds without progress after which the worker counts as hung.
            on_progress: called on the loop whenever work was completed, while the caller waits.

        Raises:
            WorkerFault: the worker is no use any more.
        """
        self._require_rows(lengths, ids)
        self._watch.requested()

        def read(answer: Embedded, payload: bytes) -> EmbeddedRows:
            rows = _cut(payload, answer.sizes)
            if rows is None or len(rows) != len(lengths):
                raise ProtocolError("the rows do not match the request")
            return EmbeddedRows(rows, tuple(answer.non_finite), answer.compute_ms)

        return self._dialogue.ask(
            Question(lambda id: Embed(id, list(lengths), encoding), ids, Embedded, read, stall_limit_s, on_progress)
        )

    def score(
        self,
        lengths: Sequence[int],
        ids: bytes,
        *,
        stall_limit_s: float = SERVE_STALL_S,
        on_progress: OnProgress | None = None,
    ) -> asyncio.Future[ScoredRows]:
        """Computes scores, with a model that was loaded with a read-out. What is said of `embed` holds here too."""
        self._require_rows(lengths, ids)
        self._watch.requested()

        def read(answer: Scored, payload: bytes) -> ScoredRows:
            rows = scored_rows(answer, payload, len(lengths))
            if rows is None:
                raise ProtocolError("the scores do not match the request")
            return rows

        return self._dialogue.ask(
            Question(lambda id: Score(id, list(lengths)), ids, Scored, read, stall_limit_s, on_progress)
        )

    async def measure(
        self, dims: int, candidate: bytes, reference: bytes, *, stall_limit_s: float = SERVE_STALL_S
    ) -> Measured:
        """Compares two sets of vectors of the same texts, each raw little-endian float32 of shape [rows, dims].

        Raises:
            WorkerFault: see the module.
        """
        rows = len(candidate) // (4 * dims)
        if rows < 2 or len(candidate) != 4 * dims * rows or len(reference) != len(candidate):
            raise ValueError(f"{len(candidate)} and {len(reference)} bytes are not two sets of vectors of {dims}")
        self._require_open()
        return await self._dialogue.ask(
            Question(lambda id: Measure(id, dims, rows), candidate + reference, Measured, _alone, stall_limit_s)
        )

    async def ping(self) -> Pong:
        """A sign of life, at any time, also while a request is served. It says nothing about progress.

        Raises:
            WorkerFault: see the module.
        """
        self._require_open()
        return await self._dialogue.ping()

    async def settled(self) -> WorkerFault | None:
        """Waits until no request is in flight, also one whose caller was cancelled.

        Returns:
            The fault that ended the worker, None if it still serves: then an abandoned request ran to its end.
        """
        await self._dialogue.settled()
        return self.fault

    async def wait(self) -> int:
        """Waits until the process is gone, however it came to that; returns its exit status, -N for signal N."""
        return await asyncio.shield(self._gone)

    async def close(self, grace_s: float = 2.0) -> int:
        """Ends the process and waits until it is gone: first asks, then SIGTERM, then SIGKILL to its whole group.

        A request in flight gets `grace_s` to end. Calls after the first join it; a caller's cancellation does not
        stop it.

        Returns:
            The exit status, -N for signal N.

        Raises:
            WorkerNotGone: the process survived being killed.
        """
        if self._closing is None:
            self._closing = self._loop.create_task(self._close(grace_s))
        return await asyncio.shield(self._closing)

    async def _close(self, grace_s: float) -> int:
        assert self._group is not None
        if not self._gone.done():
            self._write(encode(Shutdown(self._dialogue.next_id())))
            self._requests.close()
        for escalate in (None, self._group.terminate, self._group.kill):
            if self._gone.done():
                break
            if escalate is not None:
                escalate()
            await asyncio.wait([self._gone], timeout=grace_s)
        if not self._gone.done():
            # The kernel may take a while to give back tens of gigabytes.
            await asyncio.wait([self._gone], timeout=10 * grace_s)
        if not self._gone.done():
            raise WorkerNotGone(self.pid)
        return self._gone.result()

    def _require_rows(self, lengths: Sequence[int], ids: bytes) -> None:
        if 4 * sum(lengths) != len(ids):
            raise ValueError(f"{len(ids)} bytes of ids for {sum(lengths)} tokens")
        self._require_open()

    def _require_open(self) -> None:
        if self._closing is not None:
            raise RuntimeError("the worker was told to end")

    def _write(self, data: bytes) -> None:
        self._requests.write(data)

    def _kill(self) -> None:
        if self._group is not None and not self._gone.done():
            self._group.kill()

    # What the pipes tell.

    def on_started(self, transport: asyncio.SubprocessTransport) -> None:
        """The process runs."""
        self._transport = transport
        self.pid = transport.get_pid()
        requests, answers = transport.get_pipe_transport(0), transport.get_pipe_transport(1)
        assert isinstance(requests, asyncio.WriteTransport)
        assert answers is not None
        self._requests = requests
        widen_pipe(answers.get_extra_info("pipe").fileno())

    def on_stdout(self, data: bytes) -> None:
        """Takes bytes of the worker's answers, cut anywhere."""
        self._dialogue.receive(data)

    def on_stderr(self, data: bytes) -> None:
        """Keeps the end of what the worker, or a library in it, says on standard error."""
        self._stderr += data
        del self._stderr[:-STDERR_TAIL]

    def on_pipe_end(self) -> None:
        """A pipe to or from the worker ended. It should be dying; if not, it is no use alive."""
        if self._closing is None:
            self._loop.call_later(PARTING_S, self._kill)

    def on_exit(self) -> None:
        """The process is gone, though perhaps not everything that it sent was read."""
        # Whatever an engine started in it goes too.
        self._exited = True
        self._kill()

    def on_gone(self, returncode: int) -> None:
        """The process is gone and everything that it sent was read."""
        if self._gone.done():
            return
        self._gone.set_result(returncode)
        if self._group is not None:
            self._group.release()
        self._transport.close()
        self._dialogue.end(WorkerCrashed(returncode, self.stderr_tail))


def _alone(answer: _Answer, payload: bytes) -> _Answer:
    """An answer that means nothing but itself."""
    return answer


def _cut(payload: bytes, sizes: Sequence[int]) -> list[bytes] | None:
    """`payload` in pieces of the given sizes, None if it is not exactly as long as they are together."""
    if min(sizes, default=0) < 0 or sum(sizes) != len(payload):
        return None
    pieces = []
    start = 0
    for size in sizes:
        pieces.append(payload[start : start + size])
        start += size
    return pieces
