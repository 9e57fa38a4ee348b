"""How a free-form model comes in: fetch its files, look at them, prove that it computes, and only then register it.

A model that fails on the way leaves nothing registered; files that were proven stay in the store, so a second try
doesn't fetch them again. Replacing a registered model keeps the old one serving until the new one is proven.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from synapse_service.catalog.blobs import BlobStore
from synapse_service.catalog.fetch import Fetcher
from synapse_service.catalog.sources import Role
from synapse_service.jobs.book import JobBook, LiveJob
from synapse_service.lanes.lane import Lane
from synapse_service.lanes.manifest import Manifest, sources
from synapse_service.lanes.registration import Registration, StoredFile, examine
from synapse_service.lanes.registry import LaneRegistry
from synapse_wire.errors import SynapseError, invalid_state

_PROOF_STEPS = 2
"""Steps of a load job after its files: examining them, and loading the model."""


class Onboarding:
    """Runs ``model.load``; one for the service."""

    def __init__(
        self,
        *,
        lanes: LaneRegistry,
        jobs: JobBook,
        fetcher: Fetcher,
        blobs: BlobStore,
        hf_base_url: Callable[[], str],
    ) -> None:
        self._lanes = lanes
        self._jobs = jobs
        self._fetcher = fetcher
        self._blobs = blobs
        self._hf_base_url = hf_base_url

    async def start(self, manifest: Manifest, client: str) -> LiveJob:
        """Accept a load, or join the one that runs for the same manifest; raises for a conflicting one."""
        for job in self._jobs.live("model.load", manifest.model_id):
            if job.digest == manifest.digest:
                return job
            raise invalid_state(
                f"another model is just being loaded as {manifest.model_id!r}; wait for job {job.job_id}",
                model_id=manifest.model_id,
                job_id=job.job_id,
            )
        lane = self._lanes.find(manifest.model_id)
        if lane is not None and lane.registration.manifest.digest != manifest.digest and lane.state != "unloaded":
            raise SynapseError(
                "model_in_use",
                f"{manifest.model_id!r} is loaded from other files; unload it before replacing it",
                details={"catalog_id": None, "holders": [{"kind": "loaded", "model_id": manifest.model_id}]},
            )
        return await self._jobs.start(
            "model.load",
            manifest.model_id,
            lambda job: self._run(manifest, job),
            digest=manifest.digest,
            client=client,
        )

    async def _run(self, manifest: Manifest, job: LiveJob) -> None:
        registration = await self._registration(manifest, job)
        known = self._lanes.find(manifest.model_id)
        if known is not None and known.registration == registration:
            await known.ensure_ready()
        else:
            await self._register(registration)
        job.progress(job.items_total, job.items_total)

    async def _register(self, registration: Registration) -> Lane:
        fresh = self._lanes.new_lane(registration)
        try:
            await fresh.ensure_ready()
            return await self._lanes.register(registration, fresh)
        except BaseException:
            await fresh.close()
            raise

    async def _registration(self, manifest: Manifest, job: LiveJob) -> Registration:
        wanted = sources(manifest, self._hf_base_url())
        job.progress(0, len(wanted) + _PROOF_STEPS)
        files: dict[Role, StoredFile] = {}
        for done, source in enumerate(wanted, start=1):
            blob = await self._fetcher.fetch(source, lambda _: None)
            files[source.role] = StoredFile(source.role, source.name, blob.sha256, blob.size)
            job.progress(done, job.items_total)
        paths = {role: self._blobs.path(file.sha256) for role, file in files.items()}
        registration = await asyncio.to_thread(examine, manifest, files, paths)
        job.progress(len(wanted) + 1, job.items_total)
        return registration
