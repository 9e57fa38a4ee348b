"""The book of jobs: work that was accepted, how far it is, and how it ended.

=========  =======================  =========  ====================================================================
state      event                    next       effect
=========  =======================  =========  ====================================================================
(none)     accepted                 queued     one transaction, before the caller hears the job id
queued     its task starts          running
running    the work returns         done       one transaction with the terminal time
running    the work raises          failed     the error is kept with the job
any live   the process ends         failed     at the next boot, as ``module_restarted``
=========  =======================  =========  ====================================================================

A job's row is written when its state changes; progress within a state is kept in memory, since a restart ends the
job anyway. Once accepted, a job goes on without the client that asked for it. A state that can't be written holds in
memory until the process ends, so that a full disk never leaves a job that looks as if it were still running.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Literal

import msgspec

from synapse_service.clock import Clock
from synapse_service.failures import where
from synapse_service.logs import get_logger
from synapse_service.store.database import Store
from synapse_service.store.errors import StoreError
from synapse_service.store.models import Job
from synapse_wire.errors import SynapseError, WireError, invalid_state
from synapse_wire.results import JobStatus

JobKind = Literal["model.load", "probe"]
JobState = Literal["queued", "running", "done", "failed"]
TERMINAL: frozenset[str] = frozenset({"done", "failed"})

_log = get_logger(__name__)


class LiveJob:
    """A job of this process. Its work reports through :meth:`progress` and ends by returning or raising.

    ``accepted`` resolves when the job is on disk; before that no client may hear its id.
    """

    def __init__(
        self, job_id: str, kind: JobKind, model_id: str, digest: str, on_progress: Callable[[LiveJob], None]
    ) -> None:
        self.job_id = job_id
        self.kind = kind
        self.model_id = model_id
        self.digest = digest
        self.state: JobState = "queued"
        self.items_total = 0
        self.items_done = 0
        self.error: WireError | None = None
        self.accepted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._on_progress = on_progress

    def progress(self, done: int, total: int) -> None:
        """How many of how many steps are done; what a step is depends on the kind."""
        self.items_done, self.items_total = done, total
        self._on_progress(self)


Work = Callable[[LiveJob], Awaitable[None]]


class JobBook:
    """All jobs: the live ones in memory, every one in the database."""

    def __init__(
        self,
        store: Store,
        *,
        clock: Clock,
        new_id: Callable[[], str],
        module_generation: int,
        retention_ms: Callable[[], int],
        publish: Callable[[JobStatus, bool], None],
    ) -> None:
        self._store = store
        self._clock = clock
        self._new_id = new_id
        self._generation = module_generation
        self._retention_ms = retention_ms
        self._publish = publish
        self._live: dict[str, LiveJob] = {}
        self._unwritten: dict[str, LiveJob] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._closing = False

    def live(self, kind: JobKind | None = None, model_id: str | None = None) -> list[LiveJob]:
        """Jobs that have not ended, oldest first."""
        return [job for job in self._live.values() if kind in (None, job.kind) and model_id in (None, job.model_id)]

    async def start(self, kind: JobKind, model_id: str, work: Work, *, digest: str = "", client: str = "") -> LiveJob:
        """Accept a job: write it down, then begin. ``digest`` tells what was asked for, to recognise a repeat.

        Raises ``store_failure``, and then there is no job.
        """
        job = LiveJob(self._new_id(), kind, model_id, digest, self._tell)
        # Known before it is written, so that a second request that arrives meanwhile joins it; and in a task of its
        # own, so that a client that leaves takes neither the job nor those who joined it along.
        self._live[job.job_id] = job
        self._tasks[job.job_id] = asyncio.create_task(self._run(job, work, client), name=f"{kind} {model_id}")
        return await self.join(job)

    async def join(self, job: LiveJob) -> LiveJob:
        """A live job, once it is on disk; raises ``store_failure``, and then there is no job."""
        await asyncio.shield(job.accepted)
        return job

    async def status(self, job_id: str) -> JobStatus:
        """Where a job stands; raises ``invalid_request`` for an id that is unknown or expired."""
        job = self._live.get(job_id) or self._unwritten.get(job_id)
        if job is not None:
            return self.describe(job)
        try:
            row = await self._store.read(lambda: Job.get_or_none(Job.job_id == job_id))
        except StoreError as error:
            raise error.to_synapse() from error
        if row is None:
            raise invalid_state(f"no job {job_id!r} is known; it may have expired", job_id=job_id)
        return JobStatus(
            job_id=row.job_id,
            kind=row.kind,
            state=row.state,
            items_total=row.items_total,
            items_done=row.items_done,
            module_generation=row.module_generation,
            error=msgspec.UNSET if row.error is None else msgspec.json.decode(row.error, type=dict[str, Any]),
        )

    async def close(self) -> None:
        """Stop the running work; the next boot reports it as ``module_restarted``."""
        self._closing = True
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, job: LiveJob, work: Work, client: str) -> None:
        try:
            await self._accept(job, client)
            await self._enter(job, "running")
            job.error = await self._outcome(job, work)
            await self._enter(job, "failed" if job.error is not None else "done")
        except StoreError as error:
            _refuse(job, error.to_synapse())
        except Exception as error:  # noqa: BLE001 - the edge of the job's own task, whose end somebody waits for
            _log.error("job_lost", job_id=job.job_id, kind=job.kind, where=where(error))
            _refuse(job, _defect(job))
        finally:
            job.accepted.cancel()
            del self._live[job.job_id]
            del self._tasks[job.job_id]

    async def _accept(self, job: LiveJob, client: str) -> None:
        created = self._clock.wall_ms()
        await self._store.write(
            lambda: Job.create(
                job_id=job.job_id,
                kind=job.kind,
                state=job.state,
                model_id=job.model_id,
                client_name=client or None,
                module_generation=self._generation,
                items_total=0,
                items_done=0,
                pages_available=0,
                created_ms=created,
            )
        )
        job.accepted.set_result(None)
        self._tell(job)

    async def _outcome(self, job: LiveJob, work: Work) -> WireError | None:
        """Do the work; the error that ended it, if one did."""
        try:
            await work(job)
        except SynapseError as error:
            return error.to_wire()
        except StoreError as error:
            return error.to_synapse().to_wire()
        except asyncio.CancelledError:
            if self._closing:
                raise
            return SynapseError("request_cancelled", "the job was cancelled").to_wire()
        except Exception as error:  # noqa: BLE001 - the edge of the job's own task: its clients must learn that it ended
            _log.error("job_failed", job_id=job.job_id, kind=job.kind, where=where(error))
            return _defect(job).to_wire()
        return None

    async def _enter(self, job: LiveJob, state: JobState) -> None:
        now = self._clock.wall_ms()
        changes: dict[str, Any] = {"state": state, "items_total": job.items_total, "items_done": job.items_done}
        if state == "running":
            changes["started_ms"] = now
        if state in TERMINAL:
            changes["terminal_ms"] = now
            changes["expires_ms"] = now + self._retention_ms()
        if job.error is not None:
            changes["error"] = msgspec.json.encode(job.error).decode()
        try:
            await self._store.write(lambda: Job.update(changes).where(Job.job_id == job.job_id).execute())
        except StoreError as error:
            _log.error("job_state_not_written", job_id=job.job_id, state=state, reason=error.reason)
            if state in TERMINAL:
                self._unwritten[job.job_id] = job
        job.state = state
        self._tell(job)

    def _tell(self, job: LiveJob) -> None:
        self._publish(self.describe(job), job.state in TERMINAL)

    def describe(self, job: LiveJob) -> JobStatus:
        """Where a live job stands."""
        return JobStatus(
            job_id=job.job_id,
            kind=job.kind,
            state=job.state,
            items_total=job.items_total,
            items_done=job.items_done,
            module_generation=self._generation,
            error=msgspec.UNSET if job.error is None else msgspec.to_builtins(job.error),
        )


def _refuse(job: LiveJob, error: SynapseError) -> None:
    """Tell those who wait for a job's acceptance that there is none."""
    if not job.accepted.done():
        job.accepted.set_exception(error)
        # They may be gone; asking once keeps asyncio from reporting the error as lost.
        job.accepted.exception()


def _defect(job: LiveJob) -> SynapseError:
    message = f"the job failed unexpectedly; the log tells where under its id {job.job_id}"
    return SynapseError("internal_error", message, details={"reference": job.job_id})
