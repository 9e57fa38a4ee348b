"""What of the catalog is installed: rows in the database, and a copy in memory that answers at once.

An install is the fact that one manifest's files were all here when it was committed. It is written by a download,
erased by ``models.remove``, and invalidated when one of its files turns out corrupt. An entry whose present manifest
isn't installed, while an earlier one is, is *stale*. Methods that say so run inside a closure of the store; everything
else runs on the event loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from synapse_service.catalog.blobs import BlobStore
from synapse_service.catalog.compiled import CatalogEntry, CatalogLane
from synapse_service.catalog.detached import Detached
from synapse_service.catalog.install_states import InstallState
from synapse_service.logs import get_logger
from synapse_service.store.database import Store
from synapse_service.store.errors import StoreError
from synapse_service.store.models import Install, InstallFile, Pin
from synapse_wire.results import SelfCheckState

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class InstalledManifest:
    """One installed manifest and the digests of its files."""

    manifest_digest: str
    catalog_id: str
    blobs: frozenset[str]


class Installs:
    """The installed manifests; implements ``install_states.InstallStates``.

    ``self_check`` is asked about lanes whose entry is installed.
    """

    def __init__(
        self,
        store: Store,
        blobs: BlobStore,
        detached: Detached,
        self_check: Callable[[CatalogLane], SelfCheckState],
    ) -> None:
        self._store = store
        self._blobs = blobs
        self._detached = detached
        self._self_check = self_check
        self._manifests: dict[str, InstalledManifest] = {}
        self._withdrawn: set[str] = set()
        self._callbacks: list[Callable[[str], None]] = []

    def restore(self) -> None:
        """Read what earlier processes installed. Blocks; for boot."""
        self._manifests = {found.manifest_digest: found for found in self._store.read_sync(stored_installs)}

    def on_change(self, callback: Callable[[str], None]) -> None:
        """Call ``callback`` with the catalog id of each entry whose installation has changed."""
        self._callbacks.append(callback)

    # --- what is installed ---

    def install_state(self, entry: CatalogEntry) -> InstallState:
        if entry.id in self._withdrawn:
            return "not_installed"
        if entry.manifest_digest in self._manifests:
            return "installed"
        return "stale" if self.manifests(entry.id) else "not_installed"

    def installed(self, entry: CatalogEntry) -> bool:
        """True when the entry's present manifest is installed."""
        return self.install_state(entry) == "installed"

    def self_check(self, lane: CatalogLane) -> SelfCheckState | None:
        if lane.catalog_id in self._withdrawn or lane.manifest_digest not in self._manifests:
            return None
        return self._self_check(lane)

    def manifests(self, catalog_id: str) -> list[InstalledManifest]:
        """The installed manifests of an entry, earlier ones included."""
        return [found for found in self._manifests.values() if found.catalog_id == catalog_id]

    def complete(self, entry: CatalogEntry) -> bool:
        """True when the entry is installed and its files are there in their sizes. Looks at the disk."""
        return self.installed(entry) and not missing_files(self._blobs, entry)

    # --- changes ---

    def committed(self, entry: CatalogEntry) -> None:
        """A transaction with :func:`record_install` has been committed."""
        digests = frozenset(file.sha256 for _, file in entry.spec.files.by_role())
        self._manifests[entry.manifest_digest] = InstalledManifest(entry.manifest_digest, entry.id, digests)
        self._changed([entry.id])

    def erased(self, manifests: Iterable[InstalledManifest]) -> None:
        """A transaction with :func:`erase_installs` has been committed."""
        for manifest in manifests:
            self._manifests.pop(manifest.manifest_digest, None)

    def replaced(self, manifests: Iterable[InstalledManifest]) -> None:
        """Other files are in the store now, and a transaction has left these installs."""
        before, self._manifests = self._manifests, {found.manifest_digest: found for found in manifests}
        gone = [found.catalog_id for digest, found in before.items() if digest not in self._manifests]
        self._changed(dict.fromkeys(gone))

    @contextmanager
    def withdrawn(self, catalog_id: str) -> Iterator[None]:
        """A ``with`` block in which the entry counts as not installed, so that nobody begins to use it."""
        self._withdrawn.add(catalog_id)
        try:
            yield
        finally:
            self._withdrawn.discard(catalog_id)
            self._changed([catalog_id])

    def invalidate(self, sha256: str) -> bool:
        """A file was found corrupt and taken out of the store: what needs it is no longer installed, nor it pinned.

        Holds at once, and is written down as soon as the disk takes it. False if the file is back already.
        """
        if self._blobs.find(sha256) is not None:
            return False  # A download has mended it meanwhile.
        affected = [found for found in self._manifests.values() if sha256 in found.blobs]
        for found in affected:
            del self._manifests[found.manifest_digest]
        self._detached.begin(self._write_down(sha256))
        self._changed([found.catalog_id for found in affected])
        return True

    async def _write_down(self, sha256: str) -> None:
        try:
            await self._store.write(lambda: invalidate_blob(sha256))
        except StoreError as error:
            # The next load of the model finds out again.
            _log.warning("install_not_invalidated", sha256=sha256, reason=error.reason)

    def _changed(self, catalog_ids: Iterable[str]) -> None:
        for catalog_id in catalog_ids:
            for callback in self._callbacks:
                callback(catalog_id)


# --- rows; all of these run inside a closure of the store ---


def stored_installs() -> list[InstalledManifest]:
    """Every installed manifest."""
    digests: dict[str, set[str]] = {}
    for file in InstallFile.select():
        digests.setdefault(file.manifest_digest, set()).add(file.sha256)
    return [
        InstalledManifest(row.manifest_digest, row.catalog_id, frozenset(digests.get(row.manifest_digest, ())))
        for row in Install.select().order_by(Install.installed_ms, Install.manifest_digest)
    ]


def record_install(entry: CatalogEntry, now_ms: int) -> None:
    """Write down that an entry's present manifest is installed."""
    row = {"manifest_digest": entry.manifest_digest, "catalog_id": entry.id, "installed_ms": now_ms}
    Install.insert(row).on_conflict_replace().execute()
    for role, file in entry.spec.files.by_role():
        InstallFile.create(install=entry.manifest_digest, role=role, sha256=file.sha256, size=file.size, name=file.path)


def erase_installs(catalog_id: str) -> list[InstalledManifest]:
    """Erase every installed manifest of an entry; returns what there was."""
    found = [install for install in stored_installs() if install.catalog_id == catalog_id]
    Install.delete().where(Install.catalog_id == catalog_id).execute()
    return found


def invalidate_blob(sha256: str) -> None:
    """Erase the installs that need a file, and the pins on it."""
    affected = InstallFile.select(InstallFile.install).where(InstallFile.sha256 == sha256)
    Install.delete().where(Install.manifest_digest.in_(affected)).execute()
    Pin.delete().where(Pin.sha256 == sha256).execute()


def missing_files(blobs: BlobStore, entry: CatalogEntry) -> list[str]:
    """The digests of an entry's files that aren't in the store in their size. Looks at the disk."""
    files = [file for _, file in entry.spec.files.by_role()]
    found = {file.sha256: blobs.find(file.sha256) for file in files}
    missing = [file.sha256 for file in files if (blob := found[file.sha256]) is None or blob.size != file.size]
    if missing:
        blobs.require_present()
    return missing
