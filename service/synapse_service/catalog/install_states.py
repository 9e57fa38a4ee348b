"""What of the catalog is installed, as the operations that only ask see it."""

from __future__ import annotations

from typing import Literal, Protocol

from synapse_service.catalog.compiled import CatalogEntry, CatalogLane
from synapse_wire.results import SelfCheckState

InstallState = Literal["not_installed", "installed", "stale"]
"""``stale``: only an earlier manifest of the entry is installed."""


class InstallStates(Protocol):
    """Answers from memory, on the event loop."""

    def install_state(self, entry: CatalogEntry) -> InstallState: ...

    def self_check(self, lane: CatalogLane) -> SelfCheckState | None:
        """The lane's self-check; None unless the entry's current manifest is installed."""
        ...
