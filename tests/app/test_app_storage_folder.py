"""The folder of the models in the settings: moved, adopted, refused with the reason, all by a real service."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from fixtures.service_process import ServiceProcess
from fixtures.tray_app import TrayApp
from synapse_app.pages.settings import SettingsPage
from synapse_app.problems import Problem
from synapse_app.widgets.storage_folder import ADOPT, CANCEL, MOVE, StorageFolder, refusal
from synapse_wire import results as r


def test_the_models_are_moved_and_the_new_folder_is_shown(
    tray: TrayApp, service: ServiceProcess, tmp_path: Path
) -> None:
    page = tray.page(SettingsPage)
    tray.until(page.storage.isVisible, "the folder is known")
    usual = page.storage.path.whole
    assert (page.storage.isVisible(), page.rows["storage_dir"].isVisible()) == (True, False)
    assert (page.storage.usual.isVisible(), page.storage.cancel.isVisible()) == (False, False)
    page.storage.chosen.emit(MOVE, str(tmp_path / "elsewhere"))
    tray.until(lambda: page.storage.path.whole == str(tmp_path / "elsewhere"), "the models are in the new folder")
    tray.until(lambda: "The models were moved." in page.storage.state.text(), "it says so")
    assert (tmp_path / "elsewhere" / "store.json").exists()
    page.storage.usual.click()
    tray.until(lambda: page.storage.path.whole == usual, "they are back")


@pytest.mark.parametrize(
    ("act", "place", "said"),
    [
        (MOVE, "itself", ""),
        (MOVE, "nowhere/at/all", "There is no such folder. Make it first."),
        (MOVE, "full-of-letters", "Something else lies in that folder. Choose an empty one."),
        (ADOPT, "empty", "There are no models in that folder."),
    ],
)
def test_a_folder_that_will_not_do_is_refused_with_what_to_do(
    tray: TrayApp, tmp_path: Path, act: str, place: str, said: str
) -> None:
    (tmp_path / "empty").mkdir(mode=0o700)
    (tmp_path / "full-of-letters").mkdir(mode=0o700)
    (tmp_path / "full-of-letters" / "staging").mkdir()
    (tmp_path / "full-of-letters" / "staging" / "dear.txt").write_text("x")
    page = tray.page(SettingsPage)
    tray.until(page.storage.isVisible, "the folder is known")
    path = page.storage.path.whole
    page.storage.chosen.emit(act, str(tmp_path / place) if said else path)
    tray.until(page.storage.failure.isVisible, "the refusal is shown")
    assert page.storage.failure.text() == (said or "The models are in that folder already.")
    assert page.storage.path.whole == path


def test_holders_are_counted_and_unknown_reasons_are_shown_as_they_came(qapp: object) -> None:
    held = Problem("model_in_use", "in use", {"holders": [{}, {}]})
    assert refusal(held) == "2 things still use the models. Unload the lanes and let the work end first."
    assert refusal(Problem("invalid_request", "path: something new", {"reason": "newer"})) == "path: something new"


def status(state: str, move: r.StorageMove | None = None, reason: str = "") -> r.StorageStatus:
    made = r.StorageStatus(path="/models", default_path="/models", state=state)
    if reason:
        made = msgspec.structs.replace(
            made, error={"code": "store_failure", "message": "m", "details": {"reason": reason}}
        )
    return made if move is None else msgspec.structs.replace(made, move=move)


def move(state: str, **more: object) -> r.StorageMove:
    facts: dict[str, object] = {
        "move_id": "m",
        "mode": "move",
        "from_path": "/a",
        "to_path": "/b",
        "files_done": 1,
        "files_total": 2,
        "bytes_done": 25,
        "bytes_total": 100,
        "started_ms": 1,
        "corrupt": [],
        "missing": [],
    }
    return msgspec.convert(facts | {"state": state} | more, r.StorageMove)


def test_a_running_move_shows_its_progress_and_can_be_taken_back_until_late(qapp: object) -> None:
    control = StorageFolder()
    wanted: list[str] = []
    control.chosen.connect(lambda act, path: wanted.append(act))
    control.show_status(status("moving", move("bringing", eta_ms=90_000)))
    assert control.state.text() == "Moving to /b: 25\u00a0%, 1 min 30 s left"
    assert (control.progress.value(), control.cancel.isEnabled(), control.move_it.isVisibleTo(control)) == (
        250,
        True,
        False,
    )
    control.cancel.click()
    assert wanted == [CANCEL]
    control.show_status(status("moving", move("clearing")))
    assert not control.cancel.isEnabled()


def test_what_became_of_a_move_is_told_with_what_is_lost(qapp: object) -> None:
    control = StorageFolder()
    control.show_status(status("ready", move("done", mode="adopt", corrupt=["a"], missing=["b", "c"])))
    assert control.state.text().splitlines() == [
        "The models of this folder are used.",
        "1 file was damaged and is set aside.",
        "2 files are missing: download their models again.",
    ]
    control.show_status(status("unavailable", reason="disk_missing"))
    assert control.state.text() == "The folder isn't there. Plug in its disk, or choose another folder."
    control.show_status(status("unavailable", reason="something newer"))
    assert control.state.text() == "m"
