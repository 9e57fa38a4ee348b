"""The course of a certification against a service that answers what a test says, and the command around it."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import psutil
import pytest
from typer.testing import CliRunner

from fixtures.certification_kit import EMBEDDER, Kit, certification_kit
from fixtures.processes import wait_until
from synapse_cli.certification import assets as assets_of
from synapse_cli.certification import procedure
from synapse_cli.certification.procedure import CertificationFailed, Clocks
from synapse_cli.certification.rows import Row
from synapse_cli.certify import app
from synapse_cli.reporting import CommandError
from synapse_client import SynapseError
from synapse_wire import results as r

LANE = "m-cpu"
PIN = "syn1-pin"


class ScriptedService:
    """Answers what a client would get; a fake. ``queries`` are answers or errors of the next fixtures, in order."""

    def __init__(self) -> None:
        self.service = SimpleNamespace(server_version="9")
        self.digest = "digest"
        self.backends = [self.backend()]
        self.listed: dict[str, Any] = {
            "model_id": LANE,
            "engine": "owned-cpu",
            "dtype": "f32",
            "fingerprint": PIN,
            "self_check": {"state": "passed", "check_id": "c", "evidence": {}},
        }
        self.observed: dict[str, Any] = {
            "available": True,
            "inventories": [],
            "worker_requests": {LANE: 3},
            "admitted_count": 0,
        }
        self.queries: list[Any] = []
        self.asked: list[dict[str, Any]] = []
        self.downloads: list[str] = []
        self.download_error: SynapseError | None = None

    @staticmethod
    def backend(**changes: Any) -> r.CatalogBackend:
        facts: dict[str, Any] = {
            "backend": "cpu",
            "lane_id": LANE,
            "fingerprint": PIN,
            "runnable": True,
            "reason": None,
            "installed": False,
            "self_check": None,
        }
        return r.CatalogBackend(**facts | changes)

    def models_catalog(self) -> r.ModelsCatalog:
        model = r.CatalogModel(
            id="m",
            task="embed",
            name="M",
            description="",
            default_for_task=False,
            upstream=r.CatalogUpstream(hf_repo="o/m", revision="rev"),
            manifest_digest=self.digest,
            download_bytes=1,
            install_state="not_installed",
            backends=self.backends,
        )
        return r.ModelsCatalog(catalog_revision="1", models=[model])

    def models_download(self, catalog_id: str) -> Any:
        self.downloads.append(catalog_id)
        return SimpleNamespace(job_id="j")

    def wait_download(self, job_id: str, *, timeout_s: float) -> None:
        if self.download_error is not None:
            raise self.download_error

    def call(self, method: str, params: Any = None, *, timeout_s: float | None = None) -> Any:
        if method == "models.list":
            return {"models": [self.listed] if self.listed else []}
        if method == "certify.observations":
            return self.observed
        if method == "probe.report":
            return {"machine": {"system": "linux"}}
        assert method == "embed.query"
        self.asked.append(params)
        answer = self.queries.pop(0) if self.queries else answered()
        if isinstance(answer, SynapseError):
            raise answer
        return answer


def answered(**changes: Any) -> dict[str, Any]:
    return {"fingerprint": PIN, "vectors": [{"vector": [0.6, 0.8]}], "observation": {"input_ids": [[2, 3]]}} | changes


class Clock:
    """Time that passes by sleeping, and one second for each look at it."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        self.now += 1
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def clocks(self) -> Clocks:
        return Clocks(wall_ms=lambda: 1, monotonic=self.monotonic, sleep=self.sleep)


@pytest.fixture
def service() -> ScriptedService:
    return ScriptedService()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def prove(service: ScriptedService, clock: Clock) -> Callable[..., procedure.Proven]:
    def run(backend: str = "cpu") -> procedure.Proven:
        fixtures = [{"id": name, "text": name, "input_ids": [2, 3], "vector": [0.6, 0.8]} for name in ("one", "two")]
        found = msgspec.convert(
            {
                "schema": "synapse-certify-assets/1",
                "task": "embed",
                "catalog_id": "m",
                "source": "tests",
                "model": {"revision": "rev", "model_sha256": "a" * 64, "tokenizer_sha256": "b" * 64},
                "gates": {"cosine_min": 0.999, "norm_error_max": 0.001},
                "fixtures": fixtures,
            },
            assets_of.EmbedAssets,
        )
        row = Row(f"{backend}-x", backend, "x")
        client: Any = service
        return procedure._Run(
            client, row, assets_of.Loaded(found, "s"), "digest", lambda text: None, clock.clocks()
        ).prove()

    return run


def loading() -> SynapseError:
    return SynapseError("model_loading", "still loading")


def test_every_fixture_is_asked_of_the_lane_itself(service: ScriptedService, prove: Any) -> None:
    proven = prove()
    assert [(each["model"], each["text"]) for each in service.asked] == [(LANE, "one"), (LANE, "two")]
    assert service.downloads == ["m"]
    assert [each["id"] for each in proven.fixtures] == ["one", "two"]
    assert (proven.subject.fingerprint, proven.version) == (PIN, "9")
    assert proven.figures["answers_asked_again"] == 0


def test_an_answer_of_model_loading_is_asked_again_and_never_counts(service: ScriptedService, prove: Any) -> None:
    service.queries = [loading(), loading(), answered(), loading(), answered()]
    proven = prove()
    assert [each["text"] for each in service.asked] == ["one", "one", "one", "two", "two"]
    assert [each["id"] for each in proven.fixtures] == ["one", "two"]
    assert proven.figures["answers_asked_again"] == 3


def test_waiting_for_a_lane_has_an_end(service: ScriptedService, prove: Any, clock: Clock) -> None:
    service.queries = [loading() for _ in range(10_000)]
    with pytest.raises(SynapseError) as refused:
        prove()
    assert refused.value.code == "model_loading"
    assert clock.now <= procedure.FIXTURE_S + 20
    deadlines = [each["deadline_ms"] for each in service.asked]
    assert deadlines == sorted(deadlines, reverse=True)
    assert deadlines[-1] < 5000


@pytest.mark.parametrize("code", ["engine_crashed", "deadline_exceeded", "queue_full"])
def test_any_other_refusal_ends_the_run(service: ScriptedService, prove: Any, code: str) -> None:
    service.queries = [SynapseError(code, "no")]
    with pytest.raises(SynapseError) as refused:
        prove()
    assert refused.value.code == code
    assert len(service.asked) == 1


def test_a_download_that_fails_ends_the_run(service: ScriptedService, prove: Any) -> None:
    details = {"file": "f", "reason": "network", "http_status": None}
    service.download_error = SynapseError("download_failed", "no", details=details)
    with pytest.raises(SynapseError) as refused:
        prove()
    assert refused.value.code == "download_failed"
    assert service.asked == []


@pytest.mark.parametrize(
    ("member", "value", "words"),
    [
        ("self_check", {"state": "pending"}, "is pending, not passed"),
        ("self_check", {"state": "failed"}, "is failed, not passed"),
        ("fingerprint", "syn1-other", "not the catalog's pin"),
    ],
)
def test_the_lane_has_to_be_the_catalogs_and_checked(
    service: ScriptedService, prove: Any, member: str, value: Any, words: str
) -> None:
    service.listed[member] = value
    with pytest.raises(CertificationFailed, match=words):
        prove()


def test_an_answer_under_another_fingerprint_fails(service: ScriptedService, prove: Any) -> None:
    service.queries = [answered(), answered(fingerprint="syn1-other")]
    with pytest.raises(CertificationFailed) as failed:
        prove()
    assert failed.value.problems == ["two: answered with the fingerprint syn1-other, not the catalog's pin"]


def test_observations_that_are_not_available_fail_though_everything_else_is_right(
    service: ScriptedService, prove: Any
) -> None:
    service.observed["available"] = False
    with pytest.raises(CertificationFailed, match="not available"):
        prove()


def test_a_neural_engine_row_needs_the_inventories_of_its_admissions(service: ScriptedService, prove: Any) -> None:
    service.backends = [service.backend(backend="ane", lane_id="m-ane")]
    service.listed["model_id"] = "m-ane"
    service.observed["worker_requests"] = {"m-ane": 3}
    with pytest.raises(CertificationFailed, match="never admitted"):
        prove("ane")
    service.observed |= {"inventories": [{"lane_id": "m-ane"}], "admitted_count": 1}
    assert prove("ane").observations.inventories == [{"lane_id": "m-ane"}]


def test_a_catalog_that_is_not_the_checkouts_is_refused(service: ScriptedService, prove: Any) -> None:
    service.digest = "other"
    with pytest.raises(CommandError) as refused:
        prove()
    assert (refused.value.code, service.downloads) == ("catalog_differs", [])


@pytest.mark.parametrize(
    ("backends", "words"),
    [
        ([], "the catalog declares none"),
        ([ScriptedService.backend(backend="metal")], "the catalog declares metal"),
        ([ScriptedService.backend(runnable=False, reason="device_below_floor")], "device below floor"),
    ],
)
def test_a_lane_that_can_not_run_is_refused_before_anything_is_fetched(
    service: ScriptedService, prove: Any, backends: Any, words: str
) -> None:
    service.backends = backends
    with pytest.raises(CommandError, match=words) as refused:
        prove()
    assert (refused.value.code, service.downloads) == ("lane_not_runnable", [])


# --- the command ---


@pytest.fixture(scope="module")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Kit:
    return certification_kit(tmp_path_factory.mktemp("kit"), EMBEDDER)


@pytest.mark.parametrize(
    ("row", "code"),
    [
        ("metal-m5", "hardware_missing"),
        ("ane-m5", "hardware_missing"),
        ("cuda-nothing-is-called-this", "hardware_missing"),
        ("vulkan-nothing-is-called-this", "hardware_missing"),
        ("m5", "unknown_row"),
    ],
)
def test_a_row_that_is_not_here_is_refused_before_anything_starts(
    kit: Kit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, row: str, code: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(procedure, "own_service", lambda *_: pytest.fail("a service was started"))
    done = CliRunner().invoke(app, [*kit.arguments(EMBEDDER, row=row), "--salt", str(tmp_path / "salt")])
    assert done.exit_code == 1, done.output
    assert f"Could not certify {EMBEDDER} as {row}: " in done.stderr
    assert f"  code: {code}\n" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["salt"]


def test_wrong_usage_ends_with_2(kit: Kit) -> None:
    arguments = kit.arguments(EMBEDDER)
    for wrong in (arguments[:-8], [*arguments, "--surplus"], ["certify"], [*arguments, "--mirror", "/nowhere"]):
        assert CliRunner().invoke(app, wrong).exit_code == 2, wrong


def test_a_model_that_the_catalog_does_not_have_is_told(kit: Kit, tmp_path: Path) -> None:
    (kit.assets / "absent.json").write_text(
        json.dumps(json.loads((kit.assets / f"{EMBEDDER}.json").read_text()) | {"catalog_id": "absent"})
    )
    done = CliRunner().invoke(app, [*kit.arguments("absent"), "--salt", str(tmp_path / "salt"), "--json"])
    assert done.exit_code == 1
    error = json.loads(done.stderr)
    assert (error["code"], error["details"]["remedy"]) == ("unknown_model", f"It has {EMBEDDER}.")


def test_ctrl_c_ends_the_service_too_and_leaves_no_record(kit: Kit, tmp_path: Path) -> None:
    import shutil
    import sysconfig

    program = shutil.which("ckdev-synapse-certify", path=sysconfig.get_path("scripts"))
    assert program is not None
    command = [program, *kit.arguments(EMBEDDER), "--salt", str(tmp_path / "salt"), "--work", str(tmp_path / "w")]
    running = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        wait_until(lambda: (tmp_path / "w" / "run").is_dir(), "the service has started")
        (service,) = psutil.Process(running.pid).children()
        time.sleep(0.1)
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=40)
    finally:
        running.kill()
        running.communicate()
    assert running.returncode == 130
    wait_until(lambda: not service.is_running() or service.status() == psutil.STATUS_ZOMBIE, "the service has ended")
    assert not list(tmp_path.glob("*.json"))
