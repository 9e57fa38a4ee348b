"""One download of this process while it has not ended, and how it looks on the wire."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET

from synapse_service.catalog.blob_leases import BlobLease
from synapse_service.catalog.blobs import BlobWriter
from synapse_service.catalog.compiled import CatalogEntry, PinnedFile
from synapse_service.clock import Clock
from synapse_wire.errors import WireError
from synapse_wire.results import DownloadRow, DownloadStatus, JobRow

KIND: Final = "models.download"

DownloadState = Literal["queued", "downloading", "verifying", "committed", "failed", "cancelled"]
TerminalState = Literal["committed", "failed", "cancelled"]

TERMINAL: Final[frozenset[DownloadState]] = frozenset({"committed", "failed", "cancelled"})

WINDOW_S: Final = 5.0
"""The rate is that of the latest seconds, so that a change shows, and a gust doesn't."""
_SAMPLE_S: Final = 0.25


class RateMeter:
    """Bytes a second over the latest :data:`WINDOW_S`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._samples: deque[tuple[float, int]] = deque()

    def at(self, total: int) -> None:
        """``total`` bytes have come by now."""
        now = self._clock.monotonic()
        if len(self._samples) >= 2 and now - self._samples[-2][0] < _SAMPLE_S:
            self._samples.pop()
        self._samples.append((now, total))
        while len(self._samples) > 2 and now - self._samples[1][0] >= WINDOW_S:
            self._samples.popleft()

    @property
    def rate(self) -> float | None:
        """None before there is anything to measure. It falls while nothing comes."""
        if len(self._samples) < 2:
            return None
        (began, first), (_, last) = self._samples[0], self._samples[-1]
        elapsed = self._clock.monotonic() - began
        return (last - first) / elapsed if last > first and elapsed > 0 else None


@dataclass(frozen=True, slots=True)
class Staged:
    """A file that has arrived, and its writer, with which it goes into the store or away."""

    file: PinnedFile
    writer: BlobWriter


@dataclass(slots=True, eq=False)
class LiveDownload:
    """A download. ``lease`` holds all files of its entry, those that are here and those to come.

    ``ending`` is true once its work is over or was told to stop: what remains is to clean up, which nothing may
    interrupt. ``verifies`` is true from the moment in which its blobs may be written down or in the store.
    ``bytes_done`` and ``bytes_total`` are about the files that have to be fetched, and the second is 0 until they were
    found to fit on the disk; ``staged`` are the files that have come.
    """

    job_id: str
    entry: CatalogEntry
    client: str | None
    created_ms: int
    lease: BlobLease
    meter: RateMeter
    state: DownloadState = "queued"
    ending: bool = False
    verifies: bool = False
    bytes_done: int = 0
    bytes_total: int = 0
    terminal_ms: int | None = None
    error: WireError | None = None
    staged: list[Staged] = field(default_factory=list)

    @property
    def remaining_bytes(self) -> int:
        """Bytes that are still to be written to the disk, from the moment in which they were found to fit there."""
        return 0 if self.state in TERMINAL else self.bytes_total - self.bytes_done

    def progress(self, bytes_done: int) -> None:
        """So many bytes are here. The number never falls, although a file may have to begin anew."""
        self.bytes_done = max(self.bytes_done, min(bytes_done, self.bytes_total))
        self.meter.at(self.bytes_done)

    @property
    def rate(self) -> float | None:
        """Bytes a second, while it downloads."""
        return self.meter.rate if self.state == "downloading" else None

    @property
    def eta_ms(self) -> int | None:
        """Milliseconds until the last byte at the present rate; None while there is none."""
        rate = self.rate
        return None if rate is None else round(1000 * self.remaining_bytes / rate)

    def status(self) -> DownloadStatus:
        """The flat status of the contract."""
        return flat_status(self.job_id, self.state, self.bytes_done, self.bytes_total, _wire(self.error))

    def row(self) -> DownloadRow:
        """The download for people, with its rate."""
        rate, eta_ms = self.rate, self.eta_ms
        return DownloadRow(
            job_id=self.job_id,
            catalog_id=self.entry.id,
            state=self.state,
            bytes_done=self.bytes_done,
            bytes_total=self.bytes_total,
            created_ms=self.created_ms,
            client=UNSET if self.client is None else self.client,
            rate=UNSET if rate is None else round(rate, 1),
            eta_ms=UNSET if eta_ms is None else eta_ms,
            error=_wire(self.error),
            terminal_ms=UNSET if self.terminal_ms is None else self.terminal_ms,
        )

    def job_row(self, generation: int) -> JobRow:
        """The same as a row of ``jobs.list``, where the items are bytes."""
        row = self.row()
        return JobRow(
            job_id=row.job_id,
            kind=KIND,
            state=row.state,
            items_total=row.bytes_total,
            items_done=row.bytes_done,
            module_generation=generation,
            created_ms=row.created_ms,
            model_id=row.catalog_id,
            client=row.client,
            rate=row.rate,
            eta_ms=row.eta_ms,
            error=row.error,
            terminal_ms=row.terminal_ms,
        )


def flat_status(
    job_id: str, state: str, bytes_done: int, bytes_total: int, error: dict[str, Any] | msgspec.UnsetType
) -> DownloadStatus:
    """The flat status: bytes only while ``downloading``, an error only when there is one."""
    downloading = state == "downloading"
    return DownloadStatus(
        job_id=job_id,
        state=state,
        bytes_done=bytes_done if downloading else UNSET,
        bytes_total=bytes_total if downloading else UNSET,
        error=error,
    )


def _wire(error: WireError | None) -> dict[str, Any] | msgspec.UnsetType:
    return UNSET if error is None else msgspec.to_builtins(error)
