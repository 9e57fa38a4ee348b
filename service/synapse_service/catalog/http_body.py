"""Fetching one file over HTTP into the staging area, with its digest computed while it arrives.

===============  ==========================================  =======================================================
what is there    what the server does                        what happens
===============  ==========================================  =======================================================
nothing          200                                         the body is taken
a part           206 that begins where the part ends         the rest is added
a part           206 that begins elsewhere, or is of         the file begins anew
                 another version, or 416
a part           200: it ignores the range, or the file      the file begins anew with this body
                 changed
all of it        416, where nobody said how long the file    the file is complete
                 is
anything         the connection breaks                       after a pause the rest is asked for
anything         429 or 503                                  the same, after the pause that the server asks for
anything         401 or 403, once, at the first address      asked again with the credential, if there is one
anything         no byte for a minute; any other status      given up
===============  ==========================================  =======================================================

A redirect is followed only to HTTPS, or to this machine, and the credential for the first address is sent to no other.
Bodies are asked for without compression. Cookies, ``.netrc`` and caches play no part. What arrives may still be the
wrong bytes: whoever asked checks the digest. aiohttp is imported when the first URL is fetched, because most services
never need it.
"""

from __future__ import annotations

import asyncio
import base64
import email.utils
import os
import re
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urljoin, urlsplit

from synapse_models.credentials import Secret
from synapse_service.catalog.blob_files import open_regular
from synapse_service.catalog.blobs import CHUNK_BYTES, BlobStore, BlobWriter
from synapse_service.catalog.credentials import (
    ASK,
    CredentialSource,
    CredentialTrouble,
    NoCredentials,
    advice,
    authorization,
)
from synapse_service.catalog.disk_work import disk_work
from synapse_service.catalog.refusals import fetch_failed
from synapse_service.catalog.sources import RemoteFile, may_be_fetched, origin
from synapse_service.clock import Clock
from synapse_service.logs import get_logger
from synapse_wire.errors import SynapseError

if TYPE_CHECKING:
    import aiohttp

CONNECT_TIMEOUT_S: Final = 30.0
NO_BYTE_TIMEOUT_S: Final = 60.0
MAX_REDIRECTS: Final = 5
TRUST_S: Final = 60.0
"""So old may what is known of the system's certificates be: somebody who adds one tries again at once."""
MAX_RETRIES: Final = 3
"""Attempts after the first one, unless in between a good piece of the file has arrived."""
GOOD_PIECE_BYTES: Final = 64 << 20
FIRST_PAUSE_S: Final = 0.5
"""Before the first new attempt; doubled before each further one."""
MAX_PAUSE_S: Final = 60.0
"""A server that asks for a longer pause is believed, and the file given up."""

_HEADERS: Final = {"Accept-Encoding": "identity", "User-Agent": "synapse"}
_CONTENT_RANGE: Final = re.compile(r"bytes (?:(\d{1,19})-\d+|\*)/(\d{1,19}|\*)\Z")

_log = get_logger(__name__)


@dataclass(slots=True)
class _Arrival:
    """A file on its way. ``etag`` is the server's name for the version of which a part is here, if it has a strong one.

    ``answered`` says that the server has been reached before, ``refused`` that it wanted a credential. Then ``secret``
    is what there is to give, or ``trouble`` why it couldn't be had. ``asked`` is the address of the last request.
    """

    file: RemoteFile
    writer: BlobWriter
    on_bytes: Callable[[int], None]
    etag: str | None = None
    answered: bool = False
    refused: bool = False
    secret: Secret | None = None
    trouble: str | None = None
    asked: str = ""

    async def begin_anew(self) -> None:
        self.etag = None
        await disk_work(self.writer.restart)


class _Interrupted(Exception):
    """An attempt ended in a way that a new one may mend. ``failure`` is the answer if there is to be none."""

    def __init__(self, failure: SynapseError, pause_s: float | None = None) -> None:
        super().__init__(failure)
        self.failure = failure
        self.pause_s = pause_s


class BodyFetcher:
    """Brings bodies into a store's staging area. ``proxy`` and ``ca_file`` are settings, read anew for each file."""

    def __init__(
        self,
        blobs: BlobStore,
        *,
        proxy: Callable[[], str | None],
        ca_file: Callable[[], str | None],
        clock: Clock,
        credentials: CredentialSource | None = None,
        no_byte_timeout_s: float = NO_BYTE_TIMEOUT_S,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._blobs = blobs
        self._proxy = proxy
        self._ca_file = ca_file
        self._clock = clock
        self._credentials = credentials or NoCredentials()
        self._no_byte_timeout_s = no_byte_timeout_s
        self._sleep = sleep
        self._trust: tuple[str | None, float, ssl.SSLContext] | None = None

    async def fetch(self, file: RemoteFile, on_bytes: Callable[[int], None]) -> BlobWriter:
        """One file, whole, unchecked, and not published. ``on_bytes`` hears how many bytes of it are here.

        That number falls when the file begins anew. Raises ``download_failed``, StorageFull or OSError, and then
        nothing is left behind; nor is it when the caller is cancelled.
        """
        arrival = _Arrival(file, self._blobs.writer(), on_bytes)
        try:
            async with self._session(file) as session:
                await self._bring(session, arrival)
        except BaseException:
            await disk_work(arrival.writer.discard)
            raise
        return arrival.writer

    async def _bring(self, session: aiohttp.ClientSession, arrival: _Arrival) -> None:
        retries = 0
        while True:
            before = arrival.writer.size
            try:
                await self._attempt(session, arrival)
            except _Interrupted as interrupted:
                if arrival.writer.size - before >= GOOD_PIECE_BYTES:
                    retries = 0
                if retries == MAX_RETRIES:
                    raise interrupted.failure from interrupted
                pause_s = interrupted.pause_s
                if pause_s is None:
                    pause_s = FIRST_PAUSE_S * 2**retries
                retries += 1
                _log.info("fetch_interrupted", file=arrival.file.name, bytes=arrival.writer.size, pause_s=pause_s)
                await self._sleep(pause_s)
            else:
                return

    async def _attempt(self, session: aiohttp.ClientSession, arrival: _Arrival) -> None:
        import aiohttp

        name = arrival.file.name
        try:
            await self._receive(session, arrival)
        except aiohttp.ConnectionTimeoutError as error:
            message = f"fetching {name} failed: no connection within {CONNECT_TIMEOUT_S:.0f} s"
            raise fetch_failed(name, "network", message) from error
        except TimeoutError as error:
            seconds = round(self._no_byte_timeout_s)
            raise fetch_failed(name, "network", f"no byte of {name} arrived for {seconds} s") from error
        except (aiohttp.InvalidURL, UnicodeError) as error:  # The second is raised where a host is looked up.
            message = f"the address of {name} can't be read, or that of the proxy"
            raise fetch_failed(name, "network", message) from error
        except aiohttp.ClientConnectorError as error:
            failure = fetch_failed(name, "network", f"fetching {name} failed: {error}")
            # An address that was never reached is most likely wrong, and the person waits for the answer.
            raise (_Interrupted(failure) if arrival.answered else failure) from error
        except aiohttp.ClientError as error:
            if arrival.writer.size != arrival.file.size:  # else only the end of the reply was lost
                # What aiohttp says of a reply it does not understand has the address, which a redirect may have signed.
                why = error.message if isinstance(error, aiohttp.ClientResponseError) else str(error)
                raise _Interrupted(fetch_failed(name, "network", f"fetching {name} failed: {why}")) from error

    async def _receive(self, session: aiohttp.ClientSession, arrival: _Arrival) -> None:
        offset = arrival.writer.size
        if offset and offset == arrival.file.size:
            return
        headers = {"Range": f"bytes={offset}-"} if offset else {}
        if offset and arrival.etag is not None:
            headers["If-Range"] = arrival.etag
        response = await self._open(session, arrival, headers)
        async with response:
            arrival.answered = True
            if not await self._accept(arrival, response, offset):
                return
            async for chunk in response.content.iter_chunked(CHUNK_BYTES):
                # Hashing and writing a chunk takes milliseconds, which the event loop doesn't have.
                await disk_work(arrival.writer.write, chunk)
                arrival.on_bytes(arrival.writer.size)
                if arrival.file.size is not None and arrival.writer.size > arrival.file.size:
                    return  # It can't be the right file any more, and it might never end.

    async def _accept(self, arrival: _Arrival, response: aiohttp.ClientResponse, offset: int) -> bool:
        """Look at the head of a reply: True if its body is to be taken, False if the file is complete without it."""
        name, status, etag = arrival.file.name, response.status, _strong_etag(response)
        if status == 200:
            if offset:
                await arrival.begin_anew()
        elif status == 206 and offset:
            if _range_start(response) != offset:
                await arrival.begin_anew()
                raise _Interrupted(fetch_failed(name, "network", f"the server sent another part of {name}"))
            if None not in (arrival.etag, etag) and etag != arrival.etag:  # It took no notice of If-Range.
                await arrival.begin_anew()
                raise _Interrupted(fetch_failed(name, "network", f"{name} changed on the server while it arrived"))
        elif status == 416 and offset:
            if arrival.file.size is None and _total(response) == offset:
                return False
            await arrival.begin_anew()
            raise _Interrupted(fetch_failed(name, "http_status", f"the server has no rest of {name}", status))
        else:
            why = advice(status, arrival.file.url, arrival.asked, arrival.secret, arrival.trouble)
            failure = fetch_failed(name, "http_status", f"the server answered {status} for {name}{why}", status)
            pause_s = self._asked_pause_s(response)
            if status in (429, 503) and (pause_s is None or pause_s <= MAX_PAUSE_S):
                raise _Interrupted(failure, pause_s)
            raise failure
        if response.headers.get("Content-Encoding", "identity").lower() != "identity":
            raise fetch_failed(name, "network", f"the server compressed {name}, which was not asked for")
        arrival.etag = etag
        return True

    async def _open(
        self, session: aiohttp.ClientSession, arrival: _Arrival, headers: Mapping[str, str]
    ) -> aiohttp.ClientResponse:
        file = arrival.file
        url = file.url
        for _ in range(MAX_REDIRECTS + 1):
            response = await self._get(session, arrival, url, headers)
            if response.status in ASK and not arrival.refused and origin(url) == origin(file.url):
                await self._look_for_secret(arrival)
                if arrival.secret is not None:
                    response.release()
                    response = await self._get(session, arrival, url, headers)
            if response.status not in (301, 302, 303, 307, 308):
                return response
            location = response.headers.get("Location", "")
            response.release()
            try:
                url = urljoin(url, location)
                permitted = may_be_fetched(url)
            except ValueError as error:
                message = f"{file.name} is redirected to an address that can't be read"
                raise fetch_failed(file.name, "network", message) from error
            if not permitted:
                raise fetch_failed(file.name, "network", f"{file.name} is redirected to a place that is not HTTPS")
        raise fetch_failed(file.name, "network", f"{file.name} is redirected more than {MAX_REDIRECTS} times")

    async def _get(
        self, session: aiohttp.ClientSession, arrival: _Arrival, url: str, headers: Mapping[str, str]
    ) -> aiohttp.ClientResponse:
        arrival.asked = url
        try:
            proxy, proxy_headers = self._proxy_for(url)
        except ValueError as error:
            name = arrival.file.name
            message = f"{name} can't be fetched: the environment names a proxy whose address can't be read"
            raise fetch_failed(name, "network", message) from error
        return await session.get(
            url,
            allow_redirects=False,
            headers={**headers, **authorization(arrival.secret, arrival.file.url, url)},
            proxy=proxy,
            proxy_headers=proxy_headers,
        )

    async def _look_for_secret(self, arrival: _Arrival) -> None:
        arrival.refused = True
        try:
            arrival.secret = await self._credentials.token(arrival.file.url)
        except CredentialTrouble as trouble:
            arrival.trouble = trouble.message

    def _proxy_for(self, url: str) -> tuple[str | None, dict[str, str] | None]:
        """The proxy for a URL and the headers for it: that of the settings, else that of the environment."""
        configured = self._proxy()
        if configured is not None:
            return configured, None
        parts = urlsplit(url)
        from urllib.request import getproxies, proxy_bypass  # too slow to import for services that fetch nothing

        proxy = getproxies().get(parts.scheme)
        if proxy is None or proxy_bypass(parts.hostname or ""):
            return None, None
        where = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
        if where.scheme not in ("http", "https"):
            return None, None
        address = f"{where.scheme}://{where.netloc.rpartition('@')[2]}"
        if where.username is None:
            return address, None
        secret = f"{unquote(where.username)}:{unquote(where.password or '')}".encode()
        return address, {"Proxy-Authorization": f"Basic {base64.b64encode(secret).decode()}"}

    def _asked_pause_s(self, response: aiohttp.ClientResponse) -> float | None:
        """``Retry-After`` in seconds: a number of them, or a moment."""
        text = response.headers.get("Retry-After", "").strip()
        if text.isdecimal():
            return float(text)
        try:
            moment = email.utils.parsedate_to_datetime(text)
            return max(0.0, moment.timestamp() - self._clock.wall_ms() / 1000)
        except (ValueError, OverflowError):  # Not a moment, or one before the first year or after the last.
            return None

    async def _trusted(self, ca_file: str | None) -> ssl.SSLContext:
        """Whom to believe; kept a while, because reading a system's certificates takes a twentieth of a second."""
        now = self._clock.monotonic()
        if self._trust is None or self._trust[0] != ca_file or now - self._trust[1] > TRUST_S:
            self._trust = (ca_file, now, await disk_work(_tls, ca_file))
        return self._trust[2]

    @asynccontextmanager
    async def _session(self, file: RemoteFile) -> AsyncIterator[aiohttp.ClientSession]:
        import aiohttp

        ca_file = self._ca_file()
        try:
            tls = await self._trusted(ca_file)
        except OSError as error:
            message = f"the certificates in {ca_file} can't be used: {error}; correct the setting ca_file"
            raise fetch_failed(file.name, "network", message) from error
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT_S, sock_read=self._no_byte_timeout_s)
        async with aiohttp.ClientSession(
            timeout=timeout,
            connector=aiohttp.TCPConnector(ssl=tls),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=_HEADERS,
            auto_decompress=False,
            # So much may arrive while a chunk is hashed and written.
            read_bufsize=CHUNK_BYTES,
        ) as session:
            yield session


def _strong_etag(response: aiohttp.ClientResponse) -> str | None:
    etag = response.headers.get("ETag", "")
    # One that isn't ASCII could not be sent back.
    return etag if etag.startswith('"') and etag.isascii() else None


def _range_start(response: aiohttp.ClientResponse) -> int | None:
    match = _CONTENT_RANGE.match(response.headers.get("Content-Range", ""))
    return int(match[1]) if match and match[1] else None


def _total(response: aiohttp.ClientResponse) -> int | None:
    match = _CONTENT_RANGE.match(response.headers.get("Content-Range", ""))
    return int(match[2]) if match and match[2] != "*" else None


def _tls(ca_file: str | None) -> ssl.SSLContext:
    # Raises OSError, of which SSLError is a kind.
    if ca_file is not None:
        open_regular(Path(ca_file)).close()  # OpenSSL would wait for somebody who writes into a pipe.
        return ssl.create_default_context(cafile=ca_file)
    if "SSL_CERT_FILE" in os.environ or "SSL_CERT_DIR" in os.environ:
        return ssl.create_default_context()
    import truststore

    return truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
