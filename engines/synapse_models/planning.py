"""From a file's declarations to a reconciled batch: what `synapse plan` and any other entry point have in common.

Pure, as long as its arguments are: profiles and declarations come in as records. A declared server is one that
somebody else runs; who launches servers makes the deployments of a batch himself.
"""

from __future__ import annotations

from collections.abc import Mapping

from synapse_models import registry
from synapse_models.declaration import Declarations, ModelDeclaration
from synapse_models.deployment import Deployment, RouteIntent, ServingFacts
from synapse_models.dialect import DialectBinder
from synapse_models.engine_facts import UNKNOWN_ENGINE
from synapse_models.leaf_view import LeafView, leaf_views
from synapse_models.parts import JSONValue
from synapse_models.plans import BindingReconcileInput, DeploymentReconcileInput, ReconcileResult
from synapse_models.profiles.loading import Catalogue
from synapse_models.reconciliation import ReconcileBatch, reconcile
from synapse_models.requirements import aggregate
from synapse_models.response import EngineSource


def binding_input(model: ModelDeclaration, catalogue: Catalogue) -> BindingReconcileInput:
    """What one declared model wants. Its profile is looked up by ``profile``, or else by the model's own name."""
    return BindingReconcileInput(
        binding_id=model.name,
        root_key=model.root,
        dialect_id=model.dialect,
        model_id=model.model,
        profile=catalogue.find(model.dialect, model.profile or model.model),
        wire_version=model.wire_version,
        route=RouteIntent(service_role=model.route),
        declared=model.capabilities,
        args=model.args,
        options=model.options,
        requirements=aggregate(model.requires),
    )


def external_deployment(model: ModelDeclaration, facts: ServingFacts | None = None) -> DeploymentReconcileInput:
    """The server of a declared root model, run by somebody else. ``facts`` is what was observed of it, if anything."""
    engine = model.engine
    declared = ServingFacts(engine_version=None if engine is None else engine.version)
    source: EngineSource = "unknown" if engine is None else "config"
    engine_id = UNKNOWN_ENGINE if engine is None else engine.id
    return DeploymentReconcileInput(
        root_key=model.name,
        engine_id=engine_id,
        engine_source=source,
        deployment=Deployment(
            engine_id=engine_id, engine_source=source, api_base=model.api_base, facts=facts or declared
        ),
        facts=facts,
        planned_facts=declared,
        explicit={} if engine is None else engine.params,
    )


def plan(
    declarations: Declarations,
    catalogue: Catalogue,
    facts: Mapping[str, ServingFacts] | None = None,
    binders: Mapping[str, DialectBinder] = registry.DIALECT_BINDERS,
) -> ReconcileResult:
    """Reconcile everything that a file declares; ``facts`` by root model, where servers were asked."""
    observed = facts or {}
    models = declarations.models.values()
    batch = ReconcileBatch(
        bindings=tuple(binding_input(model, catalogue) for model in models),
        deployments=tuple(
            external_deployment(model, observed.get(model.name)) for model in models if model.root == model.name
        ),
    )
    return reconcile(batch, binders=binders)


def leaves(
    declarations: Declarations,
    result: ReconcileResult,
    binders: Mapping[str, DialectBinder] = registry.DIALECT_BINDERS,
) -> dict[str, tuple[LeafView, ...]]:
    """Model → what would become of each leaf of a request to it, for the models that have a plan."""
    found = {}
    for name, model in declarations.models.items():
        binding = result.bindings.get(name)
        if binding is not None:
            final = result.runtime_plans.get(name)
            found[name] = leaf_views(
                binding,
                binding.unavailable if final is None else final.unavailable,
                UNKNOWN_ENGINE if model.engine is None else model.engine.id,
                binders[model.dialect],
            )
    return found


def profile_notes(declarations: Declarations, catalogue: Catalogue) -> dict[str, JSONValue]:
    """Model → where its profile comes from and what of it a user's file replaced."""
    found: dict[str, JSONValue] = {}
    for model in declarations.models.values():
        profile = catalogue.find(model.dialect, model.profile or model.model)
        found[model.name] = {"origin": profile.origin, "overridden": list(profile.overridden)}
    return found
