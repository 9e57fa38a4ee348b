"""What the two OpenAI dialects share: documents, usage in every shape seen, finish reasons, the end of a stream.

Servers that speak these protocols differ in what they leave out and add; the types here accept all that was seen and
nothing that would have to be guessed at.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct

from synapse_models.errors import ProtocolViolation
from synapse_models.failures import Failure, error_in_stream, failure_in, read_failure
from synapse_models.request import Request
from synapse_models.response import FinishReason, TokenAlternative, TokenLogprob, Usage
from synapse_models.sse import SseEvent
from synapse_models.stream import Began

IDENTITY_HEADERS: Final = ("openai-organization", "openai-project", "openai-version")
"""What the head of a reply says of whose account answered, and with which build."""

ENGINE_SPELLINGS: Final = frozenset(
    {
        "n_predict",
        "max_new_tokens",
        "n_probs",
        "return_logprob",
        "logprob_start_len",
        "top_logprobs_num",
        "json_schema",
        "guided_json",
        "structured_outputs",
    }
)
"""Keys by which engines take, beside the protocol's own, what a leaf says: an option of that name would go round the
leaf, its capability and the check of the reply."""

HEADER_OPTIONS: Final[Mapping[str, str]] = {"organization": "OpenAI-Organization", "project": "OpenAI-Project"}
"""Dialect options that say on whose account a call is made. They travel as headers."""

DONE: Final = b"[DONE]"
"""The data of the event that ends a stream."""

FINISH_REASONS: Final[Mapping[str, FinishReason]] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "refusal",
    "abort": "error",
    "error": "error",
}


def option_headers(request: Request) -> dict[str, str]:
    """The headers that the options of a request ask for."""
    options = request.dialect_options
    if options is None:
        return {}
    return {header: options.values[key] for key, header in HEADER_OPTIONS.items() if key in options.values}


def body_options(request: Request) -> dict[str, Any]:
    """The options of a request that go into the body."""
    options = request.dialect_options
    return {} if options is None else {k: value for k, value in options.values.items() if k not in HEADER_OPTIONS}


def finish_reason(raw: str | None) -> FinishReason | None:
    """The shared word for a provider's; None stays None, and a word that nobody knows is ``other``."""
    return None if not raw else FINISH_REASONS.get(raw, "other")


class InputDetails(Struct, frozen=True):
    cached_tokens: int | None = None
    audio_tokens: int | None = None
    cache_write_tokens: int | None = None
    cache_creation_tokens: int | None = None


class OutputDetails(Struct, frozen=True):
    reasoning_tokens: int | None = None
    audio_tokens: int | None = None


class WireUsage(Struct, frozen=True):
    """Usage as OpenAI reports it, with the top-level counts that other servers put beside it."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None
    prompt_tokens_details: InputDetails | None = None
    completion_tokens_details: OutputDetails | None = None
    cached_tokens: int | None = None
    prompt_cache_hit_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    reasoning_tokens: int | None = None


_NOTHING: Final = Usage()


def usage(wire: WireUsage | None) -> Usage | None:
    """The counts, None when there are none at all.

    Cached tokens are part of the prompt's count here. Reasoning is part of the completion's, except on servers whose
    total shows that they counted it beside.
    """
    if wire is None:
        return None
    given = wire.prompt_tokens_details or InputDetails()
    made = wire.completion_tokens_details or OutputDetails()
    reasoning = _first(made.reasoning_tokens, wire.reasoning_tokens)
    found = Usage(
        input_tokens=wire.prompt_tokens,
        output_tokens=_output(wire, reasoning),
        cache_read_tokens=_first(
            given.cached_tokens, wire.cached_tokens, wire.prompt_cache_hit_tokens, wire.cache_read_input_tokens
        ),
        cache_write_tokens=_first(
            given.cache_write_tokens, given.cache_creation_tokens, wire.cache_creation_input_tokens
        ),
        reasoning_tokens=reasoning,
        input_audio_tokens=given.audio_tokens,
        output_audio_tokens=made.audio_tokens,
        reported_total=wire.total_tokens,
    )
    return None if found == _NOTHING else found


def _output(wire: WireUsage, reasoning: int | None) -> int | None:
    if wire.completion_tokens is None or wire.prompt_tokens is None or not reasoning:
        return wire.completion_tokens
    beside = wire.completion_tokens + reasoning
    return beside if wire.total_tokens == wire.prompt_tokens + beside else wire.completion_tokens


def _first(*counts: int | None) -> int | None:
    return next((count for count in counts if count is not None), None)


class Names(Struct, frozen=True):
    """How a document, or a chunk of one, calls itself and who computed it."""

    id: str | None = None
    model: str | None = None
    system_fingerprint: str | None = None
    service_tier: str | None = None


class WireDocument(Names, frozen=True):
    """A document or a chunk. ``error`` is set when a server reports a failure in place of an answer.

    What a choice is, each dialect says.
    """

    choices: list[Any] | None = None
    usage: WireUsage | None = None
    error: Any = None


class NamesSoFar:
    """The names of a stream. Chunks repeat them, or leave them out, or learn of one late."""

    __slots__ = ("_told",)

    def __init__(self) -> None:
        self._told: tuple[str | None, ...] = (None, None, None, None)

    def new(self, chunk: Names) -> Began | None:
        """The event for names that weren't told yet; empty ones name nothing."""
        said = (chunk.id, chunk.model, chunk.system_fingerprint, chunk.service_tier)
        if said == self._told:
            return None
        merged = tuple(new or old for new, old in zip(said, self._told, strict=True))
        if merged == self._told:
            return None
        self._told = merged
        response_id, model, fingerprint, tier = merged
        return Began(response_id=response_id, response_model=model, system_fingerprint=fingerprint, service_tier=tier)


class WireAlternative(Struct, frozen=True):
    token: str
    logprob: float
    bytes: list[int] | None = None
    id: int | None = None


class WireToken(Struct, frozen=True):
    token: str
    logprob: float
    bytes: list[int] | None = None
    id: int | None = None
    top_logprobs: list[WireAlternative] | None = None


def token_logprobs(wire: list[WireToken]) -> tuple[TokenLogprob, ...]:
    """Log-probabilities in the shape of chat completions."""
    return tuple(
        TokenLogprob(
            token=one.token,
            logprob=one.logprob,
            token_id=one.id,
            token_bytes=_bytes(one.bytes),
            alternatives=tuple(
                TokenAlternative(
                    token=other.token, logprob=other.logprob, token_id=other.id, token_bytes=_bytes(other.bytes)
                )
                for other in one.top_logprobs or ()
            ),
        )
        for one in wire
    )


def _bytes(numbers: list[int] | None) -> bytes | None:
    if numbers is None:
        return None
    try:
        return bytes(numbers)
    except ValueError:
        raise ProtocolViolation("the bytes of a token are not bytes") from None


_UNREADABLE: Final = "the reply is nested too deeply, or has a number that is too long, to be read"

_Document = TypeVar("_Document", bound=WireDocument)


def read_document(decoder: msgspec.json.Decoder[_Document], data: bytes) -> _Document:
    """A whole reply; it has choices.

    Raises:
        ModelError: the document reports a failure although the status said success.
        ProtocolViolation: it isn't JSON, or not of the protocol's shape.
    """
    document = _decoded(decoder, data)
    if document.choices is None:
        _raise_reported(data)
        raise ProtocolViolation("the reply has no choices")
    return document


def read_chunk(decoder: msgspec.json.Decoder[_Document], data: bytes) -> _Document:
    """One event of a stream; it may be about names alone, or an empty object. Raises as :func:`read_document` does."""
    chunk = _decoded(decoder, data)
    if chunk.choices is None and chunk.usage is None:
        members = _raise_reported(data)
        if members and members.isdisjoint(Names.__struct_fields__):
            raise ProtocolViolation("an event of the stream is no part of an answer", excerpt=_quoted(data))
    return chunk


def data_of(event: SseEvent) -> bytes | None:
    """The data of an event, None of one that only keeps the connection from falling silent.

    Raises:
        ModelError: the event is called an error.
    """
    if event.event == "error":
        raise error_in_stream(read_failure(event.data))
    return event.data if event.data.strip() else None


def _decoded(decoder: msgspec.json.Decoder[_Document], data: bytes) -> _Document:
    try:
        document = decoder.decode(data)
    except msgspec.ValidationError as caught:
        problem = str(caught)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise ProtocolViolation("the reply isn't JSON", excerpt=_quoted(data)) from None
    except RecursionError:
        raise ProtocolViolation(_UNREADABLE) from None
    else:
        if document.error:
            _raise_reported(data)
        return document
    _raise_reported(data)
    raise ProtocolViolation(f"the reply isn't of the protocol's shape: {problem}")


def _raise_reported(data: bytes) -> set[str]:
    """Raises the failure that a document reports inside a success. The names of its members when it reports none."""
    try:
        document: Any = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise ProtocolViolation(_UNREADABLE) from None
    if not isinstance(document, dict):
        return set()
    if (failure := failure_in(document)) is not None:
        raise error_in_stream(failure if failure.message else Failure(_quoted(data), failure.codes))
    return set(document)


def _quoted(data: bytes) -> str:
    return data.decode("utf-8", "replace")
