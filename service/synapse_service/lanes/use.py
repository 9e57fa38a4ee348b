"""What has been asked of a lane since the service started, for people to see: how much, how fast, when, and by whom.

A lane owns one of these; operations tell it about each request. Nothing is decided by it.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Final

from synapse_service.clock import Clock
from synapse_wire.errors import SynapseError

LATENCIES: Final = 256
"""Latest requests whose times the percentiles are about."""

USERS: Final = 16
"""Latest clients that are remembered by name."""


class LaneUse:
    """Counts of one lane.

    ``done`` counts requests that were answered, those among them that became a job too; ``refused`` those that got an
    error. ``last_used_ms`` is when the lane last computed something that was asked of it, on the wall clock.
    ``on_change`` is called when any of it changed.
    """

    def __init__(self, clock: Clock) -> None:
        self.done = 0
        self.refused = 0
        self.last_used_ms: int | None = None
        self.on_change: Callable[[], None] = _nobody_listens
        self._clock = clock
        self._latencies_ms: deque[float] = deque(maxlen=LATENCIES)
        self._users: dict[str, None] = {}

    def request(self, received_at: float, client: str | None) -> RequestUse:
        """A ``with`` block around the work for one request, which counts how that ends."""
        if client is not None:
            self._users.pop(client, None)
            self._users[client] = None
            if len(self._users) > USERS:
                del self._users[next(iter(self._users))]
        return RequestUse(self, received_at)

    def refuse(self) -> None:
        """A request for this lane got an error."""
        self.refused += 1
        self.on_change()

    def worked(self) -> None:
        """The lane has computed something."""
        self.last_used_ms = self._clock.wall_ms()
        self.on_change()

    def forget_users(self) -> None:
        """Who used a lane is told while it is loaded; it is being unloaded."""
        self._users.clear()

    @property
    def users(self) -> list[str]:
        """Names of the clients that have asked the lane since it was loaded, the latest first."""
        return list(reversed(self._users))

    def latency_ms(self, percent: int) -> float | None:
        """The time within which ``percent`` of the latest requests were answered; None before there were any."""
        if not self._latencies_ms:
            return None
        ordered = sorted(self._latencies_ms)
        return ordered[math.ceil(len(ordered) * percent / 100) - 1]

    def answered(self, received_at: float | None) -> None:
        """A request was answered; its time counts unless ``received_at`` is None."""
        self.done += 1
        if received_at is not None:
            self._latencies_ms.append((self._clock.monotonic() - received_at) * 1000)
        self.on_change()


class RequestUse:
    """One request while it is being served; made by :meth:`LaneUse.request`."""

    __slots__ = ("_received_at", "_use")

    def __init__(self, use: LaneUse, received_at: float) -> None:
        self._use = use
        self._received_at: float | None = received_at

    def became_job(self) -> None:
        """The answer is a job; how long that took says nothing about the lane's speed."""
        self._received_at = None

    def __enter__(self) -> RequestUse:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is None:
            self._use.answered(self._received_at)
        elif issubclass(kind, SynapseError):
            self._use.refuse()


def _nobody_listens() -> None:
    pass
