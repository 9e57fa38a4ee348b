"""The connection pool: who may send, how often, for how long, and with which secret.

A pool has one connection identity, one shared limit and one open connection family. Models borrow it and never close
it; whoever made it closes it, once, and what was under way is allowed to finish.

The order of one :meth:`ConnectionPool.exchange`: take the slots (the caller's own limit first, then the shared one),
try, give the slots back, wait if a declared retry is due, try again. A reply that the caller has begun to receive is
never repeated.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Final

from synapse_models.connection import CONNECTION_FAMILIES, Call, Connection, OpenReply
from synapse_models.credentials import CredentialRef, CredentialResolver, EnvironmentResolver, Secret
from synapse_models.errors import (
    AttemptTimeout,
    AuthenticationFailed,
    IdleTimeout,
    ModelError,
    PlanError,
    ProtocolViolation,
    Retry,
    TotalTimeout,
    redacted,
)
from synapse_models.failures import error_for, request_id_of
from synapse_models.policy import ConnectionIdentity, Timeouts, origin_of
from synapse_models.response import Attempt
from synapse_models.sse import SseEvent, SseParser

MAX_REPLY_BYTES: Final = 256 << 20
"""Largest document that a provider may answer with."""

MAX_ERROR_BYTES: Final = 64 << 10
"""How much of a failing reply is read; the rest says nothing new."""

SETTLE_S: Final = 0.25
"""How long the end of a reply is awaited after the end of what it said."""


class Limiter:
    """At most ``limit`` holders at once, first come, first served."""

    def __init__(self, limit: int) -> None:
        if limit < 1:
            raise ValueError("a limit is at least 1")
        self.limit = limit
        self._slots = asyncio.Semaphore(limit)
        self.held = 0

    async def __aenter__(self) -> None:
        await self._slots.acquire()
        self.held += 1

    async def __aexit__(self, *_: object) -> None:
        self.held -= 1
        self._slots.release()


class Reply:
    """A successful reply inside an exchange: a document in ``body``, or events from :meth:`next_events`.

    ``attempts`` are the tries so far, the successful one last.
    """

    def __init__(self, opened: OpenReply, attempts: tuple[Attempt, ...], deadline: float, idle_s: float) -> None:
        self.status = opened.status
        self.headers: Mapping[str, str] = opened.headers
        self.provider_request_id = request_id_of(opened.headers)
        self.attempts = attempts
        self.body = b""
        self._opened = opened
        self._deadline = deadline
        self._idle_s = idle_s
        self._parser = SseParser()
        self._first: list[SseEvent] = []
        self._ended = False

    async def next_events(self) -> list[SseEvent]:
        """The events that came next, at least one; none at the end of the stream.

        Raises:
            IdleTimeout, TotalTimeout: nothing came for too long.
            ConnectionFailed: the connection broke.
            ProtocolViolation: an event is too large.
        """
        if self._first:
            first, self._first = self._first, []
            return first
        while not self._ended:
            chunk = await self._read_in_time()
            self._ended = not chunk
            if events := self._parser.feed(chunk):
                return events
        return []

    async def begin_stream(self) -> None:
        """Waits for the first events, within the time of the attempt."""
        while not self._first and not self._ended:
            chunk = await self._opened.read()
            self._ended = not chunk
            self._first = self._parser.feed(chunk)

    async def read_document(self, limit: int) -> bytes:
        """The whole body. Once it has begun, no silence may be longer than ``idle_s``.

        Raises:
            ProtocolViolation: it is larger than ``limit`` bytes.
        """
        pieces = [await self._opened.read()]
        size = len(pieces[0])
        while pieces[-1]:
            pieces.append(await self._read_in_time())
            size += len(pieces[-1])
            if size > limit:
                raise ProtocolViolation(f"the reply is larger than {limit} bytes")
        return b"".join(pieces)

    async def settle(self) -> None:
        """Reads what is left after the protocol's own end, so that the connection can be used again.

        A server that doesn't end the reply soon loses its connection, and nobody waits for it.
        """
        with contextlib.suppress(TimeoutError, ModelError):
            async with asyncio.timeout(SETTLE_S):
                while not self._ended:
                    self._ended = not await self._opened.read()

    def close(self) -> None:
        """Gives the connection back, or breaks it off when the reply wasn't read to its end."""
        self._opened.close()

    async def _read_in_time(self) -> bytes:
        now = asyncio.get_running_loop().time()
        idle = now + self._idle_s
        scope = asyncio.timeout_at(min(idle, self._deadline))
        try:
            async with scope:
                return await self._opened.read()
        except TimeoutError:
            pass
        if idle < self._deadline:
            raise IdleTimeout(f"the reply fell silent for {self._idle_s:g} s")
        raise TotalTimeout("the reply took longer than the whole call may")


class ConnectionPool:
    """Connections of one identity, with the limit that all their borrowers share.

    ``limit`` is how many calls may be under way at once, None for no limit. ``pause`` and ``spread`` are the clock's
    and the dice's parts of a retry; tests put their own in.
    """

    def __init__(
        self,
        identity: ConnectionIdentity,
        *,
        resolver: CredentialResolver | None = None,
        limit: int | None = None,
        connect_s: float = Timeouts().connect_s,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
        spread: Callable[[], float] = random.random,
    ) -> None:
        if identity.family not in CONNECTION_FAMILIES:
            raise PlanError(f"there is no connection family named {identity.family!r}")
        self.identity = identity
        self.limiter = Limiter(limit) if limit is not None else None
        self._credential = CredentialRef.parse(identity.credential)
        self._resolver = resolver or EnvironmentResolver()
        self._connection: Connection = CONNECTION_FAMILIES[identity.family](identity, connect_s)
        self._pause = pause
        self._spread = spread
        self._secret: Secret | None = None
        self._closing = False
        self._entered = 0
        self._drained = asyncio.Event()
        self._closed: asyncio.Future[None] | None = None

    async def __aenter__(self) -> ConnectionPool:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"ConnectionPool({self.identity.family}, {self.identity.origin}, {self.identity.credential})"

    @property
    def under_way(self) -> int:
        """How many exchanges have been entered and not left."""
        return self._entered

    @contextlib.asynccontextmanager
    async def acquire(self, local: Sequence[Limiter] = ()) -> AsyncIterator[None]:
        """Holds a slot of each of the caller's own limits, the narrowest first, then one of the shared limit.

        In this order a caller who waits for its own limit keeps nobody else waiting.
        """
        async with contextlib.AsyncExitStack() as held:
            for limiter in local:
                await held.enter_async_context(limiter)
            if self.limiter is not None:
                await held.enter_async_context(self.limiter)
            yield

    @contextlib.asynccontextmanager
    async def exchange(self, call: Call, *, timeouts: Timeouts, local: Sequence[Limiter] = ()) -> AsyncIterator[Reply]:
        """Sends a call and holds its slots until the caller leaves the block, however it leaves it.

        Raises:
            PlanError: the pool is closed, or the address isn't the pool's. Nothing was sent.
            ModelError: no try succeeded. ``attempts`` tells of each of them. Failures that the caller's block raises
                are completed with the attempts and cleared of secrets, too.
        """
        if self._closing:
            raise PlanError("the connection pool is closed")
        if origin_of(call.url) != self.identity.origin:
            raise PlanError(f"a pool for {self.identity.origin} doesn't send to another address")
        self._entered += 1
        try:
            deadline = asyncio.get_running_loop().time() + timeouts.total_s
            secret = await self._resolved(deadline)
            attempts: list[Attempt] = []
            waited_s = 0.0
            while True:
                async with self._slots_in_time(local, deadline, attempts):
                    outcome = await self._attempt(call, secret, timeouts, deadline, attempts, waited_s)
                    if isinstance(outcome, Reply):
                        try:
                            yield outcome
                        except ModelError as error:
                            _complete(error, outcome.attempts, secret)
                            raise
                        finally:
                            outcome.close()
                        return
                waited_s = await self._pause_before_next(outcome, attempts, deadline)
        finally:
            self._entered -= 1
            if self._closing and not self._entered:
                self._drained.set()

    async def aclose(self) -> None:
        """Takes no more calls, waits for those under way, closes the connections once. Further calls wait with it."""
        if self._closed is None:
            self._closing = True
            self._closed = asyncio.get_running_loop().create_future()
            if self._entered:
                await self._drained.wait()
            await self._connection.close()
            self._closed.set_result(None)
        await asyncio.shield(self._closed)

    @contextlib.asynccontextmanager
    async def _slots_in_time(
        self, local: Sequence[Limiter], deadline: float, attempts: list[Attempt]
    ) -> AsyncIterator[None]:
        async with contextlib.AsyncExitStack() as held:
            try:
                async with asyncio.timeout_at(deadline):
                    await held.enter_async_context(self.acquire(local))
            except TimeoutError:
                in_time = False
            else:
                in_time = True
            if not in_time:
                raise TotalTimeout("no slot came free within the time of the call", attempts=attempts)
            yield

    async def _attempt(
        self,
        call: Call,
        secret: Secret | None,
        timeouts: Timeouts,
        deadline: float,
        attempts: list[Attempt],
        waited_s: float,
    ) -> Reply | ModelError:
        """One try: the reply, or the error that ended it. Either way it is the last entry of ``attempts`` then."""
        opened: OpenReply | None = None
        error: ModelError
        until = asyncio.get_running_loop().time() + timeouts.attempt_s
        try:
            async with asyncio.timeout_at(min(until, deadline)):
                opened = await self._connection.send(call, _headers(call, secret))
                reply = Reply(opened, (), deadline, timeouts.idle_s)
                failed = await _receive(reply, call, _texts(secret))
        except TimeoutError:
            error = _late(until, deadline, timeouts)
        except ModelError as caught:
            error = caught
        except BaseException:
            if opened is not None:
                opened.close()
            raise
        else:
            if failed is None:
                attempts.append(_attempt_record("ok", opened, waited_s))
                reply.attempts = tuple(attempts)
                return reply
            error = failed
        attempts.append(_attempt_record(error.code, opened, waited_s))
        if opened is not None:
            opened.close()
        if isinstance(error, AuthenticationFailed):
            self._secret = None  # it may have been renewed at its place; the next call looks again
        return _complete(error, tuple(attempts), secret)

    async def _pause_before_next(self, error: ModelError, attempts: list[Attempt], deadline: float) -> float:
        """Waits until the next try is due and returns the seconds; raises the error when there is to be none."""
        policy = self.identity.retry
        if error.retry is Retry.NEVER or len(attempts) >= policy.max_attempts:
            raise error
        pause_s = policy.pause_s(len(attempts), retry_after_s=error.retry_after_s, spread=self._spread())
        if asyncio.get_running_loop().time() + pause_s >= deadline:
            raise error  # the next try could only be late
        await self._pause(pause_s)
        return pause_s

    async def _resolved(self, deadline: float) -> Secret | None:
        """The credential, looked up once and kept until the provider refuses it."""
        if self._secret is not None:
            return self._secret
        try:
            async with asyncio.timeout_at(deadline):
                secret = await self._resolver.resolve(self._credential)
        except TimeoutError:
            raise TotalTimeout("the credential wasn't there within the time of the call") from None
        if secret is not None and not (secret.reveal().isascii() and secret.reveal().isprintable()):
            raise AuthenticationFailed(f"what {self._credential} holds can't be a credential")
        self._secret = secret
        return secret


async def _receive(reply: Reply, call: Call, secrets: tuple[str, ...]) -> ModelError | None:
    """Reads the document, or the first events. Returns the error where the reply reports one."""
    if not 200 <= reply.status < 300:
        body = await reply.read_document(MAX_ERROR_BYTES)
        return error_for(reply.status, reply.headers, body, now=time.time(), secrets=secrets)
    if not call.stream:
        reply.body = await reply.read_document(MAX_REPLY_BYTES)
        return None
    kind = reply.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind in ("application/json", "text/html"):
        quoted = (await reply.read_document(MAX_ERROR_BYTES)).decode("utf-8", "replace")
        return ProtocolViolation(f"a stream was asked for, and {kind} came", http_status=reply.status, excerpt=quoted)
    await reply.begin_stream()
    return None


def _texts(secret: Secret | None) -> tuple[str, ...]:
    return (secret.reveal(),) if secret is not None else ()


def _complete(error: ModelError, attempts: tuple[Attempt, ...], secret: Secret | None) -> ModelError:
    """Tells an error which tries were made, and takes the secret out of everything that it quotes."""
    secrets = _texts(secret)
    error.attempts = error.attempts or attempts
    if attempts:
        error.provider_request_id = error.provider_request_id or attempts[-1].request_id
    error.message = redacted(error.message, secrets)
    error.args = (error.message,)
    if error.excerpt is not None:
        error.excerpt = redacted(error.excerpt, secrets)
    if error.provider_code is not None:
        error.provider_code = redacted(error.provider_code, secrets)
    return error


def _headers(call: Call, secret: Secret | None) -> dict[str, str]:
    headers = {
        "Content-Type": "application/json",
        "Accept": "text/event-stream" if call.stream else "application/json",
        "User-Agent": "synapse",
        **call.headers,
    }
    if call.auth is not None and secret is not None:
        headers[call.auth.header] = call.auth.prefix + secret.reveal()
    return headers


def _attempt_record(outcome: str, opened: OpenReply | None, waited_s: float) -> Attempt:
    return Attempt(
        outcome=outcome,
        status=opened.status if opened is not None else None,
        waited_ms=round(waited_s * 1000),
        request_id=request_id_of(opened.headers) if opened is not None else None,
    )


def _late(until: float, deadline: float, timeouts: Timeouts) -> ModelError:
    if until < deadline:
        return AttemptTimeout(f"a try took longer than {timeouts.attempt_s:g} s")
    return TotalTimeout(f"the call took longer than {timeouts.total_s:g} s")
