"""What both clients do with the catalog: the same calls, and downloads that are waited for."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from fixtures.fake_catalog import JOB, MODEL, SIZE, FakeCatalog
from fixtures.fake_service import FakeService
from synapse_client import AsyncClient, Client, JobUnfinished, ProtocolViolation, SynapseError
from synapse_wire import results as r


class Awaited:
    """The asyncio client as a blocking one, so that one test covers both."""

    def __init__(self, address: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._client = AsyncClient(address)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)
        return lambda *args, **options: self._loop.run_until_complete(method(*args, **options))

    def end(self) -> None:
        self._loop.run_until_complete(self._client.close())
        self._loop.close()


@pytest.fixture
def catalog(fake: FakeService) -> FakeCatalog:
    return FakeCatalog(fake)


@pytest.fixture(params=["blocking", "asyncio"])
def either(request: pytest.FixtureRequest, fake: FakeService, catalog: FakeCatalog) -> Iterator[Any]:
    """A client of each kind."""
    if request.param == "blocking":
        with Client(fake.address) as client:
            yield client
    else:
        awaited = Awaited(fake.address)
        yield awaited
        awaited.end()


def sent(fake: FakeService) -> list[tuple[str, dict[str, Any]]]:
    return [each for each in fake.received if each[0] != "service.hello"]


def test_every_call_sends_what_was_given_and_nothing_else(fake: FakeService, either: Any) -> None:
    assert [row.id for row in either.models_catalog().models] == [MODEL]
    either.models_catalog("tiny", task="embed", runnable_here=True, installed=False)
    either.models_download(MODEL)
    either.models_download(MODEL, request_key="k")
    either.download_status(JOB)
    assert either.models_download_cancel(JOB).state == "cancelled"
    either.downloads_list(limit=5)
    assert either.models_remove(MODEL).freed_bytes == SIZE
    either.cache_pin(catalog_id=MODEL)
    either.cache_pin(model_id="mini", pinned=False, owner="me")
    assert len(either.cache_gc(dry_run=True).unlinked) == 2
    assert either.cache_usage().limit_bytes == 32 * 1024**3
    assert sent(fake) == [
        ("models.catalog", {}),
        ("models.catalog", {"query": "tiny", "task": "embed", "runnable_here": True, "installed": False}),
        ("models.download", {"catalog_id": MODEL}),
        ("models.download", {"catalog_id": MODEL, "request_key": "k"}),
        ("model.status", {"job_id": JOB}),
        ("models.download.cancel", {"job_id": JOB}),
        ("downloads.list", {"limit": 5}),
        ("models.remove", {"catalog_id": MODEL}),
        ("cache.pin", {"catalog_id": MODEL, "pinned": True}),
        ("cache.pin", {"model_id": "mini", "pinned": False, "owner": "me"}),
        ("cache.gc", {"dry_run": True}),
        ("cache.usage", {}),
    ]


def test_a_download_is_waited_for_with_every_status_that_was_read(either: Any) -> None:
    seen: list[r.DownloadStatus] = []
    assert either.wait_download(JOB, seen.append).state == "committed"
    assert [status.state for status in seen] == ["queued", "downloading", "downloading", "verifying", "committed"]
    assert (seen[2].bytes_done, seen[2].bytes_total) == (SIZE, SIZE)


def test_a_failed_download_raises_what_it_failed_with(catalog: FakeCatalog, either: Any) -> None:
    details = {"file": "model.safetensors", "reason": "storage_full", "http_status": None}
    catalog.fail(SynapseError("download_failed", "no space is left", details=details))
    with pytest.raises(SynapseError) as caught:
        either.wait_download(JOB)
    assert (caught.value.code, caught.value.details, caught.value.retry_after_ms) == ("download_failed", details, 1000)


def test_a_cancelled_download_raises_that_it_was(catalog: FakeCatalog, either: Any) -> None:
    catalog.looks[1:] = [r.DownloadStatus(job_id=JOB, state="cancelled")]
    with pytest.raises(SynapseError) as caught:
        either.wait_download(JOB)
    assert caught.value.code == "request_cancelled"


@pytest.mark.parametrize("error", [None, {"code": 7}])
def test_a_failure_without_a_readable_reason_is_a_violation(catalog: FakeCatalog, either: Any, error: Any) -> None:
    options = {} if error is None else {"error": error}
    catalog.looks[:] = [r.DownloadStatus(job_id=JOB, state="failed", **options)]
    with pytest.raises(ProtocolViolation):
        either.wait_download(JOB)


def test_waiting_ends_when_its_time_is_over(catalog: FakeCatalog, either: Any) -> None:
    del catalog.looks[1:]
    with pytest.raises(JobUnfinished, match=r"job-1 \(models\.download\) is still queued"):
        either.wait_download(JOB, timeout_s=0.1)


def test_the_folder_of_the_models_and_credentials_are_asked_for_by_name(fake: FakeService, either: Any) -> None:
    move = r.StorageMove(
        move_id="m",
        mode="adopt",
        state="bringing",
        from_path="/a",
        to_path="/b",
        files_done=0,
        files_total=1,
        bytes_done=0,
        bytes_total=1,
        started_ms=1,
        corrupt=[],
        missing=[],
    )
    kept = r.CredentialRow(name="huggingface", origin="https://hub.test", state="present", changed_ms=1)
    fake.on("storage.status", lambda call: r.StorageStatus(path="/a", default_path="/a", state="ready", move=move))
    fake.on("storage.move", lambda call: move)
    fake.on("storage.cancel", lambda call: move)
    fake.on("credentials.set", lambda call: kept)
    fake.on("credentials.delete", lambda call: r.CredentialsList(credentials=[]))
    fake.on("credentials.list", lambda call: r.CredentialsList(credentials=[kept]))
    assert either.storage_status().move == move
    assert either.storage_move("/b", mode="adopt") == either.storage_move() == either.storage_cancel() == move
    assert either.credentials_set("huggingface", "hf_x", origin="https://hub.test") == kept
    assert either.credentials_list().credentials == [kept]
    assert either.credentials_delete("huggingface").credentials == []
    assert sent(fake) == [
        ("storage.status", {}),
        ("storage.move", {"path": "/b", "mode": "adopt"}),
        ("storage.move", {}),
        ("storage.cancel", {}),
        ("credentials.set", {"name": "huggingface", "secret": "hf_x", "origin": "https://hub.test"}),
        ("credentials.list", {}),
        ("credentials.delete", {"name": "huggingface"}),
    ]
