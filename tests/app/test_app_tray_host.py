"""Tray hosts come late, go and return; the application can be reached all the time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QSize
from PySide6.QtGui import QShortcut

from fixtures.tray_app import TrayApp, TrayHost
from synapse_app.window import fitting

StartTray = Callable[..., TrayApp]


def test_a_manual_start_shows_the_window_and_closing_hides_it(tmp_path: Path, start_tray: StartTray) -> None:
    tray = start_tray(tmp_path)
    assert (tray.app.window.isVisible(), tray.app.tray.icon.isVisible()) == (True, True)
    tray.app.window.close()
    assert (tray.app.window.isVisible(), tray.quits) == (False, 0)
    tray.app.tray.chosen.emit("open", "")
    assert tray.app.window.isVisible()


def test_a_start_in_the_background_shows_only_the_icon(tmp_path: Path, start_tray: StartTray) -> None:
    tray = start_tray(tmp_path, background=True)
    tray.turn(0.05)
    assert (tray.app._window, tray.app.tray.icon.isVisible()) == (None, True)


def test_a_host_that_comes_late_gets_the_icon_and_no_window_opens(tmp_path: Path, start_tray: StartTray) -> None:
    host = TrayHost(there=False)
    tray = start_tray(tmp_path, background=True, host=host, tray_patience_ms=60_000)
    assert not tray.app.tray.icon.isVisible()
    host.there = True
    tray.app.tray.look()
    assert tray.app.tray.icon.isVisible()
    assert not tray.app._patience.isActive()
    assert tray.app._window is None


def test_without_a_host_the_window_opens_by_itself(tmp_path: Path, start_tray: StartTray) -> None:
    tray = start_tray(tmp_path, background=True, host=TrayHost(there=False), tray_patience_ms=1)
    tray.until(lambda: tray.app._window is not None and tray.app._window.isVisible(), "the window opens", 5)


def test_a_host_that_goes_brings_the_window_and_one_that_returns_the_icon(
    tmp_path: Path, start_tray: StartTray
) -> None:
    host = TrayHost()
    tray = start_tray(tmp_path, background=True, host=host, tray_patience_ms=1)
    host.there = False
    tray.app.tray.look()
    tray.until(lambda: tray.app._window is not None and tray.app._window.isVisible(), "the window opens", 5)
    host.there = True
    tray.app.tray.look()
    assert (tray.app.tray.is_hosted, tray.app.tray.icon.isVisible()) == (True, True)


def test_closing_the_window_without_a_host_ends_the_application(tmp_path: Path, start_tray: StartTray) -> None:
    tray = start_tray(tmp_path, host=TrayHost(there=False))
    tray.app.window.close()
    assert tray.quits == 1


def test_escape_hides_the_window_where_it_can_come_back_and_ends_nothing(tmp_path: Path, start_tray: StartTray) -> None:
    host = TrayHost(there=False)
    tray = start_tray(tmp_path, host=host)
    escape = next(key for key in tray.app.window.findChildren(QShortcut) if key.key().toString() == "Esc")
    escape.activated.emit()
    assert (tray.app.window.isVisible(), tray.quits) == (True, 0)
    host.there = True
    tray.app.tray.look()
    escape.activated.emit()
    assert (tray.app.window.isVisible(), tray.quits) == (False, 0)


def test_the_session_may_end_while_the_window_is_open(tmp_path: Path, start_tray: StartTray) -> None:
    tray = start_tray(tmp_path)
    tray.app._session_ends(None)  # type: ignore[arg-type]
    assert tray.app.window.close()
    assert not tray.app.window.isVisible()


def test_a_new_window_fits_the_screen() -> None:
    assert fitting(QSize(1920, 1080)) == QSize(1000, 680)
    assert fitting(QSize(800, 568)) == QSize(792, 528)
