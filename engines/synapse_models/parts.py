"""What a message is made of, on the way out and on the way back: text, images, tool calls, tool results.

Pure records. Requests are built from them, responses contain them, dialects translate them; nothing here does I/O.
A part whose kind nobody here knows is an :class:`UnknownPart`: it is kept, shown to the audit and refused or passed
on by the dialect, but never skipped.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Struct, UnsetType

JSONValue: TypeAlias = Any
"""A value that JSON can spell: None, bool, int, finite float, str, list or dict with string keys, nested."""

Role = Literal["system", "developer", "user", "assistant", "tool"]
ImageDetail = Literal["auto", "low", "high", "original"]
InputModality = Literal["text", "image", "audio", "video", "document"]

IMAGE_MEDIA_TYPES: Final = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""What every provider that takes images accepts. Vector graphics are refused: no provider rasterises them."""
_HALF_CHARACTER: Final = re.compile("[\ud800-\udfff]")
_MEDIA_TYPE_SPELLINGS: Final = {"image/jpg": "image/jpeg", "image/pjpeg": "image/jpeg"}


class Record(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The base of every record of the model plane: immutable, named fields, defaults left out of the JSON."""


class Asked(Record, frozen=True, forbid_unknown_fields=True):
    """The base of records that only callers write: a field that nobody knows is refused, not dropped."""


class TextPart(Asked, frozen=True, tag="text", tag_field="kind"):
    """Plain text. Empty text is legal and stays a part."""

    text: str


class ImagePart(Asked, frozen=True, tag="image", tag_field="kind"):
    """One image: either where it is (``url``) or what it is (``data`` with its ``media_type``).

    Raises ValueError for both or neither, for bytes without a media type, and for a type outside
    :data:`IMAGE_MEDIA_TYPES`. ``image/jpg`` is read as ``image/jpeg``, the registered name.
    """

    url: str | None = None
    data: bytes | None = None
    media_type: str | None = None
    detail: ImageDetail | None = None

    def __post_init__(self) -> None:
        if (self.url is None) == (self.data is None):
            raise ValueError("an image has either a url or data")
        if self.data is not None and self.media_type is None:
            raise ValueError("image data needs its media type")
        if self.media_type is not None:
            spelled = _MEDIA_TYPE_SPELLINGS.get(self.media_type.lower(), self.media_type.lower())
            if spelled not in IMAGE_MEDIA_TYPES:
                raise ValueError(f"image type {self.media_type!r} is not one of {', '.join(IMAGE_MEDIA_TYPES)}")
            msgspec.structs.force_setattr(self, "media_type", spelled)


class ToolCallPart(Record, frozen=True, tag="tool_call", tag_field="kind"):
    """A call that the model asked for.

    ``id`` is what the provider reported: absent and empty stay distinct, and none is invented. ``arguments_text`` is
    the arguments exactly as received; ``arguments`` is the same parsed, and unset when the text isn't JSON.
    """

    name: str
    arguments_text: str
    arguments: JSONValue | UnsetType = UNSET
    id: str | None = None


class UnknownPart(Asked, frozen=True, tag="unknown", tag_field="kind"):
    """A part of a kind that has no record here. ``raw`` is its JSON text as received."""

    provider_kind: str
    raw: str


class ToolResultPart(Asked, frozen=True, tag="tool_result", tag_field="kind"):
    """What a tool answered. ``content`` may hold images where the dialect can say so."""

    call_id: str | None
    content: tuple[TextPart | ImagePart | UnknownPart, ...]
    name: str | None = None
    is_error: bool = False


ContentPart: TypeAlias = TextPart | ImagePart | ToolCallPart | ToolResultPart | UnknownPart


class ProviderItems(Record, frozen=True):
    """The provider's own record of one assistant turn, to be sent back as it came.

    ``items`` is the JSON text of each item, in order: signatures, encrypted reasoning and item ids are only valid
    byte for byte and in their place. They replay to the same dialect and wire version, or not at all.
    """

    dialect_id: str
    wire_version: str
    model_id: str
    items: tuple[str, ...]


class ChatMessage(Asked, frozen=True):
    """One turn. With ``provider_items``, a dialect sends those in place of ``content``, which then is what we read."""

    role: Role
    content: tuple[ContentPart, ...]
    name: str | None = None
    provider_items: ProviderItems | None = None


def is_json(value: Any) -> bool:
    """Whether JSON carries a value, or a record of such values, unchanged.

    It doesn't carry infinities, NaN, half a character, keys that aren't text, objects of any other type, and what
    holds itself or is nested too deep to be written.
    """
    try:
        return _is_json(value)
    except RecursionError:
        return False


def _is_json(value: Any) -> bool:
    if isinstance(value, str):
        return value.isascii() or _HALF_CHARACTER.search(value) is None
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, Mapping):
        return all(isinstance(key, str) and _is_json(key) and _is_json(item) for key, item in value.items())
    if isinstance(value, list | tuple):
        return all(map(_is_json, value))
    if isinstance(value, Struct):
        return all(_is_json(getattr(value, name)) for name in value.__struct_fields__)
    return value is None or isinstance(value, bool | int)


def text_message(role: Role, text: str) -> ChatMessage:
    """A turn of one text part, the commonest there is."""
    return ChatMessage(role=role, content=(TextPart(text=text),))
