"""Credentials for servers that give some files only to people who have signed in.

What is here is the seam: the fetcher asks a :class:`CredentialSource` for the origin that it was told to fetch from,
sends what it gets to that origin, and to no other one that it may be redirected to.
"""

from __future__ import annotations

from typing import Protocol

from synapse_service.catalog.sources import origin


class CredentialSource(Protocol):
    """Knows the user's tokens. May be asked often, and may not block."""

    def token(self, host: str) -> str | None:
        """The bearer token for a host such as ``huggingface.co``; None when there is none."""
        ...


class NoCredentials:
    """Nobody has signed in anywhere."""

    def token(self, host: str) -> str | None:
        return None


def authorization(credentials: CredentialSource, first_url: str, url: str) -> dict[str, str]:
    """The header for a request to ``url`` within a fetch that began at ``first_url``."""
    if origin(url) != origin(first_url):
        return {}
    token = credentials.token(origin(url)[1])
    return {} if token is None else {"Authorization": f"Bearer {token}"}
