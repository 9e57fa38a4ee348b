"""Starting with the session: the files that it makes, on each system, and that it never touches one that is there."""

from __future__ import annotations

import plistlib
import shutil
import subprocess
from pathlib import Path

import pytest
import qasync
from PySide6.QtWidgets import QApplication

from synapse_app.application import Application
from synapse_app.autostart import Autostart, desktop_entry, launch_agent, tray_command, windows_value
from synapse_wire.endpoint import resolve_endpoint

COMMAND = ["/opt/synapse/synapse-tray", "--background"]


def test_the_desktop_entry_is_as_the_standard_wants_it(tmp_path: Path) -> None:
    text = desktop_entry(COMMAND)
    assert text == (
        "[Desktop Entry]\nType=Application\nName=Synapse\nComment=Local models for your apps\n"
        "Exec=/opt/synapse/synapse-tray --background\nIcon=synapse\nTerminal=false\n"
        "X-KDE-autostart-after=panel\nX-GNOME-Autostart-Delay=5\n"
    )
    if (linter := shutil.which("desktop-file-validate")) is not None:
        file = tmp_path / "org.synapse.Tray.desktop"
        file.write_text(text)
        done = subprocess.run([linter, file], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize(
    ("path", "written"),
    [
        ("/opt/My Apps/tray", '"/opt/My Apps/tray"'),
        ('/opt/a"b/tray', '"/opt/a\\\\"b/tray"'),
        ("/opt/100%/tray", '"/opt/100%%/tray"'),
        ("/opt/$HOME/tray", '"/opt/\\\\$HOME/tray"'),
    ],
)
def test_a_path_with_special_characters_is_quoted(path: str, written: str) -> None:
    assert f"Exec={written} --background\n" in desktop_entry([path, "--background"])


def test_the_launch_agent_reads_back_as_what_was_meant() -> None:
    assert plistlib.loads(launch_agent(COMMAND)) == {
        "Label": "org.synapse.Tray",
        "ProgramArguments": COMMAND,
        "RunAtLoad": True,
        "ProcessType": "Interactive",
        "LimitLoadToSessionType": "Aqua",
    }


def test_the_windows_value_quotes_the_program() -> None:
    program = r"C:\Program Files\Synapse\synapse-tray.exe"
    assert windows_value([program, "--background"]) == rf'"{program}" --background'

    home = "C:\\My Homes\\"
    assert windows_value(["t.exe", "--home", home, "--background"]) == rf't.exe --home "{home}\" --background'


def test_the_same_home_is_started_again(tmp_path: Path) -> None:
    home = tmp_path / "my home"
    autostart = Autostart(tray_command(home), platform="linux", environ={}, home=tmp_path)
    autostart.enable()
    assert autostart.file.read_text().split("\n")[4].endswith(f' --home "{home}" --background')
    assert "--home" not in tray_command()


def test_the_application_is_started_again_with_its_home(
    qapp: QApplication, loop: qasync.QEventLoop, tmp_path: Path
) -> None:
    application = Application(qapp, resolve_endpoint(home=tmp_path), home=tmp_path)
    try:
        assert application._context.autostart._command == [*tray_command(tmp_path), "--background"]
    finally:
        loop.run_until_complete(application.close())
        application.setParent(None)


@pytest.mark.parametrize("line", ["Hidden=true", "X-GNOME-Autostart-enabled = false"])
def test_what_the_desktop_has_switched_off_is_off_until_it_is_chosen_again(line: str, tmp_path: Path) -> None:
    autostart = Autostart(["x"], platform="linux", environ={}, home=tmp_path)
    autostart.enable()
    made = autostart.file.read_text()
    autostart.file.write_text(f"{made}{line}\n")
    assert not autostart.enabled
    autostart.enable()
    assert (autostart.enabled, autostart.file.read_text()) == (True, made)
    elsewhere = f"{made}X-GNOME-Autostart-enabled=true\nHidden=false\n[Desktop Action x]\n{line}\n"
    autostart.file.write_text(elsewhere)
    autostart.enable()
    assert (autostart.enabled, autostart.file.read_text()) == (True, elsewhere)


@pytest.mark.parametrize(
    ("platform", "place"),
    [
        ("linux", ".config/autostart/org.synapse.Tray.desktop"),
        ("darwin", "Library/LaunchAgents/org.synapse.Tray.plist"),
    ],
)
def test_it_is_off_at_first_made_when_asked_and_left_alone_when_there(
    platform: str, place: str, tmp_path: Path
) -> None:
    autostart = Autostart(["/opt/synapse/synapse-tray"], platform=platform, environ={}, home=tmp_path)
    assert (autostart.enabled, list(tmp_path.iterdir())) == (False, [])
    autostart.enable()
    file = tmp_path / place
    assert autostart.enabled
    file.write_text("edited by the user")
    autostart.enable()
    assert file.read_text() == "edited by the user"
    autostart.disable()
    autostart.disable()
    assert not file.exists()


def test_the_users_own_configuration_folder_is_respected_if_it_is_absolute(tmp_path: Path) -> None:
    for value, expected in ((str(tmp_path / "c"), tmp_path / "c"), ("relative", tmp_path / ".config")):
        autostart = Autostart(["x"], platform="linux", environ={"XDG_CONFIG_HOME": value}, home=tmp_path)
        assert autostart.file.parent == expected / "autostart"
