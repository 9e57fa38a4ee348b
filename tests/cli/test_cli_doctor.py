"""`synapse doctor`: what the service says when it runs, and what can be seen from outside when it doesn't."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from fixtures.fake_service import FakeCall, FakeService
from synapse_cli.local_checks import address_check, disk_check, folder_check, lock_check, socket_check
from synapse_cli.main import app
from synapse_wire import results as r
from synapse_wire.endpoint import Endpoint, resolve_endpoint


def doctor(home: Path, *arguments: str) -> Result:
    return CliRunner().invoke(app, ["doctor", "--home", str(home), *arguments])


def test_a_running_service_examines_itself(fake: FakeService, home: Path) -> None:
    result = doctor(home)
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "ok       socket: listening",
        "warning  disk: little space",
        "         → Free some space.",
    ]
    said = json.loads(doctor(home, "--json").stdout)
    assert (said["running"], [check["check"] for check in said["checks"]]) == (True, ["socket", "disk"])


def test_an_error_found_by_the_service_is_the_exit_status(fake: FakeService, home: Path) -> None:
    def broken(call: FakeCall) -> Any:
        return r.Diagnostics(
            module_generation=1, checks=[r.Diagnostic(check="database", status="error", summary="corrupt")]
        )

    fake.on("service.diagnostics", broken)
    assert doctor(home).exit_code == 1


def test_without_a_service_the_surroundings_are_examined(home: Path) -> None:
    result = doctor(home, "--json")
    said = json.loads(result.stdout)
    states = {check["check"]: check["status"] for check in said["checks"]}
    assert (result.exit_code, said["running"]) == (0, False)
    assert states.pop("disk") in ("ok", "warning")
    assert states == {
        "service": "warning",
        "address": "ok",
        "folder": "ok",
        "socket": "ok",
        "lock": "ok",
        "engine owned-cpu": "ok",
        "engine owned-metal": "ok",
    }
    assert str(home / "run" / "service.sock") in doctor(home).stdout


def test_a_service_that_says_nothing_is_an_error(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("synapse_client.client.HELLO_S", 0.2)
    (home / "run").mkdir(mode=0o700)
    (home / "run" / "service.lock").write_text(f"{os.getpid()}\n")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(home / "run" / "service.sock"))
        listener.listen(4)
        result = doctor(home)
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[0].startswith("error    service: The service did not answer service.hello within")
    assert any(line.startswith(f"warning  lock: process {os.getpid()} (") for line in lines)
    assert f"         → If that is a service that doesn't react, end process {os.getpid()}." in lines


def test_a_file_in_the_place_of_the_socket_is_an_error(home: Path) -> None:
    (home / "run").mkdir(mode=0o700)
    (home / "run" / "service.sock").write_text("")
    result = doctor(home)
    assert result.exit_code == 1
    assert "is not a socket of this user" in result.stdout
    assert (home / "run" / "service.sock").exists()


def test_a_folder_that_others_can_enter_is_an_error(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    folder.chmod(0o755)
    found = folder_check(folder)
    assert (found.status, found.remedy) == ("error", f"Run `chmod 700 {folder}`.")
    folder.chmod(0o700)
    assert folder_check(folder).status == "ok"
    assert folder_check(folder / "later").summary.endswith("doesn't exist yet; the service makes it")


def test_a_folder_of_another_user_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.chmod(0o700)
    monkeypatch.setattr(os, "getuid", lambda: 4242)
    assert folder_check(tmp_path).status == "error"
    assert "belongs to user" in folder_check(tmp_path).summary


def test_a_file_in_the_place_of_the_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("")
    assert folder_check(tmp_path / "run").summary.endswith("is not a folder")


def test_a_left_over_socket_is_no_error(tmp_path: Path, home: Path) -> None:
    path = home / "s.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as old:
        old.bind(str(path))
    assert socket_check(path).status == "ok"
    link = tmp_path / "link"
    link.symlink_to(path)
    assert socket_check(link).status == "error"


def test_the_lock_names_a_process_that_lives_or_has_ended(tmp_path: Path) -> None:
    lock = tmp_path / "service.lock"
    assert lock_check(lock).summary == "no service has run here yet"
    lock.write_text("")
    assert lock_check(lock).summary == "no process holds it"
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    lock.write_text(f"{ended.pid}\n")
    assert (lock_check(lock).status, lock_check(lock).summary) == (
        "ok",
        f"left by process {ended.pid}, which has ended",
    )
    lock.write_text(f"{os.getpid()}\n")
    assert lock_check(lock).status == "warning"
    lock.write_text("9" * 30)
    assert lock_check(lock).status == "ok"


def test_an_address_that_had_to_be_shortened_is_a_warning(tmp_path: Path) -> None:
    usual = resolve_endpoint({}, home=Path("/home/u/s"))
    assert (address_check(usual).status, address_check(usual).summary) == (
        "ok",
        "/home/u/s/run/service.sock (26 of 100 bytes)",
    )
    long = resolve_endpoint({}, home=Path("/" + "x" * 120), uid=7, temp=Path("/tmp"))
    found = address_check(long)
    assert found.status == "warning"
    assert "too long for a socket address" in found.summary
    assert address_check(Endpoint("/a", Path("/"), ("XDG_RUNTIME_DIR is not used",))).status == "warning"


def test_little_space_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert disk_check(tmp_path / "not" / "there").facts == {
        "path": str(tmp_path),
        "free_bytes": pytest.approx(disk_check(tmp_path).facts["free_bytes"], rel=0.5),  # type: ignore[index]
    }
    monkeypatch.setattr("synapse_cli.local_checks.LOW_SPACE_BYTES", 1 << 62)
    assert disk_check(tmp_path).status == "warning"
