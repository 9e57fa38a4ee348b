"""How fast a lane has been working, and so how long a new request would wait.

Kept from what was measured, never assumed: until a lane has served something it predicts no wait at all, because a
guess would refuse work that it could have done.
"""

from __future__ import annotations

from typing import Final

_WEIGHT: Final = 0.2
"""Share of the newest measurement in the running mean: about ten calls to forget an old speed."""


class Pace:
    """Running mean of the time that one token takes, in seconds, over whole worker calls."""

    def __init__(self) -> None:
        self._seconds_per_token: float | None = None

    def record(self, tokens: int, seconds: float) -> None:
        """One finished worker call of ``tokens`` tokens."""
        sample = seconds / max(tokens, 1)
        known = self._seconds_per_token
        self._seconds_per_token = sample if known is None else known + _WEIGHT * (sample - known)

    @property
    def known(self) -> bool:
        return self._seconds_per_token is not None

    def seconds(self, tokens: int) -> float:
        """Predicted time for ``tokens`` tokens; 0.0 before the first measurement."""
        return tokens * (self._seconds_per_token or 0.0)

    def tokens_within(self, seconds: float, default: int) -> int:
        """How many tokens fit into ``seconds``; ``default`` before the first measurement."""
        if not self._seconds_per_token:
            return default
        return int(seconds / self._seconds_per_token)
