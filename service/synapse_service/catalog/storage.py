"""The folder of the models: which one it is, whether it is there, and the lock that keeps other services out of it.

===============  ===============================================================  ============================
found            what it is                                                       what happens
===============  ===============================================================  ============================
right marker     the store                                                        it is locked and used
other marker     where the database knows a store: somebody else's                ``another_store``
other marker     where it knows none: a store that was carried here               it is used from now on
unreadable one   where the database knows a store: nobody can tell whose          ``another_store``
unreadable one   where it knows none                                              it gets a new marker and is used
no marker        where the database knows a store: its disk is away               ``disk_missing``
no marker        a folder that ``storage_dir`` newly names, while models lie      ``not_moved``
                 elsewhere
no marker        nothing was ever stored                                          a store is begun here
no folder        the usual one, which programs that clean up may remove           a store is begun there
no folder        one that ``storage_dir`` names                                   ``disk_missing``
===============  ===============================================================  ============================

While it can't be used, the service runs and says so: whoever needs a file is refused with the reason. :meth:`watch`
looks again every few seconds, so plugging the disk in is enough. Only a store that another service has locked keeps
this one from starting. Moving the folder is in ``storage_moves``.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from synapse_service.catalog.blobs import BlobStore
from synapse_service.catalog.disk_work import disk_work
from synapse_service.catalog.storage_records import (
    KnownStore,
    MoveRecord,
    has_models,
    known_store,
    pending_move,
    remember_store,
)
from synapse_service.catalog.store_marker import StorageUnavailable, read_marker, write_marker
from synapse_service.instance import InstanceError, InstanceLock, ModelsInUse, lock_models
from synapse_service.logs import get_logger
from synapse_service.paths import PathError, ensure_private_dir
from synapse_service.store.database import Store
from synapse_service.store.errors import StoreError
from synapse_wire.errors import SynapseError

LOOK_S: Final = 5.0
"""Between two looks at the disk."""

_log = get_logger(__name__)


class Storage:
    """The folder of the models in use. ``recover`` settles what dead processes left in it, before it is used.

    ``on_change`` hears that it can be used now, or can't any more, or for another reason. If it raises SynapseError, it
    hears that again at the next look.
    """

    def __init__(
        self,
        *,
        store: Store,
        blobs: BlobStore,
        default: Path,
        new_id: Callable[[], str],
        recover: Callable[[], None],
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        self._store = store
        self._blobs = blobs
        self._new_id = new_id
        self._recover = recover
        self._on_change = on_change
        self._lock: InstanceLock | None = None
        self._looking = asyncio.Lock()
        self._untold = False
        self.default = default
        self.moving = False

    @property
    def root(self) -> Path:
        """The folder."""
        return self._blobs.root

    @property
    def problem(self) -> StorageUnavailable | None:
        """Why the folder can't be used; None while it can, or while its files are being moved."""
        closed = self._blobs.leases.closed
        return None if closed is None or closed.reason == "moving" else closed

    def open(self) -> None:
        """Find the store for the first time. Blocks; for boot.

        Raises ModelsInUse, and PathError when the usual folder can't be used; everything else is a ``problem``.
        """
        move = self._store.read_sync(pending_move)
        problem = None if move is None else _unsettled(move, self.root)
        if problem is None:
            problem = self._found(at_boot=True)
        if problem is not None:
            _log.error("models_unavailable", reason=problem.reason, path=str(self.root))
            self._blobs.leases.close(problem)

    async def watch(self, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        """Look at the disk again and again."""
        while True:
            await sleep(LOOK_S)
            await self.look()

    async def look(self) -> None:
        """Notice that the disk went away, or came back."""
        async with self._looking:
            await self._look()

    async def looked(self) -> None:
        """Wait for the end of a look that is under way."""
        async with self._looking:
            return

    async def _look(self) -> None:
        problem = self.problem
        if self.moving or (problem is not None and problem.reason == "not_moved"):
            return
        found = await disk_work(self._found)
        if self.moving:
            return
        if not _same(found, self._blobs.leases.closed):
            self._untold = True
            if found is None:
                _log.info("models_available", path=str(self.root))
                self._blobs.leases.open()
            else:
                _log.error("models_unavailable", reason=found.reason, path=str(self.root))
                self._blobs.leases.close(found)
        if self._untold:
            try:
                self._on_change()
                self._untold = False
            except SynapseError as error:
                _log.error("models_change_not_followed", reason=error.message)

    @property
    def lock(self) -> InstanceLock | None:
        """The lock on the folder."""
        return self._lock

    def moved(self, lock: InstanceLock, store_id: str) -> InstanceLock | None:
        """The folder is another one, whose lock this is; returns the lock of the earlier one, if there was one."""
        earlier, self._lock = self._lock, lock
        self._blobs.store_id = store_id
        return earlier

    def close(self) -> None:
        """Let other services use the folder."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def _found(self, at_boot: bool = False) -> StorageUnavailable | None:
        """Why the store can't be used, after trying to. Blocks."""
        try:
            if self._lock is None or self._blobs.store_id is None or self.problem is not None:
                self._attach()
            else:
                self._blobs.require_present()
                if not self._lock.intact:  # Its file was removed, or the disk was away between two looks.
                    self._take_lock()
        except StorageUnavailable as unavailable:
            return unavailable
        except ModelsInUse as error:
            if at_boot:
                raise
            return StorageUnavailable("in_use", self.root, str(error))
        except PathError as error:
            if at_boot and self.root == self.default:
                raise
            return StorageUnavailable("unusable", self.root, str(error))
        except StoreError as error:
            return StorageUnavailable("unusable", self.root, error.message)
        except (InstanceError, OSError) as error:
            # Asked in a way that raises nothing when the disk doesn't answer.
            there, writable = os.access(self.root, os.F_OK), os.access(self.root, os.W_OK)
            reason = "read_only" if there and not writable else "unusable"
            text = None if reason == "read_only" else f"{self.root}: {error}; look at the disk of the models"
            return StorageUnavailable("read_only" if reason == "read_only" else "unusable", self.root, text)
        return None

    def _attach(self) -> None:
        root = self.root
        known = self._store.read_sync(known_store)
        here = known if known is not None and known.path == str(root) else None
        marker = read_marker(root)
        if here is not None and marker not in (None, here.store_id):
            raise StorageUnavailable("another_store", root)
        if not marker:
            self._require_new(here, known)
        ensure_private_dir(root)
        if not os.access(root, os.W_OK):
            raise StorageUnavailable("read_only", root)
        self._take_lock()
        # The disk may have been away for a moment only: what is arriving is not what a dead process left.
        held = self._blobs.leases.held
        if held:
            self._blobs.make_folders()
        else:
            self._blobs.prepare()
        store_id = marker or self._new_id()
        if not marker:
            write_marker(root, store_id)
        if here is None or here.store_id != store_id:
            self._store.write_sync(lambda: remember_store(KnownStore(str(root), store_id)))
        self._blobs.store_id = store_id
        if not held:
            self._recover()

    def _take_lock(self) -> None:
        self.close()
        self._lock = lock_models(self.root)

    def _require_new(self, here: KnownStore | None, known: KnownStore | None) -> None:
        """Refuse to begin a store where one should be already."""
        root = self.root
        usual = root == self.default
        if not root.exists():
            if not usual or root.is_symlink():
                raise StorageUnavailable("disk_missing", root)
        elif here is not None:
            raise StorageUnavailable("disk_missing", root)
        elif not usual and foreign(root):
            raise StorageUnavailable("unusable", root, foreign_message(root))
        if here is None and known is not None and self._store.read_sync(has_models):
            raise StorageUnavailable("not_moved", root)


def _same(one: StorageUnavailable | None, other: StorageUnavailable | None) -> bool:
    if one is None or other is None:
        return one is other
    return (one.reason, one.message) == (other.reason, other.message)


def foreign(root: Path) -> bool:
    """True for a folder that is no store and has things where a store clears folders of that name at each start."""
    cleared = [root / "staging", root / "packages"]
    return read_marker(root) is None and any(folder.is_dir() and any(folder.iterdir()) for folder in cleared)


def foreign_message(root: Path) -> str:
    """What to do about a foreign folder."""
    return (
        f"{root} has a folder staging or packages with files of something else; choose another folder for the models, "
        "or move those away"
    )


def _unsettled(move: MoveRecord, root: Path) -> StorageUnavailable | None:
    """The problem of an interrupted move whose end ``storage_dir`` doesn't allow."""
    allowed = {
        "bringing": (move.source,),
        "undoing": (move.source,),
        "switching": (move.source, move.target),
        "clearing": (move.target,),
    }[move.step]
    if str(root) in allowed:
        return None
    return StorageUnavailable(
        "not_moved",
        root,
        f"a move from {move.source} to {move.target} was interrupted, and storage_dir names {root} now; "
        f"set storage_dir to {' or '.join(allowed)} and start again",
    )
