"""Names from before models declared a dialect, kept as thin wrappers. New code uses ``Model.bind``.

Each wrapper makes the plan of one model at one address that somebody else runs, with nothing declared and no profile
but the one that is passed in, opens a pool of its own, and forwards every call. Creating one warns. Nothing uses them.
"""

from __future__ import annotations

import warnings
from collections.abc import AsyncGenerator
from typing import ClassVar, Self, TypeVar

from synapse_models.credentials import CredentialResolver
from synapse_models.deployment import Deployment
from synapse_models.engine_facts import UNKNOWN_ENGINE
from synapse_models.errors import PlanError
from synapse_models.model import Model
from synapse_models.plans import BindingReconcileInput, DeploymentReconcileInput, RuntimeBindingPlan
from synapse_models.policy import ConnectionIdentity, origin_of
from synapse_models.pool import ConnectionPool
from synapse_models.profiles import ModelProfile
from synapse_models.reconciliation import ReconcileBatch, reconcile
from synapse_models.registry import DIALECT_SPECS, binder
from synapse_models.request import Request
from synapse_models.response import Response
from synapse_models.stream import StreamEvent

_ROOT = "compat"


class _Wrapper:
    """What the three have in common: a bound model, and whether the pool behind it is theirs to close."""

    dialect_id: ClassVar[str]

    def __init__(
        self,
        model: str,
        api_base: str,
        *,
        credential: str = "none",
        resolver: CredentialResolver | None = None,
        profile: ModelProfile | None = None,
        concurrency: int | None = None,
    ) -> None:
        warnings.warn(
            f"{type(self).__name__} is deprecated: use Model.bind with {self.dialect_id}",
            DeprecationWarning,
            stacklevel=2,
        )
        binder(self.dialect_id)
        self._deployment = Deployment(engine_id=UNKNOWN_ENGINE, engine_source="unknown", api_base=api_base)
        self._profile = profile or ModelProfile(model_id=model)
        identity = ConnectionIdentity(
            family=DIALECT_SPECS[self.dialect_id].connection_family, origin=origin_of(api_base), credential=credential
        )
        plan = _plan(self.dialect_id, model, self._profile, self._deployment)
        self._pool = ConnectionPool(identity, resolver=resolver, limit=concurrency)
        self.model = Model.bind(plan, deployment=self._deployment, pool=self._pool)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def arun(self, request: Request) -> Response:
        """See :meth:`synapse_models.model.Model.arun`."""
        return await self.model.arun(request)

    def astream(self, request: Request) -> AsyncGenerator[StreamEvent, None]:
        """See :meth:`synapse_models.model.Model.astream`."""
        return self.model.astream(request)

    async def aclose(self) -> None:
        """Closes the pool, which this wrapper shares with all that :func:`as_type` made of it."""
        await self._pool.aclose()


class ChatModel(_Wrapper):
    """A model on ``openai_chat``."""

    dialect_id = "openai_chat"


class GenModel(_Wrapper):
    """A model on ``openai_completions``."""

    dialect_id = "openai_completions"


class SglangGenModel(_Wrapper):
    """A model on ``sglang_native``; raises ``DialectNotImplemented`` as long as that dialect has no binder."""

    dialect_id = "sglang_native"


_Target = TypeVar("_Target", bound=_Wrapper)


def as_type(wrapper: _Wrapper, target: type[_Target]) -> _Target:
    """The same model by another wrapper's dialect, with a plan of its own and the same pool and limits.

    Raises:
        TypeError: ``target`` is not one of the wrappers.
        DialectNotImplemented, PlanError: the target's dialect can't be had.
    """
    if not (isinstance(target, type) and issubclass(target, _Wrapper)) or target is _Wrapper:
        raise TypeError(f"{target!r} is not a wrapper of a model")
    warnings.warn("as_type is deprecated: use Model.with_dialect", DeprecationWarning, stacklevel=2)
    binder(target.dialect_id)
    plan = _plan(target.dialect_id, wrapper.model.plan.model_id, wrapper._profile, wrapper._deployment)
    made = target.__new__(target)
    made._deployment = wrapper._deployment
    made._profile = wrapper._profile
    made._pool = wrapper._pool
    made.model = wrapper.model.with_dialect(plan)
    return made


def _plan(dialect_id: str, model_id: str, profile: ModelProfile, served: Deployment) -> RuntimeBindingPlan:
    batch = ReconcileBatch(
        bindings=(
            BindingReconcileInput(
                binding_id=_ROOT, root_key=_ROOT, dialect_id=dialect_id, model_id=model_id, profile=profile
            ),
        ),
        deployments=(DeploymentReconcileInput(root_key=_ROOT, deployment=served, facts=served.facts),),
    )
    result = reconcile(batch)
    if result.errors:
        raise PlanError("\n".join(line for finding in result.errors for line in finding.lines()))
    return result.runtime_plans[_ROOT]
