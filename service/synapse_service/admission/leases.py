"""Leases: who holds a lane right now, by name, so that a refusal can say whom to wait for.

Requests and jobs take a lease when they are accepted and give it back when they end, however they end. Unloading,
replacing a model and stopping the service ask here first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from synapse_wire.results import Holder

LeaseKind = Literal["request", "job", "self_check"]


@dataclass(frozen=True, slots=True)
class Lease:
    """One holder of one lane. ``id`` is a lease id, a job id or a check id, as ``kind`` says."""

    lane_id: str
    kind: LeaseKind
    id: str

    def holder(self) -> Holder:
        if self.kind == "job":
            return Holder(kind="job", job_id=self.id)
        if self.kind == "self_check":
            return Holder(kind="self_check", check_id=self.id)
        return Holder(kind="request", lease_id=self.id)


class LeaseBook:
    """All leases of the process, in the order in which they were taken. Used from the event loop only."""

    def __init__(self, new_id: Callable[[], str]) -> None:
        self._new_id = new_id
        self._leases: dict[tuple[LeaseKind, str], Lease] = {}
        self._awaited: list[tuple[set[Lease], asyncio.Future[None]]] = []

    def take(
        self,
        lane_id: str,
        kind: LeaseKind = "request",
        holder_id: str | None = None,
        *,
        continues: Lease | None = None,
    ) -> Lease:
        """A new lease; ``holder_id`` names a job or a check, a request gets an id of its own.

        One that ``continues`` another is waited for by whoever waits for that one: a job that a request left behind.
        """
        lease = Lease(lane_id, kind, holder_id or self._new_id())
        self._leases[kind, lease.id] = lease
        for leases, _ in self._awaited:
            if continues in leases:
                leases.add(lease)
        return lease

    def release(self, lease: Lease) -> None:
        """Give a lease back; a second time is harmless."""
        self._leases.pop((lease.kind, lease.id), None)
        for leases, drained in self._awaited:
            leases.discard(lease)
            if not leases and not drained.done():
                drained.set_result(None)

    @contextmanager
    def holding(
        self,
        lane_id: str,
        kind: LeaseKind = "request",
        holder_id: str | None = None,
        *,
        continues: Lease | None = None,
    ) -> Iterator[Lease]:
        """A lease for the length of a ``with`` block."""
        lease = self.take(lane_id, kind, holder_id, continues=continues)
        try:
            yield lease
        finally:
            self.release(lease)

    def holders(self, lane_id: str | None = None) -> list[Holder]:
        """Who holds ``lane_id``, or anything at all."""
        return [lease.holder() for lease in self._leases.values() if lane_id in (None, lease.lane_id)]

    async def drained(self, lane_id: str) -> None:
        """Wait until those who hold ``lane_id`` now have given it back; whoever takes it meanwhile doesn't count."""
        leases = {lease for lease in self._leases.values() if lease.lane_id == lane_id}
        if not leases:
            return
        awaited = (leases, asyncio.get_running_loop().create_future())
        self._awaited.append(awaited)
        try:
            await awaited[1]
        finally:
            self._awaited.remove(awaited)
