"""What the desktop does to the application: sleep, dark mode, the end of the session, no tray, a service of systemd."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from fixtures.desktop_bus import appearance_portal, logind, private_bus
from fixtures.processes import wait_until
from fixtures.service_process import ServiceProcess
from fixtures.tray_app import TrayApp, TrayHost
from synapse_app import sleep
from synapse_app.service_process import ServiceProcess as Starter
from synapse_app.state import AppState, LinkState
from synapse_app.tray import status_line

StartTray = Callable[..., TrayApp]


# --- sleep ---


def test_after_sleep_the_lanes_are_shown_as_being_checked_until_they_were(
    service: ServiceProcess, start_tray: StartTray, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with private_bus(tmp_path / "b") as address, logind(address) as manager:
        monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", address)
        tray = start_tray(service.home)
        tray.connected()
        lines: list[str] = []
        tray.app.store.changed.connect(lambda before, after: lines.append(status_line(after)))
        manager.emit("PrepareForSleep", "b", True)
        tray.turn(0.1)
        assert "Awake again: the lanes are being checked…" not in lines
        manager.emit("PrepareForSleep", "b", False)
        tray.until(lambda: "Awake again: the lanes are being checked…" in lines, "it says so")
        tray.until(lambda: not tray.state.doubted, "everything was read again")
        assert lines[-1] == "Ready"


def test_a_service_that_did_not_wake_up_is_found_at_once(
    tray: TrayApp, service: ServiceProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tray.app.link, "_pulse_limit_s", 0.3)
    os.kill(service.pid, signal.SIGSTOP)
    try:
        tray.app.link.woke()
        tray.until(lambda: tray.state.link is LinkState.HUNG, "the silence is noticed", 3)
    finally:
        os.kill(service.pid, signal.SIGCONT)


async def test_a_clock_that_jumped_is_sleep_and_a_slow_turn_is_not() -> None:
    steps = iter([5.0, 6.0, 5.0, 3600.0, 5.0])
    now, woken = [100.0], list[float]()

    async def rest(seconds: float) -> None:
        assert seconds == sleep.LOOK_S
        now[0] += next(steps)

    with pytest.raises(RuntimeError):  # the steps are over
        await sleep.follow_clock(lambda: woken.append(now[0]), clock=lambda: now[0], sleep=rest)
    assert woken == [3716.0]


# --- appearance ---


def test_the_portals_wish_for_dark_is_followed_and_so_is_its_change(
    start_tray: StartTray, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with private_bus(tmp_path / "b") as address, appearance_portal(address, scheme=1) as portal:
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", address)
        tray = start_tray(tmp_path / "home", background=True)
        tray.until(lambda: tray.app.theme.tokens.dark, "dark at the start")
        portal.emit("SettingChanged", "ssv", "org.freedesktop.appearance", "color-scheme", ("u", 2))
        tray.until(lambda: not tray.app.theme.tokens.dark, "light again")
        portal.emit("SettingChanged", "ssv", "org.gnome.desktop.interface", "color-scheme", ("u", 1))
        portal.emit("SettingChanged", "ssv", "org.freedesktop.appearance", "reduced-motion", ("u", 1))
        tray.until(lambda: tray.app.reduced_motion, "no motion")
        assert not tray.app.theme.tokens.dark
        tray.app.preferences.theme = "dark"
        portal.emit("SettingChanged", "ssv", "org.freedesktop.appearance", "color-scheme", ("u", 2))
        tray.turn(0.1)
        assert tray.app.theme.tokens.dark


# --- the end of the session ---


def test_the_session_may_end_with_a_question_open_and_the_window_closes_for_good(
    start_tray: StartTray, tmp_path: Path
) -> None:
    tray = start_tray(tmp_path)
    tray.app._tell("Something went wrong.")
    tray.turn()
    assert tray.qapp.activeModalWidget() is not None
    tray.app._session_ends(None)  # type: ignore[arg-type]
    assert tray.qapp.activeModalWidget() is None
    assert tray.app.window.close()
    assert not tray.app.window.isVisible()


def test_a_session_whose_end_was_called_off_hides_the_window_again(start_tray: StartTray, tmp_path: Path) -> None:
    tray = start_tray(tmp_path)
    tray.app._called_off.setInterval(1)
    tray.app._session_ends(None)  # type: ignore[arg-type]
    assert tray.app.window.ending
    tray.until(lambda: not tray.app.window.ending, "it goes on")
    tray.app.window.close()
    assert (tray.app.window.isVisible(), tray.quits) == (False, 0)


_WITH_A_QUESTION = """
import sys
from synapse_app import application, main
start = application.Application.start
def started(self):
    start(self)
    self._tell("A question that nobody answers.")
    print("asked", flush=True)
application.Application.start = started
sys.exit(main.main(sys.argv[1:]))
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_with_the_window_and_a_question_open(tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "run" / "service.sock").mkdir(parents=True)  # no service can be found or started here
    (tmp_path / "run").chmod(0o700)
    process = subprocess.Popen(
        [sys.executable, "-c", _WITH_A_QUESTION, "--home", str(tmp_path)],
        env=os.environ | {"QT_QPA_PLATFORM": "offscreen"},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "asked\n"
        process.send_signal(number)
        assert process.wait(10) == 0
        assert not (tmp_path / "run" / "t.sock").exists()
    finally:
        process.kill()
        process.communicate()


# --- no tray ---


def test_without_a_tray_the_window_says_why_it_is_there(start_tray: StartTray, tmp_path: Path) -> None:
    host = TrayHost(there=False)
    tray = start_tray(tmp_path, background=True, host=host, tray_patience_ms=1)
    tray.until(lambda: tray.app._window is not None and tray.app._window.isVisible(), "the window opens", 5)
    assert "shows no tray icons" in tray.app.window.banner.text.text()
    host.there = True
    tray.app.tray.look()
    assert "shows no tray icons" not in tray.app.window.banner.text.text()


# --- another version ---


def test_a_service_of_another_version_is_told_of_in_menu_and_window(tray: TrayApp) -> None:
    tray.app.open()
    tray.app.store.apply(lambda state: _of_version(state, "0.0.9"))
    tray.app.store.announce()
    assert "Service 0.0.9 is another version than this" in tray.app.window.banner.text.text()
    assert "Service 0.0.9 is another version than this" in [action.text() for action in tray.app.tray.menu.actions()]


def _of_version(state: AppState, version: str) -> AppState:
    return replace(state, version=version)


# --- systemd ---


def fake_systemctl(folder: Path, *, enabled: bool, start: str = "exit 0") -> dict[str, str]:
    """An environment whose systemctl knows one unit and writes down what it is asked."""
    folder.mkdir()
    script = folder / "systemctl"
    script.write_text(
        f'#!/bin/sh\necho "$@" >>"{folder}/asked"\n'
        f'case "$2" in is-enabled) exit {0 if enabled else 1};; start) {start};; esac\n'
    )
    script.chmod(0o755)
    return {"PATH": f"{folder}:/usr/bin:/bin"}


def asked(folder: Path) -> list[str]:
    return (folder / "asked").read_text().splitlines()


def test_an_enabled_unit_starts_the_service_and_no_second_supervisor_does(tmp_path: Path) -> None:
    environ = fake_systemctl(tmp_path / "bin", enabled=True)
    starter = Starter(command=["/bin/sh", "-c", f"touch {tmp_path}/run-directly"], environ=environ)
    assert asyncio.run(starter.start()) is None
    assert asked(tmp_path / "bin") == ["--user is-enabled --quiet synapse.service", "--user start synapse.service"]
    assert not (tmp_path / "run-directly").exists()


def test_a_unit_that_cannot_start_says_why(tmp_path: Path) -> None:
    environ = fake_systemctl(tmp_path / "bin", enabled=True, start="echo 'Unit is masked.' >&2; exit 1")
    problem = asyncio.run(Starter(command=["/bin/false"], environ=environ).start())
    assert problem is not None
    assert (problem.code, problem.message) == ("start_failed", "Unit is masked.")


@pytest.mark.parametrize("home", [False, True], ids=["no unit", "a home of its own"])
def test_without_a_unit_that_fits_the_service_is_started_directly(tmp_path: Path, home: bool) -> None:
    environ = fake_systemctl(tmp_path / "bin", enabled=home)
    mark = tmp_path / "run-directly"
    arguments = ("--home", str(tmp_path)) if home else ()
    starter = Starter(command=["/bin/sh", "-c", f"touch {mark}"], arguments=arguments, environ=environ)
    assert asyncio.run(starter.start()) is None
    wait_until(mark.exists, "it runs")
    wait_until(lambda: starter.ended() is not None, "its end is noticed")
    assert (tmp_path / "bin" / "asked").exists() is not home
