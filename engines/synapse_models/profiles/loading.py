"""Reading profiles: the catalogue that ships, and a user's file that goes before it.

A file has ``sources`` (a short name → where it is written and when it was read there) and ``profiles``, each for the
exact names of its ``models`` on its ``dialects``::

    sources:
      vendor: {where: "the vendor's model page", date: "2026-11-30"}
    profiles:
      - models: [some-model, some-model-2026-05-01]
        dialects: [openai_chat]
        source: vendor
        capabilities:
          reasoning: {support: supported, limits: {effort: [low, high]}}
          prefill: unsupported
        leaves: {sampling.temperature: {support: unsupported, reason: the model refuses it}}
        facts: {max_tokens_key: {value: max_completion_tokens, source: vendor}}

A word that stands alone in place of a mapping has its profile's source. No fact is without one, and no name is ever
matched in part. With ``authoritative: true`` a profile lists every capability that its models have: one that it leaves
out isn't unknown, but absent.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from importlib import resources
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, structs

from synapse_models.capabilities import CAPABILITY_SPECS
from synapse_models.errors import redacted
from synapse_models.leaves import LEAVES
from synapse_models.parts import JSONValue, Record
from synapse_models.profiles import FACTS, Fact, ModelProfile, Support, SupportFact
from synapse_models.specs import DIALECT_SPECS
from synapse_models.yaml_loader import Document, DocumentError, KeyPath, Problem, load, secrets

_FILES: Final = "catalogue"


class Source(Record, frozen=True, forbid_unknown_fields=True):
    """Where facts were read, and when (an ISO date)."""

    where: Annotated[str, Meta(min_length=1)]
    date: Annotated[str, Meta(pattern=r"^\d{4}-\d{2}-\d{2}$")]


class _Said(Record, frozen=True, forbid_unknown_fields=True):
    support: Support
    source: str | None = None
    reason: str | None = None
    limits: Mapping[str, tuple[str, ...]] = {}
    maximum: int | None = None


class Catalogue(Record, frozen=True):
    """Profiles by (dialect, exact model name)."""

    profiles: Mapping[tuple[str, str], ModelProfile]

    def find(self, dialect_id: str, name: str) -> ModelProfile:
        """The profile of ``name`` on ``dialect_id``; the empty one when there is none."""
        return self.profiles.get((dialect_id, name)) or ModelProfile(model_id=name)

    def under(self, user: Catalogue) -> Catalogue:
        """This catalogue with a user's facts over it. What they replace is listed in ``overridden``."""
        merged = dict(self.profiles)
        for key, over in user.profiles.items():
            below = merged.get(key)
            merged[key] = over if below is None else _over(below, over)
        return Catalogue(profiles=merged)


def _over(below: ModelProfile, over: ModelProfile) -> ModelProfile:
    replaced = []
    merged: dict[str, Any] = {}
    for group in ("capabilities", "leaves", "facts"):
        old, new = getattr(below, group), getattr(over, group)
        replaced += [f"{group}.{name}" for name in new if name in old]
        merged[group] = {**old, **new}
    merged["authoritative"] = below.authoritative or over.authoritative
    return structs.replace(below, origin="user", overridden=tuple(sorted(replaced)), **merged)


@functools.cache
def shipped() -> Catalogue:
    """The catalogue that comes with this package, read once."""
    folder = resources.files("synapse_models.profiles") / _FILES
    texts = sorted((file.name, file.read_bytes()) for file in folder.iterdir() if file.name.endswith(".yaml"))
    profiles: dict[tuple[str, str], ModelProfile] = {}
    for name, text in texts:
        for key, profile in read_profiles(text, "catalogue").profiles.items():
            if key in profiles:
                raise ValueError(f"{name}: {key[1]} on {key[0]} is in two files")
            profiles[key] = profile
    return Catalogue(profiles=profiles)


def read_profiles(source: str | bytes, origin: Literal["catalogue", "user"]) -> Catalogue:
    """Read a file of profiles.

    Raises:
        DocumentError: with every problem that it has.
    """
    document = load(source)
    reader = _Reader(document, origin)
    found = reader.read()
    if problems := (*reader.problems, *secrets(document, reader.problems)):
        raise DocumentError(problems)
    return Catalogue(profiles=found)


class _Reader:
    def __init__(self, document: Document, origin: Literal["catalogue", "user"]) -> None:
        self.document = document
        self.origin = origin
        self.problems: list[Problem] = []
        self.sources: dict[str, Source] = {}

    def refuse(self, path: KeyPath, message: str) -> None:
        self.problems.append(self.document.problem(path, redacted(message)))

    def read(self) -> dict[tuple[str, str], ModelProfile]:
        value = self._mapping(self.document.value, (), ("sources", "profiles"))
        for name, said in self._mapping(value.get("sources", {}), ("sources",)).items():
            source = self._convert(said, Source, ("sources", name))
            if source is not None:
                self.sources[name] = source
        found: dict[tuple[str, str], ModelProfile] = {}
        entries = value.get("profiles", [])
        if not isinstance(entries, list):
            self.refuse(("profiles",), "must be a list")
            return found
        for index, entry in enumerate(entries):
            self._profile(entry, ("profiles", index), found)
        return found

    def _profile(self, entry: JSONValue, path: KeyPath, found: dict[tuple[str, str], ModelProfile]) -> None:
        keys = ("models", "dialects", "source", "authoritative", "capabilities", "leaves", "facts")
        said = self._mapping(entry, path, keys)
        models = self._convert(said.get("models"), Annotated[list[str], Meta(min_length=1)], (*path, "models"))
        dialects = self._convert(said.get("dialects"), Annotated[list[str], Meta(min_length=1)], (*path, "dialects"))
        for dialect in dialects or ():
            if dialect not in DIALECT_SPECS:
                self.refuse((*path, "dialects"), f"no dialect is called {dialect!r}")
        default = said.get("source")
        capabilities = dict(self._supports(said, "capabilities", path, default, CAPABILITY_SPECS))
        leaves = dict(self._supports(said, "leaves", path, default, LEAVES))
        facts = self._facts(said, path, default)
        authoritative = said.get("authoritative", False)
        if not isinstance(authoritative, bool):
            self.refuse((*path, "authoritative"), f"must be true or false, not {authoritative!r}")
        for dialect in dialects or ():
            for model in models or ():
                if (dialect, model) in found:
                    self.refuse((*path, "models"), f"{model!r} on {dialect} is there twice")
                found[dialect, model] = ModelProfile(
                    model_id=model,
                    origin=self.origin,
                    capabilities=capabilities,
                    leaves=leaves,
                    facts=facts,
                    authoritative=authoritative is True,
                )

    def _supports(
        self, said: Mapping[str, JSONValue], group: str, path: KeyPath, default: JSONValue, names: Iterable[str]
    ) -> Iterable[tuple[str, SupportFact]]:
        known = frozenset(names)
        for key, value in self._mapping(said.get(group, {}), (*path, group)).items():
            here = (*path, group, key)
            if key not in known:
                self.refuse(here, f"no {'capability' if group == 'capabilities' else 'leaf'} has this name")
                continue
            fact = self._convert({"support": value} if isinstance(value, str) else value, _Said, here)
            source = self._source(default if fact is None or fact.source is None else fact.source, here)
            if fact is not None and source is not None:
                yield (
                    key,
                    SupportFact(
                        support=fact.support,
                        source=source.where,
                        date=source.date,
                        reason=fact.reason,
                        limits=fact.limits,
                        maximum=fact.maximum,
                    ),
                )

    def _facts(self, said: Mapping[str, JSONValue], path: KeyPath, default: JSONValue) -> dict[str, Fact]:
        found: dict[str, Fact] = {}
        for name, value in self._mapping(said.get("facts", {}), (*path, "facts")).items():
            here = (*path, "facts", name)
            own = default
            if isinstance(value, dict):
                said_own = self._mapping(value, here, ("value", "source"))
                value, own = said_own.get("value"), said_own.get("source", default)
            source = self._source(own, here)
            if name not in FACTS:
                self.refuse(here, f"no fact has this name; there are {', '.join(FACTS)}")
            elif value not in FACTS[name]:
                self.refuse(here, f"must be one of {', '.join(FACTS[name])}, not {value!r}")
            elif source is not None:
                found[name] = Fact(value=value, source=source.where, date=source.date)
        return found

    def _source(self, name: JSONValue, path: KeyPath) -> Source | None:
        if not isinstance(name, str) or name not in self.sources:
            self.refuse(path, f"a fact needs one of the file's sources, not {name!r}")
            return None
        return self.sources[name]

    def _mapping(self, value: JSONValue, path: KeyPath, keys: tuple[str, ...] | None = None) -> dict[str, JSONValue]:
        if not isinstance(value, dict):
            self.refuse(path, f"must be a mapping, not {value!r}")
            return {}
        if keys is not None:
            for key in value.keys() - keys:
                self.refuse((*path, key), f"no such key; there are {', '.join(keys)}")
        return value

    def _convert(self, value: JSONValue, kind: Any, path: KeyPath) -> Any:
        try:
            return msgspec.convert(value, type=kind, strict=True)
        except msgspec.ValidationError as error:
            self.refuse(path, str(error))
            return None
