"""A lane whose model scores: its queue asks the worker for scores, and every row gets its own, exactly."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator

import pytest

from fixtures.clocks import FakeClock
from fixtures.expected_warnings import ExpectedWarnings
from fixtures.lanes import StubLoader, ask, make_lane
from synapse_engines.readout import Sigmoid
from synapse_engines.worker.scripted import scripted_logits
from synapse_service.lanes.lane import Lane
from synapse_service.lanes.serving import Pacing, unpack_scores
from synapse_service.workers.faults import WorkerCrashed
from synapse_wire.errors import SynapseError

A, B, C = [5, 6, 7], [8, 9, 10, 11], [12, 13]


@pytest.fixture
def loader() -> StubLoader:
    return StubLoader()


@pytest.fixture
async def lane(loader: StubLoader) -> AsyncIterator[Lane]:
    lane = make_lane(loader, FakeClock(), pacing=Pacing(interactive_tokens=6, bulk_tokens=6, bulk_seconds=1e9))
    lane.model = dataclasses.replace(lane.model, task="rerank", dims=0, readout=Sigmoid())
    yield lane
    await lane.close()


def expected(row: list[int]) -> tuple[float, float]:
    logit = float(scripted_logits(row, 1)[0])
    return Sigmoid().score([logit]), logit


async def test_every_row_gets_the_score_of_its_own_ids_in_whatever_calls_it_is_computed(
    lane: Lane, loader: StubLoader
) -> None:
    tickets = [ask(lane, A, B, C), ask(lane, B, C, A, class_="bulk", encoding="f32")]
    for ticket, rows in zip(tickets, ((A, B, C), (B, C, A)), strict=True):
        answers = [unpack_scores(row) for row in await ticket.done]
        assert answers == [pytest.approx(expected(row), abs=1e-7) for row in rows]
    assert sorted(length for call in loader.worker.calls for length in call) == [2, 2, 3, 3, 4, 4]
    assert len(loader.worker.calls) > 2


async def test_a_score_that_is_not_a_number_names_its_candidate_and_counts_as_a_fault(
    lane: Lane, loader: StubLoader, expected_warnings: ExpectedWarnings
) -> None:
    await lane.ensure_ready()
    loader.worker.non_finite = (0,)
    broken = ask(lane, A, name="c")
    with pytest.raises(SynapseError) as refused:
        await broken.done
    assert (refused.value.code, refused.value.details) == ("engine_crashed", {"item_id": "c0", "reason": "non_finite"})
    loader.worker.non_finite = ()
    assert unpack_scores((await ask(lane, B).done)[0]) == pytest.approx(expected(B), abs=1e-7)
    assert not lane.quarantine.active


async def test_two_crashes_while_scoring_put_the_lane_into_quarantine(
    lane: Lane, loader: StubLoader, expected_warnings: ExpectedWarnings
) -> None:
    for _ in range(2):
        await lane.ensure_ready()
        loader.worker.faults = [WorkerCrashed(-9, "")]
        with pytest.raises(SynapseError, match="lane"):
            await ask(lane, A).done
        await asyncio.sleep(0)
    assert lane.quarantine.active
    expected_warnings("worker_lost", "worker_lost", "lane_quarantined")
