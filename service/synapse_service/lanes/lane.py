"""One lane: a model, its queue, and the worker process that serves it.

==========  ======================  ==========  =================================================================
state       event                   next        effect
==========  ======================  ==========  =================================================================
unloaded    work arrives, or load   loading     files are verified, a worker starts, its numbers are checked
loading     worker ready            ready       waiting work is served
loading     load fails              unloaded    waiting work is answered with the reason

ready       worker fault            unloaded    the call's requests get ``engine_crashed``; a fault is counted
ready       unload, or idle         unloading   the worker process ends, so its memory returns
unloading   worker gone             unloaded    waiting work loads it again
==========  ======================  ==========  =================================================================

Loading has two phases on a lane of the catalog: after the worker has proven itself comes the lane's self-check.
Quarantine is beside the states: a quarantined lane is unloaded, and operations refuse requests for it until it is
released; only a probe may still have it compute. Everything here runs on the event loop. A request that expires or is
cancelled while its rows are computed gets its answer at once; the worker finishes the call and the late rows are
dropped, so the next request can't get a stale answer.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from copy import copy
from typing import Any, Literal, Protocol, TypeVar

from synapse_engines.tokenizer import SanitisedTokenizer
from synapse_service.admission.pace import Pace
from synapse_service.admission.punctuality import Punctuality
from synapse_service.admission.queue import LaneQueue, Row, Ticket
from synapse_service.clock import Clock
from synapse_service.lanes.compiles import CompileLog
from synapse_service.lanes.fence import Fence, NoFence
from synapse_service.lanes.lane_tokenizer import LaneTokenizer
from synapse_service.lanes.loader import Loaded
from synapse_service.lanes.memory import give_back
from synapse_service.lanes.model import LaneModel
from synapse_service.lanes.quarantine import Quarantine
from synapse_service.lanes.refusals import crashed, fault_reason, not_gone, quarantined, stopping, wrong_numbers
from synapse_service.lanes.self_check_runs import LaneSelfCheck
from synapse_service.lanes.serving import Pacing, Serving
from synapse_service.lanes.use import LaneUse
from synapse_service.logs import get_logger
from synapse_service.workers.faults import WorkerFault, WorkerNotGone
from synapse_wire.errors import SynapseError
from synapse_wire.results import EngineIdentity, Pause, Provenance

LaneState = Literal["unloaded", "loading", "ready", "unloading"]

_T = TypeVar("_T")

_log = get_logger(__name__)


class LaneLoader(Protocol):
    """Brings a worker up for a model; see ``loader.Loader``."""

    async def load(self, model: LaneModel) -> Loaded: ...

    async def load_tokenizer(self, model: LaneModel) -> SanitisedTokenizer: ...


class Lane:
    """A model that can be asked for numbers.

    ``self_check`` is set on a lane of the catalog, and on one that was registered under a profile: it has to pass
    before the lane serves. ``unavailable`` says why nothing on this machine computes it, None where something does.
    ``not_ready_since`` is since when no worker is ready, on the monotonic clock; None while one is.
    """

    def __init__(
        self,
        model: LaneModel,
        *,
        loader: LaneLoader,
        clock: Clock,
        pacing: Callable[[], Pacing],
        queue_capacity: Callable[[], int],
        on_change: Callable[[Lane], None],
        on_quarantine: Callable[[Lane], Awaitable[None]],
        quarantine: Quarantine,
        self_check: LaneSelfCheck | None = None,
        unavailable: SynapseError | None = None,
        fence: Fence | None = None,
    ) -> None:
        self.model = model
        self.lane_id = model.lane_id
        self.fingerprint = model.fingerprint
        self.provenance = Provenance(
            engine=EngineIdentity(engine=model.engine, version=model.profile.engine_build, build_flags={})
        )
        self.state: LaneState = "unloaded"
        self.unavailable = unavailable
        self.quarantine = quarantine
        self.self_check = self_check
        self.use = LaneUse(clock)
        self.compiles = CompileLog()
        self.load_ms: float | None = None
        self.last_error: SynapseError | None = unavailable
        self.not_ready_since: float | None = clock.monotonic()
        self._fence = fence or NoFence()
        self._loader = loader
        self._clock = clock
        self._serving = Serving(self, clock=clock, pacing=pacing, queue_capacity=queue_capacity)
        self._on_change = on_change
        self._on_quarantine = on_quarantine
        self._loaded: Loaded | None = None
        self._tokenizer = LaneTokenizer(model.lane_id, lambda: loader.load_tokenizer(model), clock)
        self._loading: asyncio.Task[Loaded] | None = None
        self._watcher: asyncio.Task[None] | None = None
        self._unloading: asyncio.Task[None] | None = None
        self._beside: dict[asyncio.Task[Any], SynapseError | None] = {}
        self._closed = False

    @property
    def facts(self) -> dict[str, str]:
        """What the engine said about itself, while it is loaded."""
        return dict(self._loaded.facts) if self._loaded is not None else {}

    def rss_bytes(self) -> int | None:
        """Resident memory of the worker, while there is one."""
        return self._loaded.worker.rss() if self._loaded is not None else None

    async def tokenizer(self) -> SanitisedTokenizer:
        """The lane's tokenizer, read on first use and let go at unload."""
        return await self._tokenizer.get()

    @property
    def loaded_tokenizer(self) -> SanitisedTokenizer | None:
        """The tokenizer if it is in memory."""
        return self._tokenizer.in_memory

    @property
    def tokenizer_since(self) -> float | None:
        """When that was read, on the monotonic clock."""
        return self._tokenizer.since

    @property
    def self_checking(self) -> bool:
        """The load is in its second phase, whose end those who wait may await until their own deadlines."""
        return self.self_check is not None and self.self_check.running

    @property
    def pause(self) -> Pause | None:
        """The pause that the lane is in."""
        return self._fence.pause(self.model)

    def require_unpaused(self) -> None:
        """Raises ``lane_paused`` while the lane is paused."""
        refusal = self._fence.refusal(self.model)
        if refusal is not None:
            raise refusal

    @property
    def empty(self) -> bool:
        """There is no worker of this model, and nobody waits for one."""
        accompanied = any(not task.done() for task in self._beside)
        return self.state == "unloaded" and self._unloading is None and not self.busy and not accompanied

    async def at_rest(self) -> None:
        """Wait until nothing is waiting, computed or loaded any more; whoever comes meanwhile counts too."""
        while self._loading is not None or self.busy:
            if self._loading is not None:
                await asyncio.wait([self._loading])
            else:
                await self._serving.ended()

    async def beside(self, work: Callable[[], Awaitable[_T]]) -> _T:
        """Do ``work`` with a worker that is not the lane's own, as a probe does; a pause ends it with its refusal."""
        self.require_unpaused()
        task = asyncio.ensure_future(work())
        self._beside[task] = None
        try:
            return await task
        except asyncio.CancelledError:
            refusal = self._beside[task]
            if refusal is None:
                raise
            raise refusal from None
        finally:
            del self._beside[task]

    async def dismiss(self) -> None:
        """End what goes on beside the lane, for a pause; raises ``engine_crashed`` when a process can't be ended."""
        tasks = list(self._beside)
        for task in tasks:
            self._beside[task] = self._fence.refusal(self.model)
            task.cancel()
        for outcome in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(outcome, SynapseError) and (outcome.details or {}).get("reason") == "not_gone":
                raise outcome

    # --- work ---

    @property
    def queue(self) -> LaneQueue:
        """What waits."""
        return self._serving.queue

    @property
    def pace(self) -> Pace:
        """How fast the lane computes."""
        return self._serving.pace

    @property
    def punctuality(self) -> Punctuality:
        """How well it keeps the deadlines of those who wait."""
        return self._serving.punctuality

    @property
    def last_completed(self) -> float | None:
        """When work was last completed, on the monotonic clock."""
        return self._serving.last_completed

    @property
    def busy(self) -> bool:
        """Work is waiting or being computed."""
        return self._serving.busy

    @property
    def in_flight(self) -> int:
        """Requests whose rows are being computed."""
        return self._serving.in_flight

    def blocked_on_compile(self, ticket: Ticket, mark: int) -> int | None:
        """The length whose compile kept a ticket waiting that was queued at ``mark`` of the log; None for none."""
        return self.compiles.blocked(mark, computing=self._serving.computes(ticket))

    def start_delay_s(self, class_: Literal["interactive", "bulk"]) -> float:
        """Predicted seconds until a newcomer of ``class_`` starts, from measured speed; loading is not counted."""
        return self._serving.start_delay_s(class_)

    def submit(self, ticket: Ticket, rows: list[Row], *, bounded: bool = True) -> None:
        """Queue a ticket; raises ``queue_full`` and ``lane_paused``. Its answer arrives through ``ticket.done``.

        ``bounded`` is False for work that was accepted before, as a job: only a pause may refuse it half-way.
        """
        if self._closed:
            raise stopping()
        self.require_unpaused()
        self._serving.submit(ticket, rows, bounded=bounded)

    def require_device(self) -> None:
        """Let a lane pass that something here computes; raises why the others can't run."""
        if self.unavailable is not None:
            raise copy(self.unavailable)  # One that is raised again and again would carry every traceback along.

    @property
    def ready(self) -> Loaded | None:
        """The worker, while it can be asked."""
        loaded = self._loaded
        return loaded if loaded is not None and loaded.worker.fault is None and self._unloading is None else None

    async def ensure_ready(self) -> Loaded:
        """Load the lane unless it is loaded; several callers share one load. Raises the typed reason."""
        self.require_device()
        self.require_unpaused()
        return await self.ready_for_admitted()

    async def ready_for_admitted(self) -> Loaded:
        """The same for work that was admitted, which a pause lets end."""
        self.require_device()
        while True:
            if self._unloading is not None:
                await asyncio.shield(self._unloading)
            elif self._loaded is not None and self._loaded.worker.fault is not None:
                await self.worker_lost(self._loaded, self._loaded.worker.fault)
            else:
                break
        if self._loaded is not None:
            return self._loaded
        if self._closed:
            raise stopping()
        if self._loading is None:
            self._set_state("loading")
            self._loading = asyncio.create_task(self._load(), name=f"load {self.lane_id}")
        return await asyncio.shield(self._loading)

    async def unload(self) -> None:
        """End the worker process and let go of the tokenizer, as somebody asked. The caller has checked the holders.

        Raises ``engine_crashed`` when the process can't be ended.
        """
        await self.vacate()
        if self.quarantine.unloaded():
            self.announce()

    async def vacate(self) -> None:
        """The same for a reason of the service's own, which says nothing about a lane's quarantine."""
        only_tokenizer = self._loaded is None and self.loaded_tokenizer is not None
        self._begin_unload()
        if self._unloading is not None:
            await asyncio.shield(self._unloading)
        elif only_tokenizer:
            give_back()

    def _begin_unload(self) -> None:
        self._tokenizer.drop()
        if self._unloading is None and self._loaded is not None:
            loaded, self._loaded = self._loaded, None
            self.use.forget_users()
            self.compiles.interrupted()
            self._set_state("unloading")
            self._unloading = asyncio.create_task(self._end_worker(loaded), name=f"unload {self.lane_id}")

    async def _end_worker(self, loaded: Loaded) -> None:
        try:
            await loaded.worker.close()
        except WorkerNotGone as error:
            _log.error("worker_not_gone", lane_id=self.lane_id, pid=error.pid)
            raise not_gone(self.lane_id, error) from error
        finally:
            self._unloading = None
            give_back()  # The tokenizer's memory above all, which was this process's own.
            self._set_state("unloaded")

    async def close(self) -> None:
        """Stop serving for good: answer what waits or runs, end the worker."""
        self._closed = True
        await self._serving.close(stopping())
        if self._loading is not None:
            self._loading.cancel()
            await asyncio.gather(self._loading, return_exceptions=True)
        await self._tokenizer.close()
        await self.unload()

    async def _load(self) -> Loaded:
        try:
            loaded = await self._bring_up()
        except WorkerFault as fault:
            error = crashed(self.lane_id, fault)
            self._load_failed(error)
            await self.count_fault(fault_reason(fault))
            raise error from fault
        except WorkerNotGone as still_there:
            _log.error("worker_not_gone", lane_id=self.lane_id, pid=still_there.pid)
            error = not_gone(self.lane_id, still_there)
            self._load_failed(error)
            raise error from still_there
        except SynapseError as error:
            self._load_failed(error)
            if wrong_numbers(error):
                # The next load would most likely end in the same way, and each takes as long as a good one.
                await self.count_fault("self_test")
            raise
        except BaseException:
            self._set_state("unloaded")
            raise
        else:
            self._loaded = loaded
            loaded.worker.follow_compiles(self.compiles.note)
            self.load_ms = loaded.load_ms
            self.last_error = None
            self._serving.last_completed = self._clock.monotonic()
            self._watcher = asyncio.create_task(self._watch(loaded), name=f"watch {self.lane_id}")
            self._set_state("ready")
            return loaded
        finally:
            self._loading = None

    async def _bring_up(self) -> Loaded:
        if self.self_check is None:
            return await self._loader.load(self.model)
        self.self_check.require()
        loaded = await self._loader.load(self.model)
        try:
            await self.self_check.run(loaded.worker)
        except BaseException:
            await loaded.worker.close()
            raise
        return loaded

    def _load_failed(self, error: SynapseError) -> None:
        self.last_error = error
        self.queue.fail_all(error)
        self._set_state("unloaded")

    # --- what the worker does ---

    async def _watch(self, loaded: Loaded) -> None:
        await loaded.worker.wait()
        if loaded.worker.fault is not None:
            await self.worker_lost(loaded, loaded.worker.fault)

    async def worker_lost(self, loaded: Loaded, fault: WorkerFault) -> None:
        """Count a worker's end, once, whoever notices it first."""
        if self._loaded is not loaded:
            return
        self._loaded = None
        self.compiles.interrupted()
        self.last_error = crashed(self.lane_id, fault)
        _log.warning("worker_lost", lane_id=self.lane_id, reason=str(fault), stderr=fault.stderr_tail)
        self._serving.fail_running(self.last_error)
        self._set_state("unloaded")
        # It is dead or being killed; until it is gone nothing is loaded in its place, which might not fit beside it.
        self._unloading = asyncio.create_task(self._end_worker(loaded), name=f"bury {self.lane_id}")
        await self.count_fault(fault_reason(fault))
        await self._buried()

    async def count_fault(self, reason: str) -> None:
        """Count a fault of the worker or of its numbers; the second in a row puts the lane in quarantine."""
        if not self.quarantine.fault(reason):
            return
        _log.warning("lane_quarantined", lane_id=self.lane_id, reason=reason)
        self.queue.fail_all(quarantined(self.lane_id, self.quarantine))
        self.announce()
        if (remaining_ms := self.quarantine.retry_after_ms) is not None:
            asyncio.get_running_loop().call_later(remaining_ms / 1000, self.announce)
        self._begin_unload()
        await self._on_quarantine(self)
        await self._buried()

    async def _buried(self) -> None:
        if self._unloading is not None:
            # A worker that doesn't go is in the log, and those whose requests it failed have their answers.
            with contextlib.suppress(SynapseError):
                await asyncio.shield(self._unloading)

    def announce(self) -> None:
        """Tell those who follow lanes how this one is now."""
        self._on_change(self)

    def _set_state(self, state: LaneState) -> None:
        self.state = state
        if state == "ready":
            self.not_ready_since = None
        elif self.not_ready_since is None:
            self.not_ready_since = self._clock.monotonic()
        self.announce()
