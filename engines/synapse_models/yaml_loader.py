"""The one way in which the model plane reads YAML: strictly, with the line of everything.

A library parses; this module decides what the pieces mean, and refuses what is easily misread: a key that occurs
twice, an alias, a merge key, a tag, a second document, a number that isn't finite or isn't exact in JSON. Scalars
follow the core schema of YAML 1.2: ``true`` and ``false`` are the booleans, ``yes`` and ``2026-10-21`` are text.
Takes text or bytes; opening files is the caller's.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
    StreamStartEvent,
)

from synapse_models.errors import REDACTED, holds_key, redacted
from synapse_models.parts import JSONValue

MAX_BYTES: Final = 1 << 20
MAX_DEPTH: Final = 32
MAX_INTEGER: Final = 2**53 - 1
"""The largest integer that every JSON reader keeps."""

KeyPath: TypeAlias = tuple[str | int, ...]

_KEY: Final = -1
"""The step to a key itself. No file spells it: keys are text, and items count from 0."""

_NULL: Final = re.compile(r"~|null|Null|NULL|")
_TRUE: Final = re.compile(r"true|True|TRUE")
_FALSE: Final = re.compile(r"false|False|FALSE")
_INTEGER: Final = re.compile(r"[-+]?[0-9]+")
_OCTAL: Final = re.compile(r"0o[0-7]+")
_HEXADECIMAL: Final = re.compile(r"0x[0-9a-fA-F]+")
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE: Final = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")


class Problem(NamedTuple):
    """One thing that is wrong with a document. ``line`` counts from 1; 0 when it has none."""

    path: KeyPath
    line: int
    message: str

    def __str__(self) -> str:
        where = shown(self.path)
        line = f"line {self.line}" if self.line else ""
        place = f"{where} ({line})" if where and line else where or line
        return f"{place}: {self.message}" if place else self.message


class DocumentError(ValueError):
    """A document that can't be used. ``problems`` holds all of them, in the order of the document."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        self.problems = problems
        super().__init__("; ".join(map(str, problems)))


class Document(NamedTuple):
    """What a document says, and the line of each key and item, by its path."""

    value: JSONValue
    lines: Mapping[KeyPath, int]

    def problem(self, path: KeyPath, message: str) -> Problem:
        """A problem at ``path``, with the line of the nearest thing that has one."""
        for length in range(len(path), -1, -1):
            if path[:length] in self.lines:
                return Problem(path, self.lines[path[:length]], message)
        return Problem(path, 0, message)


def shown(path: KeyPath) -> str:
    """``models.qwen3.stop[0]``, without what can only be a secret."""
    text = ""
    for step in path:
        if isinstance(step, int) and step != _KEY:
            text += f"[{step}]"
        else:
            name = "?" if isinstance(step, int) else REDACTED if holds_key(step) else step
            text += f".{name}" if text else name
    return text


def secrets(document: Document, told: Iterable[Problem]) -> tuple[Problem, ...]:
    """A problem for each text that can only be a secret, unless ``told`` refuses its place for another reason."""
    refused = {problem.path for problem in told}
    return tuple(
        document.problem(path, "this looks like a secret, which is never written here")
        for path in _secret_places(document.value, ())
        # What is said of a whole entry says nothing of what stands in it.
        if not any(path[:length] in refused for length in range(3, len(path) + 1))
    )


def _secret_places(value: JSONValue, path: KeyPath) -> Iterator[KeyPath]:
    if isinstance(value, dict):
        for key, said in value.items():
            if holds_key(key):
                yield (*path, key)
            yield from _secret_places(said, (*path, key))
    elif isinstance(value, list):
        for index, said in enumerate(value):
            yield from _secret_places(said, (*path, index))
    elif isinstance(value, str) and holds_key(value):
        yield path


def load(source: str | bytes) -> Document:
    """Read one document of at most 1 MiB.

    Raises:
        DocumentError: it isn't UTF-8 or YAML, or holds something that is refused.
    """
    size = len(source) if isinstance(source, bytes) else len(source.encode("utf-8", "surrogatepass"))
    if size > MAX_BYTES:
        raise DocumentError((Problem((), 0, f"{size} bytes are too many; {MAX_BYTES} at most"),))
    try:
        text = source.decode("utf-8-sig") if isinstance(source, bytes) else source
    except UnicodeDecodeError as error:
        line = source[: error.start].count(b"\n") + 1 if isinstance(source, bytes) else 0
        raise DocumentError((Problem((), line, "this isn't UTF-8"),)) from None
    reader = _Reader()
    try:
        value = reader.document(_events(text))
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        told = redacted(" ".join(word for word in (error.problem, error.context) if word))
        raise DocumentError((Problem((), mark.line + 1 if mark else 0, f"this isn't YAML: {told}"),)) from None
    except YAMLError as error:
        raise DocumentError((Problem((), 0, f"this isn't YAML: {str(error).splitlines()[0]}"),)) from None
    if reader.problems:
        raise DocumentError(tuple(reader.problems))
    return Document(value, reader.lines)


def _events(text: str) -> Iterator[Event]:
    """The parser's events.

    Raises DocumentError where the parser doesn't say itself what it can't read: a directive with a version that there
    isn't, an escape for a character that there isn't. It doesn't say where either, only what came before.
    """
    line = 1
    try:
        for event in YAML(typ="safe", pure=True).parse(text):
            end: Any = event.end_mark
            line = int(end.line) + 1
            yield event
    except (AssertionError, OverflowError, ValueError):
        told = "this isn't YAML: a directive or an escape, here or further down, stands for nothing"
        raise DocumentError((Problem((), line, told),)) from None


class _Reader:
    """Builds plain data from the parser's events, noting every problem instead of stopping at the first."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.lines: dict[KeyPath, int] = {}

    def document(self, events: Iterator[Event]) -> JSONValue:
        value: JSONValue = None
        documents = 0
        for event in events:
            if isinstance(event, StreamStartEvent | StreamEndEvent | DocumentEndEvent):
                continue
            if isinstance(event, DocumentStartEvent):
                documents += 1
                if documents > 1:
                    self._refuse((), event, "a second document")
                    break
                if event.version is not None or event.tags:
                    self._refuse((), event, "directives aren't read here")
                continue
            value = self._value(event, events, ())
        return value

    def _value(self, event: Event, events: Iterator[Event], path: KeyPath) -> JSONValue:
        self.lines.setdefault(path, _line(event))
        if len(path) > MAX_DEPTH:
            # The rest of the document can't be read in step any more, so this is where it ends.
            raise DocumentError((*self.problems, Problem(path, _line(event), f"nested deeper than {MAX_DEPTH}")))
        if isinstance(event, AliasEvent):
            self._refuse(path, event, "aliases aren't read here; write the value out")
            return None
        if getattr(event, "anchor", None) is not None:
            self._refuse(path, event, "anchors aren't read here")
        if _tagged(event):
            self._refuse(path, event, "tags aren't read here")
        if isinstance(event, MappingStartEvent):
            return self._mapping(events, path)
        if isinstance(event, SequenceStartEvent):
            items: list[JSONValue] = []
            for item in events:
                if isinstance(item, SequenceEndEvent):
                    break
                items.append(self._value(item, events, (*path, len(items))))
            return items
        assert isinstance(event, ScalarEvent), event
        return self._scalar(event, path)

    def _mapping(self, events: Iterator[Event], path: KeyPath) -> dict[str, JSONValue]:
        found: dict[str, JSONValue] = {}
        for event in events:
            if isinstance(event, MappingEndEvent):
                break
            key = self._key(event, events, path)
            here = (*path, key)
            if key in found:
                self._refuse(here, event, f"the key is there twice; first on line {self.lines[here]}")
            else:
                self.lines[here] = _line(event)
            value = self._value(next(events), events, here)
            found.setdefault(key, value)
        return found

    def _key(self, event: Event, events: Iterator[Event], path: KeyPath) -> str:
        key = self._value(event, events, (*path, _KEY))
        self.lines.pop((*path, _KEY), None)
        if isinstance(event, ScalarEvent) and event.value == "<<" and event.style is None:
            self._refuse(path, event, "merge keys aren't read here; write the values out")
        elif not isinstance(key, str):
            self._refuse(path, event, f"a key must be text; quote it if {redacted(repr(key))} is meant")
            return str(key)
        return str(key)

    def _scalar(self, event: ScalarEvent, path: KeyPath) -> JSONValue:
        text: str = event.value
        if not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text):
            # Escapes can spell half of a character, which no encoder takes; JSON's pairs of halves aren't YAML.
            self._refuse(path, event, "half a character; write it out instead of as two escapes")
            return ""
        if event.style is not None:
            return text
        if _NULL.fullmatch(text):
            return None
        if _TRUE.fullmatch(text):
            return True
        if _FALSE.fullmatch(text):
            return False
        whole = _integer(text)
        if whole is not None:
            if abs(whole) > MAX_INTEGER:
                self._refuse(path, event, f"{text} is beyond {MAX_INTEGER}, where numbers stop being exact")
            return whole
        if _NOT_FINITE.fullmatch(text):
            self._refuse(path, event, f"{text} isn't a number that can be sent")
        elif _FLOAT.fullmatch(text):
            number = float(text)
            if not math.isfinite(number):
                self._refuse(path, event, f"{text} is too large a number")
            return number
        return text

    def _refuse(self, path: KeyPath, event: Event, message: str) -> None:
        self.problems.append(Problem(path, _line(event), message))


def _integer(text: str) -> int | None:
    if _INTEGER.fullmatch(text):
        # Python refuses to convert thousands of digits; anything that long is out of range anyway.
        return int(text) if len(text) <= 40 else MAX_INTEGER + 1
    if _OCTAL.fullmatch(text):
        return int(text[2:], 8)
    if _HEXADECIMAL.fullmatch(text):
        return int(text[2:], 16)
    return None


def _line(event: Event) -> int:
    mark: Any = event.start_mark
    return int(mark.line) + 1


def _tagged(event: Event) -> bool:
    tag: Any = getattr(event, "ctag", None) or getattr(event, "tag", None)
    return tag is not None and str(tag) not in ("", "None")
