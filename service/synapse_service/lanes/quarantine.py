"""When a lane stops being trusted: consecutive faults of its worker, and what brings it back.

=============  =========================  =======================  ==========================================
state          event                      next                     effect
=============  =========================  =======================  ==========================================
trusted (0)    fault                      trusted (1)              the next request gets a fresh worker
trusted (1)    fault                      quarantined              requests are refused
trusted (any)  drained serving success    trusted (0)
quarantined    a probe passed             trusted (0)              free-form lanes
quarantined    ten minutes are over       trusted (0)              lanes of the catalog
quarantined    told to unload             trusted (0)              lanes of the catalog
=============  =========================  =======================  ==========================================

A fault is a crash, a protocol fault, a hang without progress or a result that is not finite. Loading, pings and
set-up never clear faults, and an expired deadline is no fault.
"""

from __future__ import annotations

import math
from typing import Final

from synapse_service.clock import Clock

STRIKES: Final = 2
"""Consecutive faults after which a lane is quarantined."""

COOL_DOWN_S: Final = 600.0
"""How long a lane of the catalog is quarantined."""


class Quarantine:
    """The fault count of a lane that needs a probe to come back. ``reason`` is the last fault while it is quarantined.

    A quarantine outlives the process: ``reason`` is what an earlier one found.
    """

    def __init__(self, reason: str | None = None) -> None:
        self.strikes = STRIKES if reason else 0
        self.reason = reason

    @property
    def active(self) -> bool:
        return self.reason is not None

    @property
    def retry_after_ms(self) -> int | None:
        """Milliseconds until it ends by itself; None if it doesn't."""
        return None

    def fault(self, reason: str) -> bool:
        """Count a fault; True when this one quarantines the lane."""
        if self.active:
            return False
        self.strikes += 1
        if self.strikes < STRIKES:
            return False
        self._begin(reason)
        return True

    def _begin(self, reason: str) -> None:
        self.reason = reason

    def served(self) -> None:
        """Serving work was completed and drained."""
        if not self.active:
            self.strikes = 0

    def unloaded(self) -> bool:
        """Somebody had the lane unloaded; True when that ends a quarantine."""
        return False

    def release(self) -> None:
        """The lane is trusted again."""
        self.strikes = 0
        self.reason = None


class CoolDown(Quarantine):
    """The fault count of a lane of the catalog, whose quarantine ends by itself and isn't kept over a restart."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock
        self._until = 0.0

    @property
    def active(self) -> bool:
        # Nobody rings when the time is over: whoever looks next finds out.
        if self.reason is not None and self._clock.monotonic() >= self._until:
            self.release()
        return self.reason is not None

    @property
    def retry_after_ms(self) -> int:
        return max(1, math.ceil((self._until - self._clock.monotonic()) * 1000))

    def _begin(self, reason: str) -> None:
        super()._begin(reason)
        self._until = self._clock.monotonic() + COOL_DOWN_S

    def unloaded(self) -> bool:
        ended = self.active
        if ended:
            self.release()
        return ended
