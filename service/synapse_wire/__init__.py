"""The wire contract as types: what may cross the socket, in which shape, and how it fails.

Data and pure functions; nothing here opens a socket or imports asyncio, so a client pays almost nothing for it. Read
in this order: ``endpoint`` (where the service listens), ``framing`` (bytes to lines), ``messages`` (lines to requests
and replies), ``operations`` (the registry), ``params`` and ``results`` (the shapes), ``errors`` (the error table).
"""

from typing import Final

__version__ = "0.1.0"
"""The version of the whole distribution: client, service and engines are released together."""

PROTOCOL: Final = 1
"""The protocol number that ``service.hello`` speaks."""
