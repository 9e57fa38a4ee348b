"""Pauses, end to end: real service processes, the real lock of the machine in a place of its own, real workers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from fixtures.lock_holders import hold
from fixtures.model_files import tiny_model
from fixtures.service_process import ServiceProcess, load_and_probe, running_service
from synapse_client import Client, SynapseError
from synapse_service.lanes.hardware_lock import HardwareLock, LockHeld

RUNNING = {"phase": "running", "hardware_free": False, "lane_ids": []}


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    return tmp_path / "neural-engine.lock"


@pytest.fixture
def service(tmp_path: Path, lock: Path) -> Iterator[ServiceProcess]:
    arguments = ("--cpu-lanes", "--neural-engine-lock", str(lock))
    with running_service(tmp_path / "home", arguments=arguments) as service:
        yield service


@pytest.fixture
def client(service: ServiceProcess) -> Iterator[Client]:
    with service.client() as client:
        yield client


def free(lock: Path) -> bool:
    mine = HardwareLock(lock)
    try:
        mine.acquire()
    except LockHeld:
        return False
    mine.release()
    return True


def until_phase(client: Client, phase: str) -> dict[str, Any]:
    """The status of the Neural Engine's pause once it is in this phase."""
    deadline = time.monotonic() + 20
    while True:
        status: dict[str, Any] = client.call("lanes.status")
        if status["phase"] == phase:
            return status
        assert time.monotonic() < deadline, status
        time.sleep(0.02)


def test_without_a_neural_engine_lane_a_pause_takes_the_lock_and_gives_it_up(client: Client, lock: Path) -> None:
    assert client.call("lanes.status") == RUNNING
    answer = client.lanes_pause(5, reason="measuring")
    assert (answer.phase, answer.lane_ids, answer.reason) == ("draining", [], "measuring")
    status = until_phase(client, "paused")
    assert (status["hardware_free"], status["lane_ids"]) == (True, [])
    assert lock.exists()
    assert free(lock)
    assert client.call("lanes.resume") == RUNNING
    assert client.call("lanes.resume") == RUNNING


def test_a_pause_ends_by_itself_and_waits_for_whoever_holds_the_lock(client: Client, lock: Path) -> None:
    client.call("lanes.pause", {"scope": "neural_engine", "duration_ms": 700, "reason": "measuring"})
    until_phase(client, "paused")
    with hold(lock) as holder:
        assert until_phase(client, "waiting_for_lock")["hardware_free"] is False
        holder.kill()
        until_phase(client, "running")
    warnings = [entry for entry in client.logs_tail(level="warning").entries if entry.event == "pause_waits_for_lock"]
    assert warnings


def test_two_services_share_the_lock_of_the_machine(service: ServiceProcess, tmp_path: Path, lock: Path) -> None:
    with (
        running_service(tmp_path / "other", arguments=("--neural-engine-lock", str(lock))) as other,
        service.client() as one,
        other.client() as two,
    ):
        one.lanes_pause(5, reason="mine")
        two.lanes_pause(5, reason="theirs")
        until_phase(one, "paused")
        until_phase(two, "paused")
        assert free(lock)
        one.lanes_resume()
        two.lanes_resume()
        until_phase(one, "running")
        until_phase(two, "running")


def test_a_restart_ends_a_pause(service: ServiceProcess, lock: Path) -> None:
    with service.client() as client:
        client.lanes_pause(60, reason="measuring")
        until_phase(client, "paused")
        client.service_pause(reason="a film")
    service.kill()
    assert free(lock)
    service.start()
    with service.client() as client:
        assert client.call("lanes.status") == RUNNING
        assert "pause" not in client.call("service.info")


def test_a_pause_of_everything_ends_the_workers_and_their_return_is_a_load(
    service: ServiceProcess, client: Client
) -> None:
    load_and_probe(client, "tiny", tiny_model("bert"))
    vector = client.embed_query("tiny", "hello world").vector
    assert psutil.Process(service.pid).children()
    client.service_pause(reason="a film")
    deadline = time.monotonic() + 20
    while client.call("service.info")["pause"]["phase"] != "paused":
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert psutil.Process(service.pid).children() == []
    with pytest.raises(SynapseError) as caught:
        client.embed_query("tiny", "hello world")
    assert (caught.value.code, caught.value.retry_after_ms) == ("lane_paused", 60_000)
    (row,) = client.lanes_list().lanes
    assert (row.state, row.requests_done, row.requests_refused) == ("unloaded", 1, 1)
    assert client.call("models.list")["models"][0]["pause_reason"] == "a film"
    client.service_resume()
    assert client.embed_query("tiny", "hello world").vector == vector
    (row,) = client.lanes_list().lanes
    assert (row.state, row.users) == ("ready", ["test"])


def test_a_lane_is_loaded_by_hand_and_kept_warm_over_a_restart(service: ServiceProcess) -> None:
    with service.client() as client:
        load_and_probe(client, "tiny", tiny_model("bert"))
        client.model_unload("tiny")
        row = client.lanes_load("tiny")
        assert row.state == "ready"
        assert isinstance(row.rss_bytes, int)
        assert client.lanes_keep_warm("tiny").keep_warm is True
    service.stop()
    service.start()
    with service.client() as client:
        (row,) = client.lanes_list().lanes
        assert (row.state, row.keep_warm) == ("unloaded", True)
        with pytest.raises(SynapseError) as caught:
            client.lanes_load("gte-modernbert-base")
        assert caught.value.code == "invalid_request"
        assert (caught.value.details or {})["catalog_id"] == "gte-modernbert-base"
