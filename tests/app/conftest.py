"""Fixtures of the tray application's tests: Qt's loop, and an application over a real service."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import qasync
from PySide6.QtCore import QLocale
from PySide6.QtWidgets import QApplication

from fixtures.model_files import tiny_model
from fixtures.service_process import ServiceProcess, load_and_probe, running_service
from fixtures.tray_app import Loop, TrayApp, running_tray
from synapse_app import i18n


@pytest.fixture(autouse=True)
def _in_english() -> None:
    """What a test reads is English unless it says otherwise, whatever the test before it did."""
    i18n._Current.messages = i18n.load("en")
    QLocale.setDefault(QLocale("en"))


@pytest.fixture(autouse=True)
def _no_desktop(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test talks to the desktop of whoever runs it; those that need a bus make one."""
    for which in ("SESSION", "SYSTEM"):
        monkeypatch.setenv(f"DBUS_{which}_BUS_ADDRESS", "unix:path=/nowhere")


@pytest.fixture
def loop(qapp: QApplication) -> Iterator[qasync.QEventLoop]:
    """asyncio on Qt's event loop."""
    loop = Loop(qapp)
    asyncio.set_event_loop(loop)
    yield loop
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    asyncio.set_event_loop(None)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[ServiceProcess]:
    """A fresh service with CPU lanes on and no model."""
    with running_service(tmp_path / "home", arguments=("--cpu-lanes",)) as service:
        yield service


@pytest.fixture(scope="session")
def prepared_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of a service, stopped, that has a certified model of the user's own: ``tiny``."""
    home = tmp_path_factory.mktemp("prepared-tray") / "home"
    with running_service(home, arguments=("--cpu-lanes",)) as service, service.client() as client:
        load_and_probe(client, "tiny", tiny_model("bert"))
    return home


@pytest.fixture
def model_service(prepared_home: Path, tmp_path: Path) -> Iterator[ServiceProcess]:
    """A service in a copy of it."""
    shutil.copytree(prepared_home, tmp_path / "home")
    with running_service(tmp_path / "home", arguments=("--cpu-lanes",)) as service:
        yield service


StartTray = Callable[..., TrayApp]


@pytest.fixture
def start_tray(qapp: QApplication, loop: qasync.QEventLoop) -> Iterator[StartTray]:
    """Starts applications over a home folder; options are those of ``fixtures.tray_app.running_tray``."""
    with ExitStack() as stack:

        def start(home: Path, **options: Any) -> TrayApp:
            return stack.enter_context(running_tray(qapp, loop, home, **options))

        yield start


@pytest.fixture
def tray(service: ServiceProcess, start_tray: StartTray) -> TrayApp:
    """An application that is connected to ``service``."""
    tray = start_tray(service.home)
    tray.connected()
    return tray


@pytest.fixture
def tray_with_model(model_service: ServiceProcess, start_tray: StartTray) -> TrayApp:
    """An application that is connected to ``model_service``."""
    tray = start_tray(model_service.home)
    tray.connected()
    return tray
