"""The answer that all providers share, with where it came from. Written by dialects, read by callers, persisted.

One closed record: channels are optional fields, never subclasses. What a provider indexes by choice is in
:class:`Choice`; the rest is in :class:`Response`. Absent is not zero and not empty: a count that wasn't reported is
None, a channel that wasn't present is None. ``records.py`` reads and writes the persisted form.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from synapse_models.parts import JSONValue, ProviderItems, Record, ToolCallPart

RECORD_VERSION: Final = 1
"""Of the persisted form. Fields may be added without a new version; a changed meaning needs one."""

FinishReason = Literal["stop", "length", "tool_calls", "refusal", "pause", "error", "other"]
RefusalKind = Literal["model", "filter", "prompt_blocked"]
EngineSource = Literal["deployment", "config", "unknown"]
OffsetUnit = Literal["characters", "utf8_bytes", "unknown"]


class Reasoning(Record, frozen=True):
    """What the model showed of its thinking. ``summary`` is the provider's digest where that is what it sends."""

    text: str | None = None
    summary: tuple[str, ...] = ()


class Refusal(Record, frozen=True):
    """A refusal is an answer of its own kind. ``category`` is the provider's word for why."""

    kind: RefusalKind
    text: str | None = None
    category: str | None = None


class StructuredOutput(Record, frozen=True):
    """The parsed answer. A wrapper, so that the JSON value null differs from no answer.

    It is of the schema that was asked for, as far as the keywords outside of ``unchecked`` go.
    """

    value: JSONValue
    unchecked: tuple[str, ...] = ()


class TokenAlternative(Record, frozen=True):
    """A token that could have stood at a position. Two that look alike stay two."""

    token: str
    logprob: float
    token_id: int | None = None
    rank: int | None = None
    token_bytes: bytes | None = None


class TokenLogprob(Record, frozen=True):
    """One generated token. ``logprob`` is natural. ``alternatives`` is in the provider's order."""

    token: str
    logprob: float
    token_id: int | None = None
    rank: int | None = None
    token_bytes: bytes | None = None
    alternatives: tuple[TokenAlternative, ...] = ()


class InputToken(Record, frozen=True):
    """One token of the input. Only the first has no log-probability: nothing precedes it."""

    token: str
    logprob: float | None
    token_id: int | None = None
    rank: int | None = None
    token_bytes: bytes | None = None
    alternatives: tuple[TokenAlternative, ...] = ()


class InputScoring(Record, frozen=True):
    """A score for every token of the input, complete or not there at all."""

    tokens: tuple[InputToken, ...]


class ServerToolUse(Record, frozen=True):
    """A tool that the provider ran. ``raw`` is the provider's JSON text."""

    tool: str
    id: str | None = None
    status: str | None = None
    raw: str | None = None


class Citation(Record, frozen=True):
    """Where a span of the answer comes from. ``unit`` says what ``start`` and ``end`` count."""

    choice: int = 0
    start: int | None = None
    end: int | None = None
    unit: OffsetUnit = "unknown"
    url: str | None = None
    title: str | None = None
    quoted: str | None = None
    raw: str | None = None


class Grounding(Record, frozen=True):
    """Search evidence beside the answer. ``raw`` is the provider's JSON text."""

    queries: tuple[str, ...] = ()
    raw: str | None = None


class SessionState(Record, frozen=True):
    """What a next request may refer to."""

    response_id: str | None = None
    conversation_id: str | None = None


class Usage(Record, frozen=True):
    """Token counts, each None where the provider said nothing.

    ``input_tokens`` includes what came from a cache, ``output_tokens`` includes reasoning, whichever way the provider
    counts; ``reported_total`` is the provider's own sum and may differ from :attr:`computed_total`.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    input_audio_tokens: int | None = None
    output_audio_tokens: int | None = None
    reported_total: int | None = None

    @property
    def computed_total(self) -> int | None:
        """Input plus output; None unless both were reported."""
        if self.input_tokens is None or self.output_tokens is None:
            return None
        return self.input_tokens + self.output_tokens


class Choice(Record, frozen=True):
    """One of the answers. ``finish_reason`` is None when the provider gave none; ``finish_reason_raw`` is its word."""

    index: int
    text: str = ""
    reasoning: Reasoning | None = None
    refusal: Refusal | None = None
    tool_calls: tuple[ToolCallPart, ...] | None = None
    structured_output: StructuredOutput | None = None
    logprobs: tuple[TokenLogprob, ...] | None = None
    refusal_logprobs: tuple[TokenLogprob, ...] | None = None
    provider_items: ProviderItems | None = None
    finish_reason: FinishReason | None = None
    finish_reason_raw: str | None = None


class ModelIdentity(Record, frozen=True):
    """What was asked for and what the provider says answered. The second is never filled in from the first."""

    requested_model_id: str
    provider_reported_model_id: str | None = None


class CapabilityEvidence(Record, frozen=True):
    """What was declared and what the plan made of it, without secrets."""

    declared: Mapping[str, JSONValue]
    effective: Mapping[str, JSONValue]
    plan_fingerprint: str
    verification_fingerprint: str | None = None


class Attempt(Record, frozen=True):
    """One try at the wire. ``outcome`` is ``ok`` or the name of the error; ``waited_ms`` was spent before it."""

    outcome: str
    status: int | None = None
    waited_ms: int = 0
    request_id: str | None = None


class ModelProvenance(Record, frozen=True):
    """Where an answer came from. ``engine_id`` is ``unknown`` unless somebody declared it; it is never guessed.

    ``auth_scheme`` is how a credential was presented, never which. ``reported_headers`` are what the reply's head says
    of whose account and which build answered; which headers those are is the dialect's knowledge.
    """

    dialect_id: str
    wire_version: str
    engine_id: str
    engine_source: EngineSource
    deployment_id: str | None
    model_identity: ModelIdentity
    auth_scheme: str | None = None
    engine_version: str | None = None
    deployment_fingerprint: str | None = None
    capabilities: CapabilityEvidence | None = None
    request_defaults: Mapping[str, JSONValue] = {}
    reported_headers: Mapping[str, str] = {}
    attempts: tuple[Attempt, ...] = ()


class RefusedAnswer(Exception):
    """A choice, or the whole prompt, was refused. Attributes: ``refusal``, ``choice`` (None for the prompt)."""

    def __init__(self, refusal: Refusal, choice: int | None) -> None:
        self.refusal = refusal
        self.choice = choice
        where = "the prompt was refused" if choice is None else f"choice {choice} is a refusal"
        told = ": ".join(word for word in (refusal.category, refusal.text) if word)
        super().__init__(f"{where} ({refusal.kind})" + (f": {told}" if told else ""))


class Response(Record, frozen=True, omit_defaults=False):
    """One answer. ``refusal`` here means that the prompt was blocked and there may be no choice at all.

    ``system_fingerprint`` names the configuration that computed it and ``service_tier`` the class of service that it
    was computed in, both in the provider's words.
    """

    choices: tuple[Choice, ...]
    record_version: int = RECORD_VERSION
    input_scoring: InputScoring | None = None
    server_tool_uses: tuple[ServerToolUse, ...] | None = None
    citations: tuple[Citation, ...] | None = None
    grounding: Grounding | None = None
    refusal: Refusal | None = None
    session: SessionState | None = None
    usage: Usage | None = None
    response_id: str | None = None
    response_model: str | None = None
    system_fingerprint: str | None = None
    service_tier: str | None = None
    provenance: ModelProvenance | None = None

    @property
    def text(self) -> str:
        """The text of the first choice; empty when there is none."""
        return self.choices[0].text if self.choices else ""

    def raise_for_refusal(self) -> None:
        """Raise :class:`RefusedAnswer` for a blocked prompt or the first refused choice."""
        if self.refusal is not None:
            raise RefusedAnswer(self.refusal, None)
        for choice in self.choices:
            if choice.refusal is not None:
                raise RefusedAnswer(choice.refusal, choice.index)
