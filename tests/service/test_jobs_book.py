"""Jobs: every transition of the table in ``jobs/book``, on a real database, with and without a full disk."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fixtures.clocks import FakeClock
from fixtures.expected_warnings import ExpectedWarnings
from fixtures.lanes import until
from synapse_service.admission.leases import LeaseBook
from synapse_service.jobs.book import JobBook
from synapse_service.jobs.live import LiveJob
from synapse_service.store.database import Store
from synapse_service.store.errors import StoreError
from synapse_service.store.models import Job
from synapse_wire.errors import SynapseError
from synapse_wire.results import JobRow, JobStatus

RETENTION_MS = 1000


class Desk:
    """A book over a database, and everything that it published."""

    def __init__(self, store: Store, clock: FakeClock) -> None:
        numbers = itertools.count(1)
        self.store = store
        self.clock = clock
        self.leases = LeaseBook(lambda: "lease")
        self.published: list[tuple[str, bool]] = []
        self.book = JobBook(
            store,
            self.leases,
            clock=clock,
            new_id=lambda: f"job-{next(numbers)}",
            module_generation=7,
            retention_ms=lambda: RETENTION_MS,
            publish=self._publish,
        )

    def _publish(self, row: JobRow, terminal: bool) -> None:
        self.published.append((row.state, terminal))

    def rows(self) -> list[dict[str, Any]]:
        return self.store.read_sync(lambda: list(Job.select().order_by(Job.job_id).dicts()))

    async def ended(self, job: LiveJob) -> JobStatus:
        await until(lambda: job not in self.book.live())
        return await self.book.status(job.job_id)


@pytest.fixture
async def desk(quick_dir: Path) -> AsyncIterator[Desk]:
    clock = FakeClock()
    store = Store.open(quick_dir / "synapse.db", clock)
    desk = Desk(store, clock)
    yield desk
    await desk.book.close()
    await store.close()


async def nothing(job: LiveJob) -> None: ...


def waiting(gate: asyncio.Event) -> Callable[[LiveJob], Awaitable[None]]:
    async def work(job: LiveJob) -> None:
        job.progress(1, 3)
        await gate.wait()

    return work


def failing(error: BaseException) -> Callable[[LiveJob], Awaitable[None]]:
    async def work(job: LiveJob) -> None:
        raise error

    return work


async def test_a_job_goes_from_queued_to_done_and_each_state_is_on_disk(desk: Desk) -> None:
    gate = asyncio.Event()
    job = await desk.book.start("model.load", "m", waiting(gate), digest="d", client="me")
    assert job.job_id == "job-1"
    (row,) = desk.rows()
    assert (row["kind"], row["model_id"], row["client_name"]) == ("model.load", "m", "me")
    assert row["created_ms"] == desk.clock.wall_ms()
    assert row["state"] in ("queued", "running")
    await until(lambda: job.items_done)
    (row,) = desk.rows()
    assert (row["state"], row["started_ms"], row["terminal_ms"]) == ("running", desk.clock.wall_ms(), None)
    assert await desk.book.status("job-1") == JobStatus(
        job_id="job-1", kind="model.load", state="running", items_total=3, items_done=1, module_generation=7
    )
    desk.clock.advance(5)
    gate.set()
    status = await desk.ended(job)
    assert (status.state, status.items_done, status.error) == ("done", 1, msgspec.UNSET)
    (row,) = desk.rows()
    assert (row["state"], row["error"], row["terminal_ms"]) == ("done", None, desk.clock.wall_ms())
    assert row["expires_ms"] == desk.clock.wall_ms() + RETENTION_MS
    assert desk.published == [("queued", False), ("running", False), ("running", False), ("done", True)]


@pytest.mark.parametrize(
    ("raised", "code", "details"),
    [
        (SynapseError("model_loading", "not yet"), "model_loading", None),
        (
            SynapseError("download_failed", "no", details={"file": "f", "reason": "network", "http_status": None}),
            "download_failed",
            {"file": "f", "reason": "network", "http_status": None},
        ),
        (
            StoreError("storage_full", Path("/db")),
            "store_failure",
            {"reason": "storage_full", "path": "/db"},
        ),
    ],
)
async def test_a_job_that_fails_keeps_its_error(
    desk: Desk, raised: Exception, code: str, details: dict[str, Any] | None
) -> None:
    job = await desk.book.start("probe", "m", failing(raised))
    status = await desk.ended(job)
    assert status.state == "failed"
    assert not isinstance(status.error, msgspec.UnsetType)
    assert (status.error["code"], status.error.get("details")) == (code, details)
    assert desk.published[-1] == ("failed", True)


async def test_a_defect_fails_the_job_with_a_reference_and_logs_no_text(
    desk: Desk, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("job_failed")
    job = await desk.book.start("probe", "m", failing(ZeroDivisionError("what a client sent")))
    status = await desk.ended(job)
    assert not isinstance(status.error, msgspec.UnsetType)
    assert (status.error["code"], status.error["details"]) == ("internal_error", {"reference": job.job_id})
    logged = expected_warnings.fields("job_failed")
    assert logged["job_id"] == job.job_id
    assert "ZeroDivisionError" in str(logged["where"])
    assert "what a client sent" not in str(logged)


class Panic(BaseException):
    """As a library that is written in Rust raises it: no Exception."""


async def test_a_panic_in_a_library_ends_the_job_too(desk: Desk, expected_warnings: ExpectedWarnings) -> None:
    expected_warnings("job_failed")
    job = await desk.book.start("probe", "m", failing(Panic("what a client sent")))
    status = await desk.ended(job)
    assert status.state == "failed"
    assert not isinstance(status.error, msgspec.UnsetType)
    assert (status.error["code"], status.error["details"]) == ("internal_error", {"reference": job.job_id})
    assert [row["state"] for row in desk.rows()] == ["failed"]
    assert "what a client sent" not in str(expected_warnings.fields("job_failed"))


async def test_a_job_whose_error_cannot_be_encoded_ends_with_a_reference(
    desk: Desk, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("job_error_not_encoded")
    raised = SynapseError("artifact_invalid", "\ud800", details={"model_id": "m", "file": "f", "reason": "bad_header"})
    job = await desk.book.start("model.load", "m", failing(raised))
    status = await desk.ended(job)
    assert status.state == "failed"
    assert not isinstance(status.error, msgspec.UnsetType)
    assert (status.error["code"], status.error["details"]) == ("internal_error", {"reference": job.job_id})
    assert [row["state"] for row in desk.rows()] == ["failed"]
    assert (desk.book.counters.failed, desk.book.counters.open) == (1, 0)


async def test_live_jobs_are_found_by_kind_and_model(desk: Desk) -> None:
    gate = asyncio.Event()
    first = await desk.book.start("probe", "a", waiting(gate))
    second = await desk.book.start("model.load", "a", waiting(gate))
    third = await desk.book.start("probe", "b", waiting(gate))
    assert desk.book.live() == [first, second, third]
    assert desk.book.live("probe") == [first, third]
    assert desk.book.live("probe", "b") == [third]
    assert desk.book.live("model.load", "b") == []
    gate.set()
    for job in (first, second, third):
        await desk.ended(job)
    assert desk.book.live() == []


async def test_a_job_holds_its_lane_from_its_acceptance_to_its_end(desk: Desk) -> None:
    gate = asyncio.Event()
    accepting = asyncio.create_task(desk.book.start("probe", "m", waiting(gate)))
    await asyncio.sleep(0)
    assert msgspec.to_builtins(desk.leases.holders("m")) == [{"kind": "job", "job_id": "job-1"}]
    job = await accepting
    assert len(desk.leases.holders("m")) == 1
    gate.set()
    await desk.ended(job)
    await until(lambda: not desk.leases.holders())


async def test_an_unknown_job_is_a_semantic_refusal(desk: Desk) -> None:
    with pytest.raises(SynapseError) as refusal:
        await desk.book.status("absent")
    assert (refusal.value.code, refusal.value.level) == ("invalid_request", "semantic")
    assert refusal.value.details == {"job_id": "absent"}


async def test_a_client_that_leaves_during_the_acceptance_takes_neither_the_job_nor_its_joiner_along(
    desk: Desk,
) -> None:
    gate = asyncio.Event()
    first = asyncio.create_task(desk.book.start("model.load", "m", waiting(gate)))
    await asyncio.sleep(0)
    (job,) = desk.book.live()
    joiner = asyncio.create_task(desk.book.join(job))
    await asyncio.sleep(0)
    first.cancel()
    assert await joiner is job
    assert desk.rows()[0]["job_id"] == job.job_id
    gate.set()
    assert (await desk.ended(job)).state == "done"


# --- cancelling ---


async def test_a_cancelled_job_fails_as_such_and_a_second_cancel_changes_nothing(desk: Desk) -> None:
    job = await desk.book.start("probe", "m", waiting(asyncio.Event()))
    status = await desk.book.cancel(job.job_id)
    assert status.state == "failed"
    assert not isinstance(status.error, msgspec.UnsetType)
    assert (status.error["code"], status.error["safe_to_retry_same_request"]) == ("request_cancelled", True)
    assert await desk.book.cancel(job.job_id) == status
    assert desk.rows()[0]["state"] == "failed"
    assert not desk.leases.holders()


async def test_a_cancel_after_the_work_is_done_does_not_undo_it(desk: Desk) -> None:
    done = asyncio.Event()

    async def work(job: LiveJob) -> None:
        done.set()

    job = await desk.book.start("probe", "m", work)
    await done.wait()
    await asyncio.sleep(0)  # The work has returned, and its end is being written.
    status = await desk.book.cancel(job.job_id)
    assert status.state == "done"
    assert desk.rows()[0]["state"] == "done"


# --- the disk is full ---


class FullDisk:
    """Fails the writes whose numbers are given, counted from 1."""

    def __init__(self, store: Store, failing: set[int]) -> None:
        self.write_really = store.write
        self.failing = failing
        self.writes = 0

    async def write(self, fn: Callable[[], Any]) -> Any:
        self.writes += 1
        if self.writes in self.failing:
            raise StoreError("storage_full", Path("/db"))
        return await self.write_really(fn)


@pytest.fixture
def fail_writes(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def fail(*numbers: int) -> None:
        monkeypatch.setattr(desk.store, "write", FullDisk(desk.store, set(numbers)).write)

    return fail


async def test_a_job_that_can_not_be_written_does_not_exist(desk: Desk, fail_writes: Callable[..., None]) -> None:
    fail_writes(1)
    first = asyncio.create_task(desk.book.start("probe", "m", nothing))
    await asyncio.sleep(0)
    (job,) = desk.book.live()
    for accepted in (first, desk.book.join(job)):
        with pytest.raises(SynapseError) as refusal:
            await accepted
        assert refusal.value.code == "store_failure"
        assert refusal.value.details == {"reason": "storage_full", "path": "/db"}
    assert (desk.book.live(), desk.rows(), desk.leases.holders()) == ([], [], [])
    assert desk.published == []
    # The next one is accepted.
    assert (await desk.ended(await desk.book.start("probe", "m", nothing))).state == "done"


@pytest.mark.parametrize(("raised", "state"), [(None, "done"), (SynapseError("model_loading", "no"), "failed")])
async def test_an_end_that_can_not_be_written_is_known_all_the_same(
    desk: Desk,
    fail_writes: Callable[..., None],
    expected_warnings: ExpectedWarnings,
    raised: Exception | None,
    state: str,
) -> None:
    expected_warnings("job_state_not_written")
    fail_writes(3)
    job = await desk.book.start("probe", "m", nothing if raised is None else failing(raised))
    status = await desk.ended(job)
    assert status.state == state
    assert desk.book.live("probe", "m") == []
    assert desk.rows()[0]["state"] == "running"
    assert expected_warnings.fields("job_state_not_written") == {
        "job_id": "job-1",
        "state": state,
        "reason": "storage_full",
    }


async def test_a_start_that_can_not_be_written_does_not_stop_the_job(
    desk: Desk, fail_writes: Callable[..., None], expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("job_state_not_written")
    fail_writes(2)
    job = await desk.book.start("probe", "m", nothing)
    assert (await desk.ended(job)).state == "done"
    assert desk.rows()[0]["state"] == "done"


# --- the process ends ---


async def test_a_job_that_a_stop_cut_off_is_reported_by_the_next_process(desk: Desk) -> None:
    job = await desk.book.start("probe", "m", waiting(asyncio.Event()))
    await until(lambda: job.items_done)
    await desk.book.close()
    assert desk.rows()[0]["state"] == "running"
    assert desk.store.fail_orphaned_jobs(8, keep_ms=RETENTION_MS) == ["job-1"]
    status = await Desk(desk.store, desk.clock).book.status("job-1")
    assert status.state == "failed"
    assert not isinstance(status.error, msgspec.UnsetType)
    assert status.error["code"] == "module_restarted"
