"""Parameters of the operations on models and their probes."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from synapse_wire.params.base import Name, Params, Sha256, Url


class FileSpec(Params, frozen=True, kw_only=True):
    """One file of a manifest: where it is, and the SHA-256 of its bytes (lower-case hex)."""

    url: Url
    sha256: Sha256 | None = None


class ModelFiles(Params, frozen=True, kw_only=True):
    """The files of a model: weights, tokenizer, and for package sets the further packages in order."""

    model: FileSpec
    tokenizer: FileSpec
    config: FileSpec | None = None
    extra: Annotated[list[FileSpec], Meta(max_length=64)] | None = None


class ModelLoad(Params, frozen=True, kw_only=True):
    """``model.load``: register a free-form model and fetch its files."""

    model_id: Name
    task: Literal["embed", "rerank", "generate"]
    engine: Name
    source: Literal["hf", "file", "url"]
    files: ModelFiles
    repo: Name | None = None
    revision: Name | None = None
    pooling: Literal["mean", "cls", "last"] | None = None
    normalize: bool | None = None
    dtype: Literal["f32", "f16", "bf16", "int8"] | None = None
    max_tokens: Annotated[int, Meta(ge=1, le=1_048_576)] | None = None
    overlength: Literal["refuse", "truncate"] | None = None
    template: Name | None = None
    profile: Name | None = None


class ModelStatus(Params, frozen=True, kw_only=True):
    """``model.status``: exactly one of the two ids."""

    job_id: Name | None = None
    model_id: Name | None = None

    def __post_init__(self) -> None:
        if (self.job_id is None) == (self.model_id is None):
            raise ValueError("give exactly one of `job_id` and `model_id` - at `$.job_id`")


class ModelUnload(msgspec.Struct, frozen=True, kw_only=True):
    """``model.unload``; further members are tolerated."""

    model_id: Name


class ModelRef(Params, frozen=True, kw_only=True):
    """An operation about one model."""

    model_id: Name


class ProbeReport(Params, frozen=True, kw_only=True):
    """``probe.report``: all lanes, or one model's."""

    model_id: Name | None = None
