"""Downloads by a real service from a loopback mirror: installed, restarted, killed, damaged, repaired, removed."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from fixtures.catalog import SmallCatalog, path_of, tiny_files
from fixtures.download_desk import two_models
from fixtures.mirror import Mirror, running_mirror
from fixtures.model_files import expected
from fixtures.processes import wait_until
from fixtures.service_process import ServiceProcess, running_service
from synapse_cli.main import app
from synapse_client import Client, SynapseError

MODEL = path_of("alpha", "model")
TINY = "tiny-embed"


@pytest.fixture
def small() -> SmallCatalog:
    return two_models()


@pytest.fixture
def mirror(small: SmallCatalog) -> Iterator[Mirror]:
    with running_mirror() as mirror:
        small.serve(mirror)
        yield mirror


@contextmanager
def serving(
    folder: Path, small: SmallCatalog, mirror: Mirror, environ: dict[str, str] | None = None
) -> Iterator[ServiceProcess]:
    """A service that knows the small catalog and fetches from the mirror."""
    folder.mkdir(exist_ok=True)
    catalog = small.write(folder)
    arguments = ("--cpu-lanes", "--catalog", str(catalog))
    with running_service(
        folder / "home", environ={"SYNAPSE_HF_BASE_URL": mirror.base, **(environ or {})}, arguments=arguments
    ) as service:
        yield service


@pytest.fixture
def service(tmp_path: Path, small: SmallCatalog, mirror: Mirror) -> Iterator[ServiceProcess]:
    with serving(tmp_path / "a", small, mirror) as service:
        yield service


def du(service: ServiceProcess) -> int:
    """Bytes of all files in the store, but for its lock and its marker."""
    own = ("models.lock", "store.json")
    files = (path for path in (service.home / "cache").rglob("*") if path.is_file() and path.name not in own)
    return sum(path.stat().st_size for path in files)


def state(client: Client, catalog_id: str) -> str:
    rows = {row.id: row.install_state for row in client.models_catalog().models}
    return rows[catalog_id]


def downloading(client: Client, job_id: str) -> None:
    wait_until(lambda: client.download_status(job_id).state == "downloading", "the download has begun")


def test_a_model_is_downloaded_kept_over_a_restart_and_removed_to_the_last_byte(
    service: ServiceProcess, small: SmallCatalog, mirror: Mirror
) -> None:
    with service.client() as client:
        assert (state(client, "alpha"), du(service)) == ("not_installed", 0)
        job_id = client.models_download("alpha").job_id
        client.wait_download(job_id)
        assert client.call("model.status", {"job_id": job_id}) == {
            "job_id": job_id,
            "kind": "models.download",
            "state": "committed",
        }
        assert (state(client, "alpha"), du(service)) == ("installed", small.size("alpha"))
        counters = client.admission_status()
        assert (counters.jobs_minted, counters.jobs_completed, counters.jobs_open) == (1, 1, 0)
        with pytest.raises(SynapseError, match=r"models\.download\.cancel") as caught:
            client.jobs_cancel(job_id)
        assert caught.value.details == {"job_id": job_id, "kind": "models.download"}
    service.stop()
    service.start()
    with service.client() as client:
        assert state(client, "alpha") == "installed"
        assert client.models_download("alpha").state == "committed"
        removed = client.models_remove("alpha")
        assert (len(removed.removed_manifests), removed.freed_bytes) == (1, small.size("alpha"))
        assert (state(client, "alpha"), du(service)) == ("not_installed", 0)
    assert len(mirror.requests) == 3


def test_a_service_that_is_killed_in_a_download_reports_it_and_cleans_up(
    service: ServiceProcess, small: SmallCatalog, mirror: Mirror
) -> None:
    gate = mirror.hold(MODEL)
    with service.client() as client:
        job_id = client.models_download("alpha").job_id
        downloading(client, job_id)
        wait_until(lambda: du(service) > 100_000, "half of the file is here")
    service.kill()
    gate.set()
    service.start()
    assert du(service) == 0
    with service.client() as client:
        status = client.download_status(job_id)
        assert status.state == "failed"
        assert isinstance(status.error, dict)
        assert status.error["code"] == "module_restarted"
        counters = client.admission_status()
        assert (counters.jobs_inherited, counters.jobs_failed, counters.jobs_open) == (1, 1, 0)
        again = client.models_download("alpha")
        assert again.job_id != job_id
        client.wait_download(again.job_id)
        assert du(service) == small.size("alpha")


def test_a_download_is_cancelled_for_everyone_and_leaves_nothing(service: ServiceProcess, mirror: Mirror) -> None:
    mirror.hold(MODEL)
    with service.client() as first, service.client() as second:
        job_id = first.models_download("alpha").job_id
        assert second.models_download("alpha", request_key="mine").job_id == job_id
        downloading(first, job_id)
        assert second.models_download_cancel(job_id).state == "cancelled"
        assert du(service) == 0
        with pytest.raises(SynapseError) as caught:
            first.wait_download(job_id)
        assert caught.value.code == "request_cancelled"


def test_a_stop_with_a_download_under_way_is_refused_naming_it(service: ServiceProcess, mirror: Mirror) -> None:
    gate = mirror.hold(MODEL)
    with service.client() as client:
        job_id = client.models_download("alpha").job_id
        with pytest.raises(SynapseError) as caught:
            client.shutdown()
        assert (caught.value.details or {})["holders"] == [{"kind": "job", "job_id": job_id}]
        gate.set()
        client.wait_download(job_id)


def test_subscribers_see_bytes_that_never_fall_and_the_installed_model(service: ServiceProcess, mirror: Mirror) -> None:
    gate = mirror.hold(MODEL)
    events: list[dict[str, Any]] = []
    with service.client() as client:
        reading = threading.Thread(target=_collect, args=(service, events), daemon=True)
        reading.start()
        wait_until(lambda: len(events) >= 2, "both snapshots have come")
        job_id = client.models_download("alpha").job_id
        downloading(client, job_id)
        gate.set()
        client.wait_download(job_id)
    wait_until(lambda: any(_ended(event) for event in events), "the end was told")
    snapshots = {event["topic"]: event["data"] for event in events if event["kind"] == "snapshot"}
    assert snapshots["downloads"] == []
    assert {"catalog_id": "alpha", "install_state": "not_installed", "download": None} in snapshots["models"]
    rows = [event["data"] for event in events if event["topic"] == "downloads" and event["kind"] == "change"]
    done = [row["bytes_done"] for row in rows]
    assert done == sorted(done)
    assert (rows[-1]["job_id"], rows[-1]["state"]) == (job_id, "committed")
    wait_until(lambda: _installed(events), "the model is told to be installed")


def _ended(event: dict[str, Any]) -> bool:
    return event["topic"] == "downloads" and event["kind"] == "change" and event["data"]["state"] == "committed"


def _installed(events: list[dict[str, Any]]) -> bool:
    told = [e["data"] for e in events if e["topic"] == "models" and e["kind"] == "change" and "catalog_id" in e["data"]]
    return bool(told) and told[-1] == {"catalog_id": "alpha", "install_state": "installed", "download": None}


def _collect(service: ServiceProcess, events: list[dict[str, Any]]) -> None:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(service.address)
        connection.settimeout(20)
        request = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "events.subscribe",
            "params": {"topics": ["downloads", "models"]},
        }
        connection.sendall(json.dumps(request).encode() + b"\n")
        try:
            for line in connection.makefile("rb"):
                message = json.loads(line)
                if message.get("method") == "event":
                    events.append(message["params"])
        except OSError:
            return


def test_a_damaged_database_costs_no_second_download(
    tmp_path: Path, small: SmallCatalog, mirror: Mirror, service: ServiceProcess
) -> None:
    with service.client() as client:
        client.wait_download(client.models_download("alpha").job_id)
    service.stop()
    (service.home / "data" / "synapse.db").write_bytes(b"")
    mirror.requests.clear()
    service.start()
    with service.client() as client:
        assert state(client, "alpha") == "not_installed"
        client.wait_download(client.models_download("alpha").job_id)
        assert state(client, "alpha") == "installed"
    assert mirror.requests == []


def test_two_services_do_not_share_a_store(
    tmp_path: Path, small: SmallCatalog, mirror: Mirror, service: ServiceProcess
) -> None:
    # Goes red without `lock_models`: each would remove what only the other one knows.
    environ = {**service.environ, "SYNAPSE_STORAGE_DIR": str(service.home / "cache")}
    other = tmp_path / "other"
    command = [sys.executable, "-m", "synapse_service", "--home", str(other)]
    refused = subprocess.run(
        command, env={**environ, "SYNAPSE_HOME": str(other)}, capture_output=True, text=True, timeout=60, check=False
    )
    assert refused.returncode == 1
    assert (
        f"the models in {service.home / 'cache'} are used by another service (process {service.pid})" in refused.stderr
    )
    assert "storage_dir" in refused.stderr
    with service.client() as client:
        client.wait_download(client.models_download("alpha").job_id)


def test_a_store_on_a_disk_of_its_own_is_used(tmp_path: Path, small: SmallCatalog, mirror: Mirror) -> None:
    storage = tmp_path / "disk"
    storage.mkdir(mode=0o700)
    with serving(tmp_path / "b", small, mirror, {"SYNAPSE_STORAGE_DIR": str(storage)}) as service:
        with service.client() as client:
            client.wait_download(client.models_download("alpha").job_id)
            assert client.cache_usage().path == str(storage)
        assert len(list((storage / "blobs").iterdir())) == 3
        assert du(service) == 0


def test_the_command_line_goes_from_the_catalog_to_an_empty_disk(service: ServiceProcess, small: SmallCatalog) -> None:
    def synapse(*arguments: str) -> str:
        done = CliRunner().invoke(app, list(arguments), env={"SYNAPSE_HOME": str(service.home)})
        assert done.exit_code == 0, done.output
        return done.stdout

    assert "not installed" in synapse("models", "catalog", "alpha")
    assert synapse("models", "download", "alpha") == "alpha is installed.\n"
    assert json.loads(synapse("models", "usage", "--json"))["used_bytes"] == small.size("alpha")
    synapse("models", "pin", "alpha")
    assert "0 bytes are free again" in synapse("models", "remove", "alpha")
    synapse("models", "pin", "alpha", "--off")
    assert synapse("models", "gc").startswith("3 files removed")
    assert du(service) == 0


# --- files that are damaged after they were installed ---


@dataclass
class Tiny:
    """A service with an installed model that computes, and the mirror that has its files."""

    service: ServiceProcess
    catalog: SmallCatalog
    mirror: Mirror


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tiny]:
    """Each test leaves the model installed."""
    numbers = expected("bert")
    catalog = SmallCatalog().add(TINY, tiny_files("bert"))
    cases = []
    for row, pooled in zip(numbers.rows, numbers.pooled["mean"], strict=True):
        vector = pooled / np.linalg.norm(pooled)
        cases.append({"id": f"row-{row.size}", "ids": row.tolist(), "vector": vector.tolist()})
    catalog.check(TINY, cases[:3], {"cosine_min": 0.999, "norm_error_max": 0.001})
    with running_mirror() as mirror:
        catalog.serve(mirror)
        with serving(tmp_path_factory.mktemp("tiny"), catalog, mirror) as service:
            with service.client() as client:
                client.wait_download(client.models_download(TINY).job_id)
            yield Tiny(service, catalog, mirror)


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1000])


def swapped(path: Path) -> None:
    """Other bytes of the same length, and with the old times."""
    before = path.stat()
    body = bytearray(path.read_bytes())
    body[-5000] ^= 1
    other = path.with_name("other")
    other.write_bytes(body)
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.replace(path)


@pytest.mark.parametrize("damage", [truncated, swapped, Path.unlink])
def test_a_file_that_is_damaged_after_the_install_is_refused_and_mended_by_a_download(
    tiny: Tiny, damage: Callable[[Path], None]
) -> None:
    digests = tiny.catalog.digests(TINY)
    with tiny.service.client() as client:
        before = client.embed_query(TINY, "a text")
        client.model_unload(f"{TINY}-cpu")
        damage(tiny.service.home / "cache" / "blobs" / digests["model"])
        tiny.mirror.requests.clear()
        with pytest.raises(SynapseError) as caught:
            client.embed_query(TINY, "a text")
        details = caught.value.details or {}
        assert caught.value.code == "artifact_invalid"
        assert (details["expected_sha256"], details["recovery_op"]) == (digests["model"], "models.download")
        assert state(client, TINY) == "not_installed"
        with pytest.raises(SynapseError) as refused:
            client.embed_query(TINY, "a text")
        assert refused.value.code == "model_not_installed"
        # Serving fetches nothing; the download brings the one file that is missing.
        assert tiny.mirror.requests == []
        client.wait_download(client.models_download(TINY).job_id)
        assert [path for path, _ in tiny.mirror.requests] == [path_of(TINY, "model")]
        after = client.embed_query(TINY, "a text")
        assert (after.vector, after.fingerprint) == (before.vector, before.fingerprint)


def test_a_loaded_model_is_not_removed_and_its_files_are_not_collected(tiny: Tiny) -> None:
    with tiny.service.client() as client:
        client.embed_query(TINY, "a text")
        with pytest.raises(SynapseError) as caught:
            client.models_remove(TINY)
        held = {"kind": "loaded", "model_id": f"{TINY}-cpu"}
        assert caught.value.details == {"catalog_id": TINY, "holders": [held]}
        kept = {blob.blob: [holder.kind for holder in blob.holders] for blob in client.cache_gc().kept}
        assert kept == {sha256: ["install", "loaded"] for sha256 in tiny.catalog.digests(TINY).values()}
        client.model_unload(f"{TINY}-cpu")
        assert client.models_remove(TINY).freed_bytes == tiny.catalog.size(TINY)
        assert du(tiny.service) == 0
        client.wait_download(client.models_download(TINY).job_id)
        assert client.embed_query(TINY, "a text").vector
