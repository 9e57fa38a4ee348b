"""The kinds of serving constraint, each a small typed handler that answers one requirement with one verdict.

Every handler has a range of engine versions in which its mechanism exists. Outside of it the requirement is met; at an
unknown version it is never taken as met. ``engine_facts.py`` holds the constraints themselves. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, Protocol

from synapse_models.parts import JSONValue, Record
from synapse_models.serving import (
    Conflict,
    ConstraintKind,
    LaunchView,
    Patched,
    RequirementName,
    Satisfied,
    ServingRequirement,
    Stage,
    Unresolved,
    UserChoice,
    Verdict,
    VersionRange,
)

VERIFIERS: Final[Mapping[RequirementName, str]] = {
    "complete_input_scores": "response.input_scores_complete",
    "top_logprobs_breadth": "response.top_logprobs_breadth",
    "reasoning_parser": "response.reasoning_present",
    "tool_call_parser": "response.tool_calls_present",
    "tokenizer": "response.token_text_present",
}
"""Requirement → the check of each reply that stands in for a check of the server, by name. A server that ignores a
suffix answers as any other, so no reply can stand in there."""

PROBE: Final = "Engine.verify_deployment"
"""The verifier of checks that only the server itself can answer."""


class Constraint(Protocol):
    """One mechanism of one engine.

    ``id`` is stable, ``source`` says where the mechanism is documented, ``kind`` whether ignoring it gives wrong
    answers or slow ones.
    """

    @property
    def id(self) -> str: ...

    @property
    def requirement(self) -> RequirementName: ...

    @property
    def kind(self) -> ConstraintKind: ...

    @property
    def versions(self) -> VersionRange: ...

    @property
    def source(self) -> str: ...

    def judge(self, need: ServingRequirement, launch: LaunchView) -> Verdict: ...


def residual(need: ServingRequirement, why: str) -> Unresolved:
    """The requirement is checked on every reply instead."""
    return Unresolved(
        stage="request",
        verifier=VERIFIERS[need.name],
        reason=why,
        evidence="every reply is checked",
    )


class _Constraint(Record, frozen=True, kw_only=True):
    id: str
    requirement: RequirementName
    versions: VersionRange
    source: str
    kind: ConstraintKind = "correctness"

    def _affected(self, launch: LaunchView) -> bool | None:
        """Whether the server's version has the mechanism; None when its version isn't known."""
        version = launch.facts.engine_version
        return None if version is None else self.versions.contains(version)

    def _unaffected(self, launch: LaunchView) -> Satisfied:
        return Satisfied(by=f"{launch.engine_id} {launch.facts.engine_version} (the mechanism: {self.versions})")


class FlagConstraint(_Constraint, frozen=True, kw_only=True):
    """A launch flag must be at ``wanted``.

    Attributes:
        parameter: the flag as launch parameters spell it.
        negation: a second spelling with the opposite meaning, if the engine has one.
        wanted, default: what it must be, and what the engine does without it.
        fact, fact_value: the observation that proves it, and its value then.
        stage: who settles it on a server that we don't start.
        why: what goes wrong otherwise, as a clause.
    """

    parameter: str
    wanted: bool
    default: bool
    fact: Literal["prefix_cache_enabled", "tokenizer_available"]
    fact_value: bool
    stage: Stage
    why: str
    negation: str | None = None

    def judge(self, need: ServingRequirement, launch: LaunchView) -> Verdict:
        explicit = self._set_to(launch.explicit)
        affected = self._affected(launch)
        if affected is False:
            return self._unaffected(launch)
        observed = getattr(launch.facts, self.fact)
        if observed is self.fact_value:
            return Satisfied(by=f"observed: {self.fact} is {self.fact_value}")
        if explicit is not None and explicit is not self.wanted:
            return Conflict(
                reason=f"{self.parameter} is set to {explicit}, and then {self.why}",
                remedy=f"set {self.parameter} to {self.wanted}, or take {need.capability} out",
            )
        if observed is not None and affected:
            return Conflict(
                reason=f"observed: {self.fact} is {observed}, and then {self.why}",
                remedy=f"launch the server again with {self.parameter} at {self.wanted}",
            )
        if explicit is self.wanted:
            return Satisfied(by=f"{self.parameter} is set to {self.wanted}")
        recipe = self._set_to(launch.recipe)
        if launch.managed:
            if recipe is self.wanted or (recipe is None and self.default is self.wanted):
                return Satisfied(by=f"{self.parameter} is {self.wanted}")
            spellings = (self.parameter,) if self.negation is None else (self.parameter, self.negation)
            set_there = tuple(name for name in spellings if name in launch.recipe)
            return Patched(params={self.parameter: self.wanted}, reason=f"else {self.why}", replaces=set_there)
        why = f"whether {self.why} isn't known"
        if self.stage == "request":
            return residual(need, why)
        return Unresolved(
            stage="setup",
            verifier=PROBE,
            reason=why,
            evidence=f"a server started with {self.parameter} at {self.wanted}",
        )

    def _set_to(self, params: Mapping[str, JSONValue]) -> bool | None:
        """What the parameters say of the flag. A flag that contradicts its own negation counts as the unwanted one."""
        said = []
        if self.parameter in params:
            said.append(bool(params[self.parameter]))
        if self.negation is not None and self.negation in params:
            said.append(not params[self.negation])
        if not said:
            return None
        return self.wanted if all(value is self.wanted for value in said) else not self.wanted


class SpeedConstraint(_Constraint, frozen=True, kw_only=True):
    """A launch parameter that only costs time where it isn't at ``plan``, which is also what the engine does by itself.

    Whatever the user sets stands; the plan says what it would have had.
    """

    kind: ConstraintKind = "performance"
    parameter: str
    plan: JSONValue
    why: str

    def judge(self, need: ServingRequirement, launch: LaunchView) -> Verdict:
        said = launch.explicit.get(self.parameter, self.plan)
        if self._affected(launch) and said != self.plan:
            return UserChoice(parameter=self.parameter, value=said, plan=self.plan, reason=self.why)
        return Satisfied(by=f"{self.parameter} is a matter of speed")


class DefaultLimit(Record, frozen=True):
    """What an engine allows without being told, in a range of its versions."""

    versions: VersionRange
    value: int


class BreadthConstraint(_Constraint, frozen=True, kw_only=True):
    """The most alternatives a position must be at least the floor. ``unlimited`` is the value that means no limit."""

    parameter: str
    unlimited: int
    defaults: tuple[DefaultLimit, ...]

    def judge(self, need: ServingRequirement, launch: LaunchView) -> Verdict:
        floor = need.minimum or 1
        if self._affected(launch) is False:
            return self._unaffected(launch)
        observed = launch.facts.max_top_logprobs
        if observed is not None and self._allows(observed, floor):
            return Satisfied(by=f"observed: at most {observed} alternatives")
        explicit = launch.explicit.get(self.parameter)
        if explicit is not None and not self._allows(explicit, floor):
            return Conflict(
                reason=f"{self.parameter} is set to {explicit}, and {floor} alternatives are needed",
                remedy=f"set {self.parameter} to {floor} or more, or take {need.capability} out",
            )
        if observed is not None:
            return Conflict(
                reason=f"observed: at most {observed} alternatives, and {floor} are needed",
                remedy=f"launch the server again with {self.parameter} at {floor} or more",
            )
        if explicit is not None:
            return Satisfied(by=f"{self.parameter} is set to {explicit}")
        recipe = launch.recipe.get(self.parameter)
        if launch.managed and recipe is not None:
            if self._allows(recipe, floor):
                return Satisfied(by=f"{self.parameter} is {recipe}")
            return Patched(
                params={self.parameter: floor},
                reason=f"the recipe's {recipe} are fewer than {floor} alternatives",
                replaces=(self.parameter,),
            )
        default = self._default(launch.facts.engine_version)
        if default is not None and default >= floor:
            return Satisfied(by=f"{launch.engine_id} {launch.facts.engine_version} allows {default} by itself")
        if launch.managed:
            allowed = "an unknown number" if default is None else str(default)
            return Patched(params={self.parameter: floor}, reason=f"the engine's own limit is {allowed}")
        return residual(need, f"whether the server allows {floor} alternatives isn't known")

    def _allows(self, limit: JSONValue, floor: int) -> bool:
        return isinstance(limit, int) and (limit == self.unlimited or limit >= floor)

    def _default(self, version: str | None) -> int | None:
        if version is not None:
            for limit in self.defaults:
                if limit.versions.contains(version):
                    return limit.value
        return None


class Companion(Record, frozen=True):
    """A flag that must be on beside a parser, in a range of versions."""

    parameter: str
    versions: VersionRange = VersionRange()


class ParserConstraint(_Constraint, frozen=True, kw_only=True):
    """A parser must be named at launch. Which one depends on the model, so it can't be derived."""

    parameter: str
    fact: Literal["reasoning_parser", "tool_call_parser"]
    companions: tuple[Companion, ...] = ()

    def judge(self, need: ServingRequirement, launch: LaunchView) -> Verdict:
        if self._affected(launch) is False:
            return self._unaffected(launch)
        observed = getattr(launch.facts, self.fact)
        if observed is not None:
            return Satisfied(by=f"observed: {self.fact} is {observed}")
        named = launch.explicit.get(self.parameter) or launch.recipe.get(self.parameter)
        if not named:
            if launch.managed:
                return Conflict(
                    reason=f"no {self.parameter} is named, and without one there is no channel to read",
                    remedy=f"set {self.parameter} to the parser of this model's family, or take {need.capability} out",
                )
            return self._ask_the_server(f"whether it was started with a {self.parameter} isn't known")
        missing: dict[str, JSONValue] = {}
        for companion in self.companions:
            version = launch.facts.engine_version
            needed = True if version is None else companion.versions.contains(version)
            said = launch.explicit.get(companion.parameter, launch.recipe.get(companion.parameter))
            if needed is False or said is True:
                continue
            if version is None and companion.versions != VersionRange():
                # Newer versions don't know the flag and would refuse to start with it.
                return self._ask_the_server(f"whether {companion.parameter} is needed depends on the version")
            if companion.parameter in launch.explicit:
                return Conflict(
                    reason=f"{companion.parameter} is set to {said}, and {self.parameter} does nothing without it",
                    remedy=f"set {companion.parameter} to True, or take {need.capability} out",
                )
            missing[companion.parameter] = True
        if not missing:
            return Satisfied(by=f"{self.parameter} is {named}")
        if launch.managed:
            replaced = tuple(name for name in missing if name in launch.recipe)
            return Patched(params=missing, reason=f"{self.parameter} does nothing without it", replaces=replaced)
        return self._ask_the_server(f"whether it was started with {', '.join(missing)} isn't known")

    def _ask_the_server(self, why: str) -> Unresolved:
        return Unresolved(
            stage="setup", verifier=PROBE, reason=why, evidence=f"a server that reports its {self.parameter}"
        )


class AbsentConstraint(_Constraint, frozen=True, kw_only=True):
    """The engine doesn't do it in these versions, whatever its parameters. ``stage`` is who may still show that it
    does, where the version isn't among them."""

    stage: Stage = "request"
    why: str
    remedy: str

    def judge(self, need: ServingRequirement, launch: LaunchView) -> Verdict:
        if self._affected(launch):
            return Conflict(
                reason=f"{launch.engine_id} {launch.facts.engine_version} {self.why}",
                remedy=self.remedy,
            )
        # A version beyond those that were looked at may have learnt it, which is no proof that it has.
        known = f"it is only known that {launch.engine_id} {self.why} ({self.versions})"
        if self.stage == "request":
            return residual(need, known)
        return Unresolved(stage="setup", verifier=PROBE, reason=known, evidence="a server that names its version")
