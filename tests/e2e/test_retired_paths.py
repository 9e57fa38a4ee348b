"""Paths that were taken away: each answers with the error that says where to go, before any network I/O."""

from __future__ import annotations

import itertools
import json
import sqlite3
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fixtures.mirror import Mirror, running_mirror
from fixtures.model_files import tiny_model
from fixtures.service_process import ServiceProcess, file_manifest, running_service
from synapse_client import Client, SynapseError

SHA = "a" * 64
REVISION = "0123456789abcdef0123456789abcdef01234567"
CATALOG = ("gte-modernbert-base", "gte-reranker-modernbert-base", "qwen3-embedding-0.6b", "qwen3-reranker-0.6b")
BACKENDS = ("metal", "ane", "cuda", "vulkan", "cpu")
DERIVED = [f"{catalog_id}-{backend}" for catalog_id in CATALOG for backend in BACKENDS]
DECLARED = [f"{catalog_id}-metal" for catalog_id in CATALOG[:3]] + [f"{catalog_id}-cpu" for catalog_id in CATALOG]
UNDECLARED = sorted(set(DERIVED) - set(DECLARED))
RERANKERS = tuple(catalog_id for catalog_id in CATALOG if "reranker" in catalog_id)


@pytest.fixture(scope="module")
def mirror() -> Iterator[Mirror]:
    with running_mirror() as mirror:
        yield mirror


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, mirror: Mirror) -> Iterator[ServiceProcess]:
    """A service with the shipped catalog and CPU lanes, which could reach a hub if it tried."""
    home = tmp_path_factory.mktemp("home")
    environ = {"SYNAPSE_HF_BASE_URL": mirror.base}
    with running_service(home, environ=environ, arguments=("--cpu-lanes",)) as service:
        yield service


@pytest.fixture
def client(service: ServiceProcess, mirror: Mirror) -> Iterator[Client]:
    """A client, whose requests may not have caused a single request to the hub."""
    with service.client() as client:
        yield client
    assert mirror.requests == []


def refusal(client: Client, method: str, params: dict[str, Any]) -> SynapseError:
    with pytest.raises(SynapseError) as caught:
        client.call(method, params)
    error = caught.value
    if error.class_ == "permanent":
        assert (error.safe_to_retry_same_request, error.retry_after_ms) == (False, None)
    return error


def answer(client: Client, method: str, params: dict[str, Any]) -> tuple[str, str, Any]:
    error = refusal(client, method, params)
    return error.code, error.level, error.details


def serving(model: str) -> list[tuple[str, dict[str, Any]]]:
    """A request of each kind that a model may be asked for."""
    return [
        ("embed.query", {"model": model, "text": "a"}),
        ("embed.batch", {"model": model, "items": [{"id": "1", "text": "a"}]}),
        ("rerank.score", {"model": model, "query": "a", "candidates": [{"id": "1", "text": "b"}]}),
    ]


def load(model_id: str = "mine", **changes: Any) -> dict[str, Any]:
    file = {"url": "file:///nowhere/x", "sha256": SHA}
    members: dict[str, Any] = {
        "model_id": model_id,
        "task": "embed",
        "engine": "owned-cpu",
        "source": "file",
        "files": {"model": file, "tokenizer": file, "config": file},
    }
    return members | changes


# --- models that were lanes of the product ---


def test_the_catalog_has_the_four_models_and_two_of_them_are_usual(client: Client) -> None:
    rows = client.call("models.catalog", {})["models"]
    assert tuple(row["id"] for row in rows) == CATALOG
    usual = [(row["task"], row["id"]) for row in rows if row["default_for_task"]]
    assert usual == [("embed", "gte-modernbert-base"), ("rerank", "gte-reranker-modernbert-base")]
    backends = {backend["backend"] for row in rows for backend in row["backends"]}
    assert backends == {"metal", "cpu"}


@pytest.mark.parametrize("model", ["all-minilm-l6-v2", "minilm", "ort", "gte-modernbert-base-ort", "absent"])
def test_a_model_that_nobody_registered_is_unknown_and_never_loading(client: Client, model: str) -> None:
    for method, params in serving(model):
        assert answer(client, method, params) == ("unknown_model", "semantic", {"model_id": model})


def test_onnxruntime_is_a_yardstick_of_the_benches_and_nothing_of_the_product() -> None:
    root = Path(__file__).parents[2]
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    needed = [*project["dependencies"], *itertools.chain(*project["optional-dependencies"].values())]
    with_ort = {
        name for name, extra in project["optional-dependencies"].items() if any("onnx" in each for each in extra)
    }
    assert with_ort == {"bench"}
    assert sum("onnx" in each for each in needed) == len(
        [each for each in project["optional-dependencies"]["bench"] if "onnx" in each]
    )
    packages = [path for folder in ("app", "service", "engines", "resources") for path in (root / folder).rglob("*.py")]
    assert len(packages) > 100
    assert [path for path in packages if "import onnx" in path.read_text() or "from onnx" in path.read_text()] == []


# --- requests that name no model ---


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("embed.query", {"text": "a"}),
        ("embed.batch", {"items": [{"id": "1", "text": "a"}]}),
        ("rerank.score", {"query": "a", "candidates": [{"id": "1", "text": "b"}]}),
        ("embed.query", {"model": None, "text": "a"}),
        ("embed.query", {"model": "", "text": "a"}),
    ],
)
def test_a_request_without_a_model_is_not_routed_anywhere(client: Client, method: str, params: dict[str, Any]) -> None:
    assert answer(client, method, params) == ("invalid_request", "channel", {"field": "model"})


# --- the catalog's ids ---


@pytest.mark.parametrize("model_id", [*CATALOG, *DERIVED])
def test_lanes_of_the_catalog_are_not_probed(client: Client, model_id: str) -> None:
    expected = ("invalid_request", "semantic", {"model_id": model_id})
    assert answer(client, "probe.start", {"model_id": model_id}) == expected


@pytest.mark.parametrize("model_id", [*CATALOG, *DERIVED])
def test_nothing_is_registered_under_an_id_of_the_catalog(client: Client, model_id: str) -> None:
    error = refusal(client, "model.load", load(model_id))
    assert (error.code, error.level, error.details) == ("invalid_request", "semantic", {"model_id": model_id})
    assert "models.download" in error.message


@pytest.mark.parametrize("catalog_id", CATALOG)
def test_a_model_that_is_not_installed_names_the_download(client: Client, catalog_id: str) -> None:
    methods = serving(catalog_id)
    chosen = methods[2:] if catalog_id in RERANKERS else methods[:2]
    details = {
        "catalog_id": catalog_id,
        "lane_id": None,
        "download_op": "models.download",
        "download_job_id": None,
    }
    for method, params in chosen:
        assert answer(client, method, params) == ("model_not_installed", "semantic", details)
        pinned = params | {"model": f"{catalog_id}-cpu"}
        expected = ("model_not_installed", "semantic", details | {"lane_id": f"{catalog_id}-cpu"})
        assert answer(client, method, pinned) == expected
    assert answer(client, "model.status", {"model_id": catalog_id}) == ("model_not_installed", "semantic", details)


@pytest.mark.parametrize("model_id", UNDECLARED)
def test_a_derived_id_that_nothing_declares(client: Client, model_id: str) -> None:
    unknown = ("unknown_model", "semantic", {"model_id": model_id})
    for method, params in serving(model_id):
        assert answer(client, method, params) == unknown
    assert answer(client, "model.status", {"model_id": model_id}) == unknown
    assert answer(client, "model.unload", {"model_id": model_id}) == unknown


@pytest.mark.parametrize("model_id", DERIVED)
def test_a_derived_id_is_neither_downloaded_nor_removed(client: Client, model_id: str) -> None:
    details = {"model_id": model_id, "catalog_id": model_id.rpartition("-")[0]}
    for method in ("models.download", "models.remove"):
        assert answer(client, method, {"catalog_id": model_id}) == ("invalid_request", "semantic", details)


@pytest.mark.parametrize("method", ["models.download", "models.remove"])
@pytest.mark.parametrize("catalog_id", ["absent", "gte-modernbert-base-f16", "gte-modernbert-base-tpu"])
def test_an_id_that_the_catalog_never_had_is_unknown(client: Client, method: str, catalog_id: str) -> None:
    assert answer(client, method, {"catalog_id": catalog_id}) == ("unknown_model", "semantic", {"model_id": catalog_id})


@pytest.mark.parametrize("catalog_id", CATALOG)
def test_a_model_is_unloaded_by_its_lanes_and_then_removed(client: Client, catalog_id: str) -> None:
    lane_ids = [lane_id for lane_id in (f"{catalog_id}-metal", f"{catalog_id}-cpu") if lane_id in DECLARED]
    expected = ("invalid_request", "semantic", {"catalog_id": catalog_id, "lane_ids": lane_ids})
    assert answer(client, "model.unload", {"model_id": catalog_id}) == expected
    for lane_id in lane_ids:
        assert client.call("model.unload", {"model_id": lane_id})["state"] == "unloaded"
    assert client.call("models.remove", {"catalog_id": catalog_id}) == {
        "catalog_id": catalog_id,
        "removed_manifests": [],
        "freed_bytes": 0,
    }


# --- engines and files of models that users register ---


@pytest.mark.parametrize("task", ["embed", "rerank"])
@pytest.mark.parametrize("engine", ["ort", "llama", "onnxruntime", "cpu", "remote_openai_compatible", "owned-tpu"])
def test_an_engine_that_is_not_ours_is_refused_with_those_that_are(client: Client, task: str, engine: str) -> None:
    error = refusal(client, "model.load", load(task=task, engine=engine, source="url", files=network_files()))
    assert (error.code, error.level, error.details) == ("invalid_request", "semantic", {"field": "engine"})
    for ours in ("owned-metal", "owned-cuda", "ane", "owned-vulkan"):
        assert ours in error.message


def test_the_name_of_vulkan_is_known_and_nothing_computes_on_it(client: Client) -> None:
    details = {"catalog_id": None, "lane_id": None, "backends": [{"backend": "vulkan", "reason": "worker_missing"}]}
    assert answer(client, "model.load", load(engine="owned-vulkan")) == ("backend_unavailable", "semantic", details)


def network_files(url: str = "https://h.example/{role}", sha256: str | None = SHA) -> dict[str, Any]:
    """Files from the network, of which only the weights are as asked for."""
    files = {role: {"url": f"https://h.example/{role}", "sha256": SHA} for role in ("tokenizer", "config")}
    model = {"url": url.format(role="model")} | ({} if sha256 is None else {"sha256": sha256})
    return files | {"model": model}


@pytest.mark.parametrize("revision", [None, "main", "v1", "a" * 39, "A" * 40])
def test_a_hub_model_without_a_pinned_revision_is_refused(client: Client, revision: str | None) -> None:
    files = {role: {"url": f"{role}.json", "sha256": SHA} for role in ("model", "tokenizer", "config")}
    params = load(source="hf", repo="org/name", files=files) | ({} if revision is None else {"revision": revision})
    assert answer(client, "model.load", params) == ("invalid_request", "channel", {"field": "revision"})


@pytest.mark.parametrize("source", ["hf", "url", "file"])
@pytest.mark.parametrize(
    "url",
    [
        "https://h.example/org/name/resolve/main/{role}",
        "https://h.example/org/name/resolve/main",
        "https://h.example/org/name/resolve%2Fmain/{role}",
        "https://h.example/org/name/%72esolve/main/{role}",
        "https://h.example/org/name/resolve/v1.0/{role}",
        "https://h.example/resolve/main/resolve/" + REVISION + "/{role}",
    ],
)
def test_a_url_that_resolves_a_branch_is_refused_whatever_the_source(client: Client, source: str, url: str) -> None:
    params = load(source=source, files=network_files(url))
    if source == "hf":
        params |= {"repo": "org/name", "revision": REVISION}
    assert answer(client, "model.load", params) == ("invalid_request", "channel", {"field": "files.model.url"})


def test_a_path_in_a_repository_does_not_resolve_a_branch_either(client: Client) -> None:
    files = network_files() | {"model": {"url": "resolve/main/model.safetensors", "sha256": SHA}}
    params = load(source="hf", repo="org/name", revision=REVISION, files=files)
    assert answer(client, "model.load", params) == ("invalid_request", "channel", {"field": "files.model.url"})


@pytest.mark.parametrize("source", ["hf", "url", "file"])
@pytest.mark.parametrize("role", ["model", "tokenizer", "config", "extra"])
def test_a_file_from_the_network_needs_its_digest_whatever_the_source(client: Client, source: str, role: str) -> None:
    files = network_files()
    bare = {"url": "https://h.example/bare"}
    files |= {"extra": [bare]} if role == "extra" else {role: bare}
    params = load(source=source, files=files, engine="ane" if role == "extra" else "owned-cpu")
    if source == "hf":
        params |= {"repo": "org/name", "revision": REVISION}
    field = "files.extra[0].sha256" if role == "extra" else f"files.{role}.sha256"
    assert answer(client, "model.load", params) == ("invalid_request", "channel", {"field": field})


@pytest.mark.parametrize(
    "model_id", ["gte-modernbert-base-f16", "gte-reranker-modernbert-base-f32", "gte-modernbert-base-ane-set"]
)
def test_an_id_that_only_looks_like_the_catalogs_is_free(client: Client, model_id: str) -> None:
    """Red if ids were reserved by their beginning: what users registered would be mapped to the catalog."""
    assert answer(client, "model.load", load(model_id, engine="owned-vulkan"))[0] == "backend_unavailable"
    assert answer(client, "embed.query", {"model": model_id, "text": "a"})[0] == "unknown_model"


# --- what an earlier release had stored ---


def _as_of_an_earlier_release(database: Path, model_id: str) -> None:
    """Let a registration name an engine that isn't ours any more, and somebody keep its files."""
    with sqlite3.connect(database) as connection:
        (profile,) = connection.execute("SELECT profile FROM model WHERE model_id = ?", (model_id,)).fetchone()
        registered = json.loads(profile)
        registered["manifest"]["engine"] = "ort"
        connection.execute("UPDATE model SET profile = ? WHERE model_id = ?", (json.dumps(registered), model_id))
    connection.close()


@pytest.mark.slow
def test_a_stored_model_of_an_engine_that_is_not_ours_is_not_brought_back_and_gives_its_space_back(
    tmp_path: Path,
) -> None:
    with running_service(tmp_path / "home", arguments=("--cpu-lanes",)) as service:
        with service.client() as client:
            for model_id, family in (("old", "bert"), ("good", "modernbert")):
                params = load(model_id, files=file_manifest(tiny_model(family)))  # type: ignore[arg-type]
                client.wait_job(client.call("model.load", params)["job_id"], timeout_s=60)
                client.call("cache.pin", {"model_id": model_id, "pinned": True})
        service.stop()
        _as_of_an_earlier_release(service.home / "data" / "synapse.db", "old")
        service.start()
        with service.client() as client:
            assert [row["model_id"] for row in client.call("models.list", {})["models"]] == ["good"]
            assert answer(client, "embed.query", {"model": "old", "text": "a"})[0] == "unknown_model"
            blobs = {path.name: path.stat().st_size for path in (service.home / "cache" / "blobs").iterdir()}
            freed = client.call("cache.gc", {})
            old = {spec["sha256"] for spec in file_manifest(tiny_model("bert")).values()}
            assert set(freed["unlinked"]) == old
            assert freed["freed_bytes"] == sum(blobs[sha256] for sha256 in old)
        lines = (service.home / "log" / "service.jsonl").read_text().splitlines()
        told = [each for each in map(json.loads, lines) if each["event"] == "registration_not_served"]
        assert [(each["level"], each["model_id"], each["reason"]) for each in told] == [("warning", "old", "engine")]
