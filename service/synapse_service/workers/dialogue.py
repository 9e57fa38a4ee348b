"""Questions to a worker and the answers to them, over whatever moves the bytes.

Used by ``process``, which owns the process and its pipes. Here is decided which message answers what, when a
worker counts as hung, and what becomes of an answer that nobody waits for any more:

| the caller of a request | the worker | the request |
|---|---|---|
| waits | answers | ends with the answer |
| waits | refuses | ends with WorkerRefused, the worker serves on |
| was cancelled | answers or refuses | its answer is dropped; only then is the next request sent |
| waits or was cancelled | is silent for the limit, talks nonsense, or is gone | the fault ends it and the dialogue |
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from synapse_engines.worker.frames import FrameDecoder, ProtocolError
from synapse_engines.worker.protocol import (
    Compiling,
    Failed,
    Message,
    Ping,
    Pong,
    Progress,
    Reply,
    Request,
    decode_reply,
    encode,
)
from synapse_service.clock import Clock
from synapse_service.workers.faults import WorkerFault, WorkerHung, WorkerProtocolFault, WorkerRefused

OnProgress = Callable[[Progress], None]

_Answer = TypeVar("_Answer", bound=Message)
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Question(Generic[_Answer, _Result]):
    """What a worker is asked.

    Attributes:
        make: the message, given its number.
        payload: what travels with it.
        answer_type: the message that answers it.
        read: what the answer and its payload mean; raises ProtocolError if they make no sense.
        limit_s: seconds without progress after which the worker counts as hung.
        on_progress: called on the loop whenever work was completed, while the caller waits.
    """

    make: Callable[[int], Request]
    payload: bytes
    answer_type: type[_Answer]
    read: Callable[[_Answer, bytes], _Result]
    limit_s: float
    on_progress: OnProgress | None = None


COMPILE_STALL_S = 600.0
"""A worker that compiles for this long counts as hung, however soon it would while it computes."""


def _unheard(_shape: int, _begun: bool) -> None:
    pass


@dataclass(slots=True)
class _Outstanding:
    """The request that the worker is serving; its caller waits until `answer` is done, or was cancelled."""

    id: int
    question: Question[Any, Any]
    answer: asyncio.Future[Any]
    moved_at: float
    tokens_done: int = 0
    compiling: bool = False


class Dialogue:
    """At most one request in flight, and pings at any time.

    Attributes:
        fault: what ended the dialogue, None while it goes on.
        on_compile: told for rows of which length the worker compiles, when it begins (True) and when it is done.
    """

    def __init__(
        self,
        write: Callable[[bytes], None],
        stderr_tail: Callable[[], str],
        on_fault: Callable[[], None],
        clock: Clock,
        check_every_s: float,
    ) -> None:
        """Begins it.

        Args:
            write: sends bytes to the worker.
            stderr_tail: what the worker said last, for the fault.
            on_fault: called once, when `fault` was set.
            clock: measures how long the worker went without progress.
            check_every_s: how often, in real seconds, `clock` is looked at.
        """
        self._loop = asyncio.get_running_loop()
        self._write = write
        self._stderr_tail = stderr_tail
        self._on_fault = on_fault
        self._clock = clock
        self._check_every_s = check_every_s
        self._decoder = FrameDecoder()
        self._last_id = 0
        self._outstanding: _Outstanding | None = None
        self._next: asyncio.Task[Any] | None = None
        self._settling: list[asyncio.Future[None]] = []
        self._pings: dict[int, asyncio.Future[Pong]] = {}
        self._stall_check: asyncio.TimerHandle | None = None
        self.fault: WorkerFault | None = None
        self.on_compile: Callable[[int, bool], None] = _unheard

    def next_id(self) -> int:
        """A number for a message to the worker, never used before."""
        self._last_id += 1
        return self._last_id

    def ask(self, question: Question[Any, _Result]) -> asyncio.Future[_Result]:
        """Sends one request, at once if the worker is free, and gives what its answer will be read as.

        The future ends with WorkerRefused if the worker will not serve the request, and with WorkerFault if the
        dialogue ends first.

        Raises:
            RuntimeError: another caller is waiting for an answer.
            ProtocolError: the request is too large to be sent; nothing was.
            WorkerFault: the dialogue is over.
        """
        if self._next is not None or (self._outstanding is not None and not self._outstanding.answer.cancelled()):
            raise RuntimeError("a worker serves one request at a time")
        self._require_no_fault()
        if self._outstanding is None:
            return self._send(question)
        self._next = self._loop.create_task(self._ask_next(question))
        return self._next

    async def _ask_next(self, question: Question[Any, _Result]) -> _Result:
        try:
            await self.settled()
            self._require_no_fault()
            answer = self._send(question)
        finally:
            self._next = None
        return await answer

    def _send(self, question: Question[Any, _Result]) -> asyncio.Future[_Result]:
        outstanding = _Outstanding(self.next_id(), question, self._loop.create_future(), self._clock.monotonic())
        self._write(encode(question.make(outstanding.id), question.payload))
        self._outstanding = outstanding
        if self._stall_check is None:
            self._check_for_stall()
        return outstanding.answer

    async def ping(self) -> Pong:
        """A sign of life, at any time, also while a request is served. It says nothing about progress.

        Raises:
            WorkerFault: the dialogue is over, or ended meanwhile.
        """
        self._require_no_fault()
        answer: asyncio.Future[Pong] = self._loop.create_future()
        request = Ping(self.next_id())
        self._pings[request.id] = answer
        self._write(encode(request))
        return await answer

    async def settled(self) -> None:
        """Waits until no request is in flight, also one whose caller was cancelled."""
        while self._outstanding is not None:
            self._settling.append(settled := self._loop.create_future())
            await settled

    def receive(self, data: bytes) -> None:
        """Takes bytes from the worker, cut anywhere."""
        if self.fault is not None:
            return
        try:
            self._decoder.feed(data)
            while (frame := self._decoder.next_frame()) is not None:
                self._on_message(decode_reply(frame), frame.payload)
        except ProtocolError as error:
            self.end(WorkerProtocolFault(str(error), self._stderr_tail()))

    def end(self, fault: WorkerFault) -> WorkerFault:
        """Ends the dialogue and everything in flight, for the first reason given, and returns that."""
        if self.fault is None:
            self.fault = fault
            self._settle(fault)
            for ping in self._pings.values():
                if not ping.done():
                    ping.set_exception(fault)
            self._pings.clear()
            self._on_fault()
        return self.fault

    def _require_no_fault(self) -> None:
        if self.fault is not None:
            raise self.fault.with_traceback(None)

    def _on_message(self, message: Reply, payload: bytes) -> None:
        outstanding = self._outstanding
        if isinstance(message, Pong):
            ping = self._pings.pop(message.id, None)
            if ping is None:
                raise ProtocolError("the worker answered a ping that was not sent")
            if not ping.done():
                ping.set_result(message)
        elif isinstance(message, Failed) and message.kind == ProtocolError.kind:
            raise ProtocolError(f"the worker did not understand: {message.message}")
        elif outstanding is None or message.id != outstanding.id:
            raise ProtocolError(f"the worker answered request {message.id}, which is not in flight")
        elif isinstance(message, Progress):
            self._on_progress(outstanding, message)
        elif isinstance(message, Compiling):
            outstanding.compiling = message.begun
            outstanding.moved_at = self._clock.monotonic()
            self.on_compile(message.shape, message.begun)
        elif isinstance(message, Failed) and message.kind == "internal":
            # The worker is about to exit; its exit tells the caller, with the traceback in the tail.
            pass
        elif isinstance(message, Failed):
            self._settle(WorkerRefused(message.kind, message.message, message.details))
        elif isinstance(message, outstanding.question.answer_type):
            self._settle(outstanding.question.read(message, payload))
        else:
            raise ProtocolError(f"the worker answered request {message.id} with {type(message).__name__}")

    def _on_progress(self, outstanding: _Outstanding, progress: Progress) -> None:
        if progress.tokens_done <= outstanding.tokens_done:
            return
        outstanding.tokens_done = progress.tokens_done
        outstanding.moved_at = self._clock.monotonic()
        if outstanding.question.on_progress is not None and not outstanding.answer.done():
            self._loop.call_soon(outstanding.question.on_progress, progress)

    def _settle(self, outcome: object) -> None:
        """Ends the request in flight, if there is one, with a result or an exception."""
        outstanding, self._outstanding = self._outstanding, None
        if outstanding is None:
            return
        if not outstanding.answer.done():
            if isinstance(outcome, Exception):
                outstanding.answer.set_exception(outcome)
                # Its caller may be cancelled before it hears this; asking keeps asyncio from reporting it as lost.
                outstanding.answer.exception()
            else:
                outstanding.answer.set_result(outcome)
        settling, self._settling = self._settling, []
        for waiter in settling:
            if not waiter.done():
                waiter.set_result(None)

    def _check_for_stall(self) -> None:
        # Set again only when it rings: requests come and go far more often than that.
        self._stall_check = None
        outstanding = self._outstanding
        if outstanding is None:
            return
        limit_s = outstanding.question.limit_s
        if outstanding.compiling:
            limit_s = max(limit_s, COMPILE_STALL_S)
        if self._clock.monotonic() - outstanding.moved_at >= limit_s:
            self.end(WorkerHung(limit_s, self._stderr_tail()))
        else:
            self._stall_check = self._loop.call_later(self._check_every_s, self._check_for_stall)
