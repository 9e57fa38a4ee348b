"""How a free-form model comes in: fetch its files, look at them, prove that it computes, and only then register it.

A model that fails on the way leaves nothing registered; files that were proven stay in the store, so a second try
doesn't fetch them again. Only a model that fails the cases of its profile is known from then on, and refuses. Replacing
a registered model keeps the old one serving until the new one is proven.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Final

from synapse_service.admission.leases import LeaseBook
from synapse_service.catalog.blob_leases import BlobLease
from synapse_service.catalog.blobs import BlobStore
from synapse_service.catalog.fetch import Fetcher
from synapse_service.catalog.refusals import disk_failure
from synapse_service.catalog.sources import Role
from synapse_service.jobs.book import JobBook
from synapse_service.jobs.live import LiveJob
from synapse_service.lanes.lane import Lane
from synapse_service.lanes.manifest import Manifest, sources
from synapse_service.lanes.model import StoredFile
from synapse_service.lanes.refusals import in_use
from synapse_service.lanes.registration import Registration, examine
from synapse_service.lanes.registry import LaneRegistry
from synapse_wire.errors import SynapseError, invalid_state
from synapse_wire.results import BlobHolder, Holder

_PROOF_STEPS: Final = 2
"""Steps of a load job after its files: examining them, and loading the model."""


class Onboarding:
    """Runs ``model.load``; one for the service."""

    def __init__(
        self,
        *,
        lanes: LaneRegistry,
        jobs: JobBook,
        leases: LeaseBook,
        fetcher: Fetcher,
        blobs: BlobStore,
        hf_base_url: Callable[[], str],
    ) -> None:
        self._lanes = lanes
        self._jobs = jobs
        self._leases = leases
        self._fetcher = fetcher
        self._blobs = blobs
        self._hf_base_url = hf_base_url

    async def start(self, manifest: Manifest, client: str | None) -> LiveJob:
        """Accept a load, or join the one that runs for the same manifest; ``model_in_use`` if the id is held."""
        model_id = manifest.model_id
        for job in self._jobs.live("model.load", model_id):
            if job.digest == manifest.digest:
                return await self._jobs.join(job)
            raise in_use(model_id, [Holder(kind="job", job_id=job.job_id)])
        if self._lanes.hides(model_id):
            raise invalid_state(
                f"{model_id!r} is a CPU lane that is hidden while the setting cpu_lanes is off; choose another id",
                model_id=model_id,
            )
        lane, registered = self._lanes.find(model_id), self._lanes.registration(model_id)
        if lane is not None and registered is not None and registered.manifest.digest != manifest.digest:
            holders = self._holders(lane)
            if holders:
                raise in_use(model_id, holders)
        return await self._jobs.start(
            "model.load",
            model_id,
            lambda job: self._run(manifest, job),
            digest=manifest.digest,
            client=client,
        )

    def _holders(self, lane: Lane) -> list[Holder]:
        loaded = [] if lane.state == "unloaded" else [Holder(kind="loaded", model_id=lane.lane_id)]
        return loaded + self._leases.holders(lane.lane_id)

    async def _run(self, manifest: Manifest, job: LiveJob) -> None:
        # Until the registration is written, nothing else says that these files are needed.
        with self._blobs.leases.take(BlobHolder(kind="job", job_id=job.job_id)) as lease:
            registration = await self._registration(manifest, job, lease)
            known = self._lanes.find(manifest.model_id)
            if known is not None and self._lanes.registration(manifest.model_id) == registration:
                await known.ensure_ready()
            else:
                await self._register(registration)
        job.progress(job.items_total, job.items_total)

    async def _register(self, registration: Registration) -> Lane:
        fresh = self._lanes.new_lane(registration)
        failed: SynapseError | None = None
        try:
            try:
                await fresh.ensure_ready()
            except SynapseError as error:
                # Whoever names a model that failed its profile is to be told so, not that there is none.
                if error.code != "self_check_failed" or self._lanes.registration(registration.model_id) is not None:
                    raise
                failed = error
            lane = await self._lanes.register(registration, fresh)
        except BaseException:
            await fresh.close()
            raise
        if failed is not None:
            raise failed
        return lane

    async def _registration(self, manifest: Manifest, job: LiveJob, lease: BlobLease) -> Registration:
        wanted = sources(manifest, self._hf_base_url())
        job.progress(0, len(wanted) + _PROOF_STEPS)
        files: dict[Role, StoredFile] = {}
        extra: list[tuple[StoredFile, Path]] = []
        for done, source in enumerate(wanted, start=1):
            blob = await self._fetcher.fetch(source, lease)
            file = StoredFile(source.role, source.name, blob.sha256, blob.size)
            if file.role == "extra":
                extra.append((file, self._blobs.path(file.sha256)))
            else:
                files[file.role] = file
            job.progress(done, job.items_total)
        paths = {role: self._blobs.path(file.sha256) for role, file in files.items()}
        try:
            registration = await asyncio.to_thread(examine, manifest, files, paths, extra)
        except OSError as error:
            raise disk_failure(error, self._blobs) from error
        job.progress(len(wanted) + 1, job.items_total)
        return registration
