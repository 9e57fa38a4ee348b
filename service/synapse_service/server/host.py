"""What all connections of one server share, and what one client may take of it.

``socket_server`` makes the one :class:`Host`; every ``connection`` holds it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from synapse_service.clock import Clock
from synapse_service.server.router import Router
from synapse_service.server.transports import Listener
from synapse_wire.framing import MAX_LINE_BYTES

if TYPE_CHECKING:
    from synapse_service.server.connection import Connection


@dataclass(frozen=True, slots=True)
class Limits:
    """What one client may take. ``in_flight`` counts requests that run as tasks.

    ``high_water`` is the size of unsent replies at which reading stops, ``event_bytes`` the one at which events are
    dropped, and ``unsent_bytes`` the one at which the next reply costs the peer its connection.
    """

    connections: int = 256
    in_flight: int = 64
    line_bytes: int = MAX_LINE_BYTES
    line_seconds: float = 10.0
    high_water: int = 1024 * 1024
    event_bytes: int = 256 * 1024
    unsent_bytes: int = 24 * 1024 * 1024


@dataclass(slots=True)
class Host:
    """``connections`` holds those that were admitted."""

    router: Router
    listener: Listener
    limits: Limits
    clock: Clock
    module_generation: Callable[[], int]
    new_id: Callable[[], str]
    connections: dict[int, Connection] = field(default_factory=dict)
    stopping: bool = False
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
