"""Fetching a model's files: from this disk, or over HTTP with the digest checked while the bytes arrive.

Used by ``model.load``. A file that is already in the store under the expected digest is not fetched again. A redirect
is followed only to HTTPS, or to this machine; bodies are asked for without compression; a response that stalls for a
minute is given up. aiohttp is imported when the first URL is fetched, because most services never need it.
"""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin, urlsplit

from synapse_service.catalog.blobs import CHUNK_BYTES, Blob, BlobStore, DigestMismatch, StorageFull
from synapse_service.catalog.refusals import digest_refusal, fetch_failed
from synapse_service.catalog.sources import Source, is_loopback
from synapse_service.logs import get_logger
from synapse_wire.errors import SynapseError

if TYPE_CHECKING:
    import aiohttp

CONNECT_TIMEOUT_S: Final = 30.0
NO_BYTE_TIMEOUT_S: Final = 60.0
MAX_REDIRECTS: Final = 5

OnBytes = Callable[[int], None]

_log = get_logger(__name__)


class Fetcher:
    """Brings files into a blob store. ``proxy`` and ``ca_file`` are settings, read anew for each fetch."""

    def __init__(
        self,
        blobs: BlobStore,
        *,
        proxy: Callable[[], str | None],
        ca_file: Callable[[], str | None],
        no_byte_timeout_s: float = NO_BYTE_TIMEOUT_S,
    ) -> None:
        self._blobs = blobs
        self._proxy = proxy
        self._ca_file = ca_file
        self._no_byte_timeout_s = no_byte_timeout_s

    async def fetch(self, source: Source, on_bytes: OnBytes) -> Blob:
        """One file as a blob; raises ``artifact_invalid`` or ``download_failed`` naming the file."""
        if source.sha256 is not None:
            known = await self._stored(source.sha256, source.name)
            if known is not None:
                return known
        try:
            if source.path is not None:
                return await self._adopt(source.path, source.sha256, on_bytes)
            return await self._download(source, on_bytes)
        except DigestMismatch as error:
            raise digest_refusal(error) from error
        except StorageFull as error:
            raise fetch_failed(source.name, "storage_full", f"{error}; free some space and try again") from error
        except OSError as error:
            raise SynapseError(
                "invalid_request",
                f"the file can't be read: {error.strerror or error}: {source.path or source.name}",
                details={"field": f"files.{source.role}"},
                level="semantic",
            ) from error

    async def _stored(self, sha256: str, name: str) -> Blob | None:
        known = self._blobs.find(sha256)
        if known is None:
            return None
        try:
            await asyncio.to_thread(self._blobs.verify, sha256, known.size, name)
        except DigestMismatch:
            # Fetching is how a damaged file is repaired, so it is put aside and fetched like a missing one.
            _log.warning("corrupt_blob", file=name, sha256=sha256)
            self._blobs.quarantine(sha256)
            return None
        return known

    async def _adopt(self, path: Path, sha256: str | None, on_bytes: OnBytes) -> Blob:
        abandoned = threading.Event()

        def on_chunk(size: int) -> None:
            # A thread can't be cancelled, and a service that stops would wait for it to copy gigabytes.
            if abandoned.is_set():
                raise InterruptedError
            on_bytes(size)

        try:
            return await asyncio.to_thread(self._blobs.adopt, path, sha256, on_chunk)
        except asyncio.CancelledError:
            abandoned.set()
            raise

    async def _download(self, source: Source, on_bytes: OnBytes) -> Blob:
        import aiohttp

        assert source.url is not None
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT_S, sock_read=self._no_byte_timeout_s)
        connector = aiohttp.TCPConnector(ssl=_tls(self._ca_file()))
        headers = {"Accept-Encoding": "identity", "User-Agent": "synapse"}
        try:
            async with aiohttp.ClientSession(
                timeout=timeout, connector=connector, headers=headers, trust_env=True, auto_decompress=False
            ) as session:
                response = await self._open(session, source)
                async with response:
                    return await self._store(source, response, on_bytes)
        except TimeoutError as error:
            seconds = round(self._no_byte_timeout_s)
            raise fetch_failed(source.name, "network", f"no byte of {source.name} arrived for {seconds} s") from error
        except aiohttp.ClientError as error:
            raise fetch_failed(source.name, "network", f"fetching {source.name} failed: {error}") from error

    async def _open(self, session: aiohttp.ClientSession, source: Source) -> aiohttp.ClientResponse:
        url = source.url or ""
        for _ in range(MAX_REDIRECTS + 1):
            response = await session.get(url, allow_redirects=False, proxy=self._proxy())
            if response.status not in (301, 302, 303, 307, 308):
                break
            location = response.headers.get("Location", "")
            response.release()
            url = urljoin(url, location)
            parts = urlsplit(url)
            if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(parts.hostname or "")):
                raise fetch_failed(source.name, "network", f"{source.name} is redirected to a place that is not HTTPS")
        else:
            raise fetch_failed(source.name, "network", f"{source.name} is redirected more than {MAX_REDIRECTS} times")
        if response.status != 200:
            status = response.status
            response.release()
            raise fetch_failed(source.name, "http_status", f"the server answered {status} for {source.name}", status)
        if response.headers.get("Content-Encoding", "identity") != "identity":
            response.release()
            raise fetch_failed(source.name, "network", f"the server compressed {source.name}, which was not asked for")
        return response

    async def _store(self, source: Source, response: aiohttp.ClientResponse, on_bytes: OnBytes) -> Blob:
        writer = await asyncio.to_thread(self._blobs.writer)
        try:
            async for chunk in response.content.iter_chunked(CHUNK_BYTES):
                # Hashing and writing a chunk takes milliseconds, which the event loop doesn't have.
                await asyncio.to_thread(writer.write, chunk)
                on_bytes(len(chunk))
            return await asyncio.to_thread(writer.publish, source.name, source.sha256)
        finally:
            writer.discard()


def _tls(ca_file: str | None) -> ssl.SSLContext:
    if ca_file is not None:
        return ssl.create_default_context(cafile=ca_file)
    import truststore

    return truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
