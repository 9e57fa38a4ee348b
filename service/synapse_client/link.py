"""One asyncio connection: lines out, replies and notifications in. Used by ``aio`` and ``events`` only."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import sys
from collections.abc import Callable
from copy import copy
from typing import Any, Protocol

import msgspec

from synapse_client.errors import ConnectionLost, EndpointRefused, NoReply, ProtocolViolation, ServiceNotRunning
from synapse_client.protocol import (
    MAX_IN_FLIGHT,
    MAX_REPLY_BYTES,
    Notification,
    Reply,
    decode_line,
    encode_cancel,
    encode_request,
)
from synapse_client.transport import RECEIVE_BYTES, connect_unix
from synapse_wire.errors import SynapseError
from synapse_wire.framing import LineSplitter, Overlong


class Listener(Protocol):
    """Who wants to know what arrives without having been asked for. Called by the event loop; must not block."""

    def notified(self, notification: Notification) -> None:
        """A notification arrived. May raise :class:`ProtocolViolation`."""

    def ended(self) -> None:
        """The link is over."""


async def open_link(address: str, listener: Listener | None = None) -> Link:
    """Connect to ``address``; raises like :func:`synapse_client.transport.open_stream`."""
    loop = asyncio.get_running_loop()

    def link() -> Link:
        return Link(listener)

    if sys.platform == "win32":
        return await _open_pipe(loop, address, link)
    # asyncio takes a full queue of new connections for success; connecting a Unix socket never waits anyway.
    connected = connect_unix(address)
    try:
        _, protocol = await loop.create_unix_connection(link, sock=connected)
    except BaseException:
        connected.close()
        raise
    return protocol


async def _open_pipe(loop: Any, address: str, link: Callable[[], Link]) -> Link:
    try:
        _, protocol = await loop.create_pipe_connection(link, address)
    except FileNotFoundError:
        raise ServiceNotRunning(address, "there is no such pipe") from None
    except OSError as error:
        raise EndpointRefused(address, error.strerror or str(error)) from error
    opened: Link = protocol
    return opened


class Link(asyncio.Protocol):
    """Pipelined requests over one connection; it ends for good with the connection.

    ``lost`` is None, or why the link is over.
    """

    def __init__(self, listener: Listener | None) -> None:
        self.lost: str | None = None
        self._violation: str | None = None
        self._refusal: SynapseError | None = None
        self._listener = listener
        self._splitter = LineSplitter(MAX_REPLY_BYTES)
        self._ids = itertools.count(1)
        self._replies: dict[int, asyncio.Future[Reply | None] | None] = {}
        self._free = asyncio.Semaphore(MAX_IN_FLIGHT)
        self._writable = asyncio.Event()
        self._writable.set()
        self._ended = asyncio.get_running_loop().create_future()

    async def request(self, method: str, params: Any, wait_s: float) -> msgspec.Raw:
        """Send one request and wait for its result, at most ``wait_s`` seconds.

        Raises what the service refused, :class:`NoReply` or :class:`ConnectionLost`. When time runs out or the caller
        is cancelled, the request is cancelled in the service too.
        """
        if wait_s <= 0:
            raise NoReply(method, 0.0)
        request_id = next(self._ids)
        line = encode_request(request_id, method, params)
        try:
            async with asyncio.timeout(wait_s):
                reply = await self._exchange(request_id, method, line)
        except TimeoutError:
            raise NoReply(method, wait_s) from None
        if reply.error is not None:
            raise reply.error
        return reply.result

    async def _exchange(self, request_id: int, method: str, line: bytes) -> Reply:
        # A request holds its place until its reply arrives, even when nobody waits for it any more.
        await self._free.acquire()
        try:
            await self._writable.wait()
            self.check(method)
        except BaseException:
            self._free.release()
            raise
        waiting: asyncio.Future[Reply | None] = asyncio.get_running_loop().create_future()
        self._replies[request_id] = waiting
        self._transport.write(line)
        try:
            reply = await waiting
        except asyncio.CancelledError:
            if self._replies.get(request_id) is waiting:
                self._replies[request_id] = None
                self._transport.write(encode_cancel(request_id))
            raise
        if reply is None:
            raise self._over(method, sent=True)
        return reply

    def check(self, method: str) -> None:
        """Raise why the link is over, if it is, before ``method`` is sent."""
        if self.lost is not None:
            raise self._over(method, sent=False)

    def _over(self, method: str, *, sent: bool) -> Exception:
        if self._refusal is not None:
            return copy(self._refusal)
        if self._violation is not None:
            return ProtocolViolation(self._violation)
        return ConnectionLost(method, str(self.lost), sent=sent)

    async def close(self, reason: str = "the client closed it") -> None:
        """End the connection and wait until it is closed. Callers that wait in it get :class:`ConnectionLost`."""
        self._end(reason)
        self._transport.abort()
        await asyncio.shield(self._ended)

    def pause_reading(self) -> None:
        """Take nothing more from the connection, so that the service notices that this side is slow."""
        if self.lost is None:
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        if self.lost is None:
            self._transport.resume_reading()

    # --- what the event loop calls ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        try:
            for line in self._splitter.feed(data):
                self._deliver(line)
        except ProtocolViolation as violation:
            self._violation = violation.message
            self._end(violation.message)
            self._transport.abort()
        except SynapseError as refusal:
            self._refusal = refusal
            self._end(refusal.message)
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        if exc is not None and self.lost is None:
            self._hear_last_words()
        self._end("the service closed the connection" if exc is None else str(exc))
        if not self._ended.done():
            self._ended.set_result(None)

    def _hear_last_words(self) -> None:
        # A transport that can't write any more reads no more either, and why the service hung up may be there still.
        last = self._transport.get_extra_info("socket")
        if last is None:
            return  # A pipe of Windows.
        with contextlib.suppress(OSError):
            while self.lost is None and (data := os.read(last.fileno(), RECEIVE_BYTES)):
                self.data_received(data)

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def _deliver(self, line: bytes | Overlong) -> None:
        if isinstance(line, Overlong):
            raise ProtocolViolation(f"The service sent a reply of more than {line.limit} bytes.")
        message = decode_line(line)
        if isinstance(message, Notification):
            if self._listener is not None:
                self._listener.notified(message)
            return
        if not isinstance(message.id, int) or message.id not in self._replies:
            raise ProtocolViolation(f"The service answered a request {message.id!r} that was never made.")
        waiting = self._replies.pop(message.id)
        self._free.release()
        if waiting is not None and not waiting.done():
            waiting.set_result(message)

    def _end(self, reason: str) -> None:
        if self.lost is not None:
            return
        self.lost = reason
        replies, self._replies = self._replies, {}
        for waiting in replies.values():
            self._free.release()
            if waiting is not None and not waiting.done():
                waiting.set_result(None)
        self._writable.set()
        if self._listener is not None:
            self._listener.ended()
