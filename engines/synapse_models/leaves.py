"""The catalogue of request leaves: every place of a request where a caller can have an opinion.

Derived from the request's own types, so that a new field is a new leaf and breaks every dialect that doesn't decide
it. What a conversation contains counts as leaves too (an image, a tool result, replayed provider state), each found by
a function here: a dialect that can't say it must refuse it. The content itself stays opaque.

The audit and the dialects read :data:`LEAVES`; ``model.py`` calls :func:`active_leaves` for each request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from msgspec import NODEFAULT, Struct, structs

from synapse_models.capabilities import leaf_owner
from synapse_models.parts import (
    ChatMessage,
    ContentPart,
    ImagePart,
    JSONValue,
    Record,
    ToolCallPart,
    ToolResultPart,
    UnknownPart,
)
from synapse_models.request import ChatInput, CompletionInput, DialectOptions, ModelInput, Request

OPTION_PREFIX: Final = "dialect_options."
"""Leaves of this prefix are one a key: ``dialect_options.service_tier``."""


class Leaf(Record, frozen=True):
    """One leaf. ``capability`` is the key that it asks for, or None when every model is expected to have it."""

    path: str
    capability: str | None
    meaning: str


def _messages(source: ModelInput) -> Iterator[ChatMessage]:
    if isinstance(source, ChatInput):
        yield from source.messages


def _parts(source: ModelInput) -> Iterator[ContentPart]:
    for message in _messages(source):
        yield from message.content


def _results(source: ModelInput) -> Iterator[ToolResultPart]:
    return (part for part in _parts(source) if isinstance(part, ToolResultPart))


def _result_parts(source: ModelInput) -> Iterator[ContentPart]:
    for result in _results(source):
        yield from result.content


def _suffix(source: ModelInput) -> JSONValue:
    return source.suffix if isinstance(source, CompletionInput) else None


def _images(source: ModelInput) -> Any:
    return tuple(part for part in _parts(source) if isinstance(part, ImagePart)) or None


def _image_detail(source: ModelInput) -> Any:
    every = (*_parts(source), *_result_parts(source))
    return tuple(part.detail for part in every if isinstance(part, ImagePart) and part.detail is not None) or None


def _image_types(source: ModelInput) -> Any:
    """The types of images that aren't here themselves; of bytes, the type is part of what they are."""
    every = (*_parts(source), *_result_parts(source))
    linked = (part for part in every if isinstance(part, ImagePart) and part.url is not None)
    return tuple(part.media_type for part in linked if part.media_type is not None) or None


def _tool_calls(source: ModelInput) -> Any:
    return tuple(part for part in _parts(source) if isinstance(part, ToolCallPart)) or None


def _tool_results(source: ModelInput) -> Any:
    return tuple(_results(source)) or None


def _tool_result_images(source: ModelInput) -> Any:
    return tuple(part for part in _result_parts(source) if isinstance(part, ImagePart)) or None


def _tool_result_errors(source: ModelInput) -> Any:
    return tuple(result for result in _results(source) if result.is_error) or None


def _tool_result_names(source: ModelInput) -> Any:
    return tuple(result for result in _results(source) if result.name is not None) or None


def _unknown_parts(source: ModelInput) -> Any:
    every = (*_parts(source), *_result_parts(source))
    return tuple(part for part in every if isinstance(part, UnknownPart)) or None


def _names(source: ModelInput) -> Any:
    return tuple(message.name for message in _messages(source) if message.name is not None) or None


def _provider_items(source: ModelInput) -> Any:
    kept = (message.provider_items for message in _messages(source))
    return tuple(items for items in kept if items is not None) or None


def _prefill(source: ModelInput) -> Any:
    if isinstance(source, ChatInput) and source.messages[-1].role == "assistant":
        return source.messages[-1]
    return None


_INPUT_LEAVES: Final[Mapping[str, tuple[Callable[[ModelInput], Any], str]]] = {
    "input": (lambda source: source, "the text or the conversation; always active"),
    "input.suffix": (_suffix, "the text after the gap"),
    "input.images": (_images, "images in a message"),
    "input.image_detail": (_image_detail, "how closely an image is looked at"),
    "input.image_types": (_image_types, "of which type a linked image is"),
    "input.tool_calls": (_tool_calls, "calls of an earlier turn"),
    "input.tool_results": (_tool_results, "results of earlier calls"),
    "input.tool_result_images": (_tool_result_images, "images in a tool's result"),
    "input.tool_result_errors": (_tool_result_errors, "results marked as failures"),
    "input.tool_result_names": (_tool_result_names, "names of the functions that results come from"),
    "input.unknown_parts": (_unknown_parts, "parts of a kind that has no record"),
    "input.names": (_names, "names of speakers"),
    "input.provider_items": (_provider_items, "provider state of earlier turns, sent back as it came"),
    "input.prefill": (_prefill, "a last message by the assistant, to be continued"),
}

_MEANINGS: Final[Mapping[str, str]] = {
    "sampling.temperature": "spread of the draw",
    "sampling.top_p": "probability mass to draw from",
    "sampling.top_k": "number of candidates to draw from",
    "sampling.max_tokens": "most tokens to generate",
    "sampling.stop": "texts that end the answer",
    "sampling.seed": "seed of the draw",
    "sampling.frequency_penalty": "penalty by count",
    "sampling.presence_penalty": "penalty by presence",
    "sampling.n": "number of answers",
    "scoring.input_scoring": "a score for every input token",
    "scoring.sampled_logprobs": "log-probabilities of generated tokens",
    "scoring.top_logprobs": "alternatives at each position",
    "reasoning.effort": "how hard to think, in words",
    "reasoning.budget_tokens": "how long to think, in tokens",
    "reasoning.summary": "whether and how thinking is shown",
    "tools.functions": "functions that the caller runs",
    "tools.choice": "whether and which function must be called",
    "tools.parallel": "several calls in one turn",
    "tools.hosted": "tools that the provider runs",
    "structured_output.format": "form of the answer",
    "structured_output.schema": "schema of the answer",
    "structured_output.name": "name of the schema",
    "structured_output.strict": "whether the schema binds",
    "session.previous_response_id": "the response to go on from",
    "scheduling.stream": "the answer arrives in pieces",
}


def _grouped_fields() -> Iterator[tuple[str, str, Any]]:
    """(group, field, default) for every field of every parameter group of a request, in declaration order."""
    for group in structs.fields(Request):
        if isinstance(group.default, Struct):
            for field in structs.fields(type(group.default)):
                if field.default is NODEFAULT and field.default_factory is NODEFAULT:
                    raise TypeError(f"{group.name}.{field.name} has no default, so it can't mean 'no opinion'")
                yield group.name, field.name, getattr(group.default, field.name)


_DEFAULTS: Final = {f"{group}.{name}": (group, name, default) for group, name, default in _grouped_fields()}

_TYPES: Final = {
    (group.name, field.name): field.type
    for group in structs.fields(Request)
    if isinstance(group.default, Struct)
    for field in structs.fields(type(group.default))
}

LEAVES: Final[Mapping[str, Leaf]] = {
    path: Leaf(path=path, capability=leaf_owner(path), meaning=meaning)
    for path, meaning in (
        *((path, meaning) for path, (_, meaning) in _INPUT_LEAVES.items()),
        *((path, _MEANINGS[path]) for path in _DEFAULTS),
    )
}
"""Every leaf that exists whatever the dialect. Options of a dialect come on top, one leaf a key."""


def leaf(path: str) -> Leaf:
    """The leaf at ``path``, one of :data:`LEAVES` or an option of a dialect. Raises KeyError for any other."""
    if path.startswith(OPTION_PREFIX) and len(path) > len(OPTION_PREFIX):
        return Leaf(path=path, capability=None, meaning="a key that only one dialect understands")
    return LEAVES[path]


def leaf_type(path: str) -> Any:
    """The type of the values of a leaf of a parameter group. Raises KeyError for any other path."""
    group, name, _ = _DEFAULTS[path]
    return _TYPES[group, name]


def _same(left: Any, right: Any) -> bool:
    """Equality that tells 0 from False and 1 from True."""
    return type(left) is type(right) and bool(left == right)


def active_leaves(request: Request) -> dict[str, Any]:
    """The leaves on which ``request`` has an opinion, with their values, in the catalogue's order.

    A value equal to its default is no opinion; ``None`` under a dialect option is one.
    """
    active: dict[str, Any] = {}
    for path, (find, _) in _INPUT_LEAVES.items():
        found = find(request.input)
        if found is not None:
            active[path] = found
    for path, (group, name, default) in _DEFAULTS.items():
        value = getattr(getattr(request, group), name)
        if not _same(value, default):
            active[path] = value
    options: DialectOptions | None = request.dialect_options
    if options is not None:
        for key in sorted(options.values):
            active[OPTION_PREFIX + key] = options.values[key]
    return active
