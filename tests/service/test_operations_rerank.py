"""How ``rerank.score`` waits, and when it is refused: as ``embed.query`` does, over lanes with stub workers."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fixtures.embed_desk import EmbedDesk, plain, refused
from fixtures.expected_warnings import ExpectedWarnings
from fixtures.lanes import StubLoader, paper_reranker, until
from fixtures.panicking_tokenizers import TEXT_THAT_PANICS, file_that_gives_up
from synapse_engines.composition import compose_pairs
from synapse_engines.readout import Sigmoid
from synapse_engines.worker.scripted import scripted_logits
from synapse_service.certify.observations import Observations
from synapse_service.lanes.lane import Lane
from synapse_service.lanes.model import pair_form
from synapse_service.operations import waiting
from synapse_service.operations.rerank import INTERACTIVE_CANDIDATES, RerankOperations
from synapse_wire.params import RerankScore


class RerankDesk(EmbedDesk):
    """The operation over a certified lane ``scores`` that refuses long pairs and ``trims``, which cuts them."""

    def __init__(self) -> None:
        super().__init__()
        self.lanes.restore(
            [
                (paper_reranker("scores", max_tokens=40), None, None),
                (paper_reranker("trims", max_tokens=12, overlength="truncate"), None, None),
            ]
        )
        self.certify("m", "cuts", "scores", "trims")
        self.reranking = RerankOperations(
            choice=self.operations._choice,
            leases=self.leases,
            settings=lambda: self.settings,
            clock=self.clock,
            module_generation=9,
            aliases=self.operations._aliases,
            observations=Observations(enabled=False),
        )

    @property
    def scoring(self) -> Lane:
        return self.lanes.get("scores")

    @property
    def scorer(self) -> StubLoader:
        return self.loaders["scores"]

    async def score(self, *texts: str, query: str = "which", age_s: float = 0.0, **changes: Any) -> dict[str, Any]:
        candidates = [{"id": f"c{index}", "text": text} for index, text in enumerate(texts)]
        members = {"model": "scores", "query": query, "candidates": candidates} | changes
        params = msgspec.convert(members, RerankScore)
        return plain(await self.reranking.score(self.call("rerank.score", age_s=age_s), params))

    async def expected(self, text: str, query: str = "which") -> tuple[float, int]:
        """The score of a pair, and its length."""
        form = pair_form(self.scoring.model)
        (row,) = compose_pairs(await self.tokenizer(), form, query, [text])
        logits = scripted_logits(row.ids.tolist(), 1)
        return Sigmoid().score([float(logits[0])]), row.real_tokens


@pytest.fixture
async def desk() -> Any:
    desk = RerankDesk()
    yield desk
    await desk.lanes.close()


async def test_an_answer_has_the_scores_of_the_lane_and_the_facts_of_the_pairs(desk: RerankDesk) -> None:
    answer = await desk.score("one text", "", "a naïve café 東京")
    wanted = [await desk.expected(text) for text in ("one text", "", "a naïve café 東京")]
    assert [each["id"] for each in answer["scores"]] == ["c0", "c1", "c2"]
    assert [each["score"] for each in answer["scores"]] == pytest.approx([score for score, _ in wanted], abs=1e-7)
    assert answer["real_token_counts"] == [tokens for _, tokens in wanted]
    assert (answer["fingerprint"], answer["dims"]) == (desk.scoring.fingerprint, 0)
    assert (answer["module_generation"], answer["table_epoch"], answer["equivalent_to"]) == (9, 0, [])
    assert desk.held() == 0


async def test_twenty_candidates_are_interactive_and_one_more_is_bulk(desk: RerankDesk) -> None:
    await desk.score("warm")
    desk.scorer.worker.gate = asyncio.Event()
    running = [asyncio.create_task(desk.score("first"))]
    await until(lambda: desk.scoring.in_flight)
    for count in (INTERACTIVE_CANDIDATES, INTERACTIVE_CANDIDATES + 1):
        running.append(asyncio.create_task(desk.score(*(f"text {index}" for index in range(count)))))
    await until(lambda: desk.scoring.queue.depth("bulk"))
    assert (desk.scoring.queue.depth("interactive"), desk.scoring.queue.depth("bulk")) == (1, 1)
    desk.scorer.worker.gate.set()
    answers = await asyncio.gather(*running)
    assert [len(answer["scores"]) for answer in answers] == [1, 20, 21]


async def test_the_budget_counts_whole_pairs_to_the_token(desk: RerankDesk) -> None:
    _, tokens = await desk.expected("one text")
    desk.settings = msgspec.structs.replace(desk.settings, inline_max_tokens=20 * tokens)
    assert len((await desk.score(*["one text"] * 20))["scores"]) == 20
    error = await refused(desk.score(*["one text"] * 21))
    assert (error.code, error.level) == ("invalid_request", "semantic")
    assert error.details == {"field": "candidates", "tokens": 21 * tokens, "max_tokens": 20 * tokens}
    assert desk.held() == 0


async def test_nothing_is_loaded_for_a_request_that_is_refused(desk: RerankDesk) -> None:
    assert (await refused(desk.score("word " * 60))).code == "sequence_too_long"
    assert (await refused(desk.score("a", model="absent"))).code == "unknown_model"
    assert (await refused(desk.score("a", model="m"))).details == {
        "model_id": "m",
        "requested_task": "rerank",
        "model_task": "embed",
    }
    assert (await refused(desk.score("a", required_epoch=3))).code == "migration_required"
    assert (await refused(desk.score("a", required_fingerprint="syn1-x"))).code == "substitution_rejected"
    desk.certify("scores", status="uncertified", reason="gate_missed:max_score_error")
    assert (await refused(desk.score("a"))).code == "not_certified"
    assert desk.scorer.loads == 0


async def test_a_task_of_another_kind_is_told_before_anything_else(desk: RerankDesk) -> None:
    error = await refused(desk.score("a", model="m", required_epoch=3, required_fingerprint="syn1-x"))
    assert (error.code, (error.details or {}).get("model_task")) == ("invalid_request", "embed")


async def test_a_text_that_the_tokenizer_cannot_split_is_refused_by_the_id_of_its_candidate(
    desk: RerankDesk, tmp_path: Path
) -> None:
    desk.scorer.path = file_that_gives_up(tmp_path)
    error = await refused(desk.score("a", TEXT_THAT_PANICS))
    assert (error.code, error.level, error.details) == ("invalid_request", "semantic", {"item_id": "c1"})
    error = await refused(desk.score("a", query=TEXT_THAT_PANICS))
    assert (error.code, error.level, error.details) == ("invalid_request", "semantic", None)
    assert error.message.startswith("the query is nothing that the tokenizer can split")
    assert desk.held() == 0


async def test_a_lane_that_cuts_discloses_it_and_never_cuts_the_query(desk: RerankDesk) -> None:
    answer = await desk.score("short", "a b c d e f g h i j k l", model="trims")
    cut = answer["truncation_disclosures"][1]
    assert (cut["truncated"], cut["effective_tokens"], answer["real_token_counts"][1]) == (True, 12, 12)
    assert cut["submitted_tokens"] > 12
    error = await refused(desk.score("x y", query="a b c d e f g h i", model="trims"))
    assert error.code == "sequence_too_long"
    assert "item_id" not in (error.details or {})


async def test_a_deadline_that_has_passed_is_told_and_one_that_passes_at_work_too(desk: RerankDesk) -> None:
    assert (await refused(desk.score("a", age_s=5, deadline_ms=100))).code == "deadline_exceeded"
    await desk.score("warm")
    desk.scorer.worker.gate = asyncio.Event()
    assert (await refused(desk.score("a", deadline_ms=30))).code == "deadline_exceeded"
    desk.scorer.worker.gate.set()
    await until(lambda: not desk.scoring.busy)
    assert not desk.scoring.quarantine.active
    wanted, _ = await desk.expected("b")
    assert (await desk.score("b"))["scores"][0]["score"] == pytest.approx(wanted, abs=1e-7)


async def test_a_wait_that_is_too_long_is_refused_at_once(desk: RerankDesk) -> None:
    await desk.score("warm")
    desk.scoring.pace.record(10, 1.0)
    desk.scorer.worker.gate = asyncio.Event()
    running = asyncio.create_task(desk.score("a b c d e f g h"))
    await until(lambda: desk.scoring.in_flight)
    error = await refused(desk.score("b", max_queue_ms=0))
    assert error.code == "queue_full"
    assert error.details is not None
    assert error.details["max_queue_ms"] == 0
    desk.scorer.worker.gate.set()
    await running


async def test_a_lane_that_is_still_loading_is_waited_for_and_then_told(
    desk: RerankDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "LOAD_WAIT_S", 0.05)
    desk.scorer.hold = asyncio.Event()
    assert (await refused(desk.score("a"))).code == "model_loading"
    desk.scorer.hold.set()


async def test_a_request_that_is_cancelled_leaves_nothing_behind(desk: RerankDesk) -> None:
    await desk.score("warm")
    desk.scorer.worker.gate = asyncio.Event()
    running = asyncio.create_task(desk.score("a"))
    await until(lambda: desk.scoring.in_flight)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert desk.held() == 0
    desk.scorer.worker.gate.set()
    await until(lambda: not desk.scoring.busy)
    assert len((await desk.score("b"))["scores"]) == 1


async def test_a_score_that_is_no_number_names_its_candidate(
    desk: RerankDesk, expected_warnings: ExpectedWarnings
) -> None:
    await desk.score("warm")
    desk.scorer.worker.non_finite = (0,)
    error = await refused(desk.score("a"))
    assert (error.code, error.details) == ("engine_crashed", {"item_id": "c0", "reason": "non_finite"})
