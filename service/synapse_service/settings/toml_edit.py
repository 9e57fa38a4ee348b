"""Changing single keys of a TOML file that a person wrote, without touching what they wrote around them.

Used by ``store`` alone; text in, text out. Python reads TOML but doesn't write it, and writing a whole file anew
would lose the user's comments. Only top-level keys with a plain value (truth value, integer, text) are written; tables
are left as they are.
"""

from __future__ import annotations

import io
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Plain = bool | int | str


class TomlError(ValueError):
    """Text that isn't TOML. ``line`` counts from 1; ``key`` is the top-level key that stands there, if readable."""

    def __init__(self, message: str, line: int | None, key: str | None) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.key = key


@dataclass(frozen=True, slots=True)
class _Statement:
    """Lines ``[first, end)``, counted from 0, that belong together, and the top-level keys that they define."""

    first: int
    end: int
    keys: frozenset[str]


_POSITION = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")


def parse(text: str) -> dict[str, Any]:
    """The document as a dictionary; raises :class:`TomlError`, also for a key that stands twice."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        position = _POSITION.search(message)
        line = int(position.group(1)) if position and position.group(1) else None
        key = None
        for statement in _statements(_lines(text)):
            if line is not None and statement.first < line <= statement.end:
                key = next(iter(sorted(statement.keys)), None)
        if key is not None:  # The statement is well-formed by itself, so the trouble is that its key was there before.
            raise TomlError("the key stands twice", line, key) from None
        raise TomlError(_POSITION.sub("", message), line, None) from None


def line_of(text: str, key: str, index: int = 0) -> int | None:
    """The line, counted from 1, on which the top-level ``key`` is defined; the ``index``-th of several tables."""
    found = [statement.first + 1 for statement in _statements(_lines(text)) if key in statement.keys]
    return found[min(index, len(found) - 1)] if found else None


def edited(text: str, changes: Mapping[str, Plain | None]) -> str:
    """``text`` with each key set to its value, or removed for None. Comments and everything else stay."""
    lines = _lines(text)
    newline = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    remaining = dict(changes)
    for statement in reversed(list(_statements(lines))):
        for key in statement.keys & changes.keys():
            value = remaining.pop(key)
            old = lines[statement.first : statement.end]
            new = [] if value is None else [f"{key} = {_literal(value)}{_comment(old)}{newline}"]
            lines[statement.first : statement.end] = new
    added = {key: value for key, value in remaining.items() if value is not None}
    if added and lines and not lines[-1].endswith("\n"):
        lines[-1] += newline
    at = _before_tables(lines)
    lines[at:at] = [f"{key} = {_literal(value)}{newline}" for key, value in added.items()]
    return "".join(lines)


def _before_tables(lines: list[str]) -> int:
    """Where a top-level key can be added: before the first table and the comment that stands on it, else at the end."""
    headers = (statement.first for statement in _statements(lines) if _is_header(lines[statement.first]))
    at = next(headers, len(lines))
    while at < len(lines) and at > 0 and lines[at - 1].lstrip().startswith("#"):
        at -= 1
    return at


def _lines(text: str) -> list[str]:
    return list(io.StringIO(text, newline="\n"))


def _statements(lines: list[str]) -> Iterator[_Statement]:
    # A statement is the shortest run of lines, from where the last one ended, that is TOML by itself. That finds the
    # end of multi-line strings and arrays without a second parser. Text that never becomes TOML yields nothing.
    first, inside = 0, False
    for end in range(1, len(lines) + 1):
        try:
            keys = tomllib.loads("".join(lines[first:end]))
        except tomllib.TOMLDecodeError:
            continue
        header = _is_header(lines[first])
        # What follows a header belongs to its table, and the header of a table inside a table begins nothing new.
        begun = frozenset(key for key, value in keys.items() if not header or value in ({}, [{}]))
        yield _Statement(first, end, begun if header or not inside else frozenset())
        first, inside = end, inside or header


def _is_header(line: str) -> bool:
    return line.lstrip().startswith("[")


def _comment(old: list[str]) -> str:
    """The comment that ends a one-line statement, with the space before it."""
    if len(old) != 1:
        return ""
    line = old[0].rstrip("\r\n")
    value = tomllib.loads(line)
    for match in re.finditer(r"\s*#", line):
        head = line[: match.start()]
        try:
            if tomllib.loads(head) == value:
                return line[match.start() :]
        except tomllib.TOMLDecodeError:  # This one is inside a text.
            continue
    return ""


def _literal(value: Plain) -> str:
    # JSON's escapes are all valid in a TOML basic string, and the settings refuse the one control character (DEL)
    # that JSON leaves bare.
    return json.dumps(value, ensure_ascii=False)
