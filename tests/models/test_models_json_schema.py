"""Schemas: what is checked is exact, and what isn't is named."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from synapse_models.json_schema import MAX_NESTING, _Check, faults, malformed, unchecked
from synapse_models.request import StructuredOutputParams

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
        ({"type": "string", "format": "date", "pattern": "^x$"}, "left to the provider"),
        ({"minLength": 2, "maxLength": 2}, "日本"),
        ({"minLength": 2}, 5),
        ({"minimum": 1, "exclusiveMaximum": 2}, 1.5),
        ({"multipleOf": 0.1}, 0.3),
        ({"exclusiveMinimum": True, "minimum": 1}, 1),
        ({"minItems": 1, "uniqueItems": True}, [1, True, "1", [1], {"a": 1}]),
        ({"contains": {"type": "null"}, "maxContains": 1}, [1, None]),
        ({"contains": {"type": "null"}, "minContains": 0}, []),
        ({"oneOf": [{"type": "string"}, {"minimum": 3}]}, 3),
        ({"oneOf": [{"pattern": "^a"}, {"pattern": "^b"}]}, "a"),
        ({"not": {"pattern": "^a"}}, "a"),
        ({"not": {"type": "string"}}, 5),
        ({"if": {"required": ["a"]}, "then": {"required": ["b"]}}, {"c": 1}),
        ({"if": {"properties": {"a": {"pattern": "x"}}}, "then": False}, {"a": "y"}),
        ({"dependentRequired": {"a": ["b"]}}, {"b": 1}),
        ({"propertyNames": {"maxLength": 1}, "maxProperties": 2}, {"a": 1, "b": 2}),
        ({"items": [{"type": "string"}]}, ["a", 5]),
        ({"$ref": "#/anyOf/1", "anyOf": [{"type": "string"}, {"type": "integer"}]}, 5),
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
        ({"const": {"a": [1]}}, {"a": [True]}, "/ isn't the constant"),
        ({"minLength": 2}, "é", "/ has 1 characters, and 2 are the least"),
        ({"maxLength": 0}, "a", "/ has 1 characters, and 0 are the most"),
        ({"minimum": 0}, -0.5, "/ is below 0"),
        ({"exclusiveMinimum": 0}, 0, "/ is not above 0"),
        ({"maximum": 0}, 1, "/ is above 0"),
        ({"exclusiveMaximum": 1}, 1.0, "/ is not below 1"),
        ({"multipleOf": 0.1}, 0.35, "/ isn't a multiple of 0.1"),
        ({"maxItems": 1}, [1, 2], "/ has 2 items, and 1 are the most"),
        ({"uniqueItems": True}, [1, {"a": 1.0}, {"a": 1}], "/2 is there twice"),
        ({"contains": {"type": "null"}}, [1], "/ contains 0 of what it must contain, and 1 are needed"),
        ({"contains": {}, "maxContains": 1}, [1, 2], "/ contains 2 of what it may contain 1 of"),
        ({"oneOf": [{"type": "integer"}, {"minimum": 3}]}, 3, "/ fits 2 of the alternatives, and one is allowed"),
        ({"oneOf": [{"type": "null"}, {"type": "string"}]}, 3, "/ fits none of the alternatives"),
        ({"not": {"type": "integer"}}, 3, "/ is what it must not be"),
        ({"if": {"required": ["a"]}, "then": {"required": ["b"]}}, {"a": 1}, "/ lacks 'b'"),
        ({"if": {"required": ["a"]}, "else": {"required": ["b"]}}, {}, "/ lacks 'b'"),
        ({"dependentRequired": {"a": ["b"]}}, {"a": 1}, "/ has 'a' and lacks 'b'"),
        ({"dependentSchemas": {"a": {"maxProperties": 1}}}, {"a": 1, "b": 2}, "/ has 2 members, and 1 are the most"),
        ({"minProperties": 1}, {}, "/ has 0 members, and 1 are the least"),
        ({"propertyNames": {"maxLength": 1}}, {"a/b": 1}, "/a~1b has 3 characters, and 1 are the most"),
        ({"items": [{"type": "string"}]}, [5], "/0 isn't of type string"),
    ],
)
def test_what_isn_t_says_where(schema: Any, value: Any, fault: str) -> None:
    assert next(faults(value, schema)) == fault


def test_a_schema_that_goes_in_circles_comes_to_an_end() -> None:
    looped = {"$ref": "#"}
    assert list(faults(5, looped)) == []
    tree = {"type": "object", "properties": {"next": {"$ref": "#"}}, "required": ["next"]}
    assert next(faults({"next": {"next": {}}}, tree)) == "/next/next lacks 'next'"


def expressions(key: str) -> dict[str, Any]:
    """A tree of two kinds of nodes that are told apart by what comes after their children."""
    nodes = {
        name: {
            "type": "object",
            "properties": {"left": {"$ref": "#/$defs/any"}, "op": {"const": name}},
            "required": ["left", "op"],
        }
        for name in ("add", "mul")
    }
    either = {key: [{"$ref": "#/$defs/add"}, {"$ref": "#/$defs/mul"}, {"type": "number"}]}
    return {"$defs": {**nodes, "any": either}, "$ref": "#/$defs/any"}


TWICE = {"properties": {"left": {"$ref": "#"}}, "required": ["op"]}


@pytest.mark.parametrize(
    ("schema", "innermost", "fault"),
    [
        (expressions("anyOf"), 1, None),
        (expressions("oneOf"), 1, None),
        (expressions("anyOf"), "x", "/ fits none of the alternatives"),
        ({"allOf": [TWICE, {**TWICE}]}, 1, None),
        ({"allOf": [TWICE, {**TWICE}]}, {}, f"{'/left' * 40} lacks 'op'"),
        ({"if": TWICE, "then": {**TWICE}}, 1, None),
        ({"not": {"not": TWICE}, **TWICE}, 1, None),
        ({"allOf": [{"$ref": "#"}, {"$ref": "#"}]}, 1, None),
        ({"anyOf": [{"$ref": "#/$defs/no"}, {"$ref": "#"}], "$defs": {"no": False}}, 1, None),
    ],
)
def test_the_work_grows_with_the_value_and_doesn_t_double_with_its_levels(
    monkeypatch: pytest.MonkeyPatch, schema: Any, innermost: Any, fault: str | None
) -> None:
    value = innermost
    for _ in range(40):
        value = {"left": value, "op": "mul"}
    steps = 0
    looked = _Check.faults

    def counting(*args: Any) -> Iterator[str]:
        nonlocal steps
        steps += 1
        assert steps < 10_000
        return looked(*args)

    monkeypatch.setattr(_Check, "faults", counting)
    assert next(faults(value, schema), None) == fault


def test_faults_that_two_ways_lead_to_are_told_by_both() -> None:
    schema = {"allOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}], "$defs": {"a": {"required": ["b", "c"]}}}
    assert list(faults({}, schema)) == ["/ lacks 'b'", "/ lacks 'c'"] * 2
    again = {"anyOf": [{"$ref": "#/$defs/a"}], "allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"required": ["b"]}}}
    assert list(faults({}, again)) == ["/ lacks 'b'", "/ fits none of the alternatives"]


def test_a_deep_value_is_checked_to_its_end_and_a_bottomless_one_is_a_fault() -> None:
    tree = {"type": "object", "properties": {"next": {"$ref": "#"}}, "required": ["leaf"]}
    deep: dict[str, Any] = {}
    for _ in range(MAX_NESTING - 1):
        deep = {"leaf": 1, "next": deep}
    assert next(faults(deep, tree)).endswith("/next lacks 'leaf'")
    for _ in range(2):
        deep = {"leaf": 1, "next": deep}
    assert "nested deeper than 200 levels" in next(faults(deep, tree))


@pytest.mark.parametrize(
    ("schema", "names"),
    [
        (POINT, ()),
        (True, ()),
        ({"title": "t", "description": "d", "default": 1, "$defs": {"a": {"pattern": "x"}}}, ()),
        ({"properties": {"a": {"pattern": "x"}, "b": {"items": {"format": "date"}}}}, ("format", "pattern")),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"unevaluatedProperties": False}}}, ("unevaluatedProperties",)),
        ({"anyOf": [{"$ref": "https://elsewhere.example/schema"}]}, ("$ref",)),
        ({"$ref": "#/$defs/missing"}, ("$ref",)),
        ({"items": {"$ref": "#"}}, ()),
        # A member that is called like a keyword is no keyword.
        ({"properties": {"format": {"type": "string"}}}, ()),
    ],
)
def test_keywords_that_nobody_here_checks_are_named(schema: Any, names: tuple[str, ...]) -> None:
    assert unchecked(schema) == names


@pytest.mark.parametrize(
    ("schema", "fault"),
    [
        (POINT, None),
        ({"additionalProperties": True, "items": [{}, False], "x-anything": [1]}, None),
        ([], "/ must be a schema: an object, true or false"),
        ({"properties": []}, "/properties must hold schemas by name"),
        ({"properties": {"a/b": {"minLength": "2"}}}, "/properties/a~1b/minLength must be a number"),
        ({"anyOf": {"type": "string"}}, "/anyOf must be a list of schemas"),
        ({"oneOf": [1]}, "/oneOf/0 must be a schema: an object, true or false"),
        ({"$defs": {"a": {"required": "b"}}}, "/$defs/a/required must be a list"),
        ({"type": 5}, "/type must be a word or a list of them"),
        ({"items": [{"maximum": True}]}, "/items/0/maximum must be a number"),
        ({"dependentRequired": {"a": "b"}}, "/dependentRequired must hold lists of names"),
    ],
)
def test_what_is_no_schema_is_refused_before_anybody_is_asked(schema: Any, fault: str | None) -> None:
    assert malformed(schema) == fault
    if fault is not None and isinstance(schema, dict):
        with pytest.raises(ValueError, match=re.escape(fault)):
            StructuredOutputParams(format="json_schema", schema=schema)
