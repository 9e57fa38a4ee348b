"""The result of ``certify.observations``."""

from __future__ import annotations

from typing import Any

from synapse_wire.results.base import Result


class CertifyObservations(Result, frozen=True, kw_only=True):
    """What was observed since the service started. Where ``available`` is false, the rest is not the whole."""

    available: bool
    inventories: list[dict[str, Any]]
    worker_requests: dict[str, int]
    admitted_count: int
