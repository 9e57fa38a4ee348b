"""Reading what a user declares: a file of models, each with its dialect, its server, its options and its limits.

::

    models:
      qwen3:
        dialect: openai_chat
        model: Qwen/Qwen3-32B
        api_base: http://127.0.0.1:8000/v1
        engine: {id: vllm, version: 0.11.0, params: {reasoning_parser: qwen3}}
        credential: env:QWEN_KEY
        args: {sampling: {temperature: 0.6}}
        capabilities: {reasoning: {effort: high}, hosted_tools: false}
        requires: {nightly: {input: chat, sampled_logprobs: true}}

Every entry point reads through :func:`read_declarations`, so that nothing is accepted in one place and ignored in
another. All problems are reported at once, each with key path and line. Text in, records out; no file is opened here.
"""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from msgspec import structs

from synapse_models import registry
from synapse_models.capabilities import CAPABILITY_SPECS, Declared, canonical_declaration, parse_config
from synapse_models.credentials import CredentialRef
from synapse_models.declared_args import GROUPS, read_default
from synapse_models.dialect import DialectBinder
from synapse_models.engine_facts import UNKNOWN_ENGINE
from synapse_models.errors import MAX_EXCERPT_CHARS, redacted
from synapse_models.parts import JSONValue, Record
from synapse_models.policy import RetryPolicy, Timeouts, origin_of
from synapse_models.requirements import TaskRequirements
from synapse_models.yaml_loader import Document, DocumentError, KeyPath, Problem, load, secrets


class EngineDeclaration(Record, frozen=True, forbid_unknown_fields=True):
    """What the user says of the server's engine: which, which version, and how it was or will be started."""

    id: str
    version: str | None = None
    params: Mapping[str, JSONValue] = {}


class ModelDeclaration(Record, frozen=True):
    """One declared model, with everything that it takes from its base filled in.

    ``credential`` is a reference as text. ``root`` is the name of the model whose server it uses: its own, or the
    base's. ``args`` are request defaults by leaf, ``options`` defaults of dialect options by key.
    """

    name: str
    root: str
    dialect: str
    model: str
    api_base: str
    wire_version: str | None = None
    engine: EngineDeclaration | None = None
    credential: str = "none"
    route: str | None = None
    profile: str | None = None
    base: str | None = None
    args: Mapping[str, JSONValue] = {}
    options: Mapping[str, JSONValue] = {}
    timeouts: Timeouts = Timeouts()
    retry: RetryPolicy = RetryPolicy()
    concurrency: int | None = None
    capabilities: Mapping[str, Declared] = {}
    requires: Mapping[str, TaskRequirements] = {}


class Declarations(Record, frozen=True):
    """All models of a file, by name, in the file's order."""

    models: Mapping[str, ModelDeclaration]

    def canonical(self) -> dict[str, JSONValue]:
        """Plain data that says the same: ``true`` is ``{}``, ``false`` is kept, what is left out stays out."""
        found: dict[str, JSONValue] = {}
        for name, model in sorted(self.models.items()):
            plain: dict[str, JSONValue] = msgspec.to_builtins(structs.replace(model, capabilities={}))
            if model.capabilities:
                plain["capabilities"] = canonical_declaration(model.capabilities)
            found[name] = plain
        return found


_SERVER_KEYS: Final = ("model", "api_base", "engine", "credential", "timeouts", "retry", "profile")
"""What belongs to the server and its connection, so that a derived model has it from its base and nowhere else."""
_INHERITED: Final = ("dialect", "wire_version", "route")
_OWN: Final = ("base", "args", "concurrency", "capabilities", "requires")
_SECRET_NAMES: Final = frozenset(
    {"api_key", "apikey", "x_api_key", "authorization", "password", "secret", "access_token", "auth_token"}
)
_ENGINE_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}")
_KEYS: Final = (*_INHERITED, *_SERVER_KEYS, *_OWN)


def read_declarations(
    source: str | bytes, binders: Mapping[str, DialectBinder] = registry.DIALECT_BINDERS
) -> Declarations:
    """Read a file of models.

    Raises:
        DocumentError: with every problem that it has.
    """
    document = load(source)
    reader = _Reader(document, binders)
    models = reader.models()
    if problems := (*reader.problems, *secrets(document, reader.problems)):
        raise DocumentError(tuple(sorted(problems, key=lambda problem: problem.line)))
    return Declarations(models=models)


class _Reader:
    """Turns one document into declarations, noting problems with their place."""

    def __init__(self, document: Document, binders: Mapping[str, DialectBinder]) -> None:
        self.document = document
        self.binders = binders
        self.problems: list[Problem] = []

    def refuse(self, path: KeyPath, message: str) -> None:
        self.problems.append(self.document.problem(path, redacted(message)))

    def models(self) -> dict[str, ModelDeclaration]:
        value = self.document.value
        if not isinstance(value, dict) or "models" not in value:
            self.refuse((), "there must be a mapping with the key models")
            return {}
        self._known(value, ("models",), ())
        entries = value["models"]
        if not isinstance(entries, dict) or not entries:
            self.refuse(("models",), "must be a mapping of at least one model")
            return {}
        read: dict[str, dict[str, Any]] = {}
        for name, entry in entries.items():
            if not name or not name.isprintable() or name != name.strip():
                self.refuse(("models", name), "isn't a name: it must be visible text")
            if isinstance(entry, dict):
                read[name] = self._entry(entry, ("models", name))
            else:
                self.refuse(("models", name), "must be a mapping")
        found: dict[str, ModelDeclaration] = {}
        for name, fields in read.items():
            model = self._joined(name, fields, read)
            if model is not None:
                found[name] = model
        return found

    def _entry(self, entry: dict[str, JSONValue], path: KeyPath) -> dict[str, Any]:
        self._known(entry, _KEYS, path)
        readers: Mapping[str, Callable[[JSONValue, KeyPath], Any]] = {
            "api_base": self._address,
            "engine": self._engine,
            "credential": self._credential,
            "args": self._args,
            "timeouts": lambda value, here: self._convert(value, Timeouts, here),
            "retry": lambda value, here: self._convert(value, RetryPolicy, here),
            "concurrency": self._concurrency,
            "capabilities": self._capabilities,
            "requires": self._requires,
        }
        fields: dict[str, Any] = {}
        for key in _KEYS:
            if key in entry:
                here = (*path, key)
                if entry[key] is None:
                    self.refuse(here, "null is no value; leave the key out")
                    continue
                value = readers.get(key, self._text)(entry[key], here)
                if value is not None:
                    fields[key] = value
        return fields

    def _joined(
        self, name: str, fields: dict[str, Any], every: Mapping[str, dict[str, Any]]
    ) -> ModelDeclaration | None:
        path: KeyPath = ("models", name)
        base = fields.get("base")
        merged = dict(fields)
        if base is not None:
            taken = every.get(base)
            if taken is None or base == name:
                self.refuse((*path, "base"), f"there is no other model {base!r}")
                return None
            if "base" in taken:
                self.refuse((*path, "base"), f"{base!r} has a base itself; name {taken['base']!r}")
                return None
            for key in _SERVER_KEYS:
                if key in fields:
                    self.refuse((*path, key), f"comes from the base {base!r}, and can't be another here")
            dialect_changes = fields.get("dialect", taken.get("dialect")) != taken.get("dialect")
            for key in (*_SERVER_KEYS, *_INHERITED):
                # A wire version means something in one dialect only.
                if key in taken and not (key == "wire_version" and dialect_changes):
                    merged.setdefault(key, taken[key])
        missing = [key for key in ("dialect", "model", "api_base") if key not in merged]
        entry = self.document.value["models"][name]
        for key in missing:
            if key not in entry:
                self.refuse(path, f"{key} is missing")
        if missing:
            return None
        self._check_dialect(merged, path)
        args, options = merged.pop("args", ({}, {}))
        return ModelDeclaration(name=name, root=base or name, args=args, options=options, **merged)

    def _check_dialect(self, merged: Mapping[str, Any], path: KeyPath) -> None:
        spec = registry.spec(merged["dialect"], self.binders)
        if spec is None:
            known = ", ".join(sorted({*registry.DIALECT_SPECS, *self.binders}))
            self.refuse((*path, "dialect"), f"no dialect is called {merged['dialect']!r}; there are {known}")
        elif "wire_version" in merged and merged["wire_version"] not in spec.wire_versions:
            known = ", ".join(spec.wire_versions)
            self.refuse((*path, "wire_version"), f"{spec.id} has {known}, not {merged['wire_version']!r}")

    def _known(self, mapping: Mapping[str, JSONValue], keys: tuple[str, ...], path: KeyPath) -> None:
        for key in mapping:
            if key not in keys:
                self.refuse((*path, key), f"no such key; there are {', '.join(keys)}")

    def _mapping(self, value: JSONValue, path: KeyPath) -> dict[str, JSONValue]:
        if isinstance(value, dict):
            return value
        self.refuse(path, f"must be a mapping, not {value!r}")
        return {}

    def _text(self, value: JSONValue, path: KeyPath) -> str | None:
        if isinstance(value, str) and value.strip() and value.isprintable():
            return value
        self.refuse(path, f"must be text, not {value!r}; quote it if it looks like something else")
        return None

    def _address(self, value: JSONValue, path: KeyPath) -> str | None:
        text = self._text(value, path)
        if text is None:
            return None
        try:
            origin_of(text)
            parts = urllib.parse.urlsplit(text)
        except ValueError as error:
            self.refuse(path, str(error))
            return None
        if parts.query or parts.fragment:
            self.refuse(path, "an address has no query and no fragment")
            return None
        return text.rstrip("/")

    def _engine(self, value: JSONValue, path: KeyPath) -> EngineDeclaration | None:
        engine: EngineDeclaration | None
        if isinstance(value, str):
            engine = EngineDeclaration(id=value)
        else:
            engine = self._convert(value, EngineDeclaration, path)
        if engine is not None:
            self._no_secret(engine.params, (*path, "params"))
        if engine is not None and (engine.id == UNKNOWN_ENGINE or not _ENGINE_NAME.fullmatch(engine.id)):
            place = path if isinstance(value, str) else (*path, "id")
            self.refuse(place, "names no engine: lower-case letters, digits, _ . and -, or leave engine out")
            return None
        return engine

    def _credential(self, value: JSONValue, path: KeyPath) -> str | None:
        # What stands here may be a secret that was pasted in, so no message repeats it.
        if not isinstance(value, str):
            self.refuse(path, "must be keyring:NAME, env:NAME or none")
            return None
        try:
            return str(CredentialRef.parse(value))
        except ValueError as error:
            self.refuse(path, str(error))
            return None

    def _no_secret(self, value: JSONValue, path: KeyPath) -> None:
        """Refuse what is spelled or named like a credential, in the places where anything may stand."""
        if isinstance(value, dict):
            for key, said in value.items():
                if key.lower().replace("-", "_") in _SECRET_NAMES:
                    self.refuse((*path, key), "a secret is never written here; name a credential of the model instead")
                else:
                    self._no_secret(said, (*path, key))
        elif isinstance(value, list):
            for index, said in enumerate(value):
                self._no_secret(said, (*path, index))
        elif isinstance(value, str) and _looks_secret(value):
            self.refuse(path, "this looks like a secret, which is never written here")

    def _args(self, value: JSONValue, path: KeyPath) -> tuple[dict[str, JSONValue], dict[str, JSONValue]]:
        args: dict[str, JSONValue] = {}
        options: dict[str, JSONValue] = {}
        for group, values in self._mapping(value, path).items():
            here = (*path, group)
            if group not in (*GROUPS, "dialect_options"):
                self.refuse(here, f"no such group; there are {', '.join(GROUPS)} and dialect_options")
                continue
            for key, said in self._mapping(values, here).items():
                if group == "dialect_options" and not key:
                    self.refuse((*here, key), "an option has a name")
                    continue
                if group == "dialect_options":
                    self._no_secret({key: said}, here)
                    options[key] = said
                    continue
                try:
                    args[f"{group}.{key}"] = read_default(f"{group}.{key}", said)
                except ValueError as error:
                    self.refuse((*here, key), str(error))
                    continue
                if (group, key) == ("tools", "hosted"):
                    for index, tool in enumerate(said):
                        self._no_secret(tool.get("options"), (*here, key, index, "options"))
        if "reasoning.effort" in args and "reasoning.budget_tokens" in args:
            self.refuse((*path, "reasoning"), "takes either effort or budget_tokens")
        return args, options

    def _concurrency(self, value: JSONValue, path: KeyPath) -> int | None:
        if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
            return value
        self.refuse(path, f"must be a whole number from 1, not {value!r}")
        return None

    def _capabilities(self, value: JSONValue, path: KeyPath) -> dict[str, Declared]:
        active = registry.active_keys(self.binders)
        found: dict[str, Declared] = {}
        for key, said in self._mapping(value, path).items():
            here = (*path, key)
            try:
                found[key] = parse_config(key, said)
            except ValueError as error:
                self.refuse(here, str(error))
                continue
            if key in CAPABILITY_SPECS and key not in active and said is not False:
                self.refuse(here, "is reserved: no dialect of this release has it")
        return found

    def _requires(self, value: JSONValue, path: KeyPath) -> dict[str, TaskRequirements]:
        found: dict[str, TaskRequirements] = {}
        for task, needs in self._mapping(value, path).items():
            read = self._convert(needs, TaskRequirements, (*path, task))
            if read is not None:
                found[task] = read
        return found

    def _convert(self, value: JSONValue, kind: type[Any], path: KeyPath) -> Any:
        """``value`` as ``kind``, field by field, so that each wrong one is reported with its place."""
        if not isinstance(value, dict):
            self.refuse(path, f"must be a mapping, not {value!r}")
            return None
        before = len(self.problems)
        fields = {field.name: field for field in structs.fields(kind)}
        self._known(value, tuple(fields), path)
        for key, said in value.items():
            if key in fields:
                try:
                    msgspec.convert(said, type=fields[key].type, strict=True)
                except msgspec.ValidationError as error:
                    self.refuse((*path, key), str(error))
        if len(self.problems) > before:
            return None
        try:
            return msgspec.convert(value, type=kind, strict=True)
        except msgspec.ValidationError as error:
            self.refuse(path, str(error))
            return None


def _looks_secret(text: str) -> bool:
    """Whether something in ``text`` has the shape of a key. Read in overlapping pieces, as redaction also shortens."""
    pieces = (text[start : start + MAX_EXCERPT_CHARS] for start in range(0, len(text), MAX_EXCERPT_CHARS // 2))
    return any(redacted(piece) != piece for piece in pieces)
