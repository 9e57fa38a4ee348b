"""One lane: a registered model, its queue, and the worker process that serves it.

==========  ======================  ==========  =================================================================
state       event                   next        effect
==========  ======================  ==========  =================================================================
unloaded    work arrives, or load   loading     files are verified, a worker starts, the self-test runs
loading     worker ready            ready       waiting work is served
loading     load fails              unloaded    waiting work is answered with the reason
ready       worker fault            unloaded    the call's requests get ``engine_crashed``; a fault is counted
ready       unload, or idle         unloading   the worker process ends, so its memory returns
unloading   worker gone             unloaded
==========  ======================  ==========  =================================================================

Quarantine is beside these: a quarantined lane is unloaded and refuses requests until it is released. Everything here
runs on the event loop. A request that expires or is cancelled while its rows are computed gets its answer at once;
the worker finishes the call and the late rows are dropped, so the next request can't get a stale answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol

from synapse_engines.tokenizer import SanitisedTokenizer
from synapse_service.admission.pace import Pace
from synapse_service.admission.queue import LaneQueue, Quantum, Row, Ticket
from synapse_service.clock import Clock
from synapse_service.lanes.loader import Loaded
from synapse_service.lanes.quarantine import Quarantine
from synapse_service.lanes.registration import Registration
from synapse_service.lanes.worker_faults import WorkerCrashed, WorkerFault, WorkerHung, WorkerRefused
from synapse_service.lanes.worker_process import EmbeddedRows
from synapse_service.logs import get_logger
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
    """Brings a worker up for a registration; see ``loader.Loader``."""

    async def load(self, registration: Registration, fingerprint: str) -> Loaded: ...

    async def load_tokenizer(self, registration: Registration) -> SanitisedTokenizer: ...


class Lane:
    """A model that can be asked for vectors."""

    def __init__(
        self,
        registration: Registration,
        fingerprint: str,
        engine_build: str,
        *,
        loader: LaneLoader,
        clock: Clock,
        pacing: Callable[[], Pacing],
        queue_capacity: int,
        on_change: Callable[[Lane], None],
        on_quarantine: Callable[[Lane], Awaitable[None]],
        quarantined: str | None = None,
    ) -> None:
        self.registration = registration
        self.fingerprint = fingerprint
        self.provenance = Provenance(
            engine=EngineIdentity(engine=registration.manifest.engine, version=engine_build, build_flags={})
        )
        self.state: LaneState = "unloaded"
        self.queue = LaneQueue(queue_capacity)
        self.pace = Pace()
        self.quarantine = Quarantine(quarantined)
        self.load_ms: float | None = None
        self.last_error: SynapseError | None = None
        self.last_completed: float | None = None
        self._loader = loader
        self._clock = clock
        self._pacing = pacing
        self._on_change = on_change
        self._on_quarantine = on_quarantine
        self._loaded: Loaded | None = None
        self._tokenizer: SanitisedTokenizer | None = None
        self._loading: asyncio.Task[Loaded] | None = None
        self._serving: asyncio.Task[None] | None = None
        self._watcher: asyncio.Task[None] | None = None
        self._unloading: asyncio.Task[None] | None = None
        self._running: tuple[Quantum, float] | None = None

    @property
    def lane_id(self) -> str:
        return self.registration.model_id

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
        if self._tokenizer is None:
            self._tokenizer = await self._loader.load_tokenizer(self.registration)
        return self._tokenizer

    @property
    def loaded_tokenizer(self) -> SanitisedTokenizer | None:
        """The tokenizer if it is in memory."""
        return self._tokenizer

    # --- work ---

    def start_delay_s(self, class_: Literal["interactive", "bulk"]) -> float:
        """Predicted seconds until a newcomer of ``class_`` starts, from measured speed; loading is not counted."""
        delay = self.pace.seconds(self.queue.tokens_ahead(class_))
        if self._running is not None:
            quantum, since = self._running
            delay += max(0.0, self.pace.seconds(quantum.tokens) - (self._clock.monotonic() - since))
        return delay

    def submit(self, ticket: Ticket, rows: list[Row]) -> None:
        """Queue a ticket; raises ``queue_full``. Its answer arrives through ``ticket.done``."""
        self.queue.add(ticket, rows)
        if self._serving is None:
            self._serving = asyncio.create_task(self._serve(), name=f"lane {self.lane_id}")

    async def ensure_ready(self) -> Loaded:
        """Load the lane unless it is loaded; several callers share one load. Raises the typed reason."""
        if self._unloading is not None:
            await asyncio.shield(self._unloading)
        if self._loaded is not None and self._loaded.worker.fault is None:
            return self._loaded
        if self._loading is None:
            self._loading = asyncio.create_task(self._load(), name=f"load {self.lane_id}")
        return await asyncio.shield(self._loading)

    async def unload(self) -> None:
        """End the worker process and let go of the tokenizer. The caller has checked the holders."""
        self._tokenizer = None
        if self._unloading is None and self._loaded is not None:
            self._unloading = asyncio.create_task(self._end_worker(self._loaded), name=f"unload {self.lane_id}")
        if self._unloading is not None:
            await asyncio.shield(self._unloading)

    async def _end_worker(self, loaded: Loaded) -> None:
        self._loaded = None
        self._set_state("unloading")
        try:
            await loaded.worker.close()
        finally:
            self._unloading = None
            self._set_state("unloaded")

    async def close(self) -> None:
        """Stop serving for good: answer what waits, end the worker."""
        self.queue.fail_all(SynapseError("overloaded", "the service is stopping; connect again once it is back"))
        for task in (self._serving, self._loading):
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        await self.unload()

    async def _load(self) -> Loaded:
        self._set_state("loading")
        try:
            loaded = await self._loader.load(self.registration, self.fingerprint)
        except WorkerFault as fault:
            self._set_state("unloaded")
            await self._count_fault(fault_reason(fault))
            self.last_error = crashed(self.lane_id, fault)
            raise self.last_error from fault
        except SynapseError as error:
            self.last_error = error
            self._set_state("unloaded")
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

    async def _serve(self) -> None:
        try:
            while not self.queue.empty:
                try:
                    loaded = await self.ensure_ready()
                except SynapseError as error:
                    self.queue.fail_all(error)
                    return
                pacing = self._pacing()
                bulk = min(pacing.bulk_tokens, self.pace.tokens_within(pacing.bulk_seconds, pacing.bulk_tokens))
                quantum = self.queue.next_quantum(pacing.interactive_tokens, bulk)
                if quantum is not None:
                    await self._run(loaded, quantum)
        except Exception as error:  # noqa: BLE001 - the edge of the lane's own task: whoever waits must be answered
            _log.exception("lane_failed", lane_id=self.lane_id)
            self.queue.fail_all(SynapseError("internal_error", f"the lane failed: {type(error).__name__}"))
        finally:
            self._serving = None

    async def _run(self, loaded: Loaded, quantum: Quantum) -> None:
        began = self._clock.monotonic()
        self._running = (quantum, began)
        try:
            answer = await loaded.worker.embed(
                [row.tokens for row in quantum.rows],
                b"".join(row.ids for row in quantum.rows),
                quantum.encoding,
                stall_limit_s=_STALL_S + _STALL_PER_TOKEN_S * quantum.tokens,
            )
        except WorkerRefused as refusal:
            await self._refused(quantum, refusal)
            return
        except WorkerFault as fault:
            for row in quantum.rows:
                row.ticket.fail(crashed(self.lane_id, fault))
            await self._worker_lost(loaded, fault)
            return
        finally:
            self._running = None
        self.last_completed = self._clock.monotonic()
        self.pace.record(quantum.tokens, self.last_completed - began)
        await self._deliver(quantum, answer)

    async def _deliver(self, quantum: Quantum, answer: EmbeddedRows) -> None:
        broken = set(answer.non_finite)
        for position, row in enumerate(quantum.rows):
            if position in broken:
                item_id = row.ticket.item_ids[row.index]
                row.ticket.fail(
                    SynapseError(
                        "engine_crashed",
                        f"the model gave numbers that are not finite for item {item_id!r}",
                        details={"item_id": item_id, "reason": "non_finite"},
                    )
                )
            else:
                row.ticket.deliver(row.index, answer.rows[position])
        if broken:
            await self._count_fault("non_finite")
        else:
            self.quarantine.served()

    async def _refused(self, quantum: Quantum, refusal: WorkerRefused) -> None:
        # The service checked these rows, so a refusal means that lane and worker disagree about the model.
        details = {"lane_id": self.lane_id, "reason": refusal.kind}
        error = SynapseError("engine_crashed", f"the engine refused the rows: {refusal.message}", details=details)
        for row in quantum.rows:
            row.ticket.fail(error)
        await self._count_fault(refusal.kind)

    async def _watch(self, loaded: Loaded) -> None:
        await loaded.worker.wait()
        if loaded.worker.fault is not None:
            await self._worker_lost(loaded, loaded.worker.fault)

    async def _worker_lost(self, loaded: Loaded, fault: WorkerFault) -> None:
        if self._loaded is not loaded:
            return
        self._loaded = None
        self.last_error = crashed(self.lane_id, fault)
        _log.warning("worker_lost", lane_id=self.lane_id, reason=str(fault), stderr=fault.stderr_tail)
        self._set_state("unloaded")
        await self._count_fault(fault_reason(fault))
        await loaded.worker.close()

    async def _count_fault(self, reason: str) -> None:
        if self.quarantine.fault(reason):
            _log.warning("lane_quarantined", lane_id=self.lane_id, reason=reason)
            self.queue.fail_all(quarantined(self))
            await self._on_quarantine(self)
            self._on_change(self)

    def _set_state(self, state: LaneState) -> None:
        self.state = state
        self._on_change(self)


def fault_reason(fault: WorkerFault) -> str:
    """One stable word for what ended a worker."""
    if isinstance(fault, WorkerCrashed):
        return "crash"
    return "hang" if isinstance(fault, WorkerHung) else "protocol_fault"


def crashed(lane_id: str, fault: WorkerFault) -> SynapseError:
    """A worker's fault as the transient error that its requests get."""
    details: dict[str, Any] = {"lane_id": lane_id, "reason": fault_reason(fault)}
    if isinstance(fault, WorkerCrashed) and fault.returncode is not None:
        details["exit"] = fault.returncode
    return SynapseError("engine_crashed", f"the engine of {lane_id} failed: {fault}", details=details)


def quarantined(lane: Lane) -> SynapseError:
    """The refusal of a free-form lane after too many faults."""
    return SynapseError(
        "probe_required",
        f"{lane.lane_id} failed repeatedly ({lane.quarantine.reason}) and is quarantined; run probe.start on it",
        details={"model_id": lane.lane_id, "reason": "quarantined"},
    )
