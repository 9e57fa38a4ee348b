"""Parameters of the operations on credentials. Which names and secrets will do is checked where they are kept."""

from __future__ import annotations

from synapse_wire.params.base import Name, Params, Url


class CredentialsSet(Params, frozen=True, kw_only=True):
    """``credentials.set``; without ``origin`` the secret is for the place where model files are fetched."""

    name: Name
    secret: str
    origin: Url | None = None

    def __repr__(self) -> str:
        return f"CredentialsSet(name={self.name!r}, secret=[redacted], origin={self.origin!r})"


class CredentialRef(Params, frozen=True, kw_only=True):
    """An operation about one credential."""

    name: Name
