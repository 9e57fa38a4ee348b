"""The assets: for each model, requests and the figures that must come out, computed elsewhere and pinned to its files.

A file ``<assets>/<catalog_id>.json`` has the form of :class:`EmbedAssets` or :class:`RerankAssets`, which
``docs/certification.md`` describes. Figures of other files than those that are certified are refused.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta

from synapse_cli.certification.mirror import MirrorFile
from synapse_cli.reporting import CommandError

Sha256 = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]
Gate = Annotated[float, Meta(gt=0, lt=1)]
Id = Annotated[str, Meta(min_length=1, max_length=256)]
TokenIds = Annotated[tuple[int, ...], Meta(min_length=1)]


class _Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of the file's objects."""


class Pinned(_Part, frozen=True, kw_only=True):
    """The files that the figures were computed from."""

    revision: str
    model_sha256: Sha256
    tokenizer_sha256: Sha256


class EmbedGates(_Part, frozen=True, kw_only=True):
    """Lowest cosine to the expected vector, and how far from 1 a vector's length may lie."""

    cosine_min: Gate
    norm_error_max: Gate


class RerankGates(_Part, frozen=True, kw_only=True):
    """Largest error of a score by the lane's number format, and the gap from which two candidates have an order."""

    score_error_max: dict[Literal["f32", "f16", "bf16"], Gate]
    graded_gap: Gate


class EmbedFixture(_Part, frozen=True, kw_only=True):
    """One text, the ids that the engine must get for it, and its vector."""

    id: Id
    text: str
    input_ids: TokenIds
    vector: Annotated[tuple[float, ...], Meta(min_length=1)]


class Candidate(_Part, frozen=True, kw_only=True):
    """One candidate, the ids that the engine must get for it, and its score."""

    id: Id
    text: str
    input_ids: TokenIds
    score: float


class RerankFixture(_Part, frozen=True, kw_only=True):
    """One query with its candidates."""

    id: Id
    query: str
    candidates: Annotated[tuple[Candidate, ...], Meta(min_length=1)]


class _Assets(_Part, frozen=True, kw_only=True):
    schema: Literal["synapse-certify-assets/1"]
    catalog_id: Id
    source: str
    model: Pinned


class EmbedAssets(_Assets, frozen=True, kw_only=True, tag_field="task", tag="embed"):
    """The assets of an embedding model."""

    gates: EmbedGates
    fixtures: Annotated[tuple[EmbedFixture, ...], Meta(min_length=1)]


class RerankAssets(_Assets, frozen=True, kw_only=True, tag_field="task", tag="rerank"):
    """The assets of a reranking model; ``readout_ids`` are (yes, no) where the score is read from two tokens."""

    gates: RerankGates
    readout_ids: tuple[int, ...] = ()
    fixtures: Annotated[tuple[RerankFixture, ...], Meta(min_length=1)]


Assets: TypeAlias = EmbedAssets | RerankAssets


@dataclass(frozen=True, slots=True)
class Loaded:
    """The assets of one model, and the digest of their file."""

    assets: Assets
    sha256: str

    @property
    def fixtures(self) -> tuple[EmbedFixture | RerankFixture, ...]:
        """What is asked, in order."""
        return self.assets.fixtures

    @property
    def task(self) -> str:
        return "embed" if isinstance(self.assets, EmbedAssets) else "rerank"


def load(folder: Path, catalog_id: str) -> Loaded:
    """The assets of a model; raises CommandError."""
    file = folder / f"{catalog_id}.json"
    try:
        data = file.read_bytes()
        assets: Assets = msgspec.json.decode(data, type=Assets)
    except OSError as error:
        raise CommandError(
            "assets_unreadable",
            f"{file} can't be read ({error.strerror})",
            "Give --assets the folder that holds one file of figures for each model.",
        ) from error
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise _damaged(file, str(error)) from error
    if assets.catalog_id != catalog_id:
        raise _damaged(file, f"it is about {assets.catalog_id}")
    ids = [fixture.id for fixture in Loaded(assets, "").fixtures]
    if len(set(ids)) < len(ids):
        raise _damaged(file, "a fixture stands twice")
    return Loaded(assets, hashlib.sha256(data).hexdigest())


def require_same_files(assets: Assets, revision: str, files: list[MirrorFile]) -> None:
    """Refuse figures that were computed from other files than the mirror has; raises CommandError."""
    digests = {file.sha256 for file in files}
    pinned = assets.model
    if pinned.revision != revision or not {pinned.model_sha256, pinned.tokenizer_sha256} <= digests:
        raise CommandError(
            "assets_of_other_files",
            f"the figures of {assets.catalog_id} are about other files or another revision than the mirror's",
            "Use the assets that belong to the catalog's revision, or correct the mirror.",
        )


def _damaged(file: Path, problem: str) -> CommandError:
    return CommandError(
        "assets_damaged", f"{file} is not a file of figures: {problem}", "Get it from its source again."
    )
