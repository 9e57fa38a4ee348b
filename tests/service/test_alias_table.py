"""The table of equivalences: what a change writes, what is known after it, and what a crash or a full disk leaves."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import peewee
import pytest

from fixtures.clocks import FakeClock
from fixtures.equivalences import fingerprint
from synapse_service.aliases import pairs
from synapse_service.aliases.pairs import pair_of
from synapse_service.aliases.table import AliasTable, Broken, Change
from synapse_service.catalog.detached import Detached
from synapse_service.store.database import Store
from synapse_service.store.errors import StoreError
from synapse_service.store.models import Alias

A, B, C = (fingerprint(digit) for digit in "abc")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def store(quick_dir: Path, clock: FakeClock) -> Iterator[Store]:
    store = Store.open(quick_dir / "synapse.db", clock)
    yield store
    store.close_sync()


@pytest.fixture
def table(store: Store, clock: FakeClock) -> AliasTable:
    return restored(store, clock)


def restored(store: Store, clock: FakeClock) -> AliasTable:
    """The table as a new process finds it."""
    table = AliasTable(store, clock, Detached())
    table.restore()
    return table


def rows(store: Store) -> list[dict[str, Any]]:
    return store.read_sync(lambda: list(Alias.select().order_by(Alias.declared_epoch).dicts()))


def known(table: AliasTable) -> tuple[int, list[list[str]]]:
    return table.epoch, [table.equivalents(each) for each in (A, B, C)]


async def test_a_table_that_nobody_changed_has_epoch_0_and_no_pair(table: AliasTable) -> None:
    assert known(table) == (0, [[], [], []])
    assert table.live == ()
    assert not table.equivalent(A, A)


async def test_a_declared_pair_stands_in_both_directions_and_is_written_with_its_evidence(
    table: AliasTable, store: Store, clock: FakeClock
) -> None:
    assert await table.declare(pair_of(B, A), {"mean_cosine": 0.9995}) == Change(True, 1)
    assert known(table) == (1, [[B], [A], []])
    assert rows(store) == [
        {
            "first": A,
            "second": B,
            "declared_epoch": 1,
            "declared_ms": clock.wall_ms(),
            "evidence": '{"mean_cosine":0.9995}',
            "retracted_epoch": None,
            "retracted_ms": None,
            "retraction_evidence": None,
        }
    ]


async def test_declaring_a_live_pair_again_changes_nothing_not_even_its_evidence(
    table: AliasTable, store: Store
) -> None:
    await table.declare((A, B), {"first": True})
    before = rows(store)
    assert await table.declare(pair_of(B, A), {"second": True}) == Change(False, 1)
    assert (rows(store), table.live[0].evidence) == (before, {"first": True})


async def test_a_retracted_pair_is_gone_and_its_row_says_when_and_why(
    table: AliasTable, store: Store, clock: FakeClock
) -> None:
    await table.declare((A, B), {})
    clock.advance(5)
    assert await table.retract((A, B), {"why": "drift"}) == Change(True, 2)
    assert known(table) == (2, [[], [], []])
    (row,) = rows(store)
    assert (row["retracted_epoch"], row["retracted_ms"]) == (2, clock.wall_ms())
    assert row["retraction_evidence"] == '{"why":"drift"}'


async def test_retracting_what_does_not_stand_leaves_the_epoch(table: AliasTable, store: Store) -> None:
    assert await table.retract((A, B), {}) == Change(False, 0)
    await table.declare((A, B), {})
    await table.retract((A, B), {})
    before = rows(store)
    assert await table.retract((A, B), {"again": True}) == Change(False, 2)
    assert rows(store) == before


async def test_a_pair_can_be_declared_again_after_it_ended(table: AliasTable, store: Store) -> None:
    await table.declare((A, B), {})
    await table.retract((A, B), {})
    assert await table.declare((A, B), {}) == Change(True, 3)
    assert table.equivalent(A, B)
    assert [(row["declared_epoch"], row["retracted_epoch"]) for row in rows(store)] == [(1, 2), (3, None)]
    assert table.check_index(A, [B]) is None


async def test_pairs_are_not_chained(table: AliasTable) -> None:
    await table.declare((A, B), {})
    await table.declare((B, C), {})
    assert known(table) == (2, [[B], [A, C], [B]])
    assert not table.equivalent(A, C)


async def test_a_new_process_finds_the_table_as_it_was_left(table: AliasTable, store: Store, clock: FakeClock) -> None:
    await table.declare((A, B), {"n": 1})
    await table.declare((A, C), {"n": 2})
    await table.retract((A, B), {})
    again = restored(store, clock)
    assert known(again) == known(table) == (3, [[C], [], [A]])
    assert again.live == table.live
    assert again.check_index(A, [B]) == Broken((A, B))


async def test_the_database_itself_refuses_a_second_live_row_of_a_pair(table: AliasTable, store: Store) -> None:
    await table.declare((A, B), {})

    def second() -> None:
        Alias.create(first=A, second=B, declared_epoch=9, declared_ms=0, evidence="{}")

    with pytest.raises(peewee.IntegrityError, match="UNIQUE"):
        store.write_sync(second)


async def test_of_many_who_declare_a_pair_at_once_one_changes_the_table(table: AliasTable, store: Store) -> None:
    outcomes = await asyncio.gather(*(table.declare(pair_of(A, B), {"who": n}) for n in range(20)))
    assert sorted(each.changed for each in outcomes) == [False] * 19 + [True]
    assert {each.table_epoch for each in outcomes} == {1}
    assert len(rows(store)) == 1


async def test_changes_that_race_get_an_epoch_each_and_end_as_the_database_says(
    table: AliasTable, store: Store, clock: FakeClock
) -> None:
    others = [fingerprint(digit) for digit in "0123456789"]
    changes = [table.declare(pair_of(A, each), {}) for each in others]
    changes += [table.retract(pair_of(A, each), {}) for each in others[:5]]
    outcomes = await asyncio.gather(*changes)
    assert sorted(each.table_epoch for each in outcomes if each.changed) == list(range(1, 16))
    assert (table.epoch, table.equivalents(A)) == (15, others[5:])
    assert known(restored(store, clock)) == known(table)


async def test_of_two_changes_the_later_one_may_be_heard_of_first(table: AliasTable, store: Store) -> None:
    await table.declare((A, B), {})
    older = store.read_sync(pairs.read_table)
    await table.retract((A, B), {})
    table._show(older)  # what a task that was slow to wake up would do
    assert known(table) == (2, [[], [], []])


async def test_who_leaves_while_a_change_is_written_does_not_leave_memory_behind(
    table: AliasTable, store: Store
) -> None:
    asked = asyncio.create_task(table.declare((A, B), {}))
    await asyncio.sleep(0)  # it begins
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    await table._detached.close()
    assert len(rows(store)) == 1
    assert known(table) == (1, [[B], [A], []])


@pytest.mark.parametrize("step", ["Alias.create", "State.insert"])
async def test_a_change_that_breaks_off_leaves_no_pair_and_no_epoch(
    table: AliasTable, store: Store, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await table.declare((A, B), {})
    before = (rows(store), known(table))

    def fail(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError(step)

    monkeypatch.setattr(f"synapse_service.aliases.pairs.{step}", fail)
    with pytest.raises(RuntimeError):
        await table.declare((A, C), {})
    monkeypatch.undo()
    assert (rows(store), known(table)) == before
    assert store.read_sync(pairs.read_epoch) == 1


async def test_a_store_that_can_not_write_leaves_the_table_as_it_is(
    table: AliasTable, store: Store, clock: FakeClock
) -> None:
    await table.declare((A, B), {})
    store.close_sync()
    with pytest.raises(StoreError):
        await table.retract((A, B), {})
    assert known(table) == (1, [[B], [A], []])


async def test_an_index_is_valid_while_each_foreign_fingerprint_is_paired_with_its_own(table: AliasTable) -> None:
    await table.declare((A, B), {})
    for provenances in ([], [A], [B], [A, B, B]):
        assert table.check_index(A, provenances) is None
    # B and C would have to be a pair of their own.
    await table.declare((A, C), {})
    assert table.check_index(A, [A, B, C]) is None
    assert table.check_index(B, [B, C]) == Broken((B, C))


async def test_an_index_that_relies_on_a_retracted_pair_is_told_which(table: AliasTable) -> None:
    await table.declare((A, B), {})
    await table.retract((A, B), {})
    assert table.check_index(A, [A, B]) == Broken((A, B))
    assert table.check_index(B, [A]) == Broken((B, A))
    # One that never was is broken too, and named when there is no other.
    assert table.check_index(A, [C]) == Broken((A, C))
    assert table.check_index(A, [C, B]) == Broken((A, B))


async def test_what_the_table_says_of_one_fingerprint_is_read_in_the_callers_transaction(
    table: AliasTable, store: Store
) -> None:
    await table.declare((B, C), {})
    await table.declare((A, B), {})
    found = store.read_sync(lambda: pairs.reading(B))
    assert (found.epoch, found.equivalents) == (2, [A, C])
    await table.retract((B, C), {})
    found = store.read_sync(lambda: pairs.reading(B))
    assert (found.epoch, found.equivalents) == (3, [A])
    assert msgspec.json.encode(found.equivalents) == b'["' + A.encode() + b'"]'


async def test_a_table_that_may_have_lost_changes_never_gives_an_epoch_twice(
    table: AliasTable, store: Store, clock: FakeClock
) -> None:
    await table.declare((A, B), {})
    store.opening = dataclasses.replace(store.opening, state="recovered")
    again = restored(store, clock)
    assert known(again) == (clock.wall_ms() // 1000, [[B], [A], []])
    change = await again.retract((A, B), {})
    assert change == Change(True, clock.wall_ms() // 1000 + 1)
    # A clock that was set back doesn't take the epoch back.
    clock.jump_wall(-3_600_000)
    assert restored(store, clock).epoch == change.table_epoch


async def test_a_disk_that_fails_after_the_commit_does_not_leave_memory_behind(
    table: AliasTable, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = store.write

    async def failing(step: Any) -> Any:
        await write(step)
        raise StoreError("io_error", store.path)

    monkeypatch.setattr(store, "write", failing)
    with pytest.raises(StoreError):
        await table.declare((A, B), {})
    assert known(table) == (1, [[B], [A], []])
    monkeypatch.undo()
    assert await table.declare((A, B), {}) == Change(False, 1)
