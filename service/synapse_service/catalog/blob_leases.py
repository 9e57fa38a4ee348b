"""Who holds a stored file right now: jobs that need it, or are about to make it needed.

What is installed, registered or pinned is written in the database. Between the moment in which a job relies on a file
and the moment in which that is written, the file is held by a lease, and a file that is held is never taken out of the
store. Leases live in memory, because they end with the process, and may be asked for from every thread.

A *use* is shorter than a lease and about no file in particular: someone is at work in the store's folder. While the
store is *closed*, because its disk is away or its files are being moved, neither is given.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from synapse_service.catalog.store_marker import StorageUnavailable
from synapse_wire.results import BlobHolder


class BlobLease:
    """One holder's files, which it may add to. Also a ``with`` block, at whose end the lease is given back."""

    def __init__(self, book: BlobLeases, holder: BlobHolder, digests: Iterable[str]) -> None:
        self.holder = holder
        self._book = book
        self._digests = set(digests)

    def __enter__(self) -> BlobLease:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    @property
    def digests(self) -> frozenset[str]:
        return frozenset(self._digests)

    def add(self, sha256: str) -> None:
        """Hold one more file, which need not be there yet."""
        with self._book.lock:
            self._digests.add(sha256)

    def release(self) -> None:
        """Give the lease back; a second time is harmless."""
        self._book.end(self)


class BlobLeases:
    """All leases of the process."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._leases: dict[BlobLease, None] = {}
        self._uses = 0
        self._unused = threading.Condition(self.lock)
        self._closed: StorageUnavailable | None = None

    def take(self, holder: BlobHolder, digests: Iterable[str] = ()) -> BlobLease:
        """A lease on files that need not be there yet. Raises StorageUnavailable while the store is closed."""
        lease = BlobLease(self, holder, digests)
        with self.lock:
            self._require_open()
            self._leases[lease] = None
        return lease

    @contextmanager
    def using(self) -> Iterator[None]:
        """A ``with`` block of work in the store's folder. Raises StorageUnavailable while the store is closed."""
        with self.lock:
            self._require_open()
            self._uses += 1
        try:
            yield
        finally:
            with self.lock:
                self._uses -= 1
                self._unused.notify_all()

    def everyone(self) -> list[BlobHolder]:
        """The holders of all leases, whether they hold a file yet or not."""
        with self.lock:
            return [lease.holder for lease in self._leases]

    @property
    def held(self) -> bool:
        """True while there is a lease, or somebody at work in the folder."""
        with self.lock:
            return bool(self._leases) or self._uses > 0

    # --- closing the store ---

    @property
    def closed(self) -> StorageUnavailable | None:
        """Why nobody may use the store now; None while everybody may."""
        return self._closed

    def close(self, reason: StorageUnavailable) -> None:
        """Give no more leases and uses. Those that were given stay."""
        with self.lock:
            self._closed = reason

    def open(self) -> None:
        """Give leases and uses again."""
        with self.lock:
            self._closed = None

    def wait_unused(self) -> None:
        """Block until the last use has ended."""
        with self.lock:
            self._unused.wait_for(lambda: self._uses == 0)

    def _require_open(self) -> None:
        if self._closed is not None:
            raise self._closed.again()

    def end(self, lease: BlobLease) -> None:
        with self.lock:
            self._leases.pop(lease, None)

    def holders(self) -> dict[str, list[BlobHolder]]:
        """The holders of each held file, in the order in which they came."""
        found: dict[str, list[BlobHolder]] = {}
        with self.lock:
            for lease in self._leases:
                for sha256 in lease.digests:
                    found.setdefault(sha256, []).append(lease.holder)
        return found

    @contextmanager
    def unless_held(self, sha256: str) -> Iterator[bool]:
        """A ``with`` block in which nobody can begin to hold ``sha256``; yields False when somebody does already."""
        with self.lock:
            yield not any(sha256 in lease.digests for lease in self._leases)
