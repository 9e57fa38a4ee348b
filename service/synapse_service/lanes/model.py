"""What a lane serves: a model's files, how a text becomes numbers, and the identity that follows.

``registration`` makes these for models that users register, ``catalog_lanes`` for those of the catalog. Whatever
comes after, from loading to the rows of ``models.list``, reads a :class:`LaneModel` and need not know whose it is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from synapse_engines.composition import Composition, Instructed, Pair, Single
from synapse_engines.errors import ArtifactError
from synapse_engines.families import FAMILIES
from synapse_engines.readout import Readout
from synapse_engines.tokenizer import SanitisedTokenizer, SpecialTokens
from synapse_service.catalog.refusals import RecoveryOp
from synapse_service.catalog.sources import Role
from synapse_service.lanes.fingerprint import NumericProfile, fingerprint
from synapse_wire.errors import SynapseError

MAX_CONFIG_BYTES: Final = 1 << 20
MAX_TOKENIZER_BYTES: Final = 128 << 20
"""Nearly four times the largest that is published. Parsing it takes several times its size in memory."""

Task = Literal["embed", "rerank"]


class StoredFile(msgspec.Struct, frozen=True):
    """A file of a model in the blob store; ``name`` is what its owner called it."""

    role: Role
    name: str
    sha256: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneModel:
    """One model on one engine.

    ``profile`` is what the engine is told to do and what the fingerprint covers, so that the two can't differ.
    ``max_tokens`` is the longest row, special tokens included. ``dims`` is the length of a vector, 0 where the answer
    is a score, which ``readout`` then says how to read. ``ladder`` are the buckets of a package set, ascending, and
    empty for every other model. ``catalog_id`` is None for a free-form model.
    """

    lane_id: str
    catalog_id: str | None = None
    task: Task
    files: tuple[StoredFile, ...]
    family: str
    vocab: int
    dims: int
    max_tokens: int
    overlength: Literal["refuse", "truncate"]
    ladder: tuple[int, ...] = ()
    composition: Composition
    readout: Readout | None = None
    prompts: Mapping[str, str] = field(default_factory=dict)
    model_digest: str
    profile: NumericProfile
    fingerprint: str

    @property
    def engine(self) -> str:
        return self.profile.engine

    @property
    def normalize(self) -> bool:
        return self.profile.normalization == "l2"

    @property
    def recovery_op(self) -> RecoveryOp:
        """What fetches a damaged file again."""
        return "model.load" if self.catalog_id is None else "models.download"

    def file(self, role: Role) -> StoredFile:
        return next(file for file in self.files if file.role == role)

    def fingerprint_on(self, engine_build: str) -> str:
        """The fingerprint that the same model has on another build of its engine."""
        profile = msgspec.structs.replace(self.profile, engine_build=engine_build)
        return fingerprint(self.model_digest, "none", profile)

    def load_tokenizer(self, path: Path) -> SanitisedTokenizer:
        """The tokenizer, read from its blob. Where a row is a single text, it frames it; raises ArtifactError."""
        single = self.composition if isinstance(self.composition, Single) else None
        specials = None if single is None else SpecialTokens(single.prefix_ids, single.suffix_ids)
        return load_tokenizer(path, specials, self.family, self.vocab)


def pair_form(model: LaneModel) -> Pair | Instructed:
    """How the rows of a model that scores are composed."""
    assert isinstance(model.composition, Pair | Instructed)
    return model.composition


def load_tokenizer(path: Path, specials: SpecialTokens | None, family: str, vocab: int) -> SanitisedTokenizer:
    """The sanitised tokenizer of a model of ``family``; raises ArtifactError."""
    return SanitisedTokenizer.load(
        read_tokenizer(path), specials=specials, allow_added=FAMILIES[family].allowed_added, vocab_size=vocab
    )


def read_tokenizer(path: Path) -> bytes:
    """The bytes of a `tokenizer.json`; raises ArtifactError for more than any tokenizer has."""
    size = path.stat().st_size
    if size > MAX_TOKENIZER_BYTES:
        raise ArtifactError("bad_tokenizer", f"it has {size} bytes, at most {MAX_TOKENIZER_BYTES} are read")
    return path.read_bytes()


def read_config(model_id: str, path: Path) -> dict[str, Any]:
    """The model's configuration object; raises ``artifact_invalid``."""
    try:
        if path.stat().st_size > MAX_CONFIG_BYTES:
            raise ValueError(f"more than {MAX_CONFIG_BYTES} bytes")
        config = json.loads(path.read_bytes())
        if not isinstance(config, dict):
            raise TypeError("not a JSON object")
        msgspec.json.encode(config)  # As it goes to a worker: a lone surrogate can be parsed, but not sent.
    except (ValueError, TypeError, RecursionError) as error:
        damage = ArtifactError("bad_config", f"the configuration can't be read: {error}")
        raise artifact_refusal(model_id, damage, file="config.json") from error
    return config


def artifact_refusal(model_id: str, error: ArtifactError, *, file: str) -> SynapseError:
    """An unusable file as the wire error that names it."""
    return SynapseError(
        "artifact_invalid",
        f"{file}: {error.detail}; the model needs sound files",
        details={"model_id": model_id, "file": file, "reason": error.reason},
    )
