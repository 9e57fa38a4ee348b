"""The first half of reconciliation: one binding, its capabilities joined over declaration, tasks, dialect and model.

Pure. ``reconciliation.py`` calls :func:`reconcile_binding` for each model of a batch; nothing here knows of servers
beyond naming what one would have to do. Which value wins over which:

==========================================================  =========================================================
a task needs what the declaration switches off              error, naming the tasks
a declared option, and what dialect or model would do       the option, if they can
a declared option below what a task needs                   error; it is never raised in silence
an option that is also among the request defaults           error; neither is preferred
a request default of a capability that is switched off      error
==========================================================  =========================================================
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from synapse_models import registry
from synapse_models.binding_verdicts import (
    BindingWork,
    dialect_verdict,
    model_verdict,
    remedy_for,
    says,
    wishes,
    with_floors,
)
from synapse_models.capabilities import CAPABILITY_SPECS, CapabilityConfig, canonical_declaration, leaf_owner
from synapse_models.checks import MODEL_VERIFIERS
from synapse_models.diagnostics import AxisVerdict, Diagnostic
from synapse_models.dialect import DialectBinder, DialectSpec
from synapse_models.parts import JSONValue
from synapse_models.plans import BindingCapabilityPlan, BindingReconcileInput, CapabilityIntent, DeferredCheck
from synapse_models.requirements import Need
from synapse_models.serving import RequirementName, ServingRequirement

_SERVING: Final[Mapping[str, tuple[RequirementName, ...]]] = {
    "input_scoring": ("complete_input_scores", "tokenizer"),
    "sampled_logprobs": ("tokenizer",),
    "top_logprobs": ("top_logprobs_breadth",),
    "reasoning": ("reasoning_parser",),
    "function_tools": ("tool_call_parser",),
    "fim": ("suffix",),
}
"""Capability → what a server must do for it."""


def reconcile_binding(
    wanted: BindingReconcileInput, binders: Mapping[str, DialectBinder] = registry.DIALECT_BINDERS
) -> tuple[BindingCapabilityPlan | None, tuple[Diagnostic, ...]]:
    """The plan of one binding and everything there is to say about it; no plan when something is an error."""
    work = BindingWork(wanted, binders)
    spec = registry.spec(wanted.dialect_id, binders)
    if spec is None:
        known = ", ".join(sorted({*registry.DIALECT_SPECS, *binders}))
        work.find(
            "unknown_dialect",
            "has a dialect that nobody knows",
            says("dialect", wanted.dialect_id, "isn't known", "fail"),
            remedy=f"name one of {known}",
        )
        return None, tuple(work.findings)
    binder = binders.get(wanted.dialect_id)
    if binder is None:
        work.find(
            "dialect_not_implemented",
            "has a dialect that can't be executed yet",
            says("dialect", wanted.dialect_id, "is reserved", "fail"),
            remedy=f"use one of {', '.join(sorted(binders)) or 'none yet'}",
        )
        return None, tuple(work.findings)
    wire_version = _wire_version(work, spec)
    _check_inputs(work, spec)
    active = registry.active_keys(binders)
    for key in CAPABILITY_SPECS:
        _reconcile_capability(work, binder, key, active)
    _check_defaults(work)
    if work.findings:
        return None, tuple(work.findings)
    return _plan(work, binder, wire_version), tuple(work.findings)


def _wire_version(work: BindingWork, spec: DialectSpec) -> str:
    version = work.wanted.wire_version
    if version is None:
        return spec.default_wire_version
    if version not in spec.wire_versions:
        work.find(
            "unknown_wire_version",
            "has a wire version that its dialect doesn't know",
            says("dialect", spec.id, f"knows {', '.join(spec.wire_versions)}, not {version}", "fail"),
            remedy=f"use {spec.default_wire_version}",
        )
    return version


def _check_inputs(work: BindingWork, spec: DialectSpec) -> None:
    for kind, tasks in work.wanted.requirements.inputs.items():
        if kind not in spec.inputs:
            work.find(
                "input_not_expressible",
                f"is needed for {kind} input",
                says("task", ", ".join(tasks), f"sends {kind} input", "ok"),
                says("dialect", spec.id, f"takes {' and '.join(spec.inputs)} input only", "fail"),
                remedy="use another dialect for these tasks",
            )


def _reconcile_capability(work: BindingWork, binder: DialectBinder, key: str, active: frozenset[str]) -> None:
    wanted = work.wanted
    declared = wanted.declared.get(key)
    need = wanted.requirements.needs.get(key)
    from_args = tuple(path for path in wanted.args if leaf_owner(path) == key)
    mandatory = key in wanted.mandatory
    if declared is False:
        _check_disabled(work, key, need, from_args, mandatory)
        work.unavailable[key] = "it is switched off in the declaration"
        return
    required = declared is not None or need is not None or mandatory or bool(from_args)
    axes = _requirement_axes(work, key, declared, need, from_args, mandatory)
    if required and key not in active:
        work.find(
            "capability_reserved",
            "can't be enabled",
            *axes,
            says("dialect", wanted.dialect_id, "no dialect of this release has it", "fail"),
            key=key,
            remedy=f"remove '{key}'",
        )
        return
    config = declared or CAPABILITY_SPECS[key].config()
    minimums, defaults = wishes(work, key, config, need, from_args)
    intent = CapabilityIntent(
        key=key,
        required=required,
        minimums=minimums,
        request_defaults=defaults,
        sources=_sources(declared, need, from_args, mandatory),
    )
    _check_ambiguity(work, key, config, from_args)
    dialect = dialect_verdict(work, binder, key, with_floors(config, minimums))
    support = wanted.profile.capability(key)
    model = model_verdict(work, key, support, minimums, defaults)
    if dialect.mark != "fail" and model.mark != "fail":
        work.available.append(key)
        if required:
            work.intents[key] = intent
        if support.support == "unknown":
            work.checks.append(
                DeferredCheck(
                    capability=key,
                    stage="request",
                    verifier=MODEL_VERIFIERS[key],
                    reason=f"nothing is recorded of {wanted.model_id}",
                    evidence="every reply is checked",
                )
            )
        return
    failing = dialect if dialect.mark == "fail" else model
    work.unavailable[key] = f"{failing.subject}: {failing.verdict}"
    if required:
        work.find(
            "capability_unavailable",
            "can't be enabled",
            *axes,
            dialect,
            model,
            key=key,
            remedy=remedy_for(work, key, dialect, model, need),
        )


def _check_disabled(
    work: BindingWork, key: str, need: Need | None, from_args: tuple[str, ...], mandatory: bool
) -> None:
    said = says("declaration", f"{key}: false", "switches it off", "fail")
    if need is not None:
        work.find(
            "task_needs_disabled",
            "is switched off and needed",
            says("task", ", ".join(need.sources), "needs it", "ok"),
            said,
            key=key,
            remedy=f"remove '{key}: false', or run these tasks with another model",
        )
    if mandatory:
        work.find(
            "mandatory_disabled",
            "is switched off, and the model can't be used without it",
            says("model", work.wanted.model_id, "is never without it", "fail"),
            said,
            key=key,
            remedy=f"remove '{key}: false'",
        )
    for path in from_args:
        work.find(
            "default_of_disabled",
            f"is switched off, and args set {path}",
            said,
            key=key,
            remedy=f"remove {path} from args, or '{key}: false'",
        )


def _requirement_axes(
    work: BindingWork, key: str, declared: object, need: Need | None, from_args: tuple[str, ...], mandatory: bool
) -> tuple[AxisVerdict, ...]:
    found = []
    if declared is not None:
        found.append(says("declaration", key, "asks for it", "ok"))
    if from_args:
        found.append(says("declaration", "args", f"set {', '.join(from_args)}", "ok"))
    if need is not None:
        found.append(says("task", ", ".join(need.sources), "needs it", "ok"))
    if mandatory:
        found.append(says("model", work.wanted.model_id, "is never without it", "ok"))
    return tuple(found)


def _sources(declared: object, need: Need | None, from_args: tuple[str, ...], mandatory: bool) -> tuple[str, ...]:
    found = [] if declared is None else ["declaration"]
    found += [f"args.{path}" for path in sorted(from_args)]
    found += [] if need is None else [f"task:{name}" for name in need.sources]
    return (*found, "model") if mandatory else tuple(found)


def _check_ambiguity(work: BindingWork, key: str, config: CapabilityConfig, from_args: tuple[str, ...]) -> None:
    """An option and a request default for the same thing: neither is preferred."""
    options = CAPABILITY_SPECS[key].defaults
    said = {option for option in options if getattr(config, option) is not None}
    for option, leaf in options.items():
        rival = {"effort": "budget_tokens", "budget_tokens": "effort"}.get(option)
        if leaf in from_args and (option in said or rival in said):
            named = option if option in said else rival
            work.find(
                "said_twice",
                f"is given {named} as an option and {leaf} in args",
                says("declaration", f"{key}.{named}", "is one opinion", "fail"),
                says("declaration", f"args.{leaf}", "is another", "fail"),
                key=key,
                remedy="keep one of the two",
            )


def _check_defaults(work: BindingWork) -> None:
    """Request defaults that the model is known not to take."""
    every: dict[str, JSONValue] = dict(work.wanted.args)
    for path in sorted(every):
        fact = work.wanted.profile.leaf(path)
        if fact.support == "unsupported":
            work.find(
                "default_not_taken",
                f"has {path} among its request defaults",
                says("model", work.wanted.model_id, fact.reason or f"doesn't take {path}", "fail"),
                remedy=f"remove {path} from args",
            )


def _plan(work: BindingWork, binder: DialectBinder, wire_version: str) -> BindingCapabilityPlan:
    wanted = work.wanted
    spec = binder.spec
    required = [key for key, intent in work.intents.items() if intent.required]
    defaults: dict[str, JSONValue] = dict(wanted.args)
    for intent in work.intents.values():
        defaults.update(intent.request_defaults)
    channels = {channel for key in required for channel in CAPABILITY_SPECS[key].channels}
    return BindingCapabilityPlan(
        binding_id=wanted.binding_id,
        root_key=wanted.root_key,
        dialect_id=spec.id,
        wire_version=wire_version,
        model_id=wanted.model_id,
        connection_family=spec.connection_family,
        auth=binder.auth,
        profile=wanted.profile,
        declared=canonical_declaration(wanted.declared),
        intents=work.intents,
        available=tuple(work.available),
        unavailable=work.unavailable,
        request_defaults=dict(sorted(defaults.items())),
        option_defaults=dict(sorted(wanted.options.items())),
        output_channels=tuple(sorted(channels)),
        serving=_needs(work, required, required=True),
        optional_serving=_needs(work, (key for key in work.available if key not in required), required=False),
        checks=tuple(work.checks),
    )


def _needs(work: BindingWork, keys: Iterable[str], *, required: bool) -> tuple[ServingRequirement, ...]:
    found = []
    for key in keys:
        intent = work.intents.get(key)
        # What a default asks for must be possible; it is no floor, since a request may ask for less.
        floor: Any = None if intent is None else intent.minimums.get("minimum")
        if key == "top_logprobs":
            floor = max(floor or 0, work.wanted.args.get("scoring.top_logprobs", 0)) or None
        for name in _SERVING.get(key, ()):
            found.append(
                ServingRequirement(
                    name=name,
                    capability=key,
                    sources=(work.wanted.binding_id,) if required else (),
                    minimum=floor if name == "top_logprobs_breadth" else None,
                )
            )
    return tuple(found)
