"""Who may compute on the Neural Engine: this service's workers while it holds the machine's lock, or nobody of it.

The lock is held exactly while a worker of ours may use the hardware: it is taken before the first one starts, and given
back when the last one is known to have ended. So several users of a machine share the hardware, and a worker that
can't be ended keeps the lock. While a pause has given the hardware up, nothing takes the lock but the pause's end.

==========  =============================  ==========  ==========================================================
state       event                          next        effect
==========  =============================  ==========  ==========================================================
free        a worker is to start           held        the lock is taken first; who has to wait for it, waits
held        the last worker is gone        free        the lock is given back
free        a pause begins                 given up    the lock is taken and given back, which proves that it is free
given up    the pause ends                 free        the lock is taken again before any lane opens
==========  =============================  ==========  ==========================================================
"""

from __future__ import annotations

import asyncio
from typing import Final

from synapse_engines.tokenizer import SanitisedTokenizer
from synapse_service.clock import CallLater, sleep_on
from synapse_service.lanes.fence import Fence
from synapse_service.lanes.hardware_lock import HardwareLock, LockFailed, LockHeld
from synapse_service.lanes.lane import LaneLoader
from synapse_service.lanes.loader import Loaded
from synapse_service.lanes.model import LaneModel
from synapse_service.logs import get_logger
from synapse_service.workers.faults import WorkerNotGone
from synapse_service.workers.process import WorkerProcess
from synapse_wire.errors import SynapseError

RETRY_S: Final = 1.0
"""How long to wait before the lock is tried again."""

_BURIAL_S: Final = 1.0
"""How long the report of a worker's end may lag behind that end."""

_log = get_logger(__name__)


class WorkersLive(Exception):
    """The hardware can't be given up: workers that use it have not ended."""

    def __init__(self, workers: int) -> None:
        super().__init__(f"{workers} workers of the Neural Engine have not ended")


class NeuralEngine:
    """The lock, and those for whom it is held; one for the service."""

    def __init__(self, lock: HardwareLock, call_later: CallLater) -> None:
        self._lock = lock
        self._call_later = call_later
        self._given_up = False
        self._entering = 0
        self._workers: set[asyncio.Task[None]] = set()

    @property
    def lock_descriptor(self) -> int | None:
        """The lock's open file, for a worker to inherit."""
        return self._lock.descriptor if self._lock.held else None

    async def enter(self, model: LaneModel, fence: Fence) -> None:
        """Take the lock for a worker that is about to start; :meth:`keep` or :meth:`leave` follows.

        While another process has it, it is tried every second, until a pause makes that pointless: then
        ``lane_paused`` is raised. Raises ``engine_crashed`` when the system refuses the lock.
        """
        warned = False
        while not self._taken(model, quiet=warned):
            warned = True
            refusal = fence.refusal(model)
            if refusal is not None:
                raise refusal
            await sleep_on(self._call_later, RETRY_S)
        self._entering += 1

    def _taken(self, model: LaneModel, *, quiet: bool) -> bool:
        if self._given_up:
            return False
        try:
            self._lock.acquire()
        except LockHeld as error:
            if not quiet:
                _log.warning("neural_engine_not_ours", lane_id=model.lane_id, reason=str(error))
            return False
        except LockFailed as error:
            details = {"lane_id": model.lane_id, "reason": "lock_failed"}
            raise SynapseError("engine_crashed", f"the Neural Engine: {error}", details=details) from error
        return True

    def keep(self, worker: WorkerProcess) -> None:
        """The worker runs: the lock is its own until it is gone, however that comes about."""
        task = asyncio.create_task(self._until_gone(worker), name="the neural engine is in use")
        self._workers.add(task)
        self._entering -= 1

    def leave(self) -> None:
        """No worker came of it."""
        self._entering -= 1
        self._release_if_unused()

    async def _until_gone(self, worker: WorkerProcess) -> None:
        await worker.wait()
        task = asyncio.current_task()
        assert task is not None
        self._workers.discard(task)
        self._release_if_unused()

    def _release_if_unused(self) -> None:
        if self._workers or self._entering:
            return
        try:
            self._lock.release()
        except LockFailed as error:
            _log.warning("neural_engine_lock_retained", reason=str(error))

    # --- a pause ---

    async def give_up(self) -> None:
        """Let other programs have the hardware. Raises WorkersLive, LockHeld or LockFailed, and then it isn't free."""
        if self._workers:
            await asyncio.wait(self._workers, timeout=_BURIAL_S)
        if self._workers or self._entering:
            raise WorkersLive(len(self._workers) + self._entering)
        self._lock.acquire()
        self._lock.release()
        self._given_up = True

    def take_back(self) -> None:
        """The end of a pause; raises LockHeld or LockFailed while another program has the hardware."""
        self._lock.acquire()
        self._given_up = False
        self._release_if_unused()

    def close(self) -> None:
        """The service ends; its workers have ended."""
        for task in self._workers:
            task.cancel()


class GuardedLoader:
    """A lane's loader that lets no worker of the Neural Engine start without the lock."""

    def __init__(self, loader: LaneLoader, engine: NeuralEngine, fence: Fence) -> None:
        self._loader = loader
        self._engine = engine
        self._fence = fence

    async def load_tokenizer(self, model: LaneModel) -> SanitisedTokenizer:
        return await self._loader.load_tokenizer(model)

    async def load(self, model: LaneModel) -> Loaded:
        """As the loader, after the lock was taken if the model needs it."""
        if model.engine != "ane":
            return await self._loader.load(model)
        await self._engine.enter(model, self._fence)
        try:
            loaded = await self._loader.load(model)
        except WorkerNotGone:
            raise  # It may still compute there, so the lock stays.
        except BaseException:
            self._engine.leave()
            raise
        self._engine.keep(loaded.worker)
        return loaded
