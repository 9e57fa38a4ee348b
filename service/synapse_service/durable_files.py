"""Making files last: what was written, and the names it goes by, survive a power cut after these calls.

Used by the store of model files and by the settings. Both calls block.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import BinaryIO

if sys.platform == "darwin":
    import fcntl


def sync_file(stream: BinaryIO) -> None:
    """Wait until a file's bytes are on the disk."""
    if sys.platform == "darwin":
        # There fsync only reaches the drive, which may keep the bytes in its own memory.
        fcntl.fcntl(stream.fileno(), fcntl.F_FULLFSYNC)
    else:
        os.fsync(stream.fileno())


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
