"""A thread of its own for a connection to the database, on which closures run one after another.

Used by ``database``, for writing and for reading.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from pathlib import Path
from typing import TypeVar

import peewee

from synapse_service.store.errors import StoreError, store_error
from synapse_service.store.models import DATABASE
from synapse_service.store.opening import suspect_mark

T = TypeVar("T")


class ConnectionThread:
    """Runs closures in order, each in a transaction of its own, and ``after`` behind each commit."""

    def __init__(
        self,
        name: str,
        path: Path,
        *,
        writable: bool,
        after: Callable[[], None] = lambda: None,
    ) -> None:
        self._path = path
        self._writable = writable
        self._after = after
        self._begin = "IMMEDIATE" if writable else "DEFERRED"
        self._executor = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._lock = threading.Lock()
        self._submitted = self._ended = 0
        self._closing: Future[None] | None = None
        self._out_of_patience = False
        self._connection: sqlite3.Connection | None = None
        self._process = os.getpid()

    def submit(self, fn: Callable[[], T], *, transaction: bool = True) -> Future[T]:
        """Have ``fn`` run after what was submitted before; raises StoreError once the thread is closed."""
        # A forked child has neither the thread nor, perhaps, a lock that anyone will release.
        if self._process != os.getpid():
            raise StoreError("closed", self._path)
        with self._lock:
            if self._closing is not None:
                raise StoreError("closed", self._path)
            self._submitted += 1
            future = self._executor.submit(self._run, fn, transaction)
        # Also when it is cancelled before its turn. Whoever waits for the result is told after this.
        future.add_done_callback(self._count_end)
        return future

    @property
    def settled(self) -> int | None:
        """How many closures there have been, None while one waits or runs."""
        with self._lock:
            return self._submitted if self._submitted == self._ended else None

    def close(self, timeout_s: float) -> None:
        with self._lock:
            if self._closing is None:
                self._closing = self._executor.submit(self._disconnect)
                self._executor.shutdown(wait=False)
        try:
            self._closing.result(timeout_s)
        except FutureTimeout:
            self._out_of_patience = True
            if self._connection is not None:
                self._connection.interrupt()

    def _count_end(self, _: Future[T]) -> None:
        with self._lock:
            self._ended += 1

    def _run(self, fn: Callable[[], T], transaction: bool) -> T:
        if self._out_of_patience:
            raise StoreError("closed", self._path)
        try:
            self._connection = DATABASE.open_here(self._path, writable=self._writable)
            with DATABASE.atomic(self._begin) if transaction else contextlib.nullcontext():
                result = fn()
            if transaction:
                self._after()
            return result
        except (peewee.PeeweeException, sqlite3.Error) as error:
            failure = store_error(error, self._path)
            if failure is None:
                raise
            if failure.reason == "corrupt":
                with contextlib.suppress(OSError):
                    suspect_mark(self._path).touch(0o600)
            raise failure from error
        finally:
            if self._connection is not None and self._connection.in_transaction:
                # Even the rollback failed. Closing undoes the transaction, and the next closure connects anew.
                self._disconnect()

    def _disconnect(self) -> None:
        self._connection = None
        DATABASE.close()
