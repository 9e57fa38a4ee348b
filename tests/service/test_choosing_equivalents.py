"""Which lane may stand in for a fingerprint that it doesn't have, and which never may."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fixtures.catalog_desk import EMBED, EMBED_CPU, EMBED_METAL, RERANK, RERANK_CPU, CatalogDesk
from fixtures.clocks import FakeClock
from fixtures.embed_desk import EmbedDesk, plain, refused
from fixtures.equivalences import fingerprint
from fixtures.lanes import paper_registration, until
from synapse_service.certify.ledger import Certification
from synapse_service.certify.observations import Observations
from synapse_service.clock import SystemClock
from synapse_service.operations.rerank import RerankOperations
from synapse_service.store.database import Store
from synapse_wire.params import RerankScore

OLD, OTHER = fingerprint("0"), fingerprint("1")


@pytest.fixture
async def desk() -> AsyncIterator[EmbedDesk]:
    """``m`` is declared an equivalent of ``OLD``, which no lane has."""
    desk = EmbedDesk()
    desk.aliases.set((OLD, desk.lane.fingerprint))
    yield desk
    await desk.lanes.close()


def rejected(lane_id: str | None = "m", wanted: str = OLD) -> tuple[str, dict[str, Any]]:
    details = {"required_fingerprint": wanted}
    return "substitution_rejected", details if lane_id is None else {"lane_id": lane_id, **details}


async def refusal(desk: EmbedDesk, **changes: Any) -> tuple[str, dict[str, Any] | None]:
    """The refusal of a query, before which nothing was read or loaded."""
    error = await refused(desk.query("a " * 99, **changes))
    assert all((loader.loads, loader.reads) == (0, 0) for loader in desk.loaders.values())
    return error.code, error.details


# --- what an answer says ---


async def test_every_answer_says_what_is_equivalent_and_at_which_epoch(desk: EmbedDesk) -> None:
    answer = await desk.query("a")
    assert (answer["table_epoch"], answer["equivalent_to"]) == (1, [OLD])
    desk.aliases.set((OLD, desk.lane.fingerprint), (desk.lane.fingerprint, OTHER))
    for answer in (await desk.query("a"), await desk.batch("a", "b")):
        assert (answer["table_epoch"], answer["equivalent_to"]) == (2, [OLD, OTHER])
        assert answer["fingerprint"] == desk.lane.fingerprint
    desk.aliases.set()
    answer = await desk.query("a")
    assert (answer["table_epoch"], answer["equivalent_to"]) == (3, [])


# --- a lane that was named by its id ---


async def test_a_certified_equivalent_serves_where_the_caller_accepts_one(desk: EmbedDesk) -> None:
    answer = await desk.query("a", required_fingerprint=OLD, allow_equivalent=True)
    assert (answer["fingerprint"], answer["equivalent_to"]) == (desk.lane.fingerprint, [OLD])
    answer = await desk.batch("a", required_fingerprint=OLD, allow_equivalent=True)
    assert answer["fingerprint"] == desk.lane.fingerprint


@pytest.mark.parametrize("allow", [None, False])
async def test_without_leave_no_equivalent_serves(desk: EmbedDesk, allow: bool | None) -> None:
    assert await refusal(desk, required_fingerprint=OLD, allow_equivalent=allow) == rejected()
    error = await refused(desk.batch("a", required_fingerprint=OLD, allow_equivalent=allow))
    assert (error.code, error.details) == rejected()


async def test_a_target_is_reached_by_its_certified_equivalent_without_further_leave(desk: EmbedDesk) -> None:
    assert await refusal(desk, target_fingerprint=OTHER) == rejected(wanted=OTHER)
    assert await refusal(desk, model="cuts", target_fingerprint=OLD) == rejected("cuts")
    assert (await desk.query("a", target_fingerprint=OLD))["fingerprint"] == desk.lane.fingerprint


async def test_a_target_that_is_met_does_not_excuse_another_required_fingerprint(desk: EmbedDesk) -> None:
    assert await refusal(desk, target_fingerprint=OLD, required_fingerprint=OLD) == rejected()
    own = desk.lane.fingerprint
    assert (await desk.query("a", target_fingerprint=OLD, required_fingerprint=own))["fingerprint"] == own


async def test_a_pair_that_ended_allows_nothing(desk: EmbedDesk) -> None:
    desk.aliases.set()
    assert await refusal(desk, required_fingerprint=OLD, allow_equivalent=True) == rejected()
    assert await refusal(desk, target_fingerprint=OLD) == rejected()


async def test_pairs_are_not_followed_over_a_third_fingerprint(desk: EmbedDesk) -> None:
    desk.aliases.set((OLD, OTHER), (OTHER, desk.lane.fingerprint))
    assert await refusal(desk, required_fingerprint=OLD, allow_equivalent=True) == rejected()


@pytest.mark.parametrize("how", [{"required_fingerprint": OLD, "allow_equivalent": True}, {"target_fingerprint": OLD}])
@pytest.mark.parametrize("probed", [False, True])
async def test_an_equivalent_that_is_not_certified_is_named(desk: EmbedDesk, how: Any, probed: bool) -> None:
    # Also when it was never probed: the caller asked for a certified one, not for this lane.
    desk.certify(*(["m"] if probed else []), status="uncertified", reason="gate_missed:min_cosine")
    assert await refusal(desk, **how) == ("not_certified", {"model_id": "m"})


async def test_a_model_that_was_named_is_never_exchanged_for_the_equivalent(desk: EmbedDesk) -> None:
    assert await refusal(desk, model="cuts", required_fingerprint=OLD, allow_equivalent=True) == rejected("cuts")


async def test_the_epoch_comes_before_the_fingerprint_and_the_fingerprint_before_trust(desk: EmbedDesk) -> None:
    desk.certify()
    wrong_epoch = {"required_epoch": 7, "required_fingerprint": OTHER, "allow_equivalent": True}
    assert await refusal(desk, **wrong_epoch) == ("migration_required", {"required_epoch": 7, "table_epoch": 1})
    assert await refusal(desk, **wrong_epoch | {"required_epoch": 1}) == rejected(wanted=OTHER)
    desk.lane.quarantine.fault("crash")
    desk.lane.quarantine.fault("crash")
    asked = {"required_epoch": 1, "required_fingerprint": OLD, "allow_equivalent": True}
    assert await refusal(desk, **asked) == ("not_certified", {"model_id": "m"})
    desk.certify("m")
    assert await refusal(desk, **asked) == ("probe_required", {"model_id": "m", "reason": "quarantined"})


# --- a fingerprint in the place of the model ---


async def test_a_fingerprint_that_no_lane_has_may_be_served_by_an_equivalent(desk: EmbedDesk) -> None:
    answer = await desk.query("a", model=OLD, allow_equivalent=True)
    assert (answer["fingerprint"], answer["equivalent_to"]) == (desk.lane.fingerprint, [OLD])
    answer = await desk.query("a", model=OLD, allow_equivalent=True, required_fingerprint=OLD, required_epoch=1)
    assert answer["fingerprint"] == desk.lane.fingerprint
    assert await refusal_after(desk, model=OLD) == rejected(None)
    assert await refusal_after(desk, model=OLD, target_fingerprint=OLD) == rejected(None)
    assert await refusal_after(desk, model=OTHER, allow_equivalent=True) == rejected(None, OTHER)


async def refusal_after(desk: EmbedDesk, **changes: Any) -> tuple[str, dict[str, Any] | None]:
    error = await refused(desk.query("a", **changes))
    return error.code, error.details


async def test_the_lane_that_has_the_fingerprint_comes_before_its_equivalents(desk: EmbedDesk) -> None:
    own, equivalent = desk.lanes.get("cuts").fingerprint, desk.lane.fingerprint
    desk.aliases.set((own, equivalent))
    assert (await desk.query("a", model=own, allow_equivalent=True))["fingerprint"] == own


async def test_of_several_equivalents_one_that_is_certified_serves(desk: EmbedDesk) -> None:
    cuts = desk.lanes.get("cuts").fingerprint
    desk.aliases.set((OLD, desk.lane.fingerprint), (OLD, cuts))
    for certified in ("m", "cuts"):
        desk.certify(certified)
        answer = await desk.query("a", model=OLD, allow_equivalent=True)
        assert answer["fingerprint"] == desk.lanes.get(certified).fingerprint
    desk.certify()
    code, details = await refusal_after(desk, model=OLD, allow_equivalent=True)
    assert (code, details is not None and details["model_id"] in ("m", "cuts")) == ("not_certified", True)


# --- the table changes while a request is computed ---


@pytest.mark.parametrize(
    "how",
    [
        {"required_fingerprint": OLD, "allow_equivalent": True},
        {"target_fingerprint": OLD},
        {"model": OLD, "allow_equivalent": True},
    ],
)
async def test_a_result_is_not_given_out_under_a_pair_that_was_retracted_meanwhile(desk: EmbedDesk, how: Any) -> None:
    asking = await computing(desk, **how)
    desk.aliases.set()
    desk.loader.worker.gate.set()  # type: ignore[union-attr]
    error = await refused(asking)
    assert (error.code, error.details) == rejected()


async def test_a_result_is_not_given_out_at_another_epoch_than_was_required(desk: EmbedDesk) -> None:
    asking = await computing(desk, required_epoch=1)
    desk.aliases.set((OLD, desk.lane.fingerprint), (OTHER, desk.lane.fingerprint))
    desk.loader.worker.gate.set()  # type: ignore[union-attr]
    error = await refused(asking)
    assert (error.code, error.details) == ("migration_required", {"required_epoch": 1, "table_epoch": 2})


async def test_a_pair_that_comes_or_goes_concerns_nobody_who_did_not_rely_on_it(desk: EmbedDesk) -> None:
    asking = await computing(desk, required_fingerprint=desk.lane.fingerprint, allow_equivalent=True)
    desk.aliases.set((OTHER, desk.lane.fingerprint))
    desk.loader.worker.gate.set()  # type: ignore[union-attr]
    answer = await asking
    assert (answer["table_epoch"], answer["equivalent_to"]) == (2, [OTHER])


async def test_a_lane_that_is_found_uncertified_meanwhile_still_gives_what_it_was_asked_for(desk: EmbedDesk) -> None:
    asking = await computing(desk, required_fingerprint=OLD, allow_equivalent=True)
    desk.certify("m", status="uncertified", reason="gate_missed:min_cosine")
    desk.loader.worker.gate.set()  # type: ignore[union-attr]
    assert (await asking)["equivalent_to"] == [OLD]


async def computing(desk: EmbedDesk, **changes: Any) -> asyncio.Task[dict[str, Any]]:
    """A query whose worker has begun and is held."""
    await desk.query("a")
    worker = desk.loader.worker
    worker.gate = asyncio.Event()
    calls = len(worker.calls)
    asking = asyncio.create_task(desk.query("b", **changes))
    await until(lambda: len(worker.calls) > calls)
    return asking


# --- the catalog ---


@pytest.fixture
async def catalog(quick_dir: Path) -> AsyncIterator[CatalogDesk]:
    """A catalog, and a certified model of a user's beside it."""
    clock = FakeClock()
    store = Store.open(quick_dir / "synapse.db", clock)
    desk = CatalogDesk(store, clock)
    desk.lanes.restore([(paper_registration("mine"), None, None)])
    mine = desk.lanes.get("mine").fingerprint
    desk.ledger.restore(
        [
            Certification(
                fingerprint=mine,
                model_id="mine",
                status="certified",
                blocking_reason=None,
                evidence={},
                performance=None,
                fixture_revision=1,
                os_build="x",
                module_generation=1,
                measured_ms=1,
            )
        ]
    )
    desk.aliases.set((mine, desk.lane(EMBED_CPU).fingerprint), (mine, desk.lane(EMBED_METAL).fingerprint))
    yield desk
    await desk.close()
    await store.close()


async def test_a_declared_equivalence_with_the_catalog_is_shown_on_both_sides(catalog: CatalogDesk) -> None:
    mine = catalog.lanes.get("mine").fingerprint
    cpu, metal = (catalog.lane(each).fingerprint for each in (EMBED_CPU, EMBED_METAL))
    assert (await catalog.query("mine"))["equivalent_to"] == sorted([cpu, metal])
    assert (await catalog.query(EMBED_CPU))["equivalent_to"] == [mine]
    rows = catalog.rows()
    assert rows["mine"]["equivalent_to"] == sorted([cpu, metal])
    assert (rows[EMBED_CPU]["equivalent_to"], rows[EMBED_METAL]["equivalent_to"]) == ([mine], [mine])
    assert (await catalog.status(EMBED_CPU))["equivalent_to"] == [mine]


@pytest.mark.parametrize("model", [EMBED, EMBED_CPU, "its fingerprint"])
@pytest.mark.parametrize("constraint", ["required_fingerprint", "target_fingerprint"])
async def test_a_lane_of_the_catalog_stands_in_for_nothing(catalog: CatalogDesk, model: str, constraint: str) -> None:
    mine = catalog.lanes.get("mine").fingerprint
    name = catalog.lane(EMBED_CPU).fingerprint if model == "its fingerprint" else model
    error = await refused(catalog.query(name, allow_equivalent=True, **{constraint: mine}))
    assert error.code == "substitution_rejected"
    assert catalog.touched == {}


@pytest.mark.parametrize("constraint", ["required_fingerprint", "target_fingerprint"])
async def test_nothing_stands_in_for_a_fingerprint_of_the_catalog(catalog: CatalogDesk, constraint: str) -> None:
    wanted = catalog.lane(EMBED_CPU).fingerprint
    error = await refused(catalog.query("mine", allow_equivalent=True, **{constraint: wanted}))
    assert (error.code, error.details) == rejected("mine", wanted)
    assert catalog.touched == {}


async def test_nothing_stands_in_for_a_lane_of_the_catalog_that_is_hidden(catalog: CatalogDesk) -> None:
    wanted = catalog.lane(EMBED_CPU).fingerprint
    metal = paper_registration("on-metal", engine="owned-metal")
    catalog.lanes.restore([(metal, None, None)])
    catalog.aliases.set((wanted, catalog.lanes.get("on-metal").fingerprint))
    catalog.settings = type(catalog.settings)(cpu_lanes=False)
    for changes in ({"model": wanted}, {"model": "on-metal", "required_fingerprint": wanted}):
        error = await refused(catalog.query(**changes, allow_equivalent=True))
        assert error.code == "substitution_rejected"
    assert catalog.touched == {}


async def test_two_lanes_of_the_catalog_do_not_replace_each_other_although_they_were_paired(
    catalog: CatalogDesk,
) -> None:
    cpu, metal = (catalog.lane(each).fingerprint for each in (EMBED_CPU, EMBED_METAL))
    catalog.aliases.set((cpu, metal))
    error = await refused(catalog.query(EMBED_METAL, required_fingerprint=cpu, allow_equivalent=True))
    assert (error.code, error.details) == rejected(EMBED_METAL, cpu)
    catalog.reasons["metal"] = "device_missing"
    aliases = catalog.aliases
    catalog.restart()
    catalog.aliases.set(*(each.pair for each in aliases.live))
    error = await refused(catalog.query(metal, allow_equivalent=True))
    assert error.code == "backend_unavailable"


# --- scores ---


async def test_scores_carry_the_table_and_are_not_given_out_at_another_epoch_than_was_required(
    catalog: CatalogDesk,
) -> None:
    operations = RerankOperations(
        choice=catalog.choice,
        leases=catalog.leases,
        settings=lambda: catalog.settings,
        clock=SystemClock(),
        module_generation=9,
        aliases=catalog.aliases,
        observations=Observations(enabled=False),
    )

    async def score(**changes: Any) -> dict[str, Any]:
        asked = {"model": RERANK, "query": "a", "candidates": [{"id": "c", "text": "b"}]} | changes
        call = msgspec.structs.replace(catalog.call("rerank.score"), received_at=SystemClock().monotonic())
        return plain(await operations.score(call, msgspec.convert(asked, RerankScore)))

    answer = await score(required_epoch=1)
    assert (answer["table_epoch"], answer["equivalent_to"]) == (1, [])
    catalog.aliases.set((OLD, catalog.lane(RERANK_CPU).fingerprint))
    answer = await score()
    assert (answer["table_epoch"], answer["equivalent_to"]) == (2, [OLD])
    worker = catalog.loaders[RERANK_CPU].worker
    worker.gate = asyncio.Event()
    calls = len(worker.calls)
    asking = asyncio.create_task(score(required_epoch=2))
    await until(lambda: len(worker.calls) > calls)
    catalog.aliases.set()
    worker.gate.set()
    error = await refused(asking)
    assert (error.code, error.details) == ("migration_required", {"required_epoch": 2, "table_epoch": 3})
