"""Where a credential lives, and how it is fetched without ever being shown.

Files and plans hold a :class:`CredentialRef`: the name of a place, never the secret. A connection pool asks the
resolver that it was given, and receives a :class:`Secret`, which shows itself to nothing but :meth:`Secret.reveal`.
Only the connection calls that, at the moment when it writes a header.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Final, Literal, NoReturn, Protocol

import msgspec

from synapse_models.errors import AuthenticationFailed

CredentialKind = Literal["keyring", "env", "none"]

_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/-]{0,127}")
_ENVIRONMENT_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")


class CredentialRef(msgspec.Struct, frozen=True):
    """The place of a credential: an entry of the system's keyring, an environment variable, or none at all."""

    kind: CredentialKind
    name: str = ""

    @classmethod
    def parse(cls, text: str) -> CredentialRef:
        """Reads ``keyring:NAME``, ``env:NAME`` or ``none``.

        Raises:
            ValueError: anything else. It may be a secret that was pasted in, so the message doesn't repeat it.
        """
        if text == "none":
            return NO_CREDENTIAL
        kind, _, name = text.partition(":")
        if kind == "keyring" and _NAME.fullmatch(name):
            return cls("keyring", name)
        if kind == "env" and _ENVIRONMENT_NAME.fullmatch(name):
            return cls("env", name)
        raise ValueError("a credential is keyring:NAME, env:NAME or none; a secret itself is never written here")

    def __str__(self) -> str:
        return self.kind if self.kind == "none" else f"{self.kind}:{self.name}"


NO_CREDENTIAL: Final = CredentialRef("none")


class Secret:
    """A credential's text. It compares by content and shows itself only to :meth:`reveal`."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The secret. For the one place that writes it into a header, and for redaction."""
        return self._text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __repr__(self) -> str:
        return "Secret([redacted])"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return repr(self)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not written anywhere")


class CredentialResolver(Protocol):
    """Fetches credentials. The application injects one that may ask the keyring."""

    async def resolve(self, ref: CredentialRef) -> Secret | None:
        """The credential at ``ref``, None for ``none``.

        Raises:
            AuthenticationFailed: there is nothing at that place, or the place can't be reached.
        """
        ...


class EnvironmentResolver:
    """Resolves ``env:`` and ``none``: enough for scripts and tests, and the default of a pool."""

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        self._environ = os.environ if environ is None else environ

    async def resolve(self, ref: CredentialRef) -> Secret | None:
        if ref.kind == "none":
            return None
        if ref.kind != "env":
            raise AuthenticationFailed(f"nothing here can read {ref}: only environment variables are resolved")
        text = self._environ.get(ref.name, "").strip()
        if not text:
            raise AuthenticationFailed(f"the environment variable {ref.name} is not set")
        return Secret(text)
