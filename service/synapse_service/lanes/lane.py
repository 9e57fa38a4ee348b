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
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from synapse_engines.tokenizer import SanitisedTokenizer
from synapse_service.admission.pace import Pace
from synapse_service.admission.punctuality import Punctuality
from synapse_service.admission.queue import LaneQueue, Quantum, Row, Ticket
from synapse_service.clock import Clock
from synapse_service.failures import where
from synapse_service.lanes.lane_tokenizer import LaneTokenizer
from synapse_service.lanes.loader import Loaded
from synapse_service.lanes.model import LaneModel
from synapse_service.lanes.quarantine import Quarantine
from synapse_service.lanes.refusals import crashed, fault_reason, non_finite, not_gone, quarantined, refused, stopping
from synapse_service.lanes.self_check_runs import LaneSelfCheck
from synapse_service.lanes.worker_faults import WorkerFault, WorkerNotGone, WorkerRefused
from synapse_service.lanes.worker_process import EmbeddedRows
from synapse_service.logs import get_logger
from synapse_service.memory import give_back
from synapse_wire.errors import SynapseError
from synapse_wire.results import EngineIdentity, Provenance

LaneState = Literal["unloaded", "loading", "ready", "unloading"]

_STALL_S: Final = 120.0
_STALL_PER_TOKEN_S: Final = 0.12
"""On a CPU lane the silence that counts as a hang grows with the tokens of one call: 1024 tokens double it."""

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Pacing:
    """How the queue is cut: token budgets of a worker call, and the time a bulk call should take."""

    interactive_tokens: int
    bulk_tokens: int
    bulk_seconds: float


class LaneLoader(Protocol):
    """Brings a worker up for a model; see ``loader.Loader``."""

    async def load(self, model: LaneModel) -> Loaded: ...

    async def load_tokenizer(self, model: LaneModel) -> SanitisedTokenizer: ...


class Lane:
    """A model that can be asked for numbers.

    ``self_check`` is set on a lane of the catalog, and on no other: it has to pass before the lane serves.
    ``last_completed`` is when work was last completed, ``not_ready_since`` since when no worker is ready (None while
    one is), both on the monotonic clock.
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
    ) -> None:
        self.model = model
        self.lane_id = model.lane_id
        self.fingerprint = model.fingerprint
        self.provenance = Provenance(
            engine=EngineIdentity(engine=model.engine, version=model.profile.engine_build, build_flags={})
        )
        self.state: LaneState = "unloaded"
        self.queue = LaneQueue(queue_capacity())
        self.pace = Pace()
        self.punctuality = Punctuality()
        self.quarantine = quarantine
        self.self_check = self_check
        self.load_ms: float | None = None
        self.last_error: SynapseError | None = None
        self.last_completed: float | None = None
        self.not_ready_since: float | None = clock.monotonic()
        self._loader = loader
        self._clock = clock
        self._pacing = pacing
        self._queue_capacity = queue_capacity
        self._on_change = on_change
        self._on_quarantine = on_quarantine
        self._loaded: Loaded | None = None
        self._tokenizer = LaneTokenizer(model.lane_id, lambda: loader.load_tokenizer(model))
        self._loading: asyncio.Task[Loaded] | None = None
        self._serving: asyncio.Task[None] | None = None
        self._watcher: asyncio.Task[None] | None = None
        self._unloading: asyncio.Task[None] | None = None
        self._running: tuple[Quantum, float] | None = None
        self._closed = False

    @property
    def busy(self) -> bool:
        """Work is waiting or being computed."""
        return self._serving is not None

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
    def self_checking(self) -> bool:
        """The load is in its second phase, whose end those who wait may await until their own deadlines."""
        return self.self_check is not None and self.self_check.running

    # --- work ---

    def start_delay_s(self, class_: Literal["interactive", "bulk"]) -> float:
        """Predicted seconds until a newcomer of ``class_`` starts, from measured speed; loading is not counted."""
        delay = self.pace.seconds(self.queue.tokens_ahead(class_))
        if self._running is not None:
            quantum, since = self._running
            delay += max(0.0, self.pace.seconds(quantum.tokens) - (self._clock.monotonic() - since))
        return delay

    @property
    def in_flight(self) -> int:
        """Requests whose rows are being computed."""
        return 0 if self._running is None else len({id(row.ticket) for row in self._running[0].rows})

    def submit(self, ticket: Ticket, rows: list[Row], *, bounded: bool = True) -> None:
        """Queue a ticket; raises ``queue_full``. Its answer arrives through ``ticket.done``.

        ``bounded`` is False for work that was accepted before, as a job: it must not be refused half-way.
        """
        if self._closed:
            raise stopping()
        self.queue.capacity = self._queue_capacity()
        self.queue.add(ticket, rows, bounded=bounded)
        ticket.queued_at = self._clock.monotonic() if bounded else None
        if self._serving is None:
            self._serving = asyncio.create_task(self._serve(), name=f"lane {self.lane_id}")

    async def ensure_ready(self) -> Loaded:
        """Load the lane unless it is loaded; several callers share one load. Raises the typed reason."""
        while True:
            if self._unloading is not None:
                await asyncio.shield(self._unloading)
            elif self._loaded is not None and self._loaded.worker.fault is not None:
                await self._worker_lost(self._loaded, self._loaded.worker.fault)
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
        """End the worker process and let go of the tokenizer. The caller has checked the holders.

        Raises ``engine_crashed`` when the process can't be ended.
        """
        self._begin_unload()
        if self._unloading is not None:
            await asyncio.shield(self._unloading)
        if self.quarantine.unloaded():
            self.announce()

    def _begin_unload(self) -> None:
        self._tokenizer.drop()
        if self._unloading is None and self._loaded is not None:
            loaded, self._loaded = self._loaded, None
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
        self.queue.fail_all(stopping())
        self._fail_running(stopping())
        for task in (self._serving, self._loading):
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        await self._tokenizer.close()
        await self.unload()

    async def _load(self) -> Loaded:
        try:
            loaded = await self._bring_up()
        except WorkerFault as fault:
            error = crashed(self.lane_id, fault)
            self._load_failed(error)
            await self._count_fault(fault_reason(fault))
            raise error from fault
        except SynapseError as error:
            self._load_failed(error)
            raise
        except BaseException:
            self._set_state("unloaded")
            raise
        else:
            self._loaded = loaded
            self.load_ms = loaded.load_ms
            self.last_error = None
            self.last_completed = self._clock.monotonic()
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

    async def _serve(self) -> None:
        try:
            while not self.queue.empty:
                try:
                    loaded = await self.ensure_ready()
                except SynapseError as error:
                    # Those who waited when a load failed have their answer; who came since gets a load of their own.
                    if error is not self.last_error:
                        self.queue.fail_all(error)
                    continue
                if loaded is not self._loaded:
                    continue  # It was unloaded again before this task got its turn.
                pacing = self._pacing()
                bulk = min(pacing.bulk_tokens, self.pace.tokens_within(pacing.bulk_seconds, pacing.bulk_tokens))
                quantum = self.queue.next_quantum(pacing.interactive_tokens, bulk)
                if quantum is not None:
                    await self._run(loaded, quantum)
        except Exception as error:  # noqa: BLE001 - the edge of the lane's own task: whoever waits must be answered
            _log.error("lane_failed", lane_id=self.lane_id, where=where(error))
            message = f"the lane failed; the log tells more about {self.lane_id}"
            failure = SynapseError("internal_error", message, details={"reference": self.lane_id})
            self._fail_running(failure)
            self.queue.fail_all(failure)
        finally:
            self._running = None
            self._serving = None

    async def _run(self, loaded: Loaded, quantum: Quantum) -> None:
        began = self._clock.monotonic()
        self._running = (quantum, began)
        for row in quantum.rows:
            if row.ticket.queued_at is not None:
                self.punctuality.started(began - row.ticket.queued_at)
                row.ticket.queued_at = None
        try:
            answer = await loaded.worker.embed(
                [row.tokens for row in quantum.rows],
                b"".join(row.ids for row in quantum.rows),
                quantum.encoding,
                stall_limit_s=self._stall_limit_s(quantum.tokens),
            )
        except WorkerRefused as refusal:
            await self._refused(refusal)
            return
        except WorkerFault as fault:
            self._fail_running(crashed(self.lane_id, fault))
            await self._worker_lost(loaded, fault)
            return
        self._running = None
        self.last_completed = self._clock.monotonic()
        self.pace.record(quantum.tokens, self.last_completed - began)
        await self._deliver(quantum, answer)

    def _stall_limit_s(self, tokens: int) -> float:
        return _STALL_S + (_STALL_PER_TOKEN_S * tokens if self.model.engine == "owned-cpu" else 0.0)

    def _fail_running(self, error: SynapseError) -> None:
        """Answer the requests whose rows are being computed."""
        if self._running is not None:
            quantum, _ = self._running
            self._running = None
            for row in quantum.rows:
                row.ticket.fail(error)

    async def _deliver(self, quantum: Quantum, answer: EmbeddedRows) -> None:
        broken = set(answer.non_finite)
        for position, row in enumerate(quantum.rows):
            if position in broken:
                row.ticket.fail(non_finite(row.ticket.item_ids[row.index]))
            else:
                row.ticket.deliver(row.index, answer.rows[position])
        if broken:
            await self._count_fault("non_finite")
        else:
            self.quarantine.served()

    async def _refused(self, refusal: WorkerRefused) -> None:
        # The service checked these rows, so a refusal means that lane and worker disagree about the model.
        self._fail_running(refused(self.lane_id, refusal))
        await self._count_fault(refusal.kind)

    async def _watch(self, loaded: Loaded) -> None:
        await loaded.worker.wait()
        if loaded.worker.fault is not None:
            await self._worker_lost(loaded, loaded.worker.fault)

    async def _worker_lost(self, loaded: Loaded, fault: WorkerFault) -> None:
        """Count a worker's end, once, whoever notices it first."""
        if self._loaded is not loaded:
            return
        self._loaded = None
        self.last_error = crashed(self.lane_id, fault)
        _log.warning("worker_lost", lane_id=self.lane_id, reason=str(fault), stderr=fault.stderr_tail)
        self._fail_running(self.last_error)
        self._set_state("unloaded")
        # It is dead or being killed; until it is gone nothing is loaded in its place, which might not fit beside it.
        self._unloading = asyncio.create_task(self._end_worker(loaded), name=f"bury {self.lane_id}")
        await self._count_fault(fault_reason(fault))
        await self._buried()

    async def _count_fault(self, reason: str) -> None:
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
