"""What the clients can do with equivalences: ask whether an index may rely on them.

The methods of both clients, in one file beside each other; the two classes are bases of ``Client`` and
``AsyncClient``. Declaring and retracting pairs is an operator's work, and has a command of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from synapse_client import calls
from synapse_client.running import Asyncio, Blocking
from synapse_wire import results as r


class AliasMethods(Blocking):
    """Of the blocking client."""

    def aliases_check_index(self, index_fingerprint: str, provenance_set: Sequence[str]) -> r.IndexChecked:
        """Whether an index that is kept under one fingerprint may hold vectors of all of these.

        ``status`` is ``valid``, or ``migration_required`` with the pair that doesn't stand. Keep ``table_epoch`` with
        the index.
        """
        return self._run(calls.aliases_check_index(index_fingerprint, provenance_set))


class AsyncAliasMethods(Asyncio):
    """Of the asyncio client."""

    async def aliases_check_index(self, index_fingerprint: str, provenance_set: Sequence[str]) -> r.IndexChecked:
        """Whether an index that is kept under one fingerprint may hold vectors of all of these."""
        return await self._run(calls.aliases_check_index(index_fingerprint, provenance_set))
