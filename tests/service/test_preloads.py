"""Models that the settings name: which entries stop the start, which are skipped, and how the others come in."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fixtures.clocks import FakeClock
from fixtures.expected_warnings import ExpectedWarnings
from fixtures.onboarding_desk import OnboardingDesk
from fixtures.service_process import file_manifest
from synapse_engines.devices import Device, DeviceEvidence, Reason
from synapse_service.catalog.compiled import shipped_catalog
from synapse_service.catalog.store_marker import StorageUnavailable
from synapse_service.jobs.live import LiveJob
from synapse_service.lanes.device_gate import DeviceGate
from synapse_service.lanes.preloads import PreloadError, Preloads, plan
from synapse_service.store.database import Store
from synapse_wire.errors import SynapseError
from synapse_wire.params import ModelLoad

RESERVED = shipped_catalog().reserved_ids
SHA = "a" * 64


def entry(model_id: str = "mine", **changes: Any) -> ModelLoad:
    file = {"url": "file:///models/x", "sha256": SHA}
    members: dict[str, Any] = {
        "model_id": model_id,
        "task": "embed",
        "engine": "owned-cpu",
        "source": "file",
        "files": {"model": file, "tokenizer": file, "config": file},
    }
    return msgspec.convert(members | changes, ModelLoad)


def stopped(*entries: ModelLoad) -> PreloadError:
    with pytest.raises(PreloadError) as caught:
        plan(entries, cpu_lanes=True, reserved_ids=RESERVED)
    return caught.value


# --- what the entries alone decide ---


@pytest.mark.parametrize("model_id", sorted(RESERVED))
def test_an_id_of_the_catalog_stops_the_start_naming_the_entry(model_id: str) -> None:
    error = stopped(entry("fine"), entry(model_id))
    assert (error.number, error.model_id) == (2, model_id)
    assert str(error) == (
        f"preload entry 2 ({model_id!r}): the id belongs to the catalog; use models.download, or choose another id"
    )


def test_a_reserved_id_stops_the_start_whatever_else_is_wrong_with_the_entry() -> None:
    assert stopped(entry("qwen3-reranker-0.6b-vulkan", engine="ort", source="hf")).number == 1


def test_an_id_that_stands_twice_stops_the_start() -> None:
    assert str(stopped(entry("a"), entry("a"))) == "preload entry 2 ('a'): an earlier entry has the same id"


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"source": "hf", "repo": "org/name"}, "revision"),
        ({"source": "hf", "repo": "org/name", "revision": "main"}, "revision"),
        ({"profile": "metal"}, "profile"),
    ],
)
def test_what_is_not_pinned_stops_the_start(changes: dict[str, Any], field: str) -> None:
    error = stopped(entry("mine", **changes))
    assert (error.number, error.problem.partition(":")[0]) == (1, field)


@pytest.mark.parametrize(
    ("changes", "cpu_lanes"),
    [({"engine": "ort"}, True), ({"engine": "llama"}, True), ({}, False), ({"dtype": "bf16"}, True)],
)
def test_an_entry_that_this_service_can_not_honour_is_skipped(changes: dict[str, Any], cpu_lanes: bool) -> None:
    planned = plan(
        [entry("bad", **changes), entry("good", engine="owned-metal")], cpu_lanes=cpu_lanes, reserved_ids=RESERVED
    )
    assert [manifest.model_id for manifest in planned.manifests] == ["good"]
    (refusal,) = planned.skipped.values()
    assert (refusal.code, refusal.level) == ("invalid_request", "semantic")


# --- at work ---


class Desk(OnboardingDesk):
    def __init__(self, folder: Path, store: Store) -> None:
        super().__init__(folder, store)
        self.reasons: dict[Device, Reason] = {}

    def preloads(self, *entries: ModelLoad) -> Preloads:
        return Preloads(
            entries,
            devices=DeviceGate(lambda backend: DeviceEvidence(backend, self.reasons.get(backend))),
            onboarding=self.onboarding,
            jobs=self.book,
            reserved_ids=(),
            cpu_lanes=lambda: self.cpu_lanes,
        )

    def entry(self, model_id: str, **changes: Any) -> ModelLoad:
        return entry(model_id, **({"files": file_manifest(self.folder)} | changes))


@pytest.fixture
async def desk(quick_dir: Path) -> AsyncIterator[Desk]:
    store = Store.open(quick_dir / "synapse.db", FakeClock())
    desk = Desk(quick_dir, store)
    yield desk
    await desk.book.close()
    await desk.lanes.close()
    await store.close()


async def test_every_entry_is_registered_and_loaded(desk: Desk) -> None:
    await desk.preloads(desk.entry("a"), desk.entry("b", pooling="cls")).run()
    assert {lane.lane_id: lane.state for lane in desk.lanes.visible()} == {"a": "ready", "b": "ready"}
    assert desk.rows() == ["a", "b"]


async def test_what_is_registered_already_is_only_loaded(desk: Desk) -> None:
    await desk.preloads(desk.entry("a")).run()
    lane = desk.lanes.get("a")
    await lane.unload()
    await desk.preloads(desk.entry("a")).run()
    assert desk.lanes.get("a") is lane
    assert lane.state == "ready"


async def test_an_entry_that_is_skipped_keeps_no_other_from_loading_and_is_told_once(
    desk: Desk, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("preload_skipped")
    preloads = desk.preloads(desk.entry("old", engine="ort"), desk.entry("a"))
    await preloads.run()
    assert desk.rows() == ["a"]
    assert expected_warnings.fields("preload_skipped")["model_id"] == "old"
    assert expected_warnings.fields("preload_skipped")["code"] == "invalid_request"
    loads = desk.loader.loads
    await preloads.run()
    assert desk.loader.loads == loads
    assert expected_warnings.seen == ["preload_skipped"]


async def test_an_engine_that_can_not_run_here_is_skipped_before_anything_is_read(
    desk: Desk, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("preload_skipped")
    desk.reasons["metal"] = "not_supported_on_platform"
    await desk.preloads(desk.entry("m", engine="owned-metal")).run()
    assert expected_warnings.fields("preload_skipped")["code"] == "backend_unavailable"
    assert (desk.rows(), list(desk.blobs.blobs.iterdir())) == ([], [])


async def test_a_model_that_can_not_be_loaded_is_told_and_the_next_one_comes_in(
    desk: Desk, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("preload_failed")
    files = file_manifest(desk.folder)
    files["model"]["sha256"] = "0" * 64
    await desk.preloads(desk.entry("bad", files=files), desk.entry("good")).run()
    assert desk.rows() == ["good"]
    assert expected_warnings.fields("preload_failed")["model_id"] == "bad"
    assert expected_warnings.fields("preload_failed")["code"] == "artifact_invalid"


async def test_switching_cpu_lanes_on_loads_what_the_switch_had_kept_back(
    desk: Desk, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("preload_skipped")
    desk.cpu_lanes = False
    preloads = desk.preloads(desk.entry("a"))
    await preloads.run()
    assert desk.rows() == []
    desk.cpu_lanes = True
    await preloads.run()
    assert desk.lanes.get("a").state == "ready"


async def test_what_the_missing_disk_kept_back_is_loaded_once_when_it_is_there(
    desk: Desk, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("preload_failed")
    away = StorageUnavailable("disk_missing", desk.blobs.root)
    desk.blobs.leases.close(away)
    files = file_manifest(desk.folder)
    files["model"]["sha256"] = "0" * 64
    preloads = desk.preloads(desk.entry("a"), desk.entry("bad", files=files), desk.entry("b"))
    await preloads.run()
    assert expected_warnings.fields("preload_failed")["code"] == away.code
    await preloads.run()  # As when the setting cpu_lanes is switched on meanwhile: told once.
    assert (desk.rows(), len(expected_warnings.seen)) == ([], 3)
    desk.blobs.leases.open()
    await preloads.run()
    assert {lane.lane_id: lane.state for lane in desk.lanes.visible()} == {"a": "ready", "b": "ready"}
    # What failed for another reason is left alone, and so is what was loaded.
    loads = desk.loader.loads
    await desk.lanes.get("a").unload()
    await preloads.run()
    assert (desk.loader.loads, len(expected_warnings.seen)) == (loads, 4)


async def test_a_disk_that_comes_back_while_its_absence_is_being_told_is_not_missed(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("preload_failed")
    desk.blobs.leases.close(StorageUnavailable("disk_missing", desk.blobs.root))
    preloads = desk.preloads(desk.entry("a"))
    ended = desk.book.ended

    async def then_back(job: LiveJob) -> None:
        await ended(job)
        if desk.blobs.leases.closed is not None:
            desk.blobs.leases.open()
            await preloads.run()

    monkeypatch.setattr(desk.book, "ended", then_back)
    await preloads.run()
    assert desk.lanes.get("a").state == "ready"


async def test_a_manifest_that_changed_in_the_file_replaces_the_model(desk: Desk) -> None:
    await desk.preloads(desk.entry("a")).run()
    await desk.lanes.get("a").unload()
    await desk.preloads(desk.entry("a", pooling="cls")).run()
    assert desk.lanes.get("a").model.profile.pooling == "cls"


async def test_stopping_in_the_middle_ends_the_wait_and_nothing_else(desk: Desk) -> None:
    desk.loader.hold = asyncio.Event()
    running = asyncio.create_task(desk.preloads(desk.entry("a")).run())
    while not desk.loader.loads:  # noqa: ASYNC110 - nothing here could set an event
        await asyncio.sleep(0.002)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    (job,) = desk.book.live()
    desk.loader.hold.set()
    await desk.book.ended(job)
    assert desk.lanes.get("a").state == "ready"


def test_refusals_of_the_plan_are_those_of_model_load() -> None:
    (refusal,) = plan([entry("m", engine="ort")], cpu_lanes=True, reserved_ids=()).skipped.values()
    assert isinstance(refusal, SynapseError)
    assert refusal.details == {"field": "engine"}
