"""A model of one's own: found in a folder, read, registered, probed, with its certificate; and changed fingerprints."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from fixtures.model_files import tiny_model
from fixtures.service_process import ServiceProcess, load_and_probe
from fixtures.tray_app import TrayApp
from synapse_app import model_folder
from synapse_app.fingerprints import Changed, changes
from synapse_app.pages.models import ModelsPage

StartTray = Callable[..., TrayApp]


@pytest.fixture
def page(tray: TrayApp) -> ModelsPage:
    page = tray.page(ModelsPage)
    page.add.click()
    return page


def look_into(tray: TrayApp, page: ModelsPage, folder: Path) -> None:
    before = page.own.files.text()
    page.own.choose(str(folder))
    tray.until(lambda: page.own.files.text() != before, "the folder was looked at")


def test_a_model_is_added_from_its_folder_probed_and_certified(tray: TrayApp, page: ModelsPage) -> None:
    own = page.own
    assert not own.start.isEnabled()
    look_into(tray, page, tiny_model("bert"))
    assert own.files.text().startswith("Found: model.safetensors (")
    assert (own.model_id.text(), own.start.isEnabled()) == ("bert", True)
    own.model_id.setText("mine 🦜")
    own.start.click()
    seen = set()

    def ended() -> bool:
        seen.add(own.step)
        return own.step == "ended"

    tray.until(ended, "it is certified", 60)
    assert {"reading", "probing"} <= seen
    assert own.problem.text() == ""
    assert own.card.fact("Certificate") == "certified"
    assert "(limit 0.999)" in (own.card.fact("Likeness, on average") or "")
    own.back.click()
    row = page.browser.row
    assert row is not None
    assert (row.key, row.own is not None and row.own.certified) == ("mine 🦜", True)
    page.certificate.click()
    tray.until(lambda: page.browser.card.fact("Texts compared") is not None, "the certificate is shown")
    page.probe.click()
    tray.until(lambda: any(job.kind == "probe" and job.state == "done" for job in tray.state.jobs.values()), "probed")


def test_a_folder_without_a_model_says_what_is_missing(tray: TrayApp, page: ModelsPage, tmp_path: Path) -> None:
    folder = tmp_path / "half"
    folder.mkdir()
    shutil.copy(tiny_model("bert") / "tokenizer.json", folder)
    look_into(tray, page, folder)
    assert page.own.files.text() == "Missing: model.safetensors. Choose the folder that holds them."
    page.own.model_id.setText("x")
    assert not page.own.start.isEnabled()
    look_into(tray, page, tmp_path / "nowhere")
    assert "can't be read: No such file or directory" in page.own.files.text()


def test_what_the_service_refuses_is_shown_with_its_own_words(tray: TrayApp, page: ModelsPage, tmp_path: Path) -> None:
    folder = tmp_path / "broken"
    shutil.copytree(tiny_model("bert"), folder)
    (folder / "model.safetensors").write_bytes(b"not weights")
    look_into(tray, page, folder)
    page.own.start.click()
    tray.until(lambda: page.own.step == "ended", "it is refused", 30)
    assert page.own.problem.text().startswith("The files aren't what they should be")
    assert "\n" in page.own.problem.text()
    assert not page.own.card.isVisible()
    assert page.own.start.isEnabled()


def test_reading_can_be_stopped(tray: TrayApp, page: ModelsPage, monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(found: object, progress: Callable[[int], object], stop: threading.Event) -> None:
        progress(1)
        stop.wait(20)
        raise model_folder.Stopped

    monkeypatch.setattr(model_folder, "describe", endless)
    look_into(tray, page, tiny_model("bert"))
    page.own.start.click()
    tray.until(lambda: page.own.step == "reading" and page.own.back.text() == "S&top", "it reads")
    page.own.back.click()
    tray.turn(0.1)
    assert (page.own.step, page.own.isVisible(), page.browser.isVisible()) == ("choosing", False, True)
    assert tray.state.jobs == {}


def test_a_changed_fingerprint_is_told_until_it_is_acknowledged_also_after_a_restart(
    model_service: ServiceProcess, start_tray: StartTray
) -> None:
    tray = start_tray(model_service.home)
    tray.connected()
    page = tray.page(ModelsPage)
    old = tray.state.lanes["tiny"].fingerprint
    assert not page.fingerprints.isVisible()
    tray.run(tray.app.close())
    with model_service.client() as client:
        client.model_unload("tiny")
        load_and_probe(client, "tiny", tiny_model("modernbert"))
    again = start_tray(model_service.home)
    again.connected()
    page = again.page(ModelsPage)
    again.until(page.fingerprints.isVisible, "the change is told")
    assert page.fingerprints.text.text() == (
        "The fingerprint of tiny changed. Indexes that were made with the old one need re-embedding."
    )
    assert page.fingerprints.toolTip() == f"{old} → {again.state.lanes['tiny'].fingerprint}"
    page.fingerprints.button.click()
    assert not page.fingerprints.isVisible()
    assert again.app.preferences.fingerprint("tiny") == again.state.lanes["tiny"].fingerprint


def test_only_lanes_that_were_known_otherwise_have_changed() -> None:
    assert changes({"a": "1", "b": "1"}, {"a": "1", "b": "2", "new": "3"}) == (Changed("b", "1", "2"),)
