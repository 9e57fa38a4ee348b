"""The dialects: seven descriptions, and the binders of those that can be executed.

A new dialect is one package under ``dialects/`` and one line in :data:`DIALECT_BINDERS`. What is active follows from
that table and is written down nowhere else: :func:`status`, :func:`active_keys`, :func:`outcome`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from synapse_models.capabilities import CAPABILITY_SPECS
from synapse_models.dialect import CapabilityOutcome, DialectBinder, DialectSpec, Supported
from synapse_models.dialects import openai_chat, openai_completions
from synapse_models.errors import DialectNotImplemented
from synapse_models.specs import DIALECT_SPECS as DIALECT_SPECS

DIALECT_BINDERS: Final[Mapping[str, DialectBinder]] = {
    "openai_chat": openai_chat.BINDER,
    "openai_completions": openai_completions.BINDER,
}
"""Dialect → its binder. The one line that a new dialect adds."""

Status = Literal["active", "reserved"]
Outcome = Literal["supported", "unsupported", "reserved"]


def spec(dialect_id: str, binders: Mapping[str, DialectBinder] = DIALECT_BINDERS) -> DialectSpec | None:
    """The description of a dialect, or None for a name that nobody knows."""
    return binders[dialect_id].spec if dialect_id in binders else DIALECT_SPECS.get(dialect_id)


def status(dialect_id: str, binders: Mapping[str, DialectBinder] = DIALECT_BINDERS) -> Status:
    """``active`` once the dialect has a binder."""
    return "active" if dialect_id in binders else "reserved"


def active_keys(binders: Mapping[str, DialectBinder] = DIALECT_BINDERS) -> frozenset[str]:
    """The capabilities that at least one executable dialect can say. Declaring any other is an error."""
    return frozenset(
        key
        for key in CAPABILITY_SPECS
        if any(isinstance(binder.capabilities[key], Supported) for binder in binders.values())
    )


def outcome(dialect_id: str, key: str, binders: Mapping[str, DialectBinder] = DIALECT_BINDERS) -> Outcome:
    """What declaring ``key`` on ``dialect_id`` comes to, by the dialect alone."""
    found = decided(dialect_id, key, binders)
    if found is None:
        return "reserved"
    return "supported" if isinstance(found, Supported) else "unsupported"


def decided(
    dialect_id: str, key: str, binders: Mapping[str, DialectBinder] = DIALECT_BINDERS
) -> CapabilityOutcome | None:
    """The executable dialect's word on ``key``, or None when the dialect isn't executable."""
    binder = binders.get(dialect_id)
    return None if binder is None else binder.capabilities[key]


def binder(dialect_id: str, binders: Mapping[str, DialectBinder] = DIALECT_BINDERS) -> DialectBinder:
    """The binder of ``dialect_id``.

    Raises:
        DialectNotImplemented: the dialect is known and has no binder, or isn't known.
    """
    found = binders.get(dialect_id)
    if found is None:
        known = "is known, but can't be executed yet" if dialect_id in DIALECT_SPECS else "doesn't exist"
        runnable = ", ".join(sorted(binders)) or "none"
        raise DialectNotImplemented(f"the dialect {dialect_id!r} {known}; executable: {runnable}")
    return found
