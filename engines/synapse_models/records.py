"""The persisted form of responses and plans: JSON with a version, read additively.

A reader takes every record of its version or an older one: fields that it doesn't know are skipped, fields that the
record lacks have their defaults. A record of a newer version is refused, since a field may mean something else there.

A launched server is verified against the plan that was made before its launch, maybe by another process: that is what
plans are written for. A plan's fingerprint is the same after it was read back.
"""

from __future__ import annotations

from typing import Final

import msgspec

from synapse_models.parts import Record
from synapse_models.plans import PLAN_RECORD_VERSION, ReconcileResult
from synapse_models.response import RECORD_VERSION, Response


class RecordError(ValueError):
    """A text that isn't a record of a version that can be read."""


class _Versioned(Record, frozen=True):
    record_version: int


class _StoredPlans(Record, frozen=True):
    record_version: int
    plans: ReconcileResult


_ENCODER: Final = msgspec.json.Encoder()
_VERSION: Final = msgspec.json.Decoder(_Versioned)
_RESPONSE: Final = msgspec.json.Decoder(Response)
_PLANS: Final = msgspec.json.Decoder(_StoredPlans)


def write_response(response: Response) -> bytes:
    """``response`` as JSON in its current version."""
    return _ENCODER.encode(response)


def read_response(text: bytes | str) -> Response:
    """A response from its JSON.

    Raises:
        RecordError: the text is no record, or one of a newer version.
    """
    try:
        _check_version(text, RECORD_VERSION)
        return _RESPONSE.decode(text)
    except msgspec.DecodeError as error:
        raise RecordError(f"this is no response record: {error}") from None


def write_plans(plans: ReconcileResult) -> bytes:
    """``plans`` as JSON in their current version."""
    return _ENCODER.encode(_StoredPlans(record_version=PLAN_RECORD_VERSION, plans=plans))


def read_plans(text: bytes | str) -> ReconcileResult:
    """Plans from their JSON.

    Raises:
        RecordError: the text is no record of plans, or one of a newer version.
    """
    try:
        _check_version(text, PLAN_RECORD_VERSION)
        return _PLANS.decode(text).plans
    except msgspec.DecodeError as error:
        raise RecordError(f"this is no record of plans: {error}") from None


def _check_version(text: bytes | str, newest: int) -> None:
    version = _VERSION.decode(text).record_version
    if not 1 <= version <= newest:
        raise RecordError(f"record version {version} can't be read here; versions up to {newest} can")
