"""Keyword arguments that both clients take, for type checkers only. Those of the wire have the wire's names."""

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


class BulkOptions(Constraints, total=False):
    """What ``embed_all`` may be told beside its constraints.

    ``max_job_items`` and ``max_job_bytes`` (of JSON) bound each of the jobs that it makes. ``deadline_ms`` is how long
    the service may take to accept a job, or to answer a batch that is small enough to need none. ``patience_s`` is how
    long a service that is away or refuses for the moment is tried again without any vector coming in between.
    """

    max_job_items: int
    max_job_bytes: int
    deadline_ms: int
    patience_s: float


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
