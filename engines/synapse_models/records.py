"""The persisted form of responses: JSON with a version, read additively.

A reader takes every record of its version or an older one: fields that it doesn't know are skipped, fields that the
record lacks have their defaults. A record of a newer version is refused, since a field may mean something else there.
"""

from __future__ import annotations

from typing import Final

import msgspec

from synapse_models.parts import Record
from synapse_models.response import RECORD_VERSION, Response


class RecordError(ValueError):
    """A text that isn't a response record of a version that can be read."""


class _Versioned(Record, frozen=True):
    record_version: int


_ENCODER: Final = msgspec.json.Encoder()
_VERSION: Final = msgspec.json.Decoder(_Versioned)
_RESPONSE: Final = msgspec.json.Decoder(Response)


def write_response(response: Response) -> bytes:
    """``response`` as JSON in its current version."""
    return _ENCODER.encode(response)


def read_response(text: bytes | str) -> Response:
    """A response from its JSON.

    Raises:
        RecordError: the text is no record, or one of a newer version.
    """
    try:
        version = _VERSION.decode(text).record_version
        if not 1 <= version <= RECORD_VERSION:
            raise RecordError(f"record version {version} can't be read here; versions up to {RECORD_VERSION} can")
        return _RESPONSE.decode(text)
    except msgspec.DecodeError as error:
        raise RecordError(f"this is no response record: {error}") from None
