"""The bounded types that parameters are made of, and the base of every parameter shape."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from msgspec import Meta

SAFE_INT: Final = 2**53 - 1
"""Largest integer that every JSON reader keeps exact."""

NO_CONTROL: Final = r"^[^\x00-\x1f\x7f-\x9f]*\Z"

Name = Annotated[str, Meta(min_length=1, max_length=256, pattern=NO_CONTROL)]
"""An id or a name: not empty, at most 256 characters, no control characters."""

Label = Annotated[str, Meta(max_length=512, pattern=NO_CONTROL)]

Sha256 = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]

Millis = Annotated[int, Meta(ge=0, le=SAFE_INT)]

PositiveMillis = Annotated[int, Meta(ge=1, le=SAFE_INT)]

Count = Annotated[int, Meta(ge=0, le=SAFE_INT)]

Url = Annotated[str, Meta(min_length=1, max_length=4096, pattern=NO_CONTROL)]


class Params(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of every strict parameter object."""


class NoParams(Params, frozen=True, kw_only=True):
    """An operation without parameters."""
