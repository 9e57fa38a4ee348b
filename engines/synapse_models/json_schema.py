"""Whether a JSON value is of a schema, for the keywords whose meaning is certain, and which others a schema has.

``structured.py`` asks both questions of every answer to a request with a schema. What is checked here is exact; what
isn't (regular expressions, which could take forever, and keywords that need other documents) is named by
:func:`unchecked`, so that nobody takes an answer for more than was looked at. Draft 2020-12, with ``definitions`` and
list-valued ``items`` of earlier ones. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from fractions import Fraction
from typing import Any, Final, TypeAlias

from synapse_models.parts import JSONValue

Schema: TypeAlias = Mapping[str, Any] | bool

MAX_NESTING: Final = 200
"""Deepest value that is looked at; a deeper one is a fault."""

_MAX_HOPS: Final = 64
"""References followed at one place of a value; beyond it, they go in circles and say nothing."""

_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "null": (type(None),),
}

_ONE: Final = ("not", "if", "then", "else", "additionalProperties", "propertyNames", "contains", "items")
_MANY: Final = ("allOf", "anyOf", "oneOf", "prefixItems")
_NAMED: Final = ("properties", "dependentSchemas", "patternProperties")
"""Keywords that hold a schema, a list of them, or schemas by name."""

_UNCHECKED: Final = frozenset(
    {
        "pattern",
        "patternProperties",
        "format",
        "contentEncoding",
        "contentMediaType",
        "contentSchema",
        "unevaluatedProperties",
        "unevaluatedItems",
        "additionalItems",
        "dependencies",
        "$dynamicRef",
        "$recursiveRef",
    }
)
"""Keywords that may assert something and that nothing here looks at."""


def unchecked(schema: Schema) -> tuple[str, ...]:
    """The keywords of ``schema``, at whatever depth, to which no value is held here, sorted."""
    found: set[str] = set()
    root = schema if isinstance(schema, Mapping) else {}
    _collect(schema, root, found, set())
    return tuple(sorted(found))


def _collect(schema: Schema, root: Mapping[str, Any], found: set[str], seen: set[int]) -> None:
    if not isinstance(schema, Mapping) or id(schema) in seen:
        return
    seen.add(id(schema))
    found |= _UNCHECKED & schema.keys()
    if "$ref" in schema:
        target = _resolved(schema["$ref"], root)
        if target is None:
            found.add("$ref")
        else:
            _collect(target, root, found, seen)
    for place, inner in _parts(schema):
        if not place.startswith(("$defs/", "definitions/")):
            _collect(inner, root, found, seen)


_NUMBERS: Final = (
    *("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
    *("minContains", "maxContains", "multipleOf", "minimum", "maximum"),
)


def malformed(schema: Any, at: str = "") -> str | None:
    """Why ``schema`` is no schema, or None. Keywords that aren't looked at may be anything."""
    if isinstance(schema, bool):
        return None
    if not isinstance(schema, Mapping):
        return f"{at or '/'} must be a schema: an object, true or false"
    for key in _NUMBERS:
        if key in schema and (isinstance(schema[key], bool) or not isinstance(schema[key], int | float)):
            return f"{at}/{key} must be a number"
    for key in ("required", "enum"):
        if key in schema and not isinstance(schema[key], list | tuple):
            return f"{at}/{key} must be a list"
    if "type" in schema and not isinstance(schema["type"], str | list | tuple):
        return f"{at}/type must be a word or a list of them"
    dependent = schema.get("dependentRequired", {})
    if not isinstance(dependent, Mapping) or not all(isinstance(names, list | tuple) for names in dependent.values()):
        return f"{at}/dependentRequired must hold lists of names"
    for key in _MANY:
        if key in schema and not isinstance(schema[key], list | tuple):
            return f"{at}/{key} must be a list of schemas"
    for key in (*_NAMED, "$defs", "definitions"):
        if key in schema and not isinstance(schema[key], Mapping):
            return f"{at}/{key} must hold schemas by name"
    return next(filter(None, (malformed(inner, f"{at}/{place}") for place, inner in _parts(schema))), None)


def _parts(schema: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key in _ONE:
        if key == "items" and isinstance(schema.get(key), list | tuple):
            yield from ((f"{key}/{index}", one) for index, one in enumerate(schema[key]))
        elif key in schema:
            yield key, schema[key]
    for key in _MANY:
        yield from ((f"{key}/{index}", one) for index, one in enumerate(schema.get(key, ())))
    for key in (*_NAMED, "$defs", "definitions"):
        yield from ((f"{key}/{_escaped(name)}", one) for name, one in schema.get(key, {}).items())


def faults(value: JSONValue, schema: Schema) -> Iterator[str]:
    """What is wrong with a value, by JSON pointer. Nothing when all that can be checked holds."""
    check = _Check(schema if isinstance(schema, Mapping) else {})
    for fault in check.faults(value, schema, "", 0, 0):
        check.told += 1
        yield fault


_Place: TypeAlias = tuple[int, int, int, int]
"""A value and a schema by identity, and the depth and the hops that led to them: together they decide the outcome."""


class _Check:
    """One value against one document of schemas.

    Where schemas refer to each other by several ways, all of them lead to the same places, so what is known of a place
    is kept: without that the work would double with every level of a value. ``told`` is the number of faults that
    whoever asked for all of them has received.
    """

    def __init__(self, root: Mapping[str, Any]) -> None:
        self.told = 0
        self._root = root
        self._certainty: dict[int, bool] = {}
        self._fitting: dict[_Place, bool] = {}

    def faults(self, value: JSONValue, schema: Schema, at: str, depth: int, hops: int) -> Iterator[str]:
        if schema is False:
            yield f"nothing is allowed at {at or '/'}"
        if not isinstance(schema, Mapping) or hops > _MAX_HOPS:
            return
        place, before = (id(value), id(schema), depth, hops), self.told
        if self._fitting.get(place):
            return
        if depth > MAX_NESTING:
            yield f"{at[:40]}… is nested deeper than {MAX_NESTING} levels"
            return
        if "$ref" in schema and (target := _resolved(schema["$ref"], self._root)) is not None:
            yield from self.faults(value, target, at, depth, hops + 1)
        yield from self._combined(value, schema, at, depth, hops)
        if "const" in schema and not same(value, schema["const"]):
            yield f"{at or '/'} isn't the constant"
        if "enum" in schema and not any(same(value, one) for one in schema["enum"]):
            yield f"{at or '/'} isn't one of the listed values"
        names = schema.get("type", ())
        names = (names,) if isinstance(names, str) else tuple(names)
        if names and not any(_is(value, name) for name in names):
            yield f"{at or '/'} isn't of type {' or '.join(names)}"
        elif isinstance(value, dict):
            yield from self._object(value, schema, at, depth)
        elif isinstance(value, list):
            yield from self._array(value, schema, at, depth)
        elif isinstance(value, str):
            yield from _bounds(len(value), schema, ("minLength", "maxLength"), at, "characters")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield from _number(value, schema, at)
        # Here comes only who yielded no fault, or had each of them taken by the one who asked for all.
        if self.told == before:
            self._fitting[place] = True

    def _fits(self, value: JSONValue, schema: Schema, at: str, depth: int, hops: int) -> bool:
        place = (id(value), id(schema), depth, hops)
        if place not in self._fitting:
            self._fitting[place] = next(self.faults(value, schema, at, depth, hops), None) is None
        return self._fitting[place]

    def _certain(self, schema: Schema) -> bool:
        """False when a value could fail ``schema`` for a keyword that isn't looked at."""
        if id(schema) not in self._certainty:
            found: set[str] = set()
            _collect(schema, self._root, found, set())
            self._certainty[id(schema)] = not found
        return self._certainty[id(schema)]

    def _combined(self, value: JSONValue, schema: Mapping[str, Any], at: str, depth: int, hops: int) -> Iterator[str]:
        for inner in schema.get("allOf", ()):
            yield from self.faults(value, inner, at, depth, hops + 1)
        options = schema.get("anyOf")
        for one in options or ():  # a loop, because each level of a value counts towards Python's limit of nesting
            if self._fits(value, one, at, depth, hops + 1):
                break
        else:
            if options:
                yield f"{at or '/'} fits none of the alternatives"
        options = schema.get("oneOf")
        if options:
            fitting = [one for one in options if self._fits(value, one, at, depth, hops + 1)]
            if not fitting:
                yield f"{at or '/'} fits none of the alternatives"
            elif len(fitting) > 1 and sum(map(self._certain, fitting)) > 1:
                yield f"{at or '/'} fits {len(fitting)} of the alternatives, and one is allowed"
        if "not" in schema and self._certain(schema["not"]) and self._fits(value, schema["not"], at, depth, hops + 1):
            yield f"{at or '/'} is what it must not be"
        if "if" in schema:
            condition = schema["if"]
            if not self._fits(value, condition, at, depth, hops + 1):
                yield from self.faults(value, schema.get("else", True), at, depth, hops + 1)
            elif self._certain(condition):
                yield from self.faults(value, schema.get("then", True), at, depth, hops + 1)

    def _object(self, value: dict[str, Any], schema: Mapping[str, Any], at: str, depth: int) -> Iterator[str]:
        for name in schema.get("required", ()):
            if name not in value:
                yield f"{at or '/'} lacks {name!r}"
        for name, others in schema.get("dependentRequired", {}).items():
            for other in others if name in value else ():
                if other not in value:
                    yield f"{at or '/'} has {name!r} and lacks {other!r}"
        yield from _bounds(len(value), schema, ("minProperties", "maxProperties"), at, "members")
        if "propertyNames" in schema:
            for name in value:
                yield from self.faults(name, schema["propertyNames"], f"{at}/{_escaped(name)}", depth + 1, 0)
        properties = schema.get("properties", {})
        # Which names a pattern allows isn't known, so nothing is held against names beside the listed ones.
        rest: Schema = True if "patternProperties" in schema else schema.get("additionalProperties", True)
        for name, item in value.items():
            yield from self.faults(item, properties.get(name, rest), f"{at}/{_escaped(name)}", depth + 1, 0)
        for name, inner in schema.get("dependentSchemas", {}).items():
            if name in value:
                yield from self.faults(value, inner, at, depth + 1, 0)

    def _array(self, value: list[Any], schema: Mapping[str, Any], at: str, depth: int) -> Iterator[str]:
        yield from _bounds(len(value), schema, ("minItems", "maxItems"), at, "items")
        items = schema.get("items", True)
        prefix, rest = (items, True) if isinstance(items, list | tuple) else (schema.get("prefixItems", ()), items)
        for index, item in enumerate(value):
            inner = prefix[index] if index < len(prefix) else rest
            yield from self.faults(item, inner, f"{at}/{index}", depth + 1, 0)
        if schema.get("uniqueItems") is True:
            seen: set[Hashable] = set()
            for index, item in enumerate(value):
                if (key := _key(item)) in seen:
                    yield f"{at}/{index} is there twice"
                seen.add(key)
        if "contains" in schema:
            fitting = sum(self._fits(item, schema["contains"], at, depth + 1, 0) for item in value)
            least, most = schema.get("minContains", 1), schema.get("maxContains")
            if fitting < least:
                yield f"{at or '/'} contains {fitting} of what it must contain, and {least} are needed"
            if most is not None and fitting > most and self._certain(schema["contains"]):
                yield f"{at or '/'} contains {fitting} of what it may contain {most} of"


def _bounds(size: int, schema: Mapping[str, Any], keys: tuple[str, str], at: str, what: str) -> Iterator[str]:
    least, most = schema.get(keys[0]), schema.get(keys[1])
    if least is not None and size < least:
        yield f"{at or '/'} has {size} {what}, and {least} are the least"
    if most is not None and size > most:
        yield f"{at or '/'} has {size} {what}, and {most} are the most"


_COMPARED: Final[Mapping[str, tuple[str, Callable[[Any, Any], bool]]]] = {
    "minimum": ("below", lambda value, bound: value < bound),
    "exclusiveMinimum": ("not above", lambda value, bound: value <= bound),
    "maximum": ("above", lambda value, bound: value > bound),
    "exclusiveMaximum": ("not below", lambda value, bound: value >= bound),
}


def _number(value: int | float, schema: Mapping[str, Any], at: str) -> Iterator[str]:
    for key, (word, wrong) in _COMPARED.items():
        bound = schema.get(key)
        # Draft 4 had a boolean here, which qualifies another keyword.
        if isinstance(bound, int | float) and not isinstance(bound, bool) and wrong(value, bound):
            yield f"{at or '/'} is {word} {bound}"
    step = schema.get("multipleOf")
    if step and Fraction(repr(value)) % Fraction(repr(step)):
        yield f"{at or '/'} isn't a multiple of {step}"


def _resolved(reference: Any, root: Mapping[str, Any]) -> Schema | None:
    """The schema at a reference into the same document; None where there is none."""
    if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
        return None
    here: Any = root
    for step in reference.removeprefix("#").split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(here, Mapping) and name in here:
            here = here[name]
        elif isinstance(here, list | tuple) and name.isdecimal() and int(name) < len(here):
            here = here[int(name)]
        else:
            return None
    return here if isinstance(here, Mapping | bool) else None


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _is(value: JSONValue, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    if name == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES.get(name, (object,)))


def same(left: JSONValue, right: JSONValue) -> bool:
    """Equality of JSON values, at whatever depth: true isn't 1, and 1 is 1.0."""
    return _key(left) == _key(right)


def _key(value: JSONValue) -> Hashable:
    """Something that is equal for equal JSON values, and for no others."""
    if isinstance(value, bool):
        return "boolean", value
    if isinstance(value, Mapping):
        return "object", frozenset((name, _key(item)) for name, item in value.items())
    if isinstance(value, list | tuple):
        return "array", tuple(map(_key, value))
    scalar: Hashable = value
    return scalar
