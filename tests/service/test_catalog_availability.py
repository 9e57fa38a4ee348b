"""Which catalog lanes exist and run, on any machine: what the devices say and what the setting says decide."""

from __future__ import annotations

from collections import Counter

import pytest

from synapse_engines.devices import Device, DeviceEvidence, Reason
from synapse_service.catalog.availability import Availability
from synapse_service.catalog.compiled import CatalogEntry, shipped_catalog
from synapse_wire.errors import SynapseError

CATALOG = shipped_catalog()
LINUX: dict[str, Reason | None] = {"metal": "not_supported_on_platform", "cpu": None}
MAC: dict[str, Reason | None] = {"metal": None, "cpu": None}


def availability(reasons: dict[str, Reason | None], *, cpu_lanes: bool) -> Availability:
    def evidence(backend: Device) -> DeviceEvidence:
        return DeviceEvidence(backend, reasons[backend])

    return Availability(CATALOG, evidence, cpu_lanes=lambda: cpu_lanes)


def entry(catalog_id: str) -> CatalogEntry:
    found = CATALOG.entry(catalog_id)
    assert found is not None
    return found


def rows(available: Availability) -> dict[str, list[tuple[str, Reason | None]]]:
    return {
        each.id: [(status.lane.lane_id, status.reason) for status in available.lanes(each)] for each in CATALOG.entries
    }


def test_without_cpu_lanes_linux_shows_metal_rows_that_can_not_run() -> None:
    available = availability(LINUX, cpu_lanes=False)
    assert rows(available) == {
        "gte-modernbert-base": [("gte-modernbert-base-metal", "not_supported_on_platform")],
        "gte-reranker-modernbert-base": [("gte-reranker-modernbert-base-metal", "not_supported_on_platform")],
        "qwen3-embedding-0.6b": [("qwen3-embedding-0.6b-metal", "not_supported_on_platform")],
        "qwen3-reranker-0.6b": [],
    }
    assert not any(available.runnable(each) for each in CATALOG.entries)
    assert {available.files(each) for each in CATALOG.entries} == {()}


def test_with_cpu_lanes_every_entry_gains_a_last_row() -> None:
    available = availability(LINUX, cpu_lanes=True)
    last = {catalog_id: found[-1] for catalog_id, found in rows(available).items()}
    assert last == {each.id: (f"{each.id}-cpu", None) for each in CATALOG.entries}
    assert rows(available)["gte-modernbert-base"][0] == ("gte-modernbert-base-metal", "not_supported_on_platform")
    assert all(available.runnable(each) for each in CATALOG.entries)


def test_a_catalog_id_selects_its_first_lane_that_can_run() -> None:
    gte = entry("gte-modernbert-base")
    assert availability(MAC, cpu_lanes=True).selected(gte).lane_id == "gte-modernbert-base-metal"
    assert availability(MAC, cpu_lanes=False).selected(gte).lane_id == "gte-modernbert-base-metal"
    assert availability(LINUX, cpu_lanes=True).selected(gte).lane_id == "gte-modernbert-base-cpu"


def test_the_setting_counts_from_the_moment_it_changes() -> None:
    shown = True
    available = Availability(CATALOG, lambda backend: DeviceEvidence(backend, LINUX[backend]), cpu_lanes=lambda: shown)
    reranker = entry("qwen3-reranker-0.6b")
    assert available.selected(reranker).lane_id == "qwen3-reranker-0.6b-cpu"
    shown = False
    assert available.lanes(reranker) == ()
    assert available.find("qwen3-reranker-0.6b-cpu") is None


def test_a_hidden_lane_is_found_by_neither_of_its_names() -> None:
    on, off = availability(LINUX, cpu_lanes=True), availability(LINUX, cpu_lanes=False)
    lane = CATALOG.lane("gte-modernbert-base-cpu")
    assert lane is not None
    for status in (on.find(lane.lane_id), on.pinned(lane.fingerprint)):
        assert status is not None
        assert (status.lane, status.runnable) == (lane, True)
    assert off.find(lane.lane_id) is None
    assert off.pinned(lane.fingerprint) is None


def test_a_lane_that_can_not_run_is_found_with_its_reason() -> None:
    status = availability(LINUX, cpu_lanes=False).find("gte-modernbert-base-metal")
    assert status is not None
    assert (status.reason, status.runnable) == ("not_supported_on_platform", False)


@pytest.mark.parametrize("name", ["gte-modernbert-base", "gte-modernbert-base-cuda", "syn1-x", "other"])
def test_what_is_no_declared_lane_is_not_found(name: str) -> None:
    available = availability(MAC, cpu_lanes=True)
    assert available.find(name) is None
    assert available.pinned(name) is None


@pytest.mark.parametrize(
    "reason", ["not_supported_on_platform", "device_missing", "device_below_floor", "worker_missing"]
)
def test_nothing_takes_the_place_of_a_cpu_lane_that_can_not_run(reason: Reason) -> None:
    available = availability({"metal": "not_supported_on_platform", "cpu": reason}, cpu_lanes=True)
    with pytest.raises(SynapseError) as refused:
        available.selected(entry("gte-modernbert-base"))
    assert refused.value.code == "backend_unavailable"
    assert refused.value.details == {
        "catalog_id": "gte-modernbert-base",
        "lane_id": None,
        "backends": [
            {"backend": "metal", "reason": "not_supported_on_platform"},
            {"backend": "cpu", "reason": reason},
        ],
    }


def test_an_entry_without_backends_is_refused_with_an_empty_list_and_the_way_out() -> None:
    with pytest.raises(SynapseError) as refused:
        availability(LINUX, cpu_lanes=False).selected(entry("qwen3-reranker-0.6b"))
    assert refused.value.details == {"catalog_id": "qwen3-reranker-0.6b", "lane_id": None, "backends": []}
    assert refused.value.message == (
        "qwen3-reranker-0.6b can't run on this machine (no backend); the setting cpu_lanes adds "
        "qwen3-reranker-0.6b-cpu, which computes on the processor"
    )


def test_the_setting_is_not_recommended_where_it_would_not_help() -> None:
    reasons: dict[str, Reason | None] = {"metal": "worker_missing", "cpu": "device_below_floor"}
    refusal = availability(reasons, cpu_lanes=False).refusal(entry("gte-modernbert-base"))
    assert refusal.message == "gte-modernbert-base can't run on this machine (metal: worker missing)"


def test_a_lane_that_was_named_is_refused_alone() -> None:
    available = availability(LINUX, cpu_lanes=True)
    gte = entry("gte-modernbert-base")
    refusal = available.refusal(gte, gte.lanes[0])
    assert refusal.details == {
        "catalog_id": "gte-modernbert-base",
        "lane_id": "gte-modernbert-base-metal",
        "backends": [{"backend": "metal", "reason": "not_supported_on_platform"}],
    }


def test_the_files_are_needed_once_however_many_lanes_run() -> None:
    gte = entry("gte-modernbert-base")
    needed = [availability(MAC, cpu_lanes=shown).files(gte) for shown in (False, True)]
    assert needed[0] == needed[1]
    assert [file.path for file in needed[0]] == ["config.json", "model.safetensors", "tokenizer.json"]


def test_each_declared_device_is_looked_at_once_and_no_other() -> None:
    asked: Counter[str] = Counter()

    def evidence(backend: Device) -> DeviceEvidence:
        asked[backend] += 1
        return DeviceEvidence(backend, None)

    available = Availability(CATALOG, evidence, cpu_lanes=lambda: True)
    for each in CATALOG.entries:
        available.selected(each)
    assert asked == {"metal": 1, "cpu": 1}
