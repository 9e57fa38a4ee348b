"""Faults of a model's files as wire errors, in the shapes that the contract gives them."""

from __future__ import annotations

from synapse_service.catalog.blobs import DigestMismatch
from synapse_wire.errors import SynapseError


def digest_refusal(error: DigestMismatch) -> SynapseError:
    """A file that isn't what it should be, as the wire error that says how to mend it."""
    actual = error.actual
    return SynapseError(
        "artifact_invalid",
        f"{error}; run model.load again to fetch it",
        details={
            "file": error.name,
            "expected_sha256": error.expected_sha256,
            "actual_sha256": actual.sha256 if actual else None,
            "expected_size": error.expected_size,
            "actual_size": actual.size if actual else None,
            "recovery_op": "model.load",
        },
    )


def fetch_failed(file: str, reason: str, message: str, http_status: int | None = None) -> SynapseError:
    """``download_failed`` for one file."""
    return SynapseError(
        "download_failed", message, details={"file": file, "reason": reason, "http_status": http_status}
    )
