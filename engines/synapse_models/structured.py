"""The structured answer: parsed from the text of each choice, and held against the schema that was asked for.

Only the text is read. JSON in a reasoning channel is not an answer, and an empty answer is none. ``model.py`` calls
:func:`with_structured_output` on every response to a request with a format. An answer is never refused for a keyword
that ``json_schema.py`` doesn't check; such keywords are named beside the value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from synapse_models.errors import OutputContractViolation
from synapse_models.json_schema import faults, unchecked
from synapse_models.request import Request
from synapse_models.response import Choice, Response, StructuredOutput

_ANY_OBJECT: Final[Mapping[str, Any]] = {"type": "object"}


def with_structured_output(request: Request, response: Response) -> Response:
    """The response with its structured channel filled, or as it is when no format was asked for.

    Raises:
        OutputContractViolation: the text of a choice isn't JSON, or not of the schema. A refused choice is excused.
    """
    form = request.structured_output
    if form.format is None:
        return response
    schema = _ANY_OBJECT if form.schema is None else form.schema
    unlooked = unchecked(schema)
    choices = tuple(
        choice if choice.refusal is not None or choice.tool_calls else _filled(choice, schema, unlooked)
        for choice in response.choices
    )
    return msgspec.structs.replace(response, choices=choices)


def _filled(choice: Choice, schema: Mapping[str, Any], unlooked: tuple[str, ...]) -> Choice:
    try:
        value = msgspec.json.decode(choice.text)
        fault = next(faults(value, schema), None)
    except (msgspec.DecodeError, UnicodeEncodeError):
        raise _violation(choice, "its text isn't JSON") from None
    except RecursionError:
        raise _violation(choice, "it is nested too deeply") from None
    if fault is not None:
        raise _violation(choice, fault)
    return msgspec.structs.replace(choice, structured_output=StructuredOutput(value=value, unchecked=unlooked))


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
