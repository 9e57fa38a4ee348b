"""`ck-synapse-opctl` and a real service: what an operator does in a day, one process for each command."""

from __future__ import annotations

import json
import shutil
import subprocess
import sysconfig
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from fixtures.equivalences import fingerprint
from fixtures.service_process import ServiceProcess, running_service

A, B = fingerprint("a"), fingerprint("b")

Opctl = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceProcess]:
    with running_service(tmp_path_factory.mktemp("operator") / "home", arguments=("--cpu-lanes",)) as service:
        yield service


@pytest.fixture
def opctl(service: ServiceProcess) -> Opctl:
    program = shutil.which("ck-synapse-opctl", path=sysconfig.get_path("scripts"))
    assert program is not None

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [program, "--home", str(service.home), *arguments]
        return subprocess.run(command, env=service.environ, capture_output=True, text=True, timeout=60)

    return run


def said(done: subprocess.CompletedProcess[str]) -> Any:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_equivalences_are_changed_only_while_that_is_turned_on(service: ServiceProcess, opctl: Opctl) -> None:
    refused = opctl("alias", "declare", A, B)
    assert refused.returncode == 1
    assert "synapse settings set alias_administration=true" in refused.stderr
    with service.client() as client:
        client.settings_set({"alias_administration": True})
        assert said(opctl("--json", "alias", "declare", A, B, "--evidence", '{"n": 1}'))["table_epoch"] == 1
        assert [row["evidence"] for row in said(opctl("--json", "alias", "list"))["aliases"]] == [{"n": 1}]
        assert opctl("alias", "check", A, B).returncode == 0
        assert said(opctl("--json", "alias", "retract", B, A))["table_epoch"] == 2
        assert opctl("alias", "check", A, B).returncode == 1
        client.settings_set({"alias_administration": None})


def test_hardware_is_taken_away_and_given_back(opctl: Opctl) -> None:
    paused = said(opctl("--json", "lanes", "pause", "--minutes", "1", "--reason", "measurement", "--wait"))
    assert (paused["phase"], paused["hardware_free"], paused["reason"]) == ("paused", True, "measurement")
    assert opctl("lanes", "pause", "--minutes", "1", "--reason", "again").returncode == 1
    assert said(opctl("--json", "lanes", "status"))["phase"] == "paused"
    assert opctl("lanes", "resume").returncode == 0
    assert opctl("service", "pause", "--reason", "travel").returncode == 0
    assert opctl("service", "resume").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "member"),
    [
        (["lanes", "list"], "lanes"),
        (["models", "list"], "models"),
        (["models", "catalog"], "models"),
        (["probe", "report"], "lanes"),
        (["jobs", "list"], "jobs"),
        (["admission", "status"], "queues"),
        (["cache", "gc", "--dry-run"], "unlinked"),
    ],
)
def test_what_is_asked_is_printed_for_people_and_for_programs(opctl: Opctl, arguments: list[str], member: str) -> None:
    for_people = opctl(*arguments)
    assert (for_people.returncode, for_people.stderr) == (0, "")
    assert for_people.stdout
    assert member in said(opctl("--json", *arguments))


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["models", "unload", "absent"], "unknown_model"),
        (["models", "download", "absent"], "unknown_model"),
        (["models", "remove", "absent"], "unknown_model"),
        (["models", "cancel", "absent"], "invalid_request"),
        (["lanes", "load", "absent"], "unknown_model"),
        (["probe", "start", "absent"], "unknown_model"),
        (["jobs", "resume", "absent"], "invalid_request"),
        (["cache", "pin", "--model", "absent"], "unknown_model"),
    ],
)
def test_what_does_not_exist_is_refused_for_good(opctl: Opctl, arguments: list[str], code: str) -> None:
    done = opctl("--json", *arguments)
    assert (done.returncode, done.stdout, json.loads(done.stderr)["code"]) == (1, "", code)
