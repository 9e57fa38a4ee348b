"""How fast a lane has been working, and so how long a new request would wait.

Kept from what was measured, never assumed: until a lane has served something it predicts no wait at all, because a
guess would refuse work that it could have done.
"""

from __future__ import annotations

from typing import Final

_MEMORY_TOKENS: Final = 65_536
"""The mean goes back over about this many tokens."""

_CAUTION: Final = 0.8
"""Share of a time limit that a call is planned for: calls vary, and half of those planned for all of it exceed it."""


class Pace:
    """Mean time that one token takes, in seconds, over the latest worker calls.

    Calls count by their tokens: a short call costs many times more a token than a long one, and a mean over calls
    would foretell hours for a queue of batches after a morning of short queries.
    """

    def __init__(self) -> None:
        self._tokens = 0.0
        self._seconds = 0.0

    def record(self, tokens: int, seconds: float) -> None:
        """One finished worker call of ``tokens`` tokens."""
        self._tokens += tokens
        self._seconds += seconds
        if self._tokens > _MEMORY_TOKENS:
            kept = _MEMORY_TOKENS / self._tokens
            self._tokens *= kept
            self._seconds *= kept

    @property
    def known(self) -> bool:
        return self._tokens > 0

    def seconds(self, tokens: int) -> float:
        """Predicted time for ``tokens`` tokens; 0.0 before the first measurement."""
        return tokens * self._seconds / self._tokens if self.known else 0.0

    def tokens_within(self, seconds: float, default: int) -> int:
        """How many tokens fit into ``seconds`` with little doubt; ``default`` before the first measurement."""
        if self._seconds <= 0:
            return default
        return int(_CAUTION * seconds * self._tokens / self._seconds)
