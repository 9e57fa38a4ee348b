"""Models that the settings name: registered and loaded when the service starts, as ``model.load`` would.

=================================================  ==========================================================
what is wrong with an entry                        what happens
=================================================  ==========================================================
its shape, or an unpinned or undigested file       the start fails, naming the entry
its id belongs to the catalog, or stands twice     the start fails, naming the entry
its engine isn't ours, is off, or can't run here   one warning, and the entry is skipped
its model can't be fetched, read or proven         one warning; the job and the lane say more
the folder of the models can't be used             the same, and it is tried again when the folder can be used
=================================================  ==========================================================

:func:`plan` decides all that the entries alone decide; ``boot`` asks it before anything is opened. :class:`Preloads`
works through the plan, one model after the other, while the service serves already.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec import UnsetType

from synapse_service.catalog.store_marker import REASONS
from synapse_service.jobs.book import JobBook
from synapse_service.lanes import manifest as manifests
from synapse_service.lanes.device_gate import DeviceGate
from synapse_service.lanes.manifest import Manifest
from synapse_service.lanes.onboarding import Onboarding
from synapse_service.logs import get_logger
from synapse_wire.errors import SynapseError
from synapse_wire.params import ModelLoad

_log = get_logger(__name__)


class PreloadError(Exception):
    """An entry with which the service doesn't start. ``number`` counts from 1."""

    def __init__(self, number: int, model_id: str, problem: str) -> None:
        super().__init__(number, model_id, problem)
        self.number = number
        self.model_id = model_id
        self.problem = problem

    def __str__(self) -> str:
        return f"preload entry {self.number} ({self.model_id!r}): {self.problem}"


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be loaded, in order, and what is left out and why, by model id."""

    manifests: tuple[Manifest, ...]
    skipped: dict[str, SynapseError]


def plan(entries: Sequence[ModelLoad], *, cpu_lanes: bool, reserved_ids: Container[str]) -> Plan:
    """Check every entry without any I/O; raises :class:`PreloadError` for one that stops the start."""
    checked: list[Manifest] = []
    skipped: dict[str, SynapseError] = {}
    seen: set[str] = set()
    for number, entry in enumerate(entries, start=1):
        model_id = entry.model_id
        if model_id in reserved_ids:
            problem = "the id belongs to the catalog; use models.download, or choose another id"
            raise PreloadError(number, model_id, problem)
        if model_id in seen:
            raise PreloadError(number, model_id, "an earlier entry has the same id")
        seen.add(model_id)
        try:
            checked.append(manifests.check(entry, cpu_lanes=cpu_lanes, reserved_ids=reserved_ids))
        except SynapseError as error:
            if error.level == "channel":
                field = (error.details or {}).get("field")
                raise PreloadError(number, model_id, f"{field}: {error.message}") from error
            skipped[model_id] = error
    return Plan(tuple(checked), skipped)


class Preloads:
    """Works through the entries; one for the service. ``cpu_lanes`` is the setting, read anew each time."""

    def __init__(
        self,
        entries: Sequence[ModelLoad],
        *,
        devices: DeviceGate,
        onboarding: Onboarding,
        jobs: JobBook,
        reserved_ids: Container[str],
        cpu_lanes: Callable[[], bool],
    ) -> None:
        self._entries = entries
        self._devices = devices
        self._onboarding = onboarding
        self._jobs = jobs
        self._reserved_ids = reserved_ids
        self._cpu_lanes = cpu_lanes
        self._begun: set[str] = set()
        self._told: set[tuple[str, str]] = set()
        self._asked = self._running = False

    async def run(self) -> None:
        """Load every entry that can be loaded and wasn't before; those that can't are told once.

        Whoever calls while it is at work doesn't wait: it then goes through the entries once more.
        """
        self._asked = True
        if self._running:
            return
        self._running = True
        try:
            while self._asked:
                self._asked = False
                await self._run()
        finally:
            self._running = False

    async def _run(self) -> None:
        planned = plan(self._entries, cpu_lanes=self._cpu_lanes(), reserved_ids=self._reserved_ids)
        for model_id, error in planned.skipped.items():
            self._tell("preload_skipped", model_id, error.code, error.message)
        for manifest in planned.manifests:
            if manifest.model_id not in self._begun:
                await self._load(manifest)

    async def _load(self, manifest: Manifest) -> None:
        model_id = manifest.model_id
        self._begun.add(model_id)
        try:
            await self._devices.require(manifest.engine)
            job = await self._onboarding.start(manifest, None)
        except SynapseError as error:
            self._tell("preload_skipped", model_id, error.code, error.message)
            return
        await self._jobs.ended(job)
        if job.error is not None:
            self._tell("preload_failed", model_id, job.error.code, job.error.message)
            if _for_want_of_a_folder(job.error.details):
                self._begun.discard(model_id)

    def _tell(self, event: str, model_id: str, code: str, problem: str) -> None:
        if (model_id, code) not in self._told:
            self._told.add((model_id, code))
            _log.warning(event, model_id=model_id, code=code, problem=problem)


def _for_want_of_a_folder(details: dict[str, Any] | UnsetType) -> bool:
    return isinstance(details, dict) and details.get("reason") in REASONS
