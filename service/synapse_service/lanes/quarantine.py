"""When a lane stops being trusted: consecutive faults of its worker, and what brings it back.

=============  =========================  =======================  ==========================================
state          event                      next                     effect
=============  =========================  =======================  ==========================================
trusted (0)    fault                      trusted (1)              the next request gets a fresh worker
trusted (1)    fault                      quarantined              requests are refused
trusted (any)  drained serving success    trusted (0)
quarantined    release                    trusted (0)              free-form lanes: a probe that passed
=============  =========================  =======================  ==========================================

A fault is a crash, a protocol fault, a hang without progress or a result that is not finite. Loading, pings and
set-up never clear faults, and an expired deadline is no fault.
"""

from __future__ import annotations

from typing import Final

STRIKES: Final = 2
"""Consecutive faults after which a lane is quarantined."""


class Quarantine:
    """The fault count of one lane. ``reason`` is set while it is quarantined."""

    def __init__(self, reason: str | None = None) -> None:
        self.strikes = STRIKES if reason else 0
        self.reason = reason

    @property
    def active(self) -> bool:
        return self.reason is not None

    def fault(self, reason: str) -> bool:
        """Count a fault; True when this one quarantines the lane."""
        if self.active:
            return False
        self.strikes += 1
        if self.strikes >= STRIKES:
            self.reason = reason
        return self.active

    def served(self) -> None:
        """Serving work was completed and drained."""
        if not self.active:
            self.strikes = 0

    def release(self) -> None:
        """The lane is trusted again."""
        self.strikes = 0
        self.reason = None
