"""What goes wrong on real machines: engines that crash, files that are damaged, disks that can't be written."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from fixtures import damaged_models
from fixtures.damaged_models import copy_of_bert
from fixtures.model_files import tiny_model
from fixtures.processes import alive, wait_until, worker_of
from fixtures.service_process import ServiceProcess, file_manifest, load_and_probe, running_service
from synapse_client import Client, SynapseError

TEXT = "a text to embed"
MAX_TOKENS = 128
"""Enough for these texts, and soon probed."""

MANIFEST: dict[str, Any] = {
    "task": "embed",
    "engine": "owned-cpu",
    "files": file_manifest(tiny_model("bert")),
    "max_tokens": MAX_TOKENS,
}
STARTS_AT_ONCE = int(os.environ.get("STARTS_AT_ONCE", "5"))
"""How many times two services are started at once; set the variable for a longer run."""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceProcess]:
    """A service with a certified model, which every test leaves as it found it."""
    with running_service(tmp_path_factory.mktemp("faults") / "home", arguments=("--cpu-lanes",)) as service:
        with service.client() as client:
            load_and_probe(client, "tiny", tiny_model("bert"), max_tokens=MAX_TOKENS)
        yield service


@pytest.fixture
def client(service: ServiceProcess) -> Iterator[Client]:
    with service.client() as client:
        yield client


@contextmanager
def request_under_way(service: ServiceProcess, client: Client, model_id: str) -> Iterator[Callable[[], dict[str, Any]]]:
    """A request that its worker has and can't answer, because the worker is stopped; yields how to read its reply."""
    worker_of(service.pid).send_signal(signal.SIGSTOP)
    params = {"model": model_id, "text": TEXT}
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "embed.query", "params": params}).encode() + b"\n"

    def in_flight() -> bool:
        (lane,) = client.call("admission.status")["lanes"]
        return bool(lane["in_flight"])

    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(30)
        connection.connect(service.address)
        connection.sendall(line)
        wait_until(in_flight, "the worker has the request")
        yield lambda: dict(json.loads(connection.makefile("rb").readline())["result"])


def test_a_worker_killed_under_a_request_costs_that_request_and_no_other(
    service: ServiceProcess, client: Client
) -> None:
    before = client.embed_query("tiny", TEXT)
    killed = worker_of(service.pid)
    with request_under_way(service, client, "tiny") as reply:
        killed.kill()
        error = reply()["error"]
    assert (error["code"], error["class"]) == ("engine_crashed", "transient")
    assert error["details"] == {"lane_id": "tiny", "reason": "crash", "exit": -signal.SIGKILL}
    after = client.embed_query("tiny", TEXT)
    assert (after.vector, after.fingerprint) == (before.vector, before.fingerprint)
    assert worker_of(service.pid).pid != killed.pid
    assert not alive(killed)


def test_two_crashes_in_a_row_quarantine_the_lane_until_a_probe_passes(service: ServiceProcess, client: Client) -> None:
    for _ in range(2):
        client.wait_job(client.model_load("tiny", **MANIFEST).job_id, timeout_s=60)
        with request_under_way(service, client, "tiny") as reply:
            worker_of(service.pid).kill()
            assert reply()["error"]["code"] == "engine_crashed"
    with pytest.raises(SynapseError) as refusal:
        client.embed_query("tiny", TEXT)
    assert (refusal.value.code, refusal.value.details["reason"]) == ("probe_required", "quarantined")
    client.wait_job(client.probe_start("tiny").job_id, timeout_s=60)
    assert client.embed_query("tiny", TEXT).token_counts


@pytest.mark.parametrize(
    ("damage", "file", "reason"),
    [
        (damaged_models.without_its_end, "model.safetensors", "truncated"),
        (damaged_models.without_a_tensor, "model.safetensors", "missing_tensor"),
        (damaged_models.with_a_turned_tensor, "model.safetensors", "wrong_shape"),
        (damaged_models.with_half_a_tokenizer, "tokenizer.json", "bad_tokenizer"),
    ],
)
def test_a_model_whose_files_are_damaged_is_never_registered(
    client: Client, tmp_path: Path, damage: Callable[[Path], None], file: str, reason: str
) -> None:
    folder = copy_of_bert(tmp_path / "model")
    damage(folder)
    error = refused_load(client, "damaged", folder)
    assert error.code == "artifact_invalid"
    assert error.details == {"model_id": "damaged", "file": file, "reason": reason}
    assert "damaged" not in [row.model_id for row in client.models_list().models]


def test_a_file_with_another_digest_is_refused_with_both(client: Client, tmp_path: Path) -> None:
    folder = copy_of_bert(tmp_path / "model")
    files = file_manifest(folder)
    actual, files["model"]["sha256"] = files["model"]["sha256"], "0" * 64
    job = client.model_load("another", task="embed", engine="owned-cpu", files=files)
    with pytest.raises(SynapseError) as refusal:
        client.wait_job(job.job_id, timeout_s=60)
    details = refusal.value.details
    assert refusal.value.code == "artifact_invalid"
    assert (details["file"], details["expected_sha256"]) == ("model.safetensors", "0" * 64)
    assert (details["actual_sha256"], details["recovery_op"]) == (actual, "model.load")


def test_weights_that_give_no_numbers_are_never_registered(client: Client, tmp_path: Path) -> None:
    folder = copy_of_bert(tmp_path / "model")
    damaged_models.with_broken_weights(folder)
    error = refused_load(client, "broken", folder)
    assert (error.code, error.class_, error.safe_to_retry_same_request) == ("artifact_invalid", "permanent", False)
    assert error.details == {"model_id": "broken", "file": "model.safetensors", "reason": "non_finite"}
    assert "broken" not in [row.model_id for row in client.models_list().models]


def test_truncation_and_padding_stored_in_a_tokenizer_change_nothing(client: Client, tmp_path: Path) -> None:
    # Goes red without the sanitising of tokenizers: the stored settings would cut the text to eight tokens, and fill
    # up the short one.
    plain, stored = copy_of_bert(tmp_path / "plain"), copy_of_bert(tmp_path / "stored")
    damaged_models.store_tokenizer_settings(plain, truncation=None, padding=None)
    damaged_models.store_tokenizer_settings(
        stored,
        truncation={"direction": "Right", "max_length": 8, "strategy": "LongestFirst", "stride": 0},
        padding={
            "strategy": {"Fixed": 16},
            "direction": "Left",
            "pad_to_multiple_of": None,
            "pad_id": 0,
            "pad_type_id": 0,
            "pad_token": "[PAD]",
        },
    )
    texts = ["a", "a b c d e f g h i j k l m n o p"]
    for model_id, folder in (("plain", plain), ("stored", stored)):
        load_and_probe(client, model_id, folder, max_tokens=MAX_TOKENS)
    expected, found = (client.embed_batch(model_id, texts) for model_id in ("plain", "stored"))
    assert found.token_counts == expected.token_counts == [3, 18]
    assert found.vectors == expected.vectors
    assert found.fingerprint != expected.fingerprint  # The file differs, and who knows what else would.


def test_a_blob_swapped_for_one_of_equal_size_is_noticed_and_mended_by_a_load(
    service: ServiceProcess, client: Client
) -> None:
    before = client.embed_query("tiny", TEXT)
    client.model_unload("tiny")
    digest = MANIFEST["files"]["model"]["sha256"]
    blob = service.home / "cache" / "blobs" / digest
    swapped = bytearray(blob.read_bytes())
    swapped[-1] ^= 1
    blob.write_bytes(swapped)
    with pytest.raises(SynapseError) as refusal:
        client.embed_query("tiny", TEXT)
    assert refusal.value.code == "artifact_invalid"
    assert refusal.value.details["file"] == "model.safetensors"
    assert refusal.value.details["expected_sha256"] == digest
    assert refusal.value.details["expected_size"] == refusal.value.details["actual_size"]
    assert refusal.value.details["recovery_op"] == "model.load"
    client.wait_job(client.model_load("tiny", **MANIFEST).job_id, timeout_s=60)
    after = client.embed_query("tiny", TEXT)
    assert (after.vector, after.fingerprint) == (before.vector, before.fingerprint)


def test_a_service_that_looks_elsewhere_for_the_socket_leaves_the_running_one_its_data(tmp_path: Path) -> None:
    # As after the last logout, when the folder of the socket is gone and the service isn't.
    with running_service(tmp_path / "home") as service:
        with service.client() as client:
            before = client.info().module_generation
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        second = subprocess.run(
            [sys.executable, "-m", "synapse_service", "--home", str(service.home)],
            env=service.environ | {"SYNAPSE_RUNTIME_DIR": str(tmp_path / "elsewhere")},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
            text=True,
        )
        assert second.returncode == 3, second.stderr
        assert f"process {service.pid} holds the lock for {service.home / 'data'}" in second.stderr
        service.kill()
        service.start()
        with service.client() as client:
            assert client.info().module_generation == before + 1


@pytest.mark.slow
def test_of_two_services_started_at_once_exactly_one_serves(tmp_path: Path) -> None:
    for round_ in range(STARTS_AT_ONCE):
        service = ServiceProcess(home := tmp_path / str(round_))
        home.mkdir()
        command = [sys.executable, "-m", "synapse_service", "--home", str(home)]
        pair = [
            subprocess.Popen(command, env=service.environ, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
            for _ in range(2)
        ]
        wait_until(lambda pair=pair: any(each.poll() is not None for each in pair), "one of the two ends")
        wait_until(service.answers, "the other serves")
        winner, loser = sorted(pair, key=lambda each: each.poll() is not None)
        _, said = loser.communicate()
        assert loser.returncode == 3, said
        assert f"already running: process {winner.pid} holds the lock".encode() in said
        with service.client() as client:
            assert client.info().pid == winner.pid
        winner.terminate()
        winner.communicate()
        assert winner.returncode == 0


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="remounts a folder")
def test_a_read_only_data_folder_ends_the_start_with_the_reason_and_the_place(tmp_path: Path) -> None:
    home = tmp_path / "home"
    service = ServiceProcess(home)
    home.mkdir()
    service.start()  # Creates everything, so that nothing but the data folder is in the way.
    assert service.stop() == 0
    data = home / "data"
    # Root may write anywhere, except where the mount says no; others get a mount of their own by way of a user space.
    remount = f"mount --bind '{data}' '{data}' && mount -o remount,bind,ro '{data}' && exec \"$@\""
    command = [sys.executable, "-m", "synapse_service", "--home", str(home)]
    isolated = ["unshare", "-rm", "sh", "-c", remount, "sh", *command]
    done = subprocess.run(isolated, env=service.environ, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert f"{data / 'synapse.lock'} can't be opened (Read-only file system)" in done.stderr
    assert "Traceback" not in done.stderr
    service.start()  # And it was only that.
    assert service.stop() == 0


def refused_load(client: Client, model_id: str, folder: Path) -> SynapseError:
    """Load a model that can't be loaded, and return why."""
    job = client.model_load(model_id, task="embed", engine="owned-cpu", files=file_manifest(folder))
    with pytest.raises(SynapseError) as refusal:
        client.wait_job(job.job_id, timeout_s=60)
    return refusal.value
