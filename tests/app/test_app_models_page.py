"""The models page over a real service and a loopback mirror: download, cancel, retry, load, unload, remove, undo."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from fixtures.catalog import SmallCatalog, path_of, small_files
from fixtures.checked_catalog import checked_catalog
from fixtures.mirror import Mirror, running_mirror
from fixtures.service_process import ServiceProcess, running_service
from fixtures.tray_app import TrayApp
from synapse_app.pages.models import ModelsPage
from synapse_app.state import LinkState

GOOD, WRONG, BIG = "tiny-bert", "tiny-modernbert", "big"
MODEL = path_of(BIG, "model")


@pytest.fixture(scope="module")
def small() -> SmallCatalog:
    return checked_catalog(GOOD, WRONG, wrong=[WRONG]).add(BIG, small_files("big", 3_000_000), name="Big one")


@pytest.fixture
def mirror(small: SmallCatalog) -> Iterator[Mirror]:
    with running_mirror() as mirror:
        small.serve(mirror)
        yield mirror


@pytest.fixture
def catalog_service(tmp_path: Path, small: SmallCatalog, mirror: Mirror) -> Iterator[ServiceProcess]:
    path = small.write(tmp_path / "catalog")
    with running_service(
        tmp_path / "home",
        environ={"SYNAPSE_HF_BASE_URL": mirror.base},
        arguments=("--cpu-lanes", "--catalog", str(path)),
    ) as service:
        yield service


@pytest.fixture
def tray(catalog_service: ServiceProcess, start_tray: Callable[..., TrayApp]) -> TrayApp:
    tray = start_tray(catalog_service.home)
    tray.connected()
    return tray


@pytest.fixture
def page(tray: TrayApp) -> ModelsPage:
    page = tray.page(ModelsPage)
    tray.until(lambda: page.browser.row is not None, "the catalog is listed")
    return page


def choose(page: ModelsPage, key: str) -> None:
    page.browser.select(key)
    assert page.browser.row is not None
    assert page.browser.row.key == key


def shown(page: ModelsPage) -> str:
    return page.browser.card.fact("State") or ""


def install(tray: TrayApp, page: ModelsPage, key: str) -> None:
    choose(page, key)
    page.download.click()
    tray.until(lambda: page.browser.row is not None and page.browser.row.here and page.load.isVisible(), "installed")


def test_a_download_shows_its_progress_is_cancelled_tried_again_and_arrives(
    tray: TrayApp, page: ModelsPage, mirror: Mirror
) -> None:
    gate = mirror.hold(MODEL)
    choose(page, BIG)
    assert (shown(page), page.download.isVisible(), page.cancel.isVisible()) == ("not installed", True, False)
    page.download.click()
    tray.until(lambda: "1.5 MB of 3.0 MB" in (page.browser.card.fact("Download") or ""), "half of it is here")
    assert (page.download.isVisible(), page.cancel.isVisible()) == (False, True)
    page.cancel.click()
    tray.until(lambda: page.download.isVisible() and shown(page) == "not installed", "it is cancelled")
    mirror.plan[MODEL] = ["flip"]
    gate.set()
    page.download.click()
    tray.until(lambda: shown(page) == "download failed", "a damaged file is refused")
    assert page.download.text() == "Try &again"
    assert "The files aren't what they should be" in page.browser.card.note.text()
    page.download.click()
    tray.until(lambda: shown(page) == "installed", "it is installed")
    tray.until(lambda: page.browser.card.fact("On the disk") == "3.0 MB", "and what it takes is known")
    assert page.download.isVisible() is False


def test_a_model_is_installed_loaded_refused_to_leave_unloaded_and_removed(tray: TrayApp, page: ModelsPage) -> None:
    install(tray, page, GOOD)
    assert page.browser.card.fact("Self-check") == "when it is first loaded"
    page.load.click()
    tray.until(lambda: (shown(page), page.browser.card.fact("Self-check")) == ("ready", "passed"), "it is loaded")
    page.remove.click()
    assert f"ready: {GOOD}-cpu" in page._problem.text()
    assert tray.state.catalog[GOOD].install_state == "installed"
    page.unload.click()
    tray.until(lambda: page.load.isVisible() and page.load.isEnabled(), "it is unloaded")
    page.remove.click()
    assert (page.undo.isVisible(), shown(page), page._problem.text()) == (True, "is being removed", "")
    page.undo.button.click()
    tray.turn(0.1)
    assert (page.undo.isVisible(), shown(page)) == (False, "installed")
    assert tray.state.catalog[GOOD].install_state == "installed"
    page.remove.click()
    page._removal.setInterval(0)
    page._removal.start()
    tray.until(lambda: shown(page) == "not installed", "it is gone")
    assert tray.state.usage is not None
    tray.until(lambda: tray.state.usage is not None and tray.state.usage.used_bytes == 0, "and its files, too")


def test_a_removal_that_the_service_refuses_names_the_holders(
    tray: TrayApp, page: ModelsPage, catalog_service: ServiceProcess
) -> None:
    install(tray, page, GOOD)
    page.remove.click()
    assert page.undo.isVisible()
    with catalog_service.client() as client:
        client.lanes_load(f"{GOOD}-cpu")
    page._carry_out_removal()
    tray.until(lambda: f"loaded: {GOOD}-cpu" in page._problem.text(), "the holder is named")
    tray.until(lambda: shown(page) == "ready", "it is as it was")


def test_a_removal_is_carried_out_when_nobody_can_undo_it_any_more(tray: TrayApp, page: ModelsPage) -> None:
    install(tray, page, GOOD)
    page.remove.click()
    tray.app.open("activity")
    tray.until(lambda: tray.state.catalog[GOOD].install_state == "not_installed", "it is removed")


def test_a_removal_is_carried_out_when_the_tray_is_closed(
    tray: TrayApp, page: ModelsPage, catalog_service: ServiceProcess
) -> None:
    install(tray, page, GOOD)
    page.remove.click()
    assert page.undo.isVisible()
    tray.run(tray.app.close())
    with catalog_service.client() as client:
        states = {model.id: model.install_state for model in client.models_catalog().models}
    assert states[GOOD] == "not_installed"


def test_closing_the_tray_does_not_wait_for_ever_for_a_removal(
    tray: TrayApp, page: ModelsPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tray, page, GOOD)
    ends: list[str] = []

    async def never(catalog_id: str) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ends.append(catalog_id)

    monkeypatch.setattr(tray.app.commands, "remove", never)
    tray.app.tasks.finish_s = 0.0
    page.remove.click()
    page._carry_out_removal()
    tray.turn()
    tray.run(tray.app.close())
    assert ends == [GOOD]


def test_a_failed_self_check_is_said_with_what_to_do(tray: TrayApp, page: ModelsPage) -> None:
    install(tray, page, WRONG)
    page.load.click()
    tray.until(lambda: shown(page) == "self-check failed", "the check failed")
    assert "Remove it and download it again" in page.browser.card.note.text()
    tray.until(lambda: "failed its self-check" in page._problem.text(), "the load was refused")


def test_search_and_filters_narrow_the_list(tray: TrayApp, page: ModelsPage) -> None:
    def keys() -> list[str]:
        return [entry.key for entry in page.browser.model.rows]

    assert keys() == sorted([GOOD, WRONG, BIG])
    page.search.setText("BIG")
    assert keys() == [BIG]
    page.search.setText("nothing like this")
    assert page.browser.instead.isVisible()
    page.search.clear()
    for which, expected in (("rerank", []), ("installed", []), ("embed", sorted([GOOD, WRONG, BIG]))):
        page.filter.setCurrentIndex(page.filter.findData(which))
        assert keys() == expected


def test_the_service_goes_in_the_middle_of_a_download_and_comes_back(
    tray: TrayApp, page: ModelsPage, mirror: Mirror, catalog_service: ServiceProcess
) -> None:
    gate = mirror.hold(MODEL)
    choose(page, BIG)
    page.download.click()
    tray.until(page.cancel.isVisible, "it downloads")
    catalog_service.kill()
    tray.until(lambda: tray.state.link is LinkState.DOWN, "the end is noticed")
    assert not page.cancel.isEnabled()
    gate.set()
    catalog_service.start()
    tray.connected()
    tray.until(lambda: shown(page) == "download failed", "the service says how it ended")
    assert "The service stopped while this was going on" in page.browser.card.note.text()
    page.download.click()
    tray.until(lambda: shown(page) == "installed", "the next try arrives")


def test_enter_does_what_comes_first(tray: TrayApp, page: ModelsPage, qtbot: object) -> None:
    choose(page, GOOD)
    page.browser.view.setFocus()
    QTest.keyClick(page.browser.view, Qt.Key.Key_Return)
    tray.until(lambda: page.load.isVisible() and page.load.isEnabled(), "Enter downloads")
    QTest.keyClick(page.browser.view, Qt.Key.Key_Return)
    tray.until(lambda: page.unload.isVisible(), "and then loads")
