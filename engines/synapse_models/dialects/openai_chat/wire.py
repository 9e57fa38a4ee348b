"""The documents of chat completions as servers send them, with every member optional that some server leaves out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct

from synapse_models.dialects.openai_wire import WireDocument, WireToken
from synapse_models.errors import ProtocolViolation
from synapse_models.response import Citation


class WireFunction(Struct, frozen=True):
    name: str | None = None
    arguments: str | dict[str, Any] | None = None


class WireToolCall(Struct, frozen=True):
    index: int | None = None
    id: str | None = None
    function: WireFunction | None = None


class WireLogprobs(Struct, frozen=True):
    content: list[WireToken] | None = None
    refusal: list[WireToken] | None = None


class WirePart(Struct, frozen=True):
    """A part of a content that came as a list: text, or thinking, which is a list of parts itself."""

    type: str
    text: str | None = None
    thinking: Any = None


class WireMessage(Struct, frozen=True):
    """A message, or a delta of one."""

    content: str | list[WirePart] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    refusal: str | None = None
    tool_calls: list[WireToolCall] | None = None
    function_call: WireFunction | None = None
    annotations: list[Raw] | None = None


class WireChoice(Struct, frozen=True):
    """A choice of a document, with ``message``, or of a chunk, with ``delta``."""

    index: int | None = None
    message: WireMessage | None = None
    delta: WireMessage | None = None
    logprobs: WireLogprobs | None = None
    finish_reason: str | None = None


class WireChat(WireDocument, frozen=True):
    """A document or a chunk."""

    choices: list[WireChoice] | None = None


class _UrlCitation(Struct, frozen=True):
    url: str | None = None
    title: str | None = None
    start_index: int | None = None
    end_index: int | None = None


class _Annotation(Struct, frozen=True):
    type: str | None = None
    url_citation: _UrlCitation | None = None


DECODER: Final = msgspec.json.Decoder(WireChat)
_ANNOTATION: Final = msgspec.json.Decoder(_Annotation)


def texts(content: str | list[WirePart] | None) -> Iterator[tuple[str, str]]:
    """("text" | "reasoning", piece) for each piece of a content, in order.

    Raises:
        ProtocolViolation: a part of a kind that has no place in a response.
    """
    if isinstance(content, str):
        yield "text", content
        return
    for part in content or ():
        if part.type == "text" and part.text is not None:
            yield "text", part.text
        elif part.type == "thinking":
            yield "reasoning", _thinking(part.thinking)
        else:
            raise ProtocolViolation(f"a content part of the kind {part.type[:40]!r} has no place in an answer")


def _thinking(value: Any) -> str:
    if isinstance(value, str):
        return value
    found: list[str] = []
    for piece in value if isinstance(value, list) else (None,):
        text = piece.get("text") if isinstance(piece, dict) else None
        if not isinstance(text, str):
            raise ProtocolViolation("a thinking part holds something that isn't text")
        found.append(text)
    return "".join(found)


def reasoning_of(message: WireMessage) -> str:
    """The visible thinking of a message or a delta; ``reasoning_content`` and ``reasoning`` are one channel.

    Raises:
        ProtocolViolation: both are there and differ.
    """
    older, newer = message.reasoning_content or "", message.reasoning or ""
    if older and newer and older != newer:
        raise ProtocolViolation("reasoning and reasoning_content are both there, and differ")
    return newer or older


def arguments_of(function: WireFunction) -> str:
    """Arguments as text: as received, or spelled out on servers that send an object."""
    if isinstance(function.arguments, dict):
        return msgspec.json.encode(function.arguments).decode()
    return function.arguments or ""


def calls_of(message: WireMessage) -> Iterator[WireToolCall]:
    """The tool calls, with the one of the retired ``function_call`` member as a call without an id."""
    yield from message.tool_calls or ()
    if message.function_call is not None:
        yield WireToolCall(index=0, function=message.function_call)


def citation_of(raw: Raw, choice: int) -> Citation:
    """An annotation as a citation. Of a kind that isn't known, its JSON text is all there is."""
    text = bytes(raw).decode()
    try:
        annotation = _ANNOTATION.decode(raw)
    except msgspec.ValidationError:
        return Citation(choice=choice, raw=text)
    found = annotation.url_citation or _UrlCitation()
    return Citation(
        choice=choice,
        start=found.start_index,
        end=found.end_index,
        unit="characters" if found.start_index is not None else "unknown",
        url=found.url,
        title=found.title,
        raw=text,
    )
