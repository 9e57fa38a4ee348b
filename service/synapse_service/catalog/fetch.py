"""Fetching a free-form model's files: from this disk, or over HTTP with the digest checked while the bytes arrive.

Used by ``model.load``. A file that is already in the store under the expected digest is not fetched again. How a body
is fetched is in ``http_body``.
"""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

from synapse_service.catalog.blob_files import StorageFull
from synapse_service.catalog.blob_leases import BlobLease
from synapse_service.catalog.blobs import Blob, BlobStore, DigestMismatch
from synapse_service.catalog.disk_work import disk_work
from synapse_service.catalog.http_body import BodyFetcher
from synapse_service.catalog.refusals import digest_refusal, disk_failure, storage_full
from synapse_service.catalog.sources import RemoteFile, Source
from synapse_service.logs import get_logger
from synapse_wire.errors import SynapseError

_log = get_logger(__name__)


class Fetcher:
    """Brings files into a blob store."""

    def __init__(self, blobs: BlobStore, bodies: BodyFetcher) -> None:
        self._blobs = blobs
        self._bodies = bodies

    async def fetch(self, source: Source, lease: BlobLease) -> Blob:
        """One file as a blob that ``lease`` holds; raises ``artifact_invalid`` or ``download_failed`` naming it.

        What can't be read on this disk is ``invalid_request`` naming its field, and a fault of the disk that holds
        the models ``store_failure``.
        """
        if source.sha256 is not None:
            lease.add(source.sha256)
            known = await self._stored(source.sha256, source.name)
            if known is not None:
                return known
        try:
            if source.path is not None:
                return await self._adopt(source.path, source.sha256, lease)
            return await self._download(source, lease)
        except DigestMismatch as error:
            raise digest_refusal(error) from error
        except StorageFull as error:
            raise storage_full(source.name, error) from error
        except OSError as error:
            if source.path is None or self._is_ours(error):
                raise disk_failure(error, self._blobs) from error
            raise SynapseError(
                "invalid_request",
                f"the file can't be read: {error.strerror or error}: {source.path or source.name}",
                details={"field": f"files.{source.role}"},
                level="semantic",
            ) from error

    async def _stored(self, sha256: str, name: str) -> Blob | None:
        try:
            return await self._proven(sha256, name)
        except OSError as error:  # The source has not been looked at yet.
            raise disk_failure(error, self._blobs) from error

    async def _proven(self, sha256: str, name: str) -> Blob | None:
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

    def _is_ours(self, error: OSError) -> bool:
        """True for a fault of the store, which always names its file; reading a source may name none."""
        return error.filename is not None and Path(error.filename).is_relative_to(self._blobs.root)

    async def _adopt(self, path: Path, sha256: str | None, lease: BlobLease) -> Blob:
        abandoned = threading.Event()

        def on_chunk(size: int) -> None:
            # A thread can't be cancelled, and a service that stops would wait for it to copy gigabytes.
            if abandoned.is_set():
                raise InterruptedError

        try:
            return await asyncio.to_thread(self._blobs.adopt, path, sha256, on_chunk, lease=lease)
        except asyncio.CancelledError:
            abandoned.set()
            raise

    async def _download(self, source: Source, lease: BlobLease) -> Blob:
        assert source.url is not None
        writer = await self._bodies.fetch(RemoteFile(source.name, source.url), lambda _: None)
        try:
            return await disk_work(writer.publish, source.name, source.sha256, lease=lease)
        finally:
            await disk_work(writer.discard)
