"""The marker of a store: one small file at the top of its folder, with an id that only this store has.

A disk that isn't plugged in leaves an empty folder, or none, where the models should be. Without the marker that looks
like a store in which everything was deleted, and a new one would be begun on the wrong disk. The database remembers
the id that belongs to the folder, so the service tells the two apart.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Final, Literal, get_args

from synapse_service.catalog.blob_files import open_regular
from synapse_service.durable_files import sync_file, sync_folder
from synapse_wire.errors import SynapseError

MARKER: Final = "store.json"
_FORMAT: Final = 1

Reason = Literal["disk_missing", "another_store", "not_moved", "in_use", "read_only", "unusable", "moving"]
REASONS: Final[frozenset[str]] = frozenset(get_args(Reason))

_MESSAGES: Final[dict[Reason, str]] = {
    "disk_missing": "the models are not there; plug in or mount their disk, or choose another folder with storage.move",
    "another_store": "these are not the models that were here; put the right disk back, or take them over with "
    "storage.move and the mode adopt",
    "not_moved": "storage_dir names this folder, and the models are still in another; set storage_dir back, or begin "
    "with what is here by storage.move and the mode adopt",
    "in_use": "another service uses these models; stop it, or choose another folder with storage.move",
    "read_only": "the disk of the models can't be written; mount it writable, or choose another with storage.move",
    "unusable": "the folder of the models can't be used",
    "moving": "the models are being moved; try again when that is done, see storage.status",
}


class StorageUnavailable(SynapseError):
    """The folder of the models can't be used now: ``store_failure`` on the wire. ``path`` is that folder."""

    def __init__(self, reason: Reason, path: Path, message: str | None = None) -> None:
        text = f"{path}: {_MESSAGES[reason]}" if message is None else message
        super().__init__("store_failure", text, details={"reason": reason, "path": str(path)})
        self.reason: Reason = reason
        self.path = path

    def again(self) -> StorageUnavailable:
        """The same for another caller: an exception belongs to the one that it was raised to."""
        return StorageUnavailable(self.reason, self.path, self.message)


def read_marker(root: Path) -> str | None:
    """The id of the store in ``root``; None when there is no store, and an empty text when nobody can tell which.

    Raises OSError when the disk doesn't answer.
    """
    try:
        with open_regular(root / MARKER) as stream:
            content = stream.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        return str(json.loads(content)["store_id"])
    except (ValueError, TypeError, LookupError, RecursionError):
        return ""


def write_marker(root: Path, store_id: str) -> None:
    """Say that ``root`` is this store, in one step that lasts. Raises OSError."""
    temporary = root / f".{MARKER}.tmp"
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as stream:
        stream.write(json.dumps({"format": _FORMAT, "store_id": store_id}).encode() + b"\n")
        stream.flush()
        sync_file(stream)
    temporary.replace(root / MARKER)
    sync_folder(root)


def remove_marker(root: Path) -> None:
    """Say that ``root`` is a store no more. Raises OSError."""
    (root / MARKER).unlink(missing_ok=True)
    sync_folder(root)
