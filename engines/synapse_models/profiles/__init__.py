"""What is known of particular models, as data: which capabilities they have, which leaves they take, how they spell it.

``catalogue/*.yaml`` holds the facts that ship, each with its source and date; ``loading.py`` reads them and a user's
own file. A model is found by its exact name, each of which is listed, never by a part of a name; one that isn't
found has the empty profile, in which everything is unknown. Dialects and ``reconciliation.py`` read
:class:`ModelProfile`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from synapse_models.parts import JSONValue, Record

Support: TypeAlias = Literal["supported", "unsupported", "unknown"]


class Fact(Record, frozen=True, forbid_unknown_fields=True):
    """Something known, and how: ``source`` names where it is written, ``date`` (ISO) when it was read there."""

    value: JSONValue
    source: str
    date: str


class SupportFact(Record, frozen=True, forbid_unknown_fields=True):
    """Whether a model has a capability or takes a leaf. ``reason`` is for people."""

    support: Support
    source: str
    date: str
    reason: str | None = None
    limits: Mapping[str, tuple[str, ...]] = {}
    """Option → the only words that the model takes there (``effort: [low, high]``)."""
    maximum: int | None = None
    """The largest number that the model takes, for options that are numbers."""


UNKNOWN: Final = SupportFact(support="unknown", source="nothing is recorded", date="")
_NOT_LISTED: Final = SupportFact(
    support="unsupported",
    source="a profile that lists all capabilities",
    date="",
    reason="its profile lists all that it has, and not this",
)


class ModelProfile(Record, frozen=True):
    """What is known of one model on one dialect. Absent entries are unknown, or, for capabilities of an authoritative
    profile, not there.

    Attributes:
        model_id: the name that it was looked up by.
        origin: where the facts come from: ``catalogue``, ``user`` or ``none``.
        capabilities: capability → whether the model has it.
        leaves: request leaf → whether the model takes it.
        facts: how things are spelled for this model, by name: see :data:`FACTS`.
        authoritative: whether ``capabilities`` lists all that the model has.
        overridden: names of facts that a user's file replaced, as ``capabilities.reasoning``.
    """

    model_id: str
    origin: Literal["catalogue", "user", "none"] = "none"
    capabilities: Mapping[str, SupportFact] = {}
    leaves: Mapping[str, SupportFact] = {}
    facts: Mapping[str, Fact] = {}
    authoritative: bool = False
    overridden: tuple[str, ...] = ()

    def capability(self, key: str) -> SupportFact:
        return self.capabilities.get(key, _NOT_LISTED if self.authoritative else UNKNOWN)

    def leaf(self, path: str) -> SupportFact:
        return self.leaves.get(path, UNKNOWN)

    def fact(self, name: str) -> JSONValue | None:
        """The value of a fact of :data:`FACTS`, or None when it isn't known."""
        known = self.facts.get(name)
        return None if known is None else known.value


FACTS: Final[Mapping[str, tuple[str, ...]]] = {
    "max_tokens_key": ("max_tokens", "max_completion_tokens"),
    "reasoning_control": ("effort", "budget", "adaptive", "adaptive_or_budget", "level"),
}
"""The facts that dialects ask for, with the values that they can take (as text)."""
