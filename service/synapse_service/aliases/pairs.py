"""The table of equivalences in the database: functions that run inside one transaction of the store.

A *pair* is two fingerprints in no order. Every change of the table advances its *epoch* by one, in the same
transaction, so nobody ever sees a pair without its epoch.

============  ========  ============  ==================================================================
pair          event     next          effect
============  ========  ============  ==================================================================
never, ended  declare   live          a new row with the evidence; the epoch rises
live          declare   live          none: the first evidence stays, and so does the epoch
live          retract   ended         the row gets its end, with the evidence for that; the epoch rises
never, ended  retract   never, ended  none
============  ========  ============  ==================================================================

Rows of ended pairs stay, so that it can be told which pair an index still relies on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from synapse_service.store.models import DATABASE, Alias, State

EPOCH: Final = "alias_table_epoch"

# As text: the models take a good part of a millisecond to build it, on the path of every page.
_PARTNERS: Final = """
    SELECT 'partner', second FROM alias WHERE first = ? AND retracted_epoch IS NULL
    UNION ALL SELECT 'partner', first FROM alias WHERE second = ? AND retracted_epoch IS NULL
    UNION ALL SELECT 'epoch', value FROM state WHERE key = ?
"""

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class LivePair:
    """A pair that stands, with what was said for it, and the epoch that began with it."""

    pair: Pair
    evidence: dict[str, Any]
    declared_ms: int
    table_epoch: int


@dataclass(frozen=True, slots=True)
class Table:
    """The whole table at one epoch. ``ended`` are the pairs that stood once and don't any more."""

    epoch: int
    live: tuple[LivePair, ...]
    ended: frozenset[Pair]


@dataclass(frozen=True, slots=True)
class Reading:
    """What the table says of one fingerprint: its equivalents, in order, and the epoch at which that was so."""

    epoch: int
    equivalents: list[str]


def pair_of(left: str, right: str) -> Pair:
    """The two in the order in which the table keeps them."""
    return (left, right) if left <= right else (right, left)


def declare(pair: Pair, evidence: Mapping[str, Any], now_ms: int) -> bool:
    """Make a pair live; False when it is."""
    if _live_row(pair) is not None:
        return False
    first, second = pair
    Alias.create(first=first, second=second, declared_epoch=_advance(), declared_ms=now_ms, evidence=_text(evidence))
    return True


def retract(pair: Pair, evidence: Mapping[str, Any], now_ms: int) -> bool:
    """End a pair; False when it doesn't stand."""
    row = _live_row(pair)
    if row is None:
        return False
    ended = {
        Alias.retracted_epoch: _advance(),
        Alias.retracted_ms: now_ms,
        Alias.retraction_evidence: _text(evidence),
    }
    Alias.update(ended).where(_is(pair) & (Alias.declared_epoch == row.declared_epoch)).execute()
    return True


def read_table() -> Table:
    """All of it; pairs in the order in which they were declared."""
    live: list[LivePair] = []
    ended: set[Pair] = set()
    for row in Alias.select().order_by(Alias.declared_epoch):
        pair = (row.first, row.second)
        if row.retracted_epoch is None:
            evidence = msgspec.json.decode(row.evidence)
            live.append(LivePair(pair, evidence, row.declared_ms, row.declared_epoch))
        else:
            ended.add(pair)
    return Table(read_epoch(), tuple(live), frozenset(ended - {each.pair for each in live}))


def read_epoch() -> int:
    """The epoch; 0 until the first change."""
    row = State.get_or_none(State.key == EPOCH)
    return 0 if row is None else int(row.value)


def skip_to(epoch: int) -> None:
    """Let the next epoch be this one at least, although the table didn't change."""
    if read_epoch() < epoch:
        State.insert(key=EPOCH, value=str(epoch)).on_conflict_replace().execute()


def reading(fingerprint: str) -> Reading:
    """What the table says of one fingerprint, as of this transaction. Asked for each page that is committed."""
    found = DATABASE.execute_sql(_PARTNERS, (fingerprint, fingerprint, EPOCH))  # type: ignore[no-untyped-call]
    rows = found.fetchall()
    epoch = next((int(value) for kind, value in rows if kind == "epoch"), 0)
    return Reading(epoch, sorted(value for kind, value in rows if kind == "partner"))


def _is(pair: Pair) -> Any:
    return (Alias.first == pair[0]) & (Alias.second == pair[1])


def _live_row(pair: Pair) -> Alias | None:
    row: Alias | None = Alias.get_or_none(_is(pair) & Alias.retracted_epoch.is_null())
    return row


def _advance() -> int:
    epoch = read_epoch() + 1
    State.insert(key=EPOCH, value=str(epoch)).on_conflict_replace().execute()
    return epoch


def _text(evidence: Mapping[str, Any]) -> str:
    return msgspec.json.encode(evidence).decode()
