"""What model.load refuses before it touches network or disk, and where the files of an accepted model come from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from synapse_service.catalog.compiled import shipped_catalog
from synapse_service.lanes.manifest import check, sources
from synapse_wire.errors import SynapseError
from synapse_wire.messages import decode_params
from synapse_wire.params import ModelLoad

RESERVED_IDS = shipped_catalog().reserved_ids
SHA = "a" * 64
REVISION = "0123456789abcdef0123456789abcdef01234567"


def request(**changes: Any) -> ModelLoad:
    base: dict[str, Any] = {
        "model_id": "mine",
        "task": "embed",
        "engine": "owned-cpu",
        "source": "file",
        "files": {
            "model": {"url": "file:///models/model.safetensors", "sha256": SHA},
            "tokenizer": {"url": "file:///models/tokenizer.json", "sha256": SHA},
            "config": {"url": "file:///models/config.json", "sha256": SHA},
        },
    }
    base.update(changes)
    return decode_params(msgspec.json.encode(base), ModelLoad)


def hub_files(url: str = "model.safetensors", sha256: str | None = SHA) -> dict[str, Any]:
    model = {"url": url} if sha256 is None else {"url": url, "sha256": sha256}
    return {
        "model": model,
        "tokenizer": {"url": "tokenizer.json", "sha256": SHA},
        "config": {"url": "config.json", "sha256": SHA},
    }


def refusal(changed: ModelLoad, *, cpu_lanes: bool = True) -> SynapseError:
    with pytest.raises(SynapseError) as caught:
        check(changed, cpu_lanes=cpu_lanes, reserved_ids=RESERVED_IDS)
    assert caught.value.code == "invalid_request"
    return caught.value


def test_a_plain_request_becomes_a_manifest_with_defaults() -> None:
    manifest = check(request(), cpu_lanes=True, reserved_ids=RESERVED_IDS)
    assert (manifest.normalize, manifest.overlength, manifest.dtype, manifest.max_tokens) == (
        True,
        "refuse",
        "f32",
        None,
    )


@pytest.mark.parametrize(
    "revision", [None, "main", "v1.0", REVISION[:-1], REVISION.upper(), REVISION + "0", REVISION + "\n"]
)
def test_a_hub_model_needs_a_pinned_revision(revision: str | None) -> None:
    changes: dict[str, Any] = {"source": "hf", "repo": "org/name", "files": hub_files()}
    if revision is not None:
        changes["revision"] = revision
    if revision is not None and "\n" in revision:
        with pytest.raises(SynapseError) as caught:
            request(**changes)
        assert caught.value.details == {"field": "revision"}
        return
    error = refusal(request(**changes))
    assert (error.level, error.details) == ("channel", {"field": "revision"})


@pytest.mark.parametrize("repo", [None, "name", "a/b/c", "../x", "a/ b"])
def test_a_hub_model_needs_a_repository(repo: str | None) -> None:
    changes: dict[str, Any] = {"source": "hf", "revision": REVISION, "files": hub_files()}
    if repo is not None:
        changes["repo"] = repo
    error = refusal(request(**changes))
    assert (error.level, error.details) == ("channel", {"field": "repo"})


@pytest.mark.parametrize(
    ("source", "url", "field"),
    [
        ("url", "https://h.example/org/name/resolve/main/model.safetensors", "files.model.url"),
        ("url", "https://h.example/org/name/resolve/refs%2Fpr%2F1/model.safetensors", "files.model.url"),
        ("url", "http://h.example/model.safetensors", "files.model.url"),
        ("url", "ftp://h.example/model.safetensors", "files.model.url"),
        ("url", "model.safetensors", "files.model.url"),
        ("url", "file:///models/model.safetensors", "files.model.url"),
        ("url", "https://user:pw@h.example/model.safetensors", "files.model.url"),
        ("url", "https://[broken/model.safetensors", "files.model.url"),
        ("url", "https://h.example:port/model.safetensors", "files.model.url"),
        ("url", "https://user:p#w@h.example/model.safetensors", "files.model.url"),
        ("url", "https:///model.safetensors", "files.model.url"),
        ("url", "https://h..example/model.safetensors", "files.model.url"),
        ("url", "https://.example/model.safetensors", "files.model.url"),
        ("url", f"https://{'h' * 64}.example/model.safetensors", "files.model.url"),
        ("url", "https://h .example/model.safetensors", "files.model.url"),
        ("file", "file://elsewhere/model.safetensors", "files.model.url"),
        ("file", "file:///models/../etc/passwd", "files.model.url"),
        ("file", "file:///models/%2e%2e/etc/passwd", "files.model.url"),
        ("file", "/models/model.safetensors", "files.model.url"),
        ("file", "file:///models/model%00.safetensors", "files.model.url"),
    ],
)
def test_a_place_that_is_not_pinned_or_not_ours_is_refused(source: str, url: str, field: str) -> None:
    files = hub_files() | {"model": {"url": url, "sha256": SHA}}
    for role in ("tokenizer", "config"):
        scheme = "https://h.example" if source == "url" else "file:///models"
        files[role] = {"url": f"{scheme}/{role}.json", "sha256": SHA}
    error = refusal(request(source=source, files=files))
    assert (error.level, error.details) == ("channel", {"field": field})


@pytest.mark.parametrize(
    "host",
    [
        "h.example",
        "h.example.",
        f"{'h' * 63}.example",
        "h.example:8443",
        "[2001:db8::1]",
        "bücher.example",
        "a_b.example",
    ],
)
def test_every_host_that_can_be_looked_up_is_taken(host: str) -> None:
    files = {role: {"url": f"https://{host}/{role}", "sha256": SHA} for role in ("model", "tokenizer", "config")}
    assert check(request(source="url", files=files), cpu_lanes=True, reserved_ids=RESERVED_IDS).source == "url"


@pytest.mark.parametrize("url", ["../other/model.safetensors", "/model.safetensors", "model.safetensors?x=1", "m#f"])
def test_a_hub_path_stays_inside_its_repository(url: str) -> None:
    error = refusal(request(source="hf", repo="org/name", revision=REVISION, files=hub_files(url)))
    assert error.details == {"field": "files.model.url"}


@pytest.mark.parametrize("source", ["hf", "url", "file"])
def test_a_file_from_the_network_needs_a_digest_whatever_the_source(source: str) -> None:
    files = {role: {"url": f"https://h.example/{role}", "sha256": SHA} for role in ("tokenizer", "config")}
    files["model"] = {"url": "https://h.example/model"}
    changes: dict[str, Any] = {"source": source, "files": files}
    if source == "hf":
        changes |= {"repo": "org/name", "revision": REVISION}
    error = refusal(request(**changes))
    assert error.details == {"field": "files.model.sha256"}


def test_a_local_file_may_come_without_a_digest() -> None:
    files = {role: {"url": f"file:///models/{role}"} for role in ("model", "tokenizer", "config")}
    assert check(request(files=files), cpu_lanes=True, reserved_ids=RESERVED_IDS).files.model.sha256 is None


@pytest.mark.parametrize("model_id", sorted(RESERVED_IDS))
def test_catalog_ids_and_their_derived_ids_are_reserved(model_id: str) -> None:
    error = refusal(request(model_id=model_id))
    assert (error.level, error.details) == ("semantic", {"model_id": model_id})


@pytest.mark.parametrize("engine", ["ort", "llama", "remote_openai_compatible", "cpu", "OWNED-CPU"])
def test_engines_that_are_not_ours_are_refused_by_state(engine: str) -> None:
    error = refusal(request(engine=engine))
    assert (error.level, error.details) == ("semantic", {"field": "engine"})


def test_the_cpu_engine_is_refused_while_cpu_lanes_are_off() -> None:
    error = refusal(request(), cpu_lanes=False)
    assert (error.level, error.details) == ("semantic", {"field": "engine"})
    assert "cpu_lanes" in error.message


def test_the_cpu_engine_is_not_offered_while_cpu_lanes_are_off() -> None:
    assert "owned-cpu" not in refusal(request(engine="ort"), cpu_lanes=False).message


@pytest.mark.parametrize(
    ("changes", "field"),
    [({"dtype": "bf16"}, "dtype"), ({"template": "t"}, "template"), ({"profile": "p.metal"}, "profile")],
)
def test_what_the_engine_cannot_honour_is_refused_not_ignored(changes: dict[str, Any], field: str) -> None:
    error = refusal(request(**changes))
    assert (error.level, error.details) == ("semantic", {"field": field})


def package_request(**changes: Any) -> ModelLoad:
    files = {
        "model": {"url": "file:///m/128.zip", "sha256": SHA},
        "tokenizer": {"url": "file:///m/tokenizer.json", "sha256": SHA},
        "config": {"url": "file:///m/config.json", "sha256": SHA},
        "extra": [{"url": "file:///m/512.zip", "sha256": SHA}, {"url": "file:///m/256.zip", "sha256": SHA}],
    }
    return request(**({"engine": "ane", "files": files} | changes))


def test_a_package_set_keeps_its_packages_in_order_and_computes_in_f16() -> None:
    manifest = check(package_request(), cpu_lanes=False, reserved_ids=RESERVED_IDS)
    assert manifest.dtype == "f16"
    found = [(source.role, source.name) for source in sources(manifest, "https://h.example")]
    assert found == [
        ("config", "config.json"),
        ("tokenizer", "tokenizer.json"),
        ("model", "128.zip"),
        ("extra", "512.zip"),
        ("extra", "256.zip"),
    ]
    assert manifest == check(package_request(dtype="f16"), cpu_lanes=False, reserved_ids=RESERVED_IDS)


def test_only_the_neural_engine_takes_further_packages() -> None:
    error = refusal(package_request(engine="owned-cpu"))
    assert (error.level, error.details) == ("semantic", {"field": "files.extra"})


@pytest.mark.parametrize("dtype", ["f32", "bf16", "int8"])
def test_a_package_set_computes_in_no_other_format(dtype: str) -> None:
    error = refusal(package_request(dtype=dtype))
    assert (error.level, error.details) == ("semantic", {"field": "dtype"})


@pytest.mark.parametrize("role", ["model", "extra"])
def test_a_package_from_the_network_needs_a_digest_of_its_own(role: str) -> None:
    bare = {"url": "https://h.example/128.zip"}
    files = {each: {"url": f"https://h.example/{each}", "sha256": SHA} for each in ("model", "tokenizer", "config")}
    files |= {"model": bare} if role == "model" else {"extra": [files["model"], bare]}
    error = refusal(package_request(source="url", files=files))
    field = "files.model.sha256" if role == "model" else "files.extra[1].sha256"
    assert (error.level, error.details) == ("channel", {"field": field})


@pytest.mark.parametrize(
    ("engine", "lane"),
    [
        ("owned-metal", "metal"),
        ("owned-cuda", "cuda"),
        ("ane", "ane"),
        ("owned-vulkan", "vulkan"),
        ("owned-cpu", "cpu"),
    ],
)
def test_a_profile_belongs_to_the_kind_of_device_that_the_engine_computes_on(engine: str, lane: str) -> None:
    profile = f"gte-modernbert-base.{lane}"
    assert check(request(engine=engine, profile=profile), cpu_lanes=True, reserved_ids=()).profile == profile
    other = "ane" if lane == "metal" else "metal"
    error = refusal(request(engine=engine, profile=f"gte-modernbert-base.{other}"))
    assert (error.level, error.details) == ("semantic", {"field": "profile"})


def test_a_profile_that_nobody_knows_is_left_to_whoever_proves_the_model() -> None:
    assert check(request(profile="other.tpu"), cpu_lanes=True, reserved_ids=()).profile == "other.tpu"


@pytest.mark.parametrize("profile", ["metal", "GTE.metal", ".metal", "gte modernbert.metal", "gte.", "gte/x.metal"])
def test_what_is_no_name_of_a_profile_is_refused_by_its_look(profile: str) -> None:
    error = refusal(request(profile=profile))
    assert (error.level, error.details) == ("channel", {"field": "profile"})


def test_sources_resolve_against_the_hub_and_keep_their_digests() -> None:
    manifest = check(
        request(source="hf", repo="org/name", revision=REVISION, files=hub_files("onnx/model.safetensors")),
        cpu_lanes=True,
        reserved_ids=RESERVED_IDS,
    )
    found = {
        source.role: (source.url, source.name, source.sha256) for source in sources(manifest, "http://127.0.0.1:9/")
    }
    assert found["model"] == (
        f"http://127.0.0.1:9/org/name/resolve/{REVISION}/onnx/model.safetensors",
        "model.safetensors",
        SHA,
    )


def test_file_sources_become_paths() -> None:
    files = {role: {"url": f"file:///a%20b/{role}"} for role in ("model", "tokenizer", "config")}
    manifest = check(request(files=files), cpu_lanes=True, reserved_ids=RESERVED_IDS)
    assert [source.path for source in sources(manifest, "https://h.example")] == [
        Path("/a b/config"),
        Path("/a b/tokenizer"),
        Path("/a b/model"),
    ]


def test_the_digest_of_a_manifest_follows_every_choice() -> None:
    plain = check(request(), cpu_lanes=True, reserved_ids=RESERVED_IDS).digest
    assert (
        plain == check(request(normalize=True, overlength="refuse"), cpu_lanes=True, reserved_ids=RESERVED_IDS).digest
    )
    changed = [{"pooling": "cls"}, {"normalize": False}, {"max_tokens": 9}, {"overlength": "truncate"}]
    assert (
        len(
            {plain, *(check(request(**change), cpu_lanes=True, reserved_ids=RESERVED_IDS).digest for change in changed)}
        )
        == 5
    )
