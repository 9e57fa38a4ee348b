"""The base of every result."""

from __future__ import annotations

import msgspec


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """Base of every result."""
