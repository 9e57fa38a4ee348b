"""A Neural Engine lane in a real service, paused, compiled for, crashed and killed; only its predictor is scripted."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from fixtures.lock_holders import hold
from fixtures.neural_engine import LANE, NeuralEngineService, neural_engine_service
from synapse_client import AsyncClient, Client, SynapseError
from synapse_service.lanes.hardware_lock import HardwareLock, LockHeld

SHORT = "hello world"
LONG = "the " * 50


@pytest.fixture
def running(tmp_path: Path) -> Iterator[NeuralEngineService]:
    with neural_engine_service(tmp_path) as running:
        yield running


def free(lock: Path) -> bool:
    mine = HardwareLock(lock)
    try:
        mine.acquire()
    except LockHeld:
        return False
    mine.release()
    return True


def until(condition: Callable[[], object], what: Callable[[], object] = lambda: "") -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, what()
        time.sleep(0.01)


def phase(client: Client) -> str:
    return client.lanes_status().phase


def in_background(work: Callable[[], Any]) -> tuple[threading.Thread, list[Any]]:
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.append(work())
        except SynapseError as error:
            outcome.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, outcome


def test_the_lock_is_held_while_a_worker_lives_and_free_while_paused(running: NeuralEngineService) -> None:
    with running.service.client() as client:
        assert free(running.lock)
        first = client.embed_query(LANE, SHORT)
        assert len(first.vector) == 64
        assert not free(running.lock)
        running.gate.touch()
        slow, slow_outcome = in_background(lambda: client.embed_query(LANE, "slow"))
        until(lambda: client.lanes_list().lanes[0].in_flight == 1)
        paused = client.lanes_pause(1, reason="measuring")
        assert (paused.phase, paused.lane_ids) == ("draining", [LANE])
        with pytest.raises(SynapseError) as caught:
            client.embed_query(LANE, SHORT)
        error = caught.value
        assert (error.code, error.class_, error.safe_to_retry_same_request) == ("lane_paused", "transient", True)
        assert error.details == {
            "lane_id": LANE,
            "fingerprint": first.fingerprint,
            "paused_until_ms": paused.paused_until_ms,
            "reason": "measuring",
        }
        assert phase(client) == "draining"
        assert not free(running.lock)
        running.gate.unlink()
        slow.join()
        assert slow_outcome[0].fingerprint == first.fingerprint
        until(lambda: client.lanes_status().hardware_free)
        assert free(running.lock)
        row = client.models_list().models[0]
        assert (row.state, row.paused_until_ms, row.pause_reason) == ("unloaded", paused.paused_until_ms, "measuring")
        assert psutil.Process(running.service.pid).children() == []
        client.lanes_resume()
        assert client.embed_query(LANE, SHORT).vector == first.vector
        assert not free(running.lock)
        client.model_unload(LANE)
        until(lambda: free(running.lock))


def test_another_program_that_holds_the_hardware_keeps_workers_from_loading(running: NeuralEngineService) -> None:
    with running.service.client() as client:
        with hold(running.lock) as holder:
            with pytest.raises(SynapseError) as caught:
                client.embed_query(LANE, SHORT, deadline_ms=500)
            assert caught.value.code == "deadline_exceeded"
            with pytest.raises(SynapseError) as caught:
                client.embed_query(LANE, SHORT, deadline_ms=20_000)
            assert caught.value.code == "model_loading"
            assert psutil.Process(running.service.pid).children() == []
            holder.kill()
        until(lambda: client.lanes_list().lanes[0].state == "ready")
        assert len(client.embed_query(LANE, SHORT).vector) == 64


def test_a_killed_service_leaves_the_lock_to_others_once_its_worker_is_gone(running: NeuralEngineService) -> None:
    with running.service.client() as client:
        client.embed_query(LANE, SHORT)
    (worker,) = psutil.Process(running.service.pid).children()
    assert not free(running.lock)
    running.service.kill()
    until(lambda: not worker.is_running())
    until(lambda: free(running.lock))
    running.service.start()
    with running.service.client() as client:
        assert client.call("lanes.status") == {"phase": "running", "hardware_free": False, "lane_ids": []}
        client.embed_query(LANE, SHORT)
    assert not free(running.lock)


def test_a_worker_that_dies_gives_the_lock_back(running: NeuralEngineService) -> None:
    with running.service.client() as client:
        client.embed_query(LANE, SHORT)
        (worker,) = psutil.Process(running.service.pid).children()
        worker.kill()
        until(lambda: free(running.lock))
        client.embed_query(LANE, SHORT)


def test_a_job_meets_the_fence_and_goes_on_under_its_key_after_the_pause(running: NeuralEngineService) -> None:
    items = [{"id": str(number), "text": "the " * (number % 20)} for number in range(2000)]
    batch = {"model": LANE, "items": items, "request_key": "key"}
    with running.service.client() as client:
        running.gate.touch()
        job_id = client.call("embed.batch", batch)["job"]["job_id"]
        until(lambda: client.lanes_list().lanes[0].in_flight)
        client.lanes_pause(1, reason="measuring")
        running.gate.unlink()
        until(lambda: client.call("model.status", {"job_id": job_id})["state"] == "failed")
        failed = client.call("model.status", {"job_id": job_id})
        assert failed["error"]["code"] == "lane_paused"
        assert 0 < failed["items_done"] < 2000
        with pytest.raises(SynapseError) as caught:
            client.call("embed.batch", batch)
        assert caught.value.code == "lane_paused"
        until(lambda: phase(client) == "paused")
        client.lanes_resume()
        again = client.call("embed.batch", batch)["job"]["job_id"]
        done = client.wait_job(again, timeout_s=60)
        assert (done.state, done.items_done) == ("done", 2000)
        assert again != job_id


def test_a_deadline_that_expires_during_a_compile_says_which_shape(tmp_path: Path) -> None:
    with neural_engine_service(tmp_path, compile_s={"64": 1.5}) as running, running.service.client() as client:
        client.embed_query(LANE, SHORT)
        with pytest.raises(SynapseError) as caught:
            client.embed_query(LANE, LONG, deadline_ms=300)
        error = caught.value
        assert (error.code, error.retry_after_ms) == ("shape_compiling", 1000)
        assert error.details == {"lane_id": LANE, "shape": 64}
        # One that waits behind it for another shape is kept from the worker by the same compile.
        with pytest.raises(SynapseError) as caught:
            client.embed_query(LANE, SHORT, deadline_ms=300)
        assert (caught.value.code, caught.value.details) == ("shape_compiling", {"lane_id": LANE, "shape": 64})
        # The compile goes on without them, and a deadline that covers it avoids the error.
        assert len(client.embed_query(LANE, LONG, deadline_ms=20_000).vector) == 64
        began = time.monotonic()
        client.embed_query(LANE, LONG, deadline_ms=1000)
        assert time.monotonic() - began < 1.0
        assert client.lanes_list().lanes[0].state == "ready"


def test_two_crashes_quarantine_the_lane_and_free_the_hardware(tmp_path: Path) -> None:
    with neural_engine_service(tmp_path, dies_compiling=[64]) as running, running.service.client() as client:
        for _ in range(2):
            with pytest.raises(SynapseError) as caught:
                client.embed_query(LANE, LONG)
            assert caught.value.code == "engine_crashed"
        with pytest.raises(SynapseError) as caught:
            client.embed_query(LANE, SHORT)
        assert caught.value.code == "probe_required"
        (row,) = client.lanes_list().lanes
        assert (row.state, row.quarantine_reason) == ("quarantined", "crash")
        until(lambda: free(running.lock))


async def test_those_who_follow_hear_of_every_phase_of_a_pause_and_of_its_end(running: NeuralEngineService) -> None:
    async with AsyncClient(running.service.address) as client, client.subscribe("lanes", "service") as events:
        phases: dict[str, list[str | None]] = {"lanes": [], "service": []}
        paused = False
        async with asyncio.timeout(20):
            async for event in events:
                if event.kind == "snapshot":
                    if event.topic == "lanes":
                        assert [row["lane_id"] for row in event.data] == [LANE]
                        await client.service_pause(reason="a film")
                    continue
                pause = event.data.get("pause")
                phases[event.topic].append(None if pause is None else pause["phase"])
                if not paused and phases["service"][-1:] == ["paused"]:
                    paused = True
                    await client.service_resume()
                if phases["service"][-1:] == [None] and phases["lanes"][-1:] == [None]:
                    break
        assert phases["lanes"] == ["draining", "paused", None]
        assert phases["service"][-2:] == ["paused", None]
