"""``jobs.list``, ``jobs.cancel`` and the topic ``jobs``: what the service is working on, for people to see."""

from __future__ import annotations

from synapse_service.catalog.downloads import Downloads
from synapse_service.events import EventHub
from synapse_service.jobs.book import JobBook
from synapse_service.server.router import Call, Router
from synapse_wire import params as p
from synapse_wire import results as r

_DEFAULT_LIMIT = 100


def register(router: Router, book: JobBook, downloads: Downloads, hub: EventHub) -> None:
    """Serve both operations. The topic's snapshot shows the jobs that have not ended, downloads among them."""

    async def listing(call: Call, params: p.JobsList) -> r.JobsList:
        rows = await book.rows(params.states, params.limit or _DEFAULT_LIMIT)
        fresher = downloads.job_rows()
        return r.JobsList(jobs=[fresher.get(row.job_id, row) for row in rows])

    async def cancel(call: Call, params: p.JobRef) -> r.JobStatus:
        return await book.cancel(params.job_id)

    router.add("jobs.list", listing)
    router.add("jobs.cancel", cancel)
    hub.register_topic("jobs", lambda: [*book.live_rows(), *downloads.job_rows().values()])
