"""Faults of a model's files as wire errors, in the shapes that the contract gives them."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from typing import Final, Literal

import msgspec

from synapse_service.catalog.blob_files import StorageFull
from synapse_service.catalog.blobs import BlobStore, DigestMismatch
from synapse_service.catalog.compiled import Catalog, CatalogEntry
from synapse_service.catalog.store_marker import StorageUnavailable
from synapse_wire.errors import SynapseError, invalid_state
from synapse_wire.results import Holder

RecoveryOp = Literal["model.load", "models.download"]
"""The operation that fetches a file again: of a free-form model, or of one of the catalog."""

_READ_ONLY: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})


def digest_refusal(error: DigestMismatch, recovery_op: RecoveryOp = "model.load") -> SynapseError:
    """A file that isn't what it should be, as the wire error that says how to mend it."""
    actual = error.actual
    return SynapseError(
        "artifact_invalid",
        f"{error}; run {recovery_op} again to fetch it",
        details={
            "file": error.name,
            "expected_sha256": error.expected_sha256,
            "actual_sha256": actual.sha256 if actual else None,
            "expected_size": error.expected_size,
            "actual_size": actual.size if actual else None,
            "recovery_op": recovery_op,
        },
    )


def fetch_failed(file: str, reason: str, message: str, http_status: int | None = None) -> SynapseError:
    """``download_failed`` for one file."""
    return SynapseError(
        "download_failed", message, details={"file": file, "reason": reason, "http_status": http_status}
    )


def storage_full(file: str, error: StorageFull) -> SynapseError:
    """``download_failed`` for the file that no longer fitted."""
    return fetch_failed(file, "storage_full", f"{error}; free some space and try again")


def disk_failure(error: OSError, blobs: BlobStore) -> SynapseError:
    """A fault of the disk that holds the models, other than being full. Looks whether the disk is there at all."""
    path = blobs.root
    try:
        blobs.require_present()
    except StorageUnavailable as gone:
        return gone
    except OSError:
        pass  # It is there, and answers with errors.
    reason = "read_only" if error.errno in _READ_ONLY else "io_error"
    where = error.filename or path
    return SynapseError(
        "store_failure",
        f"{where}: {error.strerror or error}; look at the disk that holds the models",
        details={"reason": reason, "path": str(path)},
    )


def known_entry(catalog: Catalog, catalog_id: str) -> CatalogEntry:
    """The entry of a catalog id that an operation was given.

    A derived lane id, declared or not, is ``invalid_request``; any other id that isn't a model's, ``unknown_model``.
    """
    owner = catalog.owner(catalog_id)
    if owner is not None:
        raise invalid_state(
            f"{catalog_id!r} is a lane of {owner!r}; use the id of the model", model_id=catalog_id, catalog_id=owner
        )
    entry = catalog.entry(catalog_id)
    if entry is None:
        message = f"the catalog has no model {catalog_id!r}; see models.catalog"
        raise SynapseError("unknown_model", message, details={"model_id": catalog_id})
    return entry


def not_installed(entry: CatalogEntry, lane_id: str | None, download_job_id: str | None) -> SynapseError:
    """``model_not_installed``, naming the download of the present manifest that is already under way, if one is."""
    advice = "wait for its download" if download_job_id is not None else "call models.download first"
    return SynapseError(
        "model_not_installed",
        f"{entry.id} is not installed; {advice}",
        details={
            "catalog_id": entry.id,
            "lane_id": lane_id,
            "download_op": "models.download",
            "download_job_id": download_job_id,
        },
    )


def entry_in_use(entry: CatalogEntry, holders: Sequence[Holder]) -> SynapseError:
    """The refusal of a removal that somebody who holds the model would notice."""
    return SynapseError(
        "model_in_use",
        f"{entry.id} is held by {len(holders)} holders; unload it or wait for them, and try again",
        details={"catalog_id": entry.id, "holders": msgspec.to_builtins(holders)},
    )
