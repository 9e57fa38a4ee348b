"""Results of the operations on credentials. No secret is ever among them."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from synapse_wire.results.base import Result


class CredentialRow(Result, frozen=True, kw_only=True):
    """One credential: ``state`` tells whether its secret can be had now, ``problem`` why it can't."""

    name: str
    origin: str
    state: str
    changed_ms: int
    problem: str | UnsetType = UNSET


class CredentialsList(Result, frozen=True, kw_only=True):
    credentials: list[CredentialRow]
