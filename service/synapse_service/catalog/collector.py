"""Taking files out of the store that nobody needs any more.

Removal has two phases. In the first, inside a transaction of the store's one writing thread, rows are changed, the
roots are looked at, and files without one are renamed out of the store, unless a lease holds them. When the
transaction is committed, the second phase removes them; when it fails, they are put back. What a crash leaves between
the two is settled at the next start by the same question, whether anything needs the file.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from synapse_service.catalog.blobs import BlobStore, Condemned
from synapse_service.catalog.disk_work import disk_work
from synapse_service.catalog.refusals import disk_failure
from synapse_service.catalog.roots import Holders, Roots, merged, stored_holders
from synapse_service.logs import get_logger
from synapse_service.store.database import Store
from synapse_service.store.models import DownloadBlob
from synapse_wire.results import BlobHolder

T = TypeVar("T")

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Collected:
    """Files that were removed, and the bytes that this gave back."""

    digests: tuple[str, ...]
    freed_bytes: int


@dataclass(frozen=True, slots=True)
class Survey:
    """The store at one moment: the size of each file, those that are corrupt and kept aside, and who needs what.

    ``abandoned_bytes`` are those of packages that a dead worker was unpacking.
    """

    sizes: dict[str, int]
    quarantined: dict[str, int]
    holders: dict[str, list[BlobHolder]]
    abandoned_bytes: int

    @property
    def unneeded(self) -> dict[str, int]:
        """The files that nobody needs."""
        return {sha256: size for sha256, size in self.sizes.items() if sha256 not in self.holders}

    @property
    def reclaimable_bytes(self) -> int:
        """What a collection would give back."""
        return sum(self.unneeded.values()) + sum(self.quarantined.values()) + self.abandoned_bytes


class Collector:
    """Removes files; the only part of the service that does."""

    def __init__(self, store: Store, blobs: BlobStore, roots: Roots) -> None:
        self._store = store
        self._blobs = blobs
        self._roots = roots

    def recover(self) -> None:
        """Settle what dead processes left: files half removed, and files of downloads that never committed.

        Blocks; for boot, before anything holds a file.
        """
        unfinished: list[Condemned] = []

        def step() -> None:
            needed = stored_holders()
            for condemned in self._blobs.condemned():
                if condemned.sha256 in needed:
                    self._blobs.restore(condemned)
                else:
                    unfinished.append(condemned)
            published = [row.sha256 for row in DownloadBlob.select()]
            DownloadBlob.delete().execute()
            unfinished.extend(self._condemn(published, needed))

        self._store.write_sync(step)
        freed = sum(map(self._blobs.destroy, unfinished))
        if freed:
            _log.info("leftover_files_removed", files=len(unfinished), bytes=freed)

    async def remove(self, change: Callable[[], tuple[T, Iterable[str]]]) -> tuple[T, Collected]:
        """Run ``change`` in a transaction and remove those files that it names and that nothing needs after it.

        The transaction is in the queue before this waits for anything. Raises StoreError, and ``store_failure`` when
        the files can't be moved; then nothing has changed. It should not be cancelled: what it was doing would be
        settled at the next start only.
        """
        with self._blobs.leases.using():
            return await self._remove(change)

    async def _remove(self, change: Callable[[], tuple[T, Iterable[str]]]) -> tuple[T, Collected]:
        live = self._roots.live()
        condemned: list[Condemned] = []

        def step() -> T:
            result, digests = change()
            condemned.extend(self._condemn(digests, merged(stored_holders(), live)))
            return result

        try:
            with self._disk_failures():
                result = await self._store.write(step)
        except Exception:
            for each in condemned:
                with contextlib.suppress(OSError):
                    await disk_work(self._blobs.restore, each)
            raise
        freed = [await disk_work(self._destroy, each) for each in condemned]
        return result, Collected(tuple(each.sha256 for each in condemned), sum(freed))

    async def collect(self) -> tuple[Collected, Survey]:
        """Remove every file that nobody needs, the corrupt ones, and what dead workers left.

        Returns what went, and what is there now.
        """
        with self._blobs.leases.using(), self._disk_failures():
            sizes = await disk_work(self._blobs.sizes)
            _, collected = await self._remove(lambda: (None, sizes))
            digests, freed = list(collected.digests), collected.freed_bytes
            for sha256 in await disk_work(self._blobs.quarantined):
                digests.append(sha256)
                freed += await disk_work(self._blobs.forget_quarantined, sha256)
            freed += await disk_work(self._blobs.remove_abandoned)
            survey = await self._survey()
        return Collected(tuple(digests), freed), survey

    async def survey(self) -> Survey:
        """Who needs which file."""
        with self._blobs.leases.using(), self._disk_failures():
            return await self._survey()

    async def _survey(self) -> Survey:
        sizes = await disk_work(self._blobs.sizes)
        quarantined = await disk_work(self._blobs.quarantined)
        abandoned_bytes = await disk_work(self._blobs.abandoned_bytes)
        live = self._roots.live()
        stored = await self._store.read(stored_holders)
        return Survey(sizes, quarantined, merged(stored, live), abandoned_bytes)

    def _condemn(self, digests: Iterable[str], needed: Holders) -> list[Condemned]:
        """The first phase, inside a transaction."""
        self._blobs.require_present()
        condemned: list[Condemned] = []
        try:
            for sha256 in digests:
                if sha256 not in needed and (taken := self._blobs.condemn(sha256)) is not None:
                    condemned.append(taken)
        except OSError:
            for each in condemned:
                self._blobs.restore(each)
            raise
        return condemned

    @contextmanager
    def _disk_failures(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise disk_failure(error, self._blobs) from error

    def _destroy(self, condemned: Condemned) -> int:
        """The second phase. What can't be removed now is removed at the next start, and counts as not freed."""
        try:
            return self._blobs.destroy(condemned)
        except OSError as error:
            _log.warning("file_not_removed", sha256=condemned.sha256, reason=error.strerror)
            return 0
