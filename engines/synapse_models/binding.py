"""Putting a plan, a deployment, a connection pool and a dialect together, and refusing what doesn't fit.

:func:`bind_dialect` is called by ``Model.bind`` and ``Model.with_dialect``. It checks everything that can be checked
without I/O, so that a bound dialect has exactly one address, one wire version and one pool.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from synapse_models.connection import BEARER, AuthScheme
from synapse_models.deployment import Deployment
from synapse_models.dialect import CallContext, DialectBinder, WireAuth
from synapse_models.errors import PlanError
from synapse_models.plans import RuntimeBindingPlan
from synapse_models.policy import origin_of
from synapse_models.pool import ConnectionPool
from synapse_models.registry import DIALECT_BINDERS, binder


class BoundDialect(NamedTuple):
    """A dialect with everything that it needs to translate, and the address that its requests go to."""

    binder: DialectBinder
    context: CallContext
    base_url: str
    auth: AuthScheme


def bind_dialect(
    plan: RuntimeBindingPlan,
    *,
    deployment: Deployment,
    pool: ConnectionPool,
    binders: Mapping[str, DialectBinder] = DIALECT_BINDERS,
) -> BoundDialect:
    """The plan's dialect, bound.

    Raises:
        DialectNotImplemented: the dialect has no binder.
        PlanError: the plan is for another deployment, has no route or names a wire version that the dialect doesn't
            have or another way to present a credential, or the pool is of another family or for another origin.
    """
    found = binder(plan.dialect_id, binders)
    if plan.wire_version not in found.spec.wire_versions:
        known = ", ".join(found.spec.wire_versions)
        raise PlanError(f"{plan.dialect_id} has no wire version {plan.wire_version!r}; it has {known}")
    if plan.binding.auth is not found.auth:
        raise PlanError(
            f"the plan presents a credential as {plan.binding.auth.value}, and {plan.dialect_id} as {found.auth.value}"
        )
    if plan.route is None:
        raise PlanError("the plan has no route: it was made before the deployment was there")
    if plan.deployment_fingerprint != deployment.fingerprint:
        raise PlanError("the plan was made for another deployment, or for this one as it was before")
    families = {found.spec.connection_family, plan.route.connection_family, pool.identity.family}
    if len(families) > 1:
        raise PlanError(
            f"{plan.dialect_id} speaks over {found.spec.connection_family!r} and the pool is of the family "
            f"{pool.identity.family!r}: make a deployment and a pool of that family"
        )
    try:
        origin = origin_of(plan.route.endpoint)
    except ValueError as caught:
        raise PlanError(f"the route's address can't be called: {caught}") from None
    if origin != pool.identity.origin:
        raise PlanError(f"the route leads to {origin}, and the pool is for {pool.identity.origin}")
    context = plan.binding.call_context(plan.engine_id)
    auth = BEARER if found.auth is WireAuth.BEARER else AuthScheme(found.auth.value)
    return BoundDialect(found, context, plan.route.endpoint.rstrip("/"), auth)
