"""Taking lanes out of use for a while: the one state machine behind ``lanes.pause`` and ``service.pause``.

================  ==============================  ================  ===============================================
phase             event                           next              effect
================  ==============================  ================  ===============================================
running           a pause is asked for            draining          the fence closes; admitted requests go on
draining          every lane is at rest and gone  paused            the hardware was given up: it is free
draining          a worker can't be ended         drain_failed      the hardware isn't given up
draining          it can't be given up            drain_failed      tried again every second
drain_failed      it could be given up after all  paused
paused            its time is over, or resume     running           the hardware is taken back first
draining,         its time is over, or resume     running           nobody waits for the drain any more, and what is
drain_failed                                                        in the way is logged
any of the three  the same, and others hold it    waiting_for_lock  the fence stays closed
waiting_for_lock  it could be taken back          running           the fence opens; tried every second, with a warning
================  ==============================  ================  ===============================================

The time counts from acceptance, on the monotonic clock, and is never extended. Only ``paused`` means that the hardware
is free. A request that was admitted is never cut off, and an unload that began is never abandoned: its lane stays
unready until it ends, also when the pause ends sooner. A pause lives in memory: a restart ends it.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from msgspec import UNSET

from synapse_service.clock import CallLater, Clock, Timer, sleep_on
from synapse_service.failures import where
from synapse_service.lanes.hardware_lock import LockFailed, LockHeld
from synapse_service.lanes.lane import Lane
from synapse_service.lanes.model import LaneModel
from synapse_service.lanes.neural_engine import RETRY_S, WorkersLive
from synapse_service.logs import get_logger
from synapse_wire.errors import SynapseError, invalid_state
from synapse_wire.results import DrainError, Pause, PauseStatus

Phase = Literal["running", "draining", "paused", "drain_failed", "waiting_for_lock"]

LEAST_RETRY_MS: Final = 1000
"""Shortest advice to whoever is refused, also when the pause is over and others still have the hardware."""

OPEN_END_S: Final = 60.0
"""How far away the end of a pause without one is said to be, whenever it is asked."""

_log = get_logger(__name__)


class Hardware(Protocol):
    """What a pause gives up and takes back; ``neural_engine.NeuralEngine`` is one."""

    async def give_up(self) -> None:
        """Raises WorkersLive, LockHeld or LockFailed while it isn't free."""
        ...

    def take_back(self) -> None:
        """Raises LockHeld or LockFailed while others have it."""
        ...


class NoHardware:
    """For a pause that only ends workers."""

    async def give_up(self) -> None: ...

    def take_back(self) -> None: ...


@dataclass(slots=True)
class _Active:
    """A pause that was accepted. ``until`` is monotonic and ``until_ms`` on the wall clock; None without an end."""

    reason: str
    until: float | None
    until_ms: int | None
    phase: Phase = "draining"
    over: bool = False
    error: DrainError | None = None
    timer: Timer | None = None
    work: asyncio.Task[None] | None = None


class LanePause:
    """One thing that can be paused: the lanes that ``covers`` names, and the hardware under them.

    ``lanes`` gives every lane that may have a worker, ``known`` those among them that clients may hear of. Each change
    of the phase is followed by ``on_change``.
    """

    def __init__(
        self,
        name: str,
        *,
        covers: Callable[[LaneModel], bool],
        lanes: Callable[[], Iterable[Lane]],
        known: Callable[[], Iterable[Lane]],
        hardware: Hardware,
        clock: Clock,
        call_later: CallLater,
        on_change: Callable[[], None],
    ) -> None:
        self.name = name
        self.covers = covers
        self._lanes = lanes
        self._known = known
        self._hardware = hardware
        self._clock = clock
        self._call_later = call_later
        self._on_change = on_change
        self._active: _Active | None = None

    # --- what is asked of it ---

    def begin(self, reason: str, duration_s: float | None) -> PauseStatus:
        """Close the fence now and begin to drain; ``invalid_request`` while a pause is active."""
        if self._active is not None:
            raise self._busy(self._active)
        now, wall = self._clock.monotonic(), self._clock.wall_ms()
        active = _Active(
            reason,
            until=None if duration_s is None else now + duration_s,
            until_ms=None if duration_s is None else wall + round(duration_s * 1000),
        )
        self._active = active
        if duration_s is not None:
            active.timer = self._call_later(duration_s, lambda: self._end(active))
        _log.info("pause_began", scope=self.name, lanes=len(self.status().lane_ids))
        active.work = asyncio.create_task(self._drain(active), name=f"pause of {self.name}")
        self._on_change()
        return self.status()

    def end(self) -> PauseStatus:
        """Let the pause be over now; harmless without one."""
        if self._active is not None and not self._active.over:
            self._active.until = self._clock.monotonic()
            self._active.until_ms = self._clock.wall_ms()
            self._end(self._active)
        return self.status()

    def status(self) -> PauseStatus:
        """How it stands."""
        active = self._active
        if active is None:
            return PauseStatus(phase="running", hardware_free=False, lane_ids=[])
        return PauseStatus(
            phase=active.phase,
            hardware_free=active.phase == "paused",
            lane_ids=sorted(lane.lane_id for lane in self._known() if self.covers(lane.model)),
            paused_until_ms=UNSET if active.until_ms is None else active.until_ms,
            reason=active.reason,
            drain_error=UNSET if active.error is None else active.error,
        )

    def close(self) -> None:
        """The service ends, and the pause with it."""
        if self._active is not None:
            _stop(self._active)

    # --- what lanes ask ---

    @property
    def active(self) -> bool:
        """Whether anything is paused."""
        return self._active is not None

    @property
    def remaining_s(self) -> float:
        """Seconds that are left; 0 without a pause, and infinite for one without an end."""
        if self._active is None:
            return 0.0
        return math.inf if self._active.until is None else max(0.0, self._active.until - self._clock.monotonic())

    @property
    def current(self) -> Pause | None:
        """The pause as others show it; None while running."""
        active = self._active
        if active is None:
            return None
        until_ms = UNSET if active.until_ms is None else active.until_ms
        return Pause(phase=active.phase, reason=active.reason, paused_until_ms=until_ms)

    def pause(self, model: LaneModel) -> Pause | None:
        """The same, if it covers a lane of this model."""
        return None if self._active is None or not self.covers(model) else self.current

    def refusal(self, model: LaneModel) -> SynapseError | None:
        """What work for a lane of this model is answered with, or None if it is free to go."""
        active = self._active
        if active is None or not self.covers(model):
            return None
        remaining_s, until_ms = self.remaining_s, active.until_ms
        if until_ms is None:
            remaining_s, until_ms = OPEN_END_S, self._clock.wall_ms() + round(OPEN_END_S * 1000)
        return SynapseError(
            "lane_paused",
            f"{model.lane_id} is paused ({active.phase}): {active.reason}",
            details={
                "lane_id": model.lane_id,
                "fingerprint": model.fingerprint,
                "paused_until_ms": until_ms,
                "reason": active.reason,
            },
            retry_after_ms=max(LEAST_RETRY_MS, math.ceil(remaining_s * 1000)),
        )

    # --- the drain ---

    async def _drain(self, active: _Active) -> None:
        try:
            while await self._emptied(active):
                failure = await self._given_up()
                if failure is None:
                    self._enter(active, "paused")
                    return
                self._enter(active, "drain_failed", failure)
                await sleep_on(self._call_later, RETRY_S)
        except Exception as error:  # noqa: BLE001 - the edge of the pause's own task: nobody waits for it
            _log.error("pause_failed", scope=self.name, where=where(error))
            message = "the drain failed unexpectedly; the log tells where"
            self._enter(
                active, "drain_failed", DrainError(lane_id=None, stage="drain", code="internal_error", message=message)
            )

    async def _emptied(self, active: _Active) -> bool:
        """Wait until no covered lane has a worker; False when one of them can't be rid of it."""
        while pending := [lane for lane in self._lanes() if self.covers(lane.model) and not lane.empty]:
            cleared = await asyncio.gather(*(self._clear(active, lane) for lane in pending))
            if not all(cleared):
                return False
        return True

    async def _clear(self, active: _Active, lane: Lane) -> bool:
        await lane.at_rest()
        try:
            await lane.dismiss()
            await lane.vacate()
        except SynapseError as error:
            failure = DrainError(lane_id=lane.lane_id, stage="unload", code=error.code, message=error.message)
            self._enter(active, "drain_failed", failure)
            return False
        return True

    async def _given_up(self) -> DrainError | None:
        try:
            await self._hardware.give_up()
        except (LockHeld, LockFailed, WorkersLive) as error:
            codes = {LockHeld: "lock_held", LockFailed: "lock_failed", WorkersLive: "worker_alive"}
            return DrainError(lane_id=None, stage="lock", code=codes[type(error)], message=str(error))
        return None

    # --- the end ---

    def _end(self, active: _Active) -> None:
        """Its time is over, or somebody resumed: open as soon as the hardware is ours again."""
        active.over = True
        _stop(active)
        self._log_what_was_in_the_way(active)
        if not self._reopened(active):
            active.work = asyncio.create_task(self._reopen(active), name=f"end of the pause of {self.name}")

    def _log_what_was_in_the_way(self, active: _Active) -> None:
        if active.error is not None:
            error = active.error
            _log.warning(
                "pause_drain_failed", lane_id=error.lane_id, stage=error.stage, code=error.code, reason=error.message
            )
        elif active.phase == "draining":
            for lane in self._lanes():
                if self.covers(lane.model) and not lane.empty:
                    _log.warning("pause_not_drained", lane_id=lane.lane_id, stage="drain", state=lane.state)

    def _reopened(self, active: _Active) -> bool:
        try:
            self._hardware.take_back()
        except (LockHeld, LockFailed) as error:
            _log.warning("pause_waits_for_lock", scope=self.name, reason=str(error))
        except Exception as error:  # noqa: BLE001 - the last to try: without it the lanes would never come back
            _log.error("pause_not_ended", scope=self.name, where=where(error))
        else:
            self._active = None
            _log.info("pause_ended", scope=self.name)
            self._on_change()
            return True
        if active.phase != "waiting_for_lock":
            self._enter(active, "waiting_for_lock")
        return False

    async def _reopen(self, active: _Active) -> None:
        while True:
            await sleep_on(self._call_later, RETRY_S)
            if self._reopened(active):
                return

    def _enter(self, active: _Active, phase: Phase, error: DrainError | None = None) -> None:
        if (active.phase, active.error) == (phase, error):
            return
        active.phase, active.error = phase, error
        if error is not None:
            _log.warning(
                "pause_drain_error", lane_id=error.lane_id, stage=error.stage, code=error.code, reason=error.message
            )
        else:
            _log.info("pause_phase", scope=self.name, phase=phase)
        self._on_change()

    def _busy(self, active: _Active) -> SynapseError:
        return invalid_state(
            f"a pause is active already ({active.phase}): {active.reason}; end it first, or wait for its end",
            phase=active.phase,
            reason=active.reason,
            **({} if active.until_ms is None else {"paused_until_ms": active.until_ms}),
        )


def _stop(active: _Active) -> None:
    if active.timer is not None:
        active.timer.cancel()
    if active.work is not None:
        active.work.cancel()
