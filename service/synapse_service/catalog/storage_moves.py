"""Changing the folder of the models while the service runs, in a way that a crash at any moment can't spoil.

==========  ==================================  =========  ============================================================
step        event                               next       effect
==========  ==================================  =========  ============================================================
(none)      accepted: nobody holds a file, the  bringing   the store is closed, the new folder locked; the record is
            new folder will do, it has room                written before a byte is
bringing    every file is there and proven      switching  recorded; then the new folder gets the store's marker
bringing,   a fault, or a cancellation          undoing    recorded; then what was brought goes, the marker too
switching
undoing     the new folder is as it was         (none)     the record goes; ``failed`` or ``cancelled``
switching   ``storage_dir`` was replaced: the   clearing   one transaction: the store's new place; after an adoption,
            fence                                          installs whose files are missing are erased. The store opens
clearing    the old folder is empty             (none)     the record goes; ``done``. An adoption clears nothing
==========  ==================================  =========  ============================================================

The *fence* is the replacement of the configuration file, one rename. Before it the old folder is the store, and whole;
after it the new one is. What the next start does with a record: ``bringing``, and ``switching`` with the old
``storage_dir``, go on bringing; ``switching`` with the new one passes on to clearing; ``undoing`` and ``clearing`` go
on. A start that can't go on undoes the move, and if the new disk is away even that is not needed for the old folder to
serve.

Runs on the event loop; the work on files is in ``storage_files``, in threads. An adoption moves nothing: it proves what
lies in the new folder and leaves the old one alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec
from msgspec import UNSET

from synapse_service.catalog import storage_files as files
from synapse_service.catalog import storage_records as records
from synapse_service.catalog.blob_files import BlobError
from synapse_service.catalog.blobs import BlobStore
from synapse_service.catalog.disk_work import disk_work
from synapse_service.catalog.download_job import RateMeter
from synapse_service.catalog.installs import InstalledManifest, invalidate_blob, stored_installs
from synapse_service.catalog.pins import stored_pins
from synapse_service.catalog.roots import stored_holders
from synapse_service.catalog.storage import Storage
from synapse_service.catalog.storage_move import ENDED, LiveMove, MoveState
from synapse_service.catalog.storage_records import KnownStore, Mode, MoveRecord, Step
from synapse_service.catalog.store_marker import StorageUnavailable
from synapse_service.clock import Clock
from synapse_service.failures import where
from synapse_service.instance import InstanceError, InstanceLock
from synapse_service.logs import get_logger
from synapse_service.paths import PathError
from synapse_service.settings.store import SettingsStore
from synapse_service.store.database import Store
from synapse_wire.errors import SynapseError, invalid_state
from synapse_wire.results import Holder, ModelPin, StorageMove, StorageStatus

SETTING: Final = "storage_dir"

_FAULTS: Final = (SynapseError, OSError, BlobError, InstanceError, PathError, files.Stopped)

_log = get_logger(__name__)


class StorageMoves:
    """All moves: at most one is under way. ``holders`` names those who would notice; ``adopted`` hears what is
    installed and pinned after an adoption."""

    def __init__(
        self,
        *,
        storage: Storage,
        store: Store,
        blobs: BlobStore,
        settings: SettingsStore,
        clock: Clock,
        new_id: Callable[[], str],
        holders: Callable[[], list[Holder]],
        adopted: Callable[[list[InstalledManifest], list[tuple[str, ModelPin]]], None],
        publish: Callable[[bool], None],
    ) -> None:
        self._storage = storage
        self._store = store
        self._blobs = blobs
        self._settings = settings
        self._clock = clock
        self._new_id = new_id
        self._holders = holders
        self._adopted = adopted
        self._publish = publish
        self._starting = False
        self._task: asyncio.Task[None] | None = None
        self.latest: LiveMove | None = None

    @property
    def live(self) -> LiveMove | None:
        """The move that is under way."""
        return self.latest if self.latest is not None and self.latest.state not in ENDED else None

    def status(self) -> StorageStatus:
        """Where the models are, and how far their move is."""
        problem, store_id = self._storage.problem, self._blobs.store_id
        state = "moving" if self._storage.moving else "ready" if problem is None else "unavailable"
        return StorageStatus(
            path=str(self._storage.root),
            default_path=str(self._storage.default),
            state=state,
            store_id=UNSET if store_id is None or problem is not None else store_id,
            error=UNSET if problem is None else msgspec.to_builtins(problem.to_wire()),
            move=UNSET if self.latest is None else self.latest.row(),
        )

    # --- asking for a move ---

    async def start(self, path: str | None, mode: Mode) -> StorageMove:
        """Begin to move the models to ``path``, or to the usual folder; or to use what lies there.

        Raises ``invalid_request``, ``model_in_use`` and ``store_failure``; then nothing has changed.
        """
        setting = self._settings.checked(SETTING, path, "path")
        source, target = self._storage.root, Path(setting) if setting is not None else self._storage.default
        self._require_sensible(source, target, mode)
        self._require_free(source)
        self._starting = self._storage.moving = True
        problem = self._storage.problem
        self._blobs.leases.close(StorageUnavailable("moving", source))
        try:
            await self._storage.looked()
            await disk_work(self._blobs.leases.wait_unused)
            if problem is not None:
                self._storage.close()  # The lock may be on the folder that is to be adopted.
            store_id = self._blobs.store_id
            opened = await disk_work(
                files.open_target, target, mode, store_id, None if problem is not None else self._blobs
            )
            record = MoveRecord(
                move_id=self._new_id(),
                mode=mode,
                source=str(source),
                target=str(target),
                setting=setting,
                store_id=store_id if mode == "move" and store_id is not None else self._new_id(),
                links=opened.links,
                before=opened.before,
                marker_before=opened.marker,
                made_root=opened.made_root,
                started_ms=self._clock.wall_ms(),
            )
            try:
                await self._store.write(lambda: records.remember_move(record))
            except BaseException:
                await disk_work(files.abandon, opened)
                raise
        except BaseException as error:
            self._release(problem)
            if isinstance(error, OSError):
                raise files.refusal(error, target) from error
            raise
        finally:
            self._starting = False
        return self._begin(record, opened).row()

    def _require_sensible(self, source: Path, target: Path, mode: Mode) -> None:
        if self._starting or self.live is not None:
            raise invalid_state("the models are being moved already; see storage.status", reason="moving")
        problem = self._storage.problem
        if mode == "move" and problem is not None:
            raise problem.again()
        files.require_apart(source, target, here=problem is None)

    def _require_free(self, source: Path) -> None:
        holders = self._holders()
        if holders:
            raise SynapseError(
                "model_in_use",
                f"the models in {source} are held by {len(holders)} holders; unload them or wait, and try again",
                details={"catalog_id": None, "holders": msgspec.to_builtins(holders)},
            )

    def _release(self, problem: StorageUnavailable | None) -> None:
        """Let everyone use the store again, wherever it is."""
        self._storage.moving = False
        if problem is None:
            self._blobs.leases.open()
        else:
            self._blobs.leases.close(problem)

    async def cancel(self) -> StorageMove:
        """Take the move back. Raises ``invalid_request`` when it is too late, or when there is none."""
        move = self.live
        if move is None:
            raise invalid_state("no move of the models is under way", reason="no_move")
        if move.state != "bringing":
            raise invalid_state(
                f"the move is {move.state} and can't be taken back; move the models again", reason="late"
            )
        move.cancelled = True
        move.stop.set()
        assert self._task is not None
        await asyncio.wait([self._task])
        return move.row()

    # --- the work ---

    def resume(self) -> None:
        """Go on with what an earlier process left. For boot, and for the moment in which the disk is back."""
        if self._storage.problem is not None or self.live is not None or self._starting:
            return  # Tried again when the disk is back.
        record = self._store.read_sync(records.pending_move)
        if record is None:
            return
        _log.info("move_resumed", step=record.step, source=record.source, target=record.target)
        if record.step != "clearing":
            self._storage.moving = True
            self._blobs.leases.close(StorageUnavailable("moving", Path(record.source)))
        self._begin(record, None)

    def _begin(self, record: MoveRecord, opened: files.Target | None) -> LiveMove:
        move = self.latest = LiveMove(record, RateMeter(self._clock))
        move.target = opened
        loop = asyncio.get_running_loop()

        def told() -> None:
            move.meter.at(move.bytes_done)
            self._publish(False)

        def on_step() -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(told)

        move.on_step = on_step
        self._publish(False)
        self._task = asyncio.create_task(self._run(move), name="move the models")
        return move

    async def _run(self, move: LiveMove) -> None:
        try:
            if move.record.step == "clearing":
                await self._clear(move)
                return
            passed = self._passed(move.record)
            if move.record.step == "undoing":
                raise files.Stopped
            await self._open(move)
            if not passed:
                await self._bring(move)
                await self._enter(move, "switching")
                await disk_work(files.mark, move.opened, move.record.store_id)
                self._pass_the_fence(move)
        except Exception as error:  # noqa: BLE001 - the edge of the task: whatever happened, the old folder serves
            if not isinstance(error, _FAULTS):
                _log.error("move_lost", where=where(error))
            if isinstance(error, files.Stopped) and not move.cancelled and move.record.step != "undoing":
                if move.target is not None:
                    move.target.lock.release()
                return  # The service ends; the next one goes on.
            await self._undo(move, error)
            return
        await self._settle(move)

    async def _open(self, move: LiveMove) -> None:
        record = move.record
        if move.target is None and self._passed(record):
            lock = self._storage.lock
            assert lock is not None
            store = BlobStore(self._storage.root)
            move.target = files.Target(store, lock, record.made_root, record.before, record.marker_before, record.links)
        elif move.target is None:
            move.target = await disk_work(
                files.reopen_target,
                Path(record.target),
                record.made_root,
                record.before,
                record.marker_before,
                record.links,
            )

    def _passed(self, record: MoveRecord) -> bool:
        """True for a move of an earlier process that had replaced the setting."""
        return record.step == "switching" and str(self._storage.root) == record.target

    async def _bring(self, move: LiveMove) -> None:
        target = move.opened
        there = await disk_work(target.blobs.file_sizes)
        own = await disk_work(self._blobs.file_sizes) if move.record.mode == "move" else {}
        move.files_total = len(own) if move.record.mode == "move" else len(there)
        to_prove = sum(there.values())
        move.bytes_total = to_prove + sum(size for sha256, size in own.items() if there.get(sha256) != size)
        move.meter.at(0)
        await disk_work(files.prove, target.blobs, move.brought)
        if move.record.mode == "move":
            proven = await disk_work(target.blobs.file_sizes)
            move.bytes_total = to_prove + sum(size for sha256, size in own.items() if sha256 not in proven)
            await disk_work(files.bring, self._blobs, target, move.brought)
        else:
            move.brought.files = len(there) - len(move.brought.corrupt)

    def _pass_the_fence(self, move: LiveMove) -> None:
        if move.stop.is_set():
            raise files.Stopped
        # On the loop's thread, as settings.set does it: nothing may read the settings in between.
        try:
            self._settings.set({SETTING: move.record.setting})
        except SynapseError:
            # The disk may have reported an error about a file that it had replaced already.
            if self._settings.stored(SETTING) != move.record.setting:
                raise

    async def _settle(self, move: LiveMove) -> None:
        """After the fence: the new folder is the store."""
        record, target = move.record, move.opened
        target.blobs.store_id = record.store_id
        self._blobs.relocate(target.blobs.root, like=target.blobs)
        earlier = self._storage.moved(target.lock, record.store_id)
        earlier = None if earlier is target.lock else earlier
        cleared = msgspec.structs.replace(record, step="clearing")
        there: set[str] = set()

        def step() -> tuple[list[str], list[InstalledManifest], list[tuple[str, ModelPin]]]:
            records.remember_store(KnownStore(record.target, record.store_id))
            records.remember_move(cleared)
            missing = sorted(stored_holders().keys() - there)
            for sha256 in missing:
                invalidate_blob(sha256)
            return missing, stored_installs(), stored_pins()

        try:
            there.update(await disk_work(target.blobs.file_sizes))
            move.missing, installs, pins = await self._store.write(step)
        except (SynapseError, OSError) as error:
            # The next start finds the setting changed, and does this; until then the old folder stays as it is.
            move.error = files.refusal(error, target.blobs.root)
            _log.error("move_not_recorded", reason=move.error.message)
            if earlier is not None:
                earlier.release()
            self._release(None)
            self._end(move, "done")
            return
        move.record = cleared
        if move.missing:
            self._adopted(installs, pins)
        self._release(None)
        _log.info("models_moved", source=record.source, target=record.target, mode=record.mode)
        await self._clear(move, earlier)

    async def _clear(self, move: LiveMove, lock: InstanceLock | None = None) -> None:
        """Empty the old folder. What can't be removed stays; the models are safe in the new one."""
        record = move.record
        source = Path(record.source)
        move.state = "clearing"
        self._publish(False)
        try:
            if record.mode == "move":
                await disk_work(files.clear, source, self._blobs, lock)
        except (OSError, InstanceError) as error:
            _log.warning("old_folder_not_cleared", path=record.source, reason=str(error))
            move.error = files.refusal(error, source)
        if lock is not None:
            lock.release()
        await self._forget(move)
        self._end(move, "done")

    async def _undo(self, move: LiveMove, fault: Exception) -> None:
        record = move.record
        if not move.cancelled:
            move.error = files.refusal(fault, Path(record.target))
            _log.warning("move_failed", reason=move.error.message)
        try:
            await self._enter(move, "undoing")
            if move.target is None:
                await self._open(move)
            source = self._blobs if record.mode == "move" else None
            await disk_work(files.undo, source, move.opened)
            await self._forget(move)
        except _FAULTS as error:
            # The old folder is whole, and serves. What is left in the new one is no store.
            if move.target is not None:
                move.target.lock.release()
            if isinstance(error, FileNotFoundError) and move.target is None:
                _log.info("nothing_to_undo", path=record.target)  # Done by an earlier process, or its disk is away.
                await self._forget(move)
            else:
                _log.warning("move_not_undone", path=record.target, reason=str(error))
        await self._give_back()
        self._end(move, "cancelled" if move.cancelled else "failed")

    async def _give_back(self) -> None:
        """The old folder is the store again, if it was there."""
        self._storage.moving = False
        await self._storage.look()

    async def _enter(self, move: LiveMove, step: Step) -> None:
        move.record = msgspec.structs.replace(move.record, step=step)
        move.state = step
        record = move.record
        await self._store.write(lambda: records.remember_move(record))
        self._publish(False)

    async def _forget(self, move: LiveMove) -> None:
        try:
            await self._store.write(records.forget_move)
        except SynapseError as error:
            _log.warning("move_end_not_written", reason=error.message)

    def _end(self, move: LiveMove, state: MoveState) -> None:
        move.state = state
        self._publish(True)

    async def close(self) -> None:
        """Stop what is under way; the next start goes on with it."""
        if self.live is not None:
            self.live.stop.set()
        if self._task is not None:
            await asyncio.wait([self._task])
