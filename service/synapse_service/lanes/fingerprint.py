"""The identity of a lane: one string that changes with everything that could move a vector.

``fingerprint = "syn1-" + sha256(JCS({model_digest, quant, numeric_profile_id}))``, where the numeric profile covers
the engine and its declared build, the sanitised tokenizer, pooling, normalisation, number format, the lengths served
and the class of threading. All of it is known without loading the model. The processor's instruction set is not part
of it. Clients store the string and compare it; nobody parses it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final, Literal

import msgspec
import rfc8785

from synapse_engines.composition import Composition
from synapse_engines.families import Pooling
from synapse_engines.readout import Readout

FINGERPRINT_PREFIX: Final = "syn1-"
"""Begins every fingerprint; a model id can't begin with it, so that one name is never read as the other."""


class NumericProfile(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Everything beside the weights that could move a vector."""

    engine: str
    engine_build: str
    tokenizer_digest: str
    pooling: Pooling
    normalization: Literal["l2", "none"]
    dtype: Literal["f32", "f16", "bf16"]
    shape_envelope: str
    thread_class: str
    template: str | None = None
    readout: str | None = None

    @property
    def id(self) -> str:
        return canonical_sha256(msgspec.to_builtins(self))


def canonical_sha256(value: object) -> str:
    """SHA-256 (lower-case hex) of the canonical JSON of ``value``, as RFC 8785 defines it."""
    return hashlib.sha256(rfc8785.dumps(value)).hexdigest()  # type: ignore[arg-type]


def part_digest(part: Composition | Readout) -> str:
    """The digest of a composition or a read-out, which is what a numeric profile says of them."""
    return canonical_sha256(msgspec.to_builtins(part))


def model_digest(files: Sequence[tuple[str, str]]) -> str:
    """One digest for an ordered set of (role, SHA-256): configuration and weights both shape the numbers."""
    return canonical_sha256([{"role": role, "sha256": sha256} for role, sha256 in files])


def fingerprint(model: str, quant: str, profile: NumericProfile) -> str:
    """The fingerprint of a lane."""
    digest = canonical_sha256({"model_digest": model, "quant": quant, "numeric_profile_id": profile.id})
    return FINGERPRINT_PREFIX + digest
