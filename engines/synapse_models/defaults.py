"""Request defaults: what stands in where a request has no opinion.

A default is a value at a leaf. Plans bring them as JSON, ``Model.with_args`` as values; both become a :class:`Defaults`
once, which is then applied to every request. What the request says always wins.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, get_type_hints

import msgspec
from msgspec import Struct, structs

from synapse_models.errors import PlanError
from synapse_models.leaves import LEAVES
from synapse_models.parts import JSONValue, Record, is_json
from synapse_models.request import DialectOptions, Request

_NEVER_DEFAULTS: Final = frozenset({"session.previous_response_id"})
"""Leaves that belong to one request alone."""

_GROUPS: Final = {
    field.name: type(field.default) for field in structs.fields(Request) if isinstance(field.default, Struct)
}
"""The parameter groups of a request by name."""

_EXCLUSIVE: Final[Mapping[str, str]] = {
    "reasoning.effort": "budget_tokens",
    "reasoning.budget_tokens": "effort",
}
"""Leaves that give way to another field of their group."""


def _has_functions(tools: Mapping[str, Any]) -> bool:
    return bool(tools["functions"])


def _has_schema(form: Mapping[str, Any]) -> bool:
    return bool(form["format"] == "json_schema")


def _has_logprobs(scoring: Mapping[str, Any]) -> bool:
    return bool(scoring["sampled_logprobs"] or scoring["input_scoring"])


_QUALIFIES: Final[Mapping[str, Callable[[Mapping[str, Any]], bool]]] = {
    "tools.choice": _has_functions,
    "tools.parallel": _has_functions,
    "structured_output.schema": _has_schema,
    "structured_output.name": _has_schema,
    "structured_output.strict": _has_schema,
    "scoring.top_logprobs": _has_logprobs,
}
"""Leaves that say how something else of their group is done, and what that is. As defaults they are for requests that
do it: a model whose calls come one at a time still answers a request without tools."""


class Defaults(Record, frozen=True):
    """``leaves`` by path, typed; ``options`` by key, for the dialect ``dialect_id``."""

    leaves: Mapping[str, Any] = {}
    options: Mapping[str, JSONValue] = {}
    dialect_id: str | None = None

    def extended(self, other: Defaults) -> Defaults:
        """These defaults with another's on top."""
        leaves = {path: value for path, value in self.leaves.items() if _rival_leaf(path) not in other.leaves} | dict(
            other.leaves
        )
        dialect_id = other.dialect_id if other.options else self.dialect_id
        return Defaults(leaves=leaves, options={**self.options, **other.options}, dialect_id=dialect_id)

    def apply(self, request: Request) -> tuple[Request, dict[str, JSONValue]]:
        """The request with the defaults filled in, and those of them that were used, as JSON.

        Raises:
            PlanError: a default and what the request says exclude each other.
        """
        used: dict[str, JSONValue] = {}
        groups: dict[str, dict[str, Any]] = {}
        for path, value in self.leaves.items():
            group_name, _, field = path.partition(".")
            group = getattr(request, group_name)
            if getattr(group, field) != getattr(_GROUPS[group_name](), field):
                continue
            if path in _EXCLUSIVE and getattr(group, _EXCLUSIVE[path]) is not None:
                continue
            groups.setdefault(group_name, {})[field] = value
        for group_name, fields in groups.items():
            whole = {**structs.asdict(getattr(request, group_name)), **fields}
            for field in tuple(fields):
                path = f"{group_name}.{field}"
                if path in _QUALIFIES and not _QUALIFIES[path](whole):
                    del fields[field]
                else:
                    used[path] = msgspec.json.decode(msgspec.json.encode(fields[field]))
        try:
            changes: dict[str, Any] = {
                name: structs.replace(getattr(request, name), **fields) for name, fields in groups.items() if fields
            }
        except ValueError as caught:
            raise PlanError(f"the defaults don't go with this request: {caught}") from None
        given = request.dialect_options
        if self.options and (given is None or given.dialect_id == self.dialect_id):
            known = dict(given.values) if given is not None else {}
            added = {key: value for key, value in self.options.items() if key not in known}
            if added:
                changes["dialect_options"] = DialectOptions(dialect_id=self.dialect_id or "", values={**added, **known})
                used.update({f"dialect_options.{key}": value for key, value in added.items()})
        return (structs.replace(request, **changes) if changes else request), used


def read_defaults(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values by leaf, each as the request's own type has it.

    Raises:
        PlanError: a path that is no leaf of a parameter group, or a value that the leaf can't have. What belongs to a
            binding (dialect, engine, address, credential, retry) is no leaf and never becomes a default.
    """
    found: dict[str, Any] = {}
    for path, value in values.items():
        group_name, _, field = path.partition(".")
        if path not in LEAVES or group_name not in _GROUPS or path in _NEVER_DEFAULTS:
            raise PlanError(f"{path!r} is not something that a request default can set")
        try:
            found[path] = msgspec.convert(value, type=get_type_hints(_GROUPS[group_name])[field])
        except msgspec.ValidationError as caught:
            raise PlanError(f"the default of {path}: {caught}") from None
        if not is_json(found[path]):
            raise PlanError(f"the default of {path}: JSON can't carry it")
    return found


def _rival_leaf(path: str) -> str | None:
    rival = _EXCLUSIVE.get(path)
    return None if rival is None else path.rpartition(".")[0] + "." + rival
