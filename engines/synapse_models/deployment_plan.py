"""The second half of reconciliation: one server and everything that its bindings need of it.

Pure. :func:`reconcile_deployment` makes the plan of a launch or verifies it; :func:`finalise` joins a binding with its
server into what a bound model goes by. Which launch parameter wins over which:

==========================================================  =========================================================
a recipe's parameter, and a remedy of correctness           the remedy
a parameter of the user that meets the requirement          stays, and nothing is added
a parameter of the user that only costs speed               stays, and the difference is recorded
a parameter of the user that makes answers wrong            error, with one remedy
==========================================================  =========================================================

After a launch the same plan must come out, byte for byte; facts that ask for another one mean launching again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from synapse_models.canonical import fingerprint
from synapse_models.deployment import RouteIntent, ServingFacts, resolve_route
from synapse_models.diagnostics import AxisVerdict, Diagnostic, Severity
from synapse_models.engine_facts import ServingReconciler
from synapse_models.errors import PlanError
from synapse_models.parts import JSONValue
from synapse_models.plans import (
    BindingCapabilityPlan,
    DeferredCheck,
    DeploymentCapabilityPlan,
    DeploymentReconcileInput,
    PlanDifference,
    RuntimeBindingPlan,
)
from synapse_models.serving import (
    Conflict,
    LaunchView,
    Patched,
    Satisfied,
    ServingRequirement,
    Unresolved,
    UserChoice,
    Verdict,
    combine,
)


def reconcile_deployment(
    server: DeploymentReconcileInput, bindings: Sequence[BindingCapabilityPlan], reconciler: ServingReconciler
) -> tuple[DeploymentCapabilityPlan | None, tuple[Diagnostic, ...]]:
    """The plan of one server and everything there is to say about it; no plan when something is an error."""
    needs = combine(need for binding in bindings for need in binding.serving)
    findings: list[Diagnostic] = []
    if server.managed and server.facts is not None and server.frozen is None:
        findings.append(
            _finding(
                server,
                "error",
                "launch_plan_missing",
                "runs, and the plan that it was launched with isn't there",
                remedy="hand in the deployment plan from before the launch",
            )
        )
        return None, tuple(findings)
    if server.frozen is not None:
        before = _launch(server, server.planned_facts)
        plan = _judge_all(server, needs, before, reconciler, findings)
        _verify(server, plan, needs, reconciler, findings)
    else:
        facts = server.planned_facts if server.managed else server.facts or server.planned_facts
        plan = _judge_all(server, needs, _launch(server, facts), reconciler, findings)
    if any(finding.severity == "error" for finding in findings):
        return None, tuple(findings)
    return plan, tuple(findings)


def _launch(
    server: DeploymentReconcileInput, facts: ServingFacts, plan: DeploymentCapabilityPlan | None = None
) -> LaunchView:
    """The launch as it is, or as it was with the changes of ``plan``."""
    recipe = dict(server.recipe)
    if plan is not None:
        recipe = {name: value for name, value in recipe.items() if name not in plan.launch_drops}
        recipe.update(plan.launch_patch)
    return LaunchView(
        engine_id=server.engine_id,
        managed=server.managed,
        facts=facts,
        recipe=recipe,
        explicit=server.explicit,
    )


def _judge_all(
    server: DeploymentReconcileInput,
    needs: Iterable[ServingRequirement],
    launch: LaunchView,
    reconciler: ServingReconciler,
    findings: list[Diagnostic],
) -> DeploymentCapabilityPlan:
    patch: dict[str, JSONValue] = {}
    drops: set[str] = set()
    checks: list[DeferredCheck] = []
    differences = [
        PlanDifference(parameter=name, user=value, plan=server.recipe[name], reason="the recipe has another value")
        for name, value in sorted(server.explicit.items())
        if name in server.recipe and server.recipe[name] != value
    ]
    for need in needs:
        for rule, verdict in reconciler.judge(need, launch):
            match verdict:
                case Patched():
                    _merge(server, patch, verdict, rule, need, findings)
                    drops.update(verdict.replaces)
                case Unresolved():
                    checks.append(_deferred(need, verdict))
                case Conflict():
                    findings.append(_conflict(server, rule, need, verdict))
                case UserChoice():
                    differences.append(
                        PlanDifference(
                            parameter=verdict.parameter, user=verdict.value, plan=verdict.plan, reason=verdict.reason
                        )
                    )
                case Satisfied():
                    pass
    return DeploymentCapabilityPlan(
        root_key=server.root_key,
        requirements=tuple(needs),
        launch_patch=dict(sorted(patch.items())),
        launch_drops=tuple(sorted(drops - patch.keys())),
        checks=tuple(checks),
        differences=tuple(differences),
    )


def _merge(
    server: DeploymentReconcileInput,
    patch: dict[str, JSONValue],
    verdict: Patched,
    rule: str,
    need: ServingRequirement,
    findings: list[Diagnostic],
) -> None:
    for name, value in verdict.params.items():
        known = patch.get(name)
        if known is None or known == value:
            patch[name] = value
        elif isinstance(known, int) and isinstance(value, int) and not isinstance(value, bool):
            patch[name] = max(known, value)
        else:
            findings.append(
                _conflict(
                    server,
                    rule,
                    need,
                    Conflict(
                        reason=f"{name} would have to be {known} and {value} at once",
                        remedy="give these models deployments of their own",
                    ),
                )
            )


def _verify(
    server: DeploymentReconcileInput,
    again: DeploymentCapabilityPlan,
    needs: Sequence[ServingRequirement],
    reconciler: ServingReconciler,
    findings: list[Diagnostic],
) -> None:
    """After a launch: the same patch must come out, and what is observed must not ask for more."""
    frozen = server.frozen
    assert frozen is not None
    if again.launch_bytes != frozen.launch_bytes:
        findings.append(
            _finding(
                server,
                "error",
                "launch_plan_changed",
                "was launched with another plan than these models need",
                AxisVerdict(axis="deployment", subject="launched with", verdict=_shown(frozen), mark="fail"),
                AxisVerdict(axis="deployment", subject="needed", verdict=_shown(again), mark="ok"),
                remedy="relaunch with the plan that is needed now",
            )
        )
        return
    if server.facts is None:
        return
    seen = _launch(server, server.facts, frozen)
    for need in needs:
        for rule, verdict in reconciler.judge(need, seen):
            if isinstance(verdict, Patched):
                said = ", ".join(f"{name}={value}" for name, value in sorted(verdict.params.items()))
                lacks = f"needs {said}; {verdict.reason}"
                findings.append(
                    _finding(
                        server,
                        "error",
                        "launch_plan_insufficient",
                        "runs differently than was planned",
                        AxisVerdict(axis="engine", subject=rule, verdict=lacks, mark="fail"),
                        capability=need.capability,
                        remedy=f"relaunch with {said}",
                    )
                )
            elif isinstance(verdict, Conflict):
                relaunch = Conflict(reason=verdict.reason, remedy=f"relaunch: {verdict.remedy}")
                findings.append(_conflict(server, rule, need, relaunch))


def _shown(plan: DeploymentCapabilityPlan) -> str:
    said = [f"{name}={value}" for name, value in plan.launch_patch.items()]
    said += [f"without {name}" for name in plan.launch_drops]
    return ", ".join(said) or "nothing beyond the recipe"


def _deferred(need: ServingRequirement, verdict: Unresolved) -> DeferredCheck:
    return DeferredCheck(
        capability=need.capability,
        stage=verdict.stage,
        verifier=verdict.verifier,
        reason=verdict.reason,
        evidence=verdict.evidence,
    )


def _finding(
    server: DeploymentReconcileInput,
    severity: Severity,
    code: str,
    summary: str,
    *axes: AxisVerdict,
    capability: str | None = None,
    remedy: str | None = None,
    model: str | None = None,
) -> Diagnostic:
    return Diagnostic(
        severity=severity,
        code=code,
        model=model or server.root_key,
        capability=capability,
        summary=summary,
        axes=axes,
        remedy=remedy,
    )


def _conflict(server: DeploymentReconcileInput, rule: str, need: ServingRequirement, verdict: Conflict) -> Diagnostic:
    wanted = AxisVerdict(axis="task", subject=", ".join(need.sources), verdict=f"needs {need.name}", mark="ok")
    return _finding(
        server,
        "error",
        "serving_conflict",
        "can't be served correctly",
        wanted,
        AxisVerdict(axis="engine", subject=rule, verdict=verdict.reason, mark="fail"),
        capability=need.capability,
        remedy=verdict.remedy,
    )


def finalise(
    binding: BindingCapabilityPlan,
    server: DeploymentReconcileInput,
    reconciler: ServingReconciler,
    intent: RouteIntent,
) -> tuple[RuntimeBindingPlan | None, tuple[Diagnostic, ...]]:
    """What a bound model goes by, or None while that can't be said yet.

    A server that will be launched has no plan of this kind before its facts are in. For one that runs, a check of the
    server that nobody has made leaves it open (a warning) as long as nobody has looked, and is an error once somebody
    has.
    """
    if server.managed and server.facts is None:
        return None, ()
    facts = server.facts or server.planned_facts
    launch = _launch(server, facts, server.frozen)
    findings: list[Diagnostic] = []
    checks = list(binding.checks)
    open_keys: set[str] = set()
    for need in binding.serving:
        for rule, verdict in reconciler.judge(need, launch):
            if not isinstance(verdict, Unresolved):
                continue
            if verdict.stage == "request":
                checks.append(_deferred(need, verdict))
                continue
            open_keys.add(need.capability)
            findings.append(_open_check(server, binding, rule, need, verdict))
    if open_keys:
        return None, tuple(findings)
    unavailable = dict(binding.unavailable)
    for need in binding.optional_serving:
        for _, verdict in reconciler.judge(need, launch):
            _settle_optional(need, verdict, unavailable, checks)
    route = None
    if server.deployment is not None:
        try:
            route = resolve_route(server.deployment, binding.connection_family, intent)
        except PlanError as error:
            findings.append(
                _finding(
                    server,
                    "error",
                    "route_unresolved",
                    "can't be reached as declared",
                    AxisVerdict(axis="deployment", subject=server.root_key, verdict=str(error), mark="fail"),
                    remedy="name one of the deployment's services as the route",
                    model=binding.binding_id,
                )
            )
            return None, tuple(findings)
    deployment = server.deployment
    plan = RuntimeBindingPlan(
        binding=binding,
        engine_id=server.engine_id,
        engine_source=server.engine_source,
        available=tuple(key for key in binding.available if key not in unavailable),
        unavailable=dict(sorted(unavailable.items())),
        request_checks=_distinct(checks, unavailable),
        route=route,
        deployment_id=None if deployment is None else deployment.deployment_id,
        deployment_fingerprint=None if deployment is None else deployment.fingerprint,
        engine_version=facts.engine_version,
        verification_fingerprint=None if server.facts is None else fingerprint(server.facts),
    )
    return plan, tuple(findings)


def _open_check(
    server: DeploymentReconcileInput,
    binding: BindingCapabilityPlan,
    rule: str,
    need: ServingRequirement,
    verdict: Unresolved,
) -> Diagnostic:
    looked = server.facts is not None
    return _finding(
        server,
        "error" if looked else "warning",
        "check_unresolved",
        "isn't known to be served correctly" if looked else "is still to be checked on the server",
        AxisVerdict(axis="engine", subject=rule, verdict=verdict.reason, mark="fail" if looked else "unknown"),
        capability=need.capability,
        remedy=f"{verdict.verifier}: {verdict.evidence}",
        model=binding.binding_id,
    )


def _settle_optional(
    need: ServingRequirement, verdict: Verdict, unavailable: dict[str, str], checks: list[DeferredCheck]
) -> None:
    """A capability that nobody required stays available only if the server is right for it as it is."""
    match verdict:
        case Unresolved(stage="request"):
            checks.append(_deferred(need, verdict))
        case Unresolved() | Conflict():
            unavailable.setdefault(need.capability, verdict.reason)
        case Patched():
            unavailable.setdefault(need.capability, f"the server wasn't launched for it: {verdict.reason}")
        case Satisfied() | UserChoice():
            pass


def _distinct(checks: Iterable[DeferredCheck], unavailable: Mapping[str, str]) -> tuple[DeferredCheck, ...]:
    kept: dict[tuple[str, str], DeferredCheck] = {}
    for check in checks:
        if check.capability not in unavailable:
            kept.setdefault((check.capability, check.verifier), check)
    return tuple(kept[key] for key in sorted(kept))
