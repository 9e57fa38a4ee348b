"""``certify.observations``: what the certification command reads, and nobody else should."""

from __future__ import annotations

from synapse_service.certify.observations import Observations
from synapse_service.server.router import Call, Router
from synapse_wire import params as p
from synapse_wire import results as r


class CertifyOperations:
    """The one operation for certification."""

    def __init__(self, observations: Observations) -> None:
        self._observations = observations

    def register(self, router: Router) -> None:
        """Serve the operation."""
        router.add_inline("certify.observations", self.observations)

    def observations(self, call: Call, params: p.NoParams) -> r.CertifyObservations:
        """The record so far; refused while nothing is recorded."""
        return self._observations.snapshot()
