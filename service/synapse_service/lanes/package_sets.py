"""Sets of compiled packages for the Neural Engine, as the service sees them before a worker does.

``registration`` looks into the archives of a manifest here, without unpacking them; ``loader`` tells the worker which
they are and where to unpack them. Both block, and run in worker threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from synapse_engines.coreml import packages
from synapse_engines.errors import ArtifactError
from synapse_engines.worker.protocol import PackageFile
from synapse_service.catalog.blobs import BlobStore
from synapse_service.catalog.sources import Role
from synapse_service.lanes.model import LaneModel, StoredFile, artifact_refusal

PACKAGE_ROLES: Final[frozenset[Role]] = frozenset({"model", "extra"})
"""The files of a set that are packages."""


@dataclass(frozen=True, slots=True)
class FoundSet:
    """What the packages of a set are together: their buckets, ascending, and the length of their vectors."""

    ladder: tuple[int, ...]
    dims: int


def read_set(model_id: str, files: Sequence[tuple[StoredFile, Path]]) -> FoundSet:
    """Look into every package of a set; raises ``artifact_invalid`` naming the file that can't be a part of it."""
    found = []
    for file, path in files:
        try:
            found.append((file.name, packages.read_package(path)))
        except ArtifactError as error:
            raise artifact_refusal(model_id, error, file=file.name) from error
    try:
        return FoundSet(packages.ladder(found), found[0][1].dims)
    except ArtifactError as error:
        raise artifact_refusal(model_id, error, file=error.file or files[0][0].name) from error


def package_files(model: LaneModel, blobs: BlobStore) -> tuple[PackageFile, ...]:
    """The archives of a lane, in the order of its manifest; none where its model is no set."""
    if not model.ladder:
        return ()
    files = [file for file in model.files if file.role in PACKAGE_ROLES]
    return tuple(PackageFile(str(blobs.path(file.sha256)), file.sha256) for file in files)
