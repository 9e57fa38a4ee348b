"""`ck-synapse-opctl` against the fake service: what it sends, what it prints, and with which status it ends."""

from __future__ import annotations

import json
import shutil
import subprocess
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from fixtures.fake_service import FINGERPRINT, Drop, FakeCall, FakeService, status
from synapse_cli.opctl import app
from synapse_cli.operator import session
from synapse_cli.operator.session import status_of
from synapse_client import ConnectionLost, NoReply, ServiceNotRunning
from synapse_wire import results as r
from synapse_wire.errors import ERRORS, METHOD_NOT_FOUND, SynapseError, invalid_params, invalid_state

Run = Callable[..., Result]

OTHER = "syn1-" + "0" * 64


@pytest.fixture
def run(home: Path) -> Run:
    """Runs the command with arguments, for the service of the test's home."""

    def invoke(*arguments: str, stdin: str | None = None) -> Result:
        result = CliRunner().invoke(app, list(arguments), input=stdin, env={"SYNAPSE_HOME": str(home)})
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return invoke


def sent(fake: FakeService, method: str) -> dict[str, Any]:
    """The parameters of the last request for a method."""
    return [params for name, params in fake.received if name == method][-1]


def refusing(error: SynapseError) -> Callable[[FakeCall], Any]:
    def handler(call: FakeCall) -> Any:
        raise error

    return handler


# --- how it ends ---


@pytest.mark.parametrize("code", ERRORS)
def test_every_refusal_ends_by_its_class(code: str) -> None:
    if code == "invalid_request":
        assert status_of(invalid_state("no such job")) == 1
        assert status_of(invalid_params("wrong", "left")) == 2
        unknown = SynapseError(code, "no method", level="channel", number=METHOD_NOT_FOUND)
        assert status_of(unknown) == 1
        return
    shape = next(iter(ERRORS[code].details or ()), frozenset())
    details = {name: "x" for name in shape if not name.endswith("?")} or None
    assert status_of(SynapseError(code, "x", details=details)) == (4 if ERRORS[code].class_ == "transient" else 1)


def test_what_the_client_finds_out_ends_by_what_is_known_of_the_change() -> None:
    assert status_of(ServiceNotRunning("/s", "no socket")) == 3
    assert status_of(ConnectionLost("alias.declare", "gone", sent=True)) == 5
    assert status_of(ConnectionLost("alias.declare", "gone", sent=False)) == 4
    assert status_of(ConnectionLost("models.list", "gone", sent=True)) == 4
    assert status_of(NoReply("models.remove", 60)) == 5
    assert status_of(NoReply("lanes.status", 60)) == 4


COMMANDS = [
    ["lanes", "list"],
    ["lanes", "load", "m"],
    ["lanes", "keep-warm", "m"],
    ["lanes", "pause", "--minutes", "45", "--reason", "measurement"],
    ["lanes", "resume"],
    ["lanes", "status"],
    ["service", "pause", "--reason", "travel"],
    ["service", "resume"],
    ["models", "list"],
    ["models", "catalog"],
    ["models", "unload", "m"],
    ["models", "download", "c"],
    ["models", "cancel", "j"],
    ["models", "remove", "c"],
    ["alias", "declare", "a", "b"],
    ["alias", "retract", "a", "b"],
    ["alias", "check", "a", "b"],
    ["alias", "list"],
    ["probe", "start", "m"],
    ["probe", "status", "j"],
    ["probe", "report"],
    ["jobs", "list"],
    ["jobs", "resume", "j"],
    ["jobs", "cancel", "j"],
    ["admission", "status"],
    ["cache", "pin", "--model", "m"],
    ["cache", "gc", "--dry-run"],
]


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_without_a_service_every_command_ends_with_3_and_says_how_to_start_it(run: Run, arguments: list[str]) -> None:
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (3, "")
    assert "  code: service_not_running\n" in result.stderr
    assert "synapse serve" in result.stderr
    result = run("--json", *arguments)
    assert (result.exit_code, result.stdout) == (3, "")
    assert json.loads(result.stderr)["code"] == "service_not_running"


def test_a_refusal_says_what_to_do(fake: FakeService, run: Run) -> None:
    fake.on("alias.declare", refusing(SynapseError("substitution_rejected", "administration is off")))
    result = run("alias", "declare", "a", "b")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "Could not declare the pair: administration is off" in result.stderr
    assert "next: Run `synapse settings set alias_administration=true`" in result.stderr
    result = run("--json", "alias", "declare", "a", "b")
    assert json.loads(result.stderr)["code"] == "substitution_rejected"


def test_a_refusal_for_now_ends_with_4(fake: FakeService, run: Run) -> None:
    fake.on("models.remove", refusing(SynapseError("store_failure", "the disk is full")))
    result = run("models", "remove", "c")
    assert result.exit_code == 4
    assert "Try again in" in result.stderr


def test_a_connection_that_ends_under_a_change_leaves_it_unknown(fake: FakeService, run: Run) -> None:
    def drop(call: FakeCall) -> Any:
        raise Drop

    fake.on("alias.retract", drop)
    result = run("alias", "retract", "a", "b")
    assert result.exit_code == 5
    assert "look at the state before sending it again" in result.stderr


def test_an_operation_that_the_service_does_not_have_is_told_apart(fake: FakeService, run: Run) -> None:
    del fake.handlers["jobs.list"]
    result = run("jobs", "list")
    assert result.exit_code == 1
    assert "another version than this command" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["lanes", "pause", "--minutes", "0", "--reason", "x"], "minutes"),
        (["lanes", "pause", "--minutes", "121", "--reason", "x"], "minutes"),
        (["lanes", "pause", "--minutes", "45"], "reason"),
        (["alias", "declare", "a", "a"], "equivalent to itself"),
        (["alias", "declare", "", "b"], "left"),
        (["alias", "declare", "a", "b", "--evidence", "[1]"], "JSON object"),
        (["alias", "declare", "a", "b", "--evidence", "{"], "not JSON"),
        (["alias", "declare", "a", "b", "--evidence", "@/nowhere"], "can't be read"),
        (["alias", "check", "a", ""], "provenance_set"),
        (["cache", "pin"], "exactly one of"),
        (["cache", "pin", "--model", "m", "--catalog", "c"], "exactly one of"),
        (["models", "load", "/nowhere"], "can't be read"),
        (["jobs", "resume", "a\nb"], "job_id"),
        (["no-such-family"], "No such command"),
        (["lanes", "status", "--json"], "No such option"),
    ],
)
def test_wrong_usage_ends_with_2_and_sends_nothing(
    fake: FakeService, run: Run, arguments: list[str], words: str
) -> None:
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in " ".join(result.stderr.replace("│", " ").split())
    assert fake.received == []


def test_it_is_installed_under_its_name() -> None:
    installed = shutil.which("ck-synapse-opctl", path=sysconfig.get_path("scripts"))
    assert installed is not None
    done = subprocess.run([installed, "--help"], capture_output=True, text=True, timeout=30, check=True)
    for family in ("lanes", "models", "alias", "probe", "jobs", "admission", "cache", "service"):
        assert f"\n  {family} " in done.stdout
    assert "5 unknown whether it was carried out" in done.stdout


# --- equivalences ---


def test_a_pair_is_declared_with_its_evidence(fake: FakeService, run: Run, tmp_path: Path) -> None:
    fake.on("alias.declare", lambda call: r.AliasChanged(module_generation=1, changed=True, table_epoch=4))
    result = run("alias", "declare", "a", "b", "--evidence", '{"mean_cosine": 0.9995}')
    assert (result.exit_code, result.stdout) == (0, "The pair stands. The table is at epoch 4.\n")
    assert sent(fake, "alias.declare") == {"left": "a", "right": "b", "evidence": {"mean_cosine": 0.9995}}
    file = tmp_path / "evidence.json"
    file.write_text('{"from": "a file"}')
    run("alias", "declare", "a", "b", "--evidence", f"@{file}")
    assert sent(fake, "alias.declare")["evidence"] == {"from": "a file"}
    run("alias", "declare", "a", "b")
    assert sent(fake, "alias.declare") == {"left": "a", "right": "b"}


def test_json_is_what_the_service_said(fake: FakeService, run: Run) -> None:
    fake.on("alias.retract", lambda call: r.AliasChanged(module_generation=1, changed=False, table_epoch=4))
    result = run("--json", "alias", "retract", "a", "b")
    assert json.loads(result.stdout) == {"module_generation": 1, "changed": False, "table_epoch": 4}
    assert run("alias", "retract", "a", "b").stdout == "The pair didn't stand. The table is at epoch 4.\n"


def test_an_index_that_has_to_migrate_ends_with_1(fake: FakeService, run: Run) -> None:
    fake.on("aliases.check_index", lambda call: r.IndexChecked(status="valid", table_epoch=2))
    result = run("alias", "check", "a", "b", "c")
    assert (result.exit_code, result.stdout) == (0, "The index is valid at epoch 2.\n")
    assert sent(fake, "aliases.check_index") == {"index_fingerprint": "a", "provenance_set": ["b", "c"]}
    broken = r.IndexChecked(status="migration_required", retracted_pair=["a", "b"], rebuild_target="a", table_epoch=3)
    fake.on("aliases.check_index", lambda call: broken)
    result = run("alias", "check", "a")
    assert result.exit_code == 1
    assert "b is no equivalent" in result.stdout
    assert run("--json", "alias", "check", "a").exit_code == 1


def test_the_pairs_that_stand_are_listed(fake: FakeService, run: Run) -> None:
    pair = r.AliasRow(left=FINGERPRINT, right=OTHER, evidence={"n": 1}, declared_at_ms=1_700_000_000_000, table_epoch=1)
    listing = r.ModelsList(module_generation=1, table_epoch=1, models=[], aliases=[pair])
    fake.on("models.list", lambda call: listing)
    result = run("alias", "list")
    assert result.stdout.splitlines()[0] == "The table is at epoch 1."
    assert FINGERPRINT in result.stdout
    said = json.loads(run("--json", "alias", "list").stdout)
    assert (said["table_epoch"], [row["right"] for row in said["aliases"]]) == (1, [OTHER])


# --- lanes ---


def pause(phase: str, **more: Any) -> r.PauseStatus:
    facts: dict[str, Any] = {"hardware_free": phase == "paused", "lane_ids": ["x-ane"], "reason": "measurement"}
    return r.PauseStatus(phase=phase, **facts | {"paused_until_ms": 1_700_000_000_000} | more)


def test_a_pause_is_asked_for_in_minutes_and_warns_until_the_hardware_is_free(fake: FakeService, run: Run) -> None:
    answer(fake, "lanes.pause", pause("draining"))
    result = run("lanes", "pause", "--minutes", "45", "--reason", "measurement")
    assert result.exit_code == 0
    assert sent(fake, "lanes.pause") == {"scope": "neural_engine", "duration_ms": 2_700_000, "reason": "measurement"}
    assert result.stdout.startswith("draining: the hardware is NOT free\n")
    assert "Don't start a measurement" in result.stdout


@pytest.mark.parametrize(("phase", "status"), [("paused", 0), ("drain_failed", 4), ("running", 4)])
def test_waiting_for_a_pause_ends_with_0_only_when_the_hardware_is_free(
    fake: FakeService, run: Run, monkeypatch: pytest.MonkeyPatch, phase: str, status: int
) -> None:
    monkeypatch.setattr(session, "POLL_S", 0.0)
    looks = iter([pause("draining"), pause("draining"), pause(phase)])
    answer(fake, "lanes.pause", pause("draining"))
    answer(fake, "lanes.status", lambda: next(looks))
    result = run("--json", "lanes", "pause", "--minutes", "45", "--reason", "measurement", "--wait")
    assert result.exit_code == status
    assert json.loads(result.stdout)["phase"] == phase
    assert fake.methods().count("lanes.status") == 3


def test_a_drain_that_failed_names_the_lane_and_the_reason(fake: FakeService, run: Run) -> None:
    error = r.DrainError(lane_id=None, stage="release", code="lock_held", message="a descriptor is left")
    answer(fake, "lanes.status", pause("drain_failed", drain_error=error))
    printed = run("lanes", "status").stdout
    assert "release of the global lock" in printed
    assert "lock_held: a descriptor is left" in printed


def test_the_contracts_examples_work(fake: FakeService, run: Run) -> None:
    answer(fake, "lanes.pause", pause("paused"))
    answer(fake, "lanes.status", r.PauseStatus(phase="running", hardware_free=False, lane_ids=[]))
    answer(fake, "lanes.resume", r.PauseStatus(phase="running", hardware_free=False, lane_ids=[]))
    assert run(*["lanes", "pause", "--minutes", "45", "--reason", "measurement"]).exit_code == 0
    said = json.loads(run(*["--json", "lanes", "status"]).stdout)
    assert said == {"phase": "running", "hardware_free": False, "lane_ids": []}
    assert run(*["lanes", "resume"]).stdout == "Nothing is paused.\n"


def test_the_service_is_paused_for_a_time_or_until_it_is_resumed(fake: FakeService, run: Run) -> None:
    answer(fake, "service.pause", pause("paused"))
    run("service", "pause", "--minutes", "1.5", "--reason", "travel")
    assert sent(fake, "service.pause") == {"duration_ms": 90_000, "reason": "travel"}
    run("service", "pause", "--reason", "travel")
    assert sent(fake, "service.pause") == {"until_resumed": True, "reason": "travel"}


# --- models, jobs, files ---


def test_a_manifest_is_sent_as_it_stands_and_waited_for(fake: FakeService, run: Run, tmp_path: Path) -> None:
    digest = {"url": "file:///m", "sha256": "0" * 64}
    manifest = {
        "model_id": "new",
        "task": "embed",
        "engine": "owned-cpu",
        "source": "file",
        "files": {"model": digest, "tokenizer": digest},
    }
    file = tmp_path / "manifest.json"
    file.write_text(json.dumps(manifest))
    result = run("models", "load", str(file))
    assert (result.exit_code, result.stdout) == (0, "new is registered. Certify it with `probe start`.\n")
    assert sent(fake, "model.load") == manifest
    result = run("models", "load", "-", "--no-wait", stdin=json.dumps(manifest | {"model_id": "other"}))
    assert result.stdout == "Job load-other is queued.\n"
    result = run("models", "load", "-", stdin=json.dumps(manifest | {"tasks": "embed"}))
    assert result.exit_code == 2
    assert "tasks" in result.stderr


def test_a_load_that_fails_ends_as_its_error_does(fake: FakeService, run: Run) -> None:
    error = {"code": "engine_crashed", "class": "transient", "safe_to_retry_same_request": True, "message": "killed"}
    fake.job("probe-mini", status("probe-mini", "failed", 0, 1, kind="probe", error=error))
    fake.on("probe.start", lambda call: r.JobAccepted(job_id="probe-mini", state="queued"))
    result = run("probe", "start", "mini")
    assert result.exit_code == 4
    assert "Could not probe mini: killed" in result.stderr


def test_models_are_listed_with_what_an_operator_compares(fake: FakeService, run: Run) -> None:
    printed = run("models", "list").stdout
    assert FINGERPRINT in printed
    assert "not_applicable" in printed
    assert run("models", "unload", "mini").stdout == "mini is unloaded.\n"
    result = run("models", "unload", "absent")
    assert result.exit_code == 1
    assert "  code: unknown_model\n" in result.stderr


def test_files_are_pinned_by_either_id_and_collected(fake: FakeService, run: Run) -> None:
    pins = r.CachePins(pins=[r.ModelPin(owner="me", blob="b" * 64)])
    fake.on("cache.pin", lambda call: pins)
    fake.on("cache.gc", lambda call: r.CacheCollected(freed_bytes=10, unlinked=["x"], kept=[]))
    assert "me" in run("cache", "pin", "--model", "mini", "--owner", "me").stdout
    assert sent(fake, "cache.pin") == {"model_id": "mini", "pinned": True, "owner": "me"}
    run("cache", "pin", "--catalog", "c", "--off")
    assert sent(fake, "cache.pin") == {"catalog_id": "c", "pinned": False}
    assert run("cache", "gc", "--dry-run").stdout.startswith("1 files would go, 10 bytes.\n")
    assert sent(fake, "cache.gc") == {"dry_run": True}
    run("cache", "gc")
    assert sent(fake, "cache.gc") == {}


def test_jobs_and_admission_are_shown(fake: FakeService, run: Run) -> None:
    assert run("jobs", "list").stdout == "There is no job.\n"
    printed = run("admission", "status").stdout
    assert "jobs open" in printed
    result = run("jobs", "resume", "absent")
    assert result.exit_code == 1


def answer(fake: FakeService, method: str, value: Any) -> None:
    """Answer a method, whether or not this version has its shapes yet."""
    fake.on(method, lambda call: value() if callable(value) else value)
