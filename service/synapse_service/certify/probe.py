"""The probe of a lane: compare it with an independent float32 computation, and measure its speed.

The lane's rows go through its ordinary queue and worker, all mixed, so that what is certified is what serves. A
second, short-lived worker computes the same rows with the NumPy reference; ``comparing`` says what is compared and
judged. The outcome is recorded whichever way it goes; a lane that failed answers ``not_certified`` from then on. A
probe that never came to a comparison, because the service is stopping, the disk is full, the lane was paused or the
reference's worker was lost, has no outcome and leaves the last one alone.
"""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Sequence
from typing import Any, Final

from synapse_engines.tokenizer import Encoding
from synapse_service.admission.queue import PriorityClass, Row, Ticket
from synapse_service.certify.comparing import Comparison, Figures, comparison
from synapse_service.certify.fixture import fixture_revisions
from synapse_service.certify.ledger import Certification, CertificationLedger, Conditions, Performance
from synapse_service.certify.machine import MachineProfile
from synapse_service.clock import Clock
from synapse_service.jobs.live import LiveJob
from synapse_service.lanes.lane import Lane
from synapse_service.lanes.loader import Loader
from synapse_service.lanes.refusals import crashed, not_gone, refused
from synapse_service.lanes.registry import LaneRegistry
from synapse_service.logs import get_logger
from synapse_service.workers.faults import WorkerFault, WorkerNotGone, WorkerRefused
from synapse_wire.errors import SynapseError

_EVIDENCE: Final = frozenset({"engine_crashed", "artifact_invalid", "probe_required"})
"""Errors that say something about the lane: it crashed, its files are damaged, or it was quarantined meanwhile."""

_REFERENCE_TOKENS: Final = 512
_LATENCY_RUNS: Final = 9
_LATENCY_TOKENS: Final = 12

_log = get_logger(__name__)


class ReferenceFailed(SynapseError):
    """The reference's worker failed, which says nothing about the lane that it was to be compared with."""

    def __init__(self, lane_id: str, cause: SynapseError) -> None:
        message = f"the reference that {lane_id} is compared with failed; probe it again ({cause.message})"
        super().__init__(cause.code, message, details=cause.details)


class Probes:
    """Runs probes; one for the service."""

    def __init__(
        self,
        *,
        loader: Loader,
        lanes: LaneRegistry,
        ledger: CertificationLedger,
        machine: MachineProfile,
        clock: Clock,
        module_generation: int,
    ) -> None:
        self._loader = loader
        self._lanes = lanes
        self._ledger = ledger
        self._machine = machine
        self._clock = clock
        self._generation = module_generation

    async def run(self, lane: Lane, job: LiveJob) -> None:
        """Probe a lane, which its job holds, and record the outcome; raises the lane's error when it can't compute."""
        try:
            compared, figures, performance = await self._measure(lane, job)
        except ReferenceFailed:
            raise
        except SynapseError as error:
            if error.code in _EVIDENCE:
                problem = {"code": error.code, "message": error.message}
                await self._ledger.record(self._outcome(lane, error.code, {"error": problem}, None))
            raise
        missed = compared.gates.missed(figures)
        blocking = f"gate_missed:{','.join(missed)}" if missed else None
        evidence = {"gates": compared.gates.evidence(), "rows": len(compared.rows), **figures}
        await self._ledger.record(self._outcome(lane, blocking, evidence, performance))
        if not missed and lane.quarantine.active:
            lane.quarantine.release()
            lane.announce()
            await self._lanes.keep_quarantine(lane)
        job.progress(job.items_total, job.items_total)
        _log.info("lane_probed", lane_id=lane.lane_id, blocking_reason=blocking, **figures)

    async def _measure(self, lane: Lane, job: LiveJob) -> tuple[Comparison, Figures, Performance]:
        compared = await asyncio.to_thread(comparison, lane.model, await lane.tokenizer())
        rows = compared.rows
        job.progress(0, 2 * len(rows) + 1)
        loaded = await lane.ensure_ready()
        began = self._clock.monotonic()
        candidate = await self._ask(lane, rows, "bulk")
        seconds = self._clock.monotonic() - began
        job.progress(len(rows), job.items_total)
        figures = await lane.beside(lambda: self._compare(lane, compared, candidate, job))
        return (
            compared,
            figures,
            Performance(
                cold_load_ms=round(loaded.load_ms, 1),
                tokens_per_second=round(sum(row.real_tokens for row in rows) / max(seconds, 1e-9), 1),
                latency_ms=round(await self._latency(lane, rows), 3),
                conditions=Conditions(kernel=self._machine.kernel, threads=loaded.threads),
            ),
        )

    def _outcome(
        self, lane: Lane, blocking: str | None, evidence: dict[str, Any], performance: Performance | None
    ) -> Certification:
        return Certification(
            fingerprint=lane.fingerprint,
            model_id=lane.lane_id,
            status="uncertified" if blocking else "certified",
            blocking_reason=blocking,
            evidence=evidence,
            performance=performance,
            task=lane.model.task,
            fixture_revision=fixture_revisions()[lane.model.task],
            os_build=self._machine.os_build,
            module_generation=self._generation,
            measured_ms=self._clock.wall_ms(),
        )

    async def _ask(self, lane: Lane, rows: Sequence[Encoding], class_: PriorityClass) -> list[bytes]:
        ticket = Ticket(
            class_, "f32", [f"probe-{index}" for index in range(len(rows))], asyncio.get_running_loop().create_future()
        )
        submitted = [Row(ticket, i, row.ids.tobytes(), row.real_tokens) for i, row in enumerate(rows)]
        lane.submit(ticket, submitted, bounded=False)
        return await ticket.done

    async def _compare(self, lane: Lane, compared: Comparison, candidate: list[bytes], job: LiveJob) -> Figures:
        try:
            worker = await self._loader.start_reference(lane.model)
            try:
                reference: list[bytes] = []
                for chunk in _chunks(compared.rows):
                    ids = b"".join(row.ids.tobytes() for row in chunk)
                    lengths = [row.real_tokens for row in chunk]
                    reference += await compared.reference(worker, lengths, ids, len(reference))
                    job.progress(len(compared.rows) + len(reference), job.items_total)
                return await compared.figures(worker, candidate, reference)
            finally:
                await worker.close()
        except WorkerFault as fault:
            raise ReferenceFailed(lane.lane_id, crashed(lane.lane_id, fault)) from fault
        except WorkerRefused as refusal:
            raise ReferenceFailed(lane.lane_id, refused(lane.lane_id, refusal)) from refusal
        except WorkerNotGone as error:
            _log.error("worker_not_gone", lane_id=lane.lane_id, pid=error.pid)
            raise ReferenceFailed(lane.lane_id, not_gone(lane.lane_id, error)) from error

    async def _latency(self, lane: Lane, rows: Sequence[Encoding]) -> float:
        row = min(rows, key=lambda each: abs(each.real_tokens - _LATENCY_TOKENS))
        times = []
        for _ in range(_LATENCY_RUNS):
            began = self._clock.monotonic()
            await self._ask(lane, [row], "interactive")
            times.append((self._clock.monotonic() - began) * 1000)
        return statistics.median(times)


def _chunks(rows: Sequence[Encoding]) -> list[list[Encoding]]:
    chunks: list[list[Encoding]] = [[]]
    tokens = 0
    for row in rows:
        if chunks[-1] and tokens + row.real_tokens > _REFERENCE_TOKENS:
            chunks.append([])
            tokens = 0
        chunks[-1].append(row)
        tokens += row.real_tokens
    return chunks
