"""Being ended from outside, for commands that have something to tidy up."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

_ENDING: Final = ("SIGTERM", "SIGHUP")


@contextmanager
def tidy_end() -> Iterator[None]:
    """While open, a termination or a terminal that is closed leaves the block like an error, with status 128 + n.

    A signal that is ignored, as under `nohup`, stays ignored. For the main thread only.
    """
    numbers = [getattr(signal, name) for name in _ENDING if hasattr(signal, name)]
    taken = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]

    def end(number: int, frame: FrameType | None) -> None:
        for each in taken:
            signal.signal(each, signal.SIG_IGN)  # a second one would cut the tidying up short
        raise SystemExit(128 + number)

    for number in taken:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)
