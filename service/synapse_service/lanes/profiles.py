"""Certification profiles, ``<model>.<lane>``: which cases prove a model that was registered under one.

The cases are those of the catalog's self-checks. ``self_check/profiles.json`` beside them says which subset belongs to
which profiles, and seals each: the digest of the subset, the full set of fixtures that it was drawn from, and its cases
by name. :meth:`Profiles.figures` gives a subset only when all of that holds. Beyond the profiles of the index, every
subset also makes one for the processor, ``<model>.cpu``.

Used by ``self_check_runs`` when a lane with a profile is made and loaded. Reads resources, and touches nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from synapse_engines.devices import Device
from synapse_service.catalog.compiled import Catalog, CatalogEntry, CatalogError, CatalogId, Sha256, Text
from synapse_service.lanes.fingerprint import canonical_sha256
from synapse_service.lanes.self_check import Fixture, SelfCheck, load_self_check
from synapse_service.logs import get_logger
from synapse_wire.results import EngineIdentity

INDEX: Final = "self_check/profiles.json"
CPU: Final = "cpu"

ProfileReason = Literal["reference_absent", "seal_invalid", "source_differs", "identity_differs"]
"""Why the cases of a profile can't be used."""

_log = get_logger(__name__)


class ProfileError(Exception):
    """A profile that nothing can be proven by."""

    def __init__(self, reason: ProfileReason, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class _Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of the index's objects."""


class Subset(_Part, frozen=True, kw_only=True):
    """The seal of one model's cases, and the lanes that they prove."""

    sha256: Sha256
    fixture: Fixture
    cases: Annotated[tuple[Text, ...], Meta(min_length=1)]
    lanes: tuple[Device, ...]


class _Index(_Part, frozen=True, kw_only=True):
    schema: Literal["synapse-profiles/1"]
    about: str
    source: str
    subsets: dict[CatalogId, Subset]


class ProfileCheckKey(msgspec.Struct, frozen=True, kw_only=True):
    """What the outcome of a profile's check is valid for. A failed one stays failed until any part changes."""

    profile: str
    backend: Device
    fingerprint: str
    engine_identity: EngineIdentity
    os_build: str
    manifest_digest: str
    subset_seal: str

    @property
    def subject(self) -> str:
        """What the outcome is about."""
        return self.profile

    @property
    def check_id(self) -> str:
        """The key in one word: SHA-256 of its canonical JSON."""
        return canonical_sha256(msgspec.to_builtins(self))


@dataclass(frozen=True, slots=True)
class Profiles:
    """The profiles of a release. ``subsets`` is None where the index can't be read: then no profile can be proven."""

    catalog: Catalog
    subsets: dict[str, Subset] | None

    @classmethod
    def read(cls, catalog: Catalog) -> Profiles:
        """Read the index beside a catalog. Blocks; for boot. A damaged one is in the log, and refuses every profile."""
        try:
            index = msgspec.json.decode(catalog.resource(INDEX), type=_Index)
        except (OSError, KeyError, msgspec.MsgspecError) as error:
            _log.error("profiles_unusable", problem=str(error))
            return cls(catalog, None)
        return cls(catalog, index.subsets)

    def names(self) -> list[str]:
        """The profiles that the index names."""
        return [f"{model}.{lane}" for model, subset in (self.subsets or {}).items() for lane in subset.lanes]

    def seal(self, profile: str) -> str:
        """The digest that the subset of a profile has to have; empty where there is none."""
        subset = self._find(profile)
        return "" if subset is None else subset.sha256

    def problem(self, profile: str) -> ProfileReason | None:
        """What is known to be wrong before a subset is read."""
        if self.subsets is None:
            return "seal_invalid"
        return None if self._find(profile) is not None and self._entry(profile) is not None else "reference_absent"

    def figures(self, profile: str, tokenizer_sha256: str) -> tuple[CatalogEntry, SelfCheck]:
        """The cases that prove a model with this tokenizer, and the model of the catalog that they are about.

        Blocks for some tens of milliseconds; raises :class:`ProfileError`.
        """
        subset, entry = self._find(profile), self._entry(profile)
        if subset is None or entry is None:
            raise ProfileError(self.problem(profile) or "reference_absent", f"there are no cases for {profile}")
        if subset.sha256 != entry.self_check.sha256:
            raise ProfileError("seal_invalid", f"the index and the catalog seal other cases for {profile}")
        try:
            check = load_self_check(entry, self.catalog.resource)
        except CatalogError as error:
            raise ProfileError("seal_invalid", str(error)) from error
        if check.fixture != subset.fixture:
            raise ProfileError("source_differs", f"the cases for {profile} were drawn from another set")
        if tuple(case.id for case in check.cases) != subset.cases:
            raise ProfileError("seal_invalid", f"the cases for {profile} are not those of its fixed subset")
        if check.model.tokenizer_sha256 != tokenizer_sha256:
            raise ProfileError("identity_differs", f"the cases for {profile} belong to another tokenizer")
        return entry, check

    def _find(self, profile: str) -> Subset | None:
        model, _, lane = profile.rpartition(".")
        subset = (self.subsets or {}).get(model)
        return subset if subset is not None and lane in (*subset.lanes, CPU) else None

    def _entry(self, profile: str) -> CatalogEntry | None:
        return self.catalog.entry(profile.rpartition(".")[0])
