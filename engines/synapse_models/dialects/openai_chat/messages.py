"""Messages on the wire of chat completions, and where each leaf of a conversation ends up among them."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import Any, Final

from synapse_models.parts import (
    ChatMessage,
    ContentPart,
    ImagePart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    UnknownPart,
)
from synapse_models.request import ChatInput

_ALLOWED: Final[Mapping[str, tuple[type, ...]]] = {
    "system": (TextPart,),
    "developer": (TextPart,),
    "user": (TextPart, ImagePart),
    "assistant": (TextPart, ToolCallPart),
    "tool": (ToolResultPart,),
}
"""Role → the parts that its messages can hold."""

_LEAF_PARTS: Final[Mapping[type, str]] = {
    ImagePart: "input.images",
    ToolCallPart: "input.tool_calls",
    ToolResultPart: "input.tool_results",
    UnknownPart: "input.unknown_parts",
}
"""Parts with a leaf of their own; text belongs to the leaf ``input``."""


def misplaced(source: ChatInput, leaf: str) -> str | None:
    """Why the parts of ``leaf`` can't be sent where they stand, None when they can."""
    for number, message in enumerate(source.messages):
        if leaf == "input" and message.role == "tool" and not message.content:
            return f"message {number}: a tool message holds at least one result"
        for part in message.content:
            if _LEAF_PARTS.get(type(part), "input") == leaf and not isinstance(part, _ALLOWED[message.role]):
                kind = type(part).__struct_config__.tag
                return f"message {number}: a {message.role} message has no place for a part of the kind {kind}"
    return None


def misnamed(source: ChatInput) -> str | None:
    """Which result has another name than the call that it answers, None when none has."""
    called: dict[str | None, str] = {}
    for number, message in enumerate(source.messages):
        for part in message.content:
            if isinstance(part, ToolCallPart):
                called[part.id] = part.name
            elif isinstance(part, ToolResultPart) and part.name not in (None, called.get(part.call_id)):
                return f"message {number}: no call before it has the id and the name {part.name!r} of the result"
    return None


def wire_places(source: ChatInput) -> Iterator[tuple[int, ChatMessage]]:
    """(index on the wire, message) for each message: every result of a tool message is a wire message of its own."""
    index = 0
    for message in source.messages:
        yield index, message
        index += len(message.content) if message.role == "tool" else 1


def wire_messages(source: ChatInput) -> list[dict[str, Any]]:
    """The conversation on the wire. For conversations without misplaced parts."""
    found: list[dict[str, Any]] = []
    for message in source.messages:
        found.extend(_wire(message))
    return found


def _wire(message: ChatMessage) -> Iterator[dict[str, Any]]:
    if message.role == "tool":
        for part in message.content:
            if isinstance(part, ToolResultPart):
                yield {"role": "tool", "tool_call_id": part.call_id, "content": _content(part.content)}
        return
    calls = [part for part in message.content if isinstance(part, ToolCallPart)]
    rest = tuple(part for part in message.content if not isinstance(part, ToolCallPart))
    wire: dict[str, Any] = {"role": message.role}
    if message.name is not None:
        wire["name"] = message.name
    if rest or not calls:
        wire["content"] = _content(rest)
    if calls:
        wire["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments_text or "{}"},
            }
            for call in calls
        ]
    yield wire


def _content(parts: tuple[ContentPart, ...]) -> str | list[dict[str, Any]]:
    """One text is a plain string, which every server takes; anything else is a list of parts."""
    if not parts:
        return ""
    if len(parts) == 1 and isinstance(parts[0], TextPart):
        return parts[0].text
    return [_part(part) for part in parts]


def _part(part: ContentPart) -> dict[str, Any]:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    if isinstance(part, ImagePart):
        image: dict[str, Any] = {"url": part.url if part.url is not None else _data_url(part)}
        if part.detail is not None:
            image["detail"] = part.detail
        return {"type": "image_url", "image_url": image}
    raise TypeError(f"{type(part).__name__} was not refused before it was encoded")


def _data_url(part: ImagePart) -> str:
    return f"data:{part.media_type};base64,{base64.b64encode(part.data or b'').decode()}"
