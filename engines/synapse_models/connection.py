"""Families of connections: how bytes reach a server and come back. The only module that knows an HTTP client.

A family turns one :class:`Call` into one :class:`OpenReply` and knows nothing of retries, limits, secrets' places or
dialects; :mod:`synapse_models.pool` owns those. There is one family, ``http_json``, on aiohttp. No redirect is
followed (a credential must not travel to another host), no cookie kept, no environment variable read.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from typing import Final, Protocol

import aiohttp
import msgspec
import truststore

from synapse_models.errors import ConnectionFailed
from synapse_models.policy import ConnectionIdentity
from synapse_models.specs import HTTP_JSON


class AuthScheme(msgspec.Struct, frozen=True):
    """How a dialect presents a credential: in which header, after which word."""

    header: str
    prefix: str = ""


BEARER: Final = AuthScheme("Authorization", "Bearer ")


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One request as it goes out, but for its credential. ``stream``: events are awaited, not a document."""

    url: str
    body: bytes
    method: str = "POST"
    headers: Mapping[str, str] = {}
    auth: AuthScheme | None = None
    stream: bool = False


class OpenReply(Protocol):
    """A reply whose head has arrived. Header names are lower case."""

    status: int
    headers: Mapping[str, str]

    async def read(self) -> bytes:
        """The next bytes of the body, as they come; empty at its end.

        Raises:
            ConnectionFailed: the connection broke.
        """
        ...

    def close(self) -> None:
        """Gives the connection back if the body was read to its end, and breaks it off otherwise."""
        ...


class Connection(Protocol):
    """A family at work for one connection identity."""

    async def send(self, call: Call, headers: Mapping[str, str]) -> OpenReply:
        """Sends a call with these headers in full, and waits for the head of the reply.

        Raises:
            ConnectionFailed: no connection, or it broke first.
        """
        ...

    async def close(self) -> None:
        """Closes every connection. Called once, when no call is under way."""
        ...


class _HttpReply:
    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self.status = response.status
        # Bytes that aren't UTF-8 arrive as lone surrogates, which no record and no message could hold.
        self.headers: Mapping[str, str] = {
            name.lower(): value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
            for name, value in response.headers.items()
        }

    async def read(self) -> bytes:
        try:
            return await self._response.content.readany()
        except (aiohttp.ClientError, OSError) as caught:
            broken = _described("the connection broke in the middle of the reply", caught)
        raise broken

    def close(self) -> None:
        if self._response.content.at_eof():
            self._response.release()
        else:
            self._response.close()


class HttpJson:
    """JSON over HTTP/1.1 with connections kept alive."""

    def __init__(self, identity: ConnectionIdentity, connect_s: float = 10.0) -> None:
        self._identity = identity
        self._connect_s = connect_s
        self._session: aiohttp.ClientSession | None = None

    async def send(self, call: Call, headers: Mapping[str, str]) -> OpenReply:
        session = self._session or self._open()
        try:
            response = await session.request(
                call.method,
                call.url,
                data=call.body,
                headers=headers,
                proxy=self._identity.proxy,
                allow_redirects=False,
            )
        except (aiohttp.ClientError, OSError) as caught:
            failed = _described("no reply came", caught)
        else:
            return _HttpReply(response)
        # Raised out here, so that the client's exception, which carries the request's headers, isn't its context.
        raise failed

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    def _open(self) -> aiohttp.ClientSession:
        """The session is made at the first call, because it belongs to the event loop that is running then."""
        self._session = aiohttp.ClientSession(
            # The pool's limiter is the limit; a second one here would make calls wait where nobody sees it.
            connector=aiohttp.TCPConnector(limit=0, ssl=self._tls()),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=self._connect_s),
            read_bufsize=1 << 18,
            trust_env=False,
        )
        return self._session

    def _tls(self) -> ssl.SSLContext | bool:
        if self._identity.origin.startswith("http:"):
            return True  # never used, and certificates take their time to read
        if self._identity.tls == "system":
            return truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        return ssl.create_default_context(cafile=self._identity.tls)


CONNECTION_FAMILIES: Final[dict[str, Callable[[ConnectionIdentity, float], Connection]]] = {HTTP_JSON: HttpJson}
"""Every family by its name, made from an identity and the seconds that a connection may take to open."""


def _described(what: str, caught: BaseException) -> ConnectionFailed:
    """An error that says what happened without quoting the client's text, which may hold parts of the request."""
    reason = caught.strerror if isinstance(caught, OSError) and caught.strerror else type(caught).__name__
    return ConnectionFailed(f"{what} ({reason})")
