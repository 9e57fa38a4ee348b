"""Reconciliation: what is wanted, joined with what can be had, before anything is launched or sent.

``reconcile()`` takes a whole batch and is pure: no file, no socket, no clock, the same bytes out for the same input in
any order. It is run before a launch, and again with what was observed after it. ``binding_plan.py`` has the phase of
each model, ``deployment_plan.py`` the phase of each server and the joining of both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from synapse_models import registry
from synapse_models.binding_plan import reconcile_binding
from synapse_models.default_audit import audit_defaults
from synapse_models.deployment_plan import finalise, reconcile_deployment
from synapse_models.diagnostics import AxisVerdict, Diagnostic
from synapse_models.dialect import DialectBinder
from synapse_models.engine_facts import ENGINES, UNKNOWN_ENGINE, ServingConstraints, ServingReconciler
from synapse_models.parts import Record
from synapse_models.plans import (
    BindingCapabilityPlan,
    BindingReconcileInput,
    DeploymentCapabilityPlan,
    DeploymentReconcileInput,
    ReconcileResult,
    RuntimeBindingPlan,
)


class ReconcileBatch(Record, frozen=True):
    """Everything that is reconciled together. Order means nothing; ids are unique."""

    bindings: tuple[BindingReconcileInput, ...]
    deployments: tuple[DeploymentReconcileInput, ...]

    def __post_init__(self) -> None:
        _unique("binding", (binding.binding_id for binding in self.bindings))
        _unique("deployment", (server.root_key for server in self.deployments))


def _unique(what: str, ids: Iterable[str]) -> None:
    seen: set[str] = set()
    for one in ids:
        if one in seen:
            raise ValueError(f"two {what}s are called {one!r}")
        seen.add(one)


def reconcile(
    batch: ReconcileBatch,
    reconciler: ServingReconciler | None = None,
    binders: Mapping[str, DialectBinder] = registry.DIALECT_BINDERS,
) -> ReconcileResult:
    """Plans for all bindings and servers of ``batch``, and all there is to say about them.

    An error about one binding leaves the others their plans; callers launch and bind only when there is none.
    """
    rules: ServingReconciler = ServingConstraints() if reconciler is None else reconciler
    findings: list[Diagnostic] = []
    wanted = {binding.binding_id: binding for binding in batch.bindings}
    bindings: dict[str, BindingCapabilityPlan] = {}
    for binding_id in sorted(wanted):
        plan, said = reconcile_binding(wanted[binding_id], binders)
        findings += said
        if plan is not None:
            bindings[binding_id] = plan
    servers = {server.root_key: server for server in batch.deployments}
    deployments: dict[str, DeploymentCapabilityPlan] = {}
    runtime: dict[str, RuntimeBindingPlan] = {}
    groups: dict[str, list[BindingCapabilityPlan]] = {root: [] for root in servers}
    for binding in bindings.values():
        groups.setdefault(binding.root_key, []).append(binding)
    for root, group in sorted(groups.items()):
        server = servers.get(root)
        if server is None:
            findings.append(_no_server(root, group))
            continue
        for plan in tuple(group):
            said = audit_defaults(plan, server.engine_id, binders[plan.dialect_id])
            if said:
                findings += said
                group.remove(plan)
                del bindings[plan.binding_id]
        if server.engine_id != UNKNOWN_ENGINE and not rules.knows(server.engine_id):
            findings.append(_no_rules(server))
        deployment, said = reconcile_deployment(server, group, rules)
        findings += said
        if deployment is None:
            continue
        deployments[root] = deployment
        for plan in group:
            final, said = finalise(plan, server, rules, wanted[plan.binding_id].route)
            findings += said
            if final is not None:
                runtime[plan.binding_id] = final
    return ReconcileResult(
        bindings=bindings,
        deployments=deployments,
        runtime_plans=dict(sorted(runtime.items())),
        diagnostics=tuple(findings),
    )


def _no_server(root: str, group: list[BindingCapabilityPlan]) -> Diagnostic:
    missing = f"isn't there, and is used by {', '.join(plan.binding_id for plan in group)}"
    return Diagnostic(
        severity="error",
        code="no_deployment",
        model=root,
        summary="has no deployment",
        axes=(AxisVerdict(axis="deployment", subject=root, verdict=missing, mark="fail"),),
        remedy="hand in the deployment of this root",
    )


def _no_rules(server: DeploymentReconcileInput) -> Diagnostic:
    said = "has no rules here; its name is kept, and replies are all that is checked"
    return Diagnostic(
        severity="warning",
        code="engine_without_rules",
        model=server.root_key,
        summary="is served by an engine that nothing is known of",
        axes=(AxisVerdict(axis="engine", subject=server.engine_id, verdict=said, mark="unknown"),),
        remedy=f"if it is one of {', '.join(sorted(ENGINES))}, name it so",
    )
