"""Decisions on leaves that come out the same way on every dialect: what a model's profile refuses, dialect options."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from synapse_models.audit import LeafDecision, passed_through, rejected
from synapse_models.capabilities import leaf_owner
from synapse_models.dialect import CallContext
from synapse_models.leaves import OPTION_PREFIX
from synapse_models.profiles import SupportFact
from synapse_models.request import Request


def refused_by_profile(leaf: str, value: Any, context: CallContext) -> LeafDecision | None:
    """The rejection that the model's profile demands, None when it has nothing against the value.

    Unknown is not unsupported: whether a capability may be used unproved is the plan's business.
    """
    owner = leaf_owner(leaf)
    facts = [(leaf, context.profile.leaf(leaf))]
    if owner is not None:
        facts.append((owner, context.profile.capability(owner)))
    for name, fact in facts:
        if (reason := _refusal(leaf, value, fact)) is not None:
            return rejected(
                f"the profile of {context.model_id} says of {name}: {reason}; leave it out, or correct the profile"
            )
    return None


def _refusal(leaf: str, value: Any, fact: SupportFact) -> str | None:
    if fact.support == "unsupported":
        return fact.reason or "the model doesn't take it"
    words = fact.limits.get(leaf.rpartition(".")[2])
    if words is not None and isinstance(value, str) and value not in words:
        return f"only {', '.join(words)}"
    if fact.maximum is not None and isinstance(value, int | float) and value > fact.maximum:
        return f"at most {fact.maximum}"
    return None


def decide_option(
    leaf: str,
    request: Request,
    context: CallContext,
    reserved: frozenset[str],
    headers: Mapping[str, str] = MappingProxyType({}),
) -> LeafDecision:
    """The decision on one dialect option: into the body under its own name, unless it isn't this dialect's to say.

    ``headers`` are the options that travel as a header instead, with its name.
    """
    key = leaf.removeprefix(OPTION_PREFIX)
    options = request.dialect_options
    if options is not None and options.dialect_id != context.dialect_id:
        return rejected(f"it is tagged for {options.dialect_id}, and the model is bound to {context.dialect_id}")
    if not key:
        return rejected("an option has a name")
    if key in reserved:
        return rejected("a field of the request or the binding owns this key; say it there")
    if options is not None and key in headers:
        value = options.values[key]
        if not (isinstance(value, str) and value and value.isascii() and value.isprintable()):
            return rejected(f"it travels as the header {headers[key]}, which holds visible ASCII text")
        return passed_through(f"@header:{headers[key]}")
    return passed_through("/" + key.replace("~", "~0").replace("/", "~1"))
