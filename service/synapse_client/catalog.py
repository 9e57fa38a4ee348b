"""What the clients can do with the catalog and the stored files: browse, download, remove, keep, collect.

The methods of both clients, in one file beside each other; the two classes are bases of ``Client`` and
``AsyncClient``. A download is a job of its own kind with a status of its own, so it is waited for with
``wait_download``.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

import msgspec

from synapse_client import calls
from synapse_client.errors import JobUnfinished, ProtocolViolation
from synapse_client.running import Asyncio, Blocking
from synapse_wire import results as r
from synapse_wire.errors import SynapseError, WireError

Progress = Callable[[r.DownloadStatus], object]


class CatalogMethods(Blocking):
    """Of the blocking client."""

    _clock: Callable[[], float]
    _sleep: Callable[[float], None]

    def models_catalog(
        self,
        query: str | None = None,
        *,
        task: str | None = None,
        runnable_here: bool | None = None,
        installed: bool | None = None,
    ) -> r.ModelsCatalog:
        """The models that can be installed; ``query`` is looked for in id, name and description."""
        return self._run(calls.models_catalog(query, task, runnable_here, installed))

    def models_download(self, catalog_id: str, *, request_key: str | None = None) -> r.DownloadStatus:
        """Begin to install a model of the catalog, or join whoever does. Wait with :meth:`wait_download`."""
        return self._run(calls.models_download(catalog_id, request_key))

    def download_status(self, job_id: str) -> r.DownloadStatus:
        """The state of one download."""
        return self._run(calls.download_status(job_id))

    def wait_download(
        self, job_id: str, on_progress: Progress | None = None, *, timeout_s: float | None = None
    ) -> r.DownloadStatus:
        """Wait until a download is committed. ``on_progress`` is called with every status that was read.

        Raises what it failed with as :class:`SynapseError` (``request_cancelled`` when somebody cancelled it), or
        :class:`JobUnfinished` after ``timeout_s``.
        """
        started = self._clock()
        for pause in calls.poll_intervals():
            status = self.download_status(job_id)
            if on_progress is not None:
                on_progress(status)
            if _committed(status):
                return status
            waited = self._clock() - started
            if timeout_s is not None and waited + pause > timeout_s:
                raise JobUnfinished(status, waited)
            self._sleep(pause)
        raise AssertionError("poll intervals never end")

    def models_download_cancel(self, job_id: str) -> r.DownloadStatus:
        """End a download, for everyone who waits for it."""
        return self._run(calls.models_download_cancel(job_id))

    def downloads_list(self, *, limit: int | None = None) -> r.DownloadsList:
        """The downloads that are kept, newest first, with their rates."""
        return self._run(calls.downloads_list(limit))

    def models_remove(self, catalog_id: str) -> r.ModelRemoved:
        """Remove a model of the catalog with its files. Unload its lanes first."""
        return self._run(calls.models_remove(catalog_id))

    def cache_pin(
        self,
        *,
        model_id: str | None = None,
        catalog_id: str | None = None,
        pinned: bool = True,
        owner: str | None = None,
    ) -> r.CachePins:
        """Keep the files of a model, whatever becomes of it, or let go of them. Give one of the two ids."""
        return self._run(calls.cache_pin(model_id, catalog_id, pinned, owner))

    def cache_gc(self, *, dry_run: bool = False) -> r.CacheCollected:
        """Remove the files that nobody needs, or say which those are."""
        return self._run(calls.cache_gc(dry_run))

    def cache_usage(self) -> r.CacheUsage:
        """What the models take on the disk, and what removing each of them would give back."""
        return self._run(calls.cache_usage())

    def storage_status(self) -> r.StorageStatus:
        """Where the models are, whether they are there, and how far a move of them is."""
        return self._run(calls.storage_status())

    def storage_move(self, path: str | None = None, *, mode: str | None = None) -> r.StorageMove:
        """Begin to move the models to a folder, the usual one if none is given; ``adopt`` uses what lies there."""
        return self._run(calls.storage_move(path, mode))

    def storage_cancel(self) -> r.StorageMove:
        """Take a move back that is under way."""
        return self._run(calls.storage_cancel())

    def credentials_set(self, name: str, secret: str, *, origin: str | None = None) -> r.CredentialRow:
        """Keep a secret in the user's keyring, for one origin; that of the hub if none is given."""
        return self._run(calls.credentials_set(name, secret, origin))

    def credentials_delete(self, name: str) -> r.CredentialsList:
        """Forget a secret; those that are left."""
        return self._run(calls.credentials_delete(name))

    def credentials_list(self) -> r.CredentialsList:
        """The names, and whether their secrets can be had now."""
        return self._run(calls.credentials_list())


class AsyncCatalogMethods(Asyncio):
    """Of the asyncio client; what each method means is said at :class:`CatalogMethods`."""

    _sleep: Callable[[float], Awaitable[None]]

    async def models_catalog(
        self,
        query: str | None = None,
        *,
        task: str | None = None,
        runnable_here: bool | None = None,
        installed: bool | None = None,
    ) -> r.ModelsCatalog:
        """The models that can be installed."""
        return await self._run(calls.models_catalog(query, task, runnable_here, installed))

    async def models_download(self, catalog_id: str, *, request_key: str | None = None) -> r.DownloadStatus:
        """Begin to install a model of the catalog, or join whoever does."""
        return await self._run(calls.models_download(catalog_id, request_key))

    async def download_status(self, job_id: str) -> r.DownloadStatus:
        """The state of one download."""
        return await self._run(calls.download_status(job_id))

    async def wait_download(
        self, job_id: str, on_progress: Progress | None = None, *, timeout_s: float | None = None
    ) -> r.DownloadStatus:
        """Wait until a download is committed."""
        started = time.monotonic()
        for pause in calls.poll_intervals():
            status = await self.download_status(job_id)
            if on_progress is not None:
                on_progress(status)
            if _committed(status):
                return status
            waited = time.monotonic() - started
            if timeout_s is not None and waited + pause > timeout_s:
                raise JobUnfinished(status, waited)
            await self._sleep(pause)
        raise AssertionError("poll intervals never end")

    async def models_download_cancel(self, job_id: str) -> r.DownloadStatus:
        """End a download, for everyone who waits for it."""
        return await self._run(calls.models_download_cancel(job_id))

    async def downloads_list(self, *, limit: int | None = None) -> r.DownloadsList:
        """The downloads that are kept, newest first, with their rates."""
        return await self._run(calls.downloads_list(limit))

    async def models_remove(self, catalog_id: str) -> r.ModelRemoved:
        """Remove a model of the catalog with its files."""
        return await self._run(calls.models_remove(catalog_id))

    async def cache_pin(
        self,
        *,
        model_id: str | None = None,
        catalog_id: str | None = None,
        pinned: bool = True,
        owner: str | None = None,
    ) -> r.CachePins:
        """Keep the files of a model, whatever becomes of it, or let go of them."""
        return await self._run(calls.cache_pin(model_id, catalog_id, pinned, owner))

    async def cache_gc(self, *, dry_run: bool = False) -> r.CacheCollected:
        """Remove the files that nobody needs, or say which those are."""
        return await self._run(calls.cache_gc(dry_run))

    async def cache_usage(self) -> r.CacheUsage:
        """What the models take on the disk."""
        return await self._run(calls.cache_usage())

    async def storage_status(self) -> r.StorageStatus:
        """Where the models are, whether they are there, and how far a move of them is."""
        return await self._run(calls.storage_status())

    async def storage_move(self, path: str | None = None, *, mode: str | None = None) -> r.StorageMove:
        """Begin to move the models to a folder, or to use what lies there."""
        return await self._run(calls.storage_move(path, mode))

    async def storage_cancel(self) -> r.StorageMove:
        """Take a move back that is under way."""
        return await self._run(calls.storage_cancel())

    async def credentials_set(self, name: str, secret: str, *, origin: str | None = None) -> r.CredentialRow:
        """Keep a secret in the user's keyring, for one origin."""
        return await self._run(calls.credentials_set(name, secret, origin))

    async def credentials_delete(self, name: str) -> r.CredentialsList:
        """Forget a secret."""
        return await self._run(calls.credentials_delete(name))

    async def credentials_list(self) -> r.CredentialsList:
        """The names, and whether their secrets can be had now."""
        return await self._run(calls.credentials_list())


def _committed(status: r.DownloadStatus) -> bool:
    """True once it is, False while it goes on; raises how it ended otherwise."""
    if status.state == "cancelled":
        raise SynapseError("request_cancelled", f"the download {status.job_id} was cancelled")
    if status.state != "failed":
        return status.state == "committed"
    if status.error is msgspec.UNSET:
        raise ProtocolViolation(f"Download {status.job_id} failed without saying why.")
    try:
        wire = msgspec.convert(status.error, WireError)
    except msgspec.ValidationError as error:
        raise ProtocolViolation(f"Download {status.job_id} failed with an unreadable error: {error}.") from error
    raise SynapseError.from_wire(wire, level="semantic")
