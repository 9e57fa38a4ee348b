"""Leases: who holds what, in the words of the contract, and waiting for those who do."""

from __future__ import annotations

import asyncio
import itertools

import msgspec
import pytest

from synapse_service.admission.leases import LeaseBook


@pytest.fixture
def book() -> LeaseBook:
    numbers = itertools.count(1)
    return LeaseBook(lambda: f"lease-{next(numbers)}")


def held(book: LeaseBook, lane_id: str | None = None) -> list[dict[str, str]]:
    holders: list[dict[str, str]] = msgspec.to_builtins(book.holders(lane_id))
    return holders


def test_each_kind_of_holder_has_its_own_member(book: LeaseBook) -> None:
    book.take("a")
    book.take("a", "job", "job-1")
    book.take("b", "self_check", "check-1")
    assert held(book, "a") == [{"kind": "request", "lease_id": "lease-1"}, {"kind": "job", "job_id": "job-1"}]
    assert held(book, "b") == [{"kind": "self_check", "check_id": "check-1"}]
    assert held(book) == held(book, "a") + held(book, "b")
    assert held(book, "c") == []


def test_a_lease_can_be_given_back_twice(book: LeaseBook) -> None:
    lease, other = book.take("a"), book.take("a")
    book.release(lease)
    book.release(lease)
    assert held(book) == [{"kind": "request", "lease_id": other.id}]


def test_a_block_gives_its_lease_back_however_it_ends(book: LeaseBook) -> None:
    def fail() -> None:
        with book.holding("a", "job", "job-1") as lease:
            assert lease.id == "job-1"
            assert held(book, "a") == [{"kind": "job", "job_id": "job-1"}]
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert held(book) == []


async def test_a_lane_that_nobody_holds_is_drained(book: LeaseBook) -> None:
    book.take("other")
    await asyncio.wait_for(book.drained("a"), 1)


async def test_draining_waits_for_the_present_holders_and_for_no_later_ones(book: LeaseBook) -> None:
    first, second = book.take("a"), book.take("a", "job", "job-1")
    waiting = asyncio.create_task(book.drained("a"))
    await asyncio.sleep(0)
    book.take("a")
    book.release(first)
    await asyncio.sleep(0)
    assert not waiting.done()
    book.release(second)
    await asyncio.wait_for(waiting, 1)
    assert held(book, "a") == [{"kind": "request", "lease_id": "lease-2"}]


async def test_a_wait_that_was_cancelled_leaves_nothing_behind(book: LeaseBook) -> None:
    lease = book.take("a")
    waiting = asyncio.create_task(book.drained("a"))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    book.release(lease)
    await asyncio.wait_for(book.drained("a"), 1)
