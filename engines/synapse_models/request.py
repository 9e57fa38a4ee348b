"""The request that all providers share. Built by callers, read by the audit and by dialects.

Every field has a default that means "no opinion" (None, an empty tuple, ``n=1``, False). A field at any other value
is an *active leaf*, and each active leaf gets exactly one decision before anything is sent: see ``leaves.py`` for the
catalogue and ``audit.py`` for the decisions. ``temperature=0.0``, ``seed=0`` and ``top_logprobs=0`` are opinions.

Constructors raise ValueError for values that no provider could mean.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal, TypeAlias

from synapse_models.json_schema import malformed
from synapse_models.parts import Asked, ChatMessage, JSONValue, Role, text_message

Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
Summary = Literal["none", "auto", "concise", "detailed"]
Format = Literal["json_object", "json_schema"]


class CompletionInput(Asked, frozen=True, tag="completion", tag_field="kind"):
    """Text to go on from. With ``suffix``, the text between the two is asked for."""

    text: str
    suffix: str | None = None


class ChatInput(Asked, frozen=True, tag="chat", tag_field="kind"):
    """A conversation. At least one message."""

    messages: tuple[ChatMessage, ...]

    def __post_init__(self) -> None:
        if not self.messages:
            raise ValueError("a conversation has at least one message")


ModelInput: TypeAlias = CompletionInput | ChatInput


class SamplingParams(Asked, frozen=True):
    """How tokens are drawn. ``max_tokens`` counts generated tokens; 0 is legal (score only, or warm a cache)."""

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    seed: int | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    n: int = 1

    def __post_init__(self) -> None:
        for name in ("temperature", "top_p", "frequency_penalty", "presence_penalty"):
            value = getattr(self, name)
            if value is not None and not math.isfinite(value):
                raise ValueError(f"sampling.{name} must be finite, not {value!r}")
        if self.n < 1:
            raise ValueError(f"sampling.n must be at least 1, not {self.n}")
        if self.max_tokens is not None and self.max_tokens < 0:
            raise ValueError(f"sampling.max_tokens must not be negative, not {self.max_tokens}")


class ScoringParams(Asked, frozen=True):
    """Which log-probabilities are asked for. ``top_logprobs`` is how many alternatives a position; 0 asks for none."""

    input_scoring: bool = False
    sampled_logprobs: bool = False
    top_logprobs: int | None = None

    def __post_init__(self) -> None:
        if self.top_logprobs is not None and self.top_logprobs < 0:
            raise ValueError(f"scoring.top_logprobs must not be negative, not {self.top_logprobs}")
        if self.top_logprobs and not (self.sampled_logprobs or self.input_scoring):
            raise ValueError("scoring.top_logprobs needs sampled_logprobs or input_scoring")


class ReasoningParams(Asked, frozen=True):
    """How much a model thinks before it answers: by ``effort`` or by ``budget_tokens``, never both."""

    effort: Effort | None = None
    budget_tokens: int | None = None
    summary: Summary | None = None

    def __post_init__(self) -> None:
        if self.effort is not None and self.budget_tokens is not None:
            raise ValueError("reasoning takes either effort or budget_tokens")
        if self.budget_tokens is not None and self.budget_tokens < 0:
            raise ValueError(f"reasoning.budget_tokens must not be negative, not {self.budget_tokens}")


class FunctionTool(Asked, frozen=True):
    """A function that the caller runs. ``parameters`` is a JSON schema."""

    name: str
    description: str | None = None
    parameters: Mapping[str, JSONValue] | None = None
    strict: bool | None = None


class HostedTool(Asked, frozen=True):
    """A tool that the provider runs. ``tool`` is its neutral name, ``version`` the provider's dated name if any."""

    tool: str
    version: str | None = None
    options: Mapping[str, JSONValue] = {}


class NamedFunction(Asked, frozen=True):
    """The one function that must be called."""

    name: str


ToolChoice: TypeAlias = Literal["none", "auto", "required"] | NamedFunction


class ToolParams(Asked, frozen=True):
    """Which tools the model may call. ``parallel`` is whether several calls may come in one turn."""

    functions: tuple[FunctionTool, ...] = ()
    choice: ToolChoice | None = None
    parallel: bool | None = None
    hosted: tuple[HostedTool, ...] = ()

    def __post_init__(self) -> None:
        names = [tool.name for tool in self.functions]
        if len(set(names)) != len(names):
            raise ValueError("two function tools have the same name")


class StructuredOutputParams(Asked, frozen=True):
    """The form that the answer must have. A schema belongs to ``json_schema`` and to nothing else."""

    format: Format | None = None
    schema: Mapping[str, JSONValue] | None = None
    name: str | None = None
    strict: bool | None = None

    def __post_init__(self) -> None:
        if (self.format == "json_schema") != (self.schema is not None):
            raise ValueError("structured_output.schema comes with format json_schema, and only with it")
        if self.schema is not None and (fault := malformed(self.schema)) is not None:
            raise ValueError(f"structured_output.schema is no JSON schema: {fault}")
        if self.format is None and (self.name is not None or self.strict is not None):
            raise ValueError("structured_output.name and .strict need a format")


class SessionParams(Asked, frozen=True):
    """State that the provider keeps. What it hands us to keep travels in ``ChatMessage.provider_items``."""

    previous_response_id: str | None = None


class SchedulingParams(Asked, frozen=True):
    """How the answer travels. ``stream`` changes the wire and not the result."""

    stream: bool = False


class DialectOptions(Asked, frozen=True):
    """Keys that one dialect understands beyond the shared request. Each key is a leaf, whatever its value."""

    dialect_id: str
    values: Mapping[str, JSONValue]


class Request(Asked, frozen=True):
    """One question to one model."""

    input: ModelInput
    sampling: SamplingParams = SamplingParams()
    scoring: ScoringParams = ScoringParams()
    reasoning: ReasoningParams = ReasoningParams()
    tools: ToolParams = ToolParams()
    structured_output: StructuredOutputParams = StructuredOutputParams()
    session: SessionParams = SessionParams()
    scheduling: SchedulingParams = SchedulingParams()
    dialect_options: DialectOptions | None = None


def chat(*turns: tuple[Role, str]) -> ChatInput:
    """A conversation of plain text turns: ``chat(("user", "Hello"))``."""
    return ChatInput(messages=tuple(text_message(role, text) for role, text in turns))
