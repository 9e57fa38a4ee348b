"""What is served, and where: deployments that run, what was planned for them, what was observed, and routes into them.

A plan has no endpoint; a server that somebody else started has no plan. ``plan=None`` and ``deployment_id=None`` say
exactly that. Immutable records and one function; nothing here connects to anything.
"""

from __future__ import annotations

from collections.abc import Mapping

from synapse_models.canonical import fingerprint
from synapse_models.errors import PlanError
from synapse_models.parts import Record
from synapse_models.response import EngineSource


class ServingFacts(Record, frozen=True, forbid_unknown_fields=True):
    """What was observed of a server. None is "not observed". Facts, not verdicts."""

    engine_version: str | None = None
    tokenizer_available: bool | None = None
    prefix_cache_enabled: bool | None = None
    max_top_logprobs: int | None = None
    reasoning_parser: str | None = None
    tool_call_parser: str | None = None


class DeploymentPlanProjection(Record, frozen=True):
    """As much of a launch plan as the model plane needs: which one, and for which engine."""

    fingerprint: str
    engine_id: str


class DeploymentTopology(Record, frozen=True):
    """How a deployment is laid out: whether prefill and decode are apart, and on how many devices."""

    is_disaggregated: bool
    roles: tuple[str, ...]
    total_gpus: int


class RouteIntent(Record, frozen=True):
    """Which of a deployment's services is meant; None when there is only one."""

    service_role: str | None = None


class Deployment(Record, frozen=True):
    """A server that runs. ``endpoints`` maps each service role to its address; without any there is ``api_base``."""

    engine_id: str
    engine_source: EngineSource
    api_base: str
    deployment_id: str | None = None
    plan: DeploymentPlanProjection | None = None
    endpoints: Mapping[str, str] = {}
    topology: DeploymentTopology | None = None
    metrics_url: str | None = None
    facts: ServingFacts = ServingFacts()

    @property
    def fingerprint(self) -> str:
        return fingerprint(self)


class ResolvedRoute(Record, frozen=True):
    """The one address that a binding calls."""

    service_role: str
    endpoint: str
    connection_family: str

    @property
    def fingerprint(self) -> str:
        return fingerprint(self)


DEFAULT_ROLE = "default"
"""The role of a deployment that has an address and no named services."""


def resolve_route(deployment: Deployment, connection_family: str, intent: RouteIntent) -> ResolvedRoute:
    """The address that ``intent`` means.

    Raises:
        PlanError: the role isn't there, or several are and none was named.
    """
    services = dict(deployment.endpoints) or {DEFAULT_ROLE: deployment.api_base}
    there = ", ".join(sorted(services))
    role = intent.service_role
    if role is None:
        if len(services) > 1:
            raise PlanError(f"the deployment has several services ({there}); name one as the route")
        role = next(iter(services))
    if role not in services:
        raise PlanError(f"the deployment has no service {role!r}; it has {there}")
    return ResolvedRoute(service_role=role, endpoint=services[role], connection_family=connection_family)
