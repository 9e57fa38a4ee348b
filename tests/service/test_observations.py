"""What certification may look at: off by default, complete or said not to be, and without effect on any number."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fixtures.embed_desk import EmbedDesk
from fixtures.expected_warnings import ExpectedWarnings
from fixtures.lanes import paper_registration
from fixtures.socket_server import serving
from fixtures.workers import scripted_launch, scripted_spec
from synapse_engines.readout import Sigmoid, YesNo
from synapse_service.certify.observations import Observations
from synapse_service.clock import SystemClock
from synapse_service.lanes.model import LaneModel
from synapse_service.operations.certify import CertifyOperations
from synapse_service.server.router import Router
from synapse_service.settings.declared import Settings
from synapse_service.workers.process import WorkerProcess
from synapse_wire.errors import SynapseError


def model(lane_id: str = "lane", engine: str = "owned-cpu") -> LaneModel:
    return paper_registration(lane_id, engine=engine).lane_model("build-1")


def seen(observations: Observations) -> tuple[bool, list[Any], dict[str, int], int]:
    record = observations.snapshot()
    return record.available, record.inventories, record.worker_requests, record.admitted_count


# --- off ---


async def test_it_is_off_unless_somebody_turns_it_on() -> None:
    assert Settings().certify_observation is False
    router = Router()
    CertifyOperations(Observations(enabled=Settings().certify_observation)).register(router)
    async with serving(router) as running:
        client = await running.connect()
        reply = await client.call("certify.observations", {})
    error = reply["error"]
    assert (error["code"], error["data"]["code"], error["data"]["class"]) == (
        -32002,
        "certify_observation_disabled",
        "permanent",
    )
    assert error["data"]["safe_to_retry_same_request"] is False


async def test_while_it_is_off_nothing_is_kept_and_no_answer_mentions_it() -> None:
    observations = Observations(enabled=False)
    watch = observations.watch(model())
    watch.ready({"engine": "x"})
    watch.requested()
    observations.admitted(model(engine="ane"))
    assert (observations._requests, observations._inventories, observations._admitted) == ({}, [], 0)
    desk = EmbedDesk()
    assert "observation" not in await desk.query()
    await desk.lanes.close()


# --- on ---


async def test_what_the_engine_got_stands_beside_the_same_vectors() -> None:
    plain, observed = EmbedDesk(), EmbedDesk()
    observed.operations._observations = Observations(enabled=True)
    without, answer = await plain.query("a b"), await observed.query("a b")
    assert answer.pop("observation") == {"input_ids": [await plain.ids("a b")]}
    assert answer == without
    answer = await observed.batch("a", "b b b")
    assert answer["observation"]["input_ids"] == [await plain.ids("a"), await plain.ids("b b b")]
    for desk in (plain, observed):
        await desk.lanes.close()


def test_only_a_score_that_is_read_from_two_tokens_names_them() -> None:
    observations = Observations(enabled=True)
    block = observations.block([[1, 2]], YesNo(yes_id=7, no_id=9))
    assert (block.input_ids, block.readout_ids) == ([[1, 2]], [7, 9])
    for readout in (None, Sigmoid()):
        assert not isinstance(observations.block([[1]], readout).readout_ids, list)


def test_requests_are_counted_for_each_lane_and_only_the_neural_engine_has_inventories() -> None:
    observations = Observations(enabled=True)
    for engine in ("owned-cpu", "owned-metal", "owned-cuda"):
        watch = observations.watch(model(engine, engine))
        watch.ready({"engine": engine})
        observations.admitted(model(engine, engine))
        watch.requested()
    observations.watch(model("owned-cpu")).requested()
    # Complete, and empty.
    assert seen(observations) == (True, [], {"owned-cpu": 2, "owned-metal": 1, "owned-cuda": 1}, 0)


def test_inventories_outlive_the_workers_they_are_of() -> None:
    observations = Observations(enabled=True)
    lane = model("ane-lane", "ane")
    for share in ("0.97", "0.98"):
        observations.watch(lane).ready({"neural_engine_share": share})
        observations.admitted(lane)
    rows = [
        {
            "lane_id": "ane-lane",
            "fingerprint": lane.fingerprint,
            "admission": number,
            "facts": {"neural_engine_share": share},
        }
        for number, share in enumerate(("0.97", "0.98"), 1)
    ]
    assert seen(observations) == (True, rows, {}, 2)


def test_an_admission_without_its_inventory_shows() -> None:
    observations = Observations(enabled=True)
    observations.admitted(model("ane-lane", "ane"))
    assert seen(observations) == (True, [], {}, 1)


def test_a_record_that_had_to_leave_something_out_says_so_for_good(expected_warnings: ExpectedWarnings) -> None:
    expected_warnings("observations_incomplete")
    observations = Observations(enabled=True, max_inventories=2)
    lane = model("ane-lane", "ane")
    for _ in range(4):
        observations.watch(lane).ready({})
        observations.admitted(lane)
    available, inventories, _, admitted = seen(observations)
    assert (available, len(inventories), admitted) == (False, 2, 4)


def test_nobody_can_change_the_record_through_what_was_given_out() -> None:
    observations = Observations(enabled=True)
    observations.watch(model()).requested()
    record = observations.snapshot()
    record.worker_requests["lane"] = 99
    record.inventories.append({})
    assert seen(observations) == (True, [], {"lane": 1}, 0)


async def test_a_worker_reports_its_load_and_every_request(tmp_path: Path) -> None:
    observations = Observations(enabled=True)
    lane = model("ane-lane", "ane")
    worker = await WorkerProcess.start(
        scripted_launch(tmp_path), clock=SystemClock(), check_every_s=0.01, watch=observations.watch(lane)
    )
    try:
        ready = await worker.load(scripted_spec())
        await worker.embed([2], b"\x02\0\0\0\x03\0\0\0", "f32")
        await worker.embed([2], b"\x02\0\0\0\x03\0\0\0", "f32")
    finally:
        await worker.close(0.05)
    available, inventories, requests, admitted = seen(observations)
    assert (available, requests, admitted) == (True, {"ane-lane": 2}, 0)
    assert [each["facts"] for each in inventories] == [dict(ready.facts)]


def test_a_refusal_is_on_the_channel() -> None:
    with pytest.raises(SynapseError) as caught:
        Observations(enabled=False).snapshot()
    assert (caught.value.level, caught.value.number) == ("channel", -32002)
