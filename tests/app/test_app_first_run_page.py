"""The first run: shown once, says what this machine can run and why not, and decides nothing by itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fixtures.service_process import ServiceProcess, running_service
from fixtures.tray_app import TrayApp
from synapse_app import words
from synapse_app.pages import first_run
from synapse_app.pages.first_run import FirstRunPage
from synapse_app.pages.settings import SettingsPage
from synapse_wire import results as r

StartTray = Callable[..., TrayApp]


def diagnostics(**devices: str) -> r.Diagnostics:
    """What the service says of devices; an empty reason means that one can be used."""
    facts = {name: {"runnable": not reason, "reason": reason or None} for name, reason in devices.items()}
    check = r.Diagnostic(check="engines", status="ok", summary="s", facts=facts)
    return r.Diagnostics(module_generation=1, checks=[check])


def test_it_is_what_a_new_user_sees_first_and_only_once(service: ServiceProcess, start_tray: StartTray) -> None:
    tray = start_tray(service.home)
    tray.connected()
    tray.app.open()
    page = tray.app.window.page("first_run")
    assert isinstance(page, FirstRunPage)
    assert page.isVisible()
    tray.until(lambda: bool(page.found), "the machine was looked at")
    page.done.click()
    assert (tray.app.window.current, page.isVisible()) == ("models", False)
    tray.run(tray.app.close())
    again = start_tray(service.home)
    again.app.open()
    assert again.app.window.current == "models"


def test_it_is_reachable_again_from_the_settings_and_not_in_the_navigation(tray: TrayApp) -> None:
    tray.app.preferences.first_run_done = True
    settings = tray.page(SettingsPage)
    navigation = tray.app.window.navigation
    listed = [navigation.item(at).text() for at in range(navigation.count()) if not navigation.item(at).isHidden()]
    assert FirstRunPage.label() not in listed
    settings.own.welcome.click()
    assert tray.app.window.current == "first_run"


def test_every_device_is_named_with_why_it_cannot_be_used(tray: TrayApp) -> None:
    page = tray.page(FirstRunPage)
    tray.until(lambda: bool(page.found), "the machine was looked at")
    assert set(page.found) == {"metal", "ane", "cuda", "vulkan", "cpu"}
    assert page.machine.fact(words.engine("cpu")) == "can run models"
    assert page.machine.fact(words.engine("vulkan")) == "the part of Synapse that computes there is not installed"
    assert "No supported accelerator" in page.question.text() or "has an accelerator" in page.question.text()


def test_the_question_about_the_processor_is_answered_by_a_setting(tmp_path: Path, start_tray: StartTray) -> None:
    with running_service(tmp_path / "home") as service:
        tray = start_tray(service.home)
        tray.connected()
        page = tray.page(FirstRunPage)
        tray.until(lambda: bool(page.found) and page.cpu.isEnabled(), "it can be answered")
        assert not page.cpu.isChecked()
        page.cpu.click()
        tray.until(lambda: tray.state.settings["cpu_lanes"].value is True, "the service knows")
        assert page.cpu.isChecked()
        assert "cpu_lanes = true" in (service.home / "config" / "config.toml").read_text()


def test_what_the_environment_fixes_is_said_and_cannot_be_changed(tray: TrayApp) -> None:
    page = tray.page(FirstRunPage)
    tray.until(lambda: bool(page.found), "the machine was looked at")
    assert (page.cpu.isChecked(), page.cpu.isEnabled()) == (True, False)
    assert page.cpu_fixed.text() == "Fixed by SYNAPSE_CPU_LANES"


def test_the_start_with_the_session_is_off_until_asked_for(tray: TrayApp) -> None:
    page = tray.page(FirstRunPage)
    entry = tray.home / ".config" / "autostart" / "org.synapse.Tray.desktop"
    assert (page.start.isChecked(), entry.exists()) == (False, False)
    page.start.click()
    assert (page.start.isChecked(), entry.exists()) == (True, True)


def test_the_models_folder_is_chosen_here_too(tray: TrayApp, tmp_path: Path) -> None:
    page = tray.page(FirstRunPage)
    tray.until(lambda: tray.state.storage is not None, "the folder is known")
    elsewhere = tmp_path / "elsewhere"
    page.storage.chosen.emit("move", str(elsewhere))
    tray.until(lambda: tray.state.storage is not None and tray.state.storage.path == str(elsewhere), "it moved")
    page.storage.chosen.emit("move", str(tmp_path / "no" / "parent"))
    tray.until(lambda: bool(page.storage.failure.text()), "a folder that won't do is refused with the reason")


def test_without_a_service_it_says_so_and_goes_on_when_one_is_there(tmp_path: Path, start_tray: StartTray) -> None:
    tray = start_tray(tmp_path / "home")
    page = tray.page(FirstRunPage)
    tray.turn(0.3)
    assert "no connection to the service" in page.question.text()
    assert not page.cpu.isEnabled()
    with running_service(tmp_path / "home"):
        tray.app.link.wake()
        tray.until(lambda: bool(page.found), "it looks by itself")


@pytest.mark.parametrize(
    ("devices", "expected"),
    [
        ({"metal": "", "cpu": ""}, "This machine has an accelerator"),
        ({"metal": "not_supported_on_platform", "cpu": ""}, "No supported accelerator"),
        ({"metal": "not_supported_on_platform", "cpu": "device_below_floor"}, "This processor can't"),
    ],
)
def test_what_is_asked_depends_on_what_there_is(devices: dict[str, str], expected: str) -> None:
    found = first_run.devices(diagnostics(**devices))
    assert found == devices
    assert first_run.question(found).startswith(expected)
