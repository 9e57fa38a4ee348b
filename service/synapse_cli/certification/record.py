"""The record of a certification, schema 3: what was certified, on what, and how near it came to the gates.

``docs/certification.md`` describes every member. A record holds digests, figures and the environment; no text of a
fixture, no vector, and no id of a device. It exists only when everything passed, and appears in one step.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any, Final

import msgspec
import rfc8785
from msgspec import UNSET, UnsetType

from synapse_cli.reporting import CommandError

SCHEMA: Final = 3


class _Part(msgspec.Struct, frozen=True, kw_only=True):
    """Base of a record's objects. An absent member is unset, never null, unless its type says null."""


class Tool(_Part, frozen=True, kw_only=True):
    name: str
    version: str


class Service(_Part, frozen=True, kw_only=True):
    version: str
    protocol: int
    settings: dict[str, Any]


class Subject(_Part, frozen=True, kw_only=True):
    """The lane that was certified. ``fingerprint`` is the catalog's pin."""

    catalog_id: str
    lane_id: str
    backend: str
    task: str
    engine: str
    dtype: str
    fingerprint: str
    catalog_revision: str
    manifest_digest: str
    hf_repo: str
    revision: str


class Checkout(_Part, frozen=True, kw_only=True):
    """``revision`` and ``clean`` are null where the tree is no git repository of its own."""

    revision: str | None
    clean: bool | None
    catalog_sha256: str


class File(_Part, frozen=True, kw_only=True):
    path: str
    size: int
    sha256: str


class AssetsUsed(_Part, frozen=True, kw_only=True):
    sha256: str
    source: str
    fixtures: int


class SelfCheck(_Part, frozen=True, kw_only=True):
    state: str
    check_id: str
    evidence: dict[str, Any]


class Observed(_Part, frozen=True, kw_only=True):
    available: bool
    inventories: list[dict[str, Any]]
    worker_requests: dict[str, int]
    admitted_count: int


class GpuUsed(_Part, frozen=True, kw_only=True):
    name: str
    driver: str
    uuid_sha256: str


class MachineUsed(_Part, frozen=True, kw_only=True):
    """``profile`` is what the service keys certifications by."""

    profile: dict[str, Any]
    platform_uuid_sha256: str | UnsetType = UNSET
    gpu: GpuUsed | UnsetType = UNSET


class Environment(_Part, frozen=True, kw_only=True):
    python: str
    libraries: dict[str, str]


class Record(_Part, frozen=True, kw_only=True):
    """One certification. ``fixtures`` are in the order in which they were asked."""

    schema_version: int
    row: str
    outcome: str
    started_at_ms: int
    finished_at_ms: int
    tool: Tool
    service: Service
    subject: Subject
    checkout: Checkout
    mirror: list[File]
    assets: AssetsUsed
    self_check: SelfCheck
    figures: dict[str, float]
    fixtures: list[dict[str, Any]]
    observations: Observed
    machine: MachineUsed
    environment: Environment


def seal(record: Record) -> bytes:
    """The record as it is written: indented JSON with ``record_sha256``, the digest of everything else.

    The digest is SHA-256 of the canonical JSON (RFC 8785) of the record without that member.
    """
    plain = msgspec.to_builtins(record)
    plain["record_sha256"] = hashlib.sha256(rfc8785.dumps(plain)).hexdigest()
    return msgspec.json.format(msgspec.json.encode(plain), indent=2) + b"\n"


def intact(data: bytes) -> bool:
    """True for a record that is as it was sealed."""
    plain = msgspec.json.decode(data)
    digest = plain.pop("record_sha256", None)
    return bool(digest == hashlib.sha256(rfc8785.dumps(plain)).hexdigest())


def write(record: Record, file: Path) -> None:
    """Put the record in its place, in one step that survives a crash; an earlier one is replaced.

    Raises CommandError.
    """
    temporary = file.with_name(f".{file.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as stream:
            stream.write(seal(record))
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(file)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise CommandError(
            "record_unwritable", f"{file} can't be written ({error.strerror})", "Give another place with --record."
        ) from error
