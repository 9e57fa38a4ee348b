"""What a local program imports to talk to Synapse: a blocking client, an asyncio client, typed results and errors.

``Client`` blocks and may be shared by threads; ``AsyncClient`` is loaded only when it is first named, so a program
that never touches asyncio doesn't pay for it, and NumPy is loaded only by :meth:`Embedding.numpy`.

    from synapse_client import Client

    with Client() as synapse:
        print(synapse.embed_query("my-model", "a sentence").vector[:4])

A refusal by the service is a :class:`SynapseError` with the contract's stable code. What the client finds by itself
(nobody listens, the connection dropped, no answer in time) is a :class:`ClientError`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from synapse_client.client import Client
from synapse_client.errors import (
    BatchDiverted,
    ClientClosed,
    ClientError,
    ConnectionLost,
    DivergedItem,
    EndpointRefused,
    FingerprintChanged,
    JobUnfinished,
    NoReply,
    ProtocolViolation,
    ServiceNotRunning,
)
from synapse_client.rerank import Ranking
from synapse_client.results import Embedding, Item, Page, Progress
from synapse_wire.errors import SynapseError

if TYPE_CHECKING:
    from synapse_client.aio import AsyncClient
    from synapse_client.events import Event, EventStream

__all__ = [
    "AsyncClient",
    "BatchDiverted",
    "Client",
    "ClientClosed",
    "ClientError",
    "ConnectionLost",
    "DivergedItem",
    "Embedding",
    "EndpointRefused",
    "Event",
    "EventStream",
    "FingerprintChanged",
    "Item",
    "JobUnfinished",
    "NoReply",
    "Page",
    "Progress",
    "ProtocolViolation",
    "Ranking",
    "ServiceNotRunning",
    "SynapseError",
]


def __getattr__(name: str) -> object:
    # asyncio takes longer to import than everything else here together, and most programs call from plain code.
    if name == "AsyncClient":
        from synapse_client.aio import AsyncClient

        return AsyncClient
    if name in ("Event", "EventStream"):
        from synapse_client import events

        return getattr(events, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
