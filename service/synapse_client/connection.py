"""One blocking connection that several threads may use at once.

There is no reader thread. Of the threads that wait for a reply, one reads from the stream and hands every reply to
whoever waits for it; when it has its own, another takes over. A single thread therefore pays no hand-over at all,
and replies may come in any order.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from copy import copy
from typing import TYPE_CHECKING, Any, Final

import msgspec

from synapse_client.errors import ConnectionLost, NoReply, ProtocolViolation
from synapse_client.protocol import (
    MAX_IN_FLIGHT,
    MAX_REPLY_BYTES,
    Notification,
    Reply,
    decode_line,
    encode_cancel,
    encode_request,
)
from synapse_wire.errors import SynapseError
from synapse_wire.framing import LineSplitter, Overlong

if TYPE_CHECKING:
    from synapse_client.transport import Stream

_LAST_WORDS_S: Final = 0.2
"""How long to wait for what a service said before it hung up, once it takes nothing more."""

_CANCEL_S: Final = 0.2
"""How long a cancellation may take to be written. It is a courtesy to the service, not worth waiting for."""


class _Waiting:
    """One request that has no reply yet."""

    __slots__ = ("method", "reply", "sent")

    def __init__(self, method: str) -> None:
        self.method = method
        self.reply: Reply | None = None
        self.sent = False


class Connection:
    """Requests and replies over one stream; it ends for good with the stream.

    ``lost`` is None, or why the connection is over. All methods may be called from any thread.
    """

    def __init__(self, stream: Stream, clock: Callable[[], float]) -> None:
        self.lost: str | None = None
        self._violation: str | None = None
        self._refusal: SynapseError | None = None
        self._stream = stream
        self._clock = clock
        self._splitter = LineSplitter(MAX_REPLY_BYTES)
        self._ids = itertools.count(1)
        self._waiting: dict[int, _Waiting] = {}
        self._sending = threading.Lock()
        self._changed = threading.Condition()
        self._reading = False
        self._users = 0
        self._closed = False

    def request(self, method: str, params: Any, expiry: float) -> msgspec.Raw:
        """Send one request and wait for its result until ``expiry`` on the connection's clock.

        Raises what the service refused, :class:`NoReply` when time ran out (the request is then cancelled), or
        :class:`ConnectionLost`.
        """
        started = self._clock()
        request_id = next(self._ids)
        line = encode_request(request_id, method, params)
        waiting = _Waiting(method)
        with self._changed:
            self._users += 1
        try:
            if not self._pump(lambda: self._admit(request_id, waiting), expiry):
                raise self._ended(waiting) or NoReply(method, self._clock() - started)
            try:
                self._send(line, waiting, expiry, started)
                if not self._pump(lambda: waiting.reply is not None, expiry):
                    raise self._ended(waiting) or NoReply(method, self._clock() - started)
            except BaseException:
                self._abandon(request_id, waiting)
                raise
        finally:
            self._leave()
        reply = waiting.reply
        assert reply is not None  # the pump says so
        if reply.error is not None:
            raise reply.error
        return reply.result

    def close(self, reason: str = "the client closed it") -> None:
        """End the connection; threads that wait in it get :class:`ConnectionLost`."""
        with self._changed:
            self._users += 1
        self._lose(reason)
        self._leave()

    def forget(self) -> None:
        """Let go of a connection that a parent process goes on using, without a word to the service."""
        self.lost = "the process was forked"
        self._closed = True
        self._stream.close()

    def _admit(self, request_id: int, waiting: _Waiting) -> bool:
        # An abandoned request occupies the service until its reply comes, so it stays here and counts like a live one.
        if len(self._waiting) >= MAX_IN_FLIGHT:
            return False
        self._waiting[request_id] = waiting
        return True

    def _ended(self, waiting: _Waiting) -> Exception | None:
        if self.lost is None:
            return None
        if self._refusal is not None:
            return copy(self._refusal)
        if self._violation is not None:
            return ProtocolViolation(self._violation)
        return ConnectionLost(waiting.method, self.lost, sent=waiting.sent)

    def _send(self, line: bytes, waiting: _Waiting, expiry: float, started: float) -> None:
        if not self._sending.acquire(timeout=lock_timeout(expiry - self._clock())):
            raise NoReply(waiting.method, self._clock() - started)
        try:
            if failure := self._ended(waiting):
                raise failure
            self._write(line, expiry)
            waiting.sent = True
        except OSError as error:
            # The service runs only whole lines, so a request that wasn't written to its end was not carried out. Why
            # it hung up may be there to be read.
            self._pump(lambda: False, self._clock() + _LAST_WORDS_S)
            self._lose(error.strerror or str(error))
            lost = self._ended(waiting)
            assert lost is not None
            raise lost from error
        except _Unwritten:
            raise NoReply(waiting.method, self._clock() - started) from None
        finally:
            self._sending.release()

    def _write(self, line: bytes, expiry: float) -> None:
        rest = memoryview(line)
        try:
            while rest:
                remaining = expiry - self._clock()
                if remaining <= 0:
                    raise _Unwritten
                rest = rest[self._stream.send(rest, remaining) :]
        except BaseException:
            # Half a line can't be taken back: whatever came next would become a part of it.
            if len(rest) < len(line):
                self._lose("a request could not be written to its end")
            raise

    def _abandon(self, request_id: int, waiting: _Waiting) -> None:
        with self._changed:
            if not waiting.sent or self.lost is not None or waiting.reply is not None:
                self._waiting.pop(request_id, None)
                return
        if self._sending.acquire(timeout=_CANCEL_S):
            try:
                self._write(encode_cancel(request_id), self._clock() + _CANCEL_S)
            except (OSError, _Unwritten):
                pass  # then the service finishes a request whose reply nobody reads
            finally:
                self._sending.release()

    def _pump(self, done: Callable[[], bool], expiry: float) -> bool:
        """Read, or wait while another thread reads, until ``done()``; False when time ran out or the stream ended."""
        while True:
            reader = False
            try:
                with self._changed:
                    while True:
                        if done():
                            return True
                        remaining = expiry - self._clock()
                        if self.lost is not None or remaining <= 0:
                            return False
                        if not self._reading:
                            reader = self._reading = True
                            break
                        self._changed.wait(lock_timeout(remaining))
                self._read(remaining)
            finally:
                if reader:
                    with self._changed:
                        self._reading = False
                        self._changed.notify_all()

    def _read(self, timeout_s: float) -> None:
        try:
            data = self._stream.receive(timeout_s)
        except OSError as error:
            self._lose(error.strerror or str(error))
            return
        if data is None:
            return
        if not data:
            self._lose("the service closed the connection")
            return
        try:
            for line in self._splitter.feed(data):
                self._deliver(line)
        except ProtocolViolation as violation:
            self._violation = violation.message
            self._lose(violation.message)
        except SynapseError as refusal:
            self._refusal = refusal
            self._lose(refusal.message)

    def _deliver(self, line: bytes | Overlong) -> None:
        if isinstance(line, Overlong):
            raise ProtocolViolation(f"The service sent a reply of more than {line.limit} bytes.")
        message = decode_line(line)
        if isinstance(message, Notification):
            return  # this connection never subscribes
        with self._changed:
            waiting = self._waiting.pop(message.id, None) if isinstance(message.id, int) else None
            if waiting is None:
                raise ProtocolViolation(f"The service answered a request {message.id!r} that was never made.")
            waiting.reply = message

    def _lose(self, reason: str) -> None:
        with self._changed:
            if self.lost is not None:
                return
            self.lost = reason
            self._waiting.clear()
            self._changed.notify_all()
        self._stream.interrupt()

    def _leave(self) -> None:
        # The handle may be closed only when no thread is inside the stream: its number could be in use again already.
        with self._changed:
            self._users -= 1
            if self.lost is None or self._users or self._closed:
                return
            self._closed = True
        self._stream.close()


def lock_timeout(seconds: float) -> float:
    """A waiting time as locks take it, which know no endless one."""
    return min(max(0.0, seconds), threading.TIMEOUT_MAX)


class _Unwritten(Exception):
    """Time ran out before the whole line was written."""
