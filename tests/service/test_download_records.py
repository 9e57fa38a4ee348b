"""The publish fence: of all who want to end a download exactly one does, and the row says who."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures.clocks import FakeClock
from synapse_service.catalog import download_records as records
from synapse_service.catalog.download_job import DownloadState, TerminalState
from synapse_service.store.database import Store
from synapse_service.store.models import DownloadBlob, Job
from synapse_wire.errors import SynapseError

ENDS: tuple[TerminalState, ...] = ("committed", "failed", "cancelled")


@pytest.fixture
def store(quick_dir: Path) -> Iterator[Store]:
    store = Store.open(quick_dir / "synapse.db", FakeClock())
    yield store
    store.close_sync()


def begin(store: Store, state: DownloadState) -> None:
    def step() -> None:
        Job.create(job_id="j", kind="models.download", state=state, module_generation=1, created_ms=0)
        DownloadBlob.create(job="j", sha256="a" * 64)

    store.write_sync(step)


def end(store: Store, state: TerminalState, only_from: DownloadState | None = None) -> bool:
    error = SynapseError("module_restarted", "restarted").to_wire() if state == "failed" else None
    ended = records.End(state, 10, error, terminal_ms=5, expires_ms=9)
    return store.write_sync(lambda: records.end("j", ended, only_from=only_from))


def row(store: Store) -> tuple[str, int]:
    return store.read_sync(lambda: (Job.get_by_id("j").state, DownloadBlob.select().count()))


@pytest.mark.parametrize(("first", "second"), list(itertools.product(ENDS, ENDS)))
def test_whoever_comes_second_changes_nothing(store: Store, first: TerminalState, second: TerminalState) -> None:
    begin(store, "verifying")
    assert end(store, first, "verifying" if first == "committed" else None)
    left = 0 if first == "committed" else 1
    assert row(store) == (first, left)
    assert not end(store, second, "verifying" if second == "committed" else None)
    assert row(store) == (first, left)


@pytest.mark.parametrize("state", ["queued", "downloading", "verifying"])
def test_any_live_state_can_fail_or_be_cancelled(store: Store, state: DownloadState) -> None:
    begin(store, state)
    assert end(store, "cancelled")


@pytest.mark.parametrize("state", ["queued", "downloading"])
def test_a_commit_needs_the_state_that_it_expects(store: Store, state: DownloadState) -> None:
    begin(store, state)
    assert not end(store, "committed", "verifying")
    assert row(store) == (state, 1)


@pytest.mark.parametrize("ended", ENDS)
def test_a_job_that_has_ended_publishes_nothing_more(store: Store, ended: TerminalState) -> None:
    begin(store, "downloading")
    end(store, ended)
    assert not store.write_sync(lambda: records.begin_verifying("j", ["b" * 64]))
    store.write_sync(lambda: records.begin("j", 1, 1))
    assert row(store)[0] == ended
