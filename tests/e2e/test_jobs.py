"""Durable jobs on real services: kills, full and failing disks, and many clients who don't want to wait."""

from __future__ import annotations

import hashlib
import shutil
import threading
import time
from array import array
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fixtures.durable_jobs import spelled
from fixtures.faulty_disks import failing_flushes, resize, small_disk
from fixtures.model_files import tiny_model
from fixtures.processes import wait_until, worker_of
from fixtures.service_process import ServiceProcess, load_and_probe, running_service
from synapse_client import Client, SynapseError
from synapse_wire import results as r

KEY = "the-key"
COUNT = 4000
"""Texts of a job: about seven pages of the tiny model's vectors."""

CLIENTS = 16
CALLS = 64
DEADLINES_MS = (50, 200, 1000, 3000)
"""The clients take turns with them: some that a busy machine misses, and some that nothing misses."""
LATE_MS = 250
"""How much later than its deadline an answer may come. Far more than the service needs: the machine may be busy."""


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of a service, stopped, that has a certified model."""
    home = tmp_path_factory.mktemp("prepared") / "home"
    with running_service(home, arguments=("--cpu-lanes",)) as service, service.client() as client:
        load_and_probe(client, "tiny", tiny_model("bert"), max_tokens=128)
    return home


@pytest.fixture
def service(prepared: Path, tmp_path: Path) -> Iterator[ServiceProcess]:
    """A service in a copy of it."""
    shutil.copytree(prepared, tmp_path / "home")
    with running_service(tmp_path / "home", arguments=("--cpu-lanes",)) as service:
        yield service


def text(index: int) -> str:
    return f"{spelled(index)} " + "the " * (index % 11)


def submit(client: Client, count: int = COUNT) -> str:
    items = [{"id": f"item-{index}", "text": text(index)} for index in range(count)]
    return str(client.call("embed.batch", {"model": "tiny", "items": items, "request_key": KEY})["job"]["job_id"])


def pages(client: Client, job_id: str) -> list[bytes]:
    """Every committed page of a job, as it is stored."""

    class Page(msgspec.Struct):
        items: msgspec.Raw
        pages_available: int

    found: list[bytes] = []
    while True:
        raw = client.call_raw("embed.result", {"job_id": job_id, "cursor": len(found)})
        page = msgspec.json.decode(raw, type=Page)
        if len(found) == page.pages_available:
            return found
        found.append(bytes(page.items))


def items_of(stored: list[bytes]) -> dict[str, dict[str, Any]]:
    """Items by id; fails when one comes twice."""
    every = [item for page in stored for item in msgspec.json.decode(page)]
    found = {item["id"]: item for item in every}
    assert len(found) == len(every)
    return found


def require_complete(client: Client, job_id: str, count: int = COUNT) -> None:
    """Every item of the batch, once, with the digest of its text and with its own vector."""
    found = items_of(pages(client, job_id))
    assert set(found) == {f"item-{index}" for index in range(count)}
    for index in range(count):
        assert found[f"item-{index}"]["submitted_sha256"] == hashlib.sha256(text(index).encode()).hexdigest()
    for index in (0, 1, count // 2, count - 1):
        alone = array("f", client.embed_query("tiny", text(index)).vector)
        assert array("f", found[f"item-{index}"]["vector"]) == alone


def ended(client: Client, job_id: str) -> r.JobStatus:
    wait_until(lambda: client.job_status(job_id).state not in ("queued", "running"), "the job ends", limit_s=60)
    return client.job_status(job_id)


def attempt(client: Client, count: int) -> r.JobStatus | SynapseError:
    """How one more attempt ends, or why there is none."""
    try:
        return ended(client, submit(client, count))
    except SynapseError as refusal:
        return refusal


def test_a_killed_service_loses_no_page_and_the_same_key_completes_the_work(service: ServiceProcess) -> None:
    with service.client() as client:
        old = submit(client)
        wait_until(lambda: (client.job_status(old).pages_available or 0) >= 2, "two pages are committed")
        worker_of(service.pid).suspend()  # So that the kill comes in the middle, however fast the machine is.
        before = pages(client, old)
    service.kill()
    service.start()
    with service.client() as client:
        status = client.job_status(old)
        assert isinstance(status.error, dict)
        assert (status.state, status.error["code"]) == ("failed", "module_restarted")
        after = pages(client, old)
        assert after[: len(before)] == before  # One more may have been committed without anyone having been told.
        assert len(before) <= len(after)
        assert status.items_done == len(items_of(after)) < COUNT
        counters = client.admission_status()
        assert (counters.jobs_inherited, counters.jobs_failed, counters.jobs_open) == (1, 1, 0)

        new = submit(client)
        assert new != old
        assert client.wait_job(new, timeout_s=60).items_done == COUNT
        assert pages(client, new)[: len(after)] == after
        assert pages(client, old) == pages(client, new)
        require_complete(client, new)
        assert submit(client) == new


def test_a_service_that_is_stopped_under_a_job_reports_it_and_the_same_key_completes_it(
    service: ServiceProcess,
) -> None:
    with service.client() as client:
        old = submit(client)
        wait_until(lambda: (client.job_status(old).pages_available or 0) >= 1, "a page is committed")
        worker_of(service.pid).suspend()
        with pytest.raises(SynapseError) as refusal:
            client.shutdown()
        assert refusal.value.details["holders"] == [{"kind": "job", "job_id": old}]
        worker_of(service.pid).resume()
    assert service.stop() == 0
    service.start()
    with service.client() as client:
        status = client.job_status(old)
        if status.state == "failed":
            assert isinstance(status.error, dict)
            assert status.error["code"] == "module_restarted"
        new = submit(client)
        assert client.wait_job(new, timeout_s=60).items_done == COUNT
        require_complete(client, new)


def test_clients_that_race_for_one_key_get_one_job(service: ServiceProcess) -> None:
    clients = [service.client() for _ in range(4)]
    start = threading.Barrier(len(clients))

    def race(client: Client) -> str:
        with client:
            start.wait()
            return submit(client, 500)

    with ThreadPoolExecutor(len(clients)) as pool:
        job_ids = set(pool.map(race, clients))
    assert len(job_ids) == 1
    with service.client() as client:
        client.wait_job(job_ids.pop(), timeout_s=60)
        assert client.admission_status().jobs_minted == 1


@pytest.mark.slow
def test_a_full_disk_fails_the_job_keeps_its_pages_and_the_key_goes_on_when_there_is_room(
    prepared: Path, tmp_path: Path
) -> None:
    used = sum(file.stat().st_size for file in prepared.rglob("*") if file.is_file()) // 1_000_000 + 1
    with small_disk(tmp_path / "disk", used + 6) as disk:
        home = disk / "home"
        shutil.copytree(prepared, home)
        with running_service(home, arguments=("--cpu-lanes",)) as service, service.client() as client:
            count = 15_000  # Some 10 MB of pages.
            old = submit(client, count)
            status = ended(client, old)
            assert isinstance(status.error, dict)
            assert (status.state, status.error["code"]) == ("failed", "store_failure")
            assert status.error["details"] == {"reason": "storage_full", "path": str(home / "data" / "synapse.db")}
            before = pages(client, old)
            assert len(items_of(before)) == status.items_done > 0
            # As long as it is full, a new attempt is refused or fails, depending on whether its row still fits; nothing
            # hangs, and the service goes on serving.
            again = attempt(client, count)
            if isinstance(again, SynapseError):
                assert (again.code, again.details) == ("store_failure", status.error["details"])
            else:
                assert (again.state, again.items_done >= status.items_done) == ("failed", True)
            assert client.embed_query("tiny", "still here").token_counts
            resize(disk, used + 200)
            new = submit(client, count)
            assert client.wait_job(new, timeout_s=120).items_done == count
            assert pages(client, new)[: len(before)] == before
            require_complete(client, new, count)


@pytest.mark.slow
def test_a_disk_that_fails_to_flush_fails_the_job_and_loses_no_page(service: ServiceProcess) -> None:
    with service.client(timeout_s=60) as client:
        old = submit(client)
        wait_until(lambda: (client.job_status(old).pages_available or 0) >= 1, "a page is committed")
        worker_of(service.pid).suspend()
        time.sleep(0.2)  # What was computed before is committed.
        before = pages(client, old)
        with failing_flushes(service.pid):
            worker_of(service.pid).resume()
            status = ended(client, old)
            assert isinstance(status.error, dict)
            assert (status.state, status.error["code"]) == ("failed", "store_failure")
            assert status.error["details"]["reason"] == "io_error"
            assert pages(client, old)[: len(before)] == before
            with pytest.raises(SynapseError) as refusal:
                submit(client)
            assert (refusal.value.code, refusal.value.details["reason"]) == ("store_failure", "io_error")
        new = submit(client)
        assert client.wait_job(new, timeout_s=60).items_done == COUNT
        assert pages(client, new)[: len(before)] == before
        require_complete(client, new)


@pytest.mark.slow
def test_clients_who_do_not_want_to_wait_get_a_vector_or_a_typed_refusal_in_time(service: ServiceProcess) -> None:
    """Every answer comes by its deadline and a generous allowance; this is about none being forgotten, not speed."""

    def ask(number: int) -> list[tuple[str, float]]:
        """How each call of one client was answered, and how many milliseconds after its deadline."""
        answers = []
        with service.client() as client:
            for call in range(CALLS):
                if (number, call) == (0, CALLS // 2):
                    client.jobs_cancel(job_id)  # From here on they are in each other's way only.
                deadline_ms = DEADLINES_MS[(number + call) % len(DEADLINES_MS)]
                began = time.monotonic()
                try:
                    found = client.embed_query(
                        "tiny", text(number * CALLS + call), max_queue_ms=0, deadline_ms=deadline_ms
                    )
                    answer = f"a vector of {found.dims}"
                except SynapseError as refusal:
                    answer = refusal.code
                answers.append((answer, (time.monotonic() - began) * 1000 - deadline_ms))
                time.sleep(0.01)  # So that all of them are there for a while.
        return answers

    with service.client() as client:
        job_id = submit(client)  # Bulk work in the background makes the lane a busy one.
        dims = client.embed_query("tiny", "x").dims
    with ThreadPoolExecutor(CLIENTS) as pool:
        answers = [answer for each in pool.map(ask, range(CLIENTS)) for answer in each]
    assert len(answers) == CLIENTS * CALLS
    vector = f"a vector of {dims}"
    found = {answer for answer, _ in answers}
    assert {vector, "queue_full"} <= found <= {vector, "queue_full", "deadline_exceeded"}
    assert max(late_ms for _, late_ms in answers) <= LATE_MS
