"""The settings page over a real service: what it shows is what the service says, and what it changes is in its file."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCheckBox, QDoubleSpinBox, QLineEdit

from fixtures.service_process import ServiceProcess, running_service
from fixtures.tray_app import TrayApp
from synapse_app.commands import Done, Refused
from synapse_app.i18n import tr
from synapse_app.pages.settings import SettingsPage


def test_every_setting_of_the_service_has_a_row_and_a_translated_name(tray: TrayApp) -> None:
    page = tray.page(SettingsPage)
    assert page.rows.keys() == tray.state.settings.keys()
    assert [name for name, row in page.rows.items() if row.caption.text() == name] == []


def test_a_switch_changes_the_service_and_shows_where_the_value_comes_from(
    tray: TrayApp, service: ServiceProcess, qtbot: object
) -> None:
    row = tray.page(SettingsPage).rows["grammar_enabled"]
    box = row.editor.widget
    assert isinstance(box, QCheckBox)
    assert (box.isChecked(), row.reset.isVisible()) == (False, False)
    box.click()
    tray.until(lambda: tray.state.settings["grammar_enabled"].value is True, "the service has the new value")
    assert "grammar_enabled = true" in (service.home / "config" / "config.toml").read_text()
    assert row.source.text() == "Changed from off"
    row.reset.click()
    tray.until(lambda: tray.state.settings["grammar_enabled"].source == "default", "back to the default")
    assert (box.isChecked(), row.reset.isVisible()) == (False, False)


def test_a_number_is_entered_in_its_unit_and_sent_exactly(tray: TrayApp) -> None:
    row = tray.page(SettingsPage).rows["idle_unload_ms"]
    box = row.editor.widget
    assert isinstance(box, QDoubleSpinBox)
    assert (box.value(), box.suffix()) == (15.0, "\u00a0min")
    box.setValue(2.5)
    box.editingFinished.emit()
    tray.until(lambda: tray.state.settings["idle_unload_ms"].value == 150_000, "two and a half minutes")


def test_a_refused_value_is_explained_and_the_old_one_shown_again(tray: TrayApp) -> None:
    row = tray.page(SettingsPage).rows["hf_base_url"]
    line = row.editor.widget
    assert isinstance(line, QLineEdit)
    before = line.text()
    line.selectAll()
    line.insert("http://example.org")
    line.editingFinished.emit()
    tray.until(lambda: row.problem.isVisible(), "the refusal is shown")
    assert "https" in row.problem.text()
    assert (line.text(), tray.state.settings["hf_base_url"].value) == (before, before)


def test_a_new_folder_for_the_models_takes_them_along(tray: TrayApp, service: ServiceProcess) -> None:
    change = tray.app.commands.change_settings
    refused = tray.run(change({"storage_dir": str(service.home / "nowhere" / "models")}))
    assert isinstance(refused, Refused)
    assert str(service.home / "nowhere") in refused.problem.message
    disk = service.home / "disk"
    assert isinstance(tray.run(change({"storage_dir": str(disk)})), Done)
    tray.until(lambda: tray.state.settings["storage_dir"].value == str(disk), "the setting has followed the files")

    # The setting is what decides a move, which ends a moment later: until then the folder serves nobody.
    def moved() -> bool:
        storage = tray.state.storage
        return storage is not None and (storage.path, storage.state) == (str(disk), "ready")

    tray.until(moved, "the move is over")
    assert (disk / "store.json").exists()
    with service.client() as client:
        assert client.cache_usage().path == str(disk)


def test_a_change_made_elsewhere_appears_by_itself(tray: TrayApp, service: ServiceProcess) -> None:
    row = tray.page(SettingsPage).rows["queue_capacity"]
    with service.client() as client:
        client.settings_set({"queue_capacity": 99})
    box = row.editor.widget
    assert isinstance(box, QDoubleSpinBox)
    tray.until(lambda: box.value() == 99, "the new number is shown")


def test_a_setting_that_the_environment_fixes_cannot_be_edited(
    tmp_path: Path, start_tray: object, qtbot: object
) -> None:
    assert callable(start_tray)
    with running_service(tmp_path / "home", environ={"SYNAPSE_QUEUE_CAPACITY": "7"}) as service:
        tray = start_tray(service.home)
        tray.connected()
        row = tray.page(SettingsPage).rows["queue_capacity"]
        assert (row.editor.widget.isEnabled(), row.reset.isVisible()) == (False, False)
        assert row.source.text().startswith("Fixed by SYNAPSE_QUEUE_CAPACITY")


@pytest.mark.parametrize(
    ("language", "settings", "direction"),
    [
        ("de", "Einstellungen", Qt.LayoutDirection.LeftToRight),
        ("pl", "Ustawienia", Qt.LayoutDirection.LeftToRight),
        ("ar", "الإعدادات", Qt.LayoutDirection.RightToLeft),
    ],
)
def test_the_language_is_switched_while_the_window_is_open(
    tray: TrayApp, language: str, settings: str, direction: Qt.LayoutDirection
) -> None:
    page = tray.page(SettingsPage)
    page.own.language.setCurrentIndex(page.own.language.findData(language))
    page.own.language.activated.emit(page.own.language.currentIndex())
    item = tray.app.window.navigation.currentItem()
    assert item.text() == settings
    assert page.rows["cpu_lanes"].caption.text() == tr("Compute on the processor") != "Compute on the processor"
    assert (page.layoutDirection(), tray.app.preferences.language) == (direction, language)


def test_the_text_grows_and_the_theme_turns_dark_at_once(tray: TrayApp) -> None:
    page = tray.page(SettingsPage)
    before = page.fontMetrics().height()
    for box, value in ((page.own.text, "200"), (page.own.theme, "dark")):
        box.setCurrentIndex(box.findData(value))
        box.activated.emit(box.currentIndex())
    tray.turn()
    assert page.fontMetrics().height() > 1.8 * before
    assert tray.app.theme.tokens.dark
    tray.app.theme.set_text_percent(100)


def test_starting_with_the_session_is_off_until_asked_for(tray: TrayApp) -> None:
    own = tray.page(SettingsPage).own
    entry = tray.home / ".config" / "autostart" / "org.synapse.Tray.desktop"
    assert (own.autostart.isChecked(), entry.exists()) == (False, False)
    own.autostart.click()
    assert "Exec=/opt/synapse/synapse-tray --background\n" in entry.read_text()
    own.autostart.click()
    assert not entry.exists()
