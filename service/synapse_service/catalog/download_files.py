"""The files of a download: which are missing, whether they fit, fetching them, and putting them into the store.

The steps of ``downloads`` that touch the network and the disk. They raise what the job then fails with:
``download_failed`` or ``artifact_invalid`` naming the file, or OSError for a disk that is in trouble.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from typing import Final

from synapse_service.catalog.blob_files import StorageFull
from synapse_service.catalog.blobs import BlobStore, DigestMismatch
from synapse_service.catalog.compiled import CatalogEntry, PinnedFile
from synapse_service.catalog.disk_work import disk_work
from synapse_service.catalog.download_job import LiveDownload, Staged
from synapse_service.catalog.http_body import BodyFetcher
from synapse_service.catalog.installs import missing_files
from synapse_service.catalog.refusals import digest_refusal, fetch_failed, storage_full
from synapse_service.catalog.sources import RemoteFile, hub_url

RESERVE_BYTES: Final = 16 << 20
"""What a download leaves free on its disk, so that the database beside it can still be written."""


class DownloadFiles:
    """One for all downloads; it keeps nothing of any of them. ``hub_base_url`` is a setting, read for each file."""

    def __init__(self, blobs: BlobStore, bodies: BodyFetcher, hub_base_url: Callable[[], str]) -> None:
        self._blobs = blobs
        self._bodies = bodies
        self._hub_base_url = hub_base_url

    async def missing(self, entry: CatalogEntry) -> list[PinnedFile]:
        """The entry's files that aren't in the store in their size."""
        digests = set(await disk_work(missing_files, self._blobs, entry))
        return [file for _, file in entry.spec.files.by_role() if file.sha256 in digests]

    async def require_space(
        self, entry: CatalogEntry, wanted: Sequence[PinnedFile], promised_bytes: Callable[[], int]
    ) -> None:
        """Refuse what can't fit beside the ``promised_bytes`` that other downloads still have to write.

        They are asked for when the disk has answered, and between that and the return no other download has its turn.
        """
        needed = sum(file.size for file in wanted)
        usage = await disk_work(shutil.disk_usage, self._blobs.root)
        free = usage.free - promised_bytes()
        if free < needed + RESERVE_BYTES:
            largest = max(wanted, key=lambda file: file.size)
            raise fetch_failed(
                largest.path,
                "storage_full",
                f"{entry.id} needs {needed >> 20} MiB and {max(free, 0) >> 20} MiB are free in "
                f"{self._blobs.root}; free some space and try again",
            )

    async def fetch(self, job: LiveDownload, wanted: Sequence[PinnedFile], on_progress: Callable[[], None]) -> None:
        """Bring the files into staging, one after the other, and check each as soon as it is whole."""
        upstream = job.entry.spec.upstream
        before = 0
        for file in wanted:
            url = hub_url(self._hub_base_url(), upstream.hf_repo, upstream.revision, file.path)

            def on_bytes(size: int, before: int = before) -> None:
                job.progress(before + size)
                on_progress()

            try:
                writer = await self._bodies.fetch(RemoteFile(file.path, url, file.size), on_bytes)
                job.staged.append(Staged(file, writer))
                writer.check(file.path, file.sha256, file.size)
            except DigestMismatch as error:
                raise digest_refusal(error, "models.download") from error
            except StorageFull as error:
                raise storage_full(file.path, error) from error
            before += file.size

    async def publish(self, job: LiveDownload) -> None:
        """Flush each staged file to the disk and make it a blob."""
        for staged in job.staged:
            file = staged.file
            try:
                await disk_work(staged.writer.publish, file.path, file.sha256, file.size, lease=job.lease)
            except StorageFull as error:
                raise storage_full(file.path, error) from error
