"""A credential at work: in its header and nowhere else, looked up again when it is refused."""

from __future__ import annotations

import traceback
from collections.abc import AsyncIterator

import pytest

from fixtures.bound_models import pool
from fixtures.openai_stub import OpenAIStub, Scripted, document
from synapse_models.connection import BEARER, Call
from synapse_models.credentials import CredentialRef, EnvironmentResolver, Secret
from synapse_models.errors import (
    AuthenticationFailed,
    ModelError,
    ProviderFailed,
)
from synapse_models.policy import Timeouts
from synapse_models.pool import ConnectionPool
from synapse_models.response import Attempt

CANARY = "canary-7f3a9c51"
FAST = Timeouts(total_s=20.0, attempt_s=10.0, idle_s=10.0)
OK = document({"ok": True})


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


def everything_said(error: BaseException) -> str:
    """An error as a log, a debugger and a crash report would show it, with all its causes."""
    said = ["".join(traceback.format_exception(error)), repr(error), str(error), repr(vars(error))]
    for other in (error.__cause__, error.__context__):
        if other is not None:
            said.append(everything_said(other))
    return "\n".join(said)


@pytest.mark.parametrize(
    "reply",
    [
        document({"error": {"message": f"bad key {CANARY}", "code": CANARY}}, status=401),
        document(f"<p>{CANARY}</p>", status=502),
        document("x" * 505 + CANARY, status=502),
        Scripted([b"x" * 505 + CANARY.encode()], 200, {"content-type": "text/html"}),
        Scripted([CANARY.encode()], 200, {"content-type": "text/html"}),
        Scripted([b"x"], 200, {"content-type": "text/event-stream"}, cut=True),
    ],
)
async def test_the_secret_is_in_its_header_and_nowhere_else(
    stub: OpenAIStub, reply: Scripted, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    stub.answer(reply)
    resolver = EnvironmentResolver({"KEY": CANARY})
    async with pool(stub.base_url, credential="env:KEY", resolver=resolver) as connections:
        with pytest.raises(ModelError) as caught:
            async with connections.exchange(call(stub, stream=True), timeouts=FAST):
                pass
        assert stub.seen[0].headers["Authorization"] == f"Bearer {CANARY}"
        assert CANARY not in everything_said(caught.value)
        assert CANARY[:6] not in everything_said(caught.value)
        assert CANARY not in repr(connections)
        assert CANARY not in repr(connections.identity)
    assert CANARY not in caplog.text


async def test_without_a_credential_there_is_no_header(stub: OpenAIStub) -> None:
    async with pool(stub.base_url) as connections:
        await post(connections, stub)
    assert "Authorization" not in stub.seen[0].headers


async def test_a_missing_credential_and_one_that_can_t_be_a_header_stop_the_call(stub: OpenAIStub) -> None:
    for environ in ({}, {"KEY": "a\nb: c"}, {"KEY": "é"}):
        resolver = EnvironmentResolver(environ)
        async with pool(stub.base_url, credential="env:KEY", resolver=resolver) as connections:
            with pytest.raises(AuthenticationFailed):
                await post(connections, stub)
    assert stub.seen == []


async def test_a_refused_credential_is_looked_up_again(stub: OpenAIStub) -> None:
    keys = iter([CANARY, "renewed", "renewed again"])

    class Rotating:
        async def resolve(self, _ref: CredentialRef) -> Secret:
            return Secret(next(keys))

    stub.answer(document({"error": "no"}, status=401), OK)
    async with pool(stub.base_url, credential="keyring:x", resolver=Rotating()) as connections:
        with pytest.raises(AuthenticationFailed):
            await post(connections, stub)
        await post(connections, stub)
        await post(connections, stub)
        with pytest.raises(AuthenticationFailed):  # as a reply that reports it inside a success
            async with connections.exchange(call(stub), timeouts=FAST):
                raise AuthenticationFailed("no")
        await post(connections, stub)
    assert [seen.headers["Authorization"] for seen in stub.seen] == [
        f"Bearer {CANARY}",
        "Bearer renewed",
        "Bearer renewed",
        "Bearer renewed",
        "Bearer renewed again",
    ]


async def test_a_failure_in_the_caller_s_block_gets_the_attempts_and_loses_the_secret(stub: OpenAIStub) -> None:
    resolver = EnvironmentResolver({"KEY": CANARY})
    async with pool(stub.base_url, credential="env:KEY", resolver=resolver) as connections:
        with pytest.raises(ProviderFailed) as caught:
            async with connections.exchange(call(stub), timeouts=FAST):
                raise ProviderFailed(f"it said {CANARY}", excerpt=CANARY)
    assert caught.value.attempts == (Attempt(outcome="ok", status=200),)
    assert CANARY not in everything_said(caught.value).replace(f'ProviderFailed(f"it said {CANARY}"', "")
