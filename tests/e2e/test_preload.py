"""Models that the settings name, in real services with real workers: proven, refused, gated and skipped."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fixtures.checked_catalog import checked_catalog
from fixtures.model_files import tiny_model
from fixtures.processes import wait_until
from fixtures.service_process import ServiceProcess, file_manifest, running_service
from synapse_client import Client, SynapseError

GOOD, WRONG, RERANKER = "tiny-bert", "tiny-modernbert", "tiny-modernbert-reranker"


def table(model_id: str, **members: Any) -> str:
    """One entry as a person writes it."""
    lines = [f"{name} = {json.dumps(value)}" for name, value in {"model_id": model_id, **members}.items()]
    return "\n".join(["[[preload]]", *lines, ""])


def entry(model_id: str, family: Any, *, task: str = "embed", engine: str = "owned-cpu", **members: Any) -> str:
    text = table(model_id, task=task, engine=engine, source="file", **members)
    for role, spec in file_manifest(tiny_model(family)).items():
        text += f"files.{role} = {{url = {json.dumps(spec['url'])}, sha256 = {json.dumps(spec['sha256'])}}}\n"
    return text


def home_with(folder: Path, *entries: str) -> tuple[Path, tuple[str, ...]]:
    """A home whose settings name these models, and the arguments of a service whose catalog has their figures."""
    home = folder / "home"
    (home / "config").mkdir(parents=True)
    (home / "config" / "config.toml").write_text("\n".join(entries))
    path = checked_catalog(GOOD, WRONG, RERANKER, wrong=[WRONG]).write(folder / "catalog")
    return home, ("--cpu-lanes", "--catalog", str(path))


@pytest.fixture
def service(tmp_path: Path) -> Iterator[ServiceProcess]:
    home, arguments = home_with(
        tmp_path,
        entry("old", "bert", engine="ort"),
        entry("right", "bert", profile=f"{GOOD}.cpu"),
        entry("wrong", "modernbert", profile=f"{WRONG}.cpu"),
        entry("unknown", "bert", profile="large.cpu"),
        entry("scores", "modernbert-reranker", task="rerank", profile=f"{RERANKER}.cpu"),
        entry("plain", "bert", pooling="cls"),
    )
    with running_service(home, arguments=arguments) as service:
        yield service


def rows(client: Client) -> dict[str, Any]:
    return {row["model_id"]: row for row in client.call("models.list", {})["models"]}


def refusal(client: Client, model: str) -> SynapseError:
    with pytest.raises(SynapseError) as caught:
        client.call("embed.query", {"model": model, "text": "a"})
    return caught.value


def settled(client: Client) -> None:
    """Wait until every entry has been worked through; the last of them is "plain"."""
    wait_until(lambda: rows(client).get("plain", {}).get("state") == "ready", "the last entry is loaded", 60)


def logged(service: ServiceProcess) -> list[dict[str, Any]]:
    paths = sorted((service.home / "log").iterdir())
    return [json.loads(line) for path in paths for line in path.read_text().splitlines()]


def warnings(service: ServiceProcess) -> list[tuple[str, str]]:
    found = [each for each in logged(service) if each["level"] == "warning"]
    return [(each["event"], each["model_id"]) for each in found if each["event"].startswith("preload")]


def check(service: ServiceProcess) -> None:
    with service.client() as client:
        settled(client)
        answer = client.call("embed.query", {"model": "right", "text": "a naïve café"})
        row = rows(client)["right"]
        assert answer["fingerprint"] == row["fingerprint"]
        assert (row["self_check"]["state"], row["certified"]) == ("passed", True)
        error = refusal(client, "wrong")
        assert (error.code, error.details) == (
            "self_check_failed",
            {"profile": f"{WRONG}.cpu", "reason": "cosine_too_low"},
        )
        error = refusal(client, "unknown")
        assert (error.code, error.details) == (
            "self_check_failed",
            {"profile": "large.cpu", "reason": "reference_absent"},
        )
        candidates = [{"id": text, "text": text} for text in ("a", "b c")]
        scored = client.call("rerank.score", {"model": "scores", "query": "a", "candidates": candidates})
        assert [each["id"] for each in scored["scores"]] == ["a", "b c"]
        assert rows(client)["scores"]["self_check"]["state"] == "passed"
        assert refusal(client, "plain").code == "probe_required"
        assert refusal(client, "old").code == "unknown_model"
        assert sorted(rows(client)) == ["plain", "right", "scores", "unknown", "wrong"]


@pytest.mark.slow
def test_models_are_preloaded_proven_and_refused_and_a_restart_changes_nothing(service: ServiceProcess) -> None:
    check(service)
    failed = [("preload_failed", model_id) for model_id in ("wrong", "unknown")]
    told = [("preload_skipped", "old"), *failed]
    assert warnings(service) == told
    service.stop()
    service.start()
    check(service)
    assert warnings(service) == [*told, *told]
    events = [each["event"] for each in logged(service)]
    # The second process computes neither what passed nor what failed.
    assert (events.count("self_check_passed"), events.count("self_check_failed")) == (2, 1)


def test_what_a_missing_disk_kept_back_is_loaded_when_the_disk_is_there(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    home, arguments = home_with(tmp_path, f"storage_dir = {json.dumps(str(disk))}", entry("plain", "bert"))
    with running_service(home, arguments=arguments) as service, service.client() as client:
        wait_until(lambda: warnings(service) == [("preload_failed", "plain")], "the preload has failed", 60)
        disk.mkdir(mode=0o700)
        assert client.call("storage.status", {})["state"] == "ready"
        settled(client)
        assert warnings(service) == [("preload_failed", "plain")]


@pytest.mark.parametrize("model_id", [GOOD, f"{GOOD}-metal", f"{GOOD}-vulkan", f"{GOOD}-cpu"])
def test_an_id_of_the_catalog_stops_the_start_and_names_the_entry(tmp_path: Path, model_id: str) -> None:
    home, arguments = home_with(tmp_path, entry("fine", "bert"), entry(model_id, "bert"))
    finished = subprocess.run(
        [sys.executable, "-m", "synapse_service", "--home", str(home), *arguments],
        env=ServiceProcess(home).environ,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert finished.returncode == 1
    assert f"preload entry 2 ('{model_id}')" in finished.stderr
    assert "models.download" in finished.stderr
    assert not (home / "data" / "synapse.db").exists()
