"""The operations about what is installed, on a real socket: refusals in their order, shapes to the letter, removal."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fixtures.catalog import SmallCatalog, path_of, some_bytes
from fixtures.download_desk import DownloadDesk, download_desk
from fixtures.socket_server import RawClient, serving
from synapse_engines.devices import DeviceEvidence, Reason
from synapse_service.admission.leases import LeaseBook
from synapse_service.catalog.availability import Availability
from synapse_service.events import EventHub
from synapse_service.operations.cache import CacheOperations
from synapse_service.operations.downloads import DownloadOperations
from synapse_service.operations.extensions import cache as extension_cache
from synapse_service.operations.extensions import downloads as extension_downloads
from synapse_service.server.router import Router

MODEL = path_of("alpha", "model")
LIMIT = 32 * 1024**3


class Lanes:
    """A registry with lanes on paper."""

    def __init__(self) -> None:
        self.lanes: list[Any] = []
        self.forgotten: list[str] = []
        self.catalog = SimpleNamespace(forget=lambda entry: self.forgotten.append(entry.id))

    def add(self, lane_id: str, state: str, *digests: str) -> None:
        files = [SimpleNamespace(sha256=sha256) for sha256 in digests]
        self.lanes.append(SimpleNamespace(lane_id=lane_id, state=state, model=SimpleNamespace(files=files)))

    def every(self) -> list[Any]:
        return self.lanes

    def free_form(self, lane_id: str) -> Any:
        return next(lane for lane in self.lanes if lane.lane_id == lane_id)


class House(DownloadDesk):
    """The desk with the operations in front of it, on a machine that changes at will."""

    def __init__(self, desk: DownloadDesk) -> None:
        self.__dict__ = desk.__dict__
        self.cpu: Reason | None = None
        self.cpu_lanes = True
        self.registry = Lanes()
        self.leases = LeaseBook(lambda: "lease-1")

    def router(self) -> Router:
        router = Router()
        catalog = self.small.parsed()
        registry: Any = self.registry
        parts: dict[str, Any] = {
            "catalog": catalog,
            "downloads": self.downloads,
            "installs": self.installs,
            "collector": self.collector,
            "detached": self.detached,
            "lanes": registry,
        }
        DownloadOperations(
            availability=Availability(
                catalog, lambda backend: DeviceEvidence(backend, self.cpu), cpu_lanes=lambda: self.cpu_lanes
            ),
            leases=self.leases,
            **parts,
        ).register(router)
        CacheOperations(pins=self.pins, **parts).register(router)
        hub = EventHub(self.clock, self.clock.call_later)
        extension_downloads.register(router, self.downloads, hub)
        extension_cache.register(router, self.blobs, self.collector, lambda: LIMIT)
        return router


@pytest.fixture
async def house(quick_dir: Path) -> AsyncIterator[House]:
    async with download_desk(quick_dir) as desk:
        yield House(desk)


@pytest.fixture
async def client(house: House) -> AsyncIterator[RawClient]:
    async with serving(house.router()) as running:
        yield await running.connect()


async def install(client: RawClient, house: House, catalog_id: str) -> str:
    job_id: str = (await client.result("models.download", {"catalog_id": catalog_id}))["job_id"]
    assert (await house.end(job_id)).state == "committed"
    return job_id


def du(house: House) -> int:
    """Bytes of all files under the cache folder."""
    return sum(path.stat().st_size for path in house.blobs.root.rglob("*") if path.is_file())


# --- models.download ---


async def test_a_download_is_answered_flat_and_at_once(house: House, client: RawClient) -> None:
    gate = house.mirror.hold(MODEL)
    assert await client.result("models.download", {"catalog_id": "alpha"}) == {"job_id": "job-1-1", "state": "queued"}
    await house.until_state("job-1-1", "downloading")
    again = await client.result("models.download", {"catalog_id": "alpha", "request_key": "  "})
    assert (again["job_id"], again["state"], again["bytes_total"]) == (
        "job-1-1",
        "downloading",
        house.small.size("alpha"),
    )
    gate.set()
    await house.end("job-1-1")
    assert [key for key, _ in house.rows()["keys"]] == [f"models.download:alpha:{house.entry('alpha').manifest_digest}"]


@pytest.mark.parametrize("operation", ["models.download", "models.remove"])
@pytest.mark.parametrize("backend", ["cpu", "metal", "vulkan"])
async def test_a_lane_id_is_refused_first_whether_declared_or_not(
    house: House, client: RawClient, operation: str, backend: str
) -> None:
    house.cpu = "worker_missing"
    error = await client.error(operation, {"catalog_id": f"alpha-{backend}"})
    assert (error["code"], error["class"], error["safe_to_retry_same_request"]) == (
        "invalid_request",
        "permanent",
        False,
    )
    assert error["details"] == {"model_id": f"alpha-{backend}", "catalog_id": "alpha"}
    assert "number" not in error


@pytest.mark.parametrize("operation", ["models.download", "models.remove"])
async def test_an_id_that_the_catalog_does_not_have_is_unknown(house: House, client: RawClient, operation: str) -> None:
    house.cpu = "worker_missing"
    error = await client.error(operation, {"catalog_id": "gamma"})
    assert (error["code"], error["details"]) == ("unknown_model", {"model_id": "gamma"})


async def test_a_model_that_nothing_here_can_run_is_refused_before_its_key_is_looked_at(
    house: House, client: RawClient
) -> None:
    await client.result("models.download", {"catalog_id": "beta", "request_key": "k"})
    house.cpu_lanes = False
    error = await client.error("models.download", {"catalog_id": "alpha", "request_key": "k"})
    assert (error["code"], error["details"]) == (
        "backend_unavailable",
        {"catalog_id": "alpha", "lane_id": None, "backends": []},
    )
    await house.end("job-1-1")


async def test_a_key_of_another_model_is_a_conflict(house: House, client: RawClient) -> None:
    await client.result("models.download", {"catalog_id": "beta", "request_key": "k"})
    error = await client.error("models.download", {"catalog_id": "alpha", "request_key": "k"})
    assert (error["code"], error["details"]) == ("idempotency_conflict", {"request_key": "k"})
    await house.end("job-1-1")


@pytest.mark.parametrize(
    "operation", ["models.download", "models.download.cancel", "models.remove", "cache.pin", "cache.gc"]
)
async def test_unknown_and_missing_parameters_are_channel_errors(client: RawClient, operation: str) -> None:
    valid = {
        "models.download.cancel": {"job_id": "j"},
        "cache.pin": {"catalog_id": "alpha", "pinned": True},
        "cache.gc": {},
    }.get(operation, {"catalog_id": "alpha"})
    error = await client.error(operation, {**valid, "force": True})
    assert (error["code"], error["number"]) == ("invalid_request", -32602)
    if valid:
        assert (await client.error(operation, {}))["number"] == -32602


# --- models.download.cancel ---


async def test_a_cancellation_is_answered_flat_however_often(house: House, client: RawClient) -> None:
    house.mirror.hold(MODEL)
    await client.result("models.download", {"catalog_id": "alpha"})
    await house.until_state("job-1-1", "downloading")
    for _ in range(2):
        answer = await client.result("models.download.cancel", {"job_id": "job-1-1"})
        assert answer == {"job_id": "job-1-1", "state": "cancelled"}
    assert du(house) == 0
    error = await client.error("models.download.cancel", {"job_id": "job-9"})
    assert (error["code"], "number" in error) == ("invalid_request", False)


# --- models.remove ---


async def test_a_removal_gives_every_byte_back_and_a_second_one_none(house: House, client: RawClient) -> None:
    await install(client, house, "alpha")
    digest = house.entry("alpha").manifest_digest
    size = house.small.size("alpha")
    assert du(house) == size
    assert await client.result("models.remove", {"catalog_id": "alpha"}) == {
        "catalog_id": "alpha",
        "removed_manifests": [digest],
        "freed_bytes": size,
    }
    assert du(house) == 0
    assert house.registry.forgotten == ["alpha"]
    assert await client.result("models.remove", {"catalog_id": "alpha"}) == {
        "catalog_id": "alpha",
        "removed_manifests": [],
        "freed_bytes": 0,
    }


async def test_shared_files_stay_and_are_not_counted(house: House, client: RawClient) -> None:
    await install(client, house, "alpha")
    await install(client, house, "beta")
    removed = await client.result("models.remove", {"catalog_id": "alpha"})
    assert removed["freed_bytes"] == house.small.size("alpha") - len(house.small.contents["alpha"]["tokenizer"])
    assert house.stored() == house.files("beta")


async def test_earlier_manifests_go_with_the_present_one(house: House) -> None:
    await house.download("alpha")
    old = house.entry("alpha").manifest_digest
    house.small = SmallCatalog().add("alpha", {**house.small.contents["alpha"], "config": some_bytes("newer", 900)})
    house.small.serve(house.mirror)
    house.clock.advance(1)
    await house.download("alpha")
    size = du(house)
    async with serving(house.router()) as running:
        removed = await (await running.connect()).result("models.remove", {"catalog_id": "alpha"})
    assert removed["removed_manifests"] == [old, house.entry("alpha").manifest_digest]
    assert removed["freed_bytes"] == size
    assert du(house) == 0


async def test_a_removal_names_everyone_who_holds_the_model(house: House, client: RawClient) -> None:
    house.mirror.hold(MODEL)
    await client.result("models.download", {"catalog_id": "alpha"})
    await house.until_state("job-1-1", "downloading")
    house.registry.add("alpha-cpu", "loading")
    house.registry.add("alpha-metal", "unloaded")
    house.registry.add("beta-cpu", "ready")
    house.leases.take("alpha-cpu")
    house.leases.take("alpha-cpu", "job", "job-7")
    house.leases.take("alpha-cpu", "self_check", "c" * 64)
    house.leases.take("beta-cpu", "job", "job-8")
    error = await client.error("models.remove", {"catalog_id": "alpha"})
    assert (error["code"], error["class"]) == ("model_in_use", "permanent")
    assert error["details"] == {
        "catalog_id": "alpha",
        "holders": [
            {"kind": "loaded", "model_id": "alpha-cpu"},
            {"kind": "request", "lease_id": "lease-1"},
            {"kind": "job", "job_id": "job-7"},
            {"kind": "self_check", "check_id": "c" * 64},
            {"kind": "job", "job_id": "job-1-1"},
        ],
    }


async def test_a_model_that_cannot_run_here_can_still_be_removed(house: House, client: RawClient) -> None:
    await install(client, house, "alpha")
    house.cpu_lanes = False
    assert (await client.result("models.remove", {"catalog_id": "alpha"}))["freed_bytes"] == house.small.size("alpha")


async def test_a_removal_goes_on_without_its_client(house: House) -> None:
    await house.download("alpha")
    async with serving(house.router()) as running:
        leaving = await running.connect()
        leaving.request("models.remove", {"catalog_id": "alpha"})
        await leaving.writer.drain()
        await leaving.close()
        async with asyncio.timeout(10):
            while du(house):  # noqa: ASYNC110 - nobody is left to be told
                await asyncio.sleep(0.005)
    assert house.left_over() == []


# --- cache.pin and cache.gc ---


async def test_pinned_files_survive_the_removal_of_their_model(house: House, client: RawClient) -> None:
    await install(client, house, "alpha")
    digests = sorted(house.files("alpha"))
    pinned = await client.result("cache.pin", {"catalog_id": "alpha", "pinned": True, "owner": "me"})
    assert pinned == {"pins": [{"owner": "me", "blob": sha256} for sha256 in digests]}
    assert (await client.result("models.remove", {"catalog_id": "alpha"}))["freed_bytes"] == 0
    kept = await client.result("cache.gc", {})
    assert kept["unlinked"] == []
    assert kept["kept"] == [{"blob": sha256, "holders": [{"kind": "pin", "owner": "me"}]} for sha256 in digests]
    others = await client.result("cache.pin", {"catalog_id": "alpha", "pinned": False})
    assert len(others["pins"]) == 3
    assert await client.result("cache.pin", {"catalog_id": "alpha", "pinned": False, "owner": "me"}) == {"pins": []}
    collected = await client.result("cache.gc")
    assert (collected["unlinked"], collected["freed_bytes"]) == (digests, house.small.size("alpha"))
    assert du(house) == 0


async def test_a_pin_is_the_users_when_nobody_says_whose(house: House, client: RawClient) -> None:
    house.registry.add("mine", "unloaded", "a" * 64)
    pinned = await client.result("cache.pin", {"model_id": "mine", "pinned": True, "owner": " "})
    assert pinned == {"pins": [{"owner": "user", "blob": "a" * 64}]}


async def test_a_model_that_is_not_installed_cannot_be_pinned(house: House, client: RawClient) -> None:
    error = await client.error("cache.pin", {"catalog_id": "alpha", "pinned": True})
    details = {"catalog_id": "alpha", "lane_id": None, "download_op": "models.download"}
    assert (error["code"], error["details"]) == ("model_not_installed", {**details, "download_job_id": None})
    gate = house.mirror.hold(MODEL)
    job_id = (await client.result("models.download", {"catalog_id": "alpha"}))["job_id"]
    error = await client.error("cache.pin", {"catalog_id": "alpha", "pinned": True})
    assert error["details"] == {**details, "download_job_id": job_id}
    gate.set()
    await house.end(job_id)


@pytest.mark.parametrize("ids", [{}, {"model_id": "m", "catalog_id": "alpha"}])
async def test_a_pin_needs_exactly_one_id(client: RawClient, ids: dict[str, str]) -> None:
    error = await client.error("cache.pin", {**ids, "pinned": True})
    assert (error["code"], error["number"]) == ("invalid_request", -32602)


async def test_a_dry_run_says_what_would_go_and_removes_nothing(house: House, client: RawClient) -> None:
    await install(client, house, "alpha")
    writer = house.blobs.writer()
    writer.write(b"nobody needs this")
    loose = writer.publish("loose", None).sha256
    said = await client.result("cache.gc", {"dry_run": True})
    assert (said["unlinked"], said["freed_bytes"]) == ([loose], 17)
    install_holder = {"kind": "install", "catalog_id": "alpha"}
    assert said["kept"] == [{"blob": sha256, "holders": [install_holder]} for sha256 in sorted(house.files("alpha"))]
    assert house.stored() == house.files("alpha") | {loose}
    assert await client.result("cache.gc") == said


# --- extensions ---


async def test_the_list_of_downloads_has_the_newest_first(house: House, client: RawClient) -> None:
    await install(client, house, "alpha")
    gate = house.mirror.hold(path_of("beta", "model"))
    await client.result("models.download", {"catalog_id": "beta"})
    await house.until_state("job-1-2", "downloading")
    rows = (await client.result("downloads.list"))["downloads"]
    assert [(row["job_id"], row["catalog_id"], row["state"]) for row in rows] == [
        ("job-1-2", "beta", "downloading"),
        ("job-1-1", "alpha", "committed"),
    ]
    assert rows[1]["bytes_done"] == rows[1]["bytes_total"] == house.small.size("alpha")
    assert len((await client.result("downloads.list", {"limit": 1}))["downloads"]) == 1
    gate.set()
    await house.end("job-1-2")


async def test_usage_of_a_folder_that_can_not_be_read_is_a_fault_of_the_disk(house: House, client: RawClient) -> None:
    house.blobs.staging.rmdir()
    error = await client.error("cache.usage", {})
    details = {"reason": "io_error", "path": str(house.blobs.root)}
    assert (error["code"], error["details"]) == ("store_failure", details)


async def test_usage_adds_up(house: House, client: RawClient) -> None:
    await install(client, house, "alpha")
    writer = house.blobs.writer()
    writer.write(bytes(5000))
    writer.publish("loose", None)
    found = await client.result("cache.usage")
    assert found["used_bytes"] == du(house) == house.small.size("alpha") + 5000
    assert (found["reclaimable_bytes"], found["arriving_bytes"], found["quarantined_bytes"]) == (5000, 0, 0)
    assert (found["path"], found["limit_bytes"]) == (str(house.blobs.root), LIMIT)
    assert found["free_bytes"] <= os.statvfs(house.blobs.root).f_bavail * os.statvfs(house.blobs.root).f_frsize + 2**30
    assert found["models"] == [
        {
            "catalog_id": "alpha",
            "used_bytes": house.small.size("alpha"),
            "shared_bytes": 0,
            "reclaimable_bytes": house.small.size("alpha"),
            "pinned": False,
        }
    ]
