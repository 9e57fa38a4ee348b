"""The records that go into and come out of reconciliation. All of them serialise; none holds a function or a secret."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from synapse_models.canonical import canonical_json, fingerprint
from synapse_models.capabilities import Declared
from synapse_models.deployment import (
    Deployment,
    DeploymentPlanProjection,
    ResolvedRoute,
    RouteIntent,
    ServingFacts,
)
from synapse_models.diagnostics import Diagnostic
from synapse_models.dialect import CallContext, WireAuth
from synapse_models.parts import JSONValue, Record
from synapse_models.profiles import ModelProfile
from synapse_models.requirements import AggregatedRequirements
from synapse_models.response import EngineSource
from synapse_models.serving import ServingRequirement, Stage

PLAN_RECORD_VERSION: Final = 1
"""Of the persisted form. Fields with defaults may be added without a new version; a changed meaning needs one."""


class BindingReconcileInput(Record, frozen=True):
    """One model as it is wanted.

    Attributes:
        binding_id: its name, unique in the batch.
        root_key: whose deployment it uses; bindings with the same root share it.
        args: request defaults that aren't options of a capability, by leaf, as plain JSON.
        options: defaults of dialect options, by key.
        mandatory: capabilities that the model can't be used without, whoever asks.
    """

    binding_id: str
    root_key: str
    dialect_id: str
    model_id: str
    profile: ModelProfile
    wire_version: str | None = None
    route: RouteIntent = RouteIntent()
    declared: Mapping[str, Declared] = {}
    args: Mapping[str, JSONValue] = {}
    options: Mapping[str, JSONValue] = {}
    requirements: AggregatedRequirements = AggregatedRequirements()
    mandatory: tuple[str, ...] = ()


class DeploymentReconcileInput(Record, frozen=True):
    """One server as it is, or as it will be started.

    Attributes:
        plan: what will be launched; None for a server that somebody else runs.
        deployment: the server as it runs; None before it was launched.
        facts: what was observed of it; None when nobody has looked.
        planned_facts: what is known before launch, such as the version that will be installed.
        recipe: launch parameters that a remedy of correctness may replace.
        explicit: launch parameters that the user wrote.
        frozen: the plan from before the launch; with it, reconciliation only verifies.
    """

    root_key: str
    engine_id: str = "unknown"
    engine_source: EngineSource = "unknown"
    plan: DeploymentPlanProjection | None = None
    deployment: Deployment | None = None
    facts: ServingFacts | None = None
    planned_facts: ServingFacts = ServingFacts()
    recipe: Mapping[str, JSONValue] = {}
    explicit: Mapping[str, JSONValue] = {}
    frozen: DeploymentCapabilityPlan | None = None

    @property
    def managed(self) -> bool:
        return self.plan is not None


class CapabilityIntent(Record, frozen=True):
    """What is wanted of one capability, by all who want it. ``minimums`` are floors of correctness."""

    key: str
    required: bool
    minimums: Mapping[str, JSONValue] = {}
    request_defaults: Mapping[str, JSONValue] = {}
    sources: tuple[str, ...] = ()


class DeferredCheck(Record, frozen=True):
    """Something still to be found out: at ``setup`` from the server, or at each ``request`` from the reply."""

    capability: str
    stage: Stage
    verifier: str
    reason: str
    evidence: str


class BindingCapabilityPlan(Record, frozen=True):
    """What one binding can do and must do. Holds no launch parameter.

    Attributes:
        auth: how the dialect presents a credential; which credential is the connection's.
        profile: what was known of the model, which decides leaves and spellings on every call.
        declared: the user's declarations, canonical.
        intents: capability → what is wanted, for those that anybody named.
        available: capabilities that a request may use.
        unavailable: capability → why a request may not.
        request_defaults: leaf → value, for leaves on which a request has no opinion.
        option_defaults: the same for dialect options.
        output_channels: response channels that the required capabilities fill.
        serving: what the server must do for the required capabilities.
        optional_serving: the same for those that are merely available.
        checks: checks that the model's profile leaves open.
    """

    binding_id: str
    root_key: str
    dialect_id: str
    wire_version: str
    model_id: str
    connection_family: str
    auth: WireAuth
    profile: ModelProfile
    declared: Mapping[str, JSONValue]
    intents: Mapping[str, CapabilityIntent]
    available: tuple[str, ...]
    unavailable: Mapping[str, str]
    request_defaults: Mapping[str, JSONValue] = {}
    option_defaults: Mapping[str, JSONValue] = {}
    output_channels: tuple[str, ...] = ()
    serving: tuple[ServingRequirement, ...] = ()
    optional_serving: tuple[ServingRequirement, ...] = ()
    checks: tuple[DeferredCheck, ...] = ()

    @property
    def required(self) -> tuple[str, ...]:
        return tuple(key for key, intent in self.intents.items() if intent.required)

    def call_context(self, engine_id: str) -> CallContext:
        """What a binder is told of every call under this plan, on a server of that engine."""
        return CallContext(
            dialect_id=self.dialect_id,
            wire_version=self.wire_version,
            model_id=self.model_id,
            profile=self.profile,
            engine_id=engine_id,
        )


class PlanDifference(Record, frozen=True):
    """A launch parameter on which the user's value stands and the plan would have had another."""

    parameter: str
    user: JSONValue
    plan: JSONValue
    reason: str


class DeploymentCapabilityPlan(Record, frozen=True):
    """What one server must do for all of its bindings.

    ``launch_patch`` is parameters to set and ``launch_drops`` parameters of the recipe to leave out, so that no flag
    and its opposite are ever both given.
    """

    root_key: str
    requirements: tuple[ServingRequirement, ...] = ()
    launch_patch: Mapping[str, JSONValue] = {}
    launch_drops: tuple[str, ...] = ()
    checks: tuple[DeferredCheck, ...] = ()
    differences: tuple[PlanDifference, ...] = ()

    @property
    def launch_bytes(self) -> bytes:
        """What is changed about the launch, canonical: equal bytes are the same launch."""
        return canonical_json({"set": self.launch_patch, "drop": self.launch_drops})


class RuntimeBindingPlan(Record, frozen=True):
    """Everything that a bound model goes by. ``request_checks`` run on every reply to which they apply."""

    binding: BindingCapabilityPlan
    engine_id: str
    engine_source: EngineSource
    available: tuple[str, ...]
    unavailable: Mapping[str, str]
    request_checks: tuple[DeferredCheck, ...]
    route: ResolvedRoute | None = None
    deployment_id: str | None = None
    deployment_fingerprint: str | None = None
    engine_version: str | None = None
    verification_fingerprint: str | None = None

    @property
    def fingerprint(self) -> str:
        return fingerprint(self)

    @property
    def binding_id(self) -> str:
        return self.binding.binding_id

    @property
    def dialect_id(self) -> str:
        return self.binding.dialect_id

    @property
    def wire_version(self) -> str:
        return self.binding.wire_version

    @property
    def model_id(self) -> str:
        return self.binding.model_id

    @property
    def minimums(self) -> Mapping[str, Mapping[str, JSONValue]]:
        """Capability → its floors, which a request may not go below."""
        return {key: intent.minimums for key, intent in self.binding.intents.items() if intent.minimums}

    @property
    def effective(self) -> dict[str, JSONValue]:
        """What came of each capability, for provenance."""
        return {
            key: {"required": key in self.binding.required, "minimums": dict(self.minimums.get(key, {}))}
            for key in self.available
        }


def lacks(key: str, reason: str) -> str:
    """Why a leaf of the capability ``key`` is refused, wherever that is said."""
    return f"the plan has no {key}: {reason}"


class ReconcileResult(Record, frozen=True):
    """All plans and all findings. Only bindings and deployments without an error have a plan."""

    bindings: Mapping[str, BindingCapabilityPlan]
    deployments: Mapping[str, DeploymentCapabilityPlan]
    runtime_plans: Mapping[str, RuntimeBindingPlan]
    diagnostics: tuple[Diagnostic, ...]

    @property
    def ok(self) -> bool:
        return not self.errors

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        return tuple(finding for finding in self.diagnostics if finding.severity == "error")

    def canonical(self) -> bytes:
        """The same for the same inputs, in whatever order they came."""
        return canonical_json(self)
