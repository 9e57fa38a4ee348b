"""Settings that are lists of tables: reading their entries, and telling what they are.

Used by this package alone. An entry that is wrong is named by its place and, where it has one, by its id.
"""

from __future__ import annotations

from typing import Any

import msgspec

from synapse_wire.params import ModelLoad


class EntryError(ValueError):
    """What is wrong with one of several tables; ``index`` counts from 0."""

    def __init__(self, index: int, problem: str) -> None:
        super().__init__(problem)
        self.index = index


def manifests(name: str, value: Any) -> tuple[ModelLoad, ...]:
    """The entries of the setting ``name``, each as ``model.load`` takes it; raises ValueError or EntryError."""
    if not isinstance(value, list) or not all(isinstance(table, dict) for table in value):
        raise ValueError(f"must be tables, each written as [[{name}]]")
    entries = []
    for index, table in enumerate(value):
        try:
            entries.append(msgspec.convert(table, ModelLoad))
        except msgspec.ValidationError as error:
            named = f" ({table['model_id']!r})" if isinstance(table.get("model_id"), str) else ""
            raise EntryError(index, f"entry {index + 1}{named}: {error}") from error
    return tuple(entries)


def shown(value: Any) -> Any:
    """A value as it is told: tables without the members that they leave out, everything else as it is."""
    if isinstance(value, (tuple, list)):
        return [shown(each) for each in value]
    if isinstance(value, msgspec.Struct):
        members = {name: shown(getattr(value, name)) for name in value.__struct_fields__}
        return {name: member for name, member in members.items() if member is not None}
    return value
