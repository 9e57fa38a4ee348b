"""``cache.usage``: what the models take on the disk, for people who have to make room."""

from __future__ import annotations

import shutil
from collections.abc import Callable

from synapse_service.catalog.blobs import BlobStore
from synapse_service.catalog.collector import Collector
from synapse_service.catalog.disk_work import disk_work
from synapse_service.catalog.refusals import disk_failure
from synapse_service.catalog.usage import usage
from synapse_service.server.router import Call, Router
from synapse_wire import params as p
from synapse_wire import results as r


def register(router: Router, blobs: BlobStore, collector: Collector, limit_bytes: Callable[[], int]) -> None:
    """Serve the operation."""

    async def cache_usage(call: Call, params: p.NoParams) -> r.CacheUsage:
        with blobs.leases.using():
            survey = await collector.survey()
            try:
                arriving = await disk_work(blobs.staged_bytes)
                free = (await disk_work(shutil.disk_usage, blobs.root)).free
            except OSError as error:
                raise disk_failure(error, blobs) from error
            path = str(blobs.root)
        return r.CacheUsage(
            path=path,
            used_bytes=sum(survey.sizes.values()),
            reclaimable_bytes=survey.reclaimable_bytes,
            arriving_bytes=arriving,
            quarantined_bytes=sum(survey.quarantined.values()),
            free_bytes=free,
            limit_bytes=limit_bytes(),
            models=usage(survey),
        )

    router.add("cache.usage", cache_usage)
