"""Data that ships with the product: the catalog, the figures of its self-checks, and the texts of probes."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path


def read(name: str) -> bytes:
    """The bytes of one resource, named by its path under this package, for example ``probe/embed.json``."""
    return files(__name__).joinpath(name).read_bytes()


def path(name: str) -> Path:
    """Where one resource lies, for those who read files by themselves, such as style sheets."""
    return Path(str(files(__name__).joinpath(name)))
