"""The audit of one call: every active leaf of the request gets exactly one decision before anything is sent.

A dialect decides (``DialectBinder.decide``), ``model.py`` records the decisions here, refuses the call when one is a
rejection, and after encoding asks :meth:`RequestAudit.faults` whether the body bears the decisions out. Faults are
errors of a dialect, not of the caller. Pure; the refusals themselves are raised by ``model.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

from synapse_models.parts import JSONValue, Record

DecisionKind = Literal["consumed", "rejected", "noop", "passed_through"]

CONTROL: Final = "@"
"""Prefix of a wire path that isn't in the body: ``@path``, ``@header:NAME``, ``@control:WORD``."""


class LeafDecision(Record, frozen=True):
    """What happens to one leaf. Made by :func:`consumed`, :func:`rejected`, :func:`noop`, :func:`passed_through`.

    Attributes:
        kind: one of the four; there is no fifth.
        wire_path: where it went: a JSON pointer into the body (``/sampling_params/temperature``), or a place outside
            it (``@path``, ``@header:NAME``, ``@control:WORD`` for what changes the flow or the reading of the reply).
        reason: why it was rejected, or why it makes no difference.
    """

    kind: DecisionKind
    wire_path: str | None = None
    reason: str | None = None


def consumed(wire_path: str) -> LeafDecision:
    """The value is on the wire at ``wire_path``, translated as the dialect needs."""
    return LeafDecision(kind="consumed", wire_path=_checked(wire_path))


def passed_through(wire_path: str) -> LeafDecision:
    """The value is on the wire at ``wire_path``, unchanged. The caller names the place: a ``*`` is part of a name."""
    return LeafDecision(kind="passed_through", wire_path=_checked(wire_path, star=True))


def rejected(reason: str) -> LeafDecision:
    """The dialect can't say this value. The call is refused before anything is sent."""
    return LeafDecision(kind="rejected", reason=reason)


def noop(reason: str) -> LeafDecision:
    """Sending nothing means the same, for the documented ``reason``. Never "not built yet"."""
    return LeafDecision(kind="noop", reason=reason)


def _checked(wire_path: str, *, star: bool = False) -> str:
    if not wire_path.startswith(("/", CONTROL)) or ("*" in wire_path and not star):
        raise ValueError(f"{wire_path!r} is neither a JSON pointer nor a place outside the body")
    return wire_path


class RequestAudit:
    """The decisions on one request's active leaves."""

    def __init__(self, active: Mapping[str, Any]) -> None:
        self._active = dict(active)
        self._decisions: dict[str, LeafDecision] = {}
        self._faults: list[str] = []

    def record(self, path: str, decision: LeafDecision) -> None:
        """Note the decision on ``path``. A second one, or one on a leaf that isn't active, is a fault."""
        if path not in self._active:
            self._faults.append(f"{path}: decided, but the request doesn't have it")
        elif path in self._decisions:
            self._faults.append(f"{path}: decided twice")
        else:
            self._decisions[path] = decision

    @property
    def decisions(self) -> Mapping[str, LeafDecision]:
        return self._decisions

    @property
    def rejections(self) -> tuple[tuple[str, str], ...]:
        """(path, reason) of every rejected leaf, in the request's order."""
        return tuple(
            (path, self._decisions[path].reason or "the dialect can't say it")
            for path in self._active
            if path in self._decisions and self._decisions[path].kind == "rejected"
        )

    def faults(self, body: JSONValue) -> tuple[str, ...]:
        """What is wrong with the decisions, given the encoded ``body``: leaves without one, with two, claimed on the
        wire and not there, or passed through and changed. Empty when all is well.
        """
        found = list(self._faults)
        for path, value in self._active.items():
            decision = self._decisions.get(path)
            if decision is None:
                found.append(f"{path}: no decision")
                continue
            if decision.wire_path is None or decision.wire_path.startswith(CONTROL):
                continue
            there, on_wire = at_pointer(body, decision.wire_path)
            if not there:
                found.append(f"{path}: said to be at {decision.wire_path}, which the body lacks")
            elif decision.kind == "passed_through" and not _identical(on_wire, value):
                found.append(f"{path}: passed through to {decision.wire_path}, and changed on the way")
        return tuple(found)


def at_pointer(body: JSONValue, pointer: str) -> tuple[bool, JSONValue]:
    """Whether ``body`` has something at the JSON pointer (RFC 6901), and what."""
    here = body
    for raw in pointer.split("/")[1:]:
        step = raw.replace("~1", "/").replace("~0", "~")
        if isinstance(here, Mapping) and step in here:
            here = here[step]
        elif isinstance(here, list | tuple) and step.isdecimal() and int(step) < len(here):
            here = here[int(step)]
        else:
            return False, None
    return True, here


def _identical(left: JSONValue, right: JSONValue) -> bool:
    """Equal as JSON: 1, 1.0 and true are three values, a tuple is a list."""
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(_identical(left[key], right[key]) for key in left)
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(_identical, left, right))
    return type(left) is type(right) and bool(left == right)
