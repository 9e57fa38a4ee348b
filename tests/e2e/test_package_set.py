"""A package set from its archives to vectors: real service, real worker, real files, and a double for Core ML alone."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fixtures.catalog import SmallCatalog, tiny_files
from fixtures.model_files import tiny_model
from fixtures.packages import bundle_files, sha256_of, write_package
from fixtures.processes import worker_of
from fixtures.service_process import ServiceProcess, file_manifest, running_service
from synapse_client import Client, SynapseError
from synapse_engines.devices import PROBES, this_host
from synapse_engines.worker.scripted import scripted_vector

DIMS = 64
CASES = {"short-0": [2, 40, 41, 3], "boundary-127": [2, *range(20, 38), 3]}


def catalog() -> SmallCatalog:
    """A model whose figures are those that the double gives."""
    small = SmallCatalog().add("tiny", tiny_files("bert"))
    cases = [{"id": name, "ids": ids, "vector": scripted_vector(ids, DIMS).tolist()} for name, ids in CASES.items()]
    return small.check("tiny", cases, {"cosine_min": 0.999, "norm_error_max": 0.001})


@pytest.fixture
def service(tmp_path: Path) -> Iterator[ServiceProcess]:
    script = tmp_path / "script.json"
    script.write_text("{}")
    arguments = (
        *("--catalog", str(catalog().write(tmp_path / "catalog"))),
        *("--scripted-predictor", str(script)),
        *("--neural-engine-lock", str(tmp_path / "engine.lock")),
    )
    with running_service(tmp_path / "home", arguments=arguments) as service:
        yield service


def manifest(folder: Path, *lengths: int, **members: Any) -> dict[str, Any]:
    """A set of packages of these lengths, in this order."""
    folder.mkdir(exist_ok=True)
    paths = [write_package(folder, length, DIMS) for length in lengths]
    first, *others = [{"url": path.as_uri(), "sha256": sha256_of(path)} for path in paths]
    files = file_manifest(tiny_model("bert")) | {"model": first, "extra": others}
    return {"model_id": "set", "task": "embed", "engine": "ane", "source": "file", "files": files, **members}


def load(client: Client, params: dict[str, Any]) -> None:
    client.wait_job(client.call("model.load", params)["job_id"], timeout_s=60)


def refused(client: Client, method: str, params: dict[str, Any]) -> SynapseError:
    with pytest.raises(SynapseError) as caught:
        client.call(method, params)
    return caught.value


def row(client: Client) -> dict[str, Any]:
    (row,) = client.call("models.list", {})["models"]
    return dict(row)


def query(client: Client, text: str = "a b c") -> list[float]:
    (vector,) = client.call("embed.query", {"model": "set", "text": text})["vectors"]
    return [float(number) for number in vector["vector"]]


@pytest.mark.slow
def test_a_set_is_unpacked_proven_by_its_profile_and_serves_in_its_buckets(
    service: ServiceProcess, tmp_path: Path
) -> None:
    with service.client() as client:
        load(client, manifest(tmp_path / "packages", 32, 24, profile="tiny.ane"))
        shown = row(client)
        assert (shown["bucket_ladder"], shown["max_tokens"], shown["max_tokens_source"]) == (
            [24, 32],
            32,
            "worker_bucket",
        )
        assert (shown["device_class"], shown["dtype"], shown["self_check"]["state"]) == ("ane", "f16", "passed")
        vector = query(client)
        assert (len(vector), math.hypot(*vector)) == (DIMS, pytest.approx(1, abs=1e-6))
        items = [{"id": str(words), "text": " ".join(["a"] * words)} for words in (1, 20, 30)]
        answer = client.call("embed.batch", {"model": "set", "items": items})
        # Every row keeps every token, whichever bucket it runs in.
        assert answer["real_token_counts"] == [3, 22, 32]
        assert not any(each["truncated"] for each in answer["truncation_disclosures"])
        error = refused(client, "embed.batch", {"model": "set", "items": [{"id": "long", "text": "a " * 31}]})
        assert (error.code, error.details) == (
            "sequence_too_long",
            {"tokens": 33, "max_tokens": 32, "item_id": "long"},
        )
        error = refused(client, "probe.start", {"model_id": "set"})
        assert (error.code, error.level, error.details) == ("invalid_request", "semantic", {"model_id": "set"})


@pytest.mark.slow
def test_unpacked_packages_are_kept_put_right_and_given_back_with_their_archives(
    service: ServiceProcess, tmp_path: Path
) -> None:
    with service.client() as client:
        load(client, manifest(tmp_path / "packages", 24, 32, profile="tiny.ane"))
        before = query(client)
        unpacked = service.home / "cache" / "packages"
        folders = {sha256_of(path): length for path, length in _archives(tmp_path / "packages")}
        assert {folder.name for folder in unpacked.iterdir()} == set(folders)
        kept = {folder.name: folder.stat().st_ino for folder in unpacked.iterdir()}
        damaged = next(iter(folders))
        (unpacked / damaged / "model.mlmodelc" / "model.mil").write_bytes(b"program(6.6.6)")
        worker = worker_of(service.pid)
        client.call("model.unload", {"model_id": "set"})
        assert not worker.is_running()
        assert query(client) == before
        text = (unpacked / damaged / "model.mlmodelc" / "model.mil").read_bytes()
        assert text == bundle_files(folders[damaged])["model.mlmodelc/model.mil"]
        (untouched,) = set(folders) - {damaged}
        assert (unpacked / untouched).stat().st_ino == kept[untouched]
        # Another set under the id: the archives of the first one, and what was unpacked from them, go.
        client.call("model.unload", {"model_id": "set"})
        load(client, manifest(tmp_path / "others", 48, profile="tiny.ane"))
        collected = client.call("cache.gc", {})
        assert set(collected["unlinked"]) == set(folders)
        assert {folder.name for folder in unpacked.iterdir()} == {
            sha256_of(path) for path, _ in _archives(tmp_path / "others")
        }


def _archives(folder: Path) -> list[tuple[Path, int]]:
    return [(path, int(path.name.partition("-")[2].partition(".")[0])) for path in sorted(folder.iterdir())]


@pytest.mark.slow
def test_a_set_whose_archive_was_damaged_names_it_and_one_without_its_engine_refuses(
    service: ServiceProcess, tmp_path: Path
) -> None:
    params = manifest(tmp_path / "packages", 24, 32, profile="tiny.ane")
    sha256 = params["files"]["extra"][0]["sha256"]
    blob = service.home / "cache" / "blobs" / sha256
    with service.client() as client:
        load(client, params)
        client.call("model.unload", {"model_id": "set"})
        copy = tmp_path / "copy"
        shutil.copy(blob, copy)
        data = bytearray(blob.read_bytes())
        data[100] ^= 1
        blob.write_bytes(data)
        error = refused(client, "embed.query", {"model": "set", "text": "a"})
        assert (error.code, error.details["file"], error.details["recovery_op"]) == (
            "artifact_invalid",
            "bucket-32.mlmodelc.zip",
            "model.load",
        )
        assert error.details["expected_sha256"] == sha256
        load(client, params)
        assert len(query(client)) == DIMS
    service.stop()
    # The same home on a machine without a Neural Engine.
    service.arguments = service.arguments[:2]
    service.start()
    with service.client() as client:
        expected = {
            "catalog_id": None,
            "lane_id": "set",
            "backends": [{"backend": "ane", "reason": PROBES["ane"](this_host()).reason}],
        }
        error = refused(client, "embed.query", {"model": "set", "text": "a"})
        assert (error.code, error.details) == ("backend_unavailable", expected)
        assert refused(client, "model.load", params | {"model_id": "new"}).details == expected | {"lane_id": None}
        shown = row(client)
        assert (shown["state"], shown["last_error"]["code"]) == ("unloaded", "backend_unavailable")
