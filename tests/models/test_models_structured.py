"""Structured answers: what of a schema is checked, and what is left to the provider."""

from __future__ import annotations

from typing import Any

import pytest

from synapse_models.structured import faults

POINT = {
    "$defs": {"n": {"type": "number"}},
    "type": "object",
    "properties": {"x": {"$ref": "#/$defs/n"}, "tags": {"type": "array", "items": {"type": "string"}}},
    "required": ["x"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({}, None),
        (True, 5),
        ({"type": "integer"}, 5),
        ({"type": "integer"}, 5.0),
        ({"type": "number"}, 5),
        ({"type": ["string", "null"]}, None),
        ({"const": None}, None),
        ({"enum": [1, "a"]}, "a"),
        (POINT, {"x": 1.5, "tags": []}),
        ({"anyOf": [{"type": "string"}, POINT]}, {"x": 1}),
        ({"allOf": [{"type": "object"}, {"required": ["a"]}]}, {"a": None}),
        ({"prefixItems": [{"type": "string"}], "items": {"type": "null"}}, ["a", None, None]),
        ({"type": "object", "patternProperties": {"^a": {}}, "additionalProperties": False}, {"abc": 1}),
        ({"type": "string", "format": "date", "minLength": 99}, "left to the provider"),
        ({"$ref": "https://elsewhere.example/schema"}, 5),
        ({"$ref": "#/$defs/missing"}, 5),
        ({"type": "surprise"}, 5),
    ],
)
def test_what_is_of_the_schema_passes(schema: Any, value: Any) -> None:
    assert list(faults(value, schema)) == []


@pytest.mark.parametrize(
    ("schema", "value", "fault"),
    [
        (False, 5, "nothing is allowed at /"),
        ({"type": "integer"}, True, "/ isn't of type integer"),
        ({"type": "integer"}, 1.5, "/ isn't of type integer"),
        ({"type": "boolean"}, 1, "/ isn't of type boolean"),
        ({"type": "null"}, False, "/ isn't of type null"),
        ({"const": 1}, True, "/ isn't the constant"),
        ({"enum": [0]}, False, "/ isn't one of the listed values"),
        (POINT, {}, "/ lacks 'x'"),
        (POINT, {"x": "1"}, "/x isn't of type number"),
        (POINT, {"x": 1, "y": 2}, "nothing is allowed at /y"),
        (POINT, {"x": 1, "tags": ["a", 5]}, "/tags/1 isn't of type string"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, 5, "/ fits none of the alternatives"),
        ({"prefixItems": [{"type": "string"}], "items": False}, ["a", 1], "nothing is allowed at /1"),
    ],
)
def test_what_isn_t_says_where(schema: Any, value: Any, fault: str) -> None:
    assert next(faults(value, schema)) == fault


def test_a_schema_that_goes_in_circles_comes_to_an_end() -> None:
    looped = {"$ref": "#"}
    assert list(faults(5, looped)) == []
    tree = {"type": "object", "properties": {"next": {"$ref": "#"}}, "required": ["next"]}
    assert next(faults({"next": {"next": {}}}, tree)) == "/next/next lacks 'next'"
