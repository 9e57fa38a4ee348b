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
from synapse_engines.composition import Composition, Single, compose_pairs
from synapse_engines.errors import ArtifactError
from synapse_engines.families import Family
from synapse_engines.templates import TEMPLATES, Scoring, Template, usual_template
from synapse_service.catalog.sources import Role
from synapse_service.lanes.fingerprint import NumericProfile, fingerprint, model_digest, part_digest
from synapse_service.lanes.manifest import PACKAGE_ENGINE, Manifest
from synapse_service.lanes.model import (
    LaneModel,
    StoredFile,
    artifact_refusal,
    load_tokenizer,
    read_config,
    read_tokenizer,
)
from synapse_service.lanes.package_sets import read_set
from synapse_wire.errors import invalid_state


class Registration(msgspec.Struct, frozen=True, kw_only=True):
    """One free-form model. ``files`` are in role order, the packages of a set in that of the manifest."""

    manifest: Manifest
    files: tuple[StoredFile, ...]
    family: str
    pooling: Literal["mean", "cls", "last"]
    max_tokens: int
    dims: int
    vocab: int
    prefix_ids: tuple[int, ...]
    suffix_ids: tuple[int, ...]
    scoring: Scoring | None = None
    """Of a model that scores: how. It has no ``dims``, and its rows have another frame than ids before and after."""
    ladder: tuple[int, ...] = ()
    """The buckets of a package set, ascending; empty where only a row's own length decides how it is computed."""

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

    @property
    def _composition(self) -> Composition:
        if self.scoring is not None:
            return self.scoring.composition
        return Single(prefix_ids=self.prefix_ids, suffix_ids=self.suffix_ids)

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
            template=None if self.scoring is None else part_digest(self.scoring.composition),
            readout=None if self.scoring is None else part_digest(self.scoring.readout),
        )
        return LaneModel(
            lane_id=self.model_id,
            task=self.manifest.task,
            files=self.files,
            family=self.family,
            vocab=self.vocab,
            dims=self.dims,
            max_tokens=self.max_tokens,
            overlength=self.manifest.overlength,
            ladder=self.ladder,
            composition=self._composition,
            readout=None if self.scoring is None else self.scoring.readout,
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
    if manifest.task == "rerank":
        return _examine_scoring(manifest, files, paths, config, family, longest)
    try:
        specials = tokenizer.derive_specials(read_tokenizer(paths["tokenizer"]), family.name, config)
        load_tokenizer(paths["tokenizer"], specials, family.name, cfg.vocab)
    except ArtifactError as error:
        raise artifact_refusal(manifest.model_id, error, file=files["tokenizer"].name) from error
    max_tokens = manifest.max_tokens or longest
    _require_room(max_tokens, specials.count)
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


def _examine_scoring(
    manifest: Manifest,
    files: Mapping[Role, StoredFile],
    paths: Mapping[Role, Path],
    config: Mapping[str, object],
    family: Family,
    longest: int,
) -> Registration:
    """What only a model that scores has: a template in its own tokens, a read-out, and the head that is read."""
    template = _template(manifest, files, family)
    try:
        data = read_tokenizer(paths["tokenizer"])
        scoring = template.scoring(data)
        vocab = family.parse(config).vocab
        tokens = load_tokenizer(paths["tokenizer"], None, family.name, vocab)
        for token_id in (*scoring.composition.frame_ids, *scoring.readout.token_ids):
            if not 0 <= token_id < vocab:
                detail = f"the template needs the token {token_id}, the model has {vocab}"
                raise ArtifactError("bad_tokenizer", detail)
    except ArtifactError as error:
        raise artifact_refusal(manifest.model_id, error, file=files["tokenizer"].name) from error
    try:
        head = family.scoring_head(config, scoring.readout)
    except ArtifactError as error:
        raise artifact_refusal(manifest.model_id, error, file=files["config"].name) from error
    try:
        artifacts.check_head(artifacts.read_header(paths["model"]), head)
    except ArtifactError as error:
        raise artifact_refusal(manifest.model_id, error, file=files["model"].name) from error
    if manifest.pooling not in (None, head.pooling):
        raise invalid_state(f"the model scores by {head.pooling} pooling, not {manifest.pooling}", field="pooling")
    max_tokens = manifest.max_tokens or longest
    (blank,) = compose_pairs(tokens, scoring.composition, "", [""])
    _require_room(max_tokens, blank.real_tokens)
    return Registration(
        manifest=manifest,
        files=(files["config"], files["tokenizer"], files["model"]),
        family=family.name,
        pooling=head.pooling,
        max_tokens=max_tokens,
        dims=0,
        vocab=vocab,
        prefix_ids=(),
        suffix_ids=(),
        scoring=scoring,
    )


def _template(manifest: Manifest, files: Mapping[Role, StoredFile], family: Family) -> Template:
    if manifest.template is not None:
        template = TEMPLATES[manifest.template]
        if template.family != family.name:
            raise invalid_state(
                f"the template {manifest.template} is for {template.family} models, and this is a {family.name} model",
                field="template",
            )
        return template
    try:
        return usual_template(family.name)
    except ArtifactError as error:
        raise artifact_refusal(manifest.model_id, error, file=files["config"].name) from error


def _require_room(max_tokens: int, special_tokens: int) -> None:
    if max_tokens <= special_tokens:
        raise invalid_state(
            f"max_tokens is {max_tokens}, which leaves no room beside {special_tokens} special tokens",
            field="max_tokens",
            max_tokens=max_tokens,
            special_tokens=special_tokens,
        )
