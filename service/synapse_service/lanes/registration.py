"""A registered free-form model: what its files turned out to be, and the identity that follows.

:func:`examine` reads the files of a checked manifest (configuration, tokenizer, the header of the weights; no weight
is touched) and either returns a :class:`Registration` or says what is wrong with which file. It blocks, so the
service runs it in a worker thread. Everything in a registration survives a restart; what depends on this release,
such as the engine's declared build, is added when the fingerprint is asked for, so it can't go stale in a database.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from synapse_engines import artifacts, families, tokenizer
from synapse_engines.errors import ArtifactError
from synapse_service.catalog.sources import Role
from synapse_service.lanes.fingerprint import NumericProfile, fingerprint, model_digest
from synapse_service.lanes.manifest import Manifest
from synapse_wire.errors import SynapseError, invalid_state

MAX_CONFIG_BYTES: Final = 1 << 20


class StoredFile(msgspec.Struct, frozen=True):
    """A file of a model in the blob store; ``name`` is what its owner called it."""

    role: str
    name: str
    sha256: str
    size: int


class Registration(msgspec.Struct, frozen=True, kw_only=True):
    """One free-form embedding model."""

    manifest: Manifest
    files: tuple[StoredFile, ...]
    config: dict[str, Any]
    family: str
    pooling: Literal["mean", "cls", "last"]
    max_tokens: int
    dims: int
    vocab: int
    prefix_ids: tuple[int, ...]
    suffix_ids: tuple[int, ...]

    @property
    def model_id(self) -> str:
        return self.manifest.model_id

    @property
    def normalize(self) -> bool:
        return self.manifest.normalize

    def file(self, role: str) -> StoredFile:
        return next(file for file in self.files if file.role == role)

    @property
    def model_digest(self) -> str:
        return model_digest([(file.role, file.sha256) for file in self.files if file.role != "tokenizer"])

    @property
    def tokenizer_digest(self) -> str:
        return tokenizer.tokenizer_digest(self.file("tokenizer").sha256)

    def profile(self, engine_build: str) -> NumericProfile:
        """The numeric profile under an engine build that this release declares."""
        return NumericProfile(
            engine=self.manifest.engine,
            engine_build=engine_build,
            tokenizer_digest=self.tokenizer_digest,
            pooling=self.pooling,
            normalization="l2" if self.normalize else "none",
            dtype=self.manifest.dtype,
            shape_envelope=f"exact:1-{self.max_tokens}",
            thread_class="any",
        )

    def fingerprint(self, engine_build: str) -> str:
        """The lane's identity under an engine build."""
        return fingerprint(self.model_digest, "none", self.profile(engine_build))

    def load_tokenizer(self, path: Path) -> tokenizer.SanitisedTokenizer:
        """The sanitised tokenizer of this model, read from its blob."""
        return tokenizer.SanitisedTokenizer.load(
            path.read_bytes(),
            specials=tokenizer.SpecialTokens(self.prefix_ids, self.suffix_ids),
            allow_added=families.FAMILIES[self.family].allowed_added,
            vocab_size=self.vocab,
        )


def examine(manifest: Manifest, files: Mapping[Role, StoredFile], paths: Mapping[Role, Path]) -> Registration:
    """Read a model's files; raises ``artifact_invalid`` naming the file, or ``invalid_request`` for its limits."""
    config = read_config(manifest.model_id, paths["config"])
    try:
        family = families.family_for(config)
        cfg = family.parse(config)
    except ArtifactError as error:
        raise artifact_refusal(manifest.model_id, error, default_file=files["config"].name) from error
    if manifest.max_tokens is not None and manifest.max_tokens > cfg.max_positions:
        raise invalid_state(
            f"max_tokens is {manifest.max_tokens}, but the model defines only {cfg.max_positions} positions",
            field="max_tokens",
            max_tokens=manifest.max_tokens,
            max_positions=cfg.max_positions,
        )
    try:
        artifacts.check_model(artifacts.read_header(paths["model"]), family, cfg)
    except ArtifactError as error:
        raise artifact_refusal(manifest.model_id, error, default_file=files["model"].name) from error
    try:
        specials = tokenizer.derive_specials(paths["tokenizer"].read_bytes(), family.name, config)
        registration = Registration(
            manifest=manifest,
            files=(files["config"], files["tokenizer"], files["model"]),
            config=config,
            family=family.name,
            pooling=manifest.pooling or family.default_pooling,
            max_tokens=manifest.max_tokens or cfg.max_positions,
            dims=cfg.hidden,
            vocab=cfg.vocab,
            prefix_ids=specials.prefix,
            suffix_ids=specials.suffix,
        )
        registration.load_tokenizer(paths["tokenizer"])
    except ArtifactError as error:
        raise artifact_refusal(manifest.model_id, error, default_file=files["tokenizer"].name) from error
    if registration.max_tokens <= specials.count:
        raise invalid_state(
            f"max_tokens is {registration.max_tokens}, which leaves no room beside {specials.count} special tokens",
            field="max_tokens",
            max_tokens=registration.max_tokens,
            special_tokens=specials.count,
        )
    return registration


def read_config(model_id: str, path: Path) -> dict[str, Any]:
    """The model's configuration object."""
    try:
        if path.stat().st_size > MAX_CONFIG_BYTES:
            raise ValueError(f"more than {MAX_CONFIG_BYTES} bytes")
        config = json.loads(path.read_bytes())
        if not isinstance(config, dict):
            raise TypeError("not a JSON object")
    except (ValueError, TypeError, RecursionError) as error:
        damage = ArtifactError("bad_config", f"the configuration can't be read: {error}")
        raise artifact_refusal(model_id, damage, default_file="config.json") from error
    return config


def artifact_refusal(model_id: str, error: ArtifactError, *, default_file: str) -> SynapseError:
    """An unusable file as the wire error that names it."""
    file = default_file
    return SynapseError(
        "artifact_invalid",
        f"{file}: {error.detail}; load the model again with sound files",
        details={"model_id": model_id, "file": file, "reason": error.reason},
    )
