"""The playground over a real service with tiny models: similarities, scores, and a search in a folder of texts."""

from __future__ import annotations

import itertools
import shutil
import time
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from fixtures.model_files import tiny_model
from fixtures.service_process import ServiceProcess, load_and_probe, running_service
from fixtures.tray_app import TrayApp
from fixtures.tray_rows import lane
from synapse_app.pages.playground import PlaygroundPage
from synapse_app.playground import heat_map
from synapse_app.playground.panel import lines_of, serves
from synapse_app.playground.searching import FolderSearch
from synapse_app.playground.text_folder import Limits, Passage
from synapse_app.playground.text_index import TextIndex, cosine, similarities
from synapse_app.theme import DARK, LIGHT, Tokens, contrast
from synapse_wire import results as r

StartTray = Callable[..., TrayApp]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of a stopped service that has a model for each task."""
    home = tmp_path_factory.mktemp("prepared") / "home"
    with running_service(home, arguments=("--cpu-lanes",)) as service, service.client() as client:
        load_and_probe(client, "tiny", tiny_model("bert"), max_tokens=512, overlength="truncate")
        load_and_probe(client, "judge", tiny_model("modernbert-reranker"), task="rerank", max_tokens=400)
    return home


@pytest.fixture
def service(prepared: Path, tmp_path: Path) -> Iterator[ServiceProcess]:
    shutil.copytree(prepared, tmp_path / "home", ignore=shutil.ignore_patterns("*.sock"))
    with running_service(tmp_path / "home", arguments=("--cpu-lanes",)) as service:
        yield service


@pytest.fixture
def page(tray: TrayApp) -> PlaygroundPage:
    page = tray.page(PlaygroundPage)
    tray.until(lambda: page.similar.chosen_lane == "tiny" and page.ranking.chosen_lane == "judge", "lanes are offered")
    return page


def test_texts_are_compared_and_the_numbers_are_those_of_the_service(
    tray: TrayApp, service: ServiceProcess, page: PlaygroundPage
) -> None:
    texts = ["the harbour", "a port", "bread"]
    assert not page.similar.go.isEnabled()
    page.similar.texts.setPlainText("\n".join(["", *texts, " "]))
    page.similar.go.click()
    assert not page.similar.go.isEnabled()
    tray.until(lambda: len(page.similar.picture.table) == 3, "the table is there")
    tray.until(page.similar.go.isEnabled, "another comparison can be made")
    with service.client() as client:
        vectors = client.embed_batch("tiny", texts).vectors
    for row in range(3):
        for column in range(3):
            expected = cosine(vectors[row], vectors[column])
            assert page.similar.picture.table[row][column] == pytest.approx(expected, abs=1e-6)
    assert "the harbour and a port: 0." in page.similar.picture.accessibleDescription()


def test_candidates_are_shown_best_first_with_the_models_raw_scores(
    tray: TrayApp, service: ServiceProcess, page: PlaygroundPage
) -> None:
    texts = [f"El puerto {number} está detrás del mercado." for number in range(5)]
    page.tabs.setCurrentIndex(1)
    page.ranking.query.setText("¿Dónde está el puerto?")
    page.ranking.candidates.setPlainText("\n".join(texts))
    page.ranking.query.returnPressed.emit()
    tray.until(lambda: len(page.ranking.model.rows) == 5, "the scores are there")
    with service.client() as client:
        expected = client.rerank("judge", "¿Dónde está el puerto?", texts).best_first()
    assert [(str(row.place), row.score) for row in page.ranking.model.rows] == expected


def test_a_refusal_is_shown_and_the_next_try_takes_it_back(tray: TrayApp, page: PlaygroundPage) -> None:
    page.tabs.setCurrentIndex(1)
    page.ranking.query.setText("where?")
    page.ranking.candidates.setPlainText("word " * 2000)
    page.ranking.go.click()
    tray.until(page._problem.isVisible, "the refusal is shown")
    assert "judge" in page._problem.toolTip() or "tokens" in page._problem.toolTip()
    page.ranking.candidates.setPlainText("here")
    page.ranking.go.click()
    tray.until(lambda: len(page.ranking.model.rows) == 1, "the score is there")
    assert not page._problem.isVisible()


def folder_of_texts(folder: Path, count: int) -> Path:
    folder.mkdir()
    for number in range(count):
        (folder / f"note-{number:03}.txt").write_text(f"Note {number}.\n" + f"boat {number} left the harbour " * 20)
    (folder / "picture.png").write_bytes(b"\x89PNG\0")
    return folder


def test_a_folder_is_embedded_by_a_job_and_searched_in_memory(
    tray: TrayApp, service: ServiceProcess, page: PlaygroundPage, tmp_path: Path
) -> None:
    panel = page.searching
    page.tabs.setCurrentIndex(2)
    folder = folder_of_texts(tmp_path / "texts", 80)
    panel.take(str(folder))
    assert not panel.choose.isEnabled()
    tray.until(lambda: panel.phase == "ready", "the index is there", 60)
    assert panel.counts.text() == "80 files · 80 passages · 1 file left out · indexed with tiny"
    assert [file.file for file in panel.left_out.rows] == ["picture.png"]
    (job,) = [job for job in tray.state.jobs.values() if job.kind == "embed.batch"]
    tray.until(lambda: tray.state.jobs[job.job_id].state == "done", "the job has ended")
    assert job.items_total == 80
    wanted = (folder / "note-042.txt").read_text().strip()
    panel.query.setText(wanted)
    panel.go.click()
    tray.until(lambda: bool(panel.hits.rows), "passages are found")
    best = panel.hits.rows[0]
    assert (best.passage.file, best.passage.text, best.score) == ("note-042.txt", wanted, pytest.approx(1.0, abs=1e-4))
    text = (folder / best.passage.file).read_text()
    assert text[best.passage.start : best.passage.end] == best.passage.text


def test_cancelling_ends_the_services_job_and_leaves_no_index(
    tray: TrayApp, service: ServiceProcess, page: PlaygroundPage, tmp_path: Path
) -> None:
    panel = page.searching
    page.tabs.setCurrentIndex(2)
    panel.take(str(folder_of_texts(tmp_path / "texts", 450)))
    tray.until(lambda: panel._job_id is not None, "the job runs", 60)
    panel.cancel.click()
    tray.until(lambda: panel.phase == "empty" and not panel.busy, "it is stopped")
    assert (panel.index, panel.counts.text(), panel.query.isEnabled()) == (None, "", False)
    with service.client() as client:
        (job,) = [job for job in client.jobs_list().jobs if job.kind == "embed.batch"]
        status = client.job_status(job.job_id)
    assert (status.state, (status.error or {}).get("code")) == ("failed", "request_cancelled")
    assert panel.choose.isEnabled()


def test_the_loop_goes_on_while_a_folder_is_read_and_embedded(
    tray: TrayApp, page: PlaygroundPage, tmp_path: Path
) -> None:
    panel = page.searching
    panel.take(str(folder_of_texts(tmp_path / "texts", 300)))
    turns = [time.monotonic()]

    def ready() -> bool:
        turns.append(time.monotonic())
        return panel.phase == "ready"

    tray.until(ready, "the index is there", 60)
    assert max(later - earlier for earlier, later in itertools.pairwise(turns)) < 0.5


def test_a_folder_that_is_gone_is_said_and_nothing_found_is_no_index(
    tray: TrayApp, page: PlaygroundPage, tmp_path: Path
) -> None:
    panel = page.searching
    page.tabs.setCurrentIndex(2)
    panel.take(str(tmp_path / "gone"))
    tray.until(lambda: page._problem.isVisible() and not panel.busy, "it is said")
    assert "No such file" in page._problem.text()
    (tmp_path / "only").mkdir()
    (tmp_path / "only" / "x.bin").write_bytes(b"\0")
    panel.take(str(tmp_path / "only"))
    tray.until(lambda: not panel.busy and len(panel.left_out.rows) == 1, "it is counted")
    assert (panel.phase, panel.counts.text()) == ("empty", "0 files · 0 passages · 1 file left out")
    assert panel.left_out_view.isVisible()


def test_only_lanes_that_serve_the_task_are_offered() -> None:
    ready = lane("a", "ready")
    change = msgspec.structs.replace
    assert serves(ready, "embed")
    assert serves(change(ready, state="unloaded"), "embed")
    assert not serves(ready, "rerank")
    assert not serves(change(ready, state="quarantined"), "embed")
    assert not serves(change(ready, certified=False), "embed")
    assert not serves(change(ready, serving_admission="disabled"), "embed")
    assert not serves(change(ready, self_check=r.SelfCheckState(state="failed")), "embed")


def test_the_nearest_come_first_and_equals_in_reading_order() -> None:
    index = TextIndex("tiny")
    vectors = {"far": [-1.0, 0.0], "twin-1": [2.0, 2.0], "twin-2": [1.0, 1.0], "near": [1.0, 0.0]}
    for name, vector in vectors.items():
        index.add(Passage(name, name, 0, 1, 1, name), array("f", vector), "syn1-x")
    hits = index.nearest([3.0, 0.0], 3)
    assert [hit.passage.id for hit in hits] == ["near", "twin-1", "twin-2"]
    assert hits[0].score == pytest.approx(1.0)
    assert similarities([[1, 0], [0, 2]]) == [[1.0, 0.0], [0.0, 1.0]]
    assert cosine([0, 0], [1, 1]) == 0.0


@pytest.mark.parametrize("tokens", [LIGHT, DARK], ids=lambda tokens: tokens.name)
def test_the_numbers_in_the_picture_can_be_read_on_every_colour(tokens: Tokens) -> None:
    for step in range(21):
        ground = heat_map.blended(tokens, step / 20)
        assert contrast(tokens.text, ground) >= 4.5, step
    assert [heat_map.strength(score, 0.8) for score in (0.7, 0.8, 0.9, 1.0)] == pytest.approx([0, 0, 0.5, 1])


def test_lines_that_hold_nothing_are_no_texts() -> None:
    assert lines_of(" a \n\n\tb\n ") == ["a", "b"]


def test_only_a_line_feed_ends_a_text() -> None:
    text = "a\x0cb" + chr(0x85) + "c" + chr(0x2028) + "d"
    assert lines_of(text + "\r\n" + text) == [text, text]


def test_the_limits_of_a_folder_are_on_the_panel(page: PlaygroundPage) -> None:
    assert page.searching.limits == Limits()
    assert "500 UTF-8 files of up to 1.0 MB, 2,000 passages" in page.searching.note.text()
    assert isinstance(page.searching, FolderSearch)
