"""Pins: files that somebody wants kept, whatever else happens to the models that they belong to.

A pin is about one model and belongs to one owner, who alone can take it back. Both functions run inside a closure of
the store.
"""

from __future__ import annotations

from collections.abc import Iterable

from synapse_service.store.models import Pin
from synapse_wire.results import ModelPin


def set_pins(owner: str, subject: str, digests: Iterable[str]) -> None:
    """Let ``owner`` keep exactly these files of the model ``subject``; none lets go of all."""
    Pin.delete().where(Pin.owner == owner, Pin.subject == subject).execute()
    for sha256 in digests:
        Pin.create(owner=owner, subject=subject, sha256=sha256)


def pins_of(subject: str) -> list[ModelPin]:
    """The pins of every owner on a model."""
    rows = Pin.select().where(Pin.subject == subject).order_by(Pin.owner, Pin.sha256)
    return [ModelPin(owner=row.owner, blob=row.sha256) for row in rows]
