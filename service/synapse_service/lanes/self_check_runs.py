"""Self-checks of lanes: running them, keeping their outcomes, and refusing lanes that failed.

Lanes of the catalog have one, and those that a user registered under a certification profile.

=======  ==================================  =======  ==========================================================
state    event                               next     effect
=======  ==================================  =======  ==========================================================
pending  a load, the numbers are right       passed   the lane serves, and later loads skip the check
pending  a load, the numbers are wrong       failed   the lane refuses with ``self_check_failed`` and isn't loaded
pending  a load, no numbers in good time     pending  the load fails with ``engine_crashed``; the next one repeats
any      another key, in another process     pending  outcomes are kept under their key
any      the catalog model is removed        pending  a fresh download begins afresh
=======  ==================================  =======  ==========================================================

Which rows are computed and how they are judged is in ``self_check``; this file runs them on a lane's worker, and hands
the outcome to the database. An outcome that can't be written holds for the life of the process.
"""

from __future__ import annotations

import asyncio
import math
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

import msgspec

from synapse_engines.devices import Device
from synapse_engines.readout import Readout
from synapse_service.admission.leases import LeaseBook
from synapse_service.catalog.compiled import CatalogEntry, CatalogError, CatalogLane
from synapse_service.lanes.device_gate import BACKENDS
from synapse_service.lanes.model import LaneModel
from synapse_service.lanes.profiles import ProfileCheckKey, ProfileError, Profiles
from synapse_service.lanes.refusals import refused
from synapse_service.lanes.self_check import (
    EmbedCheck,
    EmbeddedCase,
    ScoredCase,
    SelfCheck,
    SelfCheckKey,
    Verdict,
    ceiling_s,
    evaluate_embed,
    evaluate_rerank,
    load_self_check,
    self_check_key,
)
from synapse_service.logs import get_logger
from synapse_service.store.errors import StoreError
from synapse_service.workers.faults import WorkerRefused
from synapse_service.workers.process import WorkerProcess
from synapse_wire.errors import SynapseError
from synapse_wire.results import EngineIdentity, SelfCheckState

_log = get_logger(__name__)


class SelfCheckRecords(Protocol):
    """Where outcomes are kept."""

    async def save(self, key: SelfCheckKey | ProfileCheckKey, outcome: SelfCheckState) -> None: ...


@dataclass(frozen=True, slots=True)
class _Subject:
    """What one check is about. ``figures`` blocks; it raises :class:`CatalogError` or :class:`ProfileError`."""

    lane_id: str
    backend: Device
    dtype: Literal["f32", "f16", "bf16"]
    readout: Readout | None
    key: SelfCheckKey | ProfileCheckKey
    figures: Callable[[], SelfCheck]
    profile: str | None = None


@dataclass(frozen=True, slots=True)
class SelfChecks:
    """Makes the self-checks of lanes, and holds what they share.

    ``known`` are the outcomes of earlier processes by check id; a lane of the catalog takes its own out, so that it is
    pending if it is made a second time, and those of profiles stay. ``read`` gives the bytes of a file beside the
    catalog, ``ceiling_s`` says how long the check of a backend may take.
    """

    records: SelfCheckRecords
    leases: LeaseBook
    os_build: str
    known: dict[str, SelfCheckState]
    read: Callable[[str], bytes]
    ceiling_s: Callable[[Device], float] = ceiling_s

    def of(self, entry: CatalogEntry, lane: CatalogLane) -> LaneSelfCheck:
        """The check of a lane of the catalog: as an earlier process left it, and pending if it is made again."""
        key = self_check_key(lane, self.os_build, entry.self_check.revision)
        subject = _Subject(
            lane_id=lane.lane_id,
            backend=lane.backend,
            dtype=lane.spec.dtype,
            readout=entry.spec.numerics.readout,
            key=key,
            figures=lambda: load_self_check(entry, self.read),
        )
        return LaneSelfCheck(subject, self, self.known.pop(key.check_id, None), None)

    def of_profile(self, profile: str, profiles: Profiles, model: LaneModel, manifest_digest: str) -> LaneSelfCheck:
        """The check of a model that was registered under a profile, as it was left by whoever ran it last."""
        backend = BACKENDS[model.engine]
        key = ProfileCheckKey(
            profile=profile,
            backend=backend,
            fingerprint=model.fingerprint,
            engine_identity=EngineIdentity(engine=model.engine, version=model.profile.engine_build, build_flags={}),
            os_build=self.os_build,
            manifest_digest=manifest_digest,
            subset_seal=profiles.seal(profile),
        )
        subject = _Subject(
            lane_id=model.lane_id,
            backend=backend,
            dtype=model.profile.dtype,
            readout=model.readout,
            key=key,
            figures=lambda: _figures_for(profile, profiles, model),
            profile=profile,
        )
        return LaneSelfCheck(subject, self, self.known.get(key.check_id), profiles.problem(profile))


def _figures_for(profile: str, profiles: Profiles, model: LaneModel) -> SelfCheck:
    entry, check = profiles.figures(profile, model.file("tokenizer").sha256)
    numerics = entry.spec.numerics
    # The cases are ids, so they say nothing about how texts become ids, and which of the outcomes is read.
    ours = (model.task, model.dims, model.composition, model.readout)
    if ours != (entry.spec.task, numerics.dims or 0, numerics.composition, numerics.readout):
        raise ProfileError("identity_differs", f"the cases for {profile} are those of another kind of model")
    return check


class LaneSelfCheck:
    """The self-check of one lane. ``outcome`` is its state; while it is ``running``, that is not known yet."""

    def __init__(
        self, subject: _Subject, shared: SelfChecks, known: SelfCheckState | None, unusable: str | None
    ) -> None:
        """Use :meth:`SelfChecks.of` or :meth:`SelfChecks.of_profile`."""
        self._subject = subject
        self._lane_id = subject.lane_id
        self._shared = shared
        self._unusable = unusable
        self.check_id = subject.key.check_id
        self.outcome = known or SelfCheckState(state="pending", check_id=self.check_id)
        self.running = False

    @property
    def passed(self) -> bool:
        return self.outcome.state == "passed"

    @property
    def failed(self) -> bool:
        return self.outcome.state == "failed"

    @property
    def of_catalog(self) -> bool:
        """Whether it is the check of a lane of the catalog."""
        return self._subject.profile is None

    def require(self) -> None:
        """Let a lane pass that has not failed; raises ``self_check_failed``."""
        if self._unusable is not None:
            raise self._failure(self._unusable)
        if self.failed:
            raise self._failure(str(self.outcome.reason))

    async def run(self, worker: WorkerProcess) -> None:
        """Check a lane that was just loaded, unless it has passed before.

        Raises ``self_check_failed`` for wrong numbers, ``engine_crashed`` for none within the ceiling, and WorkerFault.
        """
        if self.passed:
            return
        self.running = True
        try:
            with self._shared.leases.holding(self._lane_id, "self_check", self.check_id):
                await self._conclude(await self._judge(worker))
        finally:
            self.running = False
        self.require()

    async def _judge(self, worker: WorkerProcess) -> Verdict:
        check = await self._figures()
        limit_s = self._shared.ceiling_s(self._subject.backend)
        try:
            async with asyncio.timeout(limit_s):
                return await self._compute(check, worker)
        except WorkerRefused as refusal:
            raise refused(self._lane_id, refusal) from refusal
        except TimeoutError as error:
            raise SynapseError(
                "engine_crashed",
                f"the self-check of {self._lane_id} did not end within {limit_s:g} s",
                details={"lane_id": self._lane_id, "reason": "self_check_ceiling"},
            ) from error

    async def _figures(self) -> SelfCheck:
        # What is damaged here is the release, not the lane: nothing is kept.
        try:
            return await asyncio.to_thread(self._subject.figures)
        except CatalogError as error:
            _log.error("self_check_unusable", lane_id=self._lane_id, problem=str(error))
            raise self._failure("figures_unusable") from error
        except ProfileError as error:
            _log.error("self_check_unusable", lane_id=self._lane_id, profile=self._subject.profile, problem=str(error))
            self._unusable = error.reason
            raise self._failure(error.reason) from error

    async def _compute(self, check: SelfCheck, worker: WorkerProcess) -> Verdict:
        lengths = [len(case.ids) for case in check.cases]
        ids = b"".join(struct.pack(f"<{len(case.ids)}i", *case.ids) for case in check.cases)
        if isinstance(check, EmbedCheck):
            rows = (await worker.embed(lengths, ids, "f32")).rows
            vectors = {
                case.id: EmbeddedCase(case.ids, _vector(row, len(case.vector)))
                for case, row in zip(check.cases, rows, strict=True)
            }
            return evaluate_embed(check, vectors)
        readout = self._subject.readout
        assert readout is not None
        scored = await worker.score(lengths, ids)
        scores = {
            case.id: ScoredCase(case.ids, math.nan if score is None else score, scored.token_ids)
            for case, score in zip(check.cases, scored.scores, strict=True)
        }
        return evaluate_rerank(check, scores, dtype=self._subject.dtype, readout=readout)

    async def _conclude(self, verdict: Verdict) -> None:
        self.outcome = SelfCheckState(
            state="passed" if verdict.passed else "failed",
            check_id=self.check_id,
            reason=msgspec.UNSET if verdict.reason is None else verdict.reason,
            evidence=dict(verdict.evidence),
        )
        lane_id = self._lane_id
        if not self.of_catalog:
            self._shared.known[self.check_id] = self.outcome
        if verdict.passed:
            _log.info("self_check_passed", lane_id=lane_id, **verdict.evidence)
        else:
            _log.error("self_check_failed", lane_id=lane_id, reason=verdict.reason, problem=verdict.message)
        try:
            await self._shared.records.save(self._subject.key, self.outcome)
        except StoreError as error:
            _log.warning("self_check_not_kept", lane_id=lane_id, reason=error.reason)

    def _failure(self, reason: str) -> SynapseError:
        words = reason.replace("_", " ")
        if self._subject.profile is not None:
            return SynapseError(
                "self_check_failed",
                f"{self._lane_id} is not proven to be {self._subject.profile} on this machine ({words}); register "
                "other files, or register it without a profile and probe it",
                details={"profile": self._subject.profile, "reason": reason},
            )
        return SynapseError(
            "self_check_failed",
            f"{self._lane_id} doesn't give the right numbers on this machine ({words}); remove "
            "the model and download it again, or use another",
            details={
                "model_id": self._lane_id,
                "backend": self._subject.backend,
                "check_id": self.check_id,
                "reason": reason,
            },
        )


def _vector(row: bytes, dims: int) -> tuple[float, ...]:
    """The numbers of a raw row; a worker gives no bytes for one that isn't finite."""
    return struct.unpack(f"<{len(row) // 4}f", row) if row else (math.nan,) * dims
