"""The part of the composition root that puts the operations together that compute.

``boot`` calls :func:`register_inference` once, after the lanes.
"""

from __future__ import annotations

from collections.abc import Callable

from synapse_service.admission.leases import LeaseBook
from synapse_service.aliases.table import AliasTable
from synapse_service.clock import Clock
from synapse_service.config import Settings
from synapse_service.jobs.embedding import EmbeddingJobs
from synapse_service.operations.choosing import LaneChoice
from synapse_service.operations.embed import EmbedOperations
from synapse_service.operations.rerank import RerankOperations
from synapse_service.router import Router


def register_inference(
    router: Router,
    *,
    choice: LaneChoice,
    leases: LeaseBook,
    embedding: EmbeddingJobs,
    settings: Callable[[], Settings],
    clock: Clock,
    module_generation: int,
    aliases: AliasTable,
) -> None:
    """Serve embedding and reranking."""
    EmbedOperations(
        choice=choice,
        leases=leases,
        embedding=embedding,
        settings=settings,
        clock=clock,
        module_generation=module_generation,
        aliases=aliases,
    ).register(router)
    RerankOperations(
        choice=choice,
        leases=leases,
        settings=settings,
        clock=clock,
        module_generation=module_generation,
        aliases=aliases,
    ).register(router)
