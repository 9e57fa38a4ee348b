"""Pins: files that somebody wants kept, whatever else happens to the models that they belong to.

A pin is about one model and belongs to one owner, who alone can take it back. The rows are in the database; beside
them :class:`Pins` keeps which models have any, for those who can't wait for a disk. The functions run inside a closure
of the store.
"""

from __future__ import annotations

from collections.abc import Iterable

from synapse_service.store.database import Store
from synapse_service.store.models import Pin
from synapse_wire.results import ModelPin


class Pins:
    """Every pin, and a copy in memory that answers at once. Used on the event loop."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._kept: dict[str, list[ModelPin]] = {}

    def restore(self) -> None:
        """Read what earlier processes pinned. Blocks; for boot."""
        self.replaced(self._store.read_sync(stored_pins))

    def replaced(self, pins: Iterable[tuple[str, ModelPin]]) -> None:
        """These are the pins now, each with its model."""
        self._kept = {}
        for subject, pin in pins:
            self._kept.setdefault(subject, []).append(pin)

    def has(self, subject: str) -> bool:
        """True while anybody keeps a file of the model."""
        return bool(self._kept.get(subject))

    def owners(self, subject: str) -> list[str]:
        """Those who keep files of the model."""
        return list(dict.fromkeys(pin.owner for pin in self._kept.get(subject, ())))

    async def put(self, owner: str, subject: str, digests: Iterable[str]) -> list[ModelPin]:
        """Let ``owner`` keep exactly these files of a model; the pins of all owners on it. Raises StoreError."""
        wanted = list(digests)

        def step() -> list[ModelPin]:
            set_pins(owner, subject, wanted)
            return pins_of(subject)

        pins = await self._store.write(step)
        self._kept[subject] = pins
        return pins

    def forget(self, sha256: str) -> None:
        """A file is gone, and so are the pins on it."""
        self._kept = {subject: [pin for pin in pins if pin.blob != sha256] for subject, pins in self._kept.items()}


def set_pins(owner: str, subject: str, digests: Iterable[str]) -> None:
    """Let ``owner`` keep exactly these files of the model ``subject``; none lets go of all."""
    Pin.delete().where(Pin.owner == owner, Pin.subject == subject).execute()
    for sha256 in digests:
        Pin.create(owner=owner, subject=subject, sha256=sha256)


def pins_of(subject: str) -> list[ModelPin]:
    """The pins of every owner on a model."""
    rows = Pin.select().where(Pin.subject == subject).order_by(Pin.owner, Pin.sha256)
    return [ModelPin(owner=row.owner, blob=row.sha256) for row in rows]


def stored_pins() -> list[tuple[str, ModelPin]]:
    """Model, owner and file of every pin, by owner."""
    rows = Pin.select().order_by(Pin.owner, Pin.sha256)
    return [(row.subject, ModelPin(owner=row.owner, blob=row.sha256)) for row in rows]
