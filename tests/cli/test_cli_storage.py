"""`synapse models storage` against the fake service."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner, Result

from fixtures.fake_service import FakeService
from synapse_cli.commands import storage
from synapse_cli.main import app
from synapse_wire import results as r
from synapse_wire.errors import SynapseError

Run = Callable[..., Result]

MOVE = r.StorageMove(
    move_id="move-1",
    mode="move",
    state="bringing",
    from_path="/old",
    to_path="/disk/models",
    files_done=0,
    files_total=2,
    bytes_done=0,
    bytes_total=2_500_000,
    started_ms=1,
    corrupt=[],
    missing=[],
)


@pytest.fixture
def run(home: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs `synapse` with arguments, for the service of the test's home, and looks at a move without pauses."""
    monkeypatch.setattr(storage, "LOOK_S", 0)

    def invoke(*arguments: str) -> Result:
        result = CliRunner().invoke(app, ["models", "storage", *arguments], env={"SYNAPSE_HOME": str(home)})
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return invoke


@pytest.fixture
def moves(fake: FakeService) -> list[r.StorageMove]:
    """What ``storage.status`` says of the move, look by look; the last stays."""
    looks = [
        msgspec.structs.replace(MOVE, bytes_done=1_250_000, files_done=1),
        msgspec.structs.replace(MOVE, state="done", bytes_done=2_500_000, files_done=2),
    ]

    def status(call: Any) -> r.StorageStatus:
        move = looks.pop(0) if len(looks) > 1 else looks[0]
        return r.StorageStatus(path="/old", default_path="/old", state="moving", move=move)

    fake.on("storage.move", lambda call: msgspec.structs.replace(MOVE, mode=call.params.mode))
    fake.on("storage.status", status)
    return looks


def sent(fake: FakeService, method: str) -> list[dict[str, Any]]:
    return [params for name, params in fake.received if name == method]


@pytest.mark.parametrize("arguments", [[], ["move", "/x"], ["adopt", "/x"], ["cancel"]])
def test_without_a_service_every_command_exits_with_3(run: Run, arguments: list[str]) -> None:
    assert run(*arguments).exit_code == 3


def test_a_move_shows_how_far_it_is_and_where_the_models_are(
    fake: FakeService, moves: list[r.StorageMove], run: Run
) -> None:
    result = run("move", "/disk/models")
    assert (result.exit_code, result.stdout) == (0, "The models are in /disk/models now.\n")
    assert result.stderr.splitlines()[0] == "Moving the models: 0% (0 bytes of 2.5 MB)"
    assert sent(fake, "storage.move") == [{"path": "/disk/models", "mode": "move"}]


def test_a_relative_folder_is_meant_from_here(fake: FakeService, moves: list[r.StorageMove], run: Run) -> None:
    run("adopt", "models")
    assert sent(fake, "storage.move") == [{"path": str(Path("models").absolute()), "mode": "adopt"}]


def test_the_usual_folder_has_an_option_of_its_own(fake: FakeService, moves: list[r.StorageMove], run: Run) -> None:
    assert run("move", "--default").exit_code == 0
    assert sent(fake, "storage.move") == [{"mode": "move"}]
    assert run("move").exit_code == 2
    assert run("move", "/x", "--default").exit_code == 2


def test_a_move_that_nobody_waits_for_is_left_to_the_service(moves: list[r.StorageMove], run: Run) -> None:
    result = run("move", "/disk/models", "--no-wait")
    assert result.stdout == "The move is bringing. `synapse models storage` shows how far it is.\n"


def test_what_was_damaged_or_missing_is_said(moves: list[r.StorageMove], run: Run) -> None:
    moves[-1] = msgspec.structs.replace(moves[-1], corrupt=["a" * 64], missing=["a" * 64, "b" * 64])
    lines = run("adopt", "/disk/models").stdout.splitlines()
    assert lines[1].startswith("1 files were damaged and put aside")
    assert lines[2].startswith("2 files that models need are not there")


def test_an_old_folder_that_could_not_be_emptied_is_said(moves: list[r.StorageMove], run: Run) -> None:
    moves[-1] = msgspec.structs.replace(moves[-1], error={"code": "store_failure", "message": "read-only"})
    assert run("move", "/disk/models").stdout.splitlines()[1] == "Some files are left in /old: read-only"


def test_a_failed_move_says_why(moves: list[r.StorageMove], run: Run) -> None:
    error = SynapseError("store_failure", "no space is left", details={"reason": "storage_full", "path": "/disk"})
    moves[:] = [msgspec.structs.replace(MOVE, state="failed", error=msgspec.to_builtins(error.to_wire()))]
    result = run("move", "/disk/models")
    assert result.exit_code == 1
    assert "Could not move the models: no space is left" in result.stderr
    assert "  reason: storage_full\n" in result.stderr


def test_a_move_that_somebody_else_cancelled_is_no_success(moves: list[r.StorageMove], run: Run) -> None:
    moves[:] = [msgspec.structs.replace(MOVE, state="cancelled")]
    result = run("move", "/disk/models", "--json")
    assert (result.exit_code, json.loads(result.stderr)["code"]) == (1, "request_cancelled")


def test_a_cancelled_move_says_where_the_models_are(fake: FakeService, run: Run) -> None:
    fake.on("storage.cancel", lambda call: msgspec.structs.replace(MOVE, state="cancelled"))
    assert run("cancel").stdout == "The move is cancelled; the models are in /old.\n"


def test_a_disk_that_is_away_is_shown_with_what_to_do(fake: FakeService, run: Run) -> None:
    error = {"code": "store_failure", "message": "/disk: the models are not there; plug in their disk"}
    status = r.StorageStatus(path="/disk", default_path="/old", state="unavailable", error=error)
    fake.on("storage.status", lambda call: status)
    assert run().stdout.splitlines() == [
        "Models in /disk: unavailable",
        "  usual folder  /old",
        "  problem       /disk: the models are not there; plug in their disk",
    ]
    assert json.loads(run("--json").stdout)["state"] == "unavailable"
