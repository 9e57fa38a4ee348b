"""The structured answer: parsed from the text of each choice, and held against the schema that was asked for.

Only the text is read. JSON in a reasoning channel is not an answer, and an empty answer is none. ``model.py`` calls
:func:`with_structured_output` on every response to a request with a format.

Of JSON Schema the keywords that providers' strict modes know are checked: ``type``, ``enum``, ``const``,
``properties``, ``required``, ``additionalProperties``, ``items``, ``prefixItems``, ``anyOf``, ``allOf`` and local
``$ref``. Others are left to the provider: an answer is never refused for a keyword that isn't understood here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from synapse_models.errors import OutputContractViolation
from synapse_models.parts import JSONValue
from synapse_models.request import Request
from synapse_models.response import Choice, Response, StructuredOutput

_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "null": (type(None),),
}
_MAX_DEPTH: Final = 64


def with_structured_output(request: Request, response: Response) -> Response:
    """The response with its structured channel filled, or as it is when no format was asked for.

    Raises:
        OutputContractViolation: the text of a choice isn't JSON, or not of the schema. A refused choice is excused.
    """
    if request.structured_output.format is None:
        return response
    schema: Mapping[str, Any] = request.structured_output.schema or {"type": "object"}
    choices = tuple(
        choice if choice.refusal is not None or choice.tool_calls else _filled(choice, schema)
        for choice in response.choices
    )
    return msgspec.structs.replace(response, choices=choices)


def _filled(choice: Choice, schema: Mapping[str, Any]) -> Choice:
    try:
        value = msgspec.json.decode(choice.text)
    except (msgspec.DecodeError, UnicodeEncodeError):
        raise _violation(choice, "its text isn't JSON") from None
    fault = next(faults(value, schema), None)
    if fault is not None:
        raise _violation(choice, fault)
    return msgspec.structs.replace(choice, structured_output=StructuredOutput(value=value))


def _violation(choice: Choice, fault: str) -> OutputContractViolation:
    why = ""
    if choice.finish_reason == "length":
        why = "; the token limit cut it off" if choice.text else "; the token limit was used up before the answer began"
    elif not choice.text:
        why = "; there is no text at all"
    return OutputContractViolation(
        f"choice {choice.index} is not the structured output that was asked for: {fault}{why}",
        channels=("structured_output",),
    )


def faults(value: JSONValue, schema: Mapping[str, Any] | bool) -> Iterator[str]:
    """What is wrong with a value, by JSON pointer. Nothing when it is of the schema."""
    root = schema if isinstance(schema, Mapping) else {}
    return _faults(value, schema, root, "", 0)


def _faults(
    value: JSONValue, schema: Mapping[str, Any] | bool, root: Mapping[str, Any], at: str, depth: int
) -> Iterator[str]:
    if schema is False:
        yield f"nothing is allowed at {at or '/'}"
    if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:
        return
    if isinstance(reference := schema.get("$ref"), str):
        yield from _faults(value, _resolved(reference, root), root, at, depth + 1)
    for inner in schema.get("allOf", ()):
        yield from _faults(value, inner, root, at, depth + 1)
    options = schema.get("anyOf")
    if options and not any(next(_faults(value, one, root, at, depth + 1), None) is None for one in options):
        yield f"{at or '/'} fits none of the alternatives"
    if "const" in schema and not _same(value, schema["const"]):
        yield f"{at or '/'} isn't the constant"
    if "enum" in schema and not any(_same(value, one) for one in schema["enum"]):
        yield f"{at or '/'} isn't one of the listed values"
    names = schema.get("type", ())
    names = (names,) if isinstance(names, str) else tuple(names)
    if names and not any(_is(value, name) for name in names):
        yield f"{at or '/'} isn't of type {' or '.join(names)}"
    elif isinstance(value, dict):
        yield from _object_faults(value, schema, root, at, depth)
    elif isinstance(value, list):
        prefix = schema.get("prefixItems", ())
        for index, item in enumerate(value):
            inner = prefix[index] if index < len(prefix) else schema.get("items", True)
            yield from _faults(item, inner, root, f"{at}/{index}", depth + 1)


def _object_faults(
    value: dict[str, Any], schema: Mapping[str, Any], root: Mapping[str, Any], at: str, depth: int
) -> Iterator[str]:
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{at or '/'} lacks {name!r}"
    properties = schema.get("properties", {})
    patterned = "patternProperties" in schema  # not understood here, so nothing is held against other names
    others = True if patterned else schema.get("additionalProperties", True)
    for name, item in value.items():
        yield from _faults(item, properties.get(name, others), root, f"{at}/{name}", depth + 1)


def _resolved(reference: str, root: Mapping[str, Any]) -> Mapping[str, Any] | bool:
    """The schema at a reference into the same document; anything goes where there is none."""
    here: Any = root
    for step in reference.removeprefix("#").split("/")[1:]:
        here = here.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(here, Mapping) else None
    return here if isinstance(here, Mapping) and reference.startswith("#") else True


def _is(value: JSONValue, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    if name == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES.get(name, (object,)))


def _same(left: JSONValue, right: JSONValue) -> bool:
    """Equality of JSON values: true isn't 1."""
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)
