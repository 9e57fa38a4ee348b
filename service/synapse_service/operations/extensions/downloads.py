"""``downloads.list`` and the topic ``downloads``: what is being fetched, for people to see."""

from __future__ import annotations

from synapse_service.catalog.downloads import Downloads
from synapse_service.events import EventHub
from synapse_service.server.router import Call, Router
from synapse_wire import params as p
from synapse_wire import results as r

_DEFAULT_LIMIT = 100


def register(router: Router, downloads: Downloads, hub: EventHub) -> None:
    """Serve the operation. The topic's snapshot shows the downloads that have not ended."""

    async def listing(call: Call, params: p.DownloadsList) -> r.DownloadsList:
        return r.DownloadsList(downloads=await downloads.rows(params.limit or _DEFAULT_LIMIT))

    router.add("downloads.list", listing)
    hub.register_topic("downloads", lambda: [job.row() for job in downloads.live()])
