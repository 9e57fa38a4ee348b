"""Tells where a page of the contract and the code of ``synapse_wire`` say different things.

:func:`differences` returns one sentence for each, in a fixed order, and nothing when the two agree. The types of the
code are read with msgspec's introspection and written in the words that the pages use. Only the tests call this.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec.inspect as mi
from msgspec import NODEFAULT

from synapse_wire.errors import ERRORS, ErrorSpec
from synapse_wire.operations import Operation, allowed_in_flow
from synapse_wire.params import NO_CONTROL, SAFE_INT
from wire.contract_document import Document, ErrorText, FieldText, OperationText, normal_type

TEXTS: Final[Mapping[str, tuple[int | None, int | None, str | None]]] = {
    "name": (1, 256, NO_CONTROL),
    "label": (None, 512, NO_CONTROL),
    "url": (1, 4096, NO_CONTROL),
    "path": (None, 4096, None),
    "sha256": (None, None, r"^[0-9a-f]{64}\Z"),
    "string": (None, None, None),
}
"""The words of the pages for texts: shortest, longest, pattern."""


def differences(
    document: Document,
    *,
    operations: Mapping[str, Operation],
    errors: Iterable[ErrorSpec],
    numbers: Iterable[tuple[int, str]],
    shapes: Mapping[str, type[Any]],
) -> list[str]:
    """Every difference between a page and the code that it describes.

    ``numbers`` are the JSON-RPC numbers with their codes, ``shapes`` the types behind the page's shared tables, by
    the anchor of their heading.
    """
    found: list[str] = []
    found += _registry(document.operations, operations)
    for text in document.operations:
        if text.name in operations:
            found += _operation(text, operations[text.name])
        found += [f"{text.name}: lists the unknown error `{code}`" for code in sorted(text.errors - _LISTABLE)]
    found += _errors(document.errors, {spec.code: spec for spec in errors})
    said, real = set(document.numbers), set(numbers)
    found += [f"number {number} for `{code}` is only in the document" for number, code in sorted(said - real)]
    found += [f"number {number} for `{code}` is only in the code" for number, code in sorted(real - said)]
    for anchor, struct in shapes.items():
        if anchor in document.shapes:
            found += _fields(f"#{anchor}", document.shapes[anchor], fields_of(struct))
        else:
            found.append(f"#{anchor}: the document has no such table")
    return found


_LISTABLE: Final = frozenset(ERRORS)


def _registry(texts: tuple[OperationText, ...], operations: Mapping[str, Operation]) -> Iterator[str]:
    said = [text.name for text in texts]
    for name in operations:
        if name not in said:
            yield f"{name}: only in the code"
    for name in said:
        if name not in operations:
            yield f"{name}: only in the document"
        elif said.count(name) > 1:
            yield f"{name}: stands in the document more than once"
    common = [name for name in said if name in operations]
    expected = [name for name in operations if name in common]
    if common != expected:
        first = next(a for a, b in zip(common, expected, strict=True) if a != b)
        yield f"{first}: out of the registry's order"


def _operation(text: OperationText, operation: Operation) -> Iterator[str]:
    name = text.name
    if text.kind != operation.kind:
        yield f"{name}: is {text.kind} in the document and {operation.kind} in the code"
    if text.served != operation.served:
        yield f"{name}: is {_served(text.served)} in the document and {_served(operation.served)} in the code"
    if text.in_flow is not None and text.in_flow != allowed_in_flow(name):
        yield f"{name}: the document and the code disagree on flows"
    if operation.params is None or not text.served:
        return
    if text.tolerant == _strict(operation.params):
        yield f"{name}: the document and the code disagree on unknown members"
    yield from _fields(f"{name} parameters", text.parameters, fields_of(operation.params))
    if len(text.results) != len(operation.result):
        yield f"{name}: has {len(text.results)} results in the document and {len(operation.result)} in the code"
        return
    for rows, struct in zip(text.results, operation.result, strict=True):
        yield from _fields(f"{name} result", rows, fields_of(struct))
    produced = {row.path for struct in operation.result for row in fields_of(struct)}
    for row in text.later:
        if row.path in produced:
            yield f"{name} result: `{row.path}` is produced, and the document says not yet"


def _served(served: bool) -> str:
    return "served" if served else "not served"


def _strict(params: type[Any]) -> bool:
    info = mi.type_info(params)
    return isinstance(info, mi.StructType) and info.forbid_unknown_fields


def _fields(where: str, said: Iterable[FieldText], real: Iterable[FieldText]) -> Iterator[str]:
    document = {row.path: row for row in said}
    code = {row.path: row for row in real}
    for path in code:
        if path not in document:
            yield f"{where}: `{path}` is only in the code"
    for path, row in document.items():
        if path not in code:
            yield f"{where}: `{path}` is only in the document"
            continue
        other = code[path]
        if row.required != other.required:
            words = ("required", "optional") if row.required else ("optional", "required")
            yield f"{where}: `{path}` is {words[0]} in the document and {words[1]} in the code"
        if row.type != other.type:
            yield f"{where}: `{path}` is {row.type!r} in the document and {other.type!r} in the code"


def _errors(texts: Iterable[ErrorText], specs: Mapping[str, ErrorSpec]) -> Iterator[str]:
    rows = {text.code: text for text in texts}
    for code in specs:
        if code not in rows:
            yield f"error `{code}`: only in the code"
    for code, text in rows.items():
        if code not in specs:
            yield f"error `{code}`: only in the document"
            continue
        spec = specs[code]
        for what, said, real in (
            ("level", text.levels, spec.levels),
            ("class", text.class_, spec.class_),
            ("safe to retry", text.safe, spec.safe_to_retry),
            ("retry_after_ms", text.retry_after_ms, spec.retry_after_ms),
            ("details", _unordered(text.details), _unordered(spec.details)),
        ):
            if said != real:
                yield f"error `{code}`: {what} is {_show(said)} in the document and {_show(real)} in the code"


def _unordered(shapes: tuple[frozenset[str], ...] | None) -> frozenset[frozenset[str]] | None:
    return None if shapes is None else frozenset(shapes)


def _show(value: object) -> str:
    if isinstance(value, frozenset):
        parts = [_show(part) for part in value]
        return "{" + ", ".join(sorted(parts)) + "}"
    return str(value)


def fields_of(struct: type[Any]) -> tuple[FieldText, ...]:
    """The members of a msgspec type and of the objects inside it, in the words of the pages."""
    info = mi.type_info(struct)
    if not isinstance(info, mi.StructType):
        raise TypeError(f"{struct!r} has no fields")
    return tuple(_walk(info, ""))


def _walk(info: mi.StructType, prefix: str) -> Iterator[FieldText]:
    for member in info.fields:
        path = prefix + member.encode_name
        # An absent member of a result is unset, never a default: only then may it be missing from a reply.
        absent = not member.required and member.default is NODEFAULT and member.default_factory is NODEFAULT
        alternatives = _alternatives(member.type)
        nullable = any(isinstance(part, mi.NoneType) for part in alternatives)
        given = [part for part in alternatives if not isinstance(part, mi.NoneType)]
        optional_parameter = nullable and member.default is None
        words = _words(given)
        if nullable and not optional_parameter:
            words += " or null"
        yield FieldText(path, normal_type(words), not (absent or optional_parameter))
        for part in given:
            if isinstance(part, mi.StructType):
                yield from _walk(part, path + ".")
            elif isinstance(part, mi.ListType) and isinstance(part.item_type, mi.StructType):
                yield from _walk(part.item_type, path + "[].")


def _alternatives(kind: mi.Type) -> tuple[mi.Type, ...]:
    return kind.types if isinstance(kind, mi.UnionType) else (kind,)


def _words(kinds: list[mi.Type]) -> str:
    return " or ".join(_word(kind) for kind in kinds)


def _word(kind: mi.Type) -> str:
    if isinstance(kind, mi.StrType):
        limits = (kind.min_length, kind.max_length, kind.pattern)
        return next(word for word, known in TEXTS.items() if known == limits)
    if isinstance(kind, mi.LiteralType):
        return " or ".join(f"`{value}`" for value in kind.values)
    if isinstance(kind, mi.IntType):
        return "integer" + _bounds(kind.ge, None if kind.le == SAFE_INT else kind.le)
    if isinstance(kind, mi.ListType):
        return f"array of {_words(list(_alternatives(kind.item_type)))}{_bounds(kind.min_length, kind.max_length)}"
    if isinstance(kind, mi.DictType):
        values = "" if isinstance(kind.value_type, mi.AnyType) else f" of {_word(kind.value_type)}"
        size = _bounds(kind.min_length, kind.max_length)
        return f"object{values}{size}{' members' if size else ''}"
    plain: Mapping[type[mi.Type], str] = {
        mi.StructType: "object",
        mi.BoolType: "boolean",
        mi.FloatType: "number",
        mi.AnyType: "any",
        # Raw JSON is spliced into replies in one place: the numbers of a vector, which arrive as text.
        mi.RawType: "array of number",
    }
    return plain[type(kind)]


def _bounds(least: float | None, most: float | None) -> str:
    if least is not None and most is not None:
        return f", {least} to {most}"
    if least is not None:
        return f", {least} or more"
    return "" if most is None else f", up to {most}"


def characters(text: str) -> tuple[int, int]:
    """The shortest and longest length that a row of the table of text types names."""
    least, most = re.fullmatch(r"(\d+)(?: to (\d+))?", text).groups()  # type: ignore[union-attr]
    return int(least), int(most or least)
