"""`synapse lanes`, `synapse pause` and `synapse resume`, against the fake service."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner, Result

from fixtures.fake_service import FakeService
from synapse_cli.main import app
from synapse_wire import results as r
from synapse_wire.errors import SynapseError

Run = Callable[..., Result]
END_MS = 1_700_000_000_000


@pytest.fixture
def run(home: Path) -> Run:
    """Runs `synapse` with arguments, for the service of the test's home."""

    def invoke(*arguments: str) -> Result:
        result = CliRunner().invoke(app, list(arguments), env={"SYNAPSE_HOME": str(home)})
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return invoke


def lane(lane_id: str, **more: Any) -> r.LaneRow:
    facts: dict[str, Any] = {
        "lane_id": lane_id,
        "model_id": lane_id,
        "task": "embed",
        "engine": "owned-cpu",
        "fingerprint": "syn1-x",
        "state": "ready",
        "requests_done": 1200,
        "requests_refused": 3,
        "in_flight": 0,
        "waiting": 0,
        "keep_warm": False,
        "self_check": r.SelfCheckState(state="not_applicable"),
        "pins": [],
        "users": [],
    }
    return r.LaneRow(**facts | more)


def pause(phase: str, **more: Any) -> r.PauseStatus:
    facts: dict[str, Any] = {"hardware_free": phase == "paused", "lane_ids": ["x-ane"], "reason": "measuring"}
    return r.PauseStatus(phase=phase, **facts | {"paused_until_ms": END_MS} | more)


def when(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000).isoformat(sep=" ", timespec="seconds")


def test_lanes_are_listed_with_what_they_do_and_for_whom(fake: FakeService, run: Run) -> None:
    busy = lane(
        "busy", rss_bytes=52_400_000, p50_ms=1.5, p95_ms=12.345, users=["editor", "notes"], keep_warm=True, waiting=2
    )
    slow = lane("slow", p50_ms=99.96, p95_ms=1404.4)
    cold = lane("cold", state="unloaded", pause=r.Pause(phase="paused", reason="a film"))
    fake.on("lanes.list", lambda _: r.LanesList(module_generation=1, lanes=[busy, slow, cold]))
    assert run("lanes").stdout.splitlines() == [
        "lane  task   engine     state             memory   done   refused  waiting  p50     p95      used by",
        "busy  embed  owned-cpu  ready, warm       52.4 MB  1,200  3        2        1.5 ms  12.3 ms  editor, notes",
        "slow  embed  owned-cpu  ready             -        1,200  3        0        100 ms  1404 ms  -",
        "cold  embed  owned-cpu  unloaded, paused  -        1,200  3        0        -       -        -",
    ]
    assert [row["lane_id"] for row in json.loads(run("lanes", "list", "--json").stdout)["lanes"]] == [
        "busy",
        "slow",
        "cold",
    ]


def test_a_service_without_lanes_says_where_to_look(fake: FakeService, run: Run) -> None:
    fake.on("lanes.list", lambda _: r.LanesList(module_generation=1, lanes=[]))
    assert run("lanes").stdout == "There are no lanes. `synapse models catalog` shows what can be installed.\n"


def test_a_lane_is_loaded_and_kept_warm(fake: FakeService, run: Run) -> None:
    fake.on("lanes.load", lambda _: lane("m", rss_bytes=52_400_000))
    fake.on("lanes.keep_warm", lambda call: lane("m", keep_warm=call.params.on))
    assert run("lanes", "load", "m").stdout == "m is ready, in 52.4 MB of memory.\n"
    assert run("lanes", "keep-warm", "m").stdout == "m stays loaded once it is loaded; now it is ready.\n"
    assert fake.received[-1] == ("lanes.keep_warm", {"lane_id": "m", "on": True})
    assert run("lanes", "keep-warm", "m", "--off").stdout == "m is unloaded when nobody uses it; now it is ready.\n"
    assert fake.received[-1] == ("lanes.keep_warm", {"lane_id": "m", "on": False})


def test_the_neural_engine_is_paused_and_the_free_hardware_is_told_apart(fake: FakeService, run: Run) -> None:
    fake.on("lanes.pause", lambda _: pause("draining"))
    fake.on("lanes.status", lambda _: pause("paused"))
    fake.on("lanes.resume", lambda _: r.PauseStatus(phase="running", hardware_free=False, lane_ids=[]))
    assert run("lanes", "pause", "--minutes", "45", "--reason", "measuring").stdout.splitlines() == [
        "Draining: the hardware is NOT free",
        "  reason  measuring",
        f"  until   {when(END_MS)}",
        "  lanes   x-ane",
        "Don't use the hardware yet; ask again until it is free.",
    ]
    assert fake.received[-1][1] == {"scope": "neural_engine", "duration_ms": 2_700_000, "reason": "measuring"}
    assert run("lanes", "status").stdout.splitlines()[0] == "Paused: the hardware is free"
    assert json.loads(run("lanes", "status", "--json").stdout)["hardware_free"] is True
    assert run("lanes", "resume").stdout == "Nothing is paused.\n"


def test_a_drain_that_failed_says_what_is_in_the_way(fake: FakeService, run: Run) -> None:
    held = r.DrainError(lane_id=None, stage="lock", code="lock_held", message="process 7 holds it")
    fake.on("lanes.status", lambda _: pause("drain_failed", drain_error=held))
    assert run("lanes", "status").stdout.splitlines()[4] == (
        "  in the way  the lock of the machine (lock_held): process 7 holds it"
    )


def test_everything_is_paused_for_a_while_or_until_resumed(fake: FakeService, run: Run) -> None:
    status = r.PauseStatus(phase="draining", hardware_free=False, lane_ids=["m"], reason="a film")
    fake.on("service.pause", lambda _: status)
    fake.on("service.resume", lambda _: r.PauseStatus(phase="running", hardware_free=False, lane_ids=[]))
    assert "  until   somebody resumes" in run("pause", "--reason", "a film").stdout.splitlines()
    assert fake.received[-1] == ("service.pause", {"until_resumed": True, "reason": "a film"})
    run("pause", "--minutes", "30")
    assert fake.received[-1][1] == {"duration_ms": 1_800_000, "reason": "paused from the command line"}
    assert run("resume").stdout == "Nothing is paused.\n"
    assert run("pause", "--minutes", "0").exit_code == 2


def test_a_second_pause_is_an_error_with_its_code(fake: FakeService, run: Run) -> None:
    def refuse(_: Any) -> Any:
        raise SynapseError("invalid_request", "a pause is active already", level="semantic")

    fake.on("service.pause", refuse)
    result = run("pause")
    assert result.exit_code == 1
    assert "  code: invalid_request" in result.stderr.splitlines()


def test_status_says_that_everything_is_paused(fake: FakeService, run: Run) -> None:
    info = fake.handlers["service.info"]
    paused = r.Pause(phase="drain_failed", reason="a film", paused_until_ms=END_MS)
    fake.on("service.info", lambda call: msgspec.structs.replace(info(call), pause=paused))
    assert f"  paused       drain failed, until {when(END_MS)}: a film" in run("status").stdout.splitlines()
    fake.on(
        "service.info",
        lambda call: msgspec.structs.replace(info(call), pause=r.Pause(phase="paused", reason="a film")),
    )
    assert "  paused       paused, until `synapse resume`: a film" in run("status").stdout.splitlines()
