"""Answers for people: the same few ways of printing them for every operator command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from synapse_cli.output import Output


def word(value: Any) -> str:
    """Any value in one cell; an absent one is a dash."""
    if value is None or value == []:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str | int | float):
        return str(value)
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return ", ".join(value)
    return msgspec.json.encode(value).decode()


def moment(milliseconds: Any) -> str:
    """A point in time, in this machine's own time; a dash for none."""
    if not isinstance(milliseconds, int):
        return "-"
    return datetime.fromtimestamp(milliseconds / 1000).isoformat(sep=" ", timespec="seconds")


def table(output: Output, rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str], nothing: str) -> None:
    """Objects as rows. ``columns`` maps headings to members, ``a.b`` for one inside; without rows, ``nothing``."""
    if not rows:
        output.line(nothing)
        return
    output.table(list(columns), [[word(member(row, path)) for path in columns.values()] for row in rows])


def facts(output: Output, answer: Mapping[str, Any], names: Mapping[str, str]) -> None:
    """Members with their names; those that are absent are left out."""
    pairs = [(name, member(answer, path)) for name, path in names.items()]
    output.facts([(name, word(value)) for name, value in pairs if value is not None])


def member(value: Mapping[str, Any], path: str) -> Any:
    """The member at a dotted path; None where there is none."""
    found: Any = value
    for name in path.split("."):
        found = found.get(name) if isinstance(found, Mapping) else None
    return found
