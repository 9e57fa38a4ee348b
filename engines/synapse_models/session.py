"""From a declared file to models that can be called: pools opened once, models bound, everything closed at the end.

The one place that puts declarations, plans and connections together for callers who have a file of models. Whoever
launches servers composes deployments, pools and ``Model.bind`` himself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import MappingProxyType
from typing import Self

from synapse_models.credentials import CredentialResolver
from synapse_models.declaration import Declarations, ModelDeclaration
from synapse_models.deployment import Deployment, ServingFacts
from synapse_models.dialect import DialectBinder
from synapse_models.errors import PlanError
from synapse_models.model import Model
from synapse_models.planning import external_deployment, plan
from synapse_models.plans import ReconcileResult
from synapse_models.policy import ConnectionIdentity, origin_of
from synapse_models.pool import ConnectionPool
from synapse_models.profiles.loading import Catalogue
from synapse_models.registry import DIALECT_BINDERS


class ModelSession:
    """All models of a file, bound. Use it as an asynchronous context manager, or close it.

    A root model's ``concurrency`` is the limit of its server, shared by all models that are derived from it; a derived
    model's is a cap of its own on top. ``facts`` is what was observed of the servers, by root model.

    Raises:
        PlanError: the declarations don't hold together; the message has every finding. Nothing was opened.
    """

    def __init__(
        self,
        declarations: Declarations,
        catalogue: Catalogue,
        *,
        resolver: CredentialResolver | None = None,
        facts: Mapping[str, ServingFacts] | None = None,
        binders: Mapping[str, DialectBinder] = DIALECT_BINDERS,
    ) -> None:
        roots = {model.name: model for model in declarations.models.values() if model.root == model.name}
        observed = {name: (facts or {}).get(name, _declared(model)) for name, model in roots.items()}
        self.result: ReconcileResult = plan(declarations, catalogue, observed, binders)
        unplanned = [name for name in declarations.models if name not in self.result.runtime_plans]
        if self.result.errors or unplanned:
            findings = [line for finding in self.result.diagnostics for line in finding.lines()]
            raise PlanError("\n".join(["these models can't be bound: " + ", ".join(unplanned), *findings]))
        deployments = {name: _deployment(model, observed[name]) for name, model in roots.items()}
        self._closing: asyncio.Task[None] | None = None
        self._pools = {name: self._pool(model, resolver) for name, model in roots.items()}
        self.models: Mapping[str, Model] = MappingProxyType(
            {
                model.name: Model.bind(
                    self.result.runtime_plans[model.name],
                    deployment=deployments[model.root],
                    pool=self._pools[model.root],
                    timeouts=model.timeouts,
                    concurrency=None if model.root == model.name else model.concurrency,
                    binders=binders,
                )
                for model in declarations.models.values()
            }
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes all pools at once, each after what is under way in it. Further calls wait with the first one."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._close())
        # A caller who is cancelled stops waiting; the closing goes on.
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        await asyncio.gather(*(pool.aclose() for pool in self._pools.values()))

    def _pool(self, model: ModelDeclaration, resolver: CredentialResolver | None) -> ConnectionPool:
        identity = ConnectionIdentity(
            family=self.result.runtime_plans[model.name].binding.connection_family,
            origin=origin_of(model.api_base),
            credential=model.credential,
            retry=model.retry,
            quota=model.name,
        )
        return ConnectionPool(identity, resolver=resolver, limit=model.concurrency, connect_s=model.timeouts.connect_s)


def _declared(model: ModelDeclaration) -> ServingFacts:
    """What the declaration itself says of the server, where nobody has looked."""
    return ServingFacts(engine_version=None if model.engine is None else model.engine.version)


def _deployment(model: ModelDeclaration, facts: ServingFacts) -> Deployment:
    found = external_deployment(model, facts).deployment
    if found is None:
        raise PlanError(f"{model.name} has no deployment")
    return found
