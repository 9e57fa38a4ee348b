"""What outlives what: models outlive the service, workers never do, and memory comes back when nobody needs it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from fixtures.model_files import tiny_model
from fixtures.processes import alive, wait_until, worker_of, workers_of
from fixtures.service_process import ServiceProcess, load_and_probe, running_service
from synapse_client import SynapseError

TEXT = "a text to embed"
MAX_TOKENS = 128


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of a service, stopped, that has a certified model."""
    home = tmp_path_factory.mktemp("prepared") / "home"
    with running_service(home, arguments=("--cpu-lanes",)) as service, service.client() as client:
        load_and_probe(client, "tiny", tiny_model("bert"), max_tokens=MAX_TOKENS)
    return home


@pytest.fixture
def home(prepared: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    shutil.copytree(prepared, tmp_path / "home")
    return tmp_path / "home"


@pytest.fixture
def service(home: Path) -> Iterator[ServiceProcess]:
    """A service in it."""
    with running_service(home, arguments=("--cpu-lanes",)) as service:
        yield service


def test_a_killed_service_takes_its_workers_along_and_the_next_one_serves_the_same_model(
    service: ServiceProcess,
) -> None:
    with service.client() as client:
        before = client.embed_query("tiny", TEXT)
        (certified,) = client.probe_report().lanes
    worker = worker_of(service.pid)
    service.kill()
    wait_until(lambda: not alive(worker), "the worker of the killed service is gone", limit_s=5)
    service.start()
    with service.client() as client:
        assert workers_of(service.pid) == []  # Nothing is loaded until somebody asks.
        after = client.embed_query("tiny", TEXT)
        assert (after.vector, after.fingerprint) == (before.vector, before.fingerprint)
        assert after.module_generation == before.module_generation + 1
        assert client.probe_report().lanes == [certified]  # Not probed again.


def test_a_service_that_stops_ends_its_workers_and_leaves_no_socket(service: ServiceProcess) -> None:
    with service.client() as client:
        client.embed_query("tiny", TEXT)
    worker = worker_of(service.pid)
    assert service.stop() == 0
    assert not alive(worker)
    assert not Path(service.address).exists()


def test_a_job_that_a_crash_cut_off_is_reported_as_that(service: ServiceProcess) -> None:
    with service.client() as client:
        client.embed_query("tiny", TEXT)
        worker = worker_of(service.pid)
        worker.suspend()  # The probe waits for it, so it can't end before the crash.
        job = client.probe_start("tiny")
        wait_until(lambda: client.job_status(job.job_id).state == "running", "the probe runs")
    service.kill()
    # Goes red without the parent-death signal: a worker that doesn't run can't read that its pipe has ended.
    wait_until(lambda: not alive(worker), "the stopped worker of the killed service is gone", limit_s=5)
    service.start()
    with service.client() as client, pytest.raises(SynapseError) as failure:
        client.wait_job(job.job_id, timeout_s=5)
    assert failure.value.code == "module_restarted"


def test_a_registered_model_survives_the_time_in_which_a_setting_hides_it(home: Path) -> None:
    with running_service(home) as service:
        with service.client() as client:
            client.settings_set({"cpu_lanes": True})
            before = client.embed_query("tiny", TEXT)
            worker = worker_of(service.pid)
            client.settings_set({"cpu_lanes": False})
            assert client.models_list().models == []
            with pytest.raises(SynapseError) as refusal:
                client.embed_query("tiny", TEXT)
            assert refusal.value.code == "unknown_model"
            wait_until(lambda: not alive(worker), "the hidden lane's worker is gone")
        assert service.stop() == 0
        service.start()
        with service.client() as client:
            assert client.models_list().models == []
            client.settings_set({"cpu_lanes": True})
            after = client.embed_query("tiny", TEXT)
            assert (after.vector, after.fingerprint) == (before.vector, before.fingerprint)


def test_an_idle_lane_gives_its_memory_back_and_loads_again_when_it_is_asked(home: Path) -> None:
    environ = {"SYNAPSE_IDLE_UNLOAD_MS": "1000"}
    with running_service(home, arguments=("--cpu-lanes",), environ=environ) as service, service.client() as client:
        before = client.embed_query("tiny", TEXT)
        worker, without_it = worker_of(service.pid), psutil.Process(service.pid).memory_info().rss
        wait_until(lambda: client.model_status("tiny").state == "unloaded", "the idle lane is unloaded")
        assert not alive(worker)
        assert workers_of(service.pid) == []
        assert psutil.Process(service.pid).memory_info().rss <= without_it + 2 * 2**20
        assert client.embed_query("tiny", TEXT).vector == before.vector
        assert worker_of(service.pid).pid != worker.pid


def test_requests_that_arrive_before_the_model_is_loaded_share_one_load(service: ServiceProcess) -> None:
    params = {"model": "tiny", "text": TEXT}
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": number, "method": "embed.query", "params": params}).encode()
        for number in range(8)
    ]
    replies = service.raw(*lines)
    assert sorted(reply["id"] for reply in replies) == list(range(8))
    assert len({reply["result"]["fingerprint"] for reply in replies}) == 1
    assert len(workers_of(service.pid)) == 1
