"""Downloads: fetching the files of a catalog model, and installing it in one step.

===========  ==============================  ===========  ==========================================================
state        event                           next         effect
===========  ==============================  ===========  ==========================================================
(none)       accepted                        queued       one transaction with its key, before anyone hears the id
queued       every file is here              committed    the fence; no byte from the network
queued       a file is missing, space is     downloading  one file after the other arrives in staging, its digest
             enough                                       checked as soon as it is whole
downloading  every file has arrived          verifying    the blobs to be are written down; then each file is
                                                          flushed to the disk and renamed into the store
verifying    every file is a blob            committed    the fence: one transaction with the install
any live     a fault                         failed       the fence
any live     models.download.cancel          cancelled    the fence, for everyone who shares the job
any live     the process ends                failed       at the next boot, as ``module_restarted``
===========  ==============================  ===========  ==========================================================

The *fence* is one statement in the database that ends a job which hasn't ended; exactly one caller gets it. Whoever
ends a job otherwise than as committed has its staging emptied, and those blobs removed that it published and that
nothing else needs; what a disk in trouble keeps of them goes at the next start. There is one live job for each
manifest, however many callers share it, and until it ends it holds all files of the entry, so that no collection takes
one between the look at what is here and the commit.

An end that the disk doesn't take holds in memory and is written later. Nothing here decides which models may be
downloaded: see ``operations.downloads``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from synapse_service.catalog import download_records as records
from synapse_service.catalog.blobs import BlobStore
from synapse_service.catalog.collector import Collector
from synapse_service.catalog.compiled import CatalogEntry
from synapse_service.catalog.detached import Detached
from synapse_service.catalog.disk_work import disk_work
from synapse_service.catalog.download_files import DownloadFiles
from synapse_service.catalog.download_job import (
    KIND,
    TERMINAL,
    DownloadState,
    LiveDownload,
    RateMeter,
    TerminalState,
)
from synapse_service.catalog.installs import Installs, record_install
from synapse_service.catalog.refusals import disk_failure, fetch_failed
from synapse_service.clock import Clock
from synapse_service.failures import where
from synapse_service.jobs.book import Counters
from synapse_service.logs import get_logger
from synapse_service.store.database import Store
from synapse_service.store.errors import StoreError
from synapse_wire.errors import SynapseError, invalid_state
from synapse_wire.results import BlobHolder, DownloadRow, DownloadStatus, JobRow

_log = get_logger(__name__)


class Downloads:
    """All downloads: the live ones in memory, every one in the database. Used on the event loop.

    ``publish`` hears every change of a download, and whether it is the last one.
    """

    def __init__(
        self,
        *,
        store: Store,
        blobs: BlobStore,
        files: DownloadFiles,
        installs: Installs,
        collector: Collector,
        detached: Detached,
        counters: Counters,
        clock: Clock,
        new_id: Callable[[], str],
        module_generation: int,
        retention_ms: Callable[[], int],
        publish: Callable[[LiveDownload, bool], None],
    ) -> None:
        self._store = store
        self._blobs = blobs
        self._files = files
        self._installs = installs
        self._collector = collector
        self._detached = detached
        self._counters = counters
        self._clock = clock
        self._new_id = new_id
        self._generation = module_generation
        self._retention_ms = retention_ms
        self._publish = publish
        self._admission = asyncio.Lock()
        self._live: dict[str, LiveDownload] = {}
        self._tasks: dict[LiveDownload, asyncio.Task[None]] = {}
        self._unwritten: dict[str, tuple[LiveDownload, records.End]] = {}
        self._closing = False

    # --- looking ---

    def live(self, catalog_id: str | None = None) -> list[LiveDownload]:
        """Downloads that have not ended, oldest first."""
        return [job for job in self._live.values() if catalog_id in (None, job.entry.id)]

    def of(self, entry: CatalogEntry) -> LiveDownload | None:
        """The download of an entry's present manifest, while it has not ended."""
        return self._live.get(entry.manifest_digest)

    async def find(self, job_id: str) -> DownloadStatus | None:
        """Where a download stands; None for an id that is unknown, expired or of another kind of job."""
        job = self._in_memory().get(job_id)
        if job is not None:
            return job.status()
        now = self._clock.steady_ms()
        return await self._store.read(lambda: records.stored_status(job_id, now))

    async def rows(self, limit: int) -> list[DownloadRow]:
        """The newest downloads; live ones with their rate."""
        now = self._clock.steady_ms()
        rows = await self._store.read(lambda: records.stored_rows(limit, now))
        jobs = self._in_memory()
        return [jobs[row.job_id].row() if row.job_id in jobs else row for row in rows]

    def job_rows(self) -> dict[str, JobRow]:
        """The downloads that are live, or ended and not written down, as rows of ``jobs.list`` by job id."""
        return {job_id: job.job_row(self._generation) for job_id, job in self._in_memory().items()}

    def _in_memory(self) -> dict[str, LiveDownload]:
        """Downloads whose row may be behind."""
        ended = {job_id: job for job_id, (job, _) in self._unwritten.items()}
        return ended | {job.job_id: job for job in self._live.values()}

    # --- starting and cancelling ---

    async def start(self, entry: CatalogEntry, request_key: str | None, client: str | None) -> DownloadStatus:
        """Begin to download an entry, or join what is under way or done under this key.

        Raises ``idempotency_conflict`` and StoreError.
        """
        request = records.Request(entry.id, entry.manifest_digest, request_key, client)
        return await self._detached.run(self._start(entry, request))

    async def _start(self, entry: CatalogEntry, request: records.Request) -> DownloadStatus:
        async with self._admission:
            fresh = self._new(entry, request.client)
            try:
                complete = await disk_work(self._installs.complete, entry)
                live = self.of(entry)
                live_id = None if live is None else live.job_id
                new = records.Fresh(fresh.job_id, fresh.created_ms, self._generation)
                now = self._clock.steady_ms()
                job_id, state = await self._store.write(
                    lambda: records.admit(request, new, live=live_id, complete=complete, now_ms=now)
                )
            except BaseException as error:
                fresh.lease.release()
                if isinstance(error, OSError):
                    raise disk_failure(error, self._blobs) from error
                raise
            if job_id == fresh.job_id:
                self._begin(fresh)
                return fresh.status()
            fresh.lease.release()
            return await self.find(job_id) or DownloadStatus(job_id=job_id, state=state)

    def _new(self, entry: CatalogEntry, client: str | None) -> LiveDownload:
        job_id = self._new_id()
        holder = BlobHolder(kind="job", job_id=job_id)
        lease = self._blobs.leases.take(holder, (file.sha256 for _, file in entry.spec.files.by_role()))
        return LiveDownload(job_id, entry, client, self._clock.wall_ms(), lease, RateMeter(self._clock))

    def _begin(self, job: LiveDownload) -> None:
        self._counters.minted += 1
        if self._closing:  # The row is left to the next boot.
            job.lease.release()
            return
        self._live[job.entry.manifest_digest] = job
        self._publish(job, False)
        self._tasks[job] = asyncio.create_task(self._run(job), name=f"{KIND} {job.entry.id}")

    async def cancel(self, job_id: str) -> DownloadStatus:
        """End a live download for everyone; an ended one stays as it is. Raises ``invalid_request`` and StoreError."""
        return await self._detached.run(self._cancel(job_id))

    async def _cancel(self, job_id: str) -> DownloadStatus:
        job = next((job for job in self._live.values() if job.job_id == job_id), None)
        if job is not None:
            task = self._tasks[job]
            await self._end(job, "cancelled")
            if job.state == "cancelled" and not job.ending:
                job.ending = True
                task.cancel()
            # The answer comes when the files are gone; everyone else knows already.
            await asyncio.wait([task])
        status = await self.find(job_id)
        if status is None:
            raise invalid_state(f"no download {job_id!r} is known; it may have expired", job_id=job_id)
        return status

    # --- the work ---

    async def _run(self, job: LiveDownload) -> None:
        failure: SynapseError | None = None
        try:
            # A task that is cancelled before its first step would never come here; cancel() waits for a transaction
            # first, and close() looks at what has not ended.
            await self._work(job)
        except asyncio.CancelledError:
            if job.state not in TERMINAL:
                _log.info("download_interrupted", job_id=job.job_id, catalog_id=job.entry.id)
        except StoreError as error:
            failure = _full_database(job, error) if error.reason == "storage_full" else error
        except SynapseError as error:
            failure = error
        except OSError as error:
            failure = disk_failure(error, self._blobs)
        except Exception as error:  # noqa: BLE001 - the edge of the job's own task: its clients must learn that it ended
            _log.error("download_lost", job_id=job.job_id, catalog_id=job.entry.id, where=where(error))
            message = f"the download failed unexpectedly; the log tells where under its id {job.job_id}"
            failure = SynapseError("internal_error", message, details={"reference": job.job_id})
        job.ending = True
        try:
            await self._finish(job, failure)
        finally:
            job.lease.release()
            self._tasks.pop(job, None)

    async def _work(self, job: LiveDownload) -> None:
        wanted = await self._files.missing(job.entry)
        if not wanted:
            await self._commit(job, "queued")
            return
        bytes_total = sum(file.size for file in wanted)
        await self._files.require_space(job.entry, wanted, lambda: sum(each.remaining_bytes for each in self.live()))
        job.bytes_total = bytes_total  # At once: whoever looks for space after this one has to leave so much of it.
        await self._set_downloading(job)
        await self._files.fetch(job, wanted, lambda: self._publish(job, False))
        digests = [staged.file.sha256 for staged in job.staged]
        job.verifies = True
        if not await self._store.write(lambda: records.begin_verifying(job.job_id, digests)):
            self._was_cancelled(job)
            return
        self._enter(job, "verifying")
        await self._files.publish(job)
        await self._commit(job, "verifying")

    async def _set_downloading(self, job: LiveDownload) -> None:
        started_ms = self._clock.wall_ms()
        try:
            await self._store.write(lambda: records.begin(job.job_id, job.bytes_total, started_ms))
        except StoreError as error:
            # Only the fence and what a job publishes have to be on the disk.
            _log.warning("download_state_not_written", job_id=job.job_id, reason=error.reason)
        self._enter(job, "downloading")
        job.meter.at(0)

    def _enter(self, job: LiveDownload, state: DownloadState) -> None:
        if job.state not in TERMINAL:
            job.state = state
            self._publish(job, False)

    # --- the end ---

    async def _commit(self, job: LiveDownload, expected: DownloadState) -> None:
        ended = self._ended_as("committed", job, None)
        installed_ms = self._clock.wall_ms()

        def step() -> bool:
            won = records.end(job.job_id, ended, only_from=expected)
            if won:
                record_install(job.entry, installed_ms)
            return won

        if await self._store.write(step):
            job.lease.release()  # From here on the install holds the files.
            self._installs.committed(job.entry)
            self._has_ended(job, ended)
        else:
            self._was_cancelled(job)

    async def _end(self, job: LiveDownload, state: TerminalState, failure: SynapseError | None = None) -> bool:
        """Try to end a job; False if somebody else was quicker. Raises StoreError."""
        ended = self._ended_as(state, job, failure)
        won = await self._store.write(lambda: records.end(job.job_id, ended))
        if won:
            self._has_ended(job, ended)
        return won

    def _was_cancelled(self, job: LiveDownload) -> None:
        """Called by the job itself when it was too late at the fence, to which only a cancellation comes before it."""
        self._has_ended(job, self._ended_as("cancelled", job, None))

    def _ended_as(self, state: TerminalState, job: LiveDownload, failure: SynapseError | None) -> records.End:
        return records.End(
            state=state,
            bytes_done=job.bytes_done,
            error=None if failure is None else failure.to_wire(),
            terminal_ms=self._clock.wall_ms(),
            expires_ms=self._clock.steady_ms() + self._retention_ms(),
        )

    def _has_ended(self, job: LiveDownload, ended: records.End) -> None:
        if job.state in TERMINAL:
            return
        job.state = ended.state
        job.error = ended.error
        job.terminal_ms = ended.terminal_ms
        if self._live.get(job.entry.manifest_digest) is job:
            del self._live[job.entry.manifest_digest]
        if ended.state == "committed":
            self._counters.completed += 1
        else:
            self._counters.failed += 1
        self._publish(job, True)

    async def _finish(self, job: LiveDownload, failure: SynapseError | None) -> None:
        """Clean up after the work, whatever became of it. Nothing interrupts this."""
        # First, because on a full disk nothing can be written before.
        for staged in job.staged:
            await disk_work(staged.writer.discard)
        if failure is not None:
            try:
                if not await self._end(job, "failed", failure):
                    self._was_cancelled(job)
            except StoreError as error:
                _log.error("download_end_not_written", job_id=job.job_id, reason=error.reason)
                ended = self._ended_as("failed", job, failure)
                self._unwritten[job.job_id] = (job, ended)
                self._has_ended(job, ended)
        job.lease.release()
        if job.verifies and job.state in ("failed", "cancelled"):
            await self._unpublish(job)

    async def _unpublish(self, job: LiveDownload) -> None:
        """Remove what the job published and nothing else needs. What this leaves is removed at the next boot."""
        published = [staged.file.sha256 for staged in job.staged if staged.writer.published]
        try:
            # Changes no row, so that it works on a full disk, and makes room for the rows.
            await self._collector.remove(lambda: (None, published))
            await self._store.write(lambda: records.forget_blobs(job.job_id))
            await self.settle()
        except SynapseError as error:
            _log.warning("download_blobs_left", job_id=job.job_id, reason=error.message)

    async def settle(self) -> None:
        """Write down the ends that could not be written when they came; raises StoreError while that still fails."""
        unwritten = dict(self._unwritten)
        if not unwritten:
            return

        def step() -> None:
            for job, ended in unwritten.values():
                records.end(job.job_id, ended)

        await self._store.write(step)
        for job_id in unwritten:
            self._unwritten.pop(job_id, None)

    async def close(self) -> None:
        """Stop the running downloads; the next boot reports them as ``module_restarted``, and cleans up."""
        self._closing = True
        tasks = list(self._tasks.items())
        for job, task in tasks:
            if not job.ending:
                task.cancel()
        await asyncio.gather(*(task for _, task in tasks), return_exceptions=True)


def _full_database(job: LiveDownload, error: StoreError) -> SynapseError:
    """A full disk is the same fault for a download whether its file or the database met it."""
    return fetch_failed(job.entry.spec.files.model.path, "storage_full", error.message)
