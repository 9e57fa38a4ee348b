"""How figures read in the terminal: counts, durations, rates; and how fast a piece of work is going."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

BYTES: Final = "bytes"
"""The unit of work that is counted in bytes, which read better as MB and GB."""

WINDOW_S: Final = 30.0
"""A rate is that of the latest seconds. What a resumed job had done before comes in a burst, and is soon forgotten."""


def count(number: int) -> str:
    """An integer with its thousands apart."""
    return f"{number:,}"


def duration(milliseconds: float) -> str:
    """A duration in the two largest units that it has."""
    if 1 <= milliseconds < 1000:
        return f"{int(milliseconds)} ms"
    seconds = int(milliseconds // 1000)
    days, hours, minutes = seconds // 86_400, seconds // 3600 % 24, seconds // 60 % 60
    if days:
        return f"{days} d {hours} h"
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {seconds % 60} s" if minutes else f"{seconds} s"


def rate(per_second: float) -> str:
    """A rate: whole numbers from ten on, three digits below."""
    return f"{per_second:,.0f}/s" if per_second >= 10 else f"{per_second:.3g}/s"


def size(number: float) -> str:
    """A number of bytes in the unit that fits, with three digits."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:.0f} bytes" if unit == "bytes" else f"{number:.3g} {unit}"
        number /= 1000
    return f"{number:.3g} TB"


def share(done: int, total: int) -> str:
    """How much of a whole is done, in percent. Only the whole is 100%."""
    percent = 100 * done // total if total else 0
    return f"{percent}%"


def progress(done: int, total: int, unit: str = "", pace: tuple[float, float] | None = None) -> str:
    """How far a piece of work is, and with its ``pace`` (units a second, seconds left) for how much longer."""
    text = f"{count(done)} of {count(total)} {unit}".rstrip() if unit != BYTES else f"{size(done)} of {size(total)}"
    if pace is None:
        return text
    per_second, left_s = pace
    speed = rate(per_second) if unit != BYTES else f"{size(per_second)}/s"
    return f"{text}, {speed}, {duration(left_s * 1000)} left"


class Pace:
    """Measures the rate of a piece of work from how far it is at each look. ``clock`` gives monotonic seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._looks: deque[tuple[float, int]] = deque()

    def note(self, done: int) -> None:
        """``done`` units are finished by now."""
        if self._looks and self._looks[-1][1] == done:
            return  # Results come in pages: between two of them nothing is known about the rate.
        now = self._clock()
        self._looks.append((now, done))
        while len(self._looks) > 2 and now - self._looks[1][0] >= WINDOW_S:
            self._looks.popleft()

    def ahead(self, total: int) -> tuple[float, float] | None:
        """Units a second and seconds left; None while nothing can be said, and at the end."""
        if not self._looks:
            return None
        (since, before), (until, done) = self._looks[0], self._looks[-1]
        if done <= before or until <= since or done >= total:
            return None
        per_second = (done - before) / (until - since)
        return per_second, (total - done) / per_second
