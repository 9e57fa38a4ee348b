"""Reading a chat completion that came as one document."""

from __future__ import annotations

from synapse_models.dialects.openai_chat.wire import (
    DECODER,
    WireChoice,
    arguments_of,
    calls_of,
    citation_of,
    reasoning_of,
    texts,
)
from synapse_models.dialects.openai_wire import (
    finish_reason,
    read_document,
    token_logprobs,
    usage,
)
from synapse_models.errors import ProtocolViolation
from synapse_models.parts import ToolCallPart
from synapse_models.response import Choice, Citation, Reasoning, Refusal, Response
from synapse_models.stream import tool_call


def read_reply(body: bytes) -> Response:
    """The response of a whole document.

    Raises:
        ModelError: the document reports a failure.
        ProtocolViolation: it isn't a chat completion.
    """
    document = read_document(DECODER, body)
    choices: dict[int, Choice] = {}
    citations: list[Citation] = []
    for place, wire in enumerate(document.choices or ()):
        index = place if wire.index is None else wire.index
        if index in choices:
            raise ProtocolViolation(f"two choices have the index {index}")
        choices[index] = _choice(index, wire)
        if wire.message is not None:
            citations.extend(citation_of(raw, index) for raw in wire.message.annotations or ())
    return Response(
        choices=tuple(choice for _, choice in sorted(choices.items())),
        citations=tuple(citations) or None,
        usage=usage(document.usage),
        response_id=document.id or None,
        response_model=document.model or None,
        system_fingerprint=document.system_fingerprint or None,
        service_tier=document.service_tier or None,
    )


def _choice(index: int, wire: WireChoice) -> Choice:
    if wire.message is None:
        raise ProtocolViolation(f"choice {index} has no message")
    pieces = list(texts(wire.message.content))
    thinking = "".join(piece for kind, piece in pieces if kind == "reasoning") + reasoning_of(wire.message)
    logprobs = wire.logprobs
    return Choice(
        index=index,
        text="".join(piece for kind, piece in pieces if kind == "text"),
        reasoning=Reasoning(text=thinking) if thinking else None,
        refusal=_refusal(wire),
        tool_calls=_tool_calls(wire) or None,
        logprobs=token_logprobs(logprobs.content) if logprobs and logprobs.content is not None else None,
        refusal_logprobs=token_logprobs(logprobs.refusal) if logprobs and logprobs.refusal is not None else None,
        finish_reason=finish_reason(wire.finish_reason),
        finish_reason_raw=wire.finish_reason,
    )


def _refusal(wire: WireChoice) -> Refusal | None:
    if wire.message is not None and wire.message.refusal:
        return Refusal(kind="model", text=wire.message.refusal)
    if wire.finish_reason == "content_filter":
        return Refusal(kind="filter", category="content_filter")
    return None


def _tool_calls(wire: WireChoice) -> tuple[ToolCallPart, ...]:
    calls = []
    for call in calls_of(wire.message) if wire.message is not None else ():
        if call.function is None or not call.function.name:
            raise ProtocolViolation("a tool call names no function")
        calls.append(tool_call(call.function.name, arguments_of(call.function), call.id))
    return tuple(calls)
