"""WorkerProcess.score against real processes, with a scripted model and with the tiny ones."""

from __future__ import annotations

import sys
from array import array
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fixtures.clocks import FakeClock
from fixtures.model_files import SCORER_NAMES, ScorerName, scored
from fixtures.scorers import READOUTS, scorer_spec
from fixtures.workers import pack_rows, scripted_launch, scripted_spec
from synapse_engines.readout import Readout, Sigmoid, YesNo
from synapse_engines.worker.protocol import Progress, Scored
from synapse_engines.worker.scripted import scripted_logits
from synapse_service.clock import SystemClock
from synapse_service.workers.faults import WorkerProtocolFault, WorkerRefused
from synapse_service.workers.launch import worker_launch
from synapse_service.workers.process import WorkerProcess
from synapse_service.workers.scores import ScoredRows, scored_rows

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the scripted worker uses signals of POSIX")

ROWS = [[5, 6, 7], [8], [9, 10]]
JUDGE = YesNo(yes_id=7, no_id=9)

Start = Callable[..., Awaitable[WorkerProcess]]


@pytest.fixture
async def start(tmp_path: Path) -> AsyncIterator[Start]:
    """Starts workers that play the given script, loaded with a read-out, and ends them after the test."""
    async with AsyncExitStack() as stack:

        async def start(readout: Readout | None, **script: Any) -> WorkerProcess:
            launch = scripted_launch(tmp_path, **script)
            worker = await WorkerProcess.start(launch, clock=FakeClock(), check_every_s=0.01)
            stack.push_async_callback(worker.close, 0.05)
            ready = await worker.load(msgspec.structs.replace(scripted_spec(), readout=readout))
            assert ready.dims == (4 if readout is None else 0)
            return worker

        yield start


async def score(worker: WorkerProcess, rows: list[list[int]], **options: Any) -> ScoredRows:
    return await worker.score(*pack_rows(rows), **options)


def logits_of(row: list[int], width: int) -> tuple[float, ...]:
    return tuple(scripted_logits(row, width).tolist())


def float32(value: float) -> float:
    return array("f", [value])[0]


@pytest.mark.parametrize("readout", [Sigmoid(), JUDGE], ids=["sigmoid", "yes_no"])
async def test_scores_and_logits_come_back_in_request_order(start: Start, readout: Readout) -> None:
    worker = await start(readout)
    answer = await score(worker, ROWS)
    wanted = [logits_of(row, readout.width) for row in ROWS]
    assert answer.logits == tuple(wanted)
    assert answer.scores == tuple(float32(readout.score(logits)) for logits in wanted)
    assert answer.token_ids == readout.token_ids
    assert answer.non_finite == ()


async def test_a_row_that_is_not_finite_has_no_score(start: Start) -> None:
    worker = await start(JUDGE, calls=[{"non_finite": [0]}])
    answer = await score(worker, ROWS)
    # The shortest row is the first of the engine's call.
    assert answer.non_finite == (1,)
    assert answer.scores[1] is None
    assert None not in (answer.scores[0], answer.scores[2])


async def test_progress_is_told_between_engine_calls(start: Start) -> None:
    worker = await start(Sigmoid(), tokens_per_call=3)
    seen: list[Progress] = []
    answer = await score(worker, ROWS, on_progress=seen.append)
    assert [(progress.rows_done, progress.tokens_done) for progress in seen] == [(2, 3)]
    assert answer.logits == tuple(logits_of(row, 1) for row in ROWS)


async def test_no_rows_have_no_scores(start: Start) -> None:
    worker = await start(JUDGE)
    answer = await score(worker, [])
    assert (answer.scores, answer.logits, answer.token_ids) == ((), (), (7, 9))


async def test_a_refusal_names_the_row_and_leaves_the_worker_serving(start: Start) -> None:
    worker = await start(Sigmoid(), vocab=100)
    with pytest.raises(WorkerRefused) as refused:
        await score(worker, [[1], [2, 100]])
    assert (refused.value.kind, refused.value.details) == ("input", {"reason": "bad_id", "row": 1})
    assert (await score(worker, [[1]])).logits == (logits_of([1], 1),)


async def test_ids_that_do_not_match_their_lengths_are_an_error_of_the_caller(start: Start) -> None:
    worker = await start(Sigmoid())
    with pytest.raises(ValueError, match="4 bytes of ids for 2 tokens"):
        await worker.score([2], b"\0\0\0\0")


async def test_a_model_is_used_for_what_it_was_loaded_for(start: Start) -> None:
    scorer, embedder = await start(Sigmoid()), await start(None)
    with pytest.raises(WorkerProtocolFault, match="the model was loaded for something else"):
        await scorer.embed(*pack_rows(ROWS), "json")
    with pytest.raises(WorkerProtocolFault, match="the model was loaded for something else"):
        await score(embedder, ROWS)


@pytest.mark.parametrize(
    ("width", "numbers", "rows"), [(2, 6, 3), (2, 9, 2), (0, 3, 3), (-1, 0, 3), (1, 5, 2)], ids=str
)
def test_an_answer_of_another_size_is_no_answer(width: int, numbers: int, rows: int) -> None:
    answer = Scored(1, width, [], [], 0.5)
    assert scored_rows(answer, bytes(4 * numbers), rows) is None


@pytest.mark.parametrize("name", SCORER_NAMES)
async def test_a_real_model_gives_the_expected_scores(name: ScorerName) -> None:
    known = scored(name)
    worker = await WorkerProcess.start(worker_launch({}), clock=SystemClock())
    try:
        await worker.load(scorer_spec(name, "openvino"))
        lengths = (129, 1, 40)
        answer = await score(worker, [known.row(length).tolist() for length in lengths])
    finally:
        await worker.close()
    assert answer.token_ids == READOUTS[name].token_ids
    for length, found, logits in zip(lengths, answer.scores, answer.logits, strict=True):
        assert found == pytest.approx(float(known.scores[known.index(length)]), abs=1e-5)
        assert logits == pytest.approx(known.logits[known.index(length)].tolist(), abs=5e-5)
