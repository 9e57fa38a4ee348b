"""``model.load``, ``model.status``, ``model.unload`` and ``models.list``: what is registered, and in which state."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from synapse_service.admission.leases import LeaseBook
from synapse_service.aliases.pairs import LivePair
from synapse_service.aliases.table import AliasTable
from synapse_service.catalog.downloads import Downloads
from synapse_service.catalog.pins import Pins
from synapse_service.certify.ledger import CertificationLedger
from synapse_service.jobs.book import JobBook
from synapse_service.lanes import manifest as manifests
from synapse_service.lanes.device_gate import DeviceGate
from synapse_service.lanes.lane import Lane
from synapse_service.lanes.model_rows import model_row
from synapse_service.lanes.onboarding import Onboarding
from synapse_service.lanes.refusals import in_use
from synapse_service.lanes.registry import LaneRegistry
from synapse_service.server.router import Call, Router
from synapse_service.settings.declared import Settings
from synapse_wire import params as p
from synapse_wire import results as r
from synapse_wire.errors import SynapseError, invalid_state


class ModelOperations:
    """The operations about registered models."""

    def __init__(
        self,
        *,
        lanes: LaneRegistry,
        onboarding: Onboarding,
        jobs: JobBook,
        downloads: Downloads,
        pins: Pins,
        leases: LeaseBook,
        ledger: CertificationLedger,
        settings: Callable[[], Settings],
        devices: DeviceGate,
        module_generation: int,
        aliases: AliasTable,
    ) -> None:
        self._lanes = lanes
        self._onboarding = onboarding
        self._jobs = jobs
        self._downloads = downloads
        self._pins = pins
        self._leases = leases
        self._ledger = ledger
        self._settings = settings
        self._devices = devices
        self._generation = module_generation
        self._aliases = aliases

    def register(self, router: Router) -> None:
        """Serve the operations."""
        router.add("model.load", self.load)
        router.add("model.status", self.status)
        router.add("model.unload", self.unload)
        router.add_inline("models.list", self.list)

    async def load(self, call: Call, params: p.ModelLoad) -> r.ModelLoadAccepted:
        """Start bringing a model in."""
        manifest = manifests.check(
            params, cpu_lanes=self._settings().cpu_lanes, reserved_ids=self._lanes.catalog.reserved_ids
        )
        await self._devices.require(manifest.engine)
        job = await self._onboarding.start(manifest, call.client_name)
        return r.ModelLoadAccepted(job_id=job.job_id, model_id=manifest.model_id, state=job.state)

    async def status(self, call: Call, params: p.ModelStatus) -> r.JobStatus | r.DownloadStatus | r.ModelRow:
        """A job of any kind, or a model."""
        if params.job_id is not None:
            # Asked for many times a second by those who wait; the database is for jobs that have ended.
            live = self._jobs.live_status(params.job_id)
            if live is not None:
                return live
            download = await self._downloads.find(params.job_id)
            if download is not None:
                return msgspec.structs.replace(download, kind="models.download")
            return await self._jobs.status(params.job_id)
        return self._row(self._lanes.get(params.model_id or ""))

    async def unload(self, call: Call, params: p.ModelUnload) -> r.ModelUnloaded:
        """End a model's worker; the model stays registered and is loaded again when it is asked for."""
        lane_ids = self._lanes.catalog.lane_ids(params.model_id)
        if lane_ids is not None:
            raise invalid_state(
                f"{params.model_id} is a model of the catalog; unload one of its lanes",
                catalog_id=params.model_id,
                lane_ids=lane_ids,
            )
        # A lane of the catalog may be unloaded whether it is installed or not: there is nothing to refuse.
        lane = self._lanes.catalog.declared(params.model_id) or self._lanes.get(params.model_id)
        if lane.state == "loading" and not lane.self_checking:
            raise SynapseError("model_loading", f"{lane.lane_id} is loading; unload it when it is ready")
        holders = self._leases.holders(lane.lane_id)
        if holders:
            raise in_use(lane.lane_id, holders, lane.model.catalog_id)
        await lane.unload()
        return r.ModelUnloaded(
            module_generation=self._generation,
            model_id=lane.lane_id,
            fingerprint=lane.fingerprint,
            state="unloaded",
            engine=lane.model.engine,
            task=lane.model.task,
        )

    def list(self, call: Call, params: p.NoParams) -> r.ModelsList:
        """Every lane that exists for clients."""
        return r.ModelsList(
            module_generation=self._generation,
            table_epoch=self._aliases.epoch,
            models=[self._row(lane) for lane in self._lanes.visible()],
            aliases=[_alias_row(each) for each in self._aliases.live],
        )

    def _row(self, lane: Lane) -> r.ModelRow:
        settings = self._settings()
        batch = r.RecommendedBatch(rows=settings.inline_max_items, token_budget=settings.inline_max_tokens)
        pinned = self._pins.has(lane.model.catalog_id or lane.lane_id)
        return model_row(lane, self._ledger, batch, pinned, self._aliases.equivalents(lane.fingerprint))


def _alias_row(live: LivePair) -> r.AliasRow:
    left, right = live.pair
    return r.AliasRow(
        left=left,
        right=right,
        evidence=live.evidence,
        declared_at_ms=live.declared_ms,
        table_epoch=live.table_epoch,
    )
