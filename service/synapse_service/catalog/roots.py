"""Who needs a stored file: the roots from which garbage collection starts.

=================  ==========================================================  ==================
holder             where it is known                                           kind on the wire
=================  ==========================================================  ==================
a free-form model  rows of its registration                                    ``registration``
a catalog model    rows of its installed manifests, earlier ones too           ``install``
somebody's pin     rows of the pin                                             ``pin``
a lane that still  the lane registry, for lanes that have been replaced under  ``loaded``
serves             those who use them
a running job      a lease in memory                                           ``job``
=================  ==========================================================  ==================

The rows change only in transactions of the one writing thread. A job gives its lease back after what it did is
written. So whoever looks inside such a transaction, and takes only files that have no lease, takes nothing that
anybody needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from synapse_service.catalog.blob_leases import BlobLeases
from synapse_service.store.models import Install, InstallFile, ModelFile, Pin
from synapse_wire.results import BlobHolder

Holders = Mapping[str, list[BlobHolder]]
"""Digest to those who need the file."""


@dataclass(frozen=True, slots=True)
class LaneFiles:
    """The files of a lane, which may be mapped by its worker."""

    lane_id: str
    blobs: frozenset[str]


class Roots:
    """All holders. ``lanes`` gives the lanes that may have files open; it is asked on the event loop."""

    def __init__(self, leases: BlobLeases, lanes: Callable[[], Iterable[LaneFiles]]) -> None:
        self._leases = leases
        self._lanes = lanes

    def live(self) -> Holders:
        """Lanes and leases, as they are at this moment. Runs on the event loop."""
        found = self._leases.holders()
        for lane in self._lanes():
            for sha256 in lane.blobs:
                found.setdefault(sha256, []).append(BlobHolder(kind="loaded", model_id=lane.lane_id))
        return found


def stored_holders() -> Holders:
    """Registrations, installs and pins. Runs inside a closure of the store."""
    found: dict[str, list[BlobHolder]] = {}

    def add(sha256: str, holder: BlobHolder) -> None:
        holders = found.setdefault(sha256, [])
        if holder not in holders:
            holders.append(holder)

    for file in ModelFile.select().order_by(ModelFile.model):
        add(file.sha256, BlobHolder(kind="registration", model_id=file.model_id))
    installed = InstallFile.select(InstallFile.sha256, Install.catalog_id).join(Install).order_by(Install.catalog_id)
    pairs: Iterable[Any] = installed.tuples()
    for sha256, catalog_id in pairs:
        add(sha256, BlobHolder(kind="install", catalog_id=catalog_id))
    for pin in Pin.select().order_by(Pin.owner):
        add(pin.sha256, BlobHolder(kind="pin", owner=pin.owner))
    return found


def merged(*parts: Holders) -> dict[str, list[BlobHolder]]:
    """Holders of several kinds together."""
    found: dict[str, list[BlobHolder]] = {}
    for part in parts:
        for sha256, holders in part.items():
            found.setdefault(sha256, []).extend(holders)
    return found
