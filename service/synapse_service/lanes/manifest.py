"""What a caller may register as a free-form model: the checks before any I/O, and where each file comes from.

A :class:`Manifest` is a ``model.load`` request that passed every check which needs neither network nor disk. It is
stored as canonical JSON, and its digest tells whether a second ``model.load`` asks for the same model.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Container, Mapping
from pathlib import Path
from typing import Final, Literal
from urllib.parse import unquote, urlsplit

import msgspec

from synapse_engines.templates import TEMPLATES
from synapse_service.catalog.sources import Role, Source, can_be_host, is_loopback
from synapse_service.lanes.device_gate import BACKENDS
from synapse_service.lanes.fingerprint import FINGERPRINT_PREFIX
from synapse_wire import params as p
from synapse_wire.errors import invalid_params, invalid_state

OWNED_ENGINES: Final = ("owned-metal", "owned-cuda", "ane", "owned-vulkan", "owned-cpu")
"""Engines that free-form embedding and reranking may name."""

PACKAGE_ENGINE: Final = "ane"
"""The engine whose models are sets of compiled packages, not one file of weights."""

_DTYPES: Final[Mapping[str, Literal["f32", "f16"]]] = {PACKAGE_ENGINE: "f16"}
"""The number format of an engine, where it isn't f32."""

_REVISION: Final = re.compile(r"[0-9a-f]{40}\Z")
_PROFILE: Final = re.compile(r"[a-z0-9][a-z0-9.-]*\.[a-z0-9]+\Z")
_REPO: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*/[A-Za-z0-9_-][A-Za-z0-9_.-]*\Z")
_FLOATING: Final = re.compile(r"(?:^|/)resolve/(?![0-9a-f]{40}/)[^/]*(/|$)")


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """A free-form model as its owner declared it, defaults left open as None."""

    model_id: str
    task: Literal["embed", "rerank"]
    engine: str
    source: str
    files: p.ModelFiles
    repo: str | None = None
    revision: str | None = None
    pooling: Literal["mean", "cls", "last"] | None = None
    normalize: bool = True
    dtype: Literal["f32", "f16"] = "f32"
    max_tokens: int | None = None
    overlength: Literal["refuse", "truncate"] = "refuse"
    profile: str | None = None
    template: str | None = None

    def encode(self) -> bytes:
        """Canonical JSON, for storage and for the digest."""
        return msgspec.json.encode(self, order="sorted")

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.encode()).hexdigest()


def check(request: p.ModelLoad, *, cpu_lanes: bool, reserved_ids: Container[str]) -> Manifest:
    """Turn a request into a manifest, or refuse it; no network and no disk is touched. Some ids are the catalog's.

    Refusals that the parameters alone decide are channel errors; those that the registry, the catalog or the
    configuration decides are semantic ones.
    """
    _check_sources(request)
    if request.profile is not None and not _PROFILE.match(request.profile):
        raise invalid_params("a profile is named <model>.<kind of device>", "profile")
    if request.model_id in reserved_ids:
        raise invalid_state(
            f"{request.model_id!r} belongs to the catalog; install it with models.download, or choose another id",
            model_id=request.model_id,
        )
    if request.model_id.startswith(FINGERPRINT_PREFIX):
        raise invalid_state(
            f"an id that begins with {FINGERPRINT_PREFIX} is read as a fingerprint; choose another", field="model_id"
        )
    _check_engine(request, cpu_lanes=cpu_lanes)
    _check_profile(request)
    if request.task == "generate":
        raise invalid_state(f"free-form models of task {request.task!r} are not served", requested_task=request.task)
    if request.task == "rerank":
        _check_scoring(request)
    elif request.template is not None:
        raise invalid_state("an embedding model takes no template", field="template")
    if request.files.extra and request.engine != PACKAGE_ENGINE:
        raise invalid_state("only package sets of the Neural Engine have extra files", field="files.extra")
    if request.files.config is None:
        raise invalid_state("the engine needs the model's config.json", field="files.config")
    dtype = _DTYPES.get(request.engine, "f32")
    if request.dtype not in (None, dtype):
        raise invalid_state(f"{request.engine} computes in {dtype}, not {request.dtype}", field="dtype")
    return Manifest(
        model_id=request.model_id,
        task=request.task,
        engine=request.engine,
        source=request.source,
        files=request.files,
        repo=request.repo,
        revision=request.revision,
        pooling=request.pooling,
        # A score is never normalised.
        normalize=request.task == "embed" and request.normalize is not False,
        dtype=dtype,
        max_tokens=request.max_tokens,
        overlength=request.overlength or "refuse",
        profile=request.profile,
        template=request.template,
    )


def sources(manifest: Manifest, hf_base_url: str) -> tuple[Source, ...]:
    """Where each file of a checked manifest comes from, in role order; the packages of a set in the order given."""
    files = manifest.files
    specs: list[tuple[Role, p.FileSpec | None]] = [
        ("config", files.config),
        ("tokenizer", files.tokenizer),
        ("model", files.model),
    ]
    specs += [("extra", spec) for spec in files.extra or ()]
    return tuple(_source(role, spec, manifest, hf_base_url) for role, spec in specs if spec is not None)


def _source(role: Role, spec: p.FileSpec, manifest: Manifest, hf_base_url: str) -> Source:
    parts = urlsplit(spec.url)
    name = unquote(parts.path).rsplit("/", 1)[-1] or role
    if parts.scheme == "file":
        from urllib.request import url2pathname  # too slow to import for services that register nothing

        return Source(role, name, spec.sha256, path=Path(url2pathname(parts.path)))
    url = spec.url
    if not parts.scheme:
        url = f"{hf_base_url.rstrip('/')}/{manifest.repo}/resolve/{manifest.revision}/{spec.url}"
    return Source(role, name, spec.sha256, url=url)


def _check_sources(request: p.ModelLoad) -> None:
    if request.source == "hf":
        if request.repo is None or not _REPO.match(request.repo):
            raise invalid_params("source hf needs the repository as owner/name", "repo")
        if request.revision is None or not _REVISION.match(request.revision):
            raise invalid_params(
                "source hf needs a pinned revision: 40 lower-case hex digits, not a branch", "revision"
            )
    elif request.repo is not None or request.revision is not None:
        field = "repo" if request.repo is not None else "revision"
        raise invalid_params(f"{field} belongs to source hf, not to {request.source}", field)
    files = request.files
    specs = [("model", files.model), ("tokenizer", files.tokenizer), ("config", files.config)]
    specs += [(f"extra[{index}]", spec) for index, spec in enumerate(files.extra or ())]
    for role, spec in specs:
        if spec is not None:
            _check_file(request.source, spec, f"files.{role}")


def _check_file(source: str, spec: p.FileSpec, field: str) -> None:
    try:
        parts = urlsplit(spec.url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:  # What Python says quotes parts of the text, and one may be a password.
        raise invalid_params("not a URL that can be read; look at its host and port", f"{field}.url") from None
    segments = unquote(parts.path).split("/")
    if parts.scheme == "file":
        if source != "file":
            raise invalid_params(f"source {source} takes no file: URL", f"{field}.url")
        if host not in ("", "localhost") or not parts.path.startswith("/") or ".." in segments:
            raise invalid_params("a file: URL needs an absolute path on this machine, without ..", f"{field}.url")
        if "\0" in unquote(parts.path):
            raise invalid_params("no file has a NUL character in its path", f"{field}.url")
        return
    if not parts.scheme:
        if source != "hf":
            raise invalid_params("the URL has no scheme; write file:///… or https://…", f"{field}.url")
        if ".." in segments or parts.path.startswith("/") or parts.query or parts.fragment:
            raise invalid_params("not a path inside the repository", f"{field}.url")
    elif parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(host)):
        raise invalid_params("only https is fetched (http only from this machine)", f"{field}.url")
    elif not can_be_host(host):
        raise invalid_params("the URL has no host, or one that can't be looked up", f"{field}.url")
    if parts.username is not None or parts.password is not None:
        raise invalid_params("a URL must not carry credentials", f"{field}.url")
    if _FLOATING.search(unquote(parts.path)):
        raise invalid_params("the URL resolves a branch; pin it to a 40-digit revision", f"{field}.url")
    if spec.sha256 is None:
        raise invalid_params("a file from the network needs its SHA-256", f"{field}.sha256")


def _check_engine(request: p.ModelLoad, *, cpu_lanes: bool) -> None:
    engine = request.engine
    if engine not in OWNED_ENGINES:
        known = ", ".join(OWNED_ENGINES if cpu_lanes else OWNED_ENGINES[:-1])
        raise invalid_state(f"{engine!r} can't serve {request.task}; use one of {known}", field="engine")
    if engine == "owned-cpu" and not cpu_lanes:
        raise invalid_state(
            "CPU lanes are off; turn on the setting cpu_lanes to use the engine owned-cpu", field="engine"
        )


def _check_profile(request: p.ModelLoad) -> None:
    """A profile is about one kind of device; whether there are cases for it is found out by who proves the model."""
    lane = BACKENDS[request.engine]
    named = (request.profile or lane).rpartition(".")[2]
    if named in BACKENDS.values() and named != lane:
        raise invalid_state(f"{request.profile} is proven on {named}, and {request.engine} is {lane}", field="profile")


def _check_scoring(request: p.ModelLoad) -> None:
    if request.engine == PACKAGE_ENGINE:
        raise invalid_state("package sets of the Neural Engine compute embeddings only", field="engine")
    if request.template is not None and request.template not in TEMPLATES:
        known = ", ".join(TEMPLATES)
        raise invalid_state(f"{request.template!r} is no template; use one of {known}", field="template")
    if request.normalize:
        raise invalid_state("a reranking model gives scores, which aren't normalised", field="normalize")
