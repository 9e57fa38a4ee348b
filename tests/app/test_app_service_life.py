"""The service seen from the tray: started, attached to, lost, killed, hung, stopped, exchanged."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from fixtures.processes import alive
from fixtures.service_process import ServiceProcess
from fixtures.tray_app import TrayApp, service_process
from synapse_app.commands import Done, Refused
from synapse_app.link import ServiceLink
from synapse_app.problems import Problem
from synapse_app.service_process import ServiceProcess as Starter
from synapse_app.state import LinkState

StartTray = Callable[..., TrayApp]


def test_a_missing_service_is_started_and_outlives_the_tray(tmp_path: Path, start_tray: StartTray) -> None:
    home = tmp_path / "home"
    tray = start_tray(home, process=service_process(home))
    tray.until(lambda: tray.state.link is LinkState.STARTING, "the start is shown")
    tray.connected()
    assert tray.state.service is not None
    process = psutil.Process(tray.state.service.pid)
    try:
        tray.run(tray.app.close())
        assert alive(process)
    finally:
        process.terminate()
        process.wait(20)


def test_a_running_service_is_attached_to_and_no_second_one_started(
    service: ServiceProcess, start_tray: StartTray
) -> None:
    tray = start_tray(service.home, process=Starter(command=["/bin/false"]))
    tray.connected()
    assert tray.state.service is not None
    assert tray.state.service.pid == service.pid


def test_a_service_that_cannot_start_says_why(tmp_path: Path, start_tray: StartTray) -> None:
    home = tmp_path / "home"
    (home / "config").mkdir(parents=True, mode=0o700)
    home.chmod(0o700)
    (home / "config" / "config.toml").write_text("queue_capacity = 'many'\n")
    tray = start_tray(home, process=service_process(home))
    tray.until(lambda: tray.state.link is LinkState.DOWN and tray.state.problem is not None, "the start failed")
    assert tray.state.problem is not None
    assert tray.state.problem.code == "start_failed"
    assert "queue_capacity" in tray.state.problem.message
    assert tray.app.window.banner.isVisible()


def test_a_program_that_does_not_exist_is_a_start_that_failed(tmp_path: Path, start_tray: StartTray) -> None:
    tray = start_tray(tmp_path / "home", process=Starter(command=["/nowhere/synapse-service"]))
    tray.until(lambda: tray.state.link is LinkState.DOWN, "the start failed")
    assert tray.state.problem is not None
    assert "No such file" in tray.state.problem.message


def test_a_killed_service_is_noticed_and_its_next_start_attached_to(tray: TrayApp, service: ServiceProcess) -> None:
    first = tray.state.service
    assert first is not None
    tray.app.open()
    service.kill()
    tray.until(lambda: tray.state.link is LinkState.DOWN, "the end is noticed", 5)
    assert tray.app.window.banner.isVisible()
    service.start()
    tray.connected()
    assert tray.state.service is not None
    assert tray.state.service.module_generation == first.module_generation + 1
    assert not tray.app.window.banner.isVisible()


def test_a_service_that_answers_nothing_is_hung_until_it_answers_again(
    tray: TrayApp, service: ServiceProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = tray.app.link
    assert isinstance(link, ServiceLink)
    monkeypatch.setattr(link, "_pulse_s", 0.1)
    monkeypatch.setattr(link, "_pulse_limit_s", 0.3)
    os.kill(service.pid, signal.SIGSTOP)
    try:
        tray.until(lambda: tray.state.link is LinkState.HUNG, "the silence is noticed", 10)
    finally:
        os.kill(service.pid, signal.SIGCONT)
    tray.until(lambda: tray.state.link is LinkState.CONNECTED, "it answers again", 10)


def test_stopping_ends_the_process_before_it_says_so_and_starts_none(tray: TrayApp, service: ServiceProcess) -> None:
    process = psutil.Process(service.pid)
    assert tray.run(tray.app.commands.stop_service()) == Done(None)
    assert tray.state.link is LinkState.STOPPED
    assert not alive(process)
    assert not service.answers()
    tray.turn(0.5)
    assert tray.state.link is LinkState.STOPPED


class _Counted(Starter):
    """Counts starts, and starts nothing."""

    starts = 0

    async def start(self) -> Problem | None:
        self.starts += 1
        return None


def test_a_service_that_was_stopped_elsewhere_is_not_started_again(
    service: ServiceProcess, start_tray: StartTray
) -> None:
    starter = _Counted()
    tray = start_tray(service.home, process=starter)
    tray.connected()
    tray.app.commands.start_service()  # nothing to do: one answers
    with service.client() as client:
        client.shutdown(force=True)
    tray.until(lambda: tray.state.link is LinkState.DOWN, "its end is noticed")
    assert starter.starts == 0
    tray.app.commands.start_service()
    tray.until(lambda: tray.state.link is LinkState.STARTING, "it is started on request")
    assert starter.starts == 1


def test_a_service_winds_down_until_its_process_has_ended_and_is_started_only_then(
    service: ServiceProcess, start_tray: StartTray, monkeypatch: pytest.MonkeyPatch
) -> None:
    starter = _Counted()
    ended = asyncio.Event()
    tray = start_tray(service.home, process=starter)
    tray.connected()

    async def drains(pid: int, limit_s: float = 0.0) -> bool:
        return await ended.wait()

    monkeypatch.setattr(starter, "wait_ended", drains)
    stopping = tray.app.tasks.spawn(tray.app.commands.stop_service())
    link = tray.app.link
    tray.until(lambda: link._client is None and not service.answers(), "the connection is gone")
    looked: list[object] = []
    session = link._session

    async def seen() -> None:
        looked.append(None)
        await session()

    monkeypatch.setattr(link, "_session", seen)
    tray.app.commands.start_service()
    tray.until(lambda: bool(looked), "it is looked for")
    tray.turn()
    assert (tray.state.link, starter.starts) == (LinkState.STOPPING, 0)
    ended.set()
    tray.until(lambda: tray.state.link is LinkState.STARTING, "it is started")
    tray.turn()
    assert (stopping.result(), tray.state.link, starter.starts) == (Done(None), LinkState.STARTING, 1)


def test_a_process_that_stays_is_not_reported_as_stopped(
    tray: TrayApp, service: ServiceProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def stays(pid: int, limit_s: float = 0.0) -> bool:
        return False

    monkeypatch.setattr(tray.app.process, "wait_ended", stays)
    outcome = tray.run(tray.app.commands.stop_service())
    assert isinstance(outcome, Refused)
    assert (outcome.problem.code, outcome.problem.details) == ("still_running", {"pid": service.pid})
    tray.until(lambda: tray.state.link is LinkState.DOWN, "what is left of it is seen")


def test_a_command_without_a_service_is_refused_with_the_reason(tmp_path: Path, start_tray: StartTray) -> None:
    tray = start_tray(tmp_path / "home")
    outcome = tray.run(tray.app.commands.download("tiny"))
    assert isinstance(outcome, Refused)
    assert outcome.problem.code == "service_not_running"


def test_a_socket_of_something_else_is_refused(tmp_path: Path, start_tray: StartTray) -> None:
    run = tmp_path / "home" / "run"
    run.mkdir(parents=True, mode=0o700)
    (run / "service.sock").write_text("")
    tray = start_tray(tmp_path / "home")
    tray.until(lambda: tray.state.link is LinkState.REFUSED, "the file is refused", 5)
