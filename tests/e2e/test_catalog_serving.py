"""A model of the catalog from the download to its removal, with a real service, real workers and a loopback mirror."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from fixtures.checked_catalog import checked_catalog
from fixtures.mirror import Mirror, running_mirror
from fixtures.processes import wait_until, worker_of, workers_of
from fixtures.service_process import ServiceProcess, running_service
from synapse_client import Client, SynapseError

GOOD, WRONG = "tiny-bert", "tiny-modernbert"
LANE = f"{GOOD}-cpu"


@pytest.fixture
def mirror() -> Iterator[Mirror]:
    with running_mirror() as mirror:
        yield mirror


@pytest.fixture
def service(tmp_path: Path, mirror: Mirror) -> Iterator[ServiceProcess]:
    """A service whose catalog has two models; the figures of one are not what it computes."""
    small = checked_catalog(GOOD, WRONG, wrong=[WRONG])
    small.serve(mirror)
    path = small.write(tmp_path / "catalog")
    with running_service(
        tmp_path / "home",
        environ={"SYNAPSE_HF_BASE_URL": mirror.base},
        arguments=("--cpu-lanes", "--catalog", str(path)),
    ) as service:
        yield service


def du(service: ServiceProcess) -> int:
    """Bytes of all model files, wherever they are."""
    files = (path for path in (service.home / "cache").rglob("*") if path.is_file() and path.name != "models.lock")
    return sum(path.stat().st_size for path in files)


def install(client: Client, catalog_id: str) -> None:
    client.wait_download(client.models_download(catalog_id).job_id)


def row(client: Client, lane_id: str) -> dict[str, Any]:
    rows: list[dict[str, Any]] = client.call("models.list", {})["models"]
    return next(row for row in rows if row["model_id"] == lane_id)


def vector(client: Client, model: str = GOOD) -> list[float]:
    answer = client.call("embed.query", {"model": model, "text": "a naïve café 東京"})
    found: list[float] = answer["vectors"][0]["vector"]
    return found


def refusal(client: Client, method: str, **params: Any) -> SynapseError:
    with pytest.raises(SynapseError) as refused:
        client.call(method, params)
    return refused.value


def test_a_model_from_its_download_to_its_removal(service: ServiceProcess, mirror: Mirror) -> None:
    with service.client() as client:
        before = du(service)
        error = refusal(client, "embed.query", model=GOOD, text="x")
        assert (error.code, error.details) == (
            "model_not_installed",
            {"catalog_id": GOOD, "lane_id": None, "download_op": "models.download", "download_job_id": None},
        )
        install(client, GOOD)
        fetched = len(mirror.requests)
        listed = row(client, LANE)
        assert (listed["state"], listed["self_check"]["state"]) == ("unloaded", "pending")
        first = vector(client)
        listed = row(client, LANE)
        assert (listed["state"], listed["self_check"]["state"], listed["certified"]) == ("ready", "passed", True)
        assert vector(client, LANE) == vector(client, listed["fingerprint"]) == first
        error = refusal(client, "models.remove", catalog_id=GOOD)
        assert error.code == "model_in_use"
        assert error.details == {"catalog_id": GOOD, "holders": [{"kind": "loaded", "model_id": LANE}]}

    service.stop()
    service.start()
    with service.client() as client:
        assert row(client, LANE)["self_check"] == listed["self_check"]
        assert vector(client) == first
        assert client.call("model.unload", {"model_id": LANE})["state"] == "unloaded"
        assert workers_of(service.pid) == []
        removed = client.models_remove(GOOD)
        assert len(removed.removed_manifests) == 1
        assert du(service) == before
        assert client.call("models.list", {})["models"] == []
        assert refusal(client, "embed.query", model=LANE, text="x").code == "model_not_installed"
        # Serving, restarting and removing asked the network for nothing.
        assert len(mirror.requests) == fetched == 3
        install(client, GOOD)
        assert row(client, LANE)["self_check"]["state"] == "pending"
        assert vector(client) == first


def test_who_follows_the_lanes_hears_of_a_model_that_was_installed(service: ServiceProcess) -> None:
    requests = [("events.subscribe", {"topics": ["lanes"]}), ("models.download", {"catalog_id": GOOD})]
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode()
        for number, (method, params) in enumerate(requests)
    ]
    replies = service.raw(*lines, replies=4)
    events = [reply["params"] for reply in replies if reply.get("method") == "event"]
    assert [event["kind"] for event in events] == ["snapshot", "change"]
    assert events[0]["data"] == []
    lane = events[1]["data"]
    assert (lane["lane_id"], lane["catalog_id"], lane["state"]) == (LANE, GOOD, "unloaded")
    assert lane["self_check"]["state"] == "pending"


def test_a_model_whose_numbers_are_wrong_never_serves(service: ServiceProcess) -> None:
    with service.client() as client:
        install(client, WRONG)
        error = refusal(client, "embed.query", model=WRONG, text="x")
        assert error.details is not None
        assert (error.code, error.details["reason"]) == ("self_check_failed", "cosine_too_low")
        check_id = error.details["check_id"]
        assert workers_of(service.pid) == []
    service.stop()
    service.start()
    with service.client() as client:
        error = refusal(client, "embed.query", model=WRONG, text="x")
        assert error.details is not None
        assert (error.code, error.details["check_id"]) == ("self_check_failed", check_id)
        backend = client.call("models.catalog", {"query": WRONG})["models"][0]["backends"][0]
        assert (backend["self_check"]["state"], backend["self_check"]["check_id"]) == ("failed", check_id)
        client.models_remove(WRONG)
        install(client, WRONG)
        assert row(client, f"{WRONG}-cpu")["self_check"]["state"] == "pending"


def test_a_file_that_is_damaged_on_the_disk_is_mended_by_a_download(service: ServiceProcess, mirror: Mirror) -> None:
    with service.client() as client:
        install(client, GOOD)
        first = vector(client)
        client.call("model.unload", {"model_id": LANE})
        blob = max((service.home / "cache" / "blobs").iterdir(), key=lambda path: path.stat().st_size)
        data = bytearray(blob.read_bytes())
        data[-1] ^= 1
        blob.write_bytes(data)
        error = refusal(client, "embed.query", model=GOOD, text="x")
        assert error.details is not None
        assert (error.code, error.details["recovery_op"]) == ("artifact_invalid", "models.download")
        assert error.details["expected_sha256"] == blob.name
        assert refusal(client, "embed.query", model=GOOD, text="x").code == "model_not_installed"
        fetched = len(mirror.requests)
        install(client, GOOD)
        assert len(mirror.requests) == fetched + 1
        assert vector(client) == first


def test_a_worker_that_dies_twice_cools_down_until_its_lane_is_unloaded(service: ServiceProcess) -> None:
    with service.client() as client, ThreadPoolExecutor() as pool:
        install(client, GOOD)
        first = vector(client)
        worker_of(service.pid).kill()
        wait_until(lambda: row(client, LANE)["state"] == "unloaded", "the service knows that the worker is gone")
        loading = pool.submit(refusal, client, "embed.query", model=GOOD, text="x")
        wait_until(lambda: bool(workers_of(service.pid)), "the next worker has started, which takes it a while")
        worker_of(service.pid).kill()
        error = loading.result()
        assert (error.code, error.details) == (
            "engine_crashed",
            {"lane_id": LANE, "reason": "crash", "exit": -signal.SIGKILL},
        )
        error = refusal(client, "embed.query", model=GOOD, text="x")
        assert (error.code, error.class_) == ("engine_crashed", "transient")
        assert error.details == {"lane_id": LANE, "quarantined": True}
        assert error.retry_after_ms is not None
        assert 590_000 < error.retry_after_ms <= 600_000
        client.call("model.unload", {"model_id": LANE})
        assert vector(client) == first


def test_switching_cpu_lanes_off_hides_and_refuses_and_deletes_nothing(tmp_path: Path, mirror: Mirror) -> None:
    small = checked_catalog(GOOD)
    small.serve(mirror)
    path = small.write(tmp_path / "catalog")
    environ = {"SYNAPSE_HF_BASE_URL": mirror.base}
    with (
        running_service(tmp_path / "home", environ=environ, arguments=("--catalog", str(path))) as service,
        service.client() as client,
    ):
        assert refusal(client, "models.download", catalog_id=GOOD).code == "backend_unavailable"
        client.call("settings.set", {"values": {"cpu_lanes": True}})
        install(client, GOOD)
        first = vector(client)
        installed = du(service)
        client.call("settings.set", {"values": {"cpu_lanes": False}})
        error = refusal(client, "embed.query", model=GOOD, text="x")
        assert (error.code, error.details) == (
            "backend_unavailable",
            {"catalog_id": GOOD, "lane_id": None, "backends": []},
        )
        error = refusal(client, "embed.query", model=LANE, text="x")
        assert (error.code, error.details) == ("unknown_model", {"model_id": LANE})
        assert client.call("models.list", {})["models"] == []
        assert du(service) == installed
        client.call("settings.set", {"values": {"cpu_lanes": True}})
        assert vector(client) == first
