"""``logs.tail``, and the topic ``log``, which carries new entries in batches."""

from __future__ import annotations

import asyncio
from typing import Final

from synapse_service.events import INTERVAL_S, EventHub
from synapse_service.logs import RING_CAPACITY, LogRing
from synapse_service.server.router import Call, Router
from synapse_wire.params import DEFAULT_TAIL_LIMIT, LogsTail
from synapse_wire.results import LogEntry, LogTail

_SNAPSHOT_ENTRIES: Final = 100
_BATCH_ENTRIES: Final = 200
"""Entries that one event carries at most; those before them are counted as dropped, and ``logs.tail`` has them."""


def register(router: Router, ring: LogRing, hub: EventHub, loop: asyncio.AbstractEventLoop) -> None:
    """Serve ``logs.tail`` and feed the topic ``log``. ``loop`` is where the hub lives; entries come from any thread."""

    def tail(call: Call, params: LogsTail) -> LogTail:
        limit = DEFAULT_TAIL_LIMIT if params.limit is None else params.limit
        return ring.tail(params.after_seq or 0, params.level, limit)

    router.add_inline("logs.tail", tail)
    hub.register_topic("log", lambda: latest(ring))
    feed = _Feed(hub, loop)

    def hear(entry: LogEntry) -> None:
        try:
            loop.call_soon_threadsafe(feed.add, entry)
        except RuntimeError:
            return  # The loop has ended, and with it everyone who could listen.

    ring.subscribe(hear)


def latest(ring: LogRing) -> LogTail:
    """The newest entries of the ring, oldest first."""
    tail = ring.tail(limit=RING_CAPACITY)
    entries = tail.entries[-_SNAPSHOT_ENTRIES:]
    return LogTail(entries=entries, next_seq=tail.next_seq, dropped=tail.dropped + len(tail.entries) - len(entries))


class _Feed:
    """Gathers entries for as long as a topic waits between two events anyway, and publishes them as one change."""

    def __init__(self, hub: EventHub, loop: asyncio.AbstractEventLoop) -> None:
        self._hub = hub
        self._loop = loop
        self._entries: list[LogEntry] = []

    def add(self, entry: LogEntry) -> None:
        self._entries.append(entry)
        if len(self._entries) == 1:
            self._loop.call_later(INTERVAL_S, self._publish)

    def _publish(self) -> None:
        entries, self._entries = self._entries, []
        kept = entries[-_BATCH_ENTRIES:]
        dropped = len(entries) - len(kept)
        self._hub.publish("log", LogTail(entries=kept, next_seq=kept[-1].seq, dropped=dropped))
