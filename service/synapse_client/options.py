"""Keyword arguments of the clients that pass straight to the wire, under the wire's names. For type checkers only."""

from __future__ import annotations

from typing import Literal, TypedDict

Task = Literal["embed", "rerank", "generate"]


class Constraints(TypedDict, total=False):
    """What an inference call may demand; the contract's common request fields, with the contract's names."""

    max_queue_ms: int
    required_fingerprint: str
    allow_equivalent: bool
    required_epoch: int
    accept_declared: bool


class FileSource(TypedDict, total=False):
    """One file of a model: its URL (``file``, ``https``) and the SHA-256 of its bytes."""

    url: str
    sha256: str


class ModelOptions(TypedDict, total=False):
    """The optional members of ``model.load``."""

    source: Literal["hf", "file", "url"]
    repo: str
    revision: str
    pooling: Literal["mean", "cls", "last"]
    normalize: bool
    dtype: Literal["f32", "f16", "bf16", "int8"]
    max_tokens: int
    overlength: Literal["refuse", "truncate"]
    template: str
    profile: str
