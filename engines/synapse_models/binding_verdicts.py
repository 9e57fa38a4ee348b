"""What each side says of one capability of one binding: the declaration and the tasks (floors and defaults), the
dialect, the model. ``binding_plan.py`` asks and draws the conclusions. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from synapse_models.capabilities import CAPABILITY_SPECS, CapabilityConfig
from synapse_models.checks import MODEL_VERIFIERS
from synapse_models.diagnostics import Axis, AxisVerdict, Diagnostic, Mark
from synapse_models.dialect import DialectBinder, Supported
from synapse_models.parts import JSONValue
from synapse_models.plans import BindingReconcileInput, CapabilityIntent, DeferredCheck
from synapse_models.profiles import SupportFact
from synapse_models.requirements import Need

_NEED_OPTIONS: Final = {"top_logprobs": "minimum", "multimodal_input": "modalities"}
"""Capability → the option that carries a task's floor."""


class BindingWork:
    """One binding while it is worked out: its input, and the findings so far."""

    def __init__(self, wanted: BindingReconcileInput, binders: Mapping[str, DialectBinder]) -> None:
        self.wanted = wanted
        self.binders = binders
        self.findings: list[Diagnostic] = []
        self.checks: list[DeferredCheck] = []
        self.unavailable: dict[str, str] = {}
        self.available: list[str] = []
        self.intents: dict[str, CapabilityIntent] = {}

    def find(
        self,
        code: str,
        summary: str,
        *axes: AxisVerdict,
        key: str | None = None,
        remedy: str | None = None,
    ) -> None:
        """Note an error."""
        self.findings.append(
            Diagnostic(
                severity="error",
                code=code,
                model=self.wanted.binding_id,
                capability=key,
                summary=summary,
                axes=axes,
                remedy=remedy,
            )
        )


def says(axis: Axis, subject: str, verdict: str, mark: Mark) -> AxisVerdict:
    return AxisVerdict(axis=axis, subject=subject, verdict=verdict, mark=mark)


def wishes(
    work: BindingWork, key: str, config: CapabilityConfig, need: Need | None, from_args: tuple[str, ...]
) -> tuple[dict[str, JSONValue], dict[str, JSONValue]]:
    """The floors and the request defaults of one capability, with an error where one undercuts the other."""
    spec = CAPABILITY_SPECS[key]
    minimums: dict[str, JSONValue] = {}
    for option in spec.minimums:
        said = getattr(config, option)
        if said not in (None, ()):
            minimums[option] = list(said) if isinstance(said, tuple) else said
    floored = _NEED_OPTIONS.get(key)
    if need is not None and floored is not None:
        floor: JSONValue = need.minimum if floored == "minimum" else list(need.modalities)
        said = minimums.get(floored)
        weaker = said is not None and (said < floor if floored == "minimum" else not set(floor) <= set(said))
        if weaker:
            work.find(
                "option_below_task",
                f"is declared with {floored} {_shown(said)}, and tasks need {_shown(floor)}",
                says("declaration", f"{key}.{floored}", _shown(said), "fail"),
                says("task", ", ".join(need.sources), f"needs {_shown(floor)}", "ok"),
                key=key,
                remedy=f"declare {floored} {_shown(floor)}, or leave the option out",
            )
        elif said is None:
            minimums[floored] = floor
    if key == "top_logprobs" and "scoring.top_logprobs" in from_args:
        asked = work.wanted.args["scoring.top_logprobs"]
        least = minimums.get("minimum", 0)
        if asked < least:
            work.find(
                "default_below_minimum",
                f"has a default of {asked} in args, and {least} are the least",
                says("declaration", "args.scoring.top_logprobs", str(asked), "fail"),
                key=key,
                remedy=f"set scoring.top_logprobs to {least} or more",
            )
    defaults = {
        leaf: getattr(config, option) for option, leaf in spec.defaults.items() if getattr(config, option) is not None
    }
    return minimums, defaults


def with_floors(config: CapabilityConfig, minimums: Mapping[str, JSONValue]) -> CapabilityConfig:
    if not minimums:
        return config
    merged: CapabilityConfig = msgspec.convert({**msgspec.to_builtins(config), **minimums}, type=type(config))
    return merged


def dialect_verdict(work: BindingWork, binder: DialectBinder, key: str, config: CapabilityConfig) -> AxisVerdict:
    dialect_id = work.wanted.dialect_id
    outcome = binder.capabilities[key]
    if not isinstance(outcome, Supported):
        return says("dialect", dialect_id, outcome.reason, "fail")
    refusal = outcome.refusal(config)
    if refusal is not None:
        return says("dialect", dialect_id, refusal, "fail")
    leaves = CAPABILITY_SPECS[key].leaves
    return says("dialect", dialect_id, f"can express it ({leaves[0]})", "ok")


def model_verdict(
    work: BindingWork,
    key: str,
    support: SupportFact,
    minimums: Mapping[str, JSONValue],
    defaults: Mapping[str, JSONValue],
) -> AxisVerdict:
    subject = work.wanted.model_id
    if support.support == "unsupported":
        return says("model", subject, support.reason or "doesn't have it", "fail")
    if support.support == "unknown":
        if key in MODEL_VERIFIERS:
            return says("model", subject, "isn't known to have it; replies are checked", "unknown")
        return says("model", subject, "isn't known to have it, and no reply could show it", "fail")
    asked = {**minimums, **{leaf.rpartition(".")[2]: value for leaf, value in defaults.items()}}
    for option, words in support.limits.items():
        said = asked.get(option)
        for word in said if isinstance(said, list) else () if said is None else (said,):
            if word not in words:
                return says("model", subject, f"{option}: takes {', '.join(words)}, not {word}", "fail")
    for option in ("minimum", "budget_tokens"):
        number = asked.get(option)
        if support.maximum is not None and number is not None and number > support.maximum:
            return says("model", subject, f"{option}: at most {support.maximum}, not {number}", "fail")
    return says("model", subject, f"has it ({support.source})", "ok")


def remedy_for(work: BindingWork, key: str, dialect: AxisVerdict, model: AxisVerdict, need: Need | None) -> str:
    ways = []
    if dialect.mark == "fail":
        able = sorted(
            name
            for name, other in work.binders.items()
            if isinstance(other.capabilities[key], Supported) and name != work.wanted.dialect_id
        )
        if able and not isinstance(work.binders[work.wanted.dialect_id].capabilities[key], Supported):
            ways.append(f"use the dialect {' or '.join(able)}")
        else:
            ways.append("change the option")
    elif work.wanted.profile.capability(key).support == "unknown":
        ways.append(f"say 'capabilities: {{{key}: supported}}' in a profile of your own")
    else:
        ways.append("use another model")
    ways.append(f"run {', '.join(need.sources)} with another model" if need is not None else f"remove '{key}'")
    return ", or ".join(ways)


def _shown(value: JSONValue) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
