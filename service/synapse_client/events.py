"""What happens in the service, as it happens: a stream of events of the topics that were asked for.

Every topic begins with a snapshot of its state, and its numbers have no gaps. When this side reads too slowly the
service drops changes; the number then jumps, :attr:`Event.missed` says by how many, and the state has to be read anew.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from synapse_client import calls
from synapse_client.errors import ConnectionLost, ProtocolViolation

if TYPE_CHECKING:
    from synapse_client.link import Link, Listener
    from synapse_client.protocol import Notification

QUEUE_HIGH: Final = 1024
QUEUE_LOW: Final = 256
SUBSCRIBE_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class Event:
    """One event. ``seq`` counts from 1 in each topic; ``missed`` is how many were dropped just before this one."""

    topic: str
    seq: int
    kind: Literal["snapshot", "change"]
    data: Any
    missed: int


class _Params(msgspec.Struct, frozen=True):
    topic: str
    seq: int
    kind: Literal["snapshot", "change"]
    data: Any


_PARAMS: Final = msgspec.json.Decoder(_Params)


class EventStream:
    """An endless asynchronous iterator of :class:`Event`; made by ``AsyncClient.subscribe``.

    When the service goes away the stream connects again, and every topic begins anew with a snapshot and number 1. If
    the service doesn't come back, iterating raises :class:`ServiceNotRunning`.
    """

    def __init__(
        self,
        topics: Sequence[str],
        connect: Callable[[Listener, bool], Awaitable[Link]],
    ) -> None:
        self._topics = tuple(topics)
        self._connect = connect
        self._link: Link | None = None
        self._queue: deque[Event] = deque()
        self._seen: dict[str, int] = {}
        self._paused = False
        self._arrived = asyncio.Event()

    async def open(self) -> None:
        """Connect and subscribe. Raises what the service refuses, such as an unknown topic."""
        await self._subscribe(again=False)

    async def close(self) -> None:
        """Give up the subscription."""
        link, self._link = self._link, None
        if link is not None:
            await link.close()

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        while not self._queue:
            if self._link is None:
                raise StopAsyncIteration
            if self._link.lost is not None:
                await self._resume(self._link)
                continue
            self._arrived.clear()
            await self._arrived.wait()
        event = self._queue.popleft()
        if self._paused and len(self._queue) <= QUEUE_LOW and self._link is not None:
            self._paused = False
            self._link.resume_reading()
        return event

    async def _resume(self, lost: Link) -> None:
        try:
            lost.check("events.subscribe")
        except ConnectionLost:
            await self._subscribe(again=True)

    async def _subscribe(self, *, again: bool) -> None:
        self._seen.clear()
        self._paused = False
        self._link = await self._connect(self, again)
        call = calls.subscribe(self._topics)
        await self._link.request(call.method, call.params, SUBSCRIBE_S)

    # --- what the link calls ---

    def ended(self) -> None:
        self._arrived.set()

    def notified(self, notification: Notification) -> None:
        if notification.method != "event":
            return
        try:
            params = _PARAMS.decode(notification.params)
        except (msgspec.DecodeError, RecursionError) as error:
            raise ProtocolViolation(f"The service sent an event in an unknown shape: {error}.") from error
        last = self._seen.get(params.topic, 0)
        self._seen[params.topic] = params.seq
        missed = max(0, params.seq - last - 1)
        self._queue.append(Event(params.topic, params.seq, params.kind, params.data, missed))
        self._arrived.set()
        if len(self._queue) >= QUEUE_HIGH and not self._paused and self._link is not None:
            # The service sees that its events aren't read and drops what it can; memory here stays bounded.
            self._paused = True
            self._link.pause_reading()
