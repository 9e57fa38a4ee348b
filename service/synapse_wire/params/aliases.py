"""Parameters of the operations on equivalences."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from synapse_wire.params.base import Name, Params

MAX_EVIDENCE_BYTES: Final = 16 * 1024
"""Longest evidence as JSON: every pair's evidence is read at each start, and shown with all others."""


MAX_EVIDENCE_DEPTH: Final = 32
"""Deepest nesting of evidence: what is shown inside other answers must never be too deep for their encoder."""


class AliasChange(msgspec.Struct, frozen=True, kw_only=True):
    """``alias.declare`` and ``alias.retract``: two fingerprints under either name; further members are tolerated."""

    left: Name | None = None
    right: Name | None = None
    fingerprint_a: Name | None = None
    fingerprint_b: Name | None = None
    evidence: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        left = _either("left", self.left, "fingerprint_a", self.fingerprint_a)
        right = _either("right", self.right, "fingerprint_b", self.fingerprint_b)
        if left == right:
            raise ValueError("a fingerprint is equivalent to itself without being declared so - at `$.right`")
        if self.evidence is not None:
            if _deeper_than(self.evidence, MAX_EVIDENCE_DEPTH):
                raise ValueError(f"the evidence is nested more than {MAX_EVIDENCE_DEPTH} deep - at `$.evidence`")
            if len(msgspec.json.encode(self.evidence)) > MAX_EVIDENCE_BYTES:
                raise ValueError(f"the evidence takes more than {MAX_EVIDENCE_BYTES} bytes - at `$.evidence`")

    @property
    def fingerprints(self) -> tuple[str, str]:
        """The two, whatever they were called."""
        return self.left or self.fingerprint_a or "", self.right or self.fingerprint_b or ""

    @property
    def facts(self) -> dict[str, Any]:
        """The evidence, ``{}`` when there is none."""
        return self.evidence or {}


class CheckIndex(Params, frozen=True, kw_only=True):
    """``aliases.check_index``: the fingerprint an index is kept under, and those of the vectors in it."""

    index_fingerprint: Name
    provenance_set: list[Name]


def _either(name: str, value: str | None, other_name: str, other: str | None) -> str:
    if value is not None and other is not None:
        raise ValueError(f"give `{name}` or `{other_name}`, which mean the same, and not both - at `$.{name}`")
    found = value if value is not None else other
    if found is None:
        raise ValueError(f"`{name}` (or `{other_name}`) must be a fingerprint - at `$.{name}`")
    return found


def _deeper_than(value: Any, levels: int) -> bool:
    layer = [value]
    for _ in range(levels):
        inside = [each.values() if isinstance(each, dict) else each for each in layer if isinstance(each, dict | list)]
        layer = [each for part in inside for each in part]
    return any(isinstance(each, dict | list) for each in layer)
