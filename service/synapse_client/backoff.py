"""When to try again to connect."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

RECONNECT_S: Final = 5.0
"""How long a client that was connected before goes on trying: enough for a service to restart."""

BUSY_S: Final = 2.0
"""How long any client goes on trying when the service is there but its queue of new connections is full."""

HELLO_S: Final = 10.0
"""How long the service may take to answer the greeting before it counts as not answering."""


def pauses(first_s: float = 0.02, factor: float = 2.0, ceiling_s: float = 0.5) -> Iterator[float]:
    """Seconds to wait after each failed attempt, growing up to a ceiling."""
    pause = first_s
    while True:
        yield pause
        pause = min(pause * factor, ceiling_s)
