"""The ledger of certifications: who may serve, and what a restart, another machine or a new fixture makes of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from fixtures.certifications import ledger_for, measured
from fixtures.clocks import FakeClock
from fixtures.lanes import StubLoader, make_lane
from synapse_service.certify.ledger import Certification, CertificationLedger, Conditions
from synapse_service.certify.records import StoredCertifications
from synapse_service.lanes.lane import Lane
from synapse_service.store.database import Store
from synapse_service.store.errors import StoreError
from synapse_wire.errors import SynapseError

MACHINE = "machine-1"


@pytest.fixture
async def store(quick_dir: Path) -> AsyncIterator[Store]:
    store = Store.open(quick_dir / "synapse.db", FakeClock())
    yield store
    await store.close()


@pytest.fixture
def lane() -> Lane:
    return make_lane(StubLoader(), FakeClock())


def ledger_of(store: Store, machine: str = MACHINE, fixture_revision: int = 3) -> CertificationLedger:
    records = StoredCertifications(store)
    ledger = ledger_for(records, machine, {"embed": fixture_revision, "rerank": 3})
    ledger.restore(records.load_all(machine))
    return ledger


def outcome(lane: Lane, **changes: Any) -> Certification:
    members: dict[str, Any] = {
        "fingerprint": lane.fingerprint,
        "model_id": lane.lane_id,
        "status": "certified",
        "blocking_reason": None,
        "evidence": {"mean_cosine": 0.9999, "gates": {"mean_cosine": 0.999}},
        "performance": measured(),
        "fixture_revision": 3,
        "os_build": "debian-12",
        "module_generation": 4,
        "measured_ms": 1_750_000_000_000,
    }
    return Certification(**(members | changes))


def refusal(ledger: CertificationLedger, lane: Lane) -> SynapseError:
    with pytest.raises(SynapseError) as caught:
        ledger.require(lane)
    return caught.value


async def test_a_lane_without_an_outcome_needs_a_probe(store: Store, lane: Lane) -> None:
    ledger = ledger_of(store)
    error = refusal(ledger, lane)
    assert (error.code, error.details) == ("probe_required", {"model_id": "lane"})
    assert (error.class_, error.safe_to_retry_same_request) == ("permanent", False)
    assert not ledger.certified(lane.fingerprint)
    assert ledger.outcome(lane.fingerprint) is None


async def test_a_certified_lane_serves_and_still_does_after_a_restart(store: Store, lane: Lane) -> None:
    ledger = ledger_of(store)
    await ledger.record(outcome(lane))
    for each in (ledger, ledger_of(store)):
        each.require(lane)
        assert each.certified(lane.fingerprint)
        assert each.outcome(lane.fingerprint) == outcome(lane)


@pytest.mark.parametrize("blocking", ["gate_missed:min_cosine", "engine_crashed"])
async def test_a_failed_probe_replaces_a_certification_and_its_figures(store: Store, lane: Lane, blocking: str) -> None:
    ledger = ledger_of(store)
    await ledger.record(outcome(lane))
    failed = outcome(lane, status="uncertified", blocking_reason=blocking, performance=None)
    await ledger.record(failed)
    for each in (ledger, ledger_of(store)):
        error = refusal(each, lane)
        assert (error.code, error.details) == ("not_certified", {"model_id": "lane", "reason": blocking})
        assert each.outcome(lane.fingerprint) == failed


async def test_an_outcome_of_an_older_fixture_is_stale(store: Store, lane: Lane) -> None:
    await ledger_of(store).record(outcome(lane))
    newer = ledger_of(store, fixture_revision=4)
    assert newer.stale(outcome(lane))
    assert not newer.certified(lane.fingerprint)
    error = refusal(newer, lane)
    assert (error.code, error.details) == ("not_certified", {"model_id": "lane", "reason": "stale"})


async def test_an_outcome_of_another_machine_says_nothing_about_this_one(store: Store, lane: Lane) -> None:
    await ledger_of(store).record(outcome(lane))
    assert refusal(ledger_of(store, machine="machine-2"), lane).code == "probe_required"


async def test_an_outcome_of_another_fingerprint_says_nothing_about_this_lane(store: Store, lane: Lane) -> None:
    ledger = ledger_of(store)
    await ledger.record(outcome(lane, fingerprint="syn1-" + "0" * 64))
    assert refusal(ledger, lane).code == "probe_required"


async def test_an_outcome_that_can_not_be_written_does_not_count(
    store: Store, lane: Lane, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(*_: Any) -> None:
        raise StoreError("storage_full", Path("/db"))

    ledger = ledger_of(store)
    monkeypatch.setattr(StoredCertifications, "save", full)
    with pytest.raises(StoreError):
        await ledger.record(outcome(lane))
    assert refusal(ledger, lane).code == "probe_required"


def test_speed_is_stale_under_another_kernel_or_with_other_threads_and_numbers_are_not(
    store: Store, lane: Lane
) -> None:
    ledger = ledger_of(store)
    assert not ledger.performance_stale(lane)
    ledger.restore([outcome(lane)])
    assert not ledger.performance_stale(lane)
    for conditions in (Conditions(kernel="6.2", threads=None), Conditions(kernel="6.1", threads=2)):
        ledger.restore([outcome(lane, performance=measured(conditions=conditions))])
        assert ledger.performance_stale(lane)
        assert ledger.certified(lane.fingerprint)


def test_a_new_fixture_makes_the_outcomes_of_its_own_task_stale(store: Store, lane: Lane) -> None:
    ledger = ledger_of(store, fixture_revision=4)
    ledger.restore([outcome(lane)])
    assert (ledger.performance_stale(lane), refusal(ledger, lane).code) == (True, "not_certified")
    ledger.restore([outcome(lane, task="rerank")])
    assert (ledger.performance_stale(lane), ledger.certified(lane.fingerprint)) == (False, True)


async def test_an_outcome_comes_back_with_its_task_and_the_conditions_of_its_speed(store: Store, lane: Lane) -> None:
    made = outcome(lane, task="rerank", performance=measured(conditions=Conditions(kernel="6.9", threads=7)))
    await ledger_of(store).record(made)
    assert ledger_of(store).outcome(lane.fingerprint) == made
