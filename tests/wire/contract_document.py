"""Reads the contract out of its own documentation, so that prose and code can be compared.

``docs/wire-contract-v1.md`` and ``docs/extensions.md`` keep to a regular form: a heading for each operation, labelled
tables of fields under it, and tables of error codes, numbers, limits and types. :func:`parse` turns such a page into
records and refuses what it doesn't understand, because a table that is skipped in silence is a table that is never
compared. Only the tests call this; it reads text and touches nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

_OPERATION: Final = re.compile(r"`([a-z_.]+)` \((query|mutate)\)\Z")
_LABEL: Final = re.compile(r"(Parameters|Result(?: of an? [a-z ]+)?|Not produced yet)\Z")
_LINK: Final = re.compile(r"\[([^\]]+)\]\(([^)]+)\)")
_CODE: Final = re.compile(r"`([^`]+)`")
_ALTERNATIVES: Final = re.compile(r"`[^`]+`(?: or `[^`]+`)+")
_PARAMETERS: Final = ("Field", "Type", "Required", "Meaning")
_RESULTS: Final = ("Field", "Type", "Meaning")
_ERRORS: Final = ("Code", "Level", "Class", "Safe to retry", "Retry after (ms)", "Details", "Meaning, and what to do")
_NUMBERS: Final = ("Number", "data.code", "When")
_LIMITS: Final = ("Limit", "Value", "Past it")
_TYPES: Final = ("Type", "Characters", "Rule")


class DocumentError(Exception):
    """The page doesn't have the form that a reader, human or not, was promised."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(f"line {line}: {message}")
        self.line = line


@dataclass(frozen=True, slots=True)
class FieldText:
    """One row of a field table. ``path`` is dotted, with ``[]`` after an array; ``type`` has its literals sorted."""

    path: str
    type: str
    required: bool


@dataclass(frozen=True, slots=True)
class OperationText:
    """What the page says of one operation.

    ``later`` holds the members that the contract has and this version doesn't produce. ``in_flow`` is None where the
    page leaves it to the operation's kind. ``errors`` are the codes that the page lists for it.
    """

    name: str
    kind: str
    served: bool
    in_flow: bool | None
    tolerant: bool
    parameters: tuple[FieldText, ...]
    results: tuple[tuple[FieldText, ...], ...]
    later: tuple[FieldText, ...]
    errors: frozenset[str]


@dataclass(frozen=True, slots=True)
class ErrorText:
    """One row of the error table; ``details`` as in ``synapse_wire.errors.ErrorSpec``."""

    code: str
    levels: frozenset[str]
    class_: str
    safe: bool
    retry_after_ms: int | None
    details: tuple[frozenset[str], ...] | None


@dataclass(frozen=True, slots=True)
class Document:
    """A whole page. ``shapes`` are the shared tables by the anchor of their heading."""

    operations: tuple[OperationText, ...]
    errors: tuple[ErrorText, ...]
    numbers: tuple[tuple[int, str], ...]
    shapes: Mapping[str, tuple[FieldText, ...]]
    limits: Mapping[str, str]
    types: Mapping[str, str]
    anchors: frozenset[str]
    links: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Table:
    label: str
    header: tuple[str, ...]
    rows: tuple[tuple[int, tuple[str, ...]], ...]
    line: int


@dataclass(slots=True)
class _Section:
    title: str
    line: int
    texts: list[tuple[int, str]] = field(default_factory=list)
    tables: list[_Table] = field(default_factory=list)


def parse(text: str) -> Document:
    """The records of a page. Raises :class:`DocumentError` with the line that is out of form."""
    sections = list(_sections(text))
    shapes = _Shapes(sections)
    operations = []
    errors: list[ErrorText] = []
    numbers: list[tuple[int, str]] = []
    limits: dict[str, str] = {}
    types: dict[str, str] = {}
    for section in sections:
        if match := _OPERATION.match(section.title):
            operations.append(_operation(section, match.group(1), match.group(2), shapes))
        for table in section.tables:
            for line, cells in table.rows:
                if table.header == _ERRORS:
                    errors.append(_error(line, cells))
                elif table.header == _NUMBERS:
                    numbers.append((int(cells[0]), _codes(cells[1])[0]))
                elif table.header == _LIMITS:
                    limits[cells[0]] = cells[1]
                elif table.header == _TYPES:
                    types[cells[0]] = cells[1]
    return Document(
        operations=tuple(operations),
        errors=tuple(errors),
        numbers=tuple(numbers),
        shapes={anchor: shapes.rows(anchor, 0) for anchor in shapes.anchors},
        limits=limits,
        types=types,
        anchors=frozenset(anchor_of(section.title) for section in sections),
        links=tuple(target for _, target in _LINK.findall(text)),
    )


def anchor_of(title: str) -> str:
    """The fragment by which a rendered page names a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def _sections(text: str) -> Iterator[_Section]:
    section = _Section("", 0)
    label, fenced = "", False
    lines = text.splitlines()
    number = 0
    while number < len(lines):
        line = lines[number].rstrip()
        number += 1
        if line.startswith("```"):
            fenced = not fenced
        if fenced:
            continue
        if line.startswith("#"):
            yield section
            section, label = _Section(line.lstrip("#").strip(), number), ""
        elif line.startswith("|"):
            start = number
            rows = [(number, _cells(line))]
            while number < len(lines) and lines[number].startswith("|"):
                number += 1
                rows.append((number, _cells(lines[number - 1])))
            header = rows[0][1]
            for at, cells in rows:
                if len(cells) != len(header):
                    raise DocumentError(at, f"{len(cells)} cells under {len(header)} columns")
            section.tables.append(_Table(label, header, tuple(rows[2:]), start))
            label = ""
        else:
            if _LABEL.match(line):
                label = line
            section.texts.append((number, line))
    yield section


def _cells(line: str) -> tuple[str, ...]:
    return tuple(cell.strip() for cell in line.strip().strip("|").split("|"))


class _Shapes:
    """The shared tables: every unlabelled field table, by the anchor of its heading."""

    def __init__(self, sections: list[_Section]) -> None:
        self._tables: dict[str, _Table] = {}
        for section in sections:
            for table in section.tables:
                if table.header[0] == "Field" and table.header not in (_PARAMETERS, _RESULTS):
                    raise DocumentError(table.line, f"a field table has the columns {table.header}")
                if table.header in (_PARAMETERS, _RESULTS) and not table.label:
                    if _OPERATION.match(section.title):
                        raise DocumentError(table.line, "a field table of an operation has no label")
                    self._tables[anchor_of(section.title)] = table

    @property
    def anchors(self) -> tuple[str, ...]:
        return tuple(self._tables)

    def rows(self, anchor: str, line: int) -> tuple[FieldText, ...]:
        if anchor not in self._tables:
            raise DocumentError(line, f"no table of fields under the heading #{anchor}")
        return tuple(self.expand(self._tables[anchor]))

    def expand(self, table: _Table, prefix: str = "") -> Iterator[FieldText]:
        for line, cells in table.rows:
            if link := _LINK.fullmatch(cells[0]):
                for row in self.rows(link.group(2).removeprefix("#"), line):
                    yield FieldText(prefix + row.path, row.type, row.required)
                continue
            name = _CODE.fullmatch(cells[0])
            if name is None:
                raise DocumentError(line, f"the field {cells[0]!r} is neither a name nor a shared table")
            optional = name.group(1).endswith("?")
            path = prefix + name.group(1).removesuffix("?")
            if table.header == _PARAMETERS:
                if cells[2] not in ("yes", "no") or optional:
                    raise DocumentError(line, f"whether {path} is required is said with yes or no")
                optional = cells[2] == "no"
            yield FieldText(path, normal_type(_LINK.sub("object", cells[1])), not optional)
            if link := _LINK.search(cells[1]):
                inside = f"{path}[]." if cells[1].startswith("array of ") else f"{path}."
                for row in self.rows(link.group(2).removeprefix("#"), line):
                    yield FieldText(inside + row.path, row.type, row.required)


def normal_type(text: str) -> str:
    """``text`` with its alternative literals in alphabetical order."""
    return _ALTERNATIVES.sub(lambda match: " or ".join(sorted(match.group().split(" or "))), text)


def _operation(section: _Section, name: str, kind: str, shapes: _Shapes) -> OperationText:
    said = [text for _, text in section.texts]
    parameters: tuple[FieldText, ...] | None = () if "Parameters: none." in said else None
    results: list[tuple[FieldText, ...]] = []
    later: tuple[FieldText, ...] = ()
    for table in section.tables:
        if table.header not in (_PARAMETERS, _RESULTS):
            continue
        if (table.label == "Parameters") != (table.header == _PARAMETERS):
            raise DocumentError(table.line, f"{name}: the columns don't belong under {table.label!r}")
        rows = tuple(shapes.expand(table))
        paths = [row.path for row in rows]
        for path in paths:
            if paths.count(path) > 1:
                raise DocumentError(table.line, f"{name}: {path} stands twice in one table")
        if table.label == "Parameters":
            parameters = rows
        elif table.label == "Not produced yet":
            later = rows
        else:
            results.append(rows)
    if parameters is None:
        raise DocumentError(section.line, f"{name} says nothing about its parameters")
    if not results:
        raise DocumentError(section.line, f"{name} has no result")
    served = _yes_or_no(section, "Served: ")
    if served is None:
        raise DocumentError(section.line, f"{name} doesn't say whether it is served")
    return OperationText(
        name=name,
        kind=kind,
        served=served,
        in_flow=_yes_or_no(section, "On a flow: "),
        tolerant="Unknown members are ignored." in said,
        parameters=parameters,
        results=tuple(results),
        later=later,
        errors=_listed_errors(section, name),
    )


def _yes_or_no(section: _Section, prefix: str) -> bool | None:
    for line, text in section.texts:
        if text.startswith(prefix):
            answer = text.removeprefix(prefix)
            if answer not in ("yes", "no"):
                raise DocumentError(line, f"{prefix!r} is followed by yes or no")
            return answer == "yes"
    return None


def _listed_errors(section: _Section, name: str) -> frozenset[str]:
    texts = iter(text for _, text in section.texts)
    for text in texts:
        if text.startswith("Errors: "):
            codes = _codes(text)
            for more in texts:
                if not more:
                    break
                codes += _codes(more)
            return frozenset(codes)
    raise DocumentError(section.line, f"{name} doesn't say which errors it answers with")


def _codes(text: str) -> list[str]:
    return [str(code) for code in _CODE.findall(text)]


def _error(line: int, cells: tuple[str, ...]) -> ErrorText:
    code, levels, class_, safe, retry, details, meaning = cells
    if safe not in ("yes", "no") or class_ not in ("transient", "permanent") or not meaning:
        raise DocumentError(line, f"the row of {code} is incomplete")
    return ErrorText(
        code=_codes(code)[0],
        levels=frozenset(levels.split(" or ")),
        class_=class_,
        safe=safe == "yes",
        retry_after_ms=None if retry == "–" else int(retry),
        details=_details(line, details),
    )


def _details(line: int, text: str) -> tuple[frozenset[str], ...] | None:
    if text == "any":
        return None
    if text == "none":
        return ()
    shapes = []
    for part in text.split(" or "):
        match = re.fullmatch(r"`\{([^}]+)\}`|none", part)
        if match is None:
            raise DocumentError(line, f"{part!r} isn't a shape of details")
        shapes.append(frozenset(match.group(1).split(", ")) if match.group(1) else frozenset())
    return tuple(shapes)
