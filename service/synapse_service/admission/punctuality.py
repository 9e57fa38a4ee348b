"""Whether a lane keeps up: how long requests lately waited for their start, and whether they met their deadlines."""

from __future__ import annotations

from collections import deque
from typing import Final

_REMEMBERED: Final = 64
"""Requests that are looked back on."""


class Punctuality:
    """The latest requests of one lane."""

    def __init__(self) -> None:
        self._delays_s: deque[float] = deque(maxlen=_REMEMBERED)
        self._met: deque[bool] = deque(maxlen=_REMEMBERED)

    def started(self, waited_s: float) -> None:
        """A request began to be computed after waiting this long."""
        self._delays_s.append(waited_s)

    def ended(self, *, in_time: bool) -> None:
        """A request got its vectors in time, or its deadline passed."""
        self._met.append(in_time)

    @property
    def start_delay_ms(self) -> float:
        """Mean wait before the start; 0.0 while nothing has started."""
        return 1000 * sum(self._delays_s) / len(self._delays_s) if self._delays_s else 0.0

    @property
    def meeting_deadlines(self) -> bool:
        """True while none of the remembered requests has missed its deadline."""
        return all(self._met)
