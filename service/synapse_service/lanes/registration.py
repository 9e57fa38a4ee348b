"""A registered free-form model: what its files turned out to be, and the identity that follows.

:func:`examine` reads the files of a checked manifest (configuration, tokenizer, the header of the weights; no weight
is touched) and either returns a :class:`Registration` or says what is wrong with which file. It blocks, so the
service runs it in a worker thread. Everything in a registration survives a restart; what depends on this release,
such as the engine's declared build, is added when the fingerprint is asked for, so it can't go stale in a database.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from synapse_engines import artifacts, families, tokenizer
from synapse_engines.composition import Single
from synapse_engines.errors import ArtifactError
from synapse_service.catalog.sources import Role
from synapse_service.lanes.fingerprint import NumericProfile, fingerprint, model_digest
from synapse_service.lanes.manifest import PACKAGE_ENGINE, Manifest
from synapse_service.lanes.model import LaneModel, StoredFile, artifact_refusal, load_tokenizer, read_config
from synapse_service.lanes.package_sets import read_set
from synapse_wire.errors import invalid_state


class Registration(msgspec.Struct, frozen=True, kw_only=True):
    """One free-form embedding model. ``files`` are in role order, the packages of a set in that of the manifest."""

    manifest: Manifest
    files: tuple[StoredFile, ...]
    family: str
    pooling: Literal["mean", "cls", "last"]
    max_tokens: int
    dims: int
    vocab: int
    prefix_ids: tuple[int, ...]
    suffix_ids: tuple[int, ...]
    ladder: tuple[int, ...] = ()
    """The buckets of a package set, ascending; empty where rows run at their exact length."""

    @property
    def model_id(self) -> str:
        return self.manifest.model_id

    def file(self, role: Role) -> StoredFile:
        return next(file for file in self.files if file.role == role)

    @property
    def model_digest(self) -> str:
        return model_digest([(file.role, file.sha256) for file in self.files if file.role != "tokenizer"])

    @property
    def tokenizer_digest(self) -> str:
        return tokenizer.tokenizer_digest(self.file("tokenizer").sha256)

    @property
    def _shape_envelope(self) -> str:
        lengths = f"buckets({','.join(map(str, self.ladder))})" if self.ladder else "exact"
        return f"{lengths}:1-{self.max_tokens}"

    def lane_model(self, engine_build: str) -> LaneModel:
        """What its lane serves, under an engine build that this release declares."""
        profile = NumericProfile(
            engine=self.manifest.engine,
            engine_build=engine_build,
            tokenizer_digest=self.tokenizer_digest,
            pooling=self.pooling,
            normalization="l2" if self.manifest.normalize else "none",
            dtype=self.manifest.dtype,
            shape_envelope=self._shape_envelope,
            thread_class="any",
        )
        return LaneModel(
            lane_id=self.model_id,
            task="embed",
            files=self.files,
            family=self.family,
            vocab=self.vocab,
            dims=self.dims,
            max_tokens=self.max_tokens,
            overlength=self.manifest.overlength,
            ladder=self.ladder,
            composition=Single(prefix_ids=self.prefix_ids, suffix_ids=self.suffix_ids),
            model_digest=self.model_digest,
            profile=profile,
            fingerprint=fingerprint(self.model_digest, "none", profile),
        )


def examine(
    manifest: Manifest,
    files: Mapping[Role, StoredFile],
    paths: Mapping[Role, Path],
    extra: Sequence[tuple[StoredFile, Path]] = (),
) -> Registration:
    """Read a model's files; raises ``artifact_invalid`` naming the file, or ``invalid_request`` for its limits.

    ``extra`` are the further packages of a set, in the order of the manifest.
    """
    config = read_config(manifest.model_id, paths["config"])
    try:
        family = families.family_for(config)
        cfg = family.parse(config)
    except ArtifactError as error:
        raise artifact_refusal(manifest.model_id, error, file=files["config"].name) from error
    longest, dims = cfg.max_positions, cfg.hidden
    ladder: tuple[int, ...] = ()
    if manifest.engine == PACKAGE_ENGINE:
        found = read_set(manifest.model_id, [(files["model"], paths["model"]), *extra])
        longest, dims, ladder = min(longest, found.ladder[-1]), found.dims, found.ladder
    if manifest.max_tokens is not None and manifest.max_tokens > longest:
        limit = (
            f"the model defines only {longest} positions" if not ladder else f"its packages take only {longest} tokens"
        )
        raise invalid_state(
            f"max_tokens is {manifest.max_tokens}, but {limit}",
            field="max_tokens",
            max_tokens=manifest.max_tokens,
            max_positions=longest,
        )
    try:
        if not ladder:
            artifacts.check_model(artifacts.read_header(paths["model"]), family, cfg)
    except ArtifactError as error:
        raise artifact_refusal(manifest.model_id, error, file=files["model"].name) from error
    try:
        specials = tokenizer.derive_specials(paths["tokenizer"].read_bytes(), family.name, config)
        load_tokenizer(paths["tokenizer"], specials, family.name, cfg.vocab)
    except ArtifactError as error:
        raise artifact_refusal(manifest.model_id, error, file=files["tokenizer"].name) from error
    max_tokens = manifest.max_tokens or longest
    if max_tokens <= specials.count:
        raise invalid_state(
            f"max_tokens is {max_tokens}, which leaves no room beside {specials.count} special tokens",
            field="max_tokens",
            max_tokens=max_tokens,
            special_tokens=specials.count,
        )
    return Registration(
        manifest=manifest,
        files=(files["config"], files["tokenizer"], files["model"], *(file for file, _ in extra)),
        family=family.name,
        pooling=manifest.pooling or family.default_pooling,
        max_tokens=max_tokens,
        dims=dims,
        vocab=cfg.vocab,
        prefix_ids=specials.prefix,
        suffix_ids=specials.suffix,
        ladder=ladder,
    )
