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
job anyway.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Literal

import msgspec

from synapse_service.clock import Clock
from synapse_service.logs import get_logger
from synapse_service.store.database import Store
from synapse_service.store.models import Job
from synapse_wire.errors import SynapseError, WireError, invalid_state
from synapse_wire.results import JobStatus

JobKind = Literal["model.load", "probe"]
JobState = Literal["queued", "running", "done", "failed"]
TERMINAL: frozenset[str] = frozenset({"done", "failed"})

_log = get_logger(__name__)


class LiveJob:
    """A job of this process. Its work reports through :meth:`progress` and ends by returning or raising."""

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
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def live(self, kind: JobKind | None = None, model_id: str | None = None) -> list[LiveJob]:
        """Jobs that have not ended, oldest first."""
        return [job for job in self._live.values() if kind in (None, job.kind) and model_id in (None, job.model_id)]

    async def start(self, kind: JobKind, model_id: str, work: Work, *, digest: str = "", client: str = "") -> LiveJob:
        """Accept a job: write it down, then begin. ``digest`` tells what was asked for, to recognise a repeat."""
        job = LiveJob(self._new_id(), kind, model_id, digest, self._tell)
        # Known before it is written, so that a second request that arrives meanwhile joins it.
        self._live[job.job_id] = job
        created = self._clock.wall_ms()
        try:
            await self._store.write(
                lambda: Job.create(
                    job_id=job.job_id,
                    kind=kind,
                    state=job.state,
                    model_id=model_id,
                    client_name=client or None,
                    module_generation=self._generation,
                    items_total=0,
                    items_done=0,
                    pages_available=0,
                    created_ms=created,
                )
            )
        except BaseException:
            del self._live[job.job_id]
            raise
        self._tell(job)
        self._tasks[job.job_id] = asyncio.create_task(self._run(job, work), name=f"{kind} {model_id}")
        return job

    async def status(self, job_id: str) -> JobStatus:
        """Where a job stands; raises ``invalid_request`` for an id that is unknown or expired."""
        job = self._live.get(job_id)
        if job is not None:
            return self.describe(job)
        row = await self._store.read(lambda: Job.get_or_none(Job.job_id == job_id))
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
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, job: LiveJob, work: Work) -> None:
        try:
            await self._enter(job, "running")
            try:
                await work(job)
            except SynapseError as error:
                job.error = error.to_wire()
            except Exception:  # noqa: BLE001 - the edge of the job's own task: its clients must learn that it ended
                _log.exception("job_failed", job_id=job.job_id, kind=job.kind)
                reason = f"the job failed unexpectedly; the log has the reason under job {job.job_id}"
                job.error = SynapseError("internal_error", reason, details={"reference": job.job_id}).to_wire()
            await self._enter(job, "failed" if job.error is not None else "done")
        except Exception:  # noqa: BLE001 - only the database can fail here; the job stays live, where clients see it
            _log.exception("job_state_not_written", job_id=job.job_id, state=job.state)
        else:
            del self._live[job.job_id]
        finally:
            del self._tasks[job.job_id]

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
        await self._store.write(lambda: Job.update(changes).where(Job.job_id == job.job_id).execute())
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
