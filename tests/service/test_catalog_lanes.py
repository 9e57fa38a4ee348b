"""The lanes of the catalog: which of them a name stands for, what is refused and in which order, and how they look."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from fixtures.catalog_desk import EMBED, EMBED_CPU, EMBED_METAL, RERANK, RERANK_CPU, CatalogDesk
from fixtures.clocks import FakeClock
from fixtures.embed_desk import refused
from fixtures.expected_warnings import ExpectedWarnings
from fixtures.lanes import ask, paper_registration, until
from synapse_service.lanes.idle import IdleUnloader
from synapse_service.lanes.quarantine import COOL_DOWN_S
from synapse_service.store.database import Store
from synapse_service.workers.faults import WorkerCrashed
from synapse_wire import params as p
from synapse_wire.errors import SynapseError

NOWHERE = "syn1-" + "0" * 64


@pytest.fixture
async def desk(quick_dir: Path) -> AsyncIterator[CatalogDesk]:
    clock = FakeClock()
    store = Store.open(quick_dir / "synapse.db", clock)
    desk = CatalogDesk(store, clock)
    yield desk
    await desk.close()
    await store.close()


def fingerprint(desk: CatalogDesk, lane_id: str) -> str:
    return desk.lane(lane_id).fingerprint


async def refusal(desk: CatalogDesk, model: str, **changes: Any) -> SynapseError:
    """The refusal of a query, before which nothing was read or loaded."""
    error = await refused(desk.query(model, **changes))
    assert desk.touched == {}
    assert (error.level, error.class_, error.safe_to_retry_same_request) == ("semantic", "permanent", False)
    return error


# --- which lane serves ---


async def test_a_catalog_id_stands_for_its_first_lane_that_can_run(desk: CatalogDesk) -> None:
    answer = await desk.query(EMBED)
    assert answer["fingerprint"] == fingerprint(desk, EMBED_METAL)
    assert answer["provenance"]["engine"]["engine"] == "owned-metal"
    assert desk.touched == {EMBED_METAL: (1, 1)}


async def test_where_the_first_lane_can_not_run_a_catalog_id_stands_for_the_next(desk: CatalogDesk) -> None:
    desk.reasons["metal"] = "not_supported_on_platform"
    desk.restart()
    answer = await desk.query(EMBED)
    assert answer["fingerprint"] == fingerprint(desk, EMBED_CPU)
    assert answer["dims"] == 4
    assert desk.touched == {EMBED_CPU: (1, 1)}


@pytest.mark.parametrize("constraint", ["model", "required_fingerprint", "target_fingerprint"])
async def test_a_fingerprint_pins_its_lane(desk: CatalogDesk, constraint: str) -> None:
    wanted = fingerprint(desk, EMBED_CPU)
    request = {"model": wanted} if constraint == "model" else {"model": EMBED, constraint: wanted}
    assert (await desk.query(**request))["fingerprint"] == wanted
    assert desk.touched == {EMBED_CPU: (1, 1)}


async def test_a_lane_id_pins_its_lane_and_its_own_fingerprint_may_stand_beside_it(desk: CatalogDesk) -> None:
    wanted = fingerprint(desk, EMBED_CPU)
    assert (await desk.query(EMBED_CPU))["fingerprint"] == wanted
    assert (await desk.query(EMBED_CPU, required_fingerprint=wanted))["fingerprint"] == wanted
    assert desk.touched == {EMBED_CPU: (1, 1)}


async def test_a_lane_that_fails_to_load_is_not_replaced_by_another(desk: CatalogDesk) -> None:
    damage = {"model_id": EMBED_METAL, "file": "model.safetensors", "reason": "truncated"}
    desk.loaders[EMBED_METAL].errors = [SynapseError("artifact_invalid", "damaged", details=damage)]
    error = await refused(desk.query(EMBED))
    assert (error.code, error.details) == ("artifact_invalid", damage)
    assert desk.touched == {EMBED_METAL: (1, 1)}


async def test_of_two_lanes_with_one_fingerprint_the_catalogs_serves(desk: CatalogDesk) -> None:
    lane = desk.lane(EMBED_METAL)
    twin = paper_registration("mine", engine="owned-metal")
    desk.lanes.restore([(twin, None, None)])
    registered = desk.lanes.get("mine")
    registered.fingerprint = lane.fingerprint
    assert (await desk.query(lane.fingerprint))["fingerprint"] == lane.fingerprint
    assert desk.touched == {EMBED_METAL: (1, 1)}


# --- refusals ---


@pytest.mark.parametrize("name", ["absent", "tiny-embed-cuda", "tiny-embed-vulkan", "tiny-rerank-metal", "Tiny-Embed"])
async def test_a_name_that_nothing_has_is_unknown(desk: CatalogDesk, name: str) -> None:
    error = await refusal(desk, name)
    assert (error.code, error.details) == ("unknown_model", {"model_id": name})


async def test_a_hidden_cpu_lane_is_known_by_neither_of_its_names(desk: CatalogDesk) -> None:
    hidden = fingerprint(desk, EMBED_CPU)
    desk.settings = type(desk.settings)(cpu_lanes=False)
    error = await refusal(desk, EMBED_CPU)
    assert (error.code, error.details) == ("unknown_model", {"model_id": EMBED_CPU})
    assert "cpu_lanes" in error.message
    error = await refusal(desk, hidden)
    assert (error.code, error.details) == ("substitution_rejected", {"required_fingerprint": hidden})
    error = await refusal(desk, EMBED, required_fingerprint=hidden)
    assert (error.code, error.details) == ("substitution_rejected", {"required_fingerprint": hidden})
    assert EMBED_CPU not in desk.rows()


async def test_a_fingerprint_that_no_lane_has_is_refused(desk: CatalogDesk) -> None:
    error = await refusal(desk, NOWHERE)
    assert (error.code, error.details) == ("substitution_rejected", {"required_fingerprint": NOWHERE})


@pytest.mark.parametrize("allow_equivalent", [None, True])
async def test_a_lane_is_never_substituted_by_one_of_another_fingerprint(
    desk: CatalogDesk, allow_equivalent: bool | None
) -> None:
    cpu = fingerprint(desk, EMBED_CPU)
    error = await refusal(desk, EMBED_METAL, required_fingerprint=cpu, allow_equivalent=allow_equivalent)
    assert error.code == "substitution_rejected"
    assert error.details == {"lane_id": EMBED_METAL, "required_fingerprint": cpu}


async def test_a_fingerprint_of_another_entry_is_none_of_a_catalog_id(desk: CatalogDesk) -> None:
    other = fingerprint(desk, RERANK_CPU)
    error = await refusal(desk, EMBED, required_fingerprint=other)
    assert (error.code, error.details) == ("substitution_rejected", {"required_fingerprint": other})


async def test_two_fingerprints_have_to_be_the_same(desk: CatalogDesk) -> None:
    metal, cpu = fingerprint(desk, EMBED_METAL), fingerprint(desk, EMBED_CPU)
    error = await refusal(desk, EMBED, required_fingerprint=cpu, target_fingerprint=metal)
    assert error.details == {"lane_id": EMBED_CPU, "required_fingerprint": metal}


async def test_a_lane_that_was_named_and_can_not_run_is_refused_though_another_could(desk: CatalogDesk) -> None:
    desk.reasons["metal"] = "device_below_floor"
    desk.restart()
    for model, changes in (
        (EMBED_METAL, {}),
        (fingerprint(desk, EMBED_METAL), {}),
        (EMBED, {"required_fingerprint": fingerprint(desk, EMBED_METAL)}),
    ):
        error = await refusal(desk, model, **changes)
        assert error.code == "backend_unavailable"
        assert error.details == {
            "catalog_id": EMBED,
            "lane_id": EMBED_METAL,
            "backends": [{"backend": "metal", "reason": "device_below_floor"}],
        }


async def test_an_entry_without_a_lane_that_can_run_names_the_reasons_of_all(desk: CatalogDesk) -> None:
    desk.reasons.update(metal="not_supported_on_platform", cpu="worker_missing")
    desk.restart()
    error = await refusal(desk, EMBED)
    assert error.code == "backend_unavailable"
    assert error.details == {
        "catalog_id": EMBED,
        "lane_id": None,
        "backends": [
            {"backend": "metal", "reason": "not_supported_on_platform"},
            {"backend": "cpu", "reason": "worker_missing"},
        ],
    }


@pytest.mark.parametrize("state", ["not_installed", "stale"])
async def test_what_is_not_installed_in_its_present_version_names_the_download(desk: CatalogDesk, state: Any) -> None:
    desk.installs.states[EMBED] = state
    shape = {"catalog_id": EMBED, "lane_id": None, "download_op": "models.download", "download_job_id": None}
    error = await refusal(desk, EMBED)
    assert (error.code, error.details, error.retry_after_ms) == ("model_not_installed", shape, None)
    desk.downloads[EMBED] = "job-7"
    assert (await refusal(desk, EMBED)).details == shape | {"download_job_id": "job-7"}
    pinned = shape | {"lane_id": EMBED_CPU, "download_job_id": "job-7"}
    assert (await refusal(desk, EMBED_CPU)).details == pinned
    assert (await refusal(desk, fingerprint(desk, EMBED_CPU))).details == pinned


async def test_a_model_for_another_task_is_refused_before_anything_else_about_it(desk: CatalogDesk) -> None:
    desk.reasons["cpu"] = "worker_missing"
    desk.restart()
    del desk.installs.states[RERANK]
    for model in (RERANK, RERANK_CPU, fingerprint(desk, RERANK_CPU)):
        error = await refusal(desk, model, required_epoch=7, required_fingerprint=NOWHERE)
        assert error.code == "invalid_request"
        assert error.details == {"catalog_id": RERANK, "requested_task": "embed", "catalog_task": "rerank"}


async def test_the_order_of_the_refusals(desk: CatalogDesk, expected_warnings: ExpectedWarnings) -> None:
    """From the last to the first, each in front of those before it."""
    expected_warnings("lane_quarantined")
    lane = desk.lane(EMBED_METAL)
    for _ in range(2):
        await lane.count_fault("crash")
    codes = [(await refused(desk.query(EMBED))).code]
    desk.check(EMBED_METAL).outcome = type(desk.check(EMBED_METAL).outcome)(state="failed", reason="cosine_too_low")
    codes.append((await refused(desk.query(EMBED))).code)
    del desk.installs.states[EMBED]
    codes.append((await refused(desk.query(EMBED))).code)
    desk.reasons["metal"] = "device_missing"
    desk.restart()
    codes.append((await refused(desk.query(EMBED_METAL))).code)
    codes.append((await refused(desk.query(EMBED_METAL, required_fingerprint=NOWHERE))).code)
    codes.append((await refused(desk.query(EMBED_METAL, required_fingerprint=NOWHERE, required_epoch=7))).code)
    assert codes == [
        "engine_crashed",
        "self_check_failed",
        "model_not_installed",
        "backend_unavailable",
        "substitution_rejected",
        "migration_required",
    ]


async def test_a_text_that_is_too_long_is_refused_before_a_load(desk: CatalogDesk) -> None:
    error = await refused(desk.query(EMBED, "a " * 40))
    assert error.code == "sequence_too_long"
    assert error.details == {"tokens": 42, "max_tokens": 16, "item_id": "0"}
    assert desk.touched == {EMBED_METAL: (1, 0)}


async def test_a_request_for_a_free_form_model_is_served_as_ever(desk: CatalogDesk) -> None:
    desk.lanes.restore([(paper_registration("mine"), None, None)])
    error = await refused(desk.query("mine"))
    assert (error.code, error.details) == ("probe_required", {"model_id": "mine"})


async def test_a_registration_whose_id_the_catalog_has_come_to_reserve_is_not_served(
    desk: CatalogDesk, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("registration_not_served")
    desk.lanes.restore([(paper_registration(EMBED_CPU), None, None), (paper_registration("mine"), None, None)])
    assert list(desk.rows()) == ["mine", EMBED_CPU, EMBED_METAL, RERANK_CPU]
    assert desk.rows()[EMBED_CPU]["self_check"]["state"] == "pending"


# --- how they look ---


async def test_a_lane_that_was_never_loaded(desk: CatalogDesk) -> None:
    rows = desk.rows()
    assert list(rows) == [EMBED_CPU, EMBED_METAL, RERANK_CPU]
    assert rows[EMBED_METAL] == {
        "model_id": EMBED_METAL,
        "task": "embed",
        "engine": "owned-metal",
        "state": "unloaded",
        "fingerprint": fingerprint(desk, EMBED_METAL),
        "max_tokens": 16,
        "max_tokens_source": "catalog_unloaded",
        "dtype": "f32",
        "device_class": "metal",
        "overlength": "refuse",
        "pinned": False,
        "self_check": {"state": "pending", "check_id": desk.check(EMBED_METAL).check_id},
        "certified": False,
        "serving_admission": "enabled",
        "dims": 4,
        "prompts": {"query": "search: ", "document": ""},
        "equivalent_to": [],
    }
    assert "dims" not in rows[RERANK_CPU]
    assert "prompts" not in rows[RERANK_CPU]


async def test_a_lane_that_passed_its_self_check(desk: CatalogDesk) -> None:
    await desk.query(EMBED)
    row = desk.rows()[EMBED_METAL]
    assert (row["state"], row["max_tokens_source"], row["warm_load_cost_hint_ms"]) == ("ready", "catalog", 12.5)
    assert row["self_check"]["state"] == "passed"
    assert (row["certified"], row["serving_admission"], "serving_admission_reason" in row) == (True, "enabled", False)
    await desk.unload(EMBED_METAL)
    row = desk.rows()[EMBED_METAL]
    assert (row["state"], row["max_tokens_source"], row["certified"]) == ("unloaded", "catalog_unloaded", True)


async def test_only_lanes_that_run_here_and_are_installed_have_a_row(desk: CatalogDesk) -> None:
    desk.reasons["metal"] = "not_supported_on_platform"
    desk.restart()
    assert list(desk.rows()) == [EMBED_CPU, RERANK_CPU]
    desk.installs.states[EMBED] = "stale"
    assert list(desk.rows()) == [RERANK_CPU]
    del desk.installs.states[RERANK]
    assert desk.rows() == {}
    assert desk.report() == {}


async def test_a_lane_that_is_no_longer_installed_is_unloaded_when_it_is_free(desk: CatalogDesk) -> None:
    await desk.query(EMBED)
    idle = IdleUnloader(lanes=desk.lanes, leases=desk.leases, clock=desk.clock, idle_s=lambda: 900.0)
    await idle.sweep()
    assert desk.lane(EMBED_METAL).state == "ready"
    del desk.installs.states[EMBED]
    await idle.sweep()
    assert desk.lane(EMBED_METAL).state == "unloaded"


async def test_the_status_of_a_lane_is_its_row_and_a_catalog_id_stands_for_its_lane(desk: CatalogDesk) -> None:
    assert await desk.status(EMBED_CPU) == desk.rows()[EMBED_CPU]
    assert await desk.status(EMBED) == desk.rows()[EMBED_METAL]
    for model_id, code in (("tiny-embed-cuda", "unknown_model"), (fingerprint(desk, EMBED_CPU), "unknown_model")):
        error = await refused(desk.status(model_id))
        assert (error.code, error.details) == (code, {"model_id": model_id})
    del desk.installs.states[EMBED]
    assert (await refused(desk.status(EMBED_CPU))).code == "model_not_installed"
    desk.reasons["metal"] = "device_missing"
    desk.restart()
    assert (await refused(desk.status(EMBED_METAL))).code == "backend_unavailable"


async def test_the_probe_report_shows_lanes_that_need_no_certification(desk: CatalogDesk) -> None:
    assert desk.report(EMBED_CPU) == {
        EMBED_CPU: {
            "model_id": EMBED_CPU,
            "task": "embed",
            "engine": "owned-cpu",
            "device_class": "cpu",
            "dtype": "f32",
            "max_tokens": desk.lanes.get(EMBED_CPU).model.max_tokens,
            "fingerprint": fingerprint(desk, EMBED_CPU),
            "certification_required": False,
            "certification_status": "not_required",
            "serving_admission": None,
            "serving_admission_reason": None,
            "self_check": {"state": "pending", "check_id": desk.check(EMBED_CPU).check_id},
        }
    }
    await desk.query(EMBED_CPU)
    assert desk.report()[EMBED_CPU]["self_check"] == desk.rows()[EMBED_CPU]["self_check"]
    assert list(desk.report()) == [EMBED_CPU, EMBED_METAL, RERANK_CPU]


@pytest.mark.parametrize("model_id", [EMBED, EMBED_CPU, "tiny-embed-vulkan"])
async def test_no_id_of_the_catalog_is_probed(desk: CatalogDesk, model_id: str) -> None:
    error = await refused(desk.probe.start(desk.call("probe.start"), p.ModelRef(model_id=model_id)))
    assert (error.code, error.level, error.details) == ("invalid_request", "semantic", {"model_id": model_id})


async def test_admission_counts_every_known_lane_and_certifications_only_of_probed_ones(desk: CatalogDesk) -> None:
    desk.lanes.restore([(paper_registration("mine"), None, None)])
    await desk.query(EMBED)
    status = desk.admission.status(desk.call("admission.status"), p.NoParams())
    assert (status.catalog_lanes, status.certified_lanes) == (4, 0)
    assert (status.certification_stale, status.performance_stale) == (0, 0)
    assert [lane.lane_id for lane in status.lanes] == [EMBED_METAL]


# --- unloading ---


async def test_an_unload_keeps_the_lane_and_the_next_request_loads_it(desk: CatalogDesk) -> None:
    await desk.query(EMBED)
    assert await desk.unload(EMBED_METAL) == {
        "module_generation": 9,
        "model_id": EMBED_METAL,
        "fingerprint": fingerprint(desk, EMBED_METAL),
        "state": "unloaded",
        "engine": "owned-metal",
        "task": "embed",
    }
    assert desk.lane(EMBED_METAL).loaded_tokenizer is None
    await desk.query(EMBED)
    assert desk.touched == {EMBED_METAL: (2, 2)}


async def test_a_catalog_id_is_not_unloaded_and_the_refusal_names_its_lanes(desk: CatalogDesk) -> None:
    error = await refused(desk.unload(EMBED))
    assert (error.code, error.level) == ("invalid_request", "semantic")
    assert error.details == {"catalog_id": EMBED, "lane_ids": [EMBED_METAL, EMBED_CPU]}
    desk.settings = type(desk.settings)(cpu_lanes=False)
    assert (await refused(desk.unload(RERANK))).details == {"catalog_id": RERANK, "lane_ids": []}
    error = await refused(desk.unload(RERANK_CPU))
    assert (error.code, error.details) == ("unknown_model", {"model_id": RERANK_CPU})
    error = await refused(desk.unload("tiny-embed-ane"))
    assert (error.code, error.details) == ("unknown_model", {"model_id": "tiny-embed-ane"})


async def test_a_lane_that_is_not_installed_is_unloaded_already(desk: CatalogDesk) -> None:
    del desk.installs.states[EMBED]
    assert (await desk.unload(EMBED_CPU))["state"] == "unloaded"


async def test_a_lane_that_is_held_names_its_entry_and_its_holders(desk: CatalogDesk) -> None:
    with desk.leases.holding(EMBED_CPU):
        error = await refused(desk.unload(EMBED_CPU))
    assert (error.code, error.details) == (
        "model_in_use",
        {"catalog_id": EMBED, "holders": [{"kind": "request", "lease_id": "lease-1"}]},
    )


async def test_a_removed_entry_begins_afresh(desk: CatalogDesk) -> None:
    await desk.query(EMBED)
    await desk.unload(EMBED_METAL)
    before = desk.lane(EMBED_METAL)
    desk.lanes.catalog.forget(desk.entry(EMBED))
    after = desk.lane(EMBED_METAL)
    assert after is not before
    row = desk.rows()[EMBED_METAL]
    assert (row["state"], row["self_check"]["state"], "warm_load_cost_hint_ms" in row) == ("unloaded", "pending", False)


# --- quarantine ---


async def crash_twice(desk: CatalogDesk, lane_id: str = EMBED_METAL) -> None:
    await desk.query(lane_id)
    for _ in range(2):
        await desk.lane(lane_id).ensure_ready()
        desk.loaders[lane_id].worker.faults = [WorkerCrashed(-9, "")]
        error = await refused(desk.query(lane_id))
        assert (error.code, error.retry_after_ms) == ("engine_crashed", 250)
        assert error.details == {"lane_id": lane_id, "reason": "crash", "exit": -9}


async def test_two_crashes_cool_a_lane_down_for_ten_minutes(
    desk: CatalogDesk, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("worker_lost", "lane_quarantined")
    await crash_twice(desk)
    loads = desk.loaders[EMBED_METAL].loads
    for elapsed_s, remaining_ms in ((0.0, 600_000), (0.0015, 599_999), (599.998, 1)):
        desk.clock.advance(elapsed_s)
        error = await refused(desk.query(EMBED))
        assert (error.code, error.class_, error.safe_to_retry_same_request) == ("engine_crashed", "transient", True)
        assert error.details == {"lane_id": EMBED_METAL, "quarantined": True}
        assert error.retry_after_ms == remaining_ms
    assert desk.rows()[EMBED_METAL]["state"] == "quarantined"
    assert desk.report()[EMBED_METAL]["blocking_reason"] == "quarantined"
    assert desk.loaders[EMBED_METAL].loads == loads
    assert EMBED_CPU not in desk.touched
    desk.clock.advance(0.001)
    assert desk.rows()[EMBED_METAL]["state"] == "unloaded"
    assert (await desk.query(EMBED))["fingerprint"] == fingerprint(desk, EMBED_METAL)
    assert desk.loaders[EMBED_METAL].loads == loads + 1


async def test_after_the_cool_down_a_lane_has_two_strikes_again(
    desk: CatalogDesk, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("worker_lost", "lane_quarantined")
    await crash_twice(desk)
    desk.clock.advance(COOL_DOWN_S)
    await crash_twice(desk)
    assert desk.lane(EMBED_METAL).quarantine.active


@pytest.mark.parametrize("way", ["unload", "restart"])
async def test_an_unload_or_a_restart_ends_a_cool_down_at_once(
    desk: CatalogDesk, expected_warnings: ExpectedWarnings, way: str
) -> None:
    expected_warnings("worker_lost", "lane_quarantined")
    await crash_twice(desk)
    if way == "unload":
        assert (await desk.unload(EMBED_METAL))["state"] == "unloaded"
        assert desk.lane(EMBED_METAL).quarantine.strikes == 0
    else:
        desk.restart()
    assert (await desk.query(EMBED))["fingerprint"] == fingerprint(desk, EMBED_METAL)


async def test_an_unload_does_not_clear_a_single_strike(desk: CatalogDesk, expected_warnings: ExpectedWarnings) -> None:
    expected_warnings("worker_lost", "lane_quarantined")
    await desk.query(EMBED)
    for strikes in (1, 2):
        desk.loaders[EMBED_METAL].worker.faults = [WorkerCrashed(-9, "")]
        await refused(desk.query(EMBED))
        assert desk.lane(EMBED_METAL).quarantine.strikes == strikes
        if strikes == 1:
            await desk.unload(EMBED_METAL)
            assert desk.lane(EMBED_METAL).quarantine.strikes == 1
            await desk.lane(EMBED_METAL).ensure_ready()
    assert desk.lane(EMBED_METAL).quarantine.active


async def test_work_that_waits_is_answered_as_the_cool_down_begins(
    desk: CatalogDesk, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("worker_lost", "lane_quarantined")
    lane = desk.lane(EMBED_METAL)
    lane.quarantine.fault("crash")
    await lane.ensure_ready()
    worker = desk.loaders[EMBED_METAL].worker
    worker.gate, worker.faults = asyncio.Event(), [WorkerCrashed(-9, "")]
    running, waiting = ask(lane, [2, 9, 3]), ask(lane, [2, 8, 3], class_="bulk")
    await until(lambda: lane.in_flight)
    worker.gate.set()
    assert (await refused(running.done)).details == {"lane_id": EMBED_METAL, "reason": "crash", "exit": -9}
    error = await refused(waiting.done)
    assert (error.code, error.retry_after_ms) == ("engine_crashed", 600_000)
    assert error.details == {"lane_id": EMBED_METAL, "quarantined": True}


async def test_a_free_form_lane_in_quarantine_still_needs_a_probe(desk: CatalogDesk) -> None:
    desk.lanes.restore([(paper_registration("mine"), "crash", None)])
    error = await refused(desk.query("mine"))
    assert (error.code, error.details) == ("probe_required", {"model_id": "mine", "reason": "quarantined"})
    assert (await desk.unload("mine"))["state"] == "unloaded"
    assert desk.lanes.get("mine").quarantine.active


async def test_every_lane_of_a_model_that_somebody_pinned_says_so(desk: CatalogDesk) -> None:
    await desk.pins.put("me", EMBED, ["a" * 64])
    await desk.pins.put("you", EMBED, ["a" * 64])
    assert {name: row["pinned"] for name, row in desk.rows().items()} == {
        EMBED_CPU: True,
        EMBED_METAL: True,
        RERANK_CPU: False,
    }
    await desk.pins.put("me", EMBED, [])
    assert (await desk.status(EMBED_CPU))["pinned"] is True
    await desk.pins.put("you", EMBED, [])
    assert desk.rows()[EMBED_CPU]["pinned"] is False
