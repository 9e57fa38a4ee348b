"""The folder of the models of a real service: moved while it runs, away at its start, killed in the middle."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from fixtures.checked_catalog import checked_catalog
from fixtures.faulty_disks import small_disk
from fixtures.mirror import Mirror, running_mirror
from fixtures.model_files import tiny_model
from fixtures.processes import wait_until
from fixtures.service_process import ServiceProcess, file_manifest, running_service
from synapse_cli.main import app
from synapse_client import Client, SynapseError

MODEL = "tiny-bert"
LANE = f"{MODEL}-cpu"


@pytest.fixture
def mirror() -> Iterator[Mirror]:
    with running_mirror() as mirror:
        yield mirror


@pytest.fixture
def service(tmp_path: Path, mirror: Mirror) -> Iterator[ServiceProcess]:
    """A service with one model of the catalog installed and loaded."""
    small = checked_catalog(MODEL)
    small.serve(mirror)
    with running_service(
        tmp_path / "home",
        environ={"SYNAPSE_HF_BASE_URL": mirror.base},
        arguments=("--cpu-lanes", "--catalog", str(small.write(tmp_path / "catalog"))),
    ) as service:
        with service.client() as client:
            client.wait_download(client.models_download(MODEL).job_id)
            vector(client)
        yield service


def vector(client: Client) -> list[float]:
    answer = client.call("embed.query", {"model": MODEL, "text": "a naïve café 東京"})
    found: list[float] = answer["vectors"][0]["vector"]
    return found


def refusal(client: Client, method: str, **params: Any) -> SynapseError:
    with pytest.raises(SynapseError) as refused:
        client.call(method, params)
    return refused.value


def moved(client: Client) -> str:
    """The state of the latest move when it has ended."""
    wait_until(lambda: client.call("storage.status", {})["move"]["state"] in ("done", "failed"), "the move has ended")
    state: str = client.call("storage.status", {})["move"]["state"]
    return state


def test_the_models_move_to_another_disk_and_serve_from_there_without_a_restart(
    service: ServiceProcess, mirror: Mirror, tmp_path: Path
) -> None:
    def synapse(*arguments: str) -> str:
        done = CliRunner().invoke(app, list(arguments), env={"SYNAPSE_HOME": str(service.home)})
        assert done.exit_code == 0, done.output
        return done.stdout

    with small_disk(tmp_path / "mount", 64) as mount, service.client() as client:
        disk = mount / "models"
        first = vector(client)
        error = refusal(client, "storage.move", path=str(disk))
        assert (error.code, error.details) == (
            "model_in_use",
            {"catalog_id": None, "holders": [{"kind": "loaded", "model_id": LANE}]},
        )
        error = refusal(client, "settings.set", values={"storage_dir": str(disk)})
        assert (error.code, error.details) == (
            "invalid_request",
            {"setting": "storage_dir", "operation": "storage.move"},
        )
        client.model_unload(LANE)
        requests = len(mirror.requests)
        assert synapse("models", "storage", "move", str(disk)) == f"The models are in {disk} now.\n"
        assert synapse("models", "storage").splitlines()[:2] == [
            f"Models in {disk}: ready",
            f"  usual folder  {service.home / 'cache'}",
        ]
        assert [path.name for path in (service.home / "cache").iterdir()] == []
        assert vector(client) == first
        assert client.cache_usage().path == str(disk)
        service.stop()
        service.start()
        assert vector(client) == first
        assert len(mirror.requests) == requests
        client.model_unload(LANE)
        synapse("models", "storage", "move", "--default")
        assert vector(client) == first
        assert [path.name for path in disk.iterdir()] == []


def test_a_disk_that_is_away_keeps_no_service_from_starting_and_is_found_when_it_is_back(
    service: ServiceProcess, mirror: Mirror, tmp_path: Path
) -> None:
    disk, away = tmp_path / "disk", tmp_path / "away"
    with service.client() as client:
        first = vector(client)
        client.model_unload(LANE)
        client.call("storage.move", {"path": str(disk)})
        assert moved(client) == "done"
        service.stop()
        disk.rename(away)
        disk.mkdir(mode=0o755)  # as a mount point on which nothing is mounted
        service.start()
        status = client.call("storage.status", {})
        assert (status["state"], status["error"]["code"]) == ("unavailable", "store_failure")
        assert status["error"]["details"] == {"reason": "disk_missing", "path": str(disk)}
        assert client.call("models.catalog", {})["models"][0]["install_state"] == "installed"
        error = refusal(client, "embed.query", model=MODEL, text="x")
        assert (error.code, error.details) == (
            "artifact_invalid",
            {"model_id": LANE, "file": "model.safetensors", "reason": "disk_missing"},
        )
        for method, params in (("models.download", {"catalog_id": MODEL}), ("cache.gc", {}), ("cache.usage", {})):
            error = refusal(client, method, **params)
            assert (error.code, error.details) == (
                "store_failure",
                {"reason": "disk_missing", "path": str(disk)},
            )
        checks = {check["check"]: check for check in client.call("service.diagnostics", {})["checks"]}
        assert (checks["models"]["status"], checks["models"]["facts"]["reason"]) == ("error", "disk_missing")
        assert list(disk.iterdir()) == []
        requests = len(mirror.requests)
        disk.rmdir()
        away.rename(disk)
        assert client.call("storage.status", {})["state"] == "ready"
        assert vector(client) == first
        # And away again while it runs: nothing is taken for damaged.
        client.model_unload(LANE)
        disk.rename(away)
        error = refusal(client, "embed.query", model=MODEL, text="x")
        assert (error.code, (error.details or {})["reason"]) == ("artifact_invalid", "disk_missing")
        away.rename(disk)
        assert client.call("storage.status", {})["state"] == "ready"
        assert vector(client) == first
        assert len(mirror.requests) == requests


def test_a_service_that_is_killed_in_a_move_goes_on_with_it(service: ServiceProcess, tmp_path: Path) -> None:
    with small_disk(tmp_path / "mount", 200) as mount, service.client() as client:
        first = vector(client)
        client.model_unload(LANE)
        # Something that takes its time: files that nobody needs move, too.
        _filler(service.home / "cache" / "blobs", 100)
        client.call("storage.move", {"path": str(mount / "models")})
        wait_until(lambda: _count(mount / "models" / "blobs") > 3, "some files are there")
        service.kill()
        assert _count(service.home / "cache" / "blobs") >= 100
        _preload(service.home, "mine")
        service.start()
        assert moved(client) == "done"
        assert vector(client) == first
        # It had met the move.
        wait_until(lambda: "mine" in _models(client), "the preload is there")
        assert _count(service.home / "cache") == 0
        assert shutil.disk_usage(mount).used > 100 << 20


def _models(client: Client) -> set[str]:
    return {row["model_id"] for row in client.call("models.list", {})["models"]}


def _preload(home: Path, model_id: str) -> None:
    entry = f'\n[[preload]]\nmodel_id = "{model_id}"\ntask = "embed"\nengine = "owned-cpu"\nsource = "file"\n'
    for role, spec in file_manifest(tiny_model("bert")).items():
        entry += f"files.{role} = {{url = {json.dumps(spec['url'])}, sha256 = {json.dumps(spec['sha256'])}}}\n"
    (home / "config").mkdir(mode=0o700, exist_ok=True)
    with (home / "config" / "config.toml").open("a") as config:
        config.write(entry)


def _filler(blobs: Path, files: int) -> None:
    for number in range(files):
        content = bytes([number]) * (1 << 20)
        (blobs / hashlib.sha256(content).hexdigest()).write_bytes(content)


def _count(folder: Path) -> int:
    return sum(1 for _ in folder.iterdir()) if folder.is_dir() else 0
