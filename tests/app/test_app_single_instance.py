"""One application for each user: real processes, and what a second start, a kill and an open folder do."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from fixtures.processes import wait_until
from synapse_app.single_instance import SingleInstance
from synapse_wire.endpoint import resolve_endpoint


@contextmanager
def started(home: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    # /bin/false as the service: this is about the application alone.
    process = subprocess.Popen(
        [sys.executable, "-m", "synapse_app.main", "--home", str(home), *arguments],
        env=os.environ | {"QT_QPA_PLATFORM": "offscreen", "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nowhere"},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def listening(home: Path) -> bool:
    return (home / "run" / "t.sock").exists()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    # A folder in place of the socket: no service can be found or started here.
    (tmp_path / "run" / "service.sock").mkdir(parents=True)
    (tmp_path / "run").chmod(0o700)
    return tmp_path


def test_a_second_start_ends_at_once_and_a_signal_ends_the_first(home: Path) -> None:
    with started(home, "--background") as first:
        wait_until(lambda: listening(home), "the first listens")
        with started(home) as second:
            assert second.wait(20) == 0
        assert first.poll() is None
        first.send_signal(signal.SIGTERM)
        assert first.wait(20) == 0
        assert not listening(home)


def test_one_that_was_killed_leaves_nothing_in_the_way(home: Path) -> None:
    with started(home, "--background") as first:
        wait_until(lambda: listening(home), "the first listens")
        first.kill()
        first.wait()
    with started(home, "--background") as second:
        wait_until(lambda: second.poll() is not None or _answers(home), "the second listens")
        assert second.poll() is None


def _answers(home: Path) -> bool:
    return SingleInstance(resolve_endpoint({}, home=home)).ask_first_to_show()


def test_the_first_hears_that_another_start_wants_the_window(tmp_path: Path, qapp: QApplication) -> None:
    endpoint = resolve_endpoint({}, home=tmp_path)
    first = SingleInstance(endpoint)
    assert first.become_first()
    shown: list[bool] = []
    first.shown.connect(lambda: shown.append(True))
    assert not SingleInstance(endpoint).become_first()
    asking = subprocess.Popen(
        [sys.executable, "-m", "synapse_app.main", "--home", str(tmp_path)],
        env=os.environ | {"QT_QPA_PLATFORM": "offscreen"},
    )
    wait_until(lambda: (qapp.processEvents(), bool(shown))[1], "the window is asked for")
    wait_until(lambda: (qapp.processEvents(), asking.poll() is not None)[1], "the second ends")
    assert (asking.returncode, shown) == (0, [True])
    first.release()
    assert SingleInstance(endpoint).become_first()


def test_socket_and_folder_are_the_users_alone(tmp_path: Path, qapp: QApplication) -> None:
    instance = SingleInstance(resolve_endpoint({}, home=tmp_path / "new"))
    assert instance.become_first()
    run = tmp_path / "new" / "run"
    assert (stat.S_IMODE(run.stat().st_mode), stat.S_IMODE((run / "t.sock").stat().st_mode) & 0o077) == (0o700, 0)
    instance.release()
    run.chmod(0o755)
    with pytest.raises(OSError, match="chmod 700"):
        instance.become_first()


def test_without_a_screen_it_says_so(home: Path) -> None:
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("DISPLAY", "WAYLAND", "QT_"))}
    command = [sys.executable, "-m", "synapse_app.main", "--home", str(home)]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("synapse-tray: there is no screen")
