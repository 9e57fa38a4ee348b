"""Credentials for servers that give some files only to people who have signed in.

What is here is the seam: the fetcher asks a :class:`CredentialSource` once a server has refused it, for the address
that it was told to fetch from, sends what it gets to that origin, and to no other one that it may be redirected to.
Files that everybody gets are fetched without a credential, and the keyring isn't asked for them.
"""

from __future__ import annotations

import re
from typing import Final, Protocol

from synapse_models.credentials import Secret
from synapse_service.catalog.sources import origin, origin_text

ASK: frozenset[int] = frozenset({401, 403})
"""Replies that a credential may change."""

_HUB: Final = "https://huggingface.co"


class CredentialTrouble(Exception):
    """A credential may be there and can't be had now. ``message`` says why and what to do; it holds no secret."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class CredentialSource(Protocol):
    """Knows the user's tokens."""

    async def token(self, url: str) -> Secret | None:
        """The bearer token for the origin of ``url``; None when there is none. Raises CredentialTrouble."""
        ...


class NoCredentials:
    """Nobody has signed in anywhere."""

    async def token(self, url: str) -> Secret | None:
        return None


def authorization(secret: Secret | None, first_url: str, url: str) -> dict[str, str]:
    """The header for a request to ``url`` within a fetch that began at ``first_url``."""
    if secret is None or origin(url) != origin(first_url):
        return {}
    return {"Authorization": f"Bearer {secret.reveal()}"}


def advice(status: int, first_url: str, url: str, secret: Secret | None, trouble: str | None) -> str:
    """What to do about a refusal of ``url``, to be put behind the sentence that tells of it; empty for other replies.

    ``first_url`` is where the fetch began: only for its origin there can be a ``secret``, or ``trouble`` with it.
    """
    if status not in ASK:
        return ""
    if origin(url) != origin(first_url):
        return f"; the request was redirected to {origin_text(url)}, which is given no token"
    if trouble is not None:
        return f"; it wants a token, and {trouble}"
    if secret is None:
        return f"; it wants a token: store one with `{_first_command(origin_text(url))}`"
    return "; the stored token doesn't open this model: look at the token's rights, and accept the model's terms"


def set_command(name: str, where: str) -> str:
    """What a person types to store a secret for an origin, whatever the settings say."""
    return f"synapse credentials set {name} --origin {where}"


def _first_command(where: str) -> str:
    # Each server has a name of its own: a secret takes the place of an earlier one of its name.
    host = where.partition("://")[2]
    return set_command("huggingface" if where == _HUB else re.sub(r"[^A-Za-z0-9_.:-]+", "_", host)[:128], where)
