"""One spelling for everything that is compared or fingerprinted: canonical JSON (RFC 8785), and its SHA-256.

Plans and deployments are fingerprinted here. What is fingerprinted never holds a credential, only its reference.
"""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec
import rfc8785


def canonical_json(value: Any) -> bytes:
    """``value`` (records, mappings, sequences, sets of text, scalars) as canonical JSON.

    Raises ValueError for what JSON can't carry exactly: numbers that aren't finite, integers beyond 2**53 - 1.
    """
    # "deterministic" sorts the members of sets, which have no order of their own; lists keep theirs.
    return rfc8785.dumps(msgspec.to_builtins(value, order="deterministic"))


def fingerprint(value: Any) -> str:
    """``sha256:`` and 64 hexadecimal digits of the canonical JSON of ``value``."""
    return "sha256:" + hashlib.sha256(canonical_json(value)).hexdigest()
