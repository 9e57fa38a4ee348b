"""Probes of lanes that score: by the very values and by the order of the best; and what the fixture covers."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from fixtures.clocks import FakeClock
from fixtures.lanes import StubLoader, StubWorker, paper_registration, paper_reranker
from fixtures.probe_desk import ProbeDesk
from synapse_engines.readout import Sigmoid
from synapse_service.certify.comparing import Gates, comparison, score_figures
from synapse_service.certify.fixture import PairRow, pair_rows, rerank_fixture
from synapse_service.certify.ledger import Conditions
from synapse_service.store.database import Store
from synapse_service.workers.scores import ScoredRows
from synapse_wire.errors import SynapseError


@pytest.fixture
async def desk(quick_dir: Path) -> AsyncIterator[ProbeDesk]:
    store = Store.open(quick_dir / "synapse.db", FakeClock())
    desk = ProbeDesk(store)
    await desk.prepare(paper_reranker("m", max_tokens=1024))
    yield desk
    await desk.book.close()
    await desk.lanes.close()
    await store.close()


class OffBy(StubWorker):
    """Scores that something was done to."""

    def __init__(self, change: Any) -> None:
        super().__init__()
        self._change = change

    async def score(self, *arguments: Any, **options: Any) -> ScoredRows:
        rows = await super().score(*arguments, **options)
        scores = tuple(None if score is None else self._change(score) for score in rows.scores)
        return ScoredRows(scores, rows.logits, rows.token_ids, rows.non_finite, rows.compute_ms)


async def test_a_lane_that_scores_as_the_reference_does_is_certified_and_measured(desk: ProbeDesk) -> None:
    assert desk.require() == "probe_required"
    status = await desk.probe()
    assert (status.state, status.items_done) == ("done", status.items_total)
    assert desk.require() == "ok"
    row = desk.report()
    assert (row["task"], row["certification_status"]) == ("rerank", "certified")
    evidence = row["certification"]["evidence"]
    assert evidence["gates"] == {"max_score_error": 0.005, "worst_decile_overlap": 0.9}
    assert (evidence["max_score_error"], evidence["worst_decile_overlap"]) == (0.0, 1.0)
    assert set(row["performance"]) >= {"cold_load_ms", "tokens_per_second", "latency_ms"}


async def test_a_second_sigmoid_is_found_by_the_values_though_every_order_is_right(desk: ProbeDesk) -> None:
    desk.references.prepared = OffBy(lambda score: Sigmoid().score([score]))
    await desk.probe()
    assert desk.require() == "not_certified"
    row = desk.report()
    assert row["blocking_reason"] == "gate_missed:max_score_error"
    evidence = row["certification"]["evidence"]
    assert evidence["worst_decile_overlap"] == 1.0
    assert evidence["max_score_error"] > 0.1


async def test_scores_turned_round_miss_both_gates(desk: ProbeDesk) -> None:
    desk.references.prepared = OffBy(lambda score: 1 - score)
    await desk.probe()
    assert desk.report()["blocking_reason"] == "gate_missed:max_score_error,worst_decile_overlap"


async def test_a_lane_that_failed_is_certified_by_a_probe_that_passes(desk: ProbeDesk) -> None:
    desk.references.prepared = OffBy(lambda score: score / 2)
    await desk.probe()
    failed = desk.report()["certification"]
    desk.references.prepared = StubWorker()
    await desk.probe()
    passed = desk.report()["certification"]
    assert (failed["status"], passed["status"], desk.require()) == ("uncertified", "certified", "ok")


async def test_a_lane_that_failed_after_it_had_passed_is_refused_from_then_on(desk: ProbeDesk) -> None:
    await desk.probe()
    assert desk.require() == "ok"
    desk.references.prepared = OffBy(lambda score: score / 2)
    await desk.probe()
    assert desk.require() == "not_certified"


async def test_a_score_that_is_no_number_fails_the_probe_and_certifies_nothing(desk: ProbeDesk) -> None:
    broken = StubWorker()
    broken.non_finite = (0,)
    desk.references.prepared = broken
    status = await desk.probe()
    assert status.state == "failed"
    assert desk.require() == "not_certified"


def test_scores_as_close_as_two_computations_are_have_no_order() -> None:
    pairs = [PairRow(None, 0) for _ in range(12)]  # type: ignore[arg-type]
    reference = [0.5 + 1e-6 * index for index in range(12)]
    assert score_figures(pairs, reference[::-1], reference)["worst_decile_overlap"] == 1.0
    wide = [0.05 * index for index in range(12)]
    assert score_figures(pairs, wide[::-1], wide)["worst_decile_overlap"] == 0.8


def test_rows_outside_the_pools_count_by_their_values_alone() -> None:
    pairs = [PairRow(None, 0), PairRow(None, 0), PairRow(None, None)]  # type: ignore[arg-type]
    figures = score_figures(pairs, [0.1, 0.2, 0.9], [0.1, 0.2, 0.4])
    assert figures == {
        "max_score_error": 0.5,
        "mean_score_error": pytest.approx(0.5 / 3),
        "worst_decile_overlap": 1.0,
    }


def test_a_figure_that_is_no_number_misses_its_gate() -> None:
    gates = Gates({"low": 0.9}, {"high": 0.1})
    assert gates.missed({"low": float("nan"), "high": float("nan")}) == ["high", "low"]
    assert gates.missed({"low": 0.9, "high": 0.1}) == []


def test_a_lane_in_half_precision_may_be_off_by_more() -> None:
    import dataclasses

    import msgspec

    model = paper_reranker(max_tokens=256).lane_model("b")
    half = dataclasses.replace(model, profile=msgspec.structs.replace(model.profile, dtype="f16"))
    tokenizer = model.load_tokenizer(_tokenizer())
    assert comparison(model, tokenizer).gates.at_most == {"max_score_error": 0.005}
    assert comparison(half, tokenizer).gates.at_most == {"max_score_error": 0.02}


@pytest.mark.parametrize("paper", [paper_registration, paper_reranker])
def test_a_tokenizer_that_cannot_split_the_texts_of_the_fixture_is_named(paper: Any, tmp_path: Path) -> None:
    model = paper(max_tokens=256).lane_model("b")
    document = json.loads(_tokenizer().read_bytes())
    # It gives up wherever letters and spaces are followed by something else.
    pattern = {"type": "Split", "pattern": {"Regex": "([a-zA-Z ]+)+$"}, "behavior": "Isolated", "invert": False}
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(document | {"pre_tokenizer": pattern}))
    with pytest.raises(SynapseError) as refused:
        comparison(model, model.load_tokenizer(path))
    assert (refused.value.code, refused.value.details) == (
        "artifact_invalid",
        {"model_id": "lane", "file": "tokenizer.json", "reason": "bad_tokenizer"},
    )


def _tokenizer() -> Path:
    from fixtures.model_files import tiny_model

    return tiny_model("bert") / "tokenizer.json"


async def test_the_report_has_the_whole_table_and_what_each_position_of_the_knob_recommends(desk: ProbeDesk) -> None:
    assert desk.whole_report()["knobs"] == {
        knob: {"embed": None, "rerank": None} for knob in ("performance", "balanced", "quiet")
    }
    await desk.probe()
    report = desk.whole_report()
    (row,) = report["lanes"]
    assert (row["device_class"], row["dtype"], row["max_tokens"]) == ("cpu", "f32", 1024)
    performance = row["performance"]
    assert performance["conditions"] == {"kernel": "6.1", "threads": None}
    assert (performance["stale"], performance["os_build"], performance["module_generation"]) == (False, "debian-12", 9)
    assert report["knob"] == "balanced"
    assert report["knobs"] == {knob: {"embed": None, "rerank": "m"} for knob in ("performance", "balanced", "quiet")}
    assert set(report["machine"]) >= {"machine_id", "os_build", "chip", "engine_builds", "platform_uuid_sha256"}


async def test_a_lane_that_fails_or_was_measured_under_other_conditions_is_recommended_to_nobody(
    desk: ProbeDesk,
) -> None:
    desk.references.prepared = OffBy(lambda score: score / 2)
    await desk.probe()
    assert desk.whole_report()["knobs"]["quiet"]["rerank"] is None
    desk.references.prepared = StubWorker()
    await desk.probe()
    assert desk.whole_report()["knobs"]["quiet"]["rerank"] == "m"
    desk.conditions = Conditions(kernel="6.2", threads=None)
    report = desk.whole_report()
    assert report["lanes"][0]["performance"]["stale"]
    assert (report["knobs"]["quiet"]["rerank"], desk.require()) == (None, "ok")


# --- the fixture ---


def test_the_texts_cover_scripts_capitals_accents_emoji_code_and_spelled_control_tokens() -> None:
    pools = rerank_fixture().pools
    texts = [pool.query for pool in pools] + [text for pool in pools for text in pool.candidates]
    joined = "".join(texts)
    names = {unicodedata.name(char, "").split(" ")[0] for char in joined}
    assert {"LATIN", "CJK", "HIRAGANA", "HANGUL", "CYRILLIC", "ARABIC"} <= names
    assert any(text.isupper() and text.isascii() for text in texts)
    assert "é" in joined
    assert "e\N{COMBINING ACUTE ACCENT}" in joined
    assert "\N{ZERO WIDTH JOINER}" in joined
    assert any("def " in text and "\n" in text for text in texts)
    assert "<|im_end|>" in joined
    assert "" in texts
    assert min(len(pool.candidates) for pool in pools) > 10


@pytest.mark.parametrize("limit", [1024, 512, 128])
async def test_the_rows_have_the_lengths_around_every_boundary_up_to_what_the_lane_takes(limit: int) -> None:
    model = paper_reranker(max_tokens=limit).lane_model("b")
    rows = pair_rows(await StubLoader().load_tokenizer(model), model)
    lengths = {row.encoding.real_tokens for row in rows if row.pool is None}
    assert {length for length in rerank_fixture().lengths if length <= limit} <= lengths
    assert max(row.encoding.real_tokens for row in rows) <= limit
    assert limit in lengths
    # Mixed: the long ones don't all stand at one end.
    places = [index for index, row in enumerate(rows) if row.pool is None]
    assert max(places) - min(places) > len(rows) / 2


async def test_a_lane_too_short_for_a_query_is_compared_on_the_others() -> None:
    model = paper_reranker(max_tokens=8).lane_model("b")
    rows = pair_rows(await StubLoader().load_tokenizer(model), model)
    assert rows
    assert {row.pool for row in rows} < set(range(len(rerank_fixture().pools)))
