"""The twelve things a user may ask a model to be able to do, each with its options and the leaves it owns.

``CAPABILITY_SPECS`` joins the four columns of a plan by name: what a dialect can say, what a model supports, what a
server must provide, what a task needs. A capability says what happens end to end; it never names a launch flag.
Pure data and one parser: ``declaration.py`` calls :func:`parse_config`, ``reconciliation.py`` reads the specs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, Literal, TypeAlias

import msgspec
from msgspec import Meta

from synapse_models.parts import InputModality, JSONValue, Record
from synapse_models.request import Effort, Format, Summary


class CapabilityConfig(Record, frozen=True, forbid_unknown_fields=True):
    """The options of one capability. Every option has a default, so that ``true`` and ``{}`` are complete."""


class InputScoringConfig(CapabilityConfig, frozen=True):
    pass


class SampledLogprobsConfig(CapabilityConfig, frozen=True):
    pass


class TopLogprobsConfig(CapabilityConfig, frozen=True):
    """``minimum`` alternatives a position, wherever that many candidates exist. None is 1, and nobody's opinion."""

    minimum: Annotated[int, Meta(ge=1)] | None = None


class ReasoningConfig(CapabilityConfig, frozen=True):
    """Request defaults: ``effort`` or ``budget_tokens``, and ``summary``."""

    effort: Effort | None = None
    budget_tokens: Annotated[int, Meta(ge=0)] | None = None
    summary: Summary | None = None

    def __post_init__(self) -> None:
        if self.effort is not None and self.budget_tokens is not None:
            raise ValueError("takes either effort or budget_tokens")


class FunctionToolsConfig(CapabilityConfig, frozen=True):
    """``parallel`` is a request default: whether several calls may come in one turn."""

    parallel: bool | None = None


class HostedToolsConfig(CapabilityConfig, frozen=True):
    """``kinds`` are the neutral names of the tools that must be there, such as ``web_search``."""

    kinds: tuple[Annotated[str, Meta(min_length=1)], ...] = ()


class StructuredOutputConfig(CapabilityConfig, frozen=True):
    """``formats`` that must be there. Without any, one of them is enough."""

    formats: tuple[Format, ...] = ()


class StatefulSessionConfig(CapabilityConfig, frozen=True):
    pass


class OpaqueContinuationConfig(CapabilityConfig, frozen=True):
    pass


class MultimodalInputConfig(CapabilityConfig, frozen=True):
    """``modalities`` beside text that must be there. Without any, one of them is enough."""

    modalities: tuple[InputModality, ...] = ()


class PrefillConfig(CapabilityConfig, frozen=True):
    pass


class FimConfig(CapabilityConfig, frozen=True):
    pass


class CapabilitySpec(Record, frozen=True):
    """One capability.

    Attributes:
        key: its name in files, plans and messages.
        meaning: what is promised end to end, as a sentence's predicate.
        config: the type of its options.
        leaves: the request leaves that ask for it; each leaf belongs to one capability at most.
        defaults: option → the leaf it is the request default of.
        minimums: options that are floors of correctness, combined by the larger number or the union.
        channels: the response channels that it fills.
    """

    key: str
    meaning: str
    config: type[CapabilityConfig]
    leaves: tuple[str, ...]
    defaults: Mapping[str, str] = {}
    minimums: tuple[str, ...] = ()
    channels: tuple[str, ...] = ()


_SPECS: Final = (
    CapabilitySpec(
        key="input_scoring",
        meaning="returns a complete score for the tokens of the input",
        config=InputScoringConfig,
        leaves=("scoring.input_scoring",),
        channels=("input_scoring",),
    ),
    CapabilitySpec(
        key="sampled_logprobs",
        meaning="returns log-probabilities of the generated tokens",
        config=SampledLogprobsConfig,
        leaves=("scoring.sampled_logprobs",),
        channels=("logprobs",),
    ),
    CapabilitySpec(
        key="top_logprobs",
        meaning="returns at least so many alternatives at each position",
        config=TopLogprobsConfig,
        leaves=("scoring.top_logprobs",),
        minimums=("minimum",),
    ),
    CapabilitySpec(
        key="reasoning",
        meaning="lets the thinking be controlled, and shows it when asked",
        config=ReasoningConfig,
        leaves=("reasoning.effort", "reasoning.budget_tokens", "reasoning.summary"),
        defaults={
            "effort": "reasoning.effort",
            "budget_tokens": "reasoning.budget_tokens",
            "summary": "reasoning.summary",
        },
        channels=("reasoning",),
    ),
    CapabilitySpec(
        key="function_tools",
        meaning="takes function definitions and returns calls",
        config=FunctionToolsConfig,
        leaves=(
            "tools.functions",
            "tools.choice",
            "tools.parallel",
            "input.tool_calls",
            "input.tool_results",
            "input.tool_result_images",
            "input.tool_result_errors",
            "input.tool_result_names",
        ),
        defaults={"parallel": "tools.parallel"},
        channels=("tool_calls",),
    ),
    CapabilitySpec(
        key="hosted_tools",
        meaning="runs the provider's own tools and shows what they found",
        config=HostedToolsConfig,
        leaves=("tools.hosted",),
        minimums=("kinds",),
        channels=("server_tool_uses", "citations", "grounding"),
    ),
    CapabilitySpec(
        key="structured_output",
        meaning="holds the answer to a declared form",
        config=StructuredOutputConfig,
        leaves=(
            "structured_output.format",
            "structured_output.schema",
            "structured_output.name",
            "structured_output.strict",
        ),
        minimums=("formats",),
        channels=("structured_output",),
    ),
    CapabilitySpec(
        key="stateful_session",
        meaning="goes on from an earlier response by its id",
        config=StatefulSessionConfig,
        leaves=("session.previous_response_id",),
        channels=("session",),
    ),
    CapabilitySpec(
        key="opaque_continuation",
        meaning="takes its own reasoning and tool state back unchanged",
        config=OpaqueContinuationConfig,
        leaves=("input.provider_items",),
        channels=("provider_items",),
    ),
    CapabilitySpec(
        key="multimodal_input",
        meaning="accepts content that isn't text",
        config=MultimodalInputConfig,
        leaves=("input.images", "input.image_detail", "input.image_types"),
        minimums=("modalities",),
    ),
    CapabilitySpec(
        key="prefill",
        meaning="goes on from the start of its own answer",
        config=PrefillConfig,
        leaves=("input.prefill",),
    ),
    CapabilitySpec(
        key="fim",
        meaning="fills in the text between a prefix and a suffix",
        config=FimConfig,
        leaves=("input.suffix",),
    ),
)

CAPABILITY_SPECS: Final[Mapping[str, CapabilitySpec]] = {spec.key: spec for spec in _SPECS}
"""All twelve, in the order in which plans show them."""

Declared: TypeAlias = CapabilityConfig | Literal[False]
"""What a user said of one capability: options, or explicitly no. Saying nothing is an absent key."""


def leaf_owner(path: str) -> str | None:
    """The capability that the leaf ``path`` asks for, or None for a leaf that needs none."""
    return _OWNERS.get(path)


def _owners() -> dict[str, str]:
    owners: dict[str, str] = {}
    for spec in _SPECS:
        for path in (*spec.leaves, *(leaf for leaf in spec.defaults.values() if leaf not in spec.leaves)):
            if path in owners:
                raise ValueError(f"{path} belongs to {owners[path]} and to {spec.key}")
            owners[path] = spec.key
    return owners


_OWNERS: Final = _owners()


def parse_config(key: str, value: JSONValue) -> Declared:
    """Read one declared capability: ``true`` and ``{}`` enable, ``false`` disables, a mapping gives options.

    Raises ValueError, naming the option, for null, for an unknown capability or option, and for a value out of range.
    """
    spec = CAPABILITY_SPECS.get(key)
    if spec is None:
        raise ValueError(f"no capability has this name; there are {', '.join(CAPABILITY_SPECS)}")
    if value is None:
        raise ValueError("null says neither yes nor no; write true, false or options")
    if value is False:
        return False
    if value is not True and not isinstance(value, Mapping):
        raise ValueError(f"must be true, false or a mapping of options, not {value!r}")
    try:
        return msgspec.convert({} if value is True else value, type=spec.config, strict=True)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from None


def canonical_declaration(declared: Mapping[str, Declared]) -> dict[str, JSONValue]:
    """Declarations as plain data: sorted, ``true`` as ``{}``, ``false`` kept, options at their default left out."""
    return {key: value if value is False else msgspec.to_builtins(value) for key, value in sorted(declared.items())}
