"""Credentials: names in the database, secrets in the keyring alone, and a typed answer when it can't be used."""

from __future__ import annotations

import asyncio
import json
import shutil
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fixtures.clocks import FakeClock
from fixtures.expected_warnings import ExpectedWarnings
from fixtures.secret_boxes import SecretBoxDouble
from fixtures.socket_server import RawClient, serving
from synapse_models.credentials import Secret
from synapse_service.catalog.credentials import CredentialTrouble
from synapse_service.catalog.detached import Detached
from synapse_service.gateway.credentials import Credentials
from synapse_service.gateway.system_keyring import KeyringTrouble
from synapse_service.operations.extensions import credentials as extension
from synapse_service.server.router import Router
from synapse_service.store.database import Store
from synapse_wire import params as p
from synapse_wire.errors import SynapseError
from synapse_wire.results import CredentialRow

SECRET = "hf_TEST9f8e7d"
HUB = "https://huggingface.co"
MIRROR = "https://mirror.test"
SET_AGAIN = (
    f"the keyring doesn't say that the secret huggingface is for {HUB}; "
    f"set it again with `synapse credentials set huggingface --origin {HUB}`"
)


class Desk:
    """The operations over a double of the keyring."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.box = SecretBoxDouble()
        self.store = Store.open(folder / "synapse.db", FakeClock())
        self.hub = HUB
        self.credentials = Credentials(
            self.store, self.box, FakeClock(), default_origin=lambda: self.hub, time_limit_s=0.2
        )
        self.router = Router()
        extension.register(self.router, self.credentials, Detached())

    def patient(self) -> Credentials:
        """The same credentials, for a test in which nobody's time may run out."""
        return Credentials(self.store, self.box, FakeClock(), default_origin=lambda: HUB, time_limit_s=60)

    async def asked(self, *calls: str) -> None:
        """Until the keyring has been asked all of this."""
        while self.box.calls != list(calls):  # noqa: ASYNC110 - the double has no event for it
            await asyncio.sleep(0.001)

    async def answered(self) -> dict[str, Any]:
        """The only row, once the keyring answers again."""
        while True:
            (row,) = await self.credentials.rows()
            if row.state != "unavailable":
                return msgspec.to_builtins(row)  # type: ignore[no-any-return]
            await asyncio.sleep(0.001)


@pytest.fixture
async def desk(quick_dir: Path) -> AsyncIterator[Desk]:
    desk = Desk(quick_dir)
    yield desk
    desk.box.answering.set()
    await desk.store.close()


@pytest.fixture
async def client(desk: Desk) -> AsyncIterator[RawClient]:
    async with serving(desk.router) as running:
        yield await running.connect()


async def keep(client: RawClient, name: str = "huggingface", **more: Any) -> dict[str, Any]:
    return await client.result("credentials.set", {"name": name, "secret": SECRET, **more})


def wire(error: dict[str, Any]) -> tuple[str, Any]:
    return error["code"], error.get("details")


async def test_a_secret_is_kept_for_the_hub_and_never_shown_again(desk: Desk, client: RawClient) -> None:
    now = FakeClock().wall_ms()
    row = {"name": "huggingface", "origin": HUB, "state": "present", "changed_ms": now}
    assert await keep(client) == row
    assert desk.box.secrets == {"huggingface": f"{HUB} {SECRET}"}
    listed = await client.result("credentials.list", {})
    assert listed == {"credentials": [row]}
    assert SECRET not in json.dumps(listed)
    assert SECRET.encode() not in b"".join(path.read_bytes() for path in desk.folder.glob("synapse.db*"))
    token = await desk.credentials.token(f"{HUB}/a/resolve/b/c")
    assert token == Secret(SECRET)
    assert SECRET not in f"{token!r} {token}"


async def test_a_secret_belongs_to_the_origin_that_the_hub_had_when_it_was_kept(desk: Desk, client: RawClient) -> None:
    await keep(client)
    desk.hub = "https://mirror.test"
    assert await desk.credentials.token("https://mirror.test/a") is None
    assert await desk.credentials.token("http://huggingface.co/a".replace("http:", "https:")) is not None
    assert await desk.credentials.token("https://huggingface.co:8443/a") is None
    row = await keep(client, "mirror", origin="https://mirror.test:443/some/path")
    assert row["origin"] == "https://mirror.test"
    assert await desk.credentials.token("https://mirror.test/a") == Secret(SECRET)


async def test_a_deleted_secret_is_gone_from_both_places(desk: Desk, client: RawClient) -> None:
    await keep(client)
    assert await client.result("credentials.delete", {"name": "huggingface"}) == {"credentials": []}
    assert desk.box.secrets == {}
    error = await client.error("credentials.delete", {"name": "huggingface"})
    assert wire(error) == ("invalid_request", {"name": "huggingface"})


async def test_a_secret_that_was_kept_without_its_server_is_used_for_none(desk: Desk, client: RawClient) -> None:
    # Goes red without the origin in the entry: which server it was for is not known for certain.
    kept = await keep(client)
    desk.box.secrets = {"huggingface": SECRET}
    listed = await client.result("credentials.list", {})
    assert listed == {"credentials": [kept | {"state": "missing", "problem": SET_AGAIN}]}
    with pytest.raises(CredentialTrouble) as caught:
        await desk.credentials.token(HUB)
    assert (caught.value.message, SECRET in repr(caught.value)) == (SET_AGAIN, False)
    await keep(client, "other")
    assert await desk.credentials.token(HUB) == Secret(SECRET)
    await client.result("credentials.delete", {"name": "other"})
    assert await keep(client) == kept
    assert await desk.credentials.token(HUB) == Secret(SECRET)
    desk.box.secrets = {"huggingface": SECRET}
    assert await client.result("credentials.delete", {"name": "huggingface"}) == {"credentials": []}
    assert desk.box.secrets == {}


@pytest.mark.parametrize("taken", [False, True], ids=["before the keyring took it", "before it was noted"])
async def test_a_service_that_is_killed_while_a_name_moves_sends_no_secret_to_another_server(
    desk: Desk, tmp_path: Path, taken: bool
) -> None:
    await desk.credentials.put("huggingface", Secret(SECRET), HUB)
    killed = SecretBoxDouble()
    put = desk.box.put

    def cut_off(name: str, secret: Secret) -> None:
        if taken:
            put(name, secret)
        shutil.copytree(desk.folder, tmp_path / "killed")
        killed.secrets = dict(desk.box.secrets)

    desk.box.put = cut_off  # type: ignore[method-assign]
    await desk.patient().put("huggingface", Secret("other"), MIRROR)
    store = Store.open(tmp_path / "killed" / "synapse.db", FakeClock())
    credentials = Credentials(store, killed, FakeClock(), default_origin=lambda: HUB)
    assert await credentials.token(MIRROR) is None
    (row,) = await credentials.rows()
    if taken:
        assert (row.origin, row.state, row.problem) == (HUB, "missing", SET_AGAIN)
        with pytest.raises(CredentialTrouble, match="set it again"):
            await credentials.token(HUB)
    else:
        assert (row.origin, row.state, row.problem) == (HUB, "present", msgspec.UNSET)
        assert await credentials.token(HUB) == Secret(SECRET)
    await store.close()


async def asked_during_a_move(desk: Desk) -> tuple[asyncio.Task[CredentialRow], list[asyncio.Task[Secret | None]]]:
    """A name on its way from the hub to the mirror, held by the keyring, and requests for the tokens of both."""
    credentials = desk.patient()
    await credentials.put("huggingface", Secret(SECRET), HUB)
    desk.box.answering.clear()
    moving = asyncio.create_task(credentials.put("huggingface", Secret("other"), MIRROR))
    await desk.asked("put huggingface", "put huggingface")
    asking = [asyncio.create_task(credentials.token(url)) for url in (MIRROR, HUB)]
    # Without the turn around the look at the names they would have been read by then.
    for _ in range(3):
        await desk.store.read(lambda: None)
    return moving, asking


async def test_who_asks_while_a_name_moves_hears_how_it_ended(desk: Desk) -> None:
    moving, asking = await asked_during_a_move(desk)
    desk.box.answering.set()
    assert (await moving).origin == MIRROR
    assert await asyncio.gather(*asking) == [Secret("other"), None]


async def test_who_asks_while_a_change_is_refused_is_given_nothing_of_another_server(desk: Desk) -> None:
    moving, asking = await asked_during_a_move(desk)

    def get(name: str) -> Secret | None:
        desk.box.trouble = None
        return SecretBoxDouble.get(desk.box, name)

    desk.box.get = get  # type: ignore[method-assign]
    desk.box.trouble = "locked"
    desk.box.answering.set()
    with pytest.raises(SynapseError, match="locked"):
        await moving
    assert await asyncio.gather(*asking) == [None, Secret(SECRET)]


async def test_without_a_name_the_keyring_is_not_asked(desk: Desk, client: RawClient) -> None:
    assert await client.result("credentials.list", {}) == {"credentials": []}
    assert await desk.credentials.token(HUB) is None
    assert desk.box.calls == []


async def test_a_secret_that_somebody_removed_from_the_keyring_is_missing(desk: Desk, client: RawClient) -> None:
    await keep(client)
    desk.box.secrets.clear()
    assert (await client.result("credentials.list", {}))["credentials"][0]["state"] == "missing"
    assert await desk.credentials.token(HUB) is None


@pytest.mark.parametrize(
    ("trouble", "code", "details", "state"),
    [
        ("locked", "needs_reauth", {"logical_handle": "huggingface"}, "locked"),
        (
            "none",
            "credential_config_invalid",
            {"logical_handle": "huggingface", "reason": "no_keyring"},
            "unavailable",
        ),
        (
            "refused",
            "credential_config_invalid",
            {"logical_handle": "huggingface", "reason": "refused_keyring"},
            "unavailable",
        ),
        ("failed", "provider_unavailable", {"provider": "keyring", "http_status": None}, "unavailable"),
    ],
)
async def test_a_keyring_that_can_not_be_used_has_a_typed_answer(
    desk: Desk, client: RawClient, trouble: Any, code: str, details: dict[str, Any], state: str
) -> None:
    desk.box.trouble = trouble
    error = await client.error("credentials.set", {"name": "huggingface", "secret": SECRET})
    assert wire(error) == (code, details)
    assert SECRET not in json.dumps(error)
    assert await client.result("credentials.list", {}) == {"credentials": []}
    desk.box.trouble = None
    await keep(client)
    desk.box.trouble = trouble
    assert wire(await client.error("credentials.delete", {"name": "huggingface"})) == (code, details)
    (row,) = (await client.result("credentials.list", {}))["credentials"]
    assert (row["state"], row["problem"]) == (state, f"the double is {trouble}")
    with pytest.raises(KeyringTrouble):
        await desk.credentials.token(HUB)
    # Unlocked later, it works, without a restart.
    desk.box.trouble = None
    assert await desk.credentials.token(HUB) == Secret(SECRET)


async def test_a_failed_change_keeps_the_earlier_secret(desk: Desk, client: RawClient) -> None:
    await keep(client)
    desk.box.trouble = "locked"
    await client.error("credentials.set", {"name": "huggingface", "secret": "other", "origin": "https://other.test"})
    desk.box.trouble = None
    (row,) = (await client.result("credentials.list", {}))["credentials"]
    assert (row["origin"], desk.box.secrets) == (HUB, {"huggingface": f"{HUB} {SECRET}"})


async def test_a_keyring_that_never_answers_is_given_up_and_not_asked_again_meanwhile(
    desk: Desk, client: RawClient, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("keyring_silent")
    await keep(client)
    desk.box.answering.clear()
    before = time.monotonic()
    error = await client.error("credentials.set", {"name": "huggingface", "secret": "other"})
    assert wire(error) == ("provider_unavailable", {"provider": "keyring", "http_status": None})
    assert time.monotonic() - before < 5
    calls = len(desk.box.calls)
    (row,) = (await client.result("credentials.list", {}))["credentials"]
    assert (row["state"], row["problem"]) == (
        "unavailable",
        "the keyring doesn't answer; an earlier question is still open",
    )
    assert len(desk.box.calls) == calls
    desk.box.answering.set()
    async with asyncio.timeout(5):
        while (await client.result("credentials.list", {}))["credentials"][0]["state"] != "present":  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_a_secret_that_is_kept_too_late_goes_to_its_own_server_alone(
    desk: Desk, client: RawClient, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("keyring_silent")
    kept = await keep(client)
    desk.box.answering.clear()
    error = await client.error("credentials.set", {"name": "huggingface", "secret": "other", "origin": MIRROR})
    assert error["code"] == "provider_unavailable"
    desk.box.answering.set()
    assert await desk.answered() == kept | {"state": "missing", "problem": SET_AGAIN}
    assert desk.box.secrets == {"huggingface": f"{MIRROR} other"}
    with pytest.raises(CredentialTrouble, match="set it again"):
        await desk.credentials.token(HUB)
    assert await desk.credentials.token(MIRROR) is None


async def test_a_new_secret_that_is_kept_too_late_has_its_name(
    desk: Desk, client: RawClient, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("keyring_silent")
    desk.box.answering.clear()
    await client.error("credentials.set", {"name": "huggingface", "secret": SECRET})
    # Of what is refused without a question nothing can be kept.
    await client.error("credentials.set", {"name": "second", "secret": "other"})
    desk.box.answering.set()
    row = await desk.answered()
    assert (row["name"], row["origin"], row["state"]) == ("huggingface", HUB, "present")
    assert await client.result("credentials.delete", {"name": "huggingface"}) == {"credentials": []}
    assert desk.box.secrets == {}


async def test_who_leaves_a_slow_keyring_does_not_make_it_a_silent_one(desk: Desk) -> None:
    credentials = desk.patient()
    await credentials.put("huggingface", Secret(SECRET), HUB)
    desk.box.answering.clear()
    leaving = asyncio.create_task(credentials.rows())
    await desk.asked("put huggingface", "get huggingface")
    leaving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaving
    asking = asyncio.create_task(credentials.token(HUB))
    for _ in range(3):
        await desk.store.read(lambda: None)
    desk.box.answering.set()
    assert await asking == Secret(SECRET)


async def test_a_caller_who_leaves_a_silent_keyring_leaves_no_queue_behind(
    desk: Desk, client: RawClient, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("keyring_silent")
    await keep(client)
    desk.box.answering.clear()
    asking = asyncio.create_task(desk.credentials.rows())
    while len(desk.box.calls) < 2:  # noqa: ASYNC110 - the double has no event for it
        await asyncio.sleep(0.001)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert (await desk.credentials.rows())[0].state == "unavailable"
    assert len(desk.box.calls) == 2


@pytest.mark.parametrize("secret", ["", "with space", "line\nbreak", "ü", "x" * 2049])
async def test_a_secret_that_can_not_stand_in_a_header_is_refused_and_not_repeated(
    client: RawClient, secret: str
) -> None:
    error = await client.error("credentials.set", {"name": "huggingface", "secret": secret})
    assert (error["code"], error["details"]["field"]) == ("invalid_request", "secret")
    assert not secret or secret not in json.dumps(error, ensure_ascii=False)


@pytest.mark.parametrize("origin", ["http://example.test", "https://user:pass@example.test", "nonsense", "https://"])
async def test_a_place_to_which_no_secret_may_go_is_refused(desk: Desk, client: RawClient, origin: str) -> None:
    error = await client.error("credentials.set", {"name": "x", "secret": SECRET, "origin": origin})
    assert wire(error) == ("invalid_request", {"field": "origin"})
    assert desk.box.calls == []


def test_the_parameters_do_not_show_the_secret() -> None:
    assert SECRET not in repr(p.CredentialsSet(name="x", secret=SECRET))
