"""The pool over real sockets: slots, retries, three timeouts, closing, and the secret that stays in its header."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from fixtures.bound_models import DEAD_URL, pool
from fixtures.openai_stub import OpenAIStub, Scripted, document, events
from synapse_models.connection import BEARER, CONNECTION_FAMILIES, Call
from synapse_models.errors import (
    AttemptTimeout,
    ConnectionFailed,
    IdleTimeout,
    InvalidRequest,
    Overloaded,
    PlanError,
    ProtocolViolation,
    ProviderFailed,
    RateLimited,
    TotalTimeout,
)
from synapse_models.policy import ConnectionIdentity, RetryPolicy, Timeouts
from synapse_models.pool import ConnectionPool, Limiter
from synapse_models.response import Attempt

FAST = Timeouts(total_s=20.0, attempt_s=10.0, idle_s=10.0)
OK = document({"ok": True})
BUSY = document({"error": {"message": "busy"}}, status=503)


@pytest.fixture
async def stub() -> AsyncIterator[OpenAIStub]:
    async with OpenAIStub(OK) as running:
        yield running


def call(stub: OpenAIStub, *, stream: bool = False) -> Call:
    return Call(url=f"{stub.base_url}/x", body=b"{}", auth=BEARER, stream=stream)


async def post(
    connections: ConnectionPool, stub: OpenAIStub, timeouts: Timeouts = FAST
) -> tuple[bytes, tuple[Attempt, ...]]:
    async with connections.exchange(call(stub), timeouts=timeouts) as reply:
        return reply.body, reply.attempts


async def until(condition: Callable[[], bool]) -> None:
    """Waits until something is so, and fails when it never is."""
    async with asyncio.timeout(5):
        while not condition():  # noqa: ASYNC110  what is waited for happens in many places
            await asyncio.sleep(0.005)


async def read_all(
    connections: ConnectionPool, stub: OpenAIStub, found: list[bytes], timeouts: Timeouts = FAST
) -> tuple[Attempt, ...]:
    """Reads a stream into ``found`` and returns the attempts."""
    async with connections.exchange(call(stub, stream=True), timeouts=timeouts) as reply:
        while events_now := await reply.next_events():
            found += [event.data for event in events_now]
        return reply.attempts


def endless(*pieces: bytes, content_type: str = "text/event-stream") -> Scripted:
    """A reply that never ends: its last piece is never written."""
    return Scripted([*pieces, b"never"], 200, {"content-type": content_type}, asyncio.Event())


async def test_a_document_and_its_attempt(stub: OpenAIStub) -> None:
    stub.answer(document({"ok": True}, headers={"x-request-id": "r-1"}))
    async with pool(stub.base_url) as connections:
        assert await post(connections, stub) == (
            b'{"ok": true}',
            (Attempt(outcome="ok", status=200, request_id="r-1"),),
        )
    assert stub.seen[0].raw == b"{}"
    assert stub.seen[0].headers["Content-Type"] == "application/json"


async def test_calls_share_one_connection_and_pools_of_one_address_don_t(stub: OpenAIStub) -> None:
    async with pool(stub.base_url) as connections:
        for _ in range(3):
            await post(connections, stub)
        assert len(stub.connections) == 1
        async with pool(stub.base_url) as others:
            await post(others, stub)
    assert len(stub.connections) == 2


async def test_nothing_is_repeated_unless_it_was_declared(stub: OpenAIStub) -> None:
    stub.answer(BUSY)
    async with pool(stub.base_url) as connections:
        with pytest.raises(Overloaded) as caught:
            await post(connections, stub)
    assert len(stub.seen) == 1
    assert caught.value.attempts == (Attempt(outcome="overloaded", status=503),)


async def test_declared_retries_wait_and_are_told(stub: OpenAIStub) -> None:
    waits: list[float] = []

    async def wait(seconds: float) -> None:
        assert connections.limiter is not None
        assert connections.limiter.held == 0, "the slot is free while a retry waits"
        waits.append(seconds)

    stub.answer(BUSY, document({"error": "x"}, status=429, headers={"retry-after": "3"}), OK)
    retry = RetryPolicy(max_attempts=3, base_s=1.0)
    async with pool(stub.base_url, retry=retry, limit=1, pause=wait, spread=lambda: 0.0) as connections:
        _, attempts = await post(connections, stub)
    assert waits == [1.0, 3.0]
    assert attempts == (
        Attempt(outcome="overloaded", status=503),
        Attempt(outcome="rate_limited", status=429, waited_ms=1000),
        Attempt(outcome="ok", status=200, waited_ms=3000),
    )


async def test_retries_end_with_the_last_failure(stub: OpenAIStub) -> None:
    stub.answer(BUSY)
    async with pool(stub.base_url, retry=RetryPolicy(max_attempts=3, base_s=0.0)) as connections:
        with pytest.raises(Overloaded) as caught:
            await post(connections, stub)
    assert [attempt.status for attempt in caught.value.attempts] == [503, 503, 503]


@pytest.mark.parametrize(
    ("reply", "tries"),
    [
        (document({"error": "bad"}, status=400), 1),
        (document({"error": "x"}, status=503, headers={"x-should-retry": "false"}), 1),
        (document({"error": "x"}, status=400, headers={"x-should-retry": "true"}), 2),
    ],
)
async def test_what_isn_t_worth_repeating_isn_t_repeated(stub: OpenAIStub, reply: Scripted, tries: int) -> None:
    stub.answer(reply)
    async with pool(stub.base_url, retry=RetryPolicy(max_attempts=2, base_s=0.0)) as connections:
        with pytest.raises((InvalidRequest, Overloaded)):
            await post(connections, stub)
    assert len(stub.seen) == tries


async def test_a_retry_after_beyond_the_whole_time_ends_the_call_at_once(stub: OpenAIStub) -> None:
    async def wait(seconds: float) -> None:
        pytest.fail(f"waited {seconds} s")

    stub.answer(document({"error": "x"}, status=429, headers={"retry-after": "3600"}))
    async with pool(stub.base_url, retry=RetryPolicy(max_attempts=5), pause=wait) as connections:
        with pytest.raises(RateLimited) as caught:
            await post(connections, stub)
    assert caught.value.retry_after_s == 3600.0
    assert len(stub.seen) == 1


async def test_an_attempt_that_takes_too_long_may_be_repeated(stub: OpenAIStub) -> None:
    stub.answer(endless(b" ", content_type="application/json"), OK)
    timeouts = Timeouts(total_s=20.0, attempt_s=0.3, idle_s=10.0)
    async with pool(stub.base_url, retry=RetryPolicy(max_attempts=2, base_s=0.0)) as connections:
        _, attempts = await post(connections, stub, timeouts)
    assert [attempt.outcome for attempt in attempts] == ["attempt_timeout", "ok"]


async def test_each_of_the_three_times_has_its_own_error(stub: OpenAIStub) -> None:
    stub.answer(endless(b" ", content_type="application/json"))
    async with pool(stub.base_url) as connections:
        for timeouts, kind in (
            (Timeouts(total_s=9.0, attempt_s=0.05, idle_s=9.0), AttemptTimeout),
            (Timeouts(total_s=0.05, attempt_s=9.0, idle_s=9.0), TotalTimeout),
            (Timeouts(total_s=9.0, attempt_s=9.0, idle_s=0.05), IdleTimeout),
        ):
            with pytest.raises(kind) as caught:
                await post(connections, stub, timeouts)
            assert len(caught.value.attempts) == 1
        assert connections.under_way == 0


async def test_a_stream_that_falls_silent_and_one_that_never_ends(stub: OpenAIStub) -> None:
    stub.answer(endless(b"data: 1\n\n"))
    async with pool(stub.base_url, retry=RetryPolicy(max_attempts=3, base_s=0.0)) as connections:
        for timeouts, kind in (
            (Timeouts(total_s=9.0, idle_s=0.05), IdleTimeout),
            (Timeouts(total_s=0.2, idle_s=9.0), TotalTimeout),
        ):
            stub.seen.clear()
            found: list[bytes] = []
            with pytest.raises(kind) as caught:
                await read_all(connections, stub, found, timeouts)
            assert found == [b"1"]
            assert caught.value.attempts == (Attempt(outcome=kind.code, status=200),)
            assert len(stub.seen) == 1, "nothing is repeated once an event was delivered"


async def test_a_stream_that_fails_before_its_first_event_may_be_repeated(stub: OpenAIStub) -> None:
    stub.answer(Scripted([b": hi\n"], 200, {"content-type": "text/event-stream"}, cut=True), events(1))
    found: list[bytes] = []
    async with pool(stub.base_url, retry=RetryPolicy(max_attempts=2, base_s=0.0)) as connections:
        attempts = await read_all(connections, stub, found)
    assert found == [b"1", b"[DONE]"]
    assert [attempt.outcome for attempt in attempts] == ["connection_failed", "ok"]


async def test_a_document_in_place_of_a_stream_is_a_violation(stub: OpenAIStub) -> None:
    async with pool(stub.base_url) as connections:
        with pytest.raises(ProtocolViolation, match="application/json came") as caught:
            async with connections.exchange(call(stub, stream=True), timeouts=FAST):
                pass
    assert caught.value.excerpt == '{"ok": true}'


async def test_a_redirect_is_not_followed(stub: OpenAIStub) -> None:
    stub.answer(Scripted([b""], 307, {"location": "/elsewhere"}))
    async with pool(stub.base_url) as connections:
        with pytest.raises(ProtocolViolation):
            await post(connections, stub)
    assert len(stub.seen) == 1


async def test_a_refused_connection_is_a_failed_connection() -> None:
    async with pool(DEAD_URL) as connections:
        with pytest.raises(ConnectionFailed) as caught:
            async with connections.exchange(Call(url=f"{DEAD_URL}/x", body=b"{}"), timeouts=FAST):
                pass
    assert caught.value.attempts == (Attempt(outcome="connection_failed"),)
    assert caught.value.__context__ is None


async def test_the_limits_hold_together_and_a_waiter_of_a_narrow_one_takes_no_shared_slot(stub: OpenAIStub) -> None:
    hold = asyncio.Event()
    stub.answer(Scripted([b"{", b"}"], 200, {"content-type": "application/json"}, hold))
    narrow = Limiter(1)
    async with pool(stub.base_url, limit=2) as connections:

        async def one(local: tuple[Limiter, ...]) -> None:
            async with connections.exchange(call(stub), timeouts=FAST, local=local):
                pass

        async with asyncio.TaskGroup() as tasks:
            for _ in range(3):
                tasks.create_task(one((narrow,)))
            await until(lambda: len(stub.seen) == 1)
            assert connections.limiter is not None
            assert (narrow.held, connections.limiter.held, len(stub.seen)) == (1, 1, 1)
            for _ in range(3):
                tasks.create_task(one(()))
            await until(lambda: len(stub.seen) == 2)
            assert (connections.limiter.held, len(stub.seen)) == (2, 2)
            hold.set()
        assert (narrow.held, connections.limiter.held, len(stub.seen)) == (0, 0, 6)


async def test_waiting_for_a_slot_counts_towards_the_whole_time(stub: OpenAIStub) -> None:
    hold = asyncio.Event()
    stub.answer(Scripted([b"{", b"}"], 200, {"content-type": "application/json"}, hold))
    async with pool(stub.base_url, limit=1) as connections:
        first = asyncio.create_task(post(connections, stub))
        await until(lambda: len(stub.seen) == 1)
        with pytest.raises(TotalTimeout, match="no slot came free"):
            await post(connections, stub, Timeouts(total_s=0.05))
        hold.set()
        await first
        assert len(stub.seen) == 1


async def test_closing_lets_calls_finish_takes_no_more_and_closes_once(stub: OpenAIStub) -> None:
    hold = asyncio.Event()
    stub.answer(Scripted([b"{", b"}"], 200, {"content-type": "application/json"}, hold))
    connections = pool(stub.base_url)
    closed = 0
    close = connections._connection.close

    async def counted() -> None:
        nonlocal closed
        closed += 1
        await close()

    connections._connection.close = counted  # type: ignore[method-assign]
    under_way = asyncio.create_task(post(connections, stub))
    await until(lambda: len(stub.seen) == 1)
    closing = [asyncio.create_task(connections.aclose()) for _ in range(2)]
    await asyncio.sleep(0.02)
    assert not any(task.done() for task in closing)
    with pytest.raises(PlanError, match="closed"):
        await post(connections, stub)
    hold.set()
    assert (await under_way)[0] == b"{}"
    await asyncio.gather(*closing)
    await connections.aclose()
    assert closed == 1


async def test_closing_goes_on_when_its_caller_is_cancelled(stub: OpenAIStub) -> None:
    hold = asyncio.Event()
    stub.answer(Scripted([b"{", b"}"], 200, {"content-type": "application/json"}, hold))
    connections = pool(stub.base_url)
    under_way = asyncio.create_task(post(connections, stub))
    await until(lambda: len(stub.seen) == 1)
    closing = asyncio.create_task(connections.aclose())
    await asyncio.sleep(0.02)
    closing.cancel()
    hold.set()
    await under_way
    await asyncio.wait_for(connections.aclose(), 5)


async def test_a_long_page_of_failure_is_still_that_failure(stub: OpenAIStub) -> None:
    stub.answer(document("x" * 300_000, status=502))
    async with pool(stub.base_url) as connections:
        with pytest.raises(ProviderFailed) as caught:
            await post(connections, stub)
    assert len(caught.value.excerpt or "") == 512


async def test_a_document_has_a_largest_size(stub: OpenAIStub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("synapse_models.reply.MAX_REPLY_BYTES", 1000)
    async with pool(stub.base_url) as connections:
        stub.answer(document("x" * 1000))
        await post(connections, stub)
        stub.answer(document("x" * 1001))
        with pytest.raises(ProtocolViolation, match="larger than 1000 bytes"):
            await post(connections, stub)


async def test_a_pool_sends_nowhere_but_to_its_own_origin(stub: OpenAIStub) -> None:
    async with pool("http://127.0.0.1:1/v1") as connections:
        with pytest.raises(PlanError, match="another address"):
            await post(connections, stub)
    assert stub.seen == []


async def test_leaving_in_the_middle_frees_the_slot_and_the_connection(stub: OpenAIStub) -> None:
    stub.answer(endless(b"data: 1\n\n"))
    async with pool(stub.base_url, limit=1) as connections:
        async with connections.exchange(call(stub, stream=True), timeouts=FAST) as reply:
            assert len(await reply.next_events()) == 1
        assert connections.limiter is not None
        assert (connections.limiter.held, connections.under_way) == (0, 0)
        await asyncio.wait_for(stub.broken_off.wait(), 5)


async def test_a_cancelled_call_frees_its_slot(stub: OpenAIStub) -> None:
    stub.answer(endless(b" ", content_type="application/json"))
    async with pool(stub.base_url, limit=1) as connections:
        task = asyncio.create_task(post(connections, stub))
        await until(lambda: len(stub.seen) == 1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert connections.limiter is not None
        assert (connections.limiter.held, connections.under_way) == (0, 0)
        await asyncio.wait_for(stub.broken_off.wait(), 5)


def test_a_family_that_nobody_registered_is_refused() -> None:
    assert set(CONNECTION_FAMILIES) == {"http_json"}
    with pytest.raises(PlanError, match="carrier_pigeon"):
        ConnectionPool(ConnectionIdentity(family="carrier_pigeon", origin="https://a"))
