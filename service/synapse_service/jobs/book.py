"""The book of jobs: work that was accepted, how far it is, and how it ended.

===================  =====================  ====================  ===================================================
state                event                  next                  effect
===================  =====================  ====================  ===================================================
(none)               accepted               queued                one transaction, before the caller hears the job id
queued               its task starts        running
running              the work returns       done                  one transaction with the terminal time
running              the work raises        failed                the error is kept with the job
running              a credential lapsed    paused_needs_reauth   the work waits; its lifetime stands still
paused_needs_reauth  job.resume             running               the work goes on
paused_needs_reauth  its window passes      needs_reauth_expired
paused_needs_reauth  the same key again     running               as with ``job.resume``
any live             jobs.cancel            failed                as ``request_cancelled``; committed pages stay
any live             the process ends       failed                at the next boot, as ``module_restarted``
===================  =====================  ====================  ===================================================

A job's row is written when its state changes; progress within a state is kept in memory, and for jobs with pages it is
written with each page. Once accepted, a job goes on without the client that asked for it, and until it ends it holds a
lease on its lane. An end that can't be written holds in memory, is written as soon as the disk takes it (before a new
attempt, and every minute), and a full disk never leaves a job that looks as if it were still running.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from peewee import JOIN, SQL

from synapse_service.admission.leases import Lease, LeaseBook
from synapse_service.clock import Clock
from synapse_service.failures import INTERRUPTIONS, where
from synapse_service.jobs.live import TERMINAL, JobKind, JobState, LiveJob, Pause
from synapse_service.jobs.rows import job_row, job_status, live_row, live_status
from synapse_service.logs import get_logger
from synapse_service.store.database import Store
from synapse_service.store.errors import StoreError
from synapse_service.store.models import Job, Submission
from synapse_wire.errors import SynapseError, WireError, invalid_state
from synapse_wire.results import JobRow, JobStatus

_CANCELLED: Final = "the job was cancelled; what it had committed can be read until it expires"

_log = get_logger(__name__)

Work = Callable[[LiveJob], Awaitable[None]]


@dataclass(slots=True)
class Counters:
    """Jobs of this process since its start. An inherited job's end counts as inherited and as its outcome at once."""

    minted: int = 0
    completed: int = 0
    failed: int = 0
    inherited: int = 0

    @property
    def open(self) -> int:
        return max(0, self.minted + self.inherited - self.completed - self.failed)


class JobBook:
    """All jobs: the live ones in memory, every one in the database."""

    def __init__(
        self,
        store: Store,
        leases: LeaseBook,
        *,
        clock: Clock,
        new_id: Callable[[], str],
        module_generation: int,
        retention_ms: Callable[[], int],
        publish: Callable[[JobRow, bool], None],
        inherited: int = 0,
    ) -> None:
        self._store = store
        self._leases = leases
        self._clock = clock
        self._new_id = new_id
        self._generation = module_generation
        self._retention_ms = retention_ms
        self._publish = publish
        self._live: dict[str, LiveJob] = {}
        self._unwritten: dict[str, tuple[LiveJob, dict[str, Any]]] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._closing = False
        self.counters = Counters(failed=inherited, inherited=inherited)

    def live(self, kind: JobKind | None = None, model_id: str | None = None) -> list[LiveJob]:
        """Jobs that have not ended, oldest first."""
        return [
            job
            for job in self._live.values()
            if job.state not in TERMINAL and kind in (None, job.kind) and model_id in (None, job.model_id)
        ]

    async def start(
        self, kind: JobKind, model_id: str, work: Work, *, digest: str = "", client: str | None = None
    ) -> LiveJob:
        """Accept a job: write it down, then begin. Raises ``store_failure``, and then there is no job."""
        job = self._new(self._new_id(), kind, model_id, digest=digest, client=client)
        # Known before it is written, so that a second request that arrives meanwhile joins it; and in a task of its
        # own, so that a client that leaves takes neither the job nor those who joined it along.
        self._begin(job, work)
        return await self.join(job)

    def adopt(
        self,
        kind: JobKind,
        job_id: str,
        model_id: str,
        work: Work,
        *,
        submission_id: str,
        client: str | None,
        continues: Lease,
    ) -> LiveJob:
        """Run a job whose row its caller has just written together with its submission.

        It ``continues`` the lease under which it was accepted. A book that is closed leaves the row to the next boot.
        """
        job = self._new(job_id, kind, model_id, submission_id=submission_id, client=client)
        job.accepted.set_result(None)
        self.counters.minted += 1
        if not self._closing:
            self._begin(job, work, continues)
        return job

    async def join(self, job: LiveJob) -> LiveJob:
        """A live job, once it is on disk; raises ``store_failure``, and then there is no job."""
        await asyncio.shield(job.accepted)
        return job

    async def ended(self, job: LiveJob) -> None:
        """Wait until a job's work is over and its end is written, or could not be."""
        task = self._tasks.get(job.job_id)
        if task is not None:
            await asyncio.wait([task])

    def live_status(self, job_id: str) -> JobStatus | None:
        """Where a job stands whose row may be behind; None for any other id."""
        job = self._in_memory().get(job_id)
        return None if job is None else live_status(job, self._generation)

    async def status(self, job_id: str) -> JobStatus:
        """Where a job stands; raises ``invalid_request`` for an id that is unknown or expired."""
        status = self.live_status(job_id)
        if status is not None:
            return status
        row = await self._store.read(lambda: _with_pages(Job.job_id == job_id).first())
        if row is None:
            raise invalid_state(f"no job {job_id!r} is known; it may have expired", job_id=job_id)
        if row.kind == "models.download":
            message = f"job {job_id!r} is a download; see model.status, and models.download.cancel to end it"
            raise invalid_state(message, job_id=job_id, kind=row.kind)
        return job_status(row, self._generation)

    async def rows(self, states: Sequence[str] | None, limit: int) -> list[JobRow]:
        """The newest jobs, in some states or all; live ones with their rate."""
        # Taken before the rows: one that ends meanwhile is then seen as it ended.
        jobs = self._in_memory()
        # The rows of these may be behind, so that their states are looked at below.
        wanted = Job.state.in_(states) | Job.job_id.in_(list(jobs)) if states is not None else SQL("1")
        limit_read = limit if states is None else limit + len(jobs)
        rows = await self._store.read(
            lambda: list(_with_pages(wanted).order_by(SQL("t1.rowid").desc()).limit(limit_read))
        )
        # Lifetimes are kept on a clock that nobody sets; what people read should agree with the clock on their wall.
        ahead_ms = self._clock.wall_ms() - self._clock.steady_ms()
        found = [self.row(jobs[row.job_id]) if row.job_id in jobs else job_row(row, ahead_ms) for row in rows]
        return [row for row in found if states is None or row.state in states][:limit]

    def live_rows(self) -> list[JobRow]:
        """The jobs that have not ended, as people see them; one that isn't on disk yet isn't there yet."""
        return [self.row(job) for job in self.live() if job.accepted.done()]

    def row(self, job: LiveJob) -> JobRow:
        """A live job as people see it."""
        return live_row(job, self._generation)

    def unwritten_end(self, job_id: str) -> JobState | None:
        """The state in which a job ended, if the disk doesn't know it yet."""
        ended = self._unwritten.get(job_id)
        return None if ended is None else ended[0].state

    async def settle(self) -> None:
        """Write down the ends that could not be written when they came; raises StoreError while that still fails."""
        if not self._unwritten:
            return
        unwritten = dict(self._unwritten)

        def step() -> None:
            for job, changes in unwritten.values():
                _write_state(job, changes)

        await self._store.write(step)
        for job_id in unwritten:
            self._unwritten.pop(job_id, None)

    async def cancel(self, job_id: str) -> JobStatus:
        """End a live job as ``request_cancelled``; an ended one stays as it is."""
        job = self._live.get(job_id)
        if job is not None:
            await self.join(job)  # Before that nothing says whether there will be a row to end.
            await asyncio.sleep(0)  # A task that is cancelled before its first step would end without writing that.
            task = self._tasks.get(job_id)
            if task is not None:
                if not job.ending:
                    job.ending = True
                    task.cancel()
                await asyncio.wait([task])
        return await self.status(job_id)

    async def pause(self, job: LiveJob, logical_handle: str, window_s: float) -> None:
        """Called by a job's own work when a credential lapsed: wait until it is resumed.

        Raises ``needs_reauth_expired`` when that doesn't happen within ``window_s`` seconds.
        """
        now = self._clock.wall_ms()
        job.pause = pause = Pause(logical_handle, now, now + round(window_s * 1000))
        try:
            with job.lifetime_stopped():
                await self._enter(job, "paused_needs_reauth")
                # Not wait_for: when the two come together, Python 3.11's forgets that it was cancelled.
                async with asyncio.timeout(window_s):
                    await pause.resumed.wait()
            job.pause = None
            await self._enter(job, "running")
        except TimeoutError:
            raise SynapseError(
                "needs_reauth_expired",
                f"the credential {logical_handle} was not renewed in time; renew it and submit the work again",
                details={"logical_handle": logical_handle},
            ) from None
        finally:
            job.pause = None
            pause.over.set()

    async def resume(self, job_id: str) -> JobStatus:
        """Let a paused job go on; raises ``invalid_request`` for a job that isn't paused."""
        job = self._live.get(job_id)
        if job is None or job.pause is None:
            state = (await self.status(job_id)).state
            raise invalid_state(
                f"job {job_id!r} is {state}; only a job that is paused for a credential can be resumed",
                job_id=job_id,
                state=state,
            )
        over = job.pause.over
        self.go_on(job_id)
        await over.wait()
        return await self.status(job_id)

    def go_on(self, job_id: str) -> None:
        """Wake a job that is paused, if it is."""
        job = self._live.get(job_id)
        if job is not None and job.pause is not None:
            job.pause.resumed.set()

    async def close(self) -> None:
        """Stop the running work; the next boot reports it as ``module_restarted``. Work that is over ends properly."""
        self._closing = True
        tasks = dict(self._tasks)
        for job_id, task in tasks.items():
            if not self._live[job_id].ending:
                task.cancel()
        await asyncio.gather(*tasks.values(), return_exceptions=True)

    def _in_memory(self) -> dict[str, LiveJob]:
        """Jobs whose row may be behind: those that run, and those whose end isn't written."""
        return {job_id: job for job_id, (job, _) in self._unwritten.items()} | self._live

    def _new(self, job_id: str, kind: JobKind, model_id: str, **facts: Any) -> LiveJob:
        return LiveJob(job_id, kind, model_id, clock=self._clock, on_progress=self._tell, **facts)

    def _begin(self, job: LiveJob, work: Work, continues: Lease | None = None) -> None:
        self._live[job.job_id] = job
        lease = self._leases.take(job.model_id, "job", job.job_id, continues=continues)
        task = asyncio.create_task(self._run(job, work, lease), name=f"{job.kind} {job.model_id}")
        # Twice, because a task that is cancelled before its first step never enters its coroutine.
        task.add_done_callback(lambda _: self._ended(job, lease))
        self._tasks[job.job_id] = task

    def _ended(self, job: LiveJob, lease: Lease) -> None:
        self._leases.release(lease)
        job.accepted.cancel()
        self._live.pop(job.job_id, None)
        self._tasks.pop(job.job_id, None)

    async def _run(self, job: LiveJob, work: Work, lease: Lease) -> None:
        try:
            if not job.accepted.done():
                await self._accept(job)
            ended = await self._outcome(job, work)
            job.ending = True
            await self._enter(job, ended)
        except StoreError as error:
            _refuse(job, error)
        except INTERRUPTIONS:
            raise
        except BaseException as error:  # noqa: BLE001 - the edge of the job's own task, whose end somebody waits for
            _log.error("job_lost", job_id=job.job_id, kind=job.kind, where=where(error))
            _refuse(job, _defect(job))
        finally:
            self._ended(job, lease)

    async def _accept(self, job: LiveJob) -> None:
        await self._store.write(
            lambda: Job.create(
                job_id=job.job_id,
                kind=job.kind,
                state=job.state,
                model_id=job.model_id,
                client_name=job.client,
                module_generation=self._generation,
                created_ms=job.created_ms,
            )
        )
        self.counters.minted += 1
        job.accepted.set_result(None)
        self._tell(job)

    async def _outcome(self, job: LiveJob, work: Work) -> JobState:
        """Do the work; the terminal state that it ended in."""
        try:
            await self._enter(job, "running")
            job.begin()
            await work(job)
        except SynapseError as error:
            job.error = error.to_wire()
            return "needs_reauth_expired" if error.code == "needs_reauth_expired" else "failed"
        except asyncio.CancelledError:
            if self._closing:
                raise
            job.error = SynapseError("request_cancelled", _CANCELLED).to_wire()
            return "failed"
        except INTERRUPTIONS:
            raise
        except BaseException as error:  # noqa: BLE001 - the edge of the job's own task: its clients must learn that it ended
            _log.error("job_failed", job_id=job.job_id, kind=job.kind, where=where(error))
            job.error = _defect(job).to_wire()
            return "failed"
        return "done"

    async def _enter(self, job: LiveJob, state: JobState) -> None:
        ended = state in TERMINAL
        now = self._clock.wall_ms()
        changes: dict[str, Any] = {"state": state, "items_total": job.items_total, "items_done": job.items_done}
        if state == "running" and job.state == "queued":
            changes["started_ms"] = now
        if ended:
            changes["terminal_ms"] = now
            changes["expires_ms"] = self._clock.steady_ms() + self._retention_ms()
            changes["error"] = _encoded_error(job)
        try:
            await self._store.write(lambda: _write_state(job, changes))
        except StoreError as error:
            _log.error("job_state_not_written", job_id=job.job_id, state=state, reason=error.reason)
            if ended:
                self._unwritten[job.job_id] = (job, changes)
        job.state = state
        if ended:
            self._count(job.error)
        self._tell(job)

    def _count(self, error: WireError | None) -> None:
        if error is None:
            self.counters.completed += 1
        else:
            self.counters.failed += 1

    def _tell(self, job: LiveJob) -> None:
        self._publish(self.row(job), job.state in TERMINAL)


def _with_pages(condition: Any) -> Any:
    """Jobs with the number of pages that their submission has committed."""
    pages = Submission.pages.alias("pages")
    return Job.select(Job, pages).join(Submission, JOIN.LEFT_OUTER).where(condition).objects()


def _write_state(job: LiveJob, changes: dict[str, Any]) -> None:
    Job.update(changes).where(Job.job_id == job.job_id).execute()
    if job.submission_id is not None and "expires_ms" in changes:
        expires = {Submission.expires_ms: changes["expires_ms"]}
        Submission.update(expires).where(Submission.submission_id == job.submission_id).execute()


def _refuse(job: LiveJob, error: SynapseError) -> None:
    """Tell those who wait for a job's acceptance that there is none."""
    if not job.accepted.done():
        job.accepted.set_exception(error)
        # They may be gone; asking once keeps asyncio from reporting the error as lost.
        job.accepted.exception()


def _encoded_error(job: LiveJob) -> str | None:
    """The error that a job ended with, as it is stored. One that can't be encoded is replaced: the job has to end."""
    if job.error is None:
        return None
    try:
        return msgspec.json.encode(job.error).decode()
    except Exception as error:  # noqa: BLE001 - details that can't be encoded, such as a path that is no text
        _log.error("job_error_not_encoded", job_id=job.job_id, kind=job.kind, where=where(error))
        job.error = _defect(job).to_wire()
        return msgspec.json.encode(job.error).decode()


def _defect(job: LiveJob) -> SynapseError:
    message = f"the job failed unexpectedly; the log tells where under its id {job.job_id}"
    return SynapseError("internal_error", message, details={"reference": job.job_id})
