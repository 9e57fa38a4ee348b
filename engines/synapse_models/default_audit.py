"""The leaf audit, before any call: request defaults are held against the dialect as soon as the server is known.

A default that the dialect would refuse on every call is an error of the plan. Pure; ``reconciliation.py`` calls
:func:`audit_defaults` for each binding that has a plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import structs

from synapse_models.diagnostics import AxisVerdict, Diagnostic
from synapse_models.dialect import DialectBinder
from synapse_models.leaves import OPTION_PREFIX, active_leaves, leaf_type
from synapse_models.parts import JSONValue
from synapse_models.plans import BindingCapabilityPlan
from synapse_models.request import CompletionInput, DialectOptions, FunctionTool, Request, chat


def audit_defaults(plan: BindingCapabilityPlan, engine_id: str, binder: DialectBinder) -> tuple[Diagnostic, ...]:
    """An error for each default of ``plan`` that can't be sent."""
    if not plan.request_defaults and not plan.option_defaults:
        return ()
    try:
        request = _request_of(plan, binder)
    except ValueError as error:
        return (_finding(plan, "its request defaults", str(error)),)
    context = plan.call_context(engine_id)
    found = []
    for path, value in active_leaves(request).items():
        if path in plan.request_defaults or path.startswith(OPTION_PREFIX):
            decision = binder.decide(path, value, request, context)
            if decision.kind == "rejected":
                found.append(_finding(plan, path, decision.reason or "can't be said"))
    return tuple(found)


def _request_of(plan: BindingCapabilityPlan, binder: DialectBinder) -> Request:
    """A request that says nothing but the defaults. Raises ValueError when they don't go together.

    A default that says how something is done is for requests that do it, so it is held against one that does.
    """
    groups: dict[str, dict[str, Any]] = {}
    for path, value in plan.request_defaults.items():
        group, _, name = path.partition(".")
        groups.setdefault(group, {})[name] = msgspec.convert(value, type=leaf_type(path))
    if "tools" in groups:
        groups["tools"].setdefault("functions", (FunctionTool(name="any"),))
    if "top_logprobs" in groups.get("scoring", {}):
        groups["scoring"].setdefault("sampled_logprobs", True)
    if groups.get("structured_output", {}).keys() & {"schema", "name", "strict"}:
        groups["structured_output"].setdefault("format", "json_schema")
        groups["structured_output"].setdefault("schema", {})
    source = chat(("user", "")) if "chat" in binder.spec.inputs else CompletionInput(text="")
    request = Request(input=source, dialect_options=_options(plan.dialect_id, plan.option_defaults))
    filled = {group: structs.replace(getattr(request, group), **values) for group, values in groups.items()}
    return structs.replace(request, **filled)


def _options(dialect_id: str, options: Mapping[str, JSONValue]) -> DialectOptions | None:
    return DialectOptions(dialect_id=dialect_id, values=options) if options else None


def _finding(plan: BindingCapabilityPlan, what: str, reason: str) -> Diagnostic:
    return Diagnostic(
        severity="error",
        code="default_rejected",
        model=plan.binding_id,
        summary=f"has a default that can't be sent: {what}",
        axes=(AxisVerdict(axis="dialect", subject=plan.dialect_id, verdict=reason, mark="fail"),),
        remedy="remove it from args, or use another dialect",
    )
