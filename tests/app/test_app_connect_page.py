"""The connect page: its socket is the service's, and what it lets people copy runs as it stands."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtGui import QFontInfo, QGuiApplication
from PySide6.QtWidgets import QApplication

from fixtures.service_process import ServiceProcess
from fixtures.tray_app import TrayApp
from synapse_app.pages.connect import ConnectPage
from synapse_app.samples import SAMPLES
from synapse_app.state import LinkState

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def test_the_socket_is_shown_and_copied(tray: TrayApp, service: ServiceProcess) -> None:
    page = tray.page(ConnectPage)
    tray.until(lambda: page.socket.whole == service.address, "the address is shown")
    page.copy_socket.click()
    assert QGuiApplication.clipboard().text() == service.address
    assert (page.none.isVisible(), page.model.isEnabled()) == (True, False)


@pytest.mark.parametrize("percent", [100, 200])
def test_programs_are_written_with_letters_of_one_width_in_the_size_of_the_text(tray: TrayApp, percent: int) -> None:
    page = tray.page(ConnectPage)
    tray.app.theme.set_text_percent(percent)
    for panel in page.panels:
        for written in (panel.code, panel.command):
            written.ensurePolished()
            assert QFontInfo(written.font()).fixedPitch()
            assert written.font().pointSizeF() == pytest.approx(QApplication.font().pointSizeF())


@pytest.mark.parametrize("key", [sample.key for sample in SAMPLES])
def test_what_is_copied_runs_and_prints_what_the_service_gives(
    tray_with_model: TrayApp, model_service: ServiceProcess, tmp_path: Path, key: str
) -> None:
    tray = tray_with_model
    page = tray.page(ConnectPage)
    tray.until(lambda: page.model.currentText() == "tiny" and bool(page.socket.whole), "the lane is offered")
    panel = next(panel for panel in page.panels if panel.sample.key == key)
    if shutil.which(panel.sample.runs) is None:
        pytest.skip(f"nothing here runs {panel.sample.file}")
    if key == "shell" and not (shutil.which("socat") or shutil.which("nc")):
        pytest.skip("needs socat or nc")
    page.tabs.setCurrentWidget(panel)
    panel.copy_code.click()
    program = QGuiApplication.clipboard().text()
    assert program == (EXAMPLES / panel.sample.file).read_text(encoding="utf-8")
    (tmp_path / panel.sample.file).write_text(program, encoding="utf-8")
    panel.copy_command.click()
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("SYNAPSE_", "XDG_"))}
    environ["PATH"] = os.pathsep.join([sysconfig.get_path("scripts"), environ["PATH"]])
    done = subprocess.run(
        ["sh", "-c", QGuiApplication.clipboard().text()],
        cwd=tmp_path,
        env=environ,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert f"fingerprint: {tray.state.lanes['tiny'].fingerprint}" in done.stdout


@pytest.mark.parametrize(
    ("platform", "expected"),
    [
        ("linux", "SYNAPSE_SOCKET='/a b/s.sock' node embed.mjs 'my '\"'\"'model' 'A text.'"),
        ("win32", "$env:SYNAPSE_SOCKET='/a b/s.sock'; node embed.mjs 'my ''model' 'A text.'"),
    ],
)
def test_command_lines_quote_names_with_anything_in_them(platform: str, expected: str) -> None:
    sample = next(sample for sample in SAMPLES if sample.key == "node")
    assert sample.command("/a b/s.sock", "my 'model", "A text.", platform) == expected


def test_without_a_service_there_is_nothing_to_copy_but_the_programs(tmp_path: Path, start_tray: Any) -> None:
    tray = start_tray(tmp_path / "home")
    tray.until(lambda: tray.state.link is LinkState.DOWN, "nobody is there")
    page = tray.page(ConnectPage)
    assert "no connection to the service" in page.socket.whole
    assert not page.copy_socket.isEnabled()
    assert page.panels[0].copy_code.isEnabled()
