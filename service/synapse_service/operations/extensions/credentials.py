"""``credentials.set``, ``credentials.delete`` and ``credentials.list``: secrets that people keep, never shown again."""

from __future__ import annotations

from synapse_models.credentials import Secret
from synapse_service.catalog.detached import Detached
from synapse_service.gateway.credentials import Credentials
from synapse_service.server.router import Call, Router
from synapse_wire import params as p
from synapse_wire import results as r


def register(router: Router, credentials: Credentials, detached: Detached) -> None:
    """Serve the operations."""

    async def put(call: Call, params: p.CredentialsSet) -> r.CredentialRow:
        return await detached.run(credentials.put(params.name, Secret(params.secret), params.origin))

    async def delete(call: Call, params: p.CredentialRef) -> r.CredentialsList:
        await detached.run(credentials.delete(params.name))
        return r.CredentialsList(credentials=await credentials.rows())

    async def listing(call: Call, params: p.NoParams) -> r.CredentialsList:
        return r.CredentialsList(credentials=await credentials.rows())

    router.add("credentials.set", put)
    router.add("credentials.delete", delete)
    router.add("credentials.list", listing)
