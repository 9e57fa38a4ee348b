"""``storage.status``, ``storage.move`` and ``storage.cancel``: the folder of the models."""

from __future__ import annotations

from synapse_service.catalog.detached import Detached
from synapse_service.catalog.storage import Storage
from synapse_service.catalog.storage_moves import StorageMoves
from synapse_service.server.router import Call, Router
from synapse_wire import params as p
from synapse_wire import results as r


def register(router: Router, storage: Storage, moves: StorageMoves, detached: Detached) -> None:
    """Serve the operations. A client that leaves doesn't stop what it began."""

    async def status(call: Call, params: p.NoParams) -> r.StorageStatus:
        await storage.look()
        return moves.status()

    async def move(call: Call, params: p.StorageMove) -> r.StorageMove:
        return await detached.run(moves.start(params.path, params.mode or "move"))

    async def cancel(call: Call, params: p.NoParams) -> r.StorageMove:
        return await detached.run(moves.cancel())

    router.add("storage.status", status)
    router.add("storage.move", move)
    router.add("storage.cancel", cancel)
