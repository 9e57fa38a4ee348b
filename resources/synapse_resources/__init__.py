"""Data that ships with the product: probe texts now; the catalog, self-check figures and icons belong here too."""

from __future__ import annotations

from importlib.resources import files


def read(name: str) -> bytes:
    """The bytes of one resource, named by its path under this package, for example ``probe/embed.json``."""
    return files(__name__).joinpath(name).read_bytes()
