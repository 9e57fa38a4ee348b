"""The table of equivalences as the service knows it: in memory for every answer, in the database for good.

Inference reads it for each result, so reading costs a look into a dictionary. A change is written first and becomes
visible with the commit, before whoever asked for it is told; what is in memory is always a whole table that the
database had at one epoch. Used on the event loop only. ``boot`` restores it before anything is served.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from synapse_service.aliases import pairs
from synapse_service.aliases.pairs import LivePair, Pair, Table, pair_of
from synapse_service.catalog.detached import Detached
from synapse_service.clock import Clock
from synapse_service.store.database import Store
from synapse_service.store.errors import StoreError

_Step = Callable[[Pair, Mapping[str, Any], int], bool]


@dataclass(frozen=True, slots=True)
class Change:
    """What became of a change: whether there was one, and the epoch after it."""

    changed: bool
    table_epoch: int


@dataclass(frozen=True, slots=True)
class Broken:
    """The pair on which an index relies and which doesn't stand."""

    pair: Pair


class AliasTable:
    """The equivalences of a service."""

    def __init__(self, store: Store, clock: Clock, detached: Detached) -> None:
        self._store = store
        self._clock = clock
        self._detached = detached
        self._table = Table(0, (), frozenset())
        self._partners: dict[str, list[str]] = {}

    def restore(self) -> None:
        """Read what earlier processes wrote. Blocks; for boot.

        After a start that may have lost commits, the epoch jumps to the wall clock's seconds, which are far above any
        number of changes: whoever keeps an epoch of the lost ones must not find it again over another table.
        """
        if self._store.opening.may_lack_commits:
            self._store.write_sync(lambda: pairs.skip_to(self._clock.wall_ms() // 1000))
        self._show(self._store.read_sync(pairs.read_table))

    @property
    def epoch(self) -> int:
        """How often the table has changed."""
        return self._table.epoch

    @property
    def live(self) -> Sequence[LivePair]:
        """The pairs that stand, the oldest first."""
        return self._table.live

    def equivalents(self, fingerprint: str) -> list[str]:
        """The fingerprints that are paired with this one now, in order. Pairs of pairs don't count."""
        return list(self._partners.get(fingerprint, ()))

    def equivalent(self, one: str, other: str) -> bool:
        """True while the two are a pair."""
        return other in self._partners.get(one, ())

    def check_index(self, index_fingerprint: str, provenances: Sequence[str]) -> Broken | None:
        """The first pair that an index needs and that doesn't stand; one that was retracted before one that never was.

        An index that is kept under one fingerprint may hold vectors of others as long as each is paired with it.
        """
        foreign = dict.fromkeys(each for each in provenances if each != index_fingerprint)
        broken = [each for each in foreign if not self.equivalent(index_fingerprint, each)]
        if not broken:
            return None
        retracted = [each for each in broken if pair_of(index_fingerprint, each) in self._table.ended]
        return Broken((index_fingerprint, (retracted or broken)[0]))

    async def declare(self, pair: Pair, evidence: Mapping[str, Any]) -> Change:
        """Make a pair live; raises StoreError, and then it most likely doesn't stand."""
        return await self._detached.run(self._change(pairs.declare, pair, evidence))

    async def retract(self, pair: Pair, evidence: Mapping[str, Any]) -> Change:
        """End a pair; raises StoreError, and then it most likely stands still."""
        return await self._detached.run(self._change(pairs.retract, pair, evidence))

    async def _change(self, step: _Step, pair: Pair, evidence: Mapping[str, Any]) -> Change:
        now_ms = self._clock.wall_ms()

        def write() -> tuple[bool, Table]:
            return step(pair, evidence, now_ms), pairs.read_table()

        try:
            changed, table = await self._store.write(write)
        except StoreError:
            # A disk that fails at the very end may have kept the change all the same.
            with contextlib.suppress(StoreError):
                self._show(await self._store.read(pairs.read_table))
            raise
        self._show(table)
        return Change(changed, table.epoch)

    def _show(self, table: Table) -> None:
        # Of two changes the later one may be heard of first, and holds both.
        if table.epoch < self._table.epoch:
            return
        partners: dict[str, list[str]] = {}
        for each in table.live:
            first, second = each.pair
            partners.setdefault(first, []).append(second)
            partners.setdefault(second, []).append(first)
        self._partners = {fingerprint: sorted(found) for fingerprint, found in partners.items()}
        self._table = table
