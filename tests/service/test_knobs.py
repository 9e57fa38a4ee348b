"""The knob: which lane each position assigns, and how many threads a lane on the processor gets."""

from __future__ import annotations

import dataclasses
import os

import msgspec
import pytest

from fixtures.lanes import paper_registration
from synapse_service.boot.lanes import lane_threads
from synapse_service.certify.knobs import KNOBS, Measured, assign, threads
from synapse_service.settings.declared import Settings
from synapse_wire.results import KnobLanes, KnobPositions


def lane(lane_id: str, engine: str, speed: float, task: str = "embed") -> Measured:
    return Measured(lane_id, task, engine, speed)  # type: ignore[arg-type]


def embedding(*lanes: Measured) -> list[str | None]:
    found = assign(lanes)
    return [found.performance.embed, found.balanced.embed, found.quiet.embed]


def test_without_measurements_nothing_is_assigned() -> None:
    nothing = KnobLanes(embed=None, rerank=None)
    assert assign([]) == KnobPositions(performance=nothing, balanced=nothing, quiet=nothing)


def test_the_only_lane_takes_every_position_of_its_task_and_no_other() -> None:
    only = KnobLanes(embed=None, rerank="m")
    found = assign([lane("m", "owned-cpu", 10.0, "rerank")])
    assert found == KnobPositions(performance=only, balanced=only, quiet=only)


def test_speed_counts_for_performance_the_device_for_quiet_and_half_the_speed_for_balanced() -> None:
    gpu, mac, cpu, ane = (
        lane("gpu", "owned-cuda", 1000.0),
        lane("mac", "owned-metal", 600.0),
        lane("cpu", "owned-cpu", 400.0),
        lane("ane", "ane", 300.0),
    )
    assert embedding(gpu, mac, cpu, ane) == ["gpu", "mac", "ane"]
    assert embedding(gpu, cpu) == ["gpu", "gpu", "cpu"]
    assert embedding(lane("half", "owned-cpu", 500.0), gpu) == ["gpu", "half", "half"]


def test_on_one_kind_of_device_the_faster_lane_counts_and_then_the_id() -> None:
    assert embedding(lane("a", "owned-cpu", 10.0), lane("b", "owned-cpu", 20.0)) == ["b", "b", "b"]
    assert embedding(lane("z", "owned-cpu", 10.0), lane("a", "owned-cpu", 10.0)) == ["a", "a", "a"]


@pytest.mark.parametrize(
    ("cores", "wanted"), [(1, [1, 1, 1]), (2, [2, 1, 1]), (6, [6, 3, 2]), (16, [16, 8, 4]), (5, [5, 3, 2])]
)
def test_threads_are_all_half_or_a_quarter_of_the_cores_and_at_least_one(cores: int, wanted: list[int]) -> None:
    assert [threads(knob, cores) for knob in KNOBS] == wanted


def test_the_setting_comes_before_the_knob_and_the_catalog_knows_no_knob(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    model = paper_registration().lane_model("b")
    of_catalog = dataclasses.replace(model, catalog_id="entry")
    quiet = Settings(knob="quiet")
    assert lane_threads(model, quiet) == 2
    assert lane_threads(of_catalog, quiet) == 8
    assert lane_threads(model, Settings()) == 8
    chosen = msgspec.structs.replace(quiet, worker_threads=3)
    assert lane_threads(model, chosen) == lane_threads(of_catalog, chosen) == 3
