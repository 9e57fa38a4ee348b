"""One move of the models in this process while it has not ended, and how it looks on the wire."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final, Literal

import msgspec
from msgspec import UNSET

from synapse_service.catalog import storage_files as files
from synapse_service.catalog.download_job import RateMeter
from synapse_service.catalog.storage_records import MoveRecord
from synapse_wire.errors import SynapseError
from synapse_wire.results import StorageMove

MoveState = Literal["bringing", "switching", "clearing", "undoing", "done", "failed", "cancelled"]
ENDED: Final = frozenset({"done", "failed", "cancelled"})


class LiveMove:
    """One move of this process. ``bytes_done`` is counted by the thread that works, and read from the loop."""

    def __init__(self, record: MoveRecord, meter: RateMeter) -> None:
        self.record = record
        self.state: MoveState = record.step
        self.meter = meter
        self.bytes_done = 0
        self.bytes_total = 0
        self.files_total = 0
        self.brought = files.Brought(self._step)
        self.missing: list[str] = []
        self.error: SynapseError | None = None
        self.cancelled = False
        self.stop = threading.Event()
        self.on_step: Callable[[], None] = lambda: None
        self.target: files.Target | None = None

    def _step(self, size: int) -> None:
        if self.stop.is_set():
            raise files.Stopped
        self.bytes_done += size
        self.on_step()

    @property
    def opened(self) -> files.Target:
        """The new folder, once it is locked."""
        assert self.target is not None
        return self.target

    def row(self) -> StorageMove:
        """The move for people to see."""
        record = self.record
        rate = self.meter.rate if self.state == "bringing" else None
        return StorageMove(
            move_id=record.move_id,
            mode=record.mode,
            state=self.state,
            from_path=record.source,
            to_path=record.target,
            files_done=self.brought.files,
            files_total=self.files_total,
            bytes_done=min(self.bytes_done, self.bytes_total),
            bytes_total=self.bytes_total,
            started_ms=record.started_ms,
            rate=UNSET if rate is None else round(rate, 1),
            eta_ms=UNSET if rate is None else round(1000 * max(0, self.bytes_total - self.bytes_done) / rate),
            corrupt=list(self.brought.corrupt),
            missing=list(self.missing),
            error=UNSET if self.error is None else msgspec.to_builtins(self.error.to_wire()),
        )
