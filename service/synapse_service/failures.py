"""What counts as an unexpected exception, and where it came from, told without what it says.

The text of an exception may quote what a client sent, and nothing that a client sent is ever logged. Types and places
in the code are enough to find a defect.
"""

from __future__ import annotations

import asyncio
import traceback
from typing import Final

INTERRUPTIONS: Final = (asyncio.CancelledError, GeneratorExit, KeyboardInterrupt, SystemExit)
"""What ends work from outside. All else that work raises is its own failure, also what is no Exception, such as a panic
in a library that is written in Rust."""


def where(error: BaseException) -> str:
    """The types and code places of ``error`` and of the errors that led to it, newest first, in one line."""
    parts: list[str] = []
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        places = [
            f"{frame.f_code.co_filename}:{line} in {frame.f_code.co_name}"
            for frame, line in traceback.walk_tb(current.__traceback__)
        ]
        parts.append(f"{type(current).__name__} at {' > '.join(places) or 'an unknown place'}")
        current = current.__cause__ or current.__context__
    return "; from ".join(parts)
