"""A model in a folder of the user's own: which of its files count, and their digests as ``model.load`` wants them.

Both functions block and run on a thread; the digests of some gigabytes take their time, so they report how far they
are and can be told to stop.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from synapse_client.options import FileSource

REQUIRED: Final[Mapping[str, str]] = {"model": "model.safetensors", "tokenizer": "tokenizer.json"}
OPTIONAL: Final[Mapping[str, str]] = {"config": "config.json"}
_CHUNK: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Found:
    """What a folder holds: files by role, their sizes, and the names of required ones that aren't there."""

    folder: Path
    files: Mapping[str, Path]
    sizes: Mapping[str, int]
    missing: tuple[str, ...]

    @property
    def complete(self) -> bool:
        return not self.missing

    @property
    def size(self) -> int:
        return sum(self.sizes.values())


def find(folder: Path) -> Found:
    """Look into ``folder``. Raises OSError where that can't be done."""
    root = folder.expanduser().resolve(strict=True)
    files: dict[str, Path] = {}
    sizes: dict[str, int] = {}
    for role, name in {**REQUIRED, **OPTIONAL}.items():
        path = root / name
        if path.is_file():
            files[role] = path
            sizes[role] = path.stat().st_size
    return Found(root, files, sizes, tuple(name for role, name in REQUIRED.items() if role not in files))


class Stopped(Exception):
    """Somebody said so."""


def describe(found: Found, progress: Callable[[int], object], stop: threading.Event) -> dict[str, FileSource]:
    """The URL and SHA-256 of each file. ``progress`` gets the bytes that are read. Raises OSError and Stopped."""
    done = 0
    described: dict[str, FileSource] = {}
    for role, path in found.files.items():
        digest = hashlib.sha256()
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                if stop.is_set():
                    raise Stopped
                digest.update(chunk)
                done += len(chunk)
                progress(done)
        described[role] = {"url": path.as_uri(), "sha256": digest.hexdigest()}
    return described
