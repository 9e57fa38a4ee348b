"""``synapse rerank``: the best texts first, in as many requests as it takes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from fixtures.fake_connection import FakeCall
from fixtures.fake_scores import reranked, reranking_row, score_of
from fixtures.fake_service import FINGERPRINT, FakeService, model_row
from synapse_cli.commands.rerank import CHUNK_BYTES, FRAME_BYTES, chunks
from synapse_cli.main import app

TEXTS = ["short", "the longest\nof   all", "middling text"]


@pytest.fixture(autouse=True)
def scoring(fake: FakeService) -> None:
    fake.on("rerank.score", reranked)
    fake.models["ranker"] = reranking_row(model_row("ranker"))


def run(fake: FakeService, *arguments: str, stdin: bytes = b"") -> Result:
    return CliRunner().invoke(app, ["rerank", *arguments, "--home", str(fake.directory.parent)], input=stdin)


def requests(fake: FakeService) -> list[dict[str, Any]]:
    return [params for method, params in fake.received if method == "rerank.score"]


def test_the_best_come_first_with_their_places(fake: FakeService) -> None:
    result = run(fake, "-m", "ranker", "which?", *TEXTS)
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "score     text",
        f"{score_of('which?', TEXTS[1]):.6f}  1     the longest of all",
        f"{score_of('which?', TEXTS[2]):.6f}  2     middling text",
        f"{score_of('which?', TEXTS[0]):.6f}  0     short",
        f"fingerprint {FINGERPRINT}",
    ]
    best = run(fake, "-m", "ranker", "--top", "1", "which?", *TEXTS).stdout.splitlines()
    assert [line.split()[1] for line in best[1:-1]] == ["1"]


def test_the_only_model_that_reranks_needs_no_name(fake: FakeService) -> None:
    assert run(fake, "q", "a").exit_code == 0
    assert requests(fake)[0]["model"] == "ranker"
    del fake.models["ranker"]
    result = run(fake, "q", "a")
    assert result.exit_code == 1
    assert "No reranking model is registered." in result.stderr


def test_lines_of_stdin_are_texts_and_json_keeps_their_order(fake: FakeService) -> None:
    result = run(fake, "-m", "ranker", "--json", "--deadline-ms", "1500", "q", stdin="eins\n\nzwei ä\n".encode())
    said = json.loads(result.stdout)
    assert said["scores"] == [
        {"id": str(index), "score": score_of("q", text)} for index, text in enumerate(("eins", "", "zwei ä"))
    ]
    assert (said["fingerprint"], said["real_token_counts"], said["dims"]) == (FINGERPRINT, [4, 3, 5], 0)
    assert requests(fake)[0]["deadline_ms"] == 1500


def test_many_texts_go_in_several_requests_and_come_back_as_one_answer(fake: FakeService) -> None:
    texts = [f"text {index}" for index in range(130)]
    said = json.loads(run(fake, "-m", "ranker", "--json", "q", *texts).stdout)
    assert len(requests(fake)) > 1
    assert [each["id"] for each in said["scores"]] == [str(index) for index in range(130)]
    assert [each["id"] for each in said["truncation_disclosures"]] == [str(index) for index in range(130)]
    plain = run(fake, "-m", "ranker", "q", *texts)
    assert plain.stdout.splitlines()[1].split()[1:] == ["100", "text", "100"]


def test_chunks_count_the_query_for_every_text() -> None:
    room = CHUNK_BYTES // (FRAME_BYTES + 1000 + 24)
    assert [len(piece) for _, piece in chunks("q" * 1000, ["x" * 24] * (room + 1))] == [room, 1]
    long = "é" * CHUNK_BYTES
    assert [(start, len(piece)) for start, piece in chunks("q", ["a", long, "b"])] == [(0, 1), (1, 1), (2, 1)]


def test_scores_of_two_models_are_not_mixed(fake: FakeService) -> None:
    def changing(call: FakeCall) -> Any:
        answer = reranked(call)
        fake.fingerprint = "syn1-other"
        return answer

    fake.on("rerank.score", changing)
    result = run(fake, "-m", "ranker", "--json", "q", *["x"] * 130)
    assert (result.exit_code, result.stdout) == (1, "")
    assert json.loads(result.stderr)["code"] == "fingerprint_changed"


def test_wrong_usage_exits_with_2(fake: FakeService) -> None:
    assert run(fake, "-m", "ranker", "q", stdin=b"").exit_code == 2
    assert run(fake, "-m", "ranker", "q", stdin=b"\xff\xfe").exit_code == 2
    assert run(fake, "-m", "ranker", "--top", "0", "q", "a").exit_code == 2
    assert requests(fake) == []
