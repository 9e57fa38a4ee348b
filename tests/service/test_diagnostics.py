"""The doctor's findings: each check says ok on a sound installation and names what is wrong on another."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fixtures.expected_warnings import ExpectedWarnings
from fixtures.socket_server import GENERATION, serving, short_folder
from synapse_engines.devices import DeviceEvidence
from synapse_service import diagnostics
from synapse_service.catalog.store_marker import StorageUnavailable
from synapse_service.diagnostics import Check, run_check
from synapse_service.instance import acquire_lock, bind_socket
from synapse_service.operations.extensions import diagnostics as operation
from synapse_service.paths import Paths, ensure_private_dir, resolve_paths
from synapse_service.server.router import Router
from synapse_service.settings.store import SettingsStore
from synapse_service.store.opening import Opening
from synapse_wire.endpoint import Endpoint
from synapse_wire.results import Diagnostic


@pytest.fixture
def paths() -> Iterator[Paths]:
    with short_folder() as home:
        made = resolve_paths({}, home)
        for folder in (made.data_dir, made.cache_dir, made.log_dir, made.endpoint.directory, made.config_file.parent):
            ensure_private_dir(folder)
        yield made


def found(check: Check, home: Path = Path("/nowhere")) -> Diagnostic:
    return run_check(check, home)


def test_the_socket_is_there_and_private(paths: Paths) -> None:
    check = diagnostics.socket_check(paths.endpoint)
    assert found(check).status == "error"
    lock = acquire_lock(paths.endpoint, paths.lock_file)
    bound = bind_socket(paths.endpoint.address, lock)
    assert (found(check).check, found(check).status) == ("socket", "ok")
    Path(paths.endpoint.address).chmod(0o666)
    opened = found(check)
    assert (opened.status, opened.facts) == (
        "error",
        {"address": paths.endpoint.address, "mode": "0666", "uid": Path(paths.endpoint.address).stat().st_uid},
    )
    bound.socket.close()
    bound.remove()
    Path(paths.endpoint.address).write_text("no socket")
    assert found(check).status == "error"
    lock.release()


def test_the_lock_is_still_ours(paths: Paths) -> None:
    lock = acquire_lock(paths.endpoint, paths.lock_file)
    check = diagnostics.lock_check(lock)
    assert found(check).status == "ok"
    paths.lock_file.unlink()
    gone = found(check)
    assert (gone.check, gone.status) == ("lock", "error")
    assert "deleted or replaced" in gone.summary
    lock.release()


def test_an_unusual_address_is_explained() -> None:
    usual = found(diagnostics.path_length_check(Endpoint("/run/user/1000/synapse/service.sock", Path("/run"))))
    assert (usual.status, usual.summary) == ("ok", "the socket address takes 35 of 100 bytes")
    moved = found(diagnostics.path_length_check(Endpoint("/tmp/s.sock", Path("/tmp"), ("it is too long",))))
    assert (moved.status, moved.summary) == ("warning", "it is too long")


def test_a_folder_open_to_others_is_named(paths: Paths) -> None:
    check = diagnostics.folders_check(paths, lambda: paths.cache_dir)
    assert found(check).status == "ok"
    paths.log_dir.chmod(0o750)
    opened = found(check)
    assert opened.status == "error"
    assert opened.summary == f"{paths.log_dir} is open to other users (mode 0750; chmod 700 closes it)"
    paths.log_dir.chmod(0o700)
    shutil.rmtree(paths.cache_dir)
    missing = found(check)
    assert missing.status == "ok"
    assert isinstance(missing.facts, dict)
    assert missing.facts["cache"] == {"path": str(paths.cache_dir), "exists": False}


@pytest.mark.parametrize(
    ("free", "status", "words"),
    [
        (50 * 2**20, "error", "only 50 MiB are free for"),
        (1500 * 2**20, "warning", "only 1500 MiB are free for models in"),
        (10 * 2**30, "ok", "10.0 GiB are free for models"),
    ],
)
def test_little_room_is_told(paths: Paths, monkeypatch: pytest.MonkeyPatch, free: int, status: str, words: str) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=free))
    disk = found(diagnostics.disk_check(paths, lambda: paths.cache_dir))
    assert disk.status == status
    assert disk.summary.startswith(words)


def test_a_folder_of_models_that_is_away_is_an_error_with_what_to_do(paths: Paths) -> None:
    problems: list[StorageUnavailable | None] = [None]
    check = diagnostics.models_check(lambda: problems[0], lambda: paths.cache_dir)
    sound = found(check)
    assert (sound.check, sound.status, sound.summary) == ("models", "ok", f"models are kept in {paths.cache_dir}")
    problems[0] = StorageUnavailable("disk_missing", paths.cache_dir)
    away = found(check)
    assert (away.status, away.facts) == ("error", {"path": str(paths.cache_dir), "reason": "disk_missing"})
    assert away.summary.startswith(f"{paths.cache_dir}: the models are not there; plug in or mount their disk")


def test_settings_are_told_by_source_and_without_values(paths: Paths) -> None:
    paths.config_file.write_text('storage_dir = "/somewhere/private"\n')
    environ = {"SYNAPSE_CPU_LANES": "true"}
    sound = found(diagnostics.settings_check(SettingsStore.load(paths.config_file, environ)))
    assert (sound.status, sound.facts) == (
        "ok",
        {"from_environment": ["cpu_lanes"], "from_file": ["storage_dir"], "unknown_variables": []},
    )
    environ["SYNAPSE_CPU_LANE"] = "true"
    misspelt = found(diagnostics.settings_check(SettingsStore.load(paths.config_file, environ)))
    assert (misspelt.status, misspelt.summary) == ("warning", "no setting reads SYNAPSE_CPU_LANE")


@pytest.mark.parametrize(
    ("devices", "cpu_lanes", "status", "words"),
    [
        ({"metal": None, "cpu": None}, False, "ok", "lanes run on metal"),
        ({"metal": "not_supported_on_platform", "cpu": None}, True, "ok", "lanes run on cpu"),
        ({"metal": "not_supported_on_platform", "cpu": None}, False, "warning", "lanes on it are off"),
        ({"metal": "device_missing", "cpu": "worker_missing"}, True, "error", "no engine can run"),
    ],
)
def test_engines_are_told_with_their_reasons(devices: dict[Any, Any], cpu_lanes: bool, status: str, words: str) -> None:
    evidence = [DeviceEvidence(name, reason, {"fact": "x"}) for name, reason in devices.items()]
    engines = found(diagnostics.engines_check(lambda: evidence, lambda: cpu_lanes))
    assert engines.status == status
    assert words in engines.summary
    assert engines.facts == {
        name: {"fact": "x", "runnable": reason is None, "reason": reason} for name, reason in devices.items()
    }


def test_how_the_database_was_found_is_told(paths: Paths) -> None:
    assert found(diagnostics.database_check(Opening("opened", paths.database))).status == "error"
    paths.database.write_bytes(b"12345")
    sound = found(diagnostics.database_check(Opening("opened", paths.database)))
    assert (sound.status, sound.facts) == ("ok", {"path": str(paths.database), "state": "opened", "bytes": 5})
    rebuilt = found(diagnostics.database_check(Opening("rebuilt", paths.database, "was damaged", Path("/kept"))))
    assert (rebuilt.status, rebuilt.summary) == ("warning", "at the start of the service: was damaged")
    assert "kept as /kept. Download and load your models again" in str(rebuilt.remedy)
    recovered = found(diagnostics.database_check(Opening("recovered", paths.database, "lacks a log")))
    assert recovered.status == "warning"
    assert "your latest models and jobs" in str(recovered.remedy)
    assert isinstance(rebuilt.facts, dict)
    assert rebuilt.facts["kept"] == "/kept"


def test_a_log_that_does_not_reach_the_disk_is_told() -> None:
    for file, lost, status in ((Path("/l"), 0, "ok"), (Path("/l"), 3, "warning"), (None, 0, "warning")):
        logs: Any = SimpleNamespace(file=file, lost_lines=lost)
        assert found(diagnostics.log_check(logs)).status == status


def test_the_home_folder_is_not_told() -> None:
    def check() -> Diagnostic:
        return Diagnostic(
            check="x",
            status="ok",
            summary="/home/alice/data is fine, /home/alicent is another",
            remedy="chmod 700 '/home/alice/data'",
            facts={"home": "/home/alice", "list": ["/home/alice/a"], "number": 1},
        )

    assert found(check, Path("/home/alice")) == Diagnostic(
        check="x",
        status="ok",
        summary="~/data is fine, /home/alicent is another",
        remedy="chmod 700 '~/data'",
        facts={"home": "~", "list": ["~/a"], "number": 1},
    )


async def test_the_operation_runs_every_check_though_one_breaks(expected_warnings: ExpectedWarnings) -> None:
    def sound() -> Diagnostic:
        return Diagnostic(check="sound", status="ok", summary="fine")

    def broken() -> Diagnostic:
        raise ValueError("a private text")

    expected_warnings("check_failed")
    router = Router()
    operation.register(router, [broken, sound], lambda: GENERATION)
    async with serving(router) as running:
        assert await (await running.connect()).result("service.diagnostics") == {
            "module_generation": GENERATION,
            "checks": [
                {"check": "broken", "status": "error", "summary": "the check itself failed (ValueError)"},
                {"check": "sound", "status": "ok", "summary": "fine"},
            ],
        }
    assert "private" not in str(expected_warnings.fields("check_failed"))
