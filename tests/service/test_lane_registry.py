"""The lanes of a service: found, hidden, replaced, and brought back after a restart."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from fixtures.clocks import FakeClock
from fixtures.expected_warnings import ExpectedWarnings
from fixtures.lanes import History, StubLoader, ask, make_lane, no_catalog, paper_registration, until
from fixtures.workers import expected_text
from synapse_service.admission.leases import LeaseBook
from synapse_service.catalog.pins import set_pins
from synapse_service.lanes.lane import Lane
from synapse_service.lanes.records import StoredLanes
from synapse_service.lanes.registration import Registration
from synapse_service.lanes.registry import LaneRegistry
from synapse_service.store.database import Store
from synapse_service.store.errors import StoreError
from synapse_service.store.models import Model, ModelFile, Pin
from synapse_wire.errors import SynapseError

ROW = [5, 6, 7]


class Shelf:
    """Lanes over a database that outlives them; ``restart`` is what a new process finds."""

    def __init__(self, store: Store, clock: FakeClock) -> None:
        self.records = StoredLanes(store, clock)
        self.clock = clock
        self.cpu_lanes = True
        self.store = store
        self.history = History()
        self.restart()

    def restart(self) -> None:
        self.leases = LeaseBook(lambda: "lease")
        self.lanes = LaneRegistry(
            self.records, self._make, catalog=no_catalog(), leases=self.leases, cpu_lanes=lambda: self.cpu_lanes
        )
        self.not_served = self.lanes.restore(self.records.load_all())

    def _make(self, registration: Registration, quarantined: str | None) -> Lane:
        return make_lane(
            StubLoader(),
            self.clock,
            registration,
            history=self.history,
            quarantined=quarantined,
            on_quarantine=lambda lane: self.lanes.keep_quarantine(lane),
        )

    async def register(self, model_id: str = "lane", **changes: Any) -> Lane:
        registration = paper_registration(model_id, **changes)
        lane = self.lanes.new_lane(registration)
        await lane.ensure_ready()
        return await self.lanes.register(registration, lane)

    async def quarantine(self, lane: Lane) -> None:
        lane.quarantine.fault("crash")
        lane.quarantine.fault("hang")
        await self.lanes.keep_quarantine(lane)

    @property
    def ids(self) -> list[str]:
        return [lane.lane_id for lane in self.lanes.visible()]


@pytest.fixture
async def shelf(quick_dir: Path) -> AsyncIterator[Shelf]:
    clock = FakeClock()
    store = Store.open(quick_dir / "synapse.db", clock)
    shelf = Shelf(store, clock)
    yield shelf
    await shelf.lanes.close()
    await store.close()


def refusal(shelf: Shelf, model: str) -> SynapseError:
    with pytest.raises(SynapseError) as caught:
        shelf.lanes.serving(model)
    return caught.value


async def test_a_registration_comes_back_after_a_restart_without_its_files(shelf: Shelf) -> None:
    before = await shelf.register("m", max_tokens=7, prefix_ids=())
    files = shelf.store.read_sync(lambda: [(file.role, file.position, file.name) for file in ModelFile.select()])
    names = ["config.json", "tokenizer.json", "model.safetensors"]
    assert files == [("config", 0, names[0]), ("tokenizer", 1, names[1]), ("model", 2, names[2])]
    shelf.restart()
    after = shelf.lanes.get("m")
    assert after is not before
    assert shelf.lanes.registration("m") == paper_registration("m", max_tokens=7, prefix_ids=())
    assert after.model == before.model
    assert (after.load_ms, after.state, after.quarantine.active) == (12.5, "unloaded", False)


async def test_lanes_are_listed_by_id(shelf: Shelf) -> None:
    for model_id in ("b", "c", "a"):
        await shelf.register(model_id)
    assert shelf.ids == ["a", "b", "c"]


async def test_an_id_that_is_not_registered_is_unknown(shelf: Shelf) -> None:
    error = refusal(shelf, "absent")
    assert (error.code, error.details) == ("unknown_model", {"model_id": "absent"})
    assert (error.class_, error.safe_to_retry_same_request) == ("permanent", False)


async def test_a_lane_is_found_by_its_fingerprint_and_no_other_takes_its_place(shelf: Shelf) -> None:
    lane = await shelf.register("m")
    assert shelf.lanes.serving(lane.fingerprint) is lane
    other = "syn1-" + "0" * 64
    error = refusal(shelf, other)
    assert (error.code, error.details) == ("substitution_rejected", {"required_fingerprint": other})


async def test_switching_cpu_lanes_off_hides_and_refuses_them_and_deletes_nothing(shelf: Shelf) -> None:
    cpu = await shelf.register("cpu")
    await shelf.register("metal", engine="owned-metal")
    shelf.cpu_lanes = False
    assert shelf.ids == ["metal"]
    assert shelf.lanes.hides("cpu")
    assert not shelf.lanes.hides("metal")
    assert not shelf.lanes.hides("absent")
    error = refusal(shelf, "cpu")
    assert (error.code, error.details) == ("unknown_model", {"model_id": "cpu"})
    assert "cpu_lanes" in error.message
    assert refusal(shelf, cpu.fingerprint).code == "substitution_rejected"
    shelf.restart()
    assert shelf.ids == ["metal"]
    shelf.cpu_lanes = True
    assert shelf.ids == ["cpu", "metal"]
    assert shelf.lanes.get("cpu").fingerprint == cpu.fingerprint


@pytest.mark.parametrize("engine", ["ort", "llama", "owned-vulkan", "remote_openai_compatible"])
async def test_a_stored_engine_that_is_not_ours_is_not_brought_back_and_what_kept_its_files_goes(
    shelf: Shelf, engine: str, expected_warnings: ExpectedWarnings
) -> None:
    """Red without ``let_go``: nothing could ever give the files of such a model back."""
    expected_warnings("registration_not_served")
    await shelf.register("good", engine="owned-metal")
    old = paper_registration("old", engine=engine)
    await shelf.records.save(old, "syn1-" + "0" * 64, None, None)

    def pin() -> None:
        for subject in ("good", "old"):
            set_pins("me", subject, ["e" * 64])
            set_pins("somebody", subject, ["c" * 64])

    shelf.store.write_sync(pin)
    shelf.restart()
    assert shelf.ids == ["good"]
    assert shelf.not_served == ["old"]
    assert expected_warnings.fields("registration_not_served") == {"model_id": "old", "reason": "engine"}
    shelf.records.let_go(shelf.not_served)
    kept = shelf.store.read_sync(lambda: {row.subject for row in Pin.select()})
    roots = shelf.store.read_sync(lambda: {file.model_id for file in ModelFile.select()})
    models = shelf.store.read_sync(lambda: sorted(row.model_id for row in Model.select()))
    assert (kept, roots, models) == ({"good"}, {"good"}, ["good", "old"])


async def test_a_registration_that_can_not_be_read_keeps_no_other_from_coming_back(
    shelf: Shelf, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("registration_not_read")
    await shelf.register("a")
    await shelf.register("b")
    shelf.store.write_sync(lambda: Model.update(profile="{}").where(Model.model_id == "a").execute())
    shelf.restart()
    assert (shelf.ids, shelf.not_served) == (["b"], [])
    assert expected_warnings.fields("registration_not_read")["model_id"] == "a"
    assert shelf.store.read_sync(lambda: ModelFile.select().where(ModelFile.model == "a").count()) == 3


async def test_a_quarantine_outlives_restarts_until_it_is_released(shelf: Shelf) -> None:
    await shelf.quarantine(await shelf.register())
    shelf.restart()
    lane = shelf.lanes.get("lane")
    assert (lane.quarantine.active, lane.quarantine.reason) == (True, "hang")
    lane.quarantine.release()
    await shelf.lanes.keep_quarantine(lane)
    shelf.restart()
    assert not shelf.lanes.get("lane").quarantine.active


async def test_a_replaced_lane_serves_those_who_hold_it_and_then_ends(shelf: Shelf) -> None:
    old = await shelf.register(pooling="mean")
    lease = shelf.leases.take("lane")
    new = await shelf.register(pooling="cls")
    assert shelf.lanes.get("lane") is new
    later = shelf.leases.take("lane")
    await asyncio.sleep(0)
    # The request was accepted by the old lane before it was replaced, and reaches its queue only now.
    assert await ask(old, ROW).done == [expected_text(ROW)]
    assert old.state == "ready"
    shelf.leases.release(lease)
    await until(lambda: old.state == "unloaded")
    with pytest.raises(SynapseError):
        ask(old, ROW)
    assert await ask(new, ROW).done == [expected_text(ROW)]
    shelf.leases.release(later)


async def test_a_lane_that_nobody_holds_ends_as_soon_as_it_is_replaced(shelf: Shelf) -> None:
    old = await shelf.register(pooling="mean")
    await shelf.register(pooling="cls")
    await until(lambda: old.state == "unloaded")


async def test_closing_ends_replaced_lanes_too(shelf: Shelf) -> None:
    old = await shelf.register(pooling="mean")
    shelf.leases.take("lane")
    new = await shelf.register(pooling="cls")
    await shelf.lanes.close()
    assert (old.state, new.state) == ("unloaded", "unloaded")


async def test_replacing_a_lane_lifts_its_quarantine_only_if_its_numbers_change(shelf: Shelf) -> None:
    await shelf.quarantine(await shelf.register())
    same = await shelf.register(overlength="truncate")
    assert same.quarantine.active
    shelf.restart()
    assert shelf.lanes.get("lane").model == same.model
    assert shelf.lanes.get("lane").quarantine.reason == "hang"
    other = await shelf.register(pooling="cls")
    assert not other.quarantine.active
    shelf.restart()
    assert not shelf.lanes.get("lane").quarantine.active


async def test_faults_of_a_replaced_lane_are_not_held_against_its_successor(shelf: Shelf) -> None:
    old = await shelf.register(pooling="mean")
    shelf.leases.take("lane")
    new = await shelf.register(pooling="cls")
    await shelf.quarantine(old)
    assert not new.quarantine.active
    shelf.restart()
    assert not shelf.lanes.get("lane").quarantine.active


async def test_a_registration_that_can_not_be_written_changes_nothing(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = await shelf.register(pooling="mean")
    monkeypatch.setattr(shelf.records, "save", _full_disk)
    with pytest.raises(StoreError):
        await shelf.register(pooling="cls")
    assert shelf.lanes.get("lane") is old
    assert old.state == "ready"
    shelf.restart()
    assert shelf.lanes.get("lane").model == old.model


async def test_a_quarantine_that_can_not_be_written_holds_all_the_same(
    shelf: Shelf, expected_warnings: ExpectedWarnings, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected_warnings("quarantine_not_kept")
    lane = await shelf.register()
    monkeypatch.setattr(shelf.records, "set_quarantine", _full_disk)
    await shelf.quarantine(lane)
    assert lane.quarantine.active
    assert expected_warnings.fields("quarantine_not_kept") == {"lane_id": "lane", "reason": "storage_full"}


async def test_a_new_lane_is_announced_when_it_is_registered(shelf: Shelf) -> None:
    registered: list[bool] = []
    shelf.history.changed = lambda lane: registered.append(shelf.lanes.find(lane.lane_id) is lane)  # type: ignore[method-assign]
    await shelf.register()
    assert registered[-1] is True
    assert True not in registered[:-1]


async def _full_disk(*_: Any) -> None:
    raise StoreError("storage_full", Path("synapse.db"))
