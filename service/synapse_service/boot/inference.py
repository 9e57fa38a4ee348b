"""The part of the composition root that puts the operations together that compute.

``assembly`` calls :func:`register_inference` once, after the lanes.
"""

from __future__ import annotations

from collections.abc import Callable

from synapse_service.admission.leases import LeaseBook
from synapse_service.aliases.table import AliasTable
from synapse_service.certify.ledger import CertificationLedger
from synapse_service.certify.observations import Observations
from synapse_service.clock import Clock
from synapse_service.jobs.embedding import EmbeddingJobs
from synapse_service.lanes.registry import LaneRegistry
from synapse_service.operations.aliases import AliasOperations
from synapse_service.operations.certify import CertifyOperations
from synapse_service.operations.choosing import LaneChoice
from synapse_service.operations.embed import EmbedOperations
from synapse_service.operations.rerank import RerankOperations
from synapse_service.server.router import Router
from synapse_service.settings.declared import Settings


def register_inference(
    router: Router,
    *,
    lanes: LaneRegistry,
    certifications: CertificationLedger,
    leases: LeaseBook,
    embedding: EmbeddingJobs,
    settings: Callable[[], Settings],
    clock: Clock,
    module_generation: int,
    aliases: AliasTable,
    observations: Observations,
) -> None:
    """Serve embedding and reranking, the equivalences they follow, and what certification sees of them."""
    choice = LaneChoice(lanes=lanes, certifications=certifications, aliases=aliases)
    EmbedOperations(
        choice=choice,
        leases=leases,
        embedding=embedding,
        settings=settings,
        clock=clock,
        module_generation=module_generation,
        aliases=aliases,
        observations=observations,
    ).register(router)
    RerankOperations(
        choice=choice,
        leases=leases,
        settings=settings,
        clock=clock,
        module_generation=module_generation,
        aliases=aliases,
        observations=observations,
    ).register(router)
    AliasOperations(aliases=aliases, settings=settings, module_generation=module_generation).register(router)
    CertifyOperations(observations).register(router)
