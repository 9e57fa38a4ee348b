"""Handing freed memory back to the operating system. Called by a lane when it was unloaded.

glibc keeps what was freed below the top of a heap, and each thread that ever allocated has a heap of its own: after a
tokenizer and some batches that is ten megabytes for as long as the service lives.
"""

from __future__ import annotations

import ctypes
import sys

if sys.platform == "linux":

    def give_back() -> None:
        """Have the allocator return every whole free page, which takes up to half a millisecond a megabyte.

        Does nothing without glibc.
        """
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)

else:

    def give_back() -> None:
        """The allocators of the other systems return free pages by themselves."""
