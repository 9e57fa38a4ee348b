"""One client's connection: bytes in, replies out, and nothing that a client does may cost another one anything.

``socket_server`` makes one for each accepted client; handlers see it through ``Call.connection``. It is a
protocol class, not a pair of streams, and plain functions answer without a task: what makes a small call cheap.

States: *refused* (another user, or too many connections) until the transport is gone; else *open*; *half-closed* once
the peer finished sending, when requests in flight are still answered; *closed*. Losing the peer cancels its requests.

Back-pressure: while unsent replies fill the transport's buffer, no more is read, and lines that were read already wait.
Requests that run at that moment still finish, so a peer that reads nothing for that long loses its connection once
``Limits.unsent_bytes`` wait for it. Events are dropped long before; their gap in ``seq`` tells the client.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any, Final, cast

from msgspec import UNSET

from synapse_service.failures import INTERRUPTIONS, where
from synapse_service.logs import get_logger
from synapse_service.server.host import Host
from synapse_service.server.line_clock import LineClock
from synapse_service.server.outbox import Outbox
from synapse_service.server.peer import Peer, PeerRefused
from synapse_service.server.router import Call, Route
from synapse_wire.errors import INVALID_ENVELOPE, SynapseError
from synapse_wire.framing import LineSplitter, Overlong
from synapse_wire.messages import (
    CANCEL,
    CancelParams,
    Request,
    Spliced,
    decode_params,
    decode_request,
    encode_error,
    encode_event,
    encode_spliced,
    encode_success,
    readable_id,
)
from synapse_wire.params import ClientInfo, Scope

HELLO: Final = "service.hello"

_LINES_A_TURN: Final = 64
"""Lines served before the other connections get their turn."""
_GATHER_BYTES: Final = 64 * 1024
"""Replies of one turn are gathered up to this size and then written together."""
_HANG_UP_CHECK_S: Final = 0.25
"""How often a half-closed peer is looked after while requests of it run; its end can't be read any more."""

log = get_logger(__name__)


class Connection(asyncio.Protocol):
    """One client.

    ``id`` numbers the connections of this process. ``peer`` is the process at the other end. ``client`` and ``scope``
    are what ``service.hello`` said, ``greeted`` whether it did. ``closed`` is true once the transport is gone.
    """

    peer: Peer

    def __init__(self, host: Host) -> None:
        self.id = 0
        self.client: ClientInfo | None = None
        self.scope: Scope | None = None
        self.greeted = False
        self.closed = False
        self._host = host
        self._router = host.router
        self._flow_id: str | None = None
        self._spoken = False
        self._splitter = LineSplitter(host.limits.line_bytes)
        self._waiting: deque[bytes | Overlong] = deque()
        self._received_at = 0.0
        self._tasks: dict[int | str, asyncio.Task[Any]] = {}
        self._reading = True
        self._ended = False
        self._line_clock = LineClock(host.limits.line_seconds, lambda: self._reading, self._line_too_slow)
        self._hang_up_timer: asyncio.TimerHandle | None = None
        self._at_close: list[Callable[[], None]] = []

    # --- what handlers and the server use ---

    @property
    def in_flight(self) -> int:
        """Requests of this connection that run as tasks."""
        return len(self._tasks)

    @property
    def tasks(self) -> list[asyncio.Task[Any]]:
        """The running requests, for a server that stops."""
        return list(self._tasks.values())

    def greet(self, client: ClientInfo, scope: Scope | None) -> None:
        """Bind the connection. Raises ``invalid_request`` on a second greeting and on one that isn't the first word."""
        if self.greeted:
            raise SynapseError("invalid_request", "this connection was greeted before", level="channel")
        if self._spoken:
            message = f"{HELLO} must come before every other request of a connection"
            raise SynapseError("invalid_request", message, level="channel")
        self.greeted = True
        self.client = client
        self.scope = scope
        self._flow_id = scope.flow_id if scope is not None else None

    def send_event(self, params: Any) -> bool:
        """Send one event. False, and nothing sent, when the peer is gone or doesn't read fast enough."""
        if self.closed or self._outbox.unsent > self._host.limits.event_bytes:
            return False
        self._write(encode_event(params))
        return True

    def on_close(self, callback: Callable[[], None]) -> None:
        """Call ``callback`` once when the connection is gone; at once if it is."""
        if self.closed:
            callback()
        else:
            self._at_close.append(callback)

    def close(self) -> None:
        """Close after what was answered has been sent."""
        self._outbox.close()

    def abort(self) -> None:
        """Close now; what was not sent is lost."""
        self._outbox.abort()

    # --- what the event loop calls ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        host = self._host
        self._transport = cast(asyncio.Transport, transport)
        self._outbox = Outbox(self._transport, host.limits.high_water)
        try:
            self.peer = host.listener.peer(transport)
        except PeerRefused as error:
            log.warning("connection_refused", reason=str(error))
            self._transport.abort()
            return
        limit = host.limits.connections
        if host.stopping or len(host.connections) >= limit:
            reason = (
                SynapseError("overloaded", "the service is stopping", details={"reason": "stopping"})
                if host.stopping
                else SynapseError(
                    "overloaded",
                    f"{limit} connections are open, which is the limit",
                    details={"limit": limit, "in_flight": len(host.connections)},
                )
            )
            self._outbox.put(encode_error(None, reason, host.module_generation()))
            self._outbox.close()
            return
        host.listener.widen(transport)
        self.id = next(host.numbers)
        host.connections[self.id] = self

    def data_received(self, data: bytes) -> None:
        if not self.id:
            return
        lines = self._splitter.feed(data)
        if self._splitter.pending:
            self._line_clock.open(fresh=bool(lines))
        else:
            self._line_clock.ended()
        if lines:
            if not self._waiting:  # reading stops while lines wait, so this is the rule
                self._received_at = self._host.clock.monotonic()
            self._waiting.extend(lines)
            if not self._outbox.full:
                self._turn()

    def eof_received(self) -> bool:
        # A line that never ended is dropped with the splitter. Returning False lets the transport close.
        self._ended = True
        self._line_clock.ended()
        if self._host.listener.hung_up(self._transport):
            return False
        if not (self._tasks or self._waiting):
            if not self._outbox.keeps:
                return False
            self._outbox.close()  # Behind what waits there: the answers of somebody who has said all.
        self._hang_up_timer = asyncio.get_running_loop().call_later(_HANG_UP_CHECK_S, self._look_after)
        return True

    def pause_writing(self) -> None:
        self._outbox.block()

    def resume_writing(self) -> None:
        self._outbox.unblock()
        if self._outbox.full:
            return
        if self._waiting:
            self._turn()
        else:
            self._read_or_not()

    def connection_lost(self, error: Exception | None) -> None:
        self.closed = True
        self._host.connections.pop(self.id, None)
        self._waiting.clear()
        self._line_clock.stop()
        if self._hang_up_timer is not None:
            self._hang_up_timer.cancel()
        for task in self._tasks.values():
            task.cancel()
        callbacks, self._at_close = self._at_close, []
        for callback in callbacks:
            callback()

    # --- lines in ---

    def _turn(self) -> None:
        """Serve waiting lines until the turn is over or the peer must read first, and write the replies together."""
        waiting = self._waiting
        replies: list[bytes] = []
        size = 0
        for _ in range(min(len(waiting), _LINES_A_TURN)):
            reply = self._serve(waiting.popleft())
            if reply is not None:
                replies.append(reply)
                size += len(reply)
                if size >= _GATHER_BYTES:
                    self._write(b"".join(replies))
                    replies, size = [], 0
                    if self._outbox.full or self._outbox.closing:
                        break
        if replies:
            self._write(replies[0] if len(replies) == 1 else b"".join(replies))
        if waiting and not self._outbox.full and not self.closed:
            asyncio.get_running_loop().call_soon(self._next_turn)
        if waiting or not self._reading or self._outbox.full:
            self._read_or_not()
        if self._ended:
            self._close_if_done()

    def _next_turn(self) -> None:
        if not self._outbox.full and not self.closed:
            self._turn()

    def _read_or_not(self) -> None:
        reading = not (self._outbox.full or self._waiting or self._ended)
        if reading == self._reading:
            return
        self._reading = reading
        if reading:
            self._transport.resume_reading()
        else:
            self._transport.pause_reading()

    def _serve(self, line: bytes | Overlong) -> bytes | None:
        """The reply to one line, or None when it comes later or not at all."""
        if isinstance(line, Overlong):
            return self._malformed(f"the line is longer than {line.limit} bytes")
        try:
            request = decode_request(line)
        except SynapseError as error:
            return self._refusal(readable_id(line), error)
        request_id = request.id
        if request_id is UNSET:
            return self._notified(request)
        if request_id in self._tasks:
            return self._malformed("a request with this id is still running; the two replies could not be told apart")
        method = request.method
        if method != HELLO:
            self._spoken = True
        try:
            route = self._router.find(method)
            if route is None or self._flow_id is not None:
                route = self._router.resolve(method, self._flow_id)
            params = decode_params(request.params, route.params)
            call = Call(method, request_id, self, self._received_at, len(line))
            if route.inline:
                return encode_success(request_id, route.handler(call, params))
            self._start(route, call, params)
        except SynapseError as error:
            return self._refusal(request_id, error)
        except INTERRUPTIONS:
            raise
        except BaseException as error:  # noqa: BLE001 - a defect in a handler must cost one reply, not the connection
            return self._failure(method, request_id, error)
        return None

    def _notified(self, request: Request) -> bytes | None:
        if request.method != CANCEL:
            return self._malformed(f"a request needs an id; only {CANCEL} is sent without one")
        try:
            task = self._tasks.get(decode_params(request.params, CancelParams).id)
        except SynapseError as error:
            return self._refusal(None, error)
        if task is not None:
            task.cancel()
        return None

    def _line_too_slow(self) -> None:
        seconds = self._host.limits.line_seconds
        self._write(self._malformed(f"a line that had begun did not end within {seconds:g} s"))
        self._outbox.close()

    def _look_after(self) -> None:
        if self._host.listener.hung_up(self._transport):
            self._outbox.abort()
            return
        self._hang_up_timer = asyncio.get_running_loop().call_later(_HANG_UP_CHECK_S, self._look_after)

    def _close_if_done(self) -> None:
        if not (self._tasks or self._waiting):
            self._outbox.close()

    # --- requests that run as tasks ---

    def _start(self, route: Route, call: Call, params: Any) -> None:
        limit = self._host.limits.in_flight
        if self._host.stopping:
            raise SynapseError("overloaded", "the service is stopping", details={"reason": "stopping"})
        if len(self._tasks) >= limit:
            raise SynapseError(
                "overloaded",
                f"{limit} requests of this connection are in flight, which is the limit",
                details={"limit": limit, "in_flight": len(self._tasks)},
            )
        task = asyncio.get_running_loop().create_task(self._run(route, call, params))
        self._tasks[call.request_id] = task
        # A callback too: a task that is cancelled before its first step never enters its coroutine, and its request
        # must be answered all the same.
        task.add_done_callback(partial(self._cancelled, call))

    async def _run(self, route: Route, call: Call, params: Any) -> None:
        """Have a request served and answer it, within the last step of its task: a callback would run a turn later."""
        self._answer(call, await self._outcome(route.handler(call, params), call))

    def _cancelled(self, call: Call, task: asyncio.Task[None]) -> None:
        if task.cancelled():
            cancelled = SynapseError("request_cancelled", "the request was cancelled")
            self._answer(call, [self._refusal(call.request_id, cancelled)])

    def _answer(self, call: Call, reply: Sequence[bytes]) -> None:
        del self._tasks[call.request_id]
        if not self.closed:
            self._write(*reply)
            if self._outbox.full:
                self._read_or_not()
            if self._ended:
                self._close_if_done()

    async def _outcome(self, work: Coroutine[Any, Any, Any], call: Call) -> Sequence[bytes]:
        try:
            result = await work
            if isinstance(result, Spliced):
                return encode_spliced(call.request_id, result)
            return [encode_success(call.request_id, result)]
        except SynapseError as error:
            return [self._refusal(call.request_id, error)]
        except INTERRUPTIONS:
            raise
        except BaseException as error:  # noqa: BLE001 - a defect in a handler must cost one reply, not a silence
            return [self._failure(call.method, call.request_id, error)]

    # --- replies out ---

    def _refusal(self, request_id: int | str | None, error: SynapseError) -> bytes:
        try:
            return encode_error(request_id, error, self._host.module_generation())
        except Exception as failure:  # noqa: BLE001 - details that can't be encoded, such as a path that is no text
            return self._failure(error.code, request_id, failure)

    def _malformed(self, message: str) -> bytes:
        return self._refusal(None, SynapseError("invalid_request", message, level="channel", number=INVALID_ENVELOPE))

    def _failure(self, what: str, request_id: int | str | None, error: BaseException) -> bytes:
        reference = self._host.new_id()
        log.error("request_failed", what=what, reference=reference, where=where(error))
        message = "the service failed; its log tells more under this reference"
        return self._refusal(request_id, SynapseError("internal_error", message, details={"reference": reference}))

    def _write(self, *parts: bytes) -> None:
        if self._outbox.closing:
            return
        unsent = self._outbox.unsent
        if unsent > self._host.limits.unsent_bytes:
            log.warning("connection_dropped", connection=self.id, unread_bytes=unsent)
            self._outbox.abort()
            return
        self._outbox.put(*parts)
