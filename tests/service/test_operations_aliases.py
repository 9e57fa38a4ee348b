"""Equivalences over the socket: who may change them, what is answered, and what every other operation shows of them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fixtures.clocks import FakeClock
from fixtures.equivalences import fingerprint
from fixtures.socket_server import RawClient, serving
from synapse_service.aliases.table import AliasTable
from synapse_service.catalog.detached import Detached
from synapse_service.operations.aliases import AliasOperations
from synapse_service.operations.models import ModelOperations
from synapse_service.server.router import Router
from synapse_service.settings.declared import Settings
from synapse_service.store.database import Store
from synapse_wire.errors import SynapseError

A, B, C = (fingerprint(digit) for digit in "abc")


class Desk:
    """The operations over a database; ``settings`` may be changed."""

    def __init__(self, store: Store, clock: FakeClock) -> None:
        self.clock = clock
        self.settings = Settings(alias_administration=True)
        self.aliases = AliasTable(store, clock, Detached())
        self.router = Router()
        AliasOperations(aliases=self.aliases, settings=lambda: self.settings, module_generation=9).register(self.router)
        nothing: Any = SimpleNamespace()
        ModelOperations(
            lanes=SimpleNamespace(visible=list),  # type: ignore[arg-type]
            onboarding=nothing,
            jobs=nothing,
            downloads=nothing,
            leases=nothing,
            ledger=nothing,
            pins=nothing,
            devices=nothing,
            settings=lambda: self.settings,
            module_generation=9,
            aliases=self.aliases,
        ).register(self.router)


@pytest.fixture
async def desk(quick_dir: Path) -> AsyncIterator[Desk]:
    clock = FakeClock()
    store = Store.open(quick_dir / "synapse.db", clock)
    yield Desk(store, clock)
    await store.close()


@pytest.fixture
async def client(desk: Desk) -> AsyncIterator[RawClient]:
    async with serving(desk.router) as running:
        yield await running.connect()


def changed(epoch: int, *, did: bool = True) -> dict[str, Any]:
    return {"module_generation": 9, "changed": did, "table_epoch": epoch}


async def refusal(client: RawClient, method: str, params: Any) -> dict[str, Any]:
    error: dict[str, Any] = (await client.call(method, params))["result"]["error"]
    return error


async def test_a_pair_is_declared_listed_and_retracted(desk: Desk, client: RawClient) -> None:
    evidence = {"mean_cosine": 0.9995, "nested": {"list": [1, None, "ä"]}}
    assert await client.result("alias.declare", {"left": B, "right": A, "evidence": evidence}) == changed(1)
    listed = await client.result("models.list")
    row = {"left": A, "right": B, "evidence": evidence, "declared_at_ms": desk.clock.wall_ms(), "table_epoch": 1}
    assert (listed["table_epoch"], listed["aliases"]) == (1, [row])
    assert await client.result("alias.retract", {"left": A, "right": B}) == changed(2)
    listed = await client.result("models.list")
    assert (listed["table_epoch"], listed["aliases"]) == (2, [])


async def test_the_other_names_mean_the_same_and_unknown_members_are_ignored(client: RawClient) -> None:
    other = {"fingerprint_a": A, "fingerprint_b": B, "declared_by": "me", "epoch": 7}
    assert await client.result("alias.declare", other) == changed(1)
    assert await client.result("alias.declare", {"left": B, "right": A}) == changed(1, did=False)
    assert await client.result("alias.retract", {"left": B, "fingerprint_b": A, "evidence": None}) == changed(2)
    assert await client.result("alias.retract", other) == changed(2, did=False)


@pytest.mark.parametrize("method", ["alias.declare", "alias.retract"])
async def test_while_administration_is_off_nothing_changes(desk: Desk, client: RawClient, method: str) -> None:
    await client.result("alias.declare", {"left": A, "right": B})
    desk.settings = Settings()
    for pair in ({"left": A, "right": B}, {"left": A, "right": C}):
        error = await refusal(client, method, pair)
        assert (error["code"], error["class"], error["safe_to_retry_same_request"]) == (
            "substitution_rejected",
            "permanent",
            False,
        )
        assert "details" not in error
        assert "alias_administration" in error["message"]
    assert desk.aliases.epoch == 1
    assert desk.aliases.equivalents(A) == [B]
    # Asking isn't administration.
    assert (await client.result("aliases.check_index", {"index_fingerprint": A, "provenance_set": [B]}))[
        "status"
    ] == "valid"


async def test_wrong_parameters_are_told_even_while_administration_is_off(desk: Desk, client: RawClient) -> None:
    desk.settings = Settings()
    reply = await client.call("alias.declare", {"left": "", "right": B})
    assert (reply["error"]["code"], reply["error"]["data"]["details"]) == (-32602, {"field": "left"})


async def test_an_index_is_valid_until_a_pair_it_relies_on_is_retracted(client: RawClient) -> None:
    asked = {"index_fingerprint": A, "provenance_set": [A, B]}
    await client.result("alias.declare", {"left": A, "right": B})
    assert await client.result("aliases.check_index", asked) == {"status": "valid", "table_epoch": 1}
    await client.result("alias.retract", {"left": A, "right": B})
    assert await client.result("aliases.check_index", asked) == {
        "status": "migration_required",
        "retracted_pair": [A, B],
        "rebuild_target": A,
        "table_epoch": 2,
    }


async def test_asking_about_an_index_is_strict_about_its_parameters(client: RawClient) -> None:
    for params, field in (
        ({"provenance_set": []}, "index_fingerprint"),
        ({"index_fingerprint": A}, "provenance_set"),
        ({"index_fingerprint": A, "provenance_set": [""]}, "provenance_set[0]"),
        ({"index_fingerprint": A, "provenance_set": [], "epoch": 1}, "epoch"),
    ):
        reply = await client.call("aliases.check_index", params)
        assert (reply["error"]["code"], reply["error"]["data"]["details"]) == (-32602, {"field": field})


def test_a_flow_may_ask_and_may_not_change(desk: Desk) -> None:
    assert desk.router.resolve("aliases.check_index", "flow").inline
    for method in ("alias.declare", "alias.retract"):
        with pytest.raises(SynapseError, match="flow_scope_refused"):
            desk.router.resolve(method, "flow")
