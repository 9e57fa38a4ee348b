"""Events: what subscribers of a topic are told, how often, and what happens to one that doesn't keep up.

Parts of the service ``publish`` changes and know nothing of connections; the server subscribes a connection's sink
and knows nothing of topics. Everything runs on the event loop's thread.

A *channel* is one topic of one subscription. It goes through these states:

=============  ===========================================================================================
``snapshot``   owes the sink a snapshot: at the start, and after the sink refused an event
``live``       delivers changes, at most one every 100 ms; what waits meanwhile is kept in order, and a newer
               change replaces a waiting one of the same key
=============  ===========================================================================================

Numbers start at 1 and count every event of the channel, also those that were lost; so a subscriber that sees a gap
knows that it missed something, and the snapshot that follows brings it up to date. A *terminal* change (a job is
done, a lane is gone) is never replaced by a later one and never overtakes what was published before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from synapse_service.clock import CallLater, Clock, Timer

INTERVAL_S: Final = 0.1
"""Least time between two events of a topic to one subscriber."""

RETRY_S: Final = 1.0
"""How long to leave a subscriber alone that could not take an event."""

MAX_WAITING: Final = 1000
"""Changes that wait at most in one channel; past it they are lost and a snapshot takes their place."""

Sink = Callable[[dict[str, Any]], bool]
"""Takes the parameters of one event; False means that it can't take more now, and that this one is lost."""


@dataclass(slots=True, eq=False)
class _Change:
    key: str | None
    data: Any


class _Channel:
    """One topic of one subscription."""

    def __init__(
        self, topic: str, snapshot: Callable[[], Any], sink: Sink, clock: Clock, call_later: CallLater
    ) -> None:
        self._topic = topic
        self._snapshot = snapshot
        self._sink = sink
        self._clock = clock
        self._call_later = call_later
        self._seq = 0
        self._owes_snapshot = True
        self._closed = False
        self._waiting: list[_Change] = []
        self._replaceable: dict[str, _Change] = {}
        self._next_at = clock.monotonic()
        # The first snapshot waits for the loop's next turn, so that the reply to the subscription goes out before it.
        self._timer: Timer | None = call_later(0.0, self._deliver)

    def publish(self, data: Any, terminal: bool, key: str | None) -> None:
        if self._owes_snapshot:
            return  # It will show this change too, since it's taken when it's sent.
        earlier = self._replaceable.get(key) if key is not None else None
        if terminal:
            if earlier is not None and key is not None:
                self._waiting.remove(earlier)
                del self._replaceable[key]
            self._waiting.append(_Change(key, data))
        elif earlier is not None:
            earlier.data = data
        else:
            change = _Change(key, data)
            self._waiting.append(change)
            if key is not None:
                self._replaceable[key] = change
        if len(self._waiting) > MAX_WAITING:
            self._lose_waiting()
        if self._timer is None:
            self._schedule()

    def close(self) -> None:
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()

    def _schedule(self) -> None:
        delay = self._next_at - self._clock.monotonic()
        if delay > 0:
            self._timer = self._call_later(delay, self._deliver)
        else:
            self._deliver()

    def _deliver(self) -> None:
        self._timer = None
        if self._owes_snapshot:
            kind, data = "snapshot", self._snapshot()
        else:
            change = self._waiting.pop(0)
            if change.key is not None and self._replaceable.get(change.key) is change:
                del self._replaceable[change.key]
            kind, data = "change", change.data
        self._seq += 1
        if self._sink({"topic": self._topic, "seq": self._seq, "kind": kind, "data": data}):
            self._owes_snapshot = False
            self._next_at = self._clock.monotonic() + INTERVAL_S
        else:
            self._lose_waiting()
            self._next_at = self._clock.monotonic() + RETRY_S
        # A sink may find its connection gone and close the subscription from within the call.
        if not self._closed and (self._owes_snapshot or self._waiting):
            self._schedule()

    def _lose_waiting(self) -> None:
        self._seq += len(self._waiting)
        self._waiting.clear()
        self._replaceable.clear()
        self._owes_snapshot = True


class Subscription:
    """What :meth:`EventHub.subscribe` returns. ``close()`` ends it, once or often; the sink hears nothing more."""

    def __init__(self, channels: dict[str, _Channel], forget: Callable[[Subscription], object]) -> None:
        self._channels = channels
        self._forget = forget

    @property
    def topics(self) -> frozenset[str]:
        return frozenset(self._channels)

    def publish(self, topic: str, data: Any, terminal: bool, key: str | None) -> None:
        channel = self._channels.get(topic)
        if channel is not None:
            channel.publish(data, terminal, key)

    def close(self) -> None:
        for channel in self._channels.values():
            channel.close()
        self._channels = {}
        self._forget(self)


class EventHub:
    """Brings changes from those who publish to those who subscribed."""

    def __init__(self, clock: Clock, call_later: CallLater) -> None:
        self._clock = clock
        self._call_later = call_later
        self._snapshots: dict[str, Callable[[], Any]] = {}
        self._subscriptions: dict[Subscription, None] = {}

    @property
    def topics(self) -> frozenset[str]:
        """The topics that can be subscribed to."""
        return frozenset(self._snapshots)

    def followed(self, topic: str) -> bool:
        """True while anybody is told about ``topic``."""
        return any(topic in subscription.topics for subscription in self._subscriptions)

    def register_topic(self, topic: str, snapshot: Callable[[], Any]) -> None:
        """Open ``topic``. ``snapshot`` returns its whole present state, as data that JSON can hold."""
        self._snapshots[topic] = snapshot

    def publish(self, topic: str, data: Any, *, terminal: bool = False, key: str | None = None) -> None:
        """Tell the subscribers of ``topic`` about a change.

        ``key`` names what changed: only the latest waiting change of a key is kept. ``data`` must not be changed
        afterwards. Raises KeyError for a topic that isn't registered.
        """
        if topic not in self._snapshots:
            raise KeyError(topic)
        for subscription in tuple(self._subscriptions):
            subscription.publish(topic, data, terminal, key)

    def subscribe(self, topics: Iterable[str], sink: Sink) -> Subscription:
        """Start telling ``sink``: a snapshot of each topic first. Raises KeyError for one that isn't registered."""
        snapshots = {topic: self._snapshots[topic] for topic in topics}
        channels = {
            topic: _Channel(topic, snapshot, sink, self._clock, self._call_later)
            for topic, snapshot in snapshots.items()
        }
        subscription = Subscription(channels, lambda ended: self._subscriptions.pop(ended, None))
        self._subscriptions[subscription] = None
        return subscription
