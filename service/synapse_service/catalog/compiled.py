"""The compiled catalog: which models this release can install, pinned to the byte, and the lanes that follow.

``resources/synapse_resources/catalog.json`` is the document, the classes here are its shapes. :meth:`Catalog.parse`
reads a document and refuses one that contradicts itself; :func:`shipped_catalog` is the one of this release. All of a
lane's identity is known from the document alone, so a fingerprint can be shown before anything is installed.

Used by every operation that takes a catalog id or a lane id. Which lanes this machine can run is not known here; see
``availability``. Reads the one resource and touches nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Final, Literal, get_args

import msgspec
from msgspec import Meta

import synapse_resources
from synapse_engines.composition import Composition, Single
from synapse_engines.devices import Device
from synapse_engines.families import FAMILIES, Pooling
from synapse_engines.readout import Readout, YesNo
from synapse_engines.tokenizer import tokenizer_digest
from synapse_service.catalog.sources import Role
from synapse_service.engine_builds import ENGINE_BUILDS
from synapse_service.lanes.fingerprint import NumericProfile, canonical_sha256, fingerprint, model_digest, part_digest

DERIVED_BACKENDS: Final[tuple[Device, ...]] = get_args(Device)
"""Each of these, after a catalog id and a hyphen, is a reserved id, whether or not the entry declares it."""

ENGINES: Final[Mapping[Device, str]] = {
    "metal": "owned-metal",
    "ane": "ane",
    "cuda": "owned-cuda",
    "vulkan": "owned-vulkan",
    "cpu": "owned-cpu",
}
"""The engine that stands behind each backend."""

Sha256 = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]
Revision = Annotated[str, Meta(pattern=r"^[0-9a-f]{40}\Z")]
CatalogId = Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9.-]{0,127}\Z")]
Text = Annotated[str, Meta(min_length=1)]
Positive = Annotated[int, Meta(ge=1)]


class CatalogError(Exception):
    """The document is damaged or contradicts itself; no entry of it may be served."""


class _Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of the document's objects. No member has a default: what is hashed is all that there is."""


class PinnedFile(_Part, frozen=True, kw_only=True):
    """One file of the upstream repository. ``size`` is in bytes."""

    path: Text
    size: Positive
    sha256: Sha256


class PinnedFiles(_Part, frozen=True, kw_only=True):
    """The three files of a model. Every backend needs all of them."""

    config: PinnedFile
    model: PinnedFile
    tokenizer: PinnedFile

    def by_role(self) -> tuple[tuple[Role, PinnedFile], ...]:
        """The files with what each of them is."""
        return ("config", self.config), ("model", self.model), ("tokenizer", self.tokenizer)


class Upstream(_Part, frozen=True, kw_only=True):
    """Where the files are published, and under which licence (an SPDX identifier)."""

    hf_repo: Text
    revision: Revision
    licence: Text


class Numerics(_Part, frozen=True, kw_only=True):
    """How a text becomes a number. ``dims`` is the length of a vector, null where the answer is a score."""

    family: Text
    vocab: Positive
    dims: Positive | None
    pooling: Pooling
    normalization: Literal["l2", "none"]
    composition: Composition
    readout: Readout | None


class BackendSpec(_Part, frozen=True, kw_only=True):
    """One way to compute an entry.

    ``lengths`` says at which lengths rows run: ``exact``, or padded up to the rungs of a ``ladder``. ``max_tokens``
    is the longest row served, special tokens included.
    """

    backend: Device
    dtype: Literal["f32", "f16", "bf16"]
    lengths: Literal["exact", "ladder"]
    max_tokens: Positive


class EntrySpec(_Part, frozen=True, kw_only=True):
    """One model as the document has it. ``prompts`` are what its authors recommend, by use; none is added to a text."""

    id: CatalogId
    task: Literal["embed", "rerank"]
    name: Text
    description: Text
    default_for_task: bool
    upstream: Upstream
    files: PinnedFiles
    numerics: Numerics
    prompts: dict[str, str]
    backends: Annotated[tuple[BackendSpec, ...], Meta(min_length=1)]


class Seal(_Part, frozen=True, kw_only=True):
    """A self-check's revision, and the SHA-256 of the canonical JSON of its file."""

    revision: Positive
    sha256: Sha256


class _Document(_Part, frozen=True, kw_only=True):
    schema: Literal["synapse-catalog/1"]
    about: tuple[str, ...]
    source: str
    catalog_revision: Text
    self_checks: dict[CatalogId, Seal]
    entries: tuple[EntrySpec, ...]


@dataclass(frozen=True, slots=True)
class CatalogLane:
    """One declared lane: an entry on a backend. ``lane_id`` and ``fingerprint`` both pin it."""

    lane_id: str
    catalog_id: str
    manifest_digest: str
    spec: BackendSpec
    profile: NumericProfile
    fingerprint: str

    @property
    def backend(self) -> Device:
        return self.spec.backend

    @property
    def engine(self) -> str:
        return self.profile.engine


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """One model, with what follows from its document. ``lanes`` are in the order of preference, the CPU lane last."""

    spec: EntrySpec
    manifest_digest: str
    model_digest: str
    lanes: tuple[CatalogLane, ...]
    self_check: Seal

    @property
    def id(self) -> str:
        return self.spec.id


class Catalog:
    """A catalog that has been checked. ``entries`` are ordered by id; ``resource`` reads the files beside it."""

    def __init__(self, revision: str, entries: tuple[CatalogEntry, ...], resource: Callable[[str], bytes]) -> None:
        """Takes checked entries; use :meth:`parse`."""
        self.revision = revision
        self.entries = entries
        self.resource = resource
        self._entries = {entry.id: entry for entry in entries}
        self._lanes = {lane.lane_id: lane for entry in entries for lane in entry.lanes}
        self._fingerprints = {lane.fingerprint: lane for lane in self._lanes.values()}
        self._owners = {f"{entry.id}-{backend}": entry.id for entry in entries for backend in DERIVED_BACKENDS}
        self.reserved_ids = frozenset(self._entries) | frozenset(self._owners)

    @classmethod
    def parse(
        cls,
        data: bytes,
        engine_builds: Mapping[str, str] = ENGINE_BUILDS,
        *,
        resource: Callable[[str], bytes] = synapse_resources.read,
    ) -> Catalog:
        """Read a document; ``engine_builds`` are the declared builds that go into fingerprints.

        Raises :class:`CatalogError`.
        """
        try:
            document = msgspec.json.decode(data, type=_Document)
            raw = msgspec.json.decode(data)["entries"]
        except msgspec.MsgspecError as error:
            raise CatalogError(f"the catalog can't be read: {error}") from error
        _check(document, engine_builds)
        entries = tuple(
            _entry(spec, canonical_sha256(text), document.self_checks[spec.id], engine_builds)
            for spec, text in zip(document.entries, raw, strict=True)
        )
        lanes = [lane for entry in entries for lane in entry.lanes]
        if len({lane.fingerprint for lane in lanes}) < len(lanes):
            raise CatalogError("two lanes are the same model on the same engine")
        return cls(document.catalog_revision, entries, resource)

    def entry(self, catalog_id: str) -> CatalogEntry | None:
        """The entry of a catalog id."""
        return self._entries.get(catalog_id)

    def lane(self, lane_id: str) -> CatalogLane | None:
        """The lane of a declared lane id."""
        return self._lanes.get(lane_id)

    def lane_of_fingerprint(self, value: str) -> CatalogLane | None:
        """The lane that a fingerprint pins."""
        return self._fingerprints.get(value)

    def owner(self, derived_id: str) -> str | None:
        """The catalog id that reserves a derived id, also one that no entry declares."""
        return self._owners.get(derived_id)


@cache
def shipped_catalog() -> Catalog:
    """The catalog of this release."""
    return Catalog.parse(synapse_resources.read("catalog.json"))


def _entry(spec: EntrySpec, manifest_digest: str, seal: Seal, engine_builds: Mapping[str, str]) -> CatalogEntry:
    weights = model_digest([("config", spec.files.config.sha256), ("model", spec.files.model.sha256)])
    lanes = []
    for backend in spec.backends:
        profile = _profile(spec, backend, engine_builds[ENGINES[backend.backend]])
        lanes.append(
            CatalogLane(
                lane_id=f"{spec.id}-{backend.backend}",
                catalog_id=spec.id,
                manifest_digest=manifest_digest,
                spec=backend,
                profile=profile,
                fingerprint=fingerprint(weights, "none", profile),
            )
        )
    return CatalogEntry(spec, manifest_digest, weights, tuple(lanes), seal)


def _profile(spec: EntrySpec, backend: BackendSpec, engine_build: str) -> NumericProfile:
    numerics = spec.numerics
    # What frames a single text follows from the tokenizer's file, so it is in its digest already.
    composed = not isinstance(numerics.composition, Single)
    return NumericProfile(
        engine=ENGINES[backend.backend],
        engine_build=engine_build,
        tokenizer_digest=tokenizer_digest(spec.files.tokenizer.sha256),
        pooling=numerics.pooling,
        normalization=numerics.normalization,
        dtype=backend.dtype,
        shape_envelope=f"{backend.lengths}:1-{backend.max_tokens}",
        thread_class="any",
        template=part_digest(numerics.composition) if composed else None,
        readout=part_digest(numerics.readout) if numerics.readout is not None else None,
    )


def _check(document: _Document, engine_builds: Mapping[str, str]) -> None:
    ids = [spec.id for spec in document.entries]
    if ids != sorted(set(ids)):
        raise CatalogError("the entries are not ordered by id, or one stands twice")
    if document.self_checks.keys() != set(ids):
        raise CatalogError("self_checks doesn't name exactly the entries")
    derived = {f"{catalog_id}-{backend}" for catalog_id in ids for backend in DERIVED_BACKENDS}
    if taken := derived & set(ids):
        raise CatalogError(f"{min(taken)} is a model and the lane of another")
    defaults = Counter(spec.task for spec in document.entries if spec.default_for_task)
    if defaults and max(defaults.values()) > 1:
        raise CatalogError("a task has more than one default")
    for spec in document.entries:
        if problem := _problem(spec, engine_builds):
            raise CatalogError(f"{spec.id}: {problem}")


def _problem(spec: EntrySpec, engine_builds: Mapping[str, str]) -> str | None:
    """What an entry gets wrong within itself."""
    numerics = spec.numerics
    if numerics.family not in FAMILIES:
        return f"the family {numerics.family} is not one of {', '.join(FAMILIES)}"
    single = isinstance(numerics.composition, Single)
    if {spec.task == "embed"} != {single, numerics.dims is not None, numerics.readout is None}:
        return f"composition, dims and readout are not those of task {spec.task}"
    if max(_ids(numerics), default=0) >= numerics.vocab:
        return f"a special token lies outside the vocabulary of {numerics.vocab}"
    files = [file for _, file in spec.files.by_role()]
    if len({file.sha256 for file in files}) < len(files) or len({file.path for file in files}) < len(files):
        return "two of its files are the same"
    backends = [backend.backend for backend in spec.backends]
    if len(set(backends)) != len(backends):
        return "a backend stands twice"
    if backends[-1] != "cpu":
        return "the cpu backend is not the last one"
    missing = [backend for backend in backends if ENGINES[backend] not in engine_builds]
    return f"no engine of this release computes on {missing[0]}" if missing else None


def _ids(numerics: Numerics) -> Iterator[int]:
    parts: dict[str, Any] = msgspec.to_builtins(numerics.composition)
    for name, value in parts.items():
        if name.endswith("_ids"):
            yield from value
    if isinstance(numerics.readout, YesNo):
        yield from (numerics.readout.yes_id, numerics.readout.no_id)
