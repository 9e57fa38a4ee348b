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
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

import msgspec

from synapse_models.connection import CONNECTION_FAMILIES, Call, Connection, OpenReply
from synapse_models.credentials import CredentialRef, CredentialResolver, EnvironmentResolver, Secret
from synapse_models.errors import (
    AttemptTimeout,
    AuthenticationFailed,
    ConnectionFailed,
    IdleTimeout,
    ModelError,
    PlanError,
    ProtocolViolation,
    Retry,
    StreamTruncated,
    TotalTimeout,
    redacted,
)
from synapse_models.failures import error_for, request_id_of
from synapse_models.policy import ConnectionIdentity, Timeouts, origin_of
from synapse_models.reply import Reply
from synapse_models.response import Attempt


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
        self._closing: asyncio.Task[None] | None = None
        self._entered = 0
        self._drained = asyncio.Event()

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
        if self._closing is not None:
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
                            self._forget_refused(error)
                            _complete(error, _as_it_ended(outcome.attempts, error), secret)
                            raise
                        finally:
                            outcome.close()
                        return
                waited_s = await self._pause_before_next(outcome, attempts, deadline)
        finally:
            self._entered -= 1
            if self._closing is not None and not self._entered:
                self._drained.set()

    async def aclose(self) -> None:
        """Takes no more calls, waits for those under way, closes the connections once. Further calls wait with it."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._close())
        # A caller who is cancelled stops waiting; the closing goes on.
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        if self._entered:
            await self._drained.wait()
        await self._connection.close()

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
        self._forget_refused(error)
        return _complete(error, tuple(attempts), secret)

    def _forget_refused(self, error: ModelError) -> None:
        """A credential that was refused may have been renewed at its place: the next call looks again."""
        if isinstance(error, AuthenticationFailed):
            self._secret = None

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
        body = await reply.read_excerpt()
        return error_for(reply.status, reply.headers, body, now=time.time(), secrets=secrets)
    if not call.stream:
        reply.body = await reply.read_document()
        return None
    kind = reply.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind in ("application/json", "text/html"):
        quoted = (await reply.read_excerpt()).decode("utf-8", "replace")
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


def _as_it_ended(attempts: tuple[Attempt, ...], error: ModelError) -> tuple[Attempt, ...]:
    """The tries, the last of them ended by what broke its reply off. A whole reply that is no answer was still a
    successful try."""
    if not isinstance(error, ConnectionFailed | IdleTimeout | TotalTimeout | StreamTruncated):
        return attempts
    return (*attempts[:-1], msgspec.structs.replace(attempts[-1], outcome=error.code))


def _late(until: float, deadline: float, timeouts: Timeouts) -> ModelError:
    if until < deadline:
        return AttemptTimeout(f"a try took longer than {timeouts.attempt_s:g} s")
    return TotalTimeout(f"the call took longer than {timeouts.total_s:g} s")
