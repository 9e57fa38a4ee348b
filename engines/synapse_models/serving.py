"""What the capabilities need of a server, as typed requirements, and what became of each one.

``reconciliation.py`` derives the requirements from what is asked, ``engine_facts.py`` holds each engine's constraints
and answers with verdicts. Pure records, and the reading of engine versions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Literal, TypeAlias

from synapse_models.deployment import ServingFacts
from synapse_models.parts import JSONValue, Record

RequirementName = Literal[
    "complete_input_scores", "top_logprobs_breadth", "reasoning_parser", "tool_call_parser", "tokenizer", "suffix"
]
Stage = Literal["setup", "request"]
ConstraintKind = Literal["correctness", "performance"]


class ServingRequirement(Record, frozen=True):
    """Something that a server must do for a capability. ``minimum`` is a floor for requirements that have one."""

    name: RequirementName
    capability: str
    sources: tuple[str, ...]
    minimum: int | None = None


def combine(requirements: Iterable[ServingRequirement]) -> tuple[ServingRequirement, ...]:
    """One requirement for each (name, capability): the larger floor, all sources, sorted."""
    found: dict[tuple[str, str], ServingRequirement] = {}
    for one in requirements:
        known = found.get((one.name, one.capability))
        if known is not None:
            floors = [floor for floor in (known.minimum, one.minimum) if floor is not None]
            one = ServingRequirement(
                name=one.name,
                capability=one.capability,
                sources=tuple(sorted({*known.sources, *one.sources})),
                minimum=max(floors, default=None),
            )
        found[(one.name, one.capability)] = one
    return tuple(found[key] for key in sorted(found))


class VersionRange(Record, frozen=True):
    """Engine versions from ``since`` (included) to ``before`` (excluded). None is open."""

    since: str | None = None
    before: str | None = None

    def contains(self, version: str) -> bool | None:
        """Whether ``version`` is inside; None when it can't be read as a version."""
        read = parse_version(version)
        if read is None:
            return None
        if self.since is not None and read < _bound(self.since):
            return False
        return self.before is None or read < _bound(self.before)

    def __str__(self) -> str:
        if self.since is None and self.before is None:
            return "every version"
        return " ".join(
            word for word in (self.since and f"from {self.since}", self.before and f"before {self.before}") if word
        )


Version: TypeAlias = tuple[tuple[int, ...], int]

_VERSION = re.compile(r"[vb]?(\d+(?:\.\d+)*)((?:\.?(?:dev|rc|a|b|post)\d*)?)(?:[-+].*)?")


def parse_version(text: str) -> Version | None:
    """``0.9.2``, ``v0.10.1.dev84+g9c1d5b4`` or ``b11434-abc`` as something that compares; None for anything else.

    Development and candidate versions come before the release that they lead to.
    """
    read = _VERSION.fullmatch(text.strip())
    if read is None:
        return None
    numbers = tuple(int(part) for part in read[1].split("."))
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers = numbers[:-1]
    suffix = read[2].lstrip(".")
    return numbers, 1 if suffix.startswith("post") else 0 if not suffix else -1


def _bound(text: str) -> Version:
    read = parse_version(text)
    if read is None:
        raise ValueError(f"{text!r} isn't a version")
    return read


class LaunchView(Record, frozen=True):
    """What is known of how a server is, or will be, started.

    Attributes:
        engine_id: which engine.
        managed: whether we start it, so that a parameter can still be added.
        facts: what was observed; empty before it runs.
        recipe: parameters from the recipe, which a remedy of correctness may replace.
        explicit: parameters that the user wrote, which nothing replaces.
    """

    engine_id: str
    managed: bool
    facts: ServingFacts = ServingFacts()
    recipe: Mapping[str, JSONValue] = {}
    explicit: Mapping[str, JSONValue] = {}


class Satisfied(Record, frozen=True):
    """The requirement is met, and ``by`` says by what."""

    by: str


class Patched(Record, frozen=True):
    """The requirement is met once these launch parameters are set."""

    params: Mapping[str, JSONValue]
    reason: str
    replaces: tuple[str, ...] = ()


class Unresolved(Record, frozen=True):
    """Nobody knows yet. ``verifier`` names who can find out, at ``stage``; ``evidence`` is what would settle it."""

    stage: Stage
    verifier: str
    reason: str
    evidence: str


class Conflict(Record, frozen=True):
    """It can't be met as things are. ``remedy`` is the one thing to do about it."""

    reason: str
    remedy: str


class UserChoice(Record, frozen=True):
    """A matter of speed, on which the user's own value stands. ``plan`` is what the plan would have set."""

    parameter: str
    value: JSONValue
    plan: JSONValue
    reason: str


Verdict: TypeAlias = Satisfied | Patched | Unresolved | Conflict | UserChoice
