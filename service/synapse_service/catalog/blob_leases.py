"""Who holds a stored file right now: jobs that need it, or are about to make it needed.

What is installed, registered or pinned is written in the database. Between the moment in which a job relies on a file
and the moment in which that is written, the file is held by a lease, and a file that is held is never taken out of the
store. Leases live in memory, because they end with the process, and may be asked for from every thread.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

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

    def take(self, holder: BlobHolder, digests: Iterable[str] = ()) -> BlobLease:
        """A lease on files that need not be there yet."""
        lease = BlobLease(self, holder, digests)
        with self.lock:
            self._leases[lease] = None
        return lease

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
